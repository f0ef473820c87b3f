//! Methods that took turns: pairs of trials that ran one after the other, so that drift affects both equally.

use super::contrast::{Matched, NOW, THEN, TrialValue};
use super::generator_rate::remove_those_of_generator;
use super::left_out::{LeftOut, NotCompared};
use super::sampled::SampledTrial;
use super::samples::{self, Fastest, Sample};
use super::setup::{Field, Setup};
use super::{Comparison, Inputs, Thresholds, power};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_statistics::by_key;

/// Two trials that ran one after the other, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The trial of the reference method.
    pub then: u32,
    /// The trial of the compared method.
    pub now: u32,
}

/// Compares each method with its reference method: one comparison each.
pub fn of_pairs(trials: &[TrialResult], pairs: &[Pair], thresholds: Thresholds) -> Vec<Comparison> {
    let mut known: Vec<[&TrialResult; 2]> = Vec::new();
    for pair in pairs {
        let then = trials.iter().find(|trial| trial.number == pair.then);
        let now = trials.iter().find(|trial| trial.number == pair.now);
        if let (Some(then), Some(now)) = (then, now) {
            known.push([then, now]);
        }
    }
    let mut comparisons = Vec::new();
    for (methods, pairs) in by_key(known, |pair| pair.map(|trial| &trial.profile.method)) {
        comparisons.push(of_methods(methods, &pairs, thresholds));
    }
    comparisons
}

/// Compares two methods by the pairs of their trials.
fn of_methods(
    [then, now]: [&SavedMethod; 2],
    pairs: &[[&TrialResult; 2]],
    thresholds: Thresholds,
) -> Comparison {
    let mut matched: Vec<Matched> = Vec::new();
    let fastest = Fastest::from_trials(pairs.iter().flatten().copied());
    let mut unusable_trials = 0;
    for pair in pairs {
        match paired_samples(pair, &fastest) {
            Some(figures) => {
                for figure in figures {
                    add_stratum(&mut matched, figure);
                }
            }
            None => unusable_trials += 2,
        }
    }
    let both = format!("{then} and {now}");
    let mut left_out: Vec<LeftOut> = remove_those_of_generator(&mut matched, &both).into_iter().collect();
    if unusable_trials > 0 {
        left_out.push(LeftOut { subject: both, because: NotCompared::UnequalPair, trials: unusable_trials });
    }
    let inputs = Inputs { paired: true, matched: &matched, thresholds, left_out };
    let comparison = Comparison::new([then.to_string(), now.to_string()], inputs);
    Comparison { visits_needed: power::visits_needed(&comparison, &matched), ..comparison }
}

/// One figure of both trials of a pair.
struct PairedSamples {
    before: Sample,
    after: Sample,
}

/// The figures that both trials of a pair have in the same set-up; `None` if one of the trials is unusable, or if their CPUs
/// ran at different paces.
fn paired_samples(pair: &[&TrialResult; 2], fastest: &Fastest) -> Option<Vec<PairedSamples>> {
    let [pace_before, pace_after] = pair.map(|trial| fastest.pace(trial));
    let [before, after] = pair.map(|trial| SampledTrial::from_result(trial, None));
    if before.unusable().is_some() || after.unusable().is_some() || pace_before != pace_after {
        return None;
    }
    let samples_before = samples::of_trial(&before, pair[0].number, pace_before);
    let mut paired = Vec::new();
    for after in samples::of_trial(&after, pair[1].number, pace_after) {
        let before = samples_before.iter().find(|before| before.measure == after.measure);
        let Some(before) = before.cloned() else { continue };
        if without_method(&before.setup) == without_method(&after.setup) {
            paired.push(PairedSamples { before, after });
        }
    }
    Some(paired)
}

/// What both set-ups must have in common.
fn without_method(setup: &Setup) -> Setup {
    setup.across(&[Field::Method]).without_capture()
}

/// Adds a pair to the values of its figure and set-up. The capture settings of a method need not be compared: in one run they are the
/// same in all its trials.
fn add_stratum(matched: &mut Vec<Matched>, PairedSamples { before, after }: PairedSamples) {
    let setup = after.setup.without_capture();
    let place = matched.iter().position(|known| known.setup == setup && known.measure == after.measure);
    let place = place.unwrap_or_else(|| {
        matched.push(Matched { setup, measure: after.measure, strata: Vec::new(), at_least: [0; 2] });
        matched.len() - 1
    });
    let values = [&before, &after].map(|sample| TrialValue { value: sample.value, trial: sample.trial });
    let known = &mut matched[place];
    known.strata.push(values.map(|value| vec![value]));
    known.at_least[THEN] += usize::from(before.is_at_least);
    known.at_least[NOW] += usize::from(after.is_at_least);
}
