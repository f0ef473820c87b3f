//! Methods that took turns: pairs of trials that ran one after the other, so that drift affects both equally.

use serde::{Deserialize, Serialize};

use super::contrast::{self, Matched};
use super::left_out::{LeftOut, NotCompared};
use super::sampled::SampledTrial;
use super::samples::{self, Fastest, Sample};
use super::setup::Field;
use super::{Comparison, Thresholds};
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::by_key;
use capbench_model::trial::TrialResult;

/// Two trials that ran one after the other, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The trial of the reference method.
    pub then: u32,
    /// The trial of the compared method.
    pub now: u32,
}

/// Compares each method with its reference method: one comparison each.
pub fn of_pairs(trials: &[TrialResult], pairs: &[Pair], thresholds: Thresholds) -> Vec<Comparison> {
    let find = |number: u32| trials.iter().find(|trial| trial.number == number);
    let found = pairs.iter().filter_map(|pair| Some([find(pair.then)?, find(pair.now)?]));
    let methods = by_key(found, |pair| pair.map(|trial| &trial.profile.method));
    methods.into_iter().map(|(names, own)| of_methods(names, &own, thresholds)).collect()
}

fn of_methods(
    [then, now]: [&SavedMethod; 2],
    pairs: &[[&TrialResult; 2]],
    thresholds: Thresholds,
) -> Comparison {
    let mut matched: Vec<Matched> = Vec::new();
    let fastest = Fastest::from_trials(pairs.iter().flatten().copied());
    let mut unusable = 0;
    for pair in pairs {
        let paces = pair.map(|trial| fastest.pace(trial));
        let sampled = pair.map(|trial| SampledTrial::from_result(trial, None));
        if sampled.iter().any(|trial| trial.unusable().is_some()) || paces[0] != paces[1] {
            unusable += 2;
            continue;
        }
        let before = samples::of_trial(&sampled[0], pair[0].number, paces[0]);
        let after = samples::of_trial(&sampled[1], pair[1].number, paces[1]);
        for sample in &after {
            let Some(other) = before.iter().find(|other| other.measure == sample.measure) else { continue };
            let rest = |sample: &Sample| sample.setup.across(&[Field::Method]).without_capture();
            if rest(other) != rest(sample) {
                continue;
            }
            let stratum = [vec![(other.value, other.trial)], vec![(sample.value, sample.trial)]];
            // One command has one set of sizes for each method.
            let setup = sample.setup.without_capture();
            let is_known = |known: &&mut Matched| known.setup == setup && known.measure == sample.measure;
            match matched.iter_mut().find(is_known) {
                Some(known) => {
                    known.strata.push(stratum);
                    for (nth, one) in [other, sample].into_iter().enumerate() {
                        known.at_least[nth] += usize::from(one.is_at_least);
                    }
                }
                None => matched.push(Matched {
                    setup,
                    measure: sample.measure,
                    strata: vec![stratum],
                    at_least: [other, sample].map(|one| usize::from(one.is_at_least)),
                }),
            }
        }
    }
    let both = format!("{then} and {now}");
    let mut left_out: Vec<LeftOut> =
        contrast::without_those_of_generator(&mut matched, &both).into_iter().collect();
    left_out.extend((unusable > 0).then(|| LeftOut {
        of: both,
        because: NotCompared::UnequalPair,
        trials: unusable,
    }));
    Comparison::from_matched([then.to_string(), now.to_string()], true, &matched, thresholds, left_out)
}
