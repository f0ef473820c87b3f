//! The methods of a set-up, best first: the verdict of a bench, its picture and its table are made of it.
//!
//! Only trials of one set-up are compared. A method is better if it sustains a higher load without loss; of methods whose rates
//! cannot be distinguished the cheaper one is better.

use std::cmp::Ordering;

use capbench_model::places::Place;
use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::{Phase, TrialResult, Verdict};

use crate::groups::grouped;
use crate::model::Trials;
use crate::naming::{self, Scene, is_sound};
use crate::results::Results;

/// Share of the frames that RFC 9971 and most operators tolerate as lost.
pub(crate) const TOLERATED: f64 = 1e-3;

/// The methods of one set-up.
pub(crate) struct Ranking<'r> {
    pub(crate) scene: Scene,
    /// The load that the user named, in packets per second.
    pub(crate) asked_pps: Option<f64>,
    /// Best first; at least one.
    pub(crate) rows: Vec<Ranked<'r>>,
}

/// A method in a set-up.
pub(crate) struct Ranked<'r> {
    pub(crate) method: &'r str,
    /// The highest load without loss.
    pub(crate) lossless: Option<Sustained>,
    /// The highest load with a tolerated loss.
    pub(crate) tolerant: Option<Sustained>,
    /// CPU time of the application per packet, in nanoseconds: its lower and its upper bound.
    pub(crate) app_ns: Option<[f64; 2]>,
    /// CPU time of application and kernel per packet, in nanoseconds.
    pub(crate) total_ns: Option<Estimate>,
    /// Largest error of the clocks behind `total_ns`, in nanoseconds.
    pub(crate) doubt_ns: f64,
    /// Where most frames were lost at the lowest load with loss.
    pub(crate) limit: Option<Place>,
    /// Its conclusive trials, in the order in which they ran.
    pub(crate) trials: Vec<&'r TrialResult>,
}

/// A rate that a method sustains, in packets per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sustained {
    /// The highest load that was sustained.
    pub(crate) pps: f64,
    /// The lowest load that was not; absent if the generator was the limit.
    pub(crate) below: Option<f64>,
}

impl Sustained {
    /// Whether the limit of this method may be as high as the other's.
    fn may_equal(self, better: Self) -> bool {
        self.below.is_none_or(|below| below > better.pps)
    }

    /// Half the distance of the two loads, as a share of their middle.
    pub(crate) fn precision(self) -> Option<f64> {
        self.below.map(|below| (below - self.pps) / (below + self.pps))
    }
}

impl<'r> Ranked<'r> {
    fn of(method: &'r str, trials: Vec<&'r TrialResult>, common_pps: f64) -> Self {
        let cost = |trial: &&&TrialResult| {
            let is_common = trial.phase == Phase::CommonLoad && trial.intended_pps == Some(common_pps);
            (is_common || trial.phase == Phase::FixedLoad) && trial.held_load()
        };
        let cost: Vec<&TrialResult> = trials.iter().filter(cost).copied().collect();
        let median = |of: fn(&TrialResult) -> Option<f64>| {
            let all: Option<Vec<f64>> = cost.iter().map(|trial| of(trial)).collect();
            all.and_then(Estimate::of)
        };
        let app = [app_at_least, app_at_most].map(|of| median(of).map(|known| known.median));
        let lossy = trials.iter().filter(|trial| trial.lost() > 0);
        let least = lossy.min_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        Self {
            method,
            lossless: sustained(&trials, 0.0),
            tolerant: sustained(&trials, TOLERATED),
            app_ns: app[0].zip(app[1]).map(|(low, high)| [low, high]),
            total_ns: median(TrialResult::total_ns_per_packet),
            doubt_ns: cost.iter().map(|trial| trial.cpu_uncertainty_ns()).fold(0.0, f64::max),
            limit: least.and_then(|trial| Some(naming::losses([*trial]).first()?.0)),
            trials,
        }
    }

    /// Whether its CPU cost cannot be distinguished from the other's, by the clocks or by the visits.
    pub(crate) fn costs_as(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (self.total_ns, other.total_ns) else { return true };
        let reaches = |a: Estimate, b: Estimate| a.low.zip(b.high).is_some_and(|(low, high)| low <= high);
        (own.median - others.median).abs() <= self.doubt_ns + other.doubt_ns
            || (reaches(own, others) && reaches(others, own))
    }

    pub(crate) fn numbers(&self) -> Trials {
        naming::numbers(self.trials.iter().copied())
    }

    /// Its trials at the highest load.
    pub(crate) fn overload(&self) -> Vec<&'r TrialResult> {
        let tops = self.trials.iter().filter(|trial| trial.phase == Phase::BestEffort);
        tops.copied().collect()
    }
}

/// The application's CPU time per packet: what is certainly its own.
pub(crate) fn app_at_least(trial: &TrialResult) -> Option<f64> {
    trial.cpu.app_ns_per_packet
}

/// The same, with what may be the kernel's.
pub(crate) fn app_at_most(trial: &TrialResult) -> Option<f64> {
    let least = app_at_least(trial)?;
    let most = trial.cpu.app_ns_per_packet_at_most.filter(|_| trial.cpu.split_is_sampled);
    Some(most.map_or(least, |most| most.max(least)))
}

/// The highest load at which no trial lost a larger share; `None` if every load lost more.
fn sustained(trials: &[&TrialResult], tolerated: f64) -> Option<Sustained> {
    let is_over = |trial: &&&TrialResult| trial.sent_loss_ratio() > tolerated;
    let over = trials.iter().filter(is_over).map(|trial| trial.offered_pps).min_by(f64::total_cmp);
    let clean = trials.iter().filter(|trial| !is_over(trial) && trial.sent > 0).map(|trial| trial.offered_pps);
    let pps = clean.filter(|pps| over.is_none_or(|over| *pps < over)).max_by(f64::total_cmp)?;
    Some(Sustained { pps, below: over })
}

impl Ranking<'_> {
    pub(crate) fn best(&self) -> &Ranked<'_> {
        &self.rows[0]
    }

    /// Those whose rate cannot be distinguished from the best one's.
    pub(crate) fn equals(&self) -> impl Iterator<Item = &Ranked<'_>> {
        let best = self.best();
        let is_equal = move |row: &&Ranked<'_>| {
            best.lossless.zip(row.lossless).is_some_and(|(best, own)| own.may_equal(best))
        };
        self.rows.iter().skip(1).filter(is_equal)
    }
}

/// The rankings of a bench, the deciding set-up first: the one with the smallest frames, which come at the highest rates.
pub(crate) fn of(results: &Results) -> Vec<Ranking<'_>> {
    let phases = [Phase::BestEffort, Phase::CommonLoad, Phase::FixedLoad];
    let trials = results.trials.iter().filter(|trial| phases.contains(&trial.phase) && is_sound(trial));
    let mut scenes = grouped(trials, |trial| Scene::of(trial));
    scenes.sort_by(|(_, a), (_, b)| a[0].profile.mean_frame_size.total_cmp(&b[0].profile.mean_frame_size));
    scenes.into_iter().map(|(scene, trials)| ranking(scene, &trials)).collect()
}

fn ranking<'r>(scene: Scene, trials: &[&'r TrialResult]) -> Ranking<'r> {
    let fixed = trials.iter().filter(|trial| trial.phase == Phase::FixedLoad);
    // A load that a method did not sustain was lowered: the last one is that of all.
    let common = trials.iter().filter(|trial| trial.phase == Phase::CommonLoad);
    let common = common.filter_map(|trial| trial.intended_pps).fold(f64::INFINITY, f64::min);
    let methods = grouped(trials.iter().copied(), |trial| trial.profile.method.as_str()).into_iter();
    let rows = methods.map(|(method, own)| Ranked::of(method, own, common)).collect();
    Ranking { scene, asked_pps: fixed.filter_map(|trial| trial.intended_pps).last(), rows: ranked(rows) }
}

/// Takes the highest rate, then of all that may equal it the cheapest, and so on.
fn ranked(mut rest: Vec<Ranked<'_>>) -> Vec<Ranked<'_>> {
    let pps = |row: &Ranked<'_>| row.lossless.map_or(-1.0, |own| own.pps);
    let share = |row: &Ranked<'_>| row.trials.iter().map(|trial| trial.sent_loss_ratio()).fold(0.0, f64::max);
    let by_cost = |a: &Ranked<'_>, b: &Ranked<'_>| match a.total_ns.zip(b.total_ns) {
        Some((own, other)) if !a.costs_as(b) => own.median.total_cmp(&other.median),
        _ => Ordering::Equal,
    };
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let top = rest.iter().max_by(|a, b| pps(a).total_cmp(&pps(b)).then(share(b).total_cmp(&share(a))));
        let Some(top) = top.map(|row| (row.lossless, share(row))) else { break };
        let is_equal = |row: &&Ranked<'_>| match (row.lossless, top.0) {
            (Some(own), Some(best)) => own.may_equal(best),
            (None, None) => share(row) <= top.1,
            _ => false,
        };
        let better = |a: &&Ranked<'_>, b: &&Ranked<'_>| {
            by_cost(a, b).then(share(a).total_cmp(&share(b))).then(pps(b).total_cmp(&pps(a)))
        };
        let next = rest.iter().filter(is_equal).min_by(better).map(|row| row.method);
        let Some(at) = rest.iter().position(|row| Some(row.method) == next) else { break };
        rows.push(rest.remove(at));
    }
    rows
}

/// Why nothing can be ranked: the reason of the first invalid trial.
pub(crate) fn invalid(results: &Results) -> Option<(String, Trials)> {
    let invalid: Vec<_> = results.trials.iter().filter(|trial| trial.verdict == Verdict::Invalid).collect();
    Some((invalid.first()?.why_invalid(), naming::numbers(invalid)))
}
