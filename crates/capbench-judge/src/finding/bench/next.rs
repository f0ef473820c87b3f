//! The command that shows more: the one that decides between several methods, or the command of this run without its load.

use capbench_model::saved::SavedMethod;
use capbench_model::statistics::by_key;
use capbench_model::trial::{Phase, TrialResult};

use super::{BenchFinding, found};
use crate::durations::QUICK_SEARCH;
use crate::finding::Found;
use crate::recommendation::{Conclusion, Ranking};
use crate::run::RunFacts;

/// The command that decides between the methods that the trials leave.
pub(super) fn settle(ranking: &Ranking, run: &RunFacts<'_>, far_behind: &[&SavedMethod]) -> Option<Found> {
    let Conclusion::OneOf { settle, methods, .. } = &ranking.conclusion else { return None };
    let mut left = methods.clone();
    left.retain(|method| !far_behind.contains(&method));
    if left.len() < 2 {
        return None;
    }
    let mut command = settle.clone();
    if left.len() < methods.len()
        && let Some(at) = command.iter().position(|word| word == "--method")
    {
        let names: Vec<String> = left.iter().map(ToString::to_string).collect();
        command[at + 1] = names.join(",");
    }
    raise_visits(&mut command, run);
    let takes_s = takes_s(&command, left.len() as u32, run);
    Some(found(BenchFinding::Settle { command, takes_s }, []))
}

/// Raises the visits of a command, if the run had as many without a decision: to twice those.
fn raise_visits(command: &mut [String], run: &RunFacts<'_>) {
    let Some(flag) = command.iter().position(|word| word == "--visits") else { return };
    let Some(visits) = command.get_mut(flag + 1) else { return };
    let at_load = run.trials.iter().filter(|trial| trial.phase == Phase::FixedLoad);
    let of_set_ups = by_key(at_load, |trial| {
        let profile = &trial.profile;
        [profile.method.to_string(), profile.frame_size.to_string(), profile.placement.to_string()]
    });
    let had = of_set_ups.iter().map(|(_, trials)| trials.len()).max().unwrap_or(0);
    if visits.parse().is_ok_and(|planned: usize| planned <= had) {
        *visits = (2 * had).to_string();
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::environment::Environment;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::{RunFacts, raise_visits};

    /// The visits that a command asks for after a run of so many, if it asked for six.
    fn visits_after(had: u32) -> String {
        let mut trials = Vec::new();
        for number in 1..=had {
            let load = Load::Rate("1k".parse().unwrap());
            let second = Duration::from_secs(1);
            trials.push(measured(1000, 1000, 1000, 0).result(
                number,
                Phase::FixedLoad,
                &profile("recv"),
                load,
                second,
            ));
        }
        let run = RunFacts {
            command: &[],
            started_unix_s: 1,
            complete: true,
            environment: &Environment::default(),
            statements: &[],
            trials: &trials,
            searches: &[],
            sweeps: &[],
            file_warnings: &[],
            soak: None,
        };
        let mut command = ["bench", "--visits", "6"].map(String::from);
        raise_visits(&mut command, &run);
        command[2].clone()
    }

    #[test]
    fn a_command_that_decides_asks_for_more_visits_than_the_run_had() {
        assert_eq!(visits_after(5), "6");
        assert_eq!(visits_after(6), "12");
    }
}
