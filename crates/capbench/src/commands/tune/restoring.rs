//! `capbench tune restore`: of an interface that is there, also under another name; of the host, where the interface is gone; and the list.

use anyhow::Result;
use capbench_host::HostError;
use capbench_host::bed::{PortLock, Side};
use capbench_tune::{
    Folder, Host, HostRestored, Identity, Live, Outcome, Phase, State, restore, restore_host,
};

use super::changes::{Lines, boot, every_identity, folder};
use super::flags::TuneFlags;
use crate::exit::{Exit, FAILED};
use crate::output::print;

/// Restores what `apply` saved.
pub(super) fn restore_saved(flags: &TuneFlags) -> Result<Exit> {
    let (name, boot) = (flags.interface(), boot()?);
    let folder = folder(flags, false)?;
    let named = present(name)?;
    let present = every_identity()?;
    let state = match &folder {
        Some(folder) => saved(folder, name, named.as_ref(), &present, &boot)?,
        None => None,
    };
    let (Some(mut folder), Some(state)) = (folder, state) else {
        // A name that is mistyped must not look as if all was restored.
        named.ok_or_else(|| HostError::NoInterface { interface: name.into() })?;
        let where_saved = flags.state.display();
        print(&format!("Nothing to restore on {name}: no settings of it are saved in {where_saved}\n"))?;
        return Ok(Exit::Done);
    };
    match state.interface_among(&present, &boot) {
        Some(found) => {
            let side = Side::named(&found.interface)?;
            restore_interface(flags, &mut folder, state, &boot, side)
        }
        None => restore_of_host(flags, &mut folder, state, &boot),
    }
}

/// The interface of this name; `None` if there is none.
fn present(name: &str) -> Result<Option<Side>> {
    match Side::named(name) {
        Ok(side) => Ok(Some(side)),
        Err(HostError::NoInterface { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The state of the interface that has this name now, else the one that was saved under this name.
fn saved(
    folder: &Folder,
    name: &str,
    named: Option<&Side>,
    present: &[Identity],
    boot: &str,
) -> Result<Option<State>> {
    if let Some(side) = named
        && let Some(state) = folder.load_of(side.name(), present, boot)?
    {
        return Ok(Some(state));
    }
    Ok(folder.load(name)?)
}

fn restore_interface(
    flags: &TuneFlags,
    folder: &mut Folder,
    state: State,
    boot: &str,
    side: Side,
) -> Result<Exit> {
    let (saved_name, interface) = (state.identity.interface.clone(), side.name().to_owned());
    if saved_name != interface {
        print(&format!("{saved_name} is {interface} now\n"))?;
    }
    let _lock = PortLock::take(&side)?;
    let (mut lines, mut is_of_others) = (Lines::default(), false);
    let is_done = restore(&Live::new(side), folder, state, boot, flags.force, |setting, outcome| {
        is_of_others |= matches!(outcome, Outcome::OfOthers { .. });
        lines.add(setting, outcome);
    })?;
    lines.finish()?;
    let end = match (is_done, flags.force) {
        (true, _) if is_of_others => {
            format!("{interface} is as it was before apply, except for what somebody else changed\n")
        }
        (true, _) => format!("{interface} is as it was before apply\n"),
        (false, true) => format!("What could not be restored on {interface} is forgotten\n"),
        (false, false) => format!(
            "Not everything could be restored on {interface}; what is saved remains in {}\n",
            flags.state.display()
        ),
    };
    print(&end)?;
    Ok(if is_done { Exit::Done } else { Exit::Partly(FAILED) })
}

/// The interface is gone: restores what is the host's, and names what is left.
fn restore_of_host(flags: &TuneFlags, folder: &mut Folder, state: State, boot: &str) -> Result<Exit> {
    let identity = state.identity.clone();
    let name = &identity.interface;
    print(&format!(
        "{name} ({}) is not in this network namespace, under no name: only settings of the host are restored\n",
        identity.in_words()
    ))?;
    let mut lines = Lines::default();
    let report = |setting: &_, outcome: &_| lines.add(setting, outcome);
    let HostRestored { is_done, left } =
        restore_host(&Host::default(), folder, state, boot, flags.force, report)?;
    lines.finish()?;
    for setting in &left {
        print(&format!("{setting}: left, because the interface is gone\n"))?;
    }
    let end = match (is_done && left.is_empty(), flags.force) {
        (true, _) => "The host is as it was before apply\n".to_owned(),
        (false, true) => format!("What could not be restored of {name} is forgotten\n"),
        (false, false) => format!(
            "What is left remains in {}: `capbench tune restore -i {name}` restores it when the interface is back, with --force it \
             is forgotten\n",
            flags.state.display()
        ),
    };
    print(&end)?;
    Ok(if is_done && left.is_empty() { Exit::Done } else { Exit::Partly(FAILED) })
}

/// Lists what is saved.
pub(super) fn list(flags: &TuneFlags) -> Result<Exit> {
    let (boot, folder) = (boot()?, folder(flags, false)?);
    let states = folder.map_or(Ok(Vec::new()), |folder| folder.all())?;
    if states.is_empty() {
        print(&format!("No settings are saved in {}\n", flags.state.display()))?;
    }
    let present = every_identity()?;
    let mut exit = Exit::Done;
    for state in states {
        match state {
            Ok(state) => print(&row(&state, &boot, &present))?,
            Err(error) => {
                tell!("capbench: {error}");
                exit = Exit::Partly(FAILED);
            }
        }
    }
    Ok(exit)
}

fn row(state: &State, boot: &str, present: &[Identity]) -> String {
    let is_same_start = state.is_of(boot);
    let name = &state.identity.interface;
    let now = match state.interface_among(present, boot) {
        Some(identity) if identity.interface == *name => "present".to_owned(),
        Some(identity) => format!("present as {}", identity.interface),
        None => "not in this network namespace".into(),
    };
    let phase = match state.phase {
        _ if !is_same_start => "of an earlier start of the host: nothing to restore",
        Phase::Applying => "apply did not end",
        Phase::Applied => "applied",
        Phase::Restoring => "restore did not end",
    };
    let changed = state.saved.iter().filter(|saved| saved.set.is_some()).count();
    format!("{name}  {now}  {changed} settings changed, {phase}  ({})\n", state.identity.in_words())
}
