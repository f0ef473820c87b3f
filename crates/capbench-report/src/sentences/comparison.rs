//! Changes for the worse or better between two runs, or between methods that took turns.
use crate::results::Results;
use capbench_plan::comparison::{Comparison, Contrast, Judgement, Scale};

use super::sentence;
use crate::model::Sentence;
use crate::naming::many;

pub(super) fn verdict(results: &Results) -> Option<Sentence> {
    let said = |one: &Comparison| format!("{} against {}: {}", one.now, one.then, conclusion(one));
    let words: Vec<String> = results.comparisons.iter().map(said).collect();
    (!words.is_empty()).then(|| sentence(words.join(" "), results.comparisons.iter().flat_map(evidence)))
}

pub(crate) fn of(comparison: &Comparison) -> Sentence {
    sentence(conclusion(comparison), evidence(comparison))
}

/// What the two runs differ in, which could be the reason of a change.
pub(crate) fn facts(comparison: &Comparison) -> Vec<Sentence> {
    let differ = comparison.differences.iter().map(|difference| format!("The runs differ: {difference}."));
    let notes = comparison.notes.iter().map(|note| format!("{}.", note.trim_end_matches('.')));
    differ.chain(notes).map(|text| sentence(text, [])).collect()
}

fn evidence(comparison: &Comparison) -> Vec<u32> {
    let worse = comparison.judged(Judgement::Regression);
    let shown = worse.chain(comparison.judged(Judgement::Improvement));
    shown.flat_map(|contrast| contrast.then.trials.iter().chain(&contrast.now.trials).copied()).collect()
}

fn conclusion(comparison: &Comparison) -> String {
    let count = |judgement| comparison.judged(judgement).count() as u64;
    if comparison.disturbed {
        return "Inconclusive: the host disturbed most trials of a run; measure again while nothing else runs."
            .into();
    }
    if comparison.damaged {
        return "Inconclusive: the file of a run is not as it was written; measure again.".into();
    }
    if comparison.is_inconclusive() {
        return "Inconclusive: there are too few trials.".into();
    }
    let is_excluded = |contrast: &&Contrast| {
        let threshold = match contrast.measure.scale() {
            Scale::Ratio => comparison.thresholds.relative,
            Scale::Difference => comparison.thresholds.loss,
        };
        contrast.worst_possible().is_some_and(|worst| worst <= threshold)
    };
    let excluded = comparison.judged(Judgement::NotShown).filter(is_excluded).count();
    let where_any = |judgement, words: &dyn Fn(u64) -> String| match count(judgement) {
        0 => String::new(),
        some => format!("; {}", words(some)),
    };
    let regressions = match count(Judgement::Regression) {
        0 => "No regression shown".into(),
        some => many(some, "regression", "regressions"),
    };
    let improvements = many(count(Judgement::Improvement), "improvement", "improvements");
    let small = where_any(Judgement::BelowThreshold, &|some| format!("{some} changed by less"));
    let open = where_any(Judgement::NotShown, &|some| {
        format!(
            "no difference shown in {}, with a regression over the threshold excluded in {excluded}",
            many(some, "figure", "figures")
        )
    });
    let untold = where_any(Judgement::TooFewVisits, &|some| format!("{some} with too few trials"));
    format!("{regressions}, {improvements}{small}{open}{untold}.")
}
