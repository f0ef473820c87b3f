//! Trials of several generators: how far apart they began, and whose frames were lost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use capbench_model::trial::TrialResult;
use serde::{Deserialize, Serialize};

use super::{TrialFinding, found, numbers};
use crate::finding::Found;

/// How far apart generators began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StartSpread {
    /// The time between the first and the last beginning.
    pub ns: u64,
    /// The same as a share of the sending time.
    pub sending_ratio: f64,
}

/// Whose frames were lost, of several generators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum LossesOfGenerators {
    /// Unknown, because the frames were not examined one by one.
    Unknown,
    /// None of them lost a frame.
    None,
    /// These lost frames.
    ByGenerator {
        /// The generators that lost frames, most first.
        lost: Vec<LossOfGenerator>,
    },
}

/// Lost frames of one generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossOfGenerator {
    /// The location of its interface.
    pub location: String,
    /// Its lost frames.
    pub frames: u64,
}

/// What trials of several generators show; `None` if there are no such trials.
pub(super) fn find(trials: &[TrialResult]) -> Option<Found> {
    let of_several: Vec<&TrialResult> = trials.iter().filter(|trial| trial.generators.len() > 1).collect();
    let generators = of_several.iter().map(|trial| trial.generators.len()).max()? as u32;
    let fact = TrialFinding::GeneratorsTogether {
        generators,
        start_spread: largest_spread(&of_several),
        losses: losses(&of_several),
    };
    Some(found(fact, numbers(&of_several)))
}

fn largest_spread(trials: &[&TrialResult]) -> Option<StartSpread> {
    let mut largest: Option<StartSpread> = None;
    for trial in trials {
        let Some(ns) = trial.disturbance.start_spread_ns else { continue };
        let sending_ratio = ns as f64 / (trial.sending_s * 1e9).max(1.0);
        if largest.is_none_or(|known| sending_ratio > known.sending_ratio) {
            largest = Some(StartSpread { ns, sending_ratio });
        }
    }
    largest
}

fn losses(trials: &[&TrialResult]) -> LossesOfGenerators {
    let mut by_location: BTreeMap<&str, u64> = BTreeMap::new();
    let mut is_known = false;
    for generator in trials.iter().flat_map(|trial| &trial.generators) {
        is_known |= generator.lost.is_some();
        *by_location.entry(&generator.location).or_default() += generator.lost.unwrap_or(0);
    }
    if !is_known {
        return LossesOfGenerators::Unknown;
    }
    let mut lost = Vec::new();
    for (location, frames) in by_location.into_iter().filter(|(_, frames)| *frames > 0) {
        lost.push(LossOfGenerator { location: location.into(), frames });
    }
    if lost.is_empty() {
        return LossesOfGenerators::None;
    }
    lost.sort_by_key(|loss| Reverse(loss.frames));
    LossesOfGenerators::ByGenerator { lost }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Generator, Load, Phase};

    use super::*;
    use crate::finding::Finding;

    fn trial(lost: &[Option<u64>]) -> TrialResult {
        let load = Load::Rate(Pps::new(1000.0).unwrap());
        let measured = measured(1000, 1000, 1000, 0);
        let mut trial = measured.result(1, Phase::FixedLoad, &profile("recv"), load, Duration::from_secs(1));
        for (number, lost) in lost.iter().enumerate() {
            let location = format!("ssh:gen{number}/eth1");
            trial.generators.push(Generator { location, lost: *lost, ..Generator::default() });
        }
        trial
    }

    fn fact(trial: TrialResult) -> Finding {
        find(&[trial]).unwrap().fact
    }

    fn together(generators: u32, losses: LossesOfGenerators) -> Finding {
        Finding::Trials(TrialFinding::GeneratorsTogether { generators, start_spread: None, losses })
    }

    #[test]
    fn one_generator_is_no_fact() {
        assert!(find(&[trial(&[Some(3)])]).is_none() && find(&[trial(&[])]).is_none());
    }

    #[test]
    fn the_start_of_several_is_compared_with_the_sending_time() {
        let [mut near, mut far] = [(); 2].map(|()| trial(&[Some(0), Some(0)]));
        near.disturbance.start_spread_ns = Some(20_000_000);
        near.sending_s = 10.0;
        far.disturbance.start_spread_ns = Some(12_000_000);
        let found = find(&[near, far, trial(&[Some(0); 2])]).unwrap();
        let Finding::Trials(TrialFinding::GeneratorsTogether { start_spread, .. }) = found.fact else {
            panic!("{found:?}");
        };
        assert_eq!(start_spread, Some(StartSpread { ns: 12_000_000, sending_ratio: 0.012 }));
    }

    #[test]
    fn those_that_lost_frames_are_listed_most_first() {
        let loss =
            |number: u32, frames| LossOfGenerator { location: format!("ssh:gen{number}/eth1"), frames };
        let lost = vec![loss(1, 1200), loss(2, 7)];
        let by_generator = LossesOfGenerators::ByGenerator { lost };
        assert_eq!(fact(trial(&[Some(0), Some(1200), Some(7)])), together(3, by_generator));
        assert_eq!(fact(trial(&[Some(0); 2])), together(2, LossesOfGenerators::None));
        assert_eq!(fact(trial(&[None, None])), together(2, LossesOfGenerators::Unknown));
    }
}
