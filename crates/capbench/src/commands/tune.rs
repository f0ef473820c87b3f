//! `capbench tune`: which settings of an interface and its host stand against capture; changes and restores them.

mod restoring;

use std::path::{Path, PathBuf};

use anyhow::Result;
use capbench_host::bed::{PortLock, Side};
use capbench_host::links::Links;
use capbench_host::{HostError, environment};
use capbench_model::environment::interface::{PathInterface, Role};
use capbench_results::read::read;
use capbench_sys::host::affinity::{online_cpus, parse_cpu_list};
use capbench_sys::host::capability::{self, Capability};
use capbench_tune::{
    Check, Facts, Folder, Identity, ItemName, Journal, Live, Outcome, Setting, State, TuneError, Wishes,
    apply, judge,
};
use clap::{Args, ValueEnum};

use crate::exit::{Exit, FAILED, Usage};
use crate::output::{print, print_json};

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "check: exit code 0 if nothing stands against capture, 3 if a setting does. apply and restore: 1 if a change \
could not be made. docs/tune.md"
)]
pub struct TuneFlags {
    /// What to do
    #[arg(value_enum)]
    action: Action,
    /// Interface of the capture
    #[arg(short = 'i', long, value_name = "IF", required_unless_present_any = ["run", "list"])]
    interface: Option<String>,
    /// check: what stood against capture in a saved run, from what it recorded; its directory, or its results.json
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// CPUs for capture, such as 2-5 or 2,4 [default: those next to the card]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuList>,
    /// Items to look at, such as rings,interrupts [default: all]
    #[arg(long, value_name = "ITEM", value_delimiter = ',')]
    only: Vec<ItemName>,
    /// Folder of the saved settings
    #[arg(long, value_name = "DIR", default_value = "/var/lib/capbench/tune")]
    state: PathBuf,
    /// Apply to an interface with an address or a default route: its link can be interrupted
    #[arg(long)]
    isolated: bool,
    /// Overwrite what somebody else changed since apply; restore: forget what cannot be restored
    #[arg(long)]
    force: bool,
    /// restore: list the saved settings, each with its interface; restores nothing
    #[arg(long, conflicts_with = "interface")]
    list: bool,
    /// check: one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Say what stands against capture; changes nothing
    Check,
    /// Print the commands that change it; changes nothing
    Plan,
    /// Save the settings, then make these changes
    Apply,
    /// Set everything as it was before apply
    Restore,
}

#[derive(Clone, Debug)]
struct CpuList(Vec<u32>);

fn cpus(text: &str) -> Result<CpuList, String> {
    let list = parse_cpu_list(text).filter(|cpus| !cpus.is_empty());
    let list = list.ok_or_else(|| "write CPUs as a list such as 2-5 or 2,4".to_owned())?;
    Ok(CpuList(list.into_iter().map(|cpu| cpu.number()).collect()))
}

pub fn run(flags: &TuneFlags) -> Result<Exit> {
    if flags.json && flags.action != Action::Check {
        return Err(Usage("--json: only check prints a document".into()).into());
    }
    if flags.list && flags.action != Action::Restore {
        return Err(Usage("--list: only restore lists what is saved".into()).into());
    }
    match &flags.run {
        Some(run) if flags.action == Action::Check => return look_at_run(flags, run),
        Some(_) => return Err(Usage("--run: only check looks at a run".into()).into()),
        None => {}
    }
    let online = online_cpus()?;
    let is_offline = |cpu: &&u32| !online.iter().any(|one| one.number() == **cpu);
    if let Some(cpu) = flags.cpus.as_ref().and_then(|list| list.0.iter().find(is_offline)) {
        return Err(Usage(format!("--cpus: CPU {cpu} is not online")).into());
    }
    match flags.action {
        Action::Check | Action::Plan => look(flags),
        Action::Apply => change(flags),
        Action::Restore if flags.list => restoring::list(flags),
        Action::Restore => restoring::restore_saved(flags),
    }
}

impl TuneFlags {
    fn wishes(&self) -> Wishes {
        let cpus = self.cpus.as_ref().map(|list| list.0.clone()).unwrap_or_default();
        Wishes { cpus, only: self.only.clone() }
    }

    fn interface(&self) -> &str {
        self.interface.as_deref().expect("clap asks for one where there is no --run")
    }
}

fn look(flags: &TuneFlags) -> Result<Exit> {
    let live = Live::new(Side::named(flags.interface())?);
    let facts = Facts::read(&live, &environment::read()?)?;
    let findings = judge(&facts, &flags.wishes());
    if flags.action == Action::Plan {
        print(&Check::plan(&facts, &findings))?;
        return Ok(Exit::Done);
    }
    show(flags, &Check::new(&facts, &findings))
}

fn show(flags: &TuneFlags, check: &Check) -> Result<Exit> {
    if flags.json {
        print_json(check)?
    } else {
        print(&check.text())?
    }
    Ok(if check.is_against() { Exit::Untuned } else { Exit::Done })
}

/// What stood against capture in a saved run.
fn look_at_run(flags: &TuneFlags, path: &Path) -> Result<Exit> {
    let run = read(path)?;
    run.warnings.iter().for_each(|warning| tell!("capbench: {}: {warning}", path.display()));
    let environment = &run.results.environment;
    let mut exit = Exit::Done;
    let captured = captured(environment.interfaces.as_deref().unwrap_or_default(), flags, path)?;
    for interface in &captured {
        let is_on_it =
            |placement| interface.placements.is_empty() || interface.placements.contains(placement);
        let trials = run.results.trials.iter().filter(|trial| is_on_it(&trial.profile.placement));
        let trials: Vec<_> = trials.collect();
        let facts = Facts::of_run(environment, interface, &trials);
        let name = match captured.len() {
            1 => path.display().to_string(),
            _ => format!("{}, {}", path.display(), placement_of(interface)),
        };
        let check = Check::of_run(&facts, &judge(&facts, &flags.wishes()), &name, &trials);
        if let Exit::Untuned = show(flags, &check)? {
            exit = Exit::Untuned;
        }
    }
    Ok(exit)
}

/// The interface of a run that captured: the only one, or that of `-i`. It is there for each placement for which its settings were
/// others.
fn captured<'r>(all: &'r [PathInterface], flags: &TuneFlags, path: &Path) -> Result<Vec<&'r PathInterface>> {
    let captured: Vec<_> = all.iter().filter(|one| one.role == Role::Receive).collect();
    let named = |one: &PathInterface| flags.interface.as_ref().is_none_or(|name| one.name == *name);
    let chosen: Vec<_> = captured.iter().copied().filter(|one| named(one)).collect();
    let run = path.display();
    if captured.is_empty() {
        return Err(Usage(format!("--run: {run} recorded no interface that captured")).into());
    }
    if chosen.is_empty() || chosen.iter().any(|one| one.name != chosen[0].name) {
        let names = captured.iter().map(|one| format!("{} ({})", one.name, placement_of(one)));
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Usage(format!("-i: name an interface that captured in {run}: {names}")).into());
    }
    Ok(chosen)
}

fn placement_of(interface: &PathInterface) -> String {
    let names: Vec<String> = interface.placements.iter().map(ToString::to_string).collect();
    format!("placement {}", names.join(" and "))
}

/// What both commands need that change something: the privilege, the folder of saved settings, what identifies the interface and
/// the start of the host.
fn folder(flags: &TuneFlags, creates: bool) -> Result<Option<Folder>> {
    let missing = capability::effective()?.missing(&[Capability::NetAdmin, Capability::SysAdmin]);
    if !missing.is_empty() {
        let reason = format!("the process lacks {}, which changes settings", missing[0]);
        return Err(HostError::Privilege { reason, next: "run it as root".into() }.into());
    }
    Ok(Folder::open(&flags.state, creates)?)
}

fn boot() -> Result<String> {
    const FILE: &str = "/proc/sys/kernel/random/boot_id";
    Ok(std::fs::read_to_string(FILE).map_err(|error| HostError::reading(FILE, error))?.trim().to_owned())
}

/// Every interface of this network namespace.
fn every_side() -> Result<Vec<Side>> {
    let links = Links::of_current_namespace()?.all()?;
    // One that has gone meanwhile is left out.
    Ok(links.iter().filter_map(|link| Side::named(&link.name).ok()).collect())
}

/// What identifies every interface of this network namespace.
fn every_identity() -> Result<Vec<Identity>> {
    Ok(every_side()?.iter().map(Identity::of).collect())
}

/// The saved state of an interface, under its present name. Under another name it is saved anew.
fn adopted(folder: &mut Folder, identity: &Identity, boot: &str) -> Result<Option<State>> {
    let Some(state) = folder.load_of(&identity.interface, &every_identity()?, boot)? else {
        let under_name = folder.load(&identity.interface)?;
        return match under_name {
            // Settings do not outlive the host's start.
            Some(other) if other.is_of(boot) => Err(TuneError::OtherInterface {
                interface: identity.interface.clone(),
                saved: other.identity.in_words(),
                found: identity.in_words(),
            }
            .into()),
            _ => Ok(None),
        };
    };
    let mut adopted = state.clone();
    adopted.identity = identity.clone();
    folder.save(&adopted)?;
    if state.identity.interface != identity.interface {
        folder.remove(&state)?;
    }
    Ok(Some(adopted))
}

fn change(flags: &TuneFlags) -> Result<Exit> {
    let side = Side::for_settings(flags.interface(), flags.isolated).map_err(TuneError::in_use)?;
    let mut folder = folder(flags, true)?.expect("it was created");
    let (identity, boot) = (Identity::of(&side), boot()?);
    let saved = adopted(&mut folder, &identity, &boot)?;
    let _lock = PortLock::take(&side)?;
    let (live, environment) = (Live::new(side), environment::read()?);
    let (mut changed, mut is_complete) = (0, true);
    let wishes = flags.wishes();
    let plan = |live: &Live| {
        let findings = judge(&Facts::read(live, &environment)?, &wishes);
        Ok(findings.into_iter().flat_map(|finding| finding.judgement.proposals).collect())
    };
    let mut lines = Lines::default();
    apply(&live, &mut folder, saved, (identity, boot), flags.force, plan, |setting, outcome| {
        changed += usize::from(matches!(outcome, Outcome::Changed { .. }));
        is_complete &= matches!(outcome, Outcome::Changed { .. } | Outcome::Already);
        lines.add(setting, outcome);
    })?;
    lines.finish()?;
    let interface = flags.interface();
    print(&match changed {
        0 => format!("Nothing changed on {interface}\n"),
        count => format!(
            "{count} settings changed on {interface}, those before saved in {}; `capbench tune restore -i {interface}` restores \
             them\n",
            flags.state.display()
        ),
    })?;
    Ok(if is_complete { Exit::Done } else { Exit::Partly(FAILED) })
}

/// Prints a line for each change when it is made. A closed pipe must not end a command between two changes.
#[derive(Default)]
struct Lines {
    failure: Option<anyhow::Error>,
}

impl Lines {
    fn add(&mut self, setting: &Setting, outcome: &Outcome) {
        if *outcome != Outcome::Already && self.failure.is_none() {
            self.failure = print(&format!("{setting}: {outcome}\n")).err();
        }
    }

    fn finish(self) -> Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}
