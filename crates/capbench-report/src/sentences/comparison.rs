//! Changes for the worse or better between two runs, or between methods that took turns.
use capbench_judge::comparison::runs::NOISY;
use capbench_judge::comparison::{Comparison, Contrast, Judgement, Scale};
use capbench_results::Results;

use super::{capital, sentence};
use crate::model::{Sentence, Trials};
use crate::naming::many;

pub(super) fn verdict(results: &Results) -> Option<Sentence> {
    let said = |one: &Comparison| format!("{} against {}: {}", one.now, one.then, conclusion(one));
    let words: Vec<String> = results.comparisons.iter().map(said).collect();
    (!words.is_empty()).then(|| sentence(words.join(" "), results.comparisons.iter().flat_map(evidence)))
}

pub(crate) fn of(comparison: &Comparison) -> Sentence {
    sentence(conclusion(comparison), evidence(comparison))
}

/// What the two runs differ in, which could be the reason of a change. Noise is a caveat.
pub(crate) fn facts(comparison: &Comparison) -> Vec<Sentence> {
    let differ = comparison.differences.iter().map(|difference| format!("The runs differ: {difference}."));
    let notes = comparison.notes.iter().filter(|note| !note.ends_with(NOISY));
    let notes = notes.map(|note| capital(&format!("{}.", note.trim_end_matches('.'))));
    differ.chain(notes).map(|text| sentence(text, [])).collect()
}

/// The trials behind a contrast. Of two runs there are none: trials of both have the same numbers.
pub(crate) fn trials(comparison: &Comparison, contrast: &Contrast) -> Trials {
    let both = contrast.then.trials.iter().chain(&contrast.now.trials);
    if comparison.paired { both.copied().collect() } else { Vec::new() }
}

fn evidence(comparison: &Comparison) -> Vec<u32> {
    let worse = comparison.judged(Judgement::Regression);
    let shown = worse.chain(comparison.judged(Judgement::Improvement));
    shown.flat_map(|contrast| trials(comparison, contrast)).collect()
}

fn conclusion(comparison: &Comparison) -> String {
    let count = |judgement| comparison.judged(judgement).count() as u64;
    if comparison.disturbed {
        return "Inconclusive: the host disturbed most trials of a run; measure again while nothing else runs."
            .into();
    }
    if comparison.damaged {
        return "Inconclusive: the file of a run was damaged or changed; measure again.".into();
    }
    if comparison.is_inconclusive() {
        return match comparison.hosts {
            Some(_) => {
                "Inconclusive: too few runs of the same hosts; measure each host several times.".into()
            }
            None => "Inconclusive: there are too few trials; measure both runs with `--visits 8`.".into(),
        };
    }
    let is_excluded = |contrast: &&Contrast| {
        let threshold = match contrast.measure.scale() {
            Scale::Ratio => comparison.thresholds.relative,
            Scale::Difference => comparison.thresholds.loss,
        };
        contrast.worst_possible().is_some_and(|worst| worst <= threshold)
    };
    let excluded = comparison.judged(Judgement::NotShown).filter(is_excluded).count() as u64;
    let (head, mark) = match count(Judgement::Regression) {
        0 => ("No regression shown".into(), ':'),
        some => (many(some, "regression", "regressions"), ';'),
    };
    let few = count(Judgement::TooFewVisits);
    let is_few = few > 0 && comparison.hosts.is_none();
    let next = if is_few { " More trials (`--visits 8` in both runs) decide." } else { "" };
    let counted = [
        (count(Judgement::Improvement), "is better", "are better"),
        (
            count(Judgement::BelowThreshold),
            "changed by less than the threshold",
            "changed by less than the threshold",
        ),
        (excluded, "is not worse", "are not worse"),
        (
            count(Judgement::NotShown) - excluded,
            "shows no difference, but may be worse",
            "show no difference, but may be worse",
        ),
        (few, "has too few trials", "have too few trials"),
    ];
    let mut words = Vec::new();
    for (some, one, several) in counted.into_iter().filter(|(some, ..)| *some > 0) {
        let figures = if words.is_empty() { many(some, "figure", "figures") } else { some.to_string() };
        words.push(format!("{figures} {}", if some == 1 { one } else { several }));
    }
    if words.is_empty() { format!("{head}.") } else { format!("{head}{mark} {}.{next}", words.join("; ")) }
}
