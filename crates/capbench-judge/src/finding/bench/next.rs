//! The command that shows more: the one that decides between several methods, or the command of this run without its load.

use capbench_model::trial::TrialResult;

use super::{BenchFinding, found};
use crate::durations::QUICK_SEARCH;
use crate::finding::Found;
use crate::recommendation::{Conclusion, Ranking};
use crate::run::RunFacts;

/// The command that decides between the methods that the trials leave.
pub(super) fn settle(ranking: &Ranking, run: &RunFacts<'_>) -> Option<Found> {
    let Conclusion::OneOf { settle, methods, .. } = &ranking.conclusion else { return None };
    let takes_s = takes_s(settle, methods.len() as u32, run);
    Some(found(BenchFinding::Settle { command: settle.clone(), takes_s }, []))
}

/// The time of that command, in seconds; `None` if it is unknown. Searches take as long as without noise. A visit takes as long as a
/// trial of this run does on average.
fn takes_s(command: &[String], methods: u32, run: &RunFacts<'_>) -> Option<f64> {
    let repeats = value_of(command, "--searches").or(value_of(command, "--visits"))?.parse::<u32>().ok()?;
    let all = methods * repeats;
    match value_of(command, "--goal") {
        Some("quick") => Some(QUICK_SEARCH.saturating_mul(all).as_secs_f64()),
        Some(_) => None,
        None => {
            let spent_s: f64 = run.trials.iter().map(TrialResult::spent_s).sum();
            Some(spent_s / run.trials.len() as f64 * f64::from(all))
        }
    }
}

/// The word after a flag.
fn value_of<'c>(command: &'c [String], flag: &str) -> Option<&'c str> {
    let at = command.iter().position(|word| word == flag)?;
    command.get(at + 1).map(String::as_str)
}

/// The command of this run without its load, if no method sustains that: it finds what they sustain. It does not write into the
/// directory of this run.
pub(super) fn find_highest(ranking: &Ranking, run: &RunFacts<'_>) -> Option<Found> {
    if matches!(ranking.conclusion, Conclusion::Use { .. } | Conclusion::OneOf { .. }) {
        return None;
    }
    let mut command = Vec::new();
    let mut has_load = false;
    let mut is_value_of_left_out = false;
    // The first word is the program.
    for word in run.command.iter().skip(1) {
        let is_load = word.starts_with("--rate") || word.starts_with("--max-loss");
        let is_left_out = is_load || word.starts_with("--out");
        has_load |= is_load;
        if !is_left_out && !is_value_of_left_out {
            command.push(word.clone());
        }
        // Without a `=`, the value of a flag is the next word.
        is_value_of_left_out = is_left_out && !word.contains('=');
    }
    has_load.then(|| found(BenchFinding::FindHighest { command }, []))
}
