//! Programs of which nothing is known: none of their trials could run, or none shows what they sustain. A user
//! who measures an own program asks about that program, so this is said before the verdict.

use capbench_model::not_measured::NotMeasured;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::{BenchFinding, SetUp, found, is_sound};
use crate::finding::Found;
use crate::recommendation::{Ranked, Ranking, SustainedStatus};
use crate::run::RunFacts;

/// A program, and why nothing is known of what it sustains.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct UnknownProgram {
    /// The program.
    pub method: SavedMethod,
    /// Why.
    pub because: UnknownBecause,
}

/// Why nothing is known of what a program sustains.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum UnknownBecause {
    /// A trial of it could not run.
    NotMeasured {
        /// Why, in one line.
        text: String,
    },
    /// Each of its trials is invalid.
    Invalid {
        /// Why the first one is.
        text: String,
    },
    /// The generator sent too little of the load that was asked for.
    NotSent {
        /// What it sent, in packets per second.
        sent_pps: f64,
    },
    /// Trials lost frames, and the host disturbed them.
    Disturbed {
        /// Trials that the host disturbed.
        disturbed: u32,
        /// Its trials.
        trials: u32,
    },
}

/// The programs of the ranking's set-up of which nothing is known. `None` if there are none.
pub(super) fn unknown(ranking: &Ranking, run: &RunFacts<'_>, not_measured: &[NotMeasured]) -> Option<Found> {
    let set_up = SetUp::of_ranking(ranking);
    let mut programs: Vec<UnknownProgram> = Vec::new();
    let mut trials = Vec::new();
    for missing in not_measured {
        let is_listed = programs.iter().any(|program| program.method == missing.method);
        let is_ranked = ranking.find(&missing.method).is_some();
        if is_program(&missing.method) && is_of_set_up(missing, &set_up) && !is_listed && !is_ranked {
            let because = UnknownBecause::NotMeasured { text: missing.reason.clone() };
            programs.push(UnknownProgram { method: missing.method.clone(), because });
        }
    }
    for ranked in &ranking.methods {
        let is_unknown = ranked.lossless.status == SustainedStatus::Unknown;
        if !is_program(&ranked.method) || !is_unknown || is_compared_in_turns(ranking, &ranked.method) {
            continue;
        }
        let mut of_program: Vec<&TrialResult> = run.trials.iter().collect();
        of_program.retain(|trial| trial.profile.method == ranked.method && set_up.includes(trial));
        trials.extend(of_program.iter().map(|trial| trial.number));
        programs.push(UnknownProgram {
            method: ranked.method.clone(),
            because: why_unknown(ranked, &of_program),
        });
    }
    if programs.is_empty() {
        return None;
    }
    Some(found(BenchFinding::ProgramsUnknown { programs }, trials))
}

/// Whether trials in turns show how the program compares with the first method.
fn is_compared_in_turns(ranking: &Ranking, program: &SavedMethod) -> bool {
    let in_turns = ranking.turns.as_ref().and_then(|turns| turns.find(program));
    in_turns.is_some_and(|known| known.is_decided == Some(true))
}

fn why_unknown(ranked: &Ranked, trials: &[&TrialResult]) -> UnknownBecause {
    let is_any_sound = trials.iter().any(|trial| is_sound(trial));
    if let Some(first) = trials.first().filter(|_| !is_any_sound) {
        return UnknownBecause::Invalid { text: first.why_invalid() };
    }
    if let Some(sent_pps) = ranked.lossless.lower_pps {
        return UnknownBecause::NotSent { sent_pps };
    }
    UnknownBecause::Disturbed { disturbed: ranked.disturbed, trials: ranked.trials }
}

fn is_program(method: &SavedMethod) -> bool {
    method.known().is_some_and(|spec| spec.is_program())
}

/// Whether a set-up without a result is the one that is ranked, or includes it.
fn is_of_set_up(missing: &NotMeasured, set_up: &SetUp) -> bool {
    let has_size = missing.frame_size.as_ref().is_none_or(|size| *size == set_up.frame_size);
    let has_placement = missing.placement.as_ref().is_none_or(|placement| *placement == set_up.placement);
    missing.test.is_none() && has_size && has_placement
}
