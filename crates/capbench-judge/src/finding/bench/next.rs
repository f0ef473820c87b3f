//! The command that shows more: the one that decides between several methods, or the command of this run without its load.

use std::time::Duration;

use capbench_model::trial::{Phase, TrialResult};

use super::{BenchFinding, SetUp, found};
use crate::durations::{TrialsInTurns, time_of_bench, whole_run};
use crate::finding::Found;
use crate::recommendation::settle::words_to_settle;
use crate::recommendation::turns::would_name_the_best;
use crate::recommendation::{Conclusion, Question, Ranking, Recommendation};
use crate::run::RunFacts;
use crate::thresholds::TURNS_LOOKS;

/// The command that decides between the methods that the trials leave, if rounds like those of this run do so in its time; else that
/// they do not.
pub(super) fn settle(
    recommendation: &Recommendation,
    ranking: &Ranking,
    run: &RunFacts<'_>,
) -> Option<Found> {
    let Conclusion::OneOf { methods: left, .. } = &ranking.conclusion else { return None };
    if left.len() < 2 {
        return None;
    }
    let question = recommendation.question;
    let set_up = SetUp::of_ranking(ranking);
    let mut in_turns: Vec<&TrialResult> = run.trials.iter().collect();
    in_turns.retain(|trial| is_for_turns(trial) && set_up.includes(trial));
    let is_at_load = question != Question::HighestRate;
    let trials = in_turns.iter().filter(|trial| trial.phase == Phase::Turns).count();
    if trials > 0 {
        let had = TrialsInTurns { trials, is_at_load, is_quick: is_quick(run) };
        let rounds = had.rounds_of_next(recommendation.rankings.len(), left.len());
        let rounds = rounds.min(TURNS_LOOKS[TURNS_LOOKS.len() - 1]);
        if would_name_the_best(&in_turns, left, rounds) == Some(false) {
            let fact = BenchFinding::CannotSettle { methods: left.clone(), rounds: rounds as u32 };
            return Some(found(fact, in_turns.iter().map(|trial| trial.number)));
        }
    }
    let mut command = words_to_settle(question, left, ranking);
    command.extend(programs_file(run));
    let takes: Duration = whole_run(time_of_bench(is_at_load, left.len()));
    Some(found(BenchFinding::Settle { command, takes_s: Some(takes.as_secs_f64()) }, []))
}

/// Whether trials in turns are judged by a trial: it is at the limit, or at the load at which costs are compared.
fn is_for_turns(trial: &TrialResult) -> bool {
    matches!(trial.phase, Phase::Turns | Phase::CommonLoad)
}

/// Whether a run was a quick bench.
fn is_quick(run: &RunFacts<'_>) -> bool {
    run.command.iter().any(|word| word == "--quick")
}

/// The flag and name of the file that defines the programs of a run; empty without one.
fn programs_file(run: &RunFacts<'_>) -> Vec<String> {
    let Some(at) = run.command.iter().position(|word| word.starts_with("--programs")) else {
        return Vec::new();
    };
    // Without a `=`, the value of a flag is the next word.
    let words = if run.command[at].contains('=') { 1 } else { 2 };
    run.command[at..].iter().take(words).cloned().collect()
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

    use super::{RunFacts, programs_file};

    #[test]
    fn a_command_names_the_file_that_defines_its_programs() {
        for (given, expected) in [
            (
                &["capbench", "bench", "--programs", "own.toml", "--quick"][..],
                &["--programs", "own.toml"][..],
            ),
            (&["capbench", "bench", "--programs=own.toml"], &["--programs=own.toml"]),
            (&["capbench", "bench"], &[]),
        ] {
            let command: Vec<String> = given.iter().map(ToString::to_string).collect();
            let run = RunFacts { command: &command, ..RunFacts::of_trials(&[]) };
            assert_eq!(programs_file(&run), expected);
        }
    }
}
