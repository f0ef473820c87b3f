//! `capbench tune`: which settings of an interface and its host stand against capture; changes and restores them.

mod changes;
mod flags;
mod restoring;

use std::path::Path;

use anyhow::Result;
use capbench_host::bed::{PortLock, Side};
use capbench_host::environment;
use capbench_model::environment::interface::{PathInterface, Role};
use capbench_report::sentences::queue_words;
use capbench_results::read::read;
use capbench_sys::host::affinity::online_cpus;
use capbench_tune::{Check, Facts, Folder, Identity, Journal, Live, Outcome, State, TuneError, apply, judge};

use self::changes::{Lines, boot, every_identity, folder};
use self::flags::Action;
pub use self::flags::TuneFlags;
use crate::exit::{Exit, FAILED, Usage};
use crate::output::{print, print_json};

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

fn look(flags: &TuneFlags) -> Result<Exit> {
    let live = Live::new(Side::named(flags.interface())?);
    let facts = Facts::read(&live, &environment::read()?)?;
    let findings = judge(&facts, &flags.wishes());
    if flags.action == Action::Plan {
        print(&Check::plan(&facts, &findings))?;
        return Ok(Exit::Done);
    }
    show(flags, &Check::new(&facts, &findings, queue_words))
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
        let check = Check::of_run(&facts, &judge(&facts, &flags.wishes()), queue_words, &name, &trials);
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
