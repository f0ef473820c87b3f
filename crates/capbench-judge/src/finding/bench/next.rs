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
    command.extend(words_without(run, &OF_METHODS_OR_TIME));
    let takes: Duration = whole_run(time_of_bench(is_at_load, left.len()));
    Some(found(BenchFinding::Settle { command, takes_s: Some(takes.as_secs_f64()) }, []))
}

/// Whether trials in turns are judged by a trial: it is at the limit, or at the load at which costs are compared.
fn is_for_turns(trial: &TrialResult) -> bool {
    matches!(trial.phase, Phase::Turns | Phase::CommonLoad)
}

/// What the command that settles a ranking says by itself: the set-up, and how it compares methods.
const OF_METHODS_OR_TIME: [&str; 10] = [
    "--rate",
    "--method",
    "--size",
    "--placement",
    "--work",
    "--out",
    "--quick",
    "--visits",
    "--against",
    "--duration",
];

/// Whether a run was a quick bench.
fn is_quick(run: &RunFacts<'_>) -> bool {
    run.command.iter().any(|word| word == "--quick")
}

/// The words behind `bench` of this run's command, without these flags; none where another command ran it. Without a `=`, the value of a
/// flag is the next word, but of `--quick`, which has none.
fn words_without(run: &RunFacts<'_>, flags: &[&str]) -> Vec<String> {
    let mut words = Vec::new();
    let mut is_value_left_out = false;
    for word in run.command.iter().skip_while(|word| *word != "bench").skip(1) {
        let flag = word.split('=').next().unwrap_or_default();
        let is_left_out = flags.contains(&flag);
        if !is_left_out && !is_value_left_out {
            words.push(word.clone());
        }
        is_value_left_out = is_left_out && flag == word && flag != "--quick";
    }
    words
}

/// The command of this run without its load, if no method sustains that: it finds what they sustain. It does not write into the
/// directory of this run.
pub(super) fn find_highest(ranking: &Ranking, run: &RunFacts<'_>) -> Option<Found> {
    if matches!(ranking.conclusion, Conclusion::Use { .. } | Conclusion::OneOf { .. }) {
        return None;
    }
    let all = words_without(run, &["--out"]);
    let rest = words_without(run, &["--out", "--rate", "--max-loss"]);
    let has_load = rest != all;
    let command = std::iter::once("bench".into()).chain(rest).collect();
    has_load.then(|| found(BenchFinding::FindHighest { command }, []))
}

#[cfg(test)]
mod tests {

    use super::{OF_METHODS_OR_TIME, RunFacts, words_without};

    #[test]
    fn the_next_command_keeps_what_it_does_not_say_itself() {
        for (given, expected) in [
            ("capbench bench --programs own.toml --quick", "--programs own.toml"),
            ("capbench bench --quick --tx eth1 --rx=eth2", "--tx eth1 --rx=eth2"),
            ("capbench bench --rate 1k --size=64 --method a,b --isolated --out here", "--isolated"),
            ("capbench bench", ""),
            ("capbench campaign weekly.toml", ""),
        ] {
            let command: Vec<String> = given.split(' ').map(String::from).collect();
            let run = RunFacts { command: &command, ..RunFacts::of_trials(&[]) };
            assert_eq!(words_without(&run, &OF_METHODS_OR_TIME).join(" "), expected);
        }
    }
}
