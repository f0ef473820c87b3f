//! Trials of several generators: how far apart they began, and whose frames were lost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::{TrialFinding, found, numbers};
use crate::finding::Found;

/// How far apart generators began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StartSpread {
    /// The time between the first and the last beginning.
    pub ns: u64,
    /// The same as a share of the sending time.
    pub sending_ratio: f64,
}

/// Whose frames were lost, of several generators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct LossOfGenerator {
    /// The location of its interface.
    pub location: String,
    /// Its lost frames.
    pub frames: u64,
}

/// What trials of several generators show; `None` if there are no such trials.
pub(super) fn find(trials: &[TrialResult]) -> Option<Found> {
    let together: Vec<&TrialResult> = trials.iter().filter(|trial| trial.generators.len() > 1).collect();
    let generators = together.iter().map(|trial| trial.generators.len()).max()? as u32;
    let fact = TrialFinding::GeneratorsTogether {
        generators,
        start_spread: largest_spread(&together),
        losses: losses(&together),
    };
    Some(found(fact, numbers(&together)))
}

/// The spread that is the largest share of the sending time; `None` if it is unknown of every trial.
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

/// The lost frames of each generator in all trials that know them.
fn losses(trials: &[&TrialResult]) -> LossesOfGenerators {
    let mut by_location: BTreeMap<&str, u64> = BTreeMap::new();
    let mut is_known = false;
    for generator in trials.iter().flat_map(|trial| &trial.generators) {
        let Some(frames) = generator.lost else { continue };
        is_known = true;
        *by_location.entry(&generator.location).or_default() += frames;
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
    use capbench_model::trial::{Generator, Load, Phase, TrialResult};

    use super::{LossOfGenerator, LossesOfGenerators, StartSpread, find};
    use crate::finding::Finding;
    use crate::finding::trials::TrialFinding;

    /// The location of the generator with this number.
    fn location(number: usize) -> String {
        format!("ssh:gen{number}/eth1")
    }

    /// A trial of a second whose generators lost so many frames each, if that is known.
    fn trial(lost: &[Option<u64>]) -> TrialResult {
        let load = Load::Rate(Pps::new(1000.0).unwrap());
        let measured = measured(1000, 1000, 1000, 0);
        let mut trial = measured.result(1, Phase::FixedLoad, &profile("recv"), load, Duration::from_secs(1));
        for (number, lost) in lost.iter().enumerate() {
            let location = location(number);
            trial.generators.push(Generator { location, lost: *lost, ..Generator::default() });
        }
        trial
    }

    fn fact(trial: TrialResult) -> Finding {
        find(&[trial]).unwrap().fact
    }

    /// The fact about so many generators.
    fn together(generators: u32, losses: LossesOfGenerators) -> Finding {
        Finding::Trials(TrialFinding::GeneratorsTogether { generators, start_spread: None, losses })
    }

    #[test]
    fn one_generator_is_no_fact() {
        assert!(find(&[trial(&[Some(3)])]).is_none() && find(&[trial(&[])]).is_none());
    }

    #[test]
    fn the_start_of_several_is_compared_with_the_sending_time() {
        // 20 ms of 10 s are less than 12 ms of 1 s.
        let mut long = trial(&[Some(0); 2]);
        long.disturbance.start_spread_ns = Some(20_000_000);
        long.sending_s = 10.0;
        let mut short = trial(&[Some(0); 2]);
        short.disturbance.start_spread_ns = Some(12_000_000);
        let unknown = trial(&[Some(0); 2]);
        let found = find(&[long, short, unknown]).unwrap();
        let Finding::Trials(TrialFinding::GeneratorsTogether { start_spread, .. }) = found.fact else {
            panic!("{found:?}");
        };
        assert_eq!(start_spread, Some(StartSpread { ns: 12_000_000, sending_ratio: 0.012 }));
    }

    #[test]
    fn those_that_lost_frames_are_listed_most_first() {
        let most = LossOfGenerator { location: location(1), frames: 1200 };
        let least = LossOfGenerator { location: location(2), frames: 7 };
        let lost = vec![most, least];
        let by_generator = LossesOfGenerators::ByGenerator { lost };
        assert_eq!(fact(trial(&[Some(0), Some(1200), Some(7)])), together(3, by_generator));
        assert_eq!(fact(trial(&[Some(0); 2])), together(2, LossesOfGenerators::None));
        assert_eq!(fact(trial(&[None, None])), together(2, LossesOfGenerators::Unknown));
    }
}
