//! Paths with losses computed from a seed. The loss of a trial depends on its load, its duration and how often that trial was
//! run before. It does not depend on the trials between: two searches see the same path in any order.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::search;
use capbench_frames::rates::Pps;

use crate::for_tests::Collected;
use crate::search::{Finished, Stored};
use capbench_judge::search::{SearchPlan, parse};
use capbench_judge::sustained::Observation;
use capbench_model::Result;
use capbench_model::for_tests::{measured, profile};
use capbench_model::loss_pattern::{LossPattern, Spread};
use capbench_model::trial::{Departed, Load, Phase, Trial, TrialResult};

/// A path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Frames per second that it delivers at most.
    pub capacity: f64,
    /// Frames per second that the generator sends at most.
    pub generator: f64,
    /// Frames per second that its link carries.
    pub line_rate: Option<Pps>,
    /// Standard deviation of the capacity from trial to trial, as a share of it.
    pub noise: f64,
    /// Frames of its capacity that each frame above it costs: receive livelock.
    pub livelock: f64,
    /// Probability, each second, that it loses `burst` frames at any load.
    pub bursts_per_s: f64,
    pub burst: u64,
    /// Loads between these lose a twentieth, though the capacity is above.
    pub hole: Option<(f64, f64)>,
    pub seed: u64,
    /// Trials, by their number on this path, whose account contradicts itself.
    pub invalid: fn(u32) -> bool,
    pub trials: u32,
    pub repeats: BTreeMap<(u64, Duration), u64>,
}

impl Path {
    /// A path that loses what is above its capacity and nothing else.
    pub(super) fn new(capacity: f64) -> Self {
        Self {
            capacity,
            generator: f64::INFINITY,
            line_rate: None,
            noise: 0.0,
            livelock: 0.0,
            bursts_per_s: 0.0,
            burst: 500,
            hole: None,
            seed: 0,
            invalid: |_| false,
            trials: 0,
            repeats: BTreeMap::new(),
        }
    }

    /// The path as it is after these trials, which ran on a copy of it: the next one has the next number, and a load that was tried
    /// is a repeat.
    pub(super) fn after(mut self, trials: &[TrialResult]) -> Self {
        for trial in trials {
            self.counts(trial.intended_pps, Duration::from_secs_f64(trial.duration_s));
        }
        self.trials = trials.len() as u32;
        self
    }

    /// Intended, sent, delivered and the number of loss events of the next trial.
    pub(super) fn counts(&mut self, load: Option<f64>, duration: Duration) -> (u64, u64, u64, u64) {
        let seconds = duration.as_secs_f64();
        let rate = load.unwrap_or(self.generator);
        // Two searches that compute the same load round its last digits apart.
        let load = rate.round() as u64;
        let repeat = self.repeats.entry((load, duration)).or_default();
        *repeat += 1;
        let mut random =
            Random(self.seed ^ mix(load) ^ mix(duration.as_nanos() as u64).rotate_left(17) ^ mix(*repeat));
        let intended = (rate * seconds) as u64;
        let sent = intended.min((self.generator * seconds) as u64);
        let capacity = self.capacity * (1.0 + self.noise * random.normal());
        let excess = (rate.min(self.generator) - capacity).max(0.0);
        let steady = sent.min(((capacity - self.livelock * excess) * seconds).max(0.0) as u64);
        let in_hole = self.hole.is_some_and(|(from, to)| from <= rate && rate <= to);
        let steady = if in_hole { steady - steady / 20 } else { steady };
        let bursts = (0..seconds.ceil() as u64).filter(|_| random.share() < self.bursts_per_s).count() as u64;
        let delivered = steady.saturating_sub(bursts * self.burst);
        (intended, sent, delivered, bursts + u64::from(steady < sent))
    }
}

impl Trial for Path {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        self.trials += 1;
        let (intended, sent, delivered, events) = self.counts(load.pps(), duration);
        let delivered = if (self.invalid)(self.trials) { sent + 1 } else { delivered };
        let lost = sent.saturating_sub(delivered);
        let mut measured = measured(intended, sent, delivered, lost);
        measured.sending = duration;
        measured.trial.line_rate_pps = self.line_rate.map(Pps::get);
        measured.trial.departed = Some(Departed { after_s: duration.as_secs_f64(), under_way: 0 });
        if lost > 0 {
            let windows = (duration.as_secs_f64() * 10.0).ceil() as u64;
            // What is more than bursts is lost all the time.
            let lossy_windows = if lost > events * self.burst { windows } else { events };
            measured.trial.loss_pattern =
                Some(LossPattern { windows, lossy_windows, ..shape(sent, lost, events) });
        }
        Ok(measured.result(self.trials, Phase::FixedLoad, &profile("packet-v3"), load, duration))
    }

    fn line_rate(&self) -> Option<Pps> {
        self.line_rate
    }
}

/// A path that something changes before each trial, or that refuses it.
pub(super) struct Changing<F>(pub Path, pub F);

impl<F: FnMut(&mut Path, Load) -> Result<()>> Trial for Changing<F> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        (self.1)(&mut self.0, load)?;
        self.0.run(load, duration)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.0.line_rate()
    }
}

fn shape(sent: u64, lost: u64, events: u64) -> LossPattern {
    let bursts = Spread { count: events, total: lost, ..Spread::default() };
    LossPattern { bursts, ..LossPattern::in_windows(sent, lost, 10, 1) }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// From 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box, Muller 1958).
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.share(), self.share());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// A plan with the limits of the reference vector: up to the rate of 64-byte frames on 1 Gbit/s.
pub(super) fn plan(goals: &str) -> SearchPlan {
    let goals = goals.split(';').flat_map(|text| parse(text).unwrap()).collect();
    SearchPlan { maximum_pps: Some("1488095".parse().unwrap()), ..SearchPlan::new(goals) }
}

pub(super) fn run(plan: &SearchPlan, path: &Path) -> Finished {
    search(plan, &mut path.clone())
}

pub(super) fn search(plan: &SearchPlan, path: &mut dyn Trial) -> Finished {
    search::run(plan, "a path", path, Stored::default(), &mut ()).unwrap()
}

/// A search that was stopped after so many trials.
pub(super) fn stopped(plan: &SearchPlan, path: &Path, after: usize) -> Finished {
    let mut record = Collected::stopping_after(after);
    search::run(plan, "a path", &mut path.clone(), Stored::default(), &mut record).unwrap()
}

/// A trial at a million frames per second.
pub(super) fn observed(duration: Duration, loss_ratio: f64) -> Observation {
    let load = Pps::new(1e6).unwrap();
    Observation { number: 0, load, duration, loss_ratio, path_loss_ratio: loss_ratio, achieved: load }
}

/// Lower and upper bound of a goal, intended loads.
pub(super) fn bounds(finished: &Finished, goal: &str) -> (Option<f64>, Option<f64>) {
    let result =
        finished.outcome.goals.iter().find(|result| result.goal.name == goal).expect("a goal of the plan");
    let load = |bound: &Option<capbench_judge::search::Bound>| bound.as_ref().map(|bound| bound.intended_pps);
    (load(&result.lower), load(&result.upper))
}
