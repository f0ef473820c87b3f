//! What became worse or better, where methods took turns with another one.

use capbench_measure::comparison::{Comparison, Judgement};
use capbench_measure::results::Results;

use super::sentence;
use crate::model::Sentence;
use crate::naming::many;

pub(super) fn verdict(results: &Results) -> Option<Sentence> {
    if results.comparisons.is_empty() {
        return None;
    }
    let words: Vec<String> = results.comparisons.iter().map(said).collect();
    let shown = results.comparisons.iter().flat_map(|comparison| {
        let worse = comparison.judged(Judgement::Regression);
        worse.chain(comparison.judged(Judgement::Improvement))
    });
    let trials: Vec<u32> =
        shown.flat_map(|contrast| contrast.then.trials.iter().chain(&contrast.now.trials).copied()).collect();
    Some(sentence(format!("{}.", words.join("; ")), trials))
}

fn said(comparison: &Comparison) -> String {
    let count = |judgement| comparison.judged(judgement).count() as u64;
    let (worse, better) = (count(Judgement::Regression), count(Judgement::Improvement));
    let sides = format!("{} against {}", comparison.now, comparison.then);
    let tested = many(comparison.tested as u64, "figure", "figures");
    match (comparison.tested, worse, better) {
        (0, ..) => format!("{sides}: too few trials to tell anything"),
        (_, 0, 0) => format!("{sides}: no difference above the threshold is shown in {tested}"),
        _ => format!(
            "{sides}: of {tested} tested, {worse} are worse and {better} better by more than the threshold"
        ),
    }
}
