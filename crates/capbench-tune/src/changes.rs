//! Apply and restore. Every decision is a function of what is saved and of what the host has now, so that both can be killed at
//! any moment and called again.
//!
//! - `apply` saves all settings of the interface and those that it will change. Then it saves each value before it sets it.
//! - A value that is neither the one before nor the one that `apply` left is of somebody else. It is not overwritten.
//! - `restore` saves what it is going to set, before it sets the first. It sets the numbers of queues and descriptors first,
//!   because a driver forgets others when these change, and goes over all settings until they stay.

use std::collections::BTreeSet;
use std::fmt;

use crate::setting::{Proposal, Setting};
use crate::state::{Identity, Phase, Saved, State};
use crate::state_folder::Journal;
use crate::{Result, TuneError};

/// The settings of an interface and its host.
pub trait Settings {
    /// The present value; `None` if there is no such setting.
    ///
    /// # Errors
    /// It exists and cannot be read.
    fn read(&self, setting: &Setting) -> Result<Option<String>>;

    /// Sets a value. The driver may choose another one.
    ///
    /// # Errors
    /// The driver or the kernel refuses it.
    fn write(&self, setting: &Setting, value: &str) -> Result<()>;

    /// Every setting of the interface that a change of another one can reset.
    ///
    /// # Errors
    /// They cannot be listed.
    fn inventory(&self) -> Result<Vec<Setting>>;
}

/// What became of a proposed change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is so already.
    Already,
    /// It is changed.
    Changed {
        /// The value before.
        from: Option<String>,
        /// The value that the host has now.
        to: Option<String>,
    },
    /// Somebody else changed it since the last `apply`. It is left.
    OfOthers {
        /// The value that `apply` had left.
        left: Option<String>,
        /// The present value.
        now: Option<String>,
    },
    /// The driver or the kernel refuses it.
    Refused(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".into());
        match self {
            Self::Already => formatter.write_str("is so already"),
            Self::Changed { from, to } => write!(formatter, "{} -> {}", value(from), value(to)),
            Self::OfOthers { left, now } => write!(
                formatter,
                "left at {}: somebody else changed it since `apply` made it {}; --force overwrites it",
                value(now),
                value(left)
            ),
            Self::Refused(reason) => write!(formatter, "not changed: {reason}"),
        }
    }
}

/// The order in which changes are made: a driver resets others when these change.
const STAGES: [bool; 2] = [true, false];

/// Applies what `plan` proposes. It is asked twice: for changes that reset others, and for those that do not, with the settings
/// that the former left. `report` hears of each change when it is made.
///
/// # Errors
/// A restore has not ended; settings cannot be read or saved.
pub fn apply<S: Settings>(
    host: &S,
    journal: &mut impl Journal,
    saved: Option<State>,
    (identity, boot): (Identity, String),
    is_forced: bool,
    plan: impl Fn(&S) -> Result<Vec<Proposal>>,
    mut report: impl FnMut(&Setting, &Outcome),
) -> Result<State> {
    // Settings do not outlive the host's start: those of the new one are those before.
    let saved = saved.filter(|state| state.boot == boot);
    let mut state = saved.unwrap_or_else(|| State::new(identity, boot));
    if state.phase == Phase::Restoring {
        return Err(TuneError::Unfinished { interface: state.identity.interface });
    }
    mark_changes_of_others(host, &mut state, is_forced)?;
    // Also by an `apply` before this one.
    let is_reset = |saved: &Saved| saved.setting.resets_others() && saved.set.is_some();
    let mut has_reset = state.saved.iter().any(is_reset);
    for resets in STAGES {
        let mut proposals = plan(host)?;
        proposals.retain(|proposal| proposal.setting.resets_others() == resets);
        proposals.sort_by(|one, other| one.setting.cmp(&other.setting));
        note(host, &mut state, &proposals, has_reset)?;
        state.phase = Phase::Applying;
        journal.save(&state)?;
        for proposal in proposals {
            let outcome = change(host, journal, &mut state, &proposal)?;
            has_reset |= resets && matches!(outcome, Outcome::Changed { .. });
            report(&proposal.setting, &outcome);
        }
    }
    for saved in state.saved.iter_mut().filter(|saved| !saved.of_others) {
        saved.after = host.read(&saved.setting)?;
    }
    state.phase = Phase::Applied;
    if state.saved.iter().any(|saved| saved.set.is_some()) {
        journal.save(&state)?;
    } else {
        journal.remove(&state)?;
    }
    Ok(state)
}

/// Marks the settings that an `apply` set and that somebody else changed since. Of those that it did not set, the present values
/// become the ones before.
fn mark_changes_of_others(host: &impl Settings, state: &mut State, is_forced: bool) -> Result<()> {
    if state.phase != Phase::Applied {
        return Ok(());
    }
    for saved in &mut state.saved {
        let now = host.read(&saved.setting)?;
        let is_changed = now != saved.after && now != saved.before;
        if saved.set.is_some() {
            saved.of_others = is_changed && !is_forced;
        } else if is_changed {
            saved.before = now;
        }
    }
    Ok(())
}

/// Notes the settings that are not known yet. Of those that a change before made appear, there was none.
fn note(host: &impl Settings, state: &mut State, proposals: &[Proposal], has_reset: bool) -> Result<()> {
    let proposed = proposals.iter().map(|proposal| proposal.setting.clone());
    let all: BTreeSet<_> = host.inventory()?.into_iter().chain(proposed).collect();
    for setting in all {
        if state.of(&setting).is_some() {
            continue;
        }
        let before = if has_reset && setting.is_of_interface() { None } else { host.read(&setting)? };
        state.add(setting, before);
    }
    Ok(())
}

fn change(
    host: &impl Settings,
    journal: &mut impl Journal,
    state: &mut State,
    proposal: &Proposal,
) -> Result<Outcome> {
    let now = host.read(&proposal.setting)?;
    if now.as_ref() == Some(&proposal.value) {
        return Ok(Outcome::Already);
    }
    let entry = state.of(&proposal.setting).expect("it was noted");
    let before_this = entry.set.clone();
    if entry.of_others {
        return Ok(Outcome::OfOthers { left: entry.set.clone(), now });
    }
    if entry.asked.as_ref() == Some(&proposal.value) && entry.set == now {
        return Ok(Outcome::Already);
    }
    entry.set = Some(proposal.value.clone());
    journal.save(state)?;
    let written = host.write(&proposal.setting, &proposal.value);
    let to = host.read(&proposal.setting)?;
    let entry = state.of(&proposal.setting).expect("it was noted");
    let outcome = match written {
        Err(error) if to == now => {
            entry.set = before_this;
            Outcome::Refused(error.to_string())
        }
        // Refused in part, or granted in steps.
        _ => {
            entry.set.clone_from(&to);
            entry.asked = Some(proposal.value.clone()).filter(|asked| Some(asked) != to.as_ref());
            if to == now { Outcome::Already } else { Outcome::Changed { from: now, to } }
        }
    };
    journal.save(state)?;
    Ok(outcome)
}

/// Restores what is saved. Of a state that it could not restore completely, the file remains, unless `is_forced`. `report` hears of
/// each setting that was restored, is of others, or could not be restored. Returns whether all is done.
///
/// # Errors
/// Settings cannot be read or saved.
pub fn restore(
    host: &impl Settings,
    journal: &mut impl Journal,
    mut state: State,
    boot: &str,
    is_forced: bool,
    mut report: impl FnMut(&Setting, &Outcome),
) -> Result<bool> {
    if state.phase != Phase::Restoring || is_forced {
        let all = decide(host, &mut state, boot, is_forced)?;
        state.phase = Phase::Restoring;
        journal.save(&state)?;
        all.iter().for_each(|(setting, outcome)| report(setting, outcome));
    }
    let mut order: Vec<&Saved> = state.saved.iter().filter(|saved| saved.target.is_some()).collect();
    order.sort_by(|one, other| one.setting.cmp(&other.setting));
    let refusals = settle(host, &order, &mut report)?;
    let mut is_done = true;
    for saved in order {
        let now = host.read(&saved.setting)?;
        if now != saved.target {
            let refused = refusals.iter().rev().find(|(setting, _)| *setting == saved.setting);
            let reason = match (refused, &now) {
                (Some((_, reason)), _) => reason.clone(),
                (None, None) => "it is gone".into(),
                (None, Some(now)) => format!("it stays at {now}"),
            };
            report(&saved.setting, &Outcome::Refused(reason));
            is_done = false;
        }
    }
    if is_done || is_forced {
        journal.remove(&state)?;
    }
    Ok(is_done)
}

/// Restores the settings of the host that a state has, while its interface is not there. What is the interface's remains saved, unless
/// `is_forced`. Returns the settings of the interface that were changed.
///
/// # Errors
/// Settings cannot be read or saved.
pub fn restore_host(
    host: &impl Settings,
    journal: &mut impl Journal,
    state: State,
    boot: &str,
    is_forced: bool,
    report: impl FnMut(&Setting, &Outcome),
) -> Result<HostRestored> {
    let (of_interface, of_host): (Vec<Saved>, Vec<Saved>) =
        state.saved.iter().cloned().partition(|saved| saved.setting.is_of_interface());
    // After a new start of the host they are as the driver sets them.
    let is_left = |saved: &&Saved| saved.set.is_some() && state.is_of(boot);
    let left: Vec<Setting> = of_interface.iter().filter(is_left).map(|saved| saved.setting.clone()).collect();
    let (mut host_part, mut remains) = (state.clone(), state.clone());
    (host_part.saved, remains.saved) = (of_host, of_interface);
    let mut unsaved = Unsaved;
    let is_done = restore(host, &mut unsaved, host_part, boot, is_forced, report)?;
    if is_forced || left.is_empty() && is_done {
        journal.remove(&state)?;
    } else if is_done {
        journal.save(&remains)?;
    }
    Ok(HostRestored { is_done, left })
}

/// What [`restore_host`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRestored {
    /// Whether every setting of the host is as before.
    pub is_done: bool,
    /// Settings of the interface that `apply` had changed.
    pub left: Vec<Setting>,
}

/// Saves nothing. Settings of the host reset no others: what a killed restore left is decided anew, with the same result.
struct Unsaved;

impl Journal for Unsaved {
    fn save(&mut self, _: &State) -> Result<()> {
        Ok(())
    }

    fn remove(&mut self, _: &State) -> Result<()> {
        Ok(())
    }
}

/// Gives every setting its target. What is of others keeps its present value, also where a change of another setting resets it.
/// Returns the settings of others.
fn decide(
    host: &impl Settings,
    state: &mut State,
    boot: &str,
    is_forced: bool,
) -> Result<Vec<(Setting, Outcome)>> {
    let phase = state.phase;
    let is_same_start = state.boot == boot;
    let has_reset = state.saved.iter().any(|saved| saved.setting.resets_others() && saved.set.is_some());
    let mut of_others = Vec::new();
    for saved in &mut state.saved {
        let now = host.read(&saved.setting)?;
        let is_disturbed = saved.set.is_some() || has_reset && saved.setting.is_of_interface();
        let is_ours = match phase {
            _ if saved.of_others => false,
            // What it left is not known: every setting that it could have changed counts as ours.
            Phase::Applying | Phase::Restoring => is_disturbed,
            Phase::Applied => is_disturbed && now == saved.after,
        };
        if now == saved.before || is_forced && is_disturbed || is_ours && is_same_start {
            saved.target.clone_from(&saved.before);
        } else {
            saved.target.clone_from(&now);
            if is_disturbed && saved.before != saved.after || saved.set.is_some() {
                let outcome = Outcome::OfOthers { left: saved.set.clone().or(saved.after.clone()), now };
                of_others.push((saved.setting.clone(), outcome));
            }
        }
    }
    Ok(of_others)
}

/// Sets targets in order until nothing changes any more; returns what was refused.
fn settle(
    host: &impl Settings,
    order: &[&Saved],
    report: &mut impl FnMut(&Setting, &Outcome),
) -> Result<Vec<(Setting, String)>> {
    /// A second time for what the first one reset, and one to see that it stays.
    const PASSES: u32 = 3;
    let mut refusals = Vec::new();
    for _ in 0..PASSES {
        let mut has_changed = false;
        for saved in order {
            let now = host.read(&saved.setting)?;
            let Some(target) = saved.target.as_ref().filter(|_| now != saved.target) else { continue };
            match host.write(&saved.setting, target) {
                Err(error) => refusals.push((saved.setting.clone(), error.to_string())),
                Ok(()) => {
                    let to = host.read(&saved.setting)?;
                    if to != now {
                        has_changed = true;
                        let outcome = Outcome::Changed { from: now, to };
                        report(&saved.setting, &outcome);
                    }
                }
            }
        }
        if !has_changed {
            break;
        }
    }
    Ok(refusals)
}

#[cfg(test)]
mod tests;
