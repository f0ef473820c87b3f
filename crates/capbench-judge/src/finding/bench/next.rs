//! The command that shows more: the one that decides between several methods, or the command of this run without its load.

use std::time::Duration;

use capbench_model::placement::PlacementName;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use capbench_model::work::Work;

use super::{BenchFinding, SetUp, found};
use crate::durations::{TrialsInTurns, time_of_bench, whole_run};
use crate::finding::Found;
use crate::recommendation::turns::{Turns, would_name_the_best};
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
        let had = TrialsInTurns { trials, is_at_load, is_quick: run.command.is_quick() };
        let rounds = had.rounds_of_next(recommendation.rankings.len(), left.len());
        let rounds = rounds.min(TURNS_LOOKS[TURNS_LOOKS.len() - 1]);
        if would_name_the_best(&in_turns, left, rounds) == Some(false) {
            // More rounds do not show which load is meant.
            if ranking.turns.as_ref().is_some_and(Turns::depend_on_load) {
                return None;
            }
            let fact = BenchFinding::CannotSettle { methods: left.clone(), rounds: rounds as u32 };
            return Some(found(fact, in_turns.iter().map(|trial| trial.number)));
        }
    }
    let mut command = words_to_settle(question, left, ranking);
    command.extend(run.command.of_bench_without(&OF_METHODS_OR_TIME));
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

/// The words of the command that settles which of these methods of a ranking is better, without the program: the methods take turns in
/// this set-up alone, until they are decided or its time is over.
fn words_to_settle(question: Question, methods: &[SavedMethod], ranking: &Ranking) -> Vec<String> {
    let mut words: Vec<String> = vec!["bench".into()];
    if let Question::CheapestAt { pps } = question {
        words.extend(["--rate".into(), pps.to_string()]);
    }
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    words.extend(["--method".into(), methods.join(",")]);
    words.extend(["--size".into(), ranking.frame_size.to_string()]);
    // The user chose the CPUs of a custom placement, and names them again.
    if ranking.placement != PlacementName::Custom {
        words.extend(["--placement".into(), ranking.placement.to_string()]);
    }
    // A program has its own work.
    if ranking.work != Work::NONE && ranking.work != Work::OfProgram {
        words.extend(["--work".into(), ranking.work.to_string()]);
    }
    words
}

/// The command of this run without its load, if no method sustains that: it finds what they sustain. It does not write into the
/// directory of this run.
pub(super) fn find_highest(ranking: &Ranking, run: &RunFacts<'_>) -> Option<Found> {
    if matches!(ranking.conclusion, Conclusion::Use { .. } | Conclusion::OneOf { .. }) {
        return None;
    }
    let all = run.command.of_bench_without(&["--out"]);
    let rest = run.command.of_bench_without(&["--out", "--rate", "--max-loss"]);
    let has_load = rest != all;
    let command = std::iter::once("bench".into()).chain(rest).collect();
    has_load.then(|| found(BenchFinding::FindHighest { command }, []))
}
