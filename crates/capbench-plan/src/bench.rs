//! The main job: measures methods x frame sizes x placements. It first measures each at maximum load. Then it measures all at
//! one load that the slowest can sustain, so that CPU cost is compared at equal work. With several visits, the later ones come
//! in random order and the methods alternate. With a reference method, that method runs immediately before or after each of the
//! others, alternately.

use std::collections::BTreeSet;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use crate::Result;
use crate::comparison::Pair;
use crate::cost::OVERHEAD;
use crate::order::{Shuffle, turns};
use crate::session::{Observer, Session};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

/// What a bench runs.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// Methods, in the order of the table.
    pub methods: Vec<MethodSpec>,
    /// Set-ups without method and placement, one per frame size.
    pub sizes: Vec<Setup>,
    /// Placements.
    pub placements: Vec<PlacementChoice>,
    /// Length of a trial.
    pub duration: Duration,
    /// A load that replaces both phases.
    pub rate: Option<Pps>,
    /// How many times each method is measured at each load.
    pub visits: u32,
    /// Seed of the random order of visits.
    pub seed: u64,
    /// The reference method. Every visit runs it next to each of the other methods.
    pub against: Option<MethodSpec>,
    /// Combinations found impossible before any trial ran.
    pub left_out: Vec<(PlacementChoice, MethodSpec)>,
}

/// One load of the methods with one frame size in one placement: the unit of a visit.
#[derive(Clone, Debug)]
struct Stretch {
    setups: Vec<Setup>,
    load: Load,
    phase: Phase,
}

impl Stretch {
    fn of(&self, method: &MethodSpec) -> Option<&Setup> {
        self.setups.iter().find(|setup| setup.method == *method)
    }
}

/// First common load by what the slowest method delivered at maximum load, where it delivers less than it can sustain.
const FIRST_SHARE: f64 = 0.7;
/// Factor that lowers the common load after a method loses frames at it.
const NEXT_SHARE: f64 = 0.6;
/// Number of times the common load is lowered before the bench gives up on the group.
const ROUNDS: usize = 5;
/// Minimum of the common load, below which the kernel's clock is too coarse: packets/s, and share of the fastest rate.
const LEAST_PPS: f64 = 1000.0;
const LEAST_SHARE: f64 = 0.02;
/// Slower methods, by the fastest one's rate, are excluded: they would lower the common load too far.
const TOO_SLOW: f64 = 0.05;

/// The outcome of a bench.
#[derive(Debug, Default)]
pub struct BenchOutcome {
    /// The trials in the order in which they ran.
    pub trials: Vec<TrialResult>,
    /// Pairs of trials that ran next to each other, for comparison.
    pub pairs: Vec<Pair>,
    /// Whether the user stopped it.
    pub stopped: bool,
}

impl BenchPlan {
    /// Number of trials if the common load never has to be lowered.
    pub fn trials(&self) -> usize {
        let groups = self.sizes.len() * self.placements.len();
        let (opening, loads) = if self.rate.is_some() { (0, 1) } else { (2, 2) };
        let opening = opening * self.all().count();
        let visits = self.visits_after_opening() as usize * loads * self.methods.len();
        let visits = if self.against.is_some() { 2 * visits } else { visits };
        groups * (opening + visits)
    }

    /// Approximate duration of the bench.
    pub fn estimate(&self) -> Duration {
        (self.duration + OVERHEAD) * self.trials() as u32
    }

    /// Runs the bench, without set-ups that cannot be measured. Fails when a trial cannot be saved.
    pub fn run(&self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Result<BenchOutcome> {
        let mut session = Session::new(laboratory, observer);
        let mut stretches = Vec::new();
        for &placement in &self.placements {
            for size in &self.sizes {
                if !session.stopped {
                    stretches.extend(self.group(placement, size, &mut session)?);
                }
            }
        }
        let pairs = self.visit(&stretches, &mut session)?;
        Ok(BenchOutcome { trials: session.trials, pairs, stopped: session.stopped })
    }

    /// The methods, followed by the reference method.
    fn all(&self) -> impl Iterator<Item = &MethodSpec> {
        self.against.iter().chain(&self.methods)
    }

    /// Number of visits after those that find the loads. With a reference method, the opening visits count for no comparison.
    fn visits_after_opening(&self) -> u32 {
        let is_first = self.rate.is_none() && self.against.is_none();
        self.visits - u32::from(is_first).min(self.visits)
    }

    /// Runs the later visits, or all visits if the user gave the load.
    fn visit(&self, stretches: &[Stretch], session: &mut Session<'_>) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        let mut failed = BTreeSet::new();
        let mut shuffle = Shuffle::new(self.seed);
        let is_random = self.visits > 1 || self.against.is_some();
        for number in 0..self.visits_after_opening() as usize {
            let order =
                if is_random { shuffle.pass(stretches.len()) } else { (0..stretches.len()).collect() };
            for (place, method) in turns(&order, self.methods.len(), number) {
                let stretch = &stretches[place];
                let Some(setup) = stretch.of(&self.methods[method]) else { continue };
                if failed.contains(&(place, method)) {
                    continue;
                }
                let measured = match &self.against {
                    None => self.at(stretch, setup, session)?.is_some(),
                    Some(against) => {
                        let Some(beside) = stretch.of(against) else { continue };
                        // The order alternates between visits: A B, then B A.
                        let is_first = number.is_multiple_of(2);
                        let [one, two] = if is_first { [beside, setup] } else { [setup, beside] };
                        let one = self.at(stretch, one, session)?;
                        let two = if one.is_some() { self.at(stretch, two, session)? } else { None };
                        let (then, now) = if is_first { (one, two) } else { (two, one) };
                        let pair = then.zip(now).map(|(then, now)| Pair { then, now });
                        pairs.extend(pair);
                        pair.is_some()
                    }
                };
                if session.stopped {
                    return Ok(pairs);
                }
                if !measured {
                    failed.insert((place, method));
                }
            }
        }
        Ok(pairs)
    }

    /// Returns the number of a stretch's trial, or `None` if the trial could not run.
    fn at(&self, stretch: &Stretch, setup: &Setup, session: &mut Session<'_>) -> Result<Option<u32>> {
        let trial = session.trial(setup, stretch.load, self.duration, stretch.phase)?;
        Ok(trial.map(|trial| trial.number))
    }

    /// Both phases once with one frame size in one placement, unless the user gave the load. Returns the stretches to visit.
    fn group(
        &self,
        placement: PlacementChoice,
        size: &Setup,
        session: &mut Session<'_>,
    ) -> Result<Vec<Stretch>> {
        let setups: Vec<Setup> = self
            .all()
            .filter(|method| !self.left_out.iter().any(|(place, out)| *place == placement && out == *method))
            .map(|method| Setup { method: method.clone(), placement, ..size.clone() })
            .collect();
        if let Some(rate) = self.rate {
            return Ok(vec![Stretch { setups, load: Load::Rate(rate), phase: Phase::FixedLoad }]);
        }
        let mut measured = Vec::new();
        for setup in &setups {
            match session.trial(setup, Load::Maximum, self.duration, Phase::BestEffort)? {
                Some(result) => {
                    let shows = result.verdict != Verdict::Invalid;
                    measured.push((setup.clone(), shows.then_some(result.delivered_pps)));
                }
                None if session.stopped => return Ok(Vec::new()),
                None => {}
            }
        }
        let ran = measured.iter().map(|(setup, _)| setup.clone()).collect();
        let mut stretches = vec![Stretch { setups: ran, load: Load::Maximum, phase: Phase::BestEffort }];
        let fastest = measured.iter().filter_map(|(_, pps)| *pps).fold(0.0, f64::max);
        let least = (fastest * LEAST_SHARE).max(LEAST_PPS).round();
        measured.retain(|(_, pps)| pps.is_none_or(|pps| pps >= fastest * TOO_SLOW));
        let slowest = measured.iter().filter_map(|(_, pps)| *pps).fold(f64::INFINITY, f64::min);
        if !slowest.is_finite() {
            return Ok(stretches);
        }
        let measured: Vec<_> = measured.into_iter().map(|(setup, _)| setup).collect();
        let mut rate = slowest * FIRST_SHARE;
        for round in 1..=ROUNDS {
            rate = rate.max(least).round();
            let Ok(pps) = Pps::new(rate) else { return Ok(stretches) };
            let is_last = round == ROUNDS || rate <= least;
            if self.round(&measured, pps, is_last, session)? || session.stopped || is_last {
                stretches.push(Stretch { setups: measured, load: Load::Rate(pps), phase: Phase::CommonLoad });
                break;
            }
            rate *= NEXT_SHARE;
        }
        Ok(stretches)
    }

    /// Measures all methods at one load, until one does not sustain it; the last round measures all. Returns whether all did.
    fn round(&self, setups: &[Setup], rate: Pps, is_last: bool, session: &mut Session<'_>) -> Result<bool> {
        let mut held = true;
        for setup in setups {
            let result = session.trial(setup, Load::Rate(rate), self.duration, Phase::CommonLoad)?;
            if session.stopped {
                return Ok(false);
            }
            held &= result.is_none_or(|result| result.sustained_load() && result.buffered_frames(1) == 0);
            if !held && !is_last {
                return Ok(false);
            }
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use capbench_frames::rates::Pps;
    use capbench_model::method_spec::MethodSpec;

    use super::BenchPlan;
    use crate::for_tests::{Collected, bench_plan, path};
    use crate::simulated::tampered::Tampered;
    use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
    use capbench_model::for_tests::setup;
    use capbench_model::trial::{Phase, TrialResult, Verdict};

    #[test]
    fn every_method_runs_at_maximum_load_and_at_one_common_load() {
        let mut record = Collected::default();
        let outcome = bench_plan(&["recv", "packet-v2", "packet-v3"]).run(&mut path(), &mut record).unwrap();
        assert_eq!((outcome.trials.len(), record.trials.len()), (6, 6));
        assert!(outcome.trials.iter().all(|trial| trial.unexplained == 0));
        let common: Vec<_> = outcome.trials.iter().filter(|trial| trial.phase == Phase::CommonLoad).collect();
        assert!(common.iter().all(|trial| trial.verdict == Verdict::Lossless));
        // recv delivers 400,000 - 0.5 x 600,000 excess = 100,000 at maximum load.
        assert!(
            common.iter().all(|trial| trial.intended_pps == Some(70_000.0)),
            "{:?}",
            common[0].intended_pps
        );
    }

    #[test]
    fn a_common_load_that_loses_is_lowered_until_all_hold_it() {
        let mut laboratory = SimulatedLaboratory::new(
            1_000_000.0,
            vec![SimulatedMethod::new("recv", 400_000.0).bursts_lost_above(100_000.0)],
        );
        let outcome = bench_plan(&["recv"]).run(&mut laboratory, &mut Collected::default()).unwrap();
        let rates: Vec<_> = outcome.trials.iter().filter_map(|trial| trial.intended_pps).collect();
        assert_eq!(rates, [279_300.0, 167_580.0, 100_548.0, 60_329.0]);
        assert_eq!(outcome.trials.last().unwrap().verdict, Verdict::Lossless);
    }

    #[test]
    fn a_method_that_delivers_next_to_nothing_does_not_set_the_common_load() {
        let mut laboratory = SimulatedLaboratory::new(
            1_000_000.0,
            vec![
                SimulatedMethod::new("packet-v3", 2_000_000.0),
                SimulatedMethod::new("recv", 500_000.0),
                SimulatedMethod::new("livelocked", 520_000.0).livelock(1.0),
            ],
        );
        let outcome = bench_plan(&["packet-v3", "recv", "livelocked"])
            .run(&mut laboratory, &mut Collected::default())
            .unwrap();
        let common: Vec<_> = outcome
            .trials
            .iter()
            .filter(|trial| trial.phase == Phase::CommonLoad)
            .map(|trial| (trial.profile.method.as_str(), trial.intended_pps.unwrap()))
            .collect();
        assert_eq!(common, [("packet-v3", 350_000.0), ("recv", 350_000.0)]);
    }

    #[test]
    fn every_visit_measures_every_method_at_every_load_in_another_order() {
        let visited =
            BenchPlan { visits: 4, sizes: vec![setup(64), setup(512)], ..bench_plan(&["recv", "packet-v2"]) };
        let outcome = visited.run(&mut path(), &mut Collected::default()).unwrap();
        assert_eq!(outcome.trials.len(), visited.trials());
        assert!(outcome.pairs.is_empty());
        let of = |trial: &TrialResult| (trial.profile.frame_size.to_string(), trial.phase as u8);
        let passes: Vec<Vec<_>> =
            outcome.trials.chunks(8).map(|pass| pass.iter().map(of).collect()).collect();
        let sorted = |pass: &Vec<(String, u8)>| {
            let mut pass = pass.clone();
            pass.sort();
            pass
        };
        assert!(passes.iter().all(|pass| sorted(pass) == sorted(&passes[0])), "{passes:?}");
        assert!(passes[1..].windows(2).any(|pair| pair[0] != pair[1]), "{passes:?}");
        // Methods take turns at each place, and another one begins in each pass.
        for (number, pass) in outcome.trials.chunks(8).enumerate().skip(1) {
            let first = ["recv", "packet-v2"][(number - 1) % 2];
            assert!(pass.iter().step_by(2).all(|trial| trial.profile.method == first), "pass {number}");
        }
        let again = visited.run(&mut path(), &mut Collected::default()).unwrap();
        assert_eq!(again.trials, outcome.trials, "a seed names an order");
    }

    #[test]
    fn a_load_that_is_given_needs_no_opening() {
        let given = BenchPlan {
            visits: 3,
            rate: Some(Pps::new(50_000.0).unwrap()),
            ..bench_plan(&["recv", "packet-v2"])
        };
        let outcome = given.run(&mut path(), &mut Collected::default()).unwrap();
        assert_eq!((outcome.trials.len(), given.trials()), (6, 6));
        assert!(outcome.trials.iter().all(|trial| trial.phase == Phase::FixedLoad));
    }

    #[test]
    fn a_method_takes_turns_with_the_one_that_it_is_compared_with() {
        let against = Some(MethodSpec::plain("recv"));
        let paired = BenchPlan { visits: 3, against, ..bench_plan(&["packet-v2", "packet-v3"]) };
        let outcome = paired.run(&mut path(), &mut Collected::default()).unwrap();
        assert_eq!(outcome.trials.len(), paired.trials());
        // Two loads, two methods, three visits.
        assert_eq!(outcome.pairs.len(), 12);
        let method = |number: u32| {
            outcome.trials.iter().find(|trial| trial.number == number).unwrap().profile.method.as_str()
        };
        for pair in &outcome.pairs {
            assert_eq!(pair.then.abs_diff(pair.now), 1, "they run one after the other");
            assert_eq!(method(pair.then), "recv");
            assert_ne!(method(pair.now), "recv");
        }
        let first = outcome.pairs.iter().filter(|pair| pair.then < pair.now).count();
        assert_eq!(first, 8, "the other one is first in the second of three visits");
    }

    #[test]
    fn a_method_that_cannot_run_is_left_out_with_its_reason() {
        let mut record = Collected::expecting_skips();
        let outcome = bench_plan(&["absent", "packet-v3"]).run(&mut path(), &mut record).unwrap();
        assert_eq!(outcome.trials.len(), 2);
        assert!(record.skipped[0].contains("absent"), "{:?}", record.skipped);
    }

    #[test]
    fn a_panic_keeps_the_trials_that_were_saved() {
        let mut collected = Collected::default();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut path = Tampered::new(path(), |trial, _| assert!(trial < 2, "a fault in the third trial"));
            bench_plan(&["recv", "packet-v2", "packet-v3"]).run(&mut path, &mut collected)
        }));
        assert!(outcome.is_err());
        assert_eq!(collected.trials.len(), 2, "each was handed over when it ended");
    }

    #[test]
    fn a_stop_keeps_what_is_measured() {
        let mut record = Collected::stopping_after(2);
        let outcome = bench_plan(&["recv", "packet-v2", "packet-v3"]).run(&mut path(), &mut record).unwrap();
        assert!(outcome.stopped);
        assert_eq!(outcome.trials.len(), 2);
    }
}
