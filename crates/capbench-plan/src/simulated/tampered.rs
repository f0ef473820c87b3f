//! A path that changes results, to test the reaction of its callers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use capbench_frames::rates::Pps;

use crate::guards::{Guarded, Policy, is_overload};
use crate::simulated::SimulatedLaboratory;
use capbench_model::Result;
use capbench_model::disturbance::ClockDrift;
use capbench_model::disturbance::{CpuDisturbance, Disturbance};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::noise::Noise;
use capbench_model::reasons::Invalid;
use capbench_model::statement::Statement;
use capbench_model::trial::{Departed, Load, Phase, Trial, TrialResult, Verdict};

/// Changes the results of another path, depending on the number of earlier trials. It takes no rests, and records them.
pub(crate) struct Tampered<L, F> {
    pub(crate) path: L,
    pub(crate) change: F,
    pub(crate) trials: u32,
    pub(crate) rests: Vec<Duration>,
}

impl<L: Laboratory, F: FnMut(u32, &mut TrialResult)> Tampered<L, F> {
    pub(crate) fn new(path: L, change: F) -> Self {
        Self { path, change, trials: 0, rests: Vec::new() }
    }
}

impl<L: Laboratory, F: FnMut(u32, &mut TrialResult)> Laboratory for Tampered<L, F> {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        let trial = self.path.prepare(setup)?;
        Ok(Box::new(TamperedTrial { trial, change: &mut self.change, trials: &mut self.trials }))
    }

    fn rest(&mut self, while_idle: Duration) {
        self.rests.push(while_idle);
    }

    fn take_turns(&mut self, are_in_turns: bool) {
        self.path.take_turns(are_in_turns);
    }

    fn number_after(&mut self, last: u32) {
        self.path.number_after(last);
    }

    fn statements(&self) -> Vec<Statement> {
        self.path.statements()
    }
}

struct TamperedTrial<'t, F> {
    trial: Box<dyn Trial + 't>,
    change: &'t mut F,
    trials: &'t mut u32,
}

impl<F: FnMut(u32, &mut TrialResult)> Trial for TamperedTrial<'_, F> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let mut result = self.trial.run(load, duration)?;
        (self.change)(*self.trials, &mut result);
        *self.trials += 1;
        Ok(result)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate()
    }
}

pub(crate) fn lose_one(result: &mut TrialResult) {
    result.delivered -= 1;
    result.verdict = Verdict::Lossy;
}

/// Guards a path like the product, but without pauses: no time passes here.
pub(crate) fn guarded<L: Laboratory, F: FnMut(u32, &mut TrialResult)>(
    path: L,
    change: F,
) -> Guarded<Tampered<L, F>> {
    let policy = Policy { pause: Duration::ZERO, ..Policy::default() };
    Guarded::new(Tampered::new(path, change), policy, Arc::default())
}

pub(crate) fn lose_all(result: &mut TrialResult) {
    (result.delivered, result.delivered_pps, result.loss_ratio) = (0, 0.0, 1.0);
    result.verdict = Verdict::Lossy;
}

/// Recognises a guard's probe after an overload: nothing else on the paths of these tests sends so slowly.
fn is_probe(result: &TrialResult) -> bool {
    result.intended_pps.is_some_and(|pps| pps <= 1000.0)
}

/// Every `nth` trial is disturbed by the host, each time in another way, and loses a frame.
pub(crate) fn disturbs_every(nth: u32) -> impl FnMut(u32, &mut TrialResult) {
    let mut trials = 0;
    move |_, result| {
        if !is_probe(result) {
            trials += 1;
            if trials % nth == 0 {
                result.disturbance = disturbance(trials / nth);
                lose_one(result);
            }
        }
    }
}

/// One of the five disturbances of a trial.
pub(crate) fn disturbance(which: u32) -> Disturbance {
    const MS: u64 = 1_000_000;
    let mut cpu = CpuDisturbance { cpu: 1, window_ns: 1000 * MS, ..CpuDisturbance::default() };
    let mut clocks = ClockDrift { realtime_step_ns: 0, slew_ppm: 0.0, suspended_ns: 0 };
    match which % 5 {
        0 => cpu.steal_ns = 30 * MS,
        1 => cpu.foreign_ns = 90 * MS,
        2 => clocks.realtime_step_ns = -5_000_000,
        3 => clocks.slew_ppm = 700.0,
        _ => clocks.suspended_ns = 3_000_000,
    }
    Disturbance {
        cpus: vec![cpu],
        tick_ns: 10 * MS,
        clocks,
        sending_ns: 1000 * MS,
        backlog_lasts_ns: None,
        start_spread_ns: None,
        disturbers: None,
    }
}

/// Loses everything in this many trials after an overload.
pub(crate) fn recovers_after(trials: u32) -> impl FnMut(u32, &mut TrialResult) {
    let mut left = 0;
    move |_, result| {
        if left > 0 {
            left -= 1;
            lose_all(result);
        } else if is_overload(result.sent_loss_ratio()) {
            left = trials;
        }
    }
}

/// Trials with these numbers, from 0, count more frames than were sent.
pub(crate) fn contradicts_itself(at: impl Fn(u32) -> bool) -> impl FnMut(u32, &mut TrialResult) {
    move |trial, result| {
        if at(trial) && !is_probe(result) {
            result.invalidate(&Invalid::MoreBooked { excess: 5, sent: 100 });
        }
    }
}

/// A link of this rate; trials with these numbers, from 0, count twice its capacity.
pub(crate) fn exceeds_the_line(line_pps: f64, at: impl Fn(u32) -> bool) -> impl FnMut(u32, &mut TrialResult) {
    move |trial, result| {
        result.line_rate_pps = Some(line_pps);
        result.departed = Some(Departed { after_s: result.sending_s, under_way: 0 });
        if at(trial) && !is_probe(result) {
            result.sent = (2.0 * line_pps * result.sending_s) as u64 + 100_000;
            result.delivered = result.sent;
        }
    }
}

/// Counts of what guards did with the trials of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardingCounts {
    /// Trials that the plan got.
    pub(crate) accepted: usize,
    /// Attempts that were repeated.
    pub(crate) discarded: usize,
    /// Overloads that were followed by probes.
    pub(crate) recoveries: usize,
    pub(crate) probes: usize,
    /// Accepted trials that the host disturbed.
    pub(crate) marked: usize,
    /// Why attempts were repeated.
    pub(crate) because: BTreeSet<Noise>,
}

/// The counts, after a check that every attempt of the path is exactly one of: result, discarded attempt, probe.
pub(crate) fn accounted<L: Laboratory, F: FnMut(u32, &mut TrialResult)>(
    path: &Guarded<Tampered<L, F>>,
    results: &[TrialResult],
) -> GuardingCounts {
    let mut guarding = GuardingCounts { accepted: results.len(), ..GuardingCounts::default() };
    let mut numbers: Vec<u32> = results.iter().map(|result| result.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    for result in results {
        assert!(!matches!(result.phase, Phase::Probe | Phase::Retried), "{result:?}");
        guarding.marked += usize::from(!result.disturbance.reasons().is_empty());
        let Some(did) = &result.guarding else { continue };
        guarding.discarded += did.discarded.len();
        for attempt in &did.discarded {
            assert_eq!(attempt.trial.phase, Phase::Retried);
            assert!(attempt.trial.guarding.is_none());
            numbers.push(attempt.trial.number);
            guarding.because.extend(attempt.because.reasons.iter().cloned());
        }
        if let Some(recovery) = &did.recovery {
            guarding.recoveries += 1;
            guarding.probes += recovery.probes.len();
            assert!(recovery.probes.iter().all(|probe| probe.phase == Phase::Probe));
            numbers.extend(recovery.probes.iter().map(|probe| probe.number));
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=path.inner().trials).collect::<Vec<_>>(), "every attempt is recorded once");
    let statement = path.statements().pop().unwrap();
    let Statement::Guards(counts) = statement else { panic!("{statement:?}") };
    assert_eq!((counts.repeats as usize, counts.probes as usize), (guarding.discarded, guarding.probes));
    guarding
}

/// A change of the results of a path.
type Change = Box<dyn FnMut(u32, &mut TrialResult)>;

/// What a plan gave on a path.
pub(crate) struct Found {
    pub(crate) trials: Vec<TrialResult>,
    /// What it concluded, without the numbers of trials.
    pub(crate) conclusion: String,
}

/// How much of a path's trials is spoiled.
pub(crate) struct Spoiling {
    /// Trials after an overload that lose everything.
    pub(crate) after_overload: u32,
    /// Every so many trials, the host disturbs one.
    pub(crate) disturbed_every: u32,
}

/// A plan, what it found on the bare path, and the path anew for each experiment.
struct Experiment<'p> {
    plan: &'p dyn Fn(&mut dyn Laboratory) -> Found,
    path: fn() -> SimulatedLaboratory,
    bare: Found,
    /// Overloads that another trial follows, so that guards probe the path in between.
    overloads: usize,
}

/// Guards change nothing of what a plan finds, where the path recovers slowly, where the host disturbs trials, and where trials
/// contradict themselves.
pub(crate) fn assert_guards_change_nothing(
    path: fn() -> SimulatedLaboratory,
    spoiling: &Spoiling,
    plan: impl Fn(&mut dyn Laboratory) -> Found,
) {
    let bare = plan(&mut path());
    // Nothing follows the last trial.
    let followed = &bare.trials[..bare.trials.len() - 1];
    let overloads = followed.iter().filter(|trial| is_overload(trial.sent_loss_ratio())).count();
    assert!(overloads > 5, "{overloads}");
    let experiment = Experiment { plan: &plan, path, bare, overloads };
    experiment.with_an_unchanged_path();
    experiment.with_slow_recovery(spoiling.after_overload);
    experiment.with_disturbed_trials(spoiling.disturbed_every);
    experiment.with_contradictions(Box::new(contradicts_itself(is_ninth)), "negative loss");
    experiment.with_contradictions(Box::new(exceeds_the_line(1e6, is_ninth)), "more than the link carries");
}

fn is_ninth(trial: u32) -> bool {
    trial % 9 == 2
}

impl Experiment<'_> {
    /// What guards did with the trials of the plan on a changed path, after a check that the plan found the same as on the bare one.
    fn run(&self, change: Change) -> GuardingCounts {
        let mut path = guarded((self.path)(), change);
        let found = (self.plan)(&mut path);
        assert_eq!(found.conclusion, self.bare.conclusion);
        assert_eq!(found.trials.len(), self.bare.trials.len());
        accounted(&path, &found.trials)
    }

    /// The counts if one probe after each overload is clean.
    fn usual(&self) -> GuardingCounts {
        GuardingCounts {
            accepted: self.bare.trials.len(),
            recoveries: self.overloads,
            probes: self.overloads,
            ..GuardingCounts::default()
        }
    }

    fn with_an_unchanged_path(&self) {
        assert_eq!(self.run(Box::new(|_, _| {})), self.usual());
    }

    fn with_slow_recovery(&self, after_overload: u32) {
        let slow = self.run(Box::new(recovers_after(after_overload)));
        let probes = (after_overload as usize + 1) * self.overloads;
        assert_eq!(slow, GuardingCounts { probes, ..self.usual() });
    }

    fn with_disturbed_trials(&self, every: u32) {
        let disturbed = self.run(Box::new(disturbs_every(every)));
        // Attempts are discarded until as many remain as were asked for.
        let attempts = disturbed.accepted + disturbed.discarded;
        assert_eq!((disturbed.marked, disturbed.discarded), (0, attempts / every as usize));
        let all: BTreeSet<Noise> = (0..5).flat_map(|which| disturbance(which).reasons()).collect();
        assert_eq!(all.len(), 5, "steal, foreign load, and three of clocks");
        assert_eq!(disturbed.because, all);
    }

    fn with_contradictions(&self, change: Change, because: &str) {
        let repeated = self.run(change);
        assert!(repeated.discarded > 2, "{repeated:?}");
        for noise in &repeated.because {
            assert!(matches!(noise, Noise::Invalid { because: why } if why.contains(because)), "{noise:?}");
        }
    }
}
