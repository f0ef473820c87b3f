//! Trials as comparisons see them: which are compared, and by which figures.
//!
//! A trial of a results file and a row of a dataset both become a [`SampledTrial`], so that one place decides about both.

use std::collections::BTreeMap;

use capbench_model::trial::{LoadShape, Phase, TrialResult, Verdict, shortfall};

use super::measure::Measure;
use super::setup::Setup;
use crate::sustained::{are_frames_sent, delivers_all};
use crate::thresholds::EQUAL_LOADS;

#[cfg(test)]
mod tests;

/// Why a trial is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is invalid.
    Invalid,
    /// It is a step towards a result, or a probe. The results of searches are compared instead.
    Step,
    /// It is a point of a sweep whose parameter is unknown.
    UnknownPoint,
    /// The generator did not send its load.
    LoadNotSent,
    /// Its common load was lowered afterwards, because a method lost frames there.
    LoweredLoad,
}

/// What a comparison needs to know of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledTrial {
    /// The set-up with its load.
    pub setup: Setup,
    /// The purpose of the trial.
    pub phase: Phase,
    /// Whether it is a point of a sweep whose parameter is unknown.
    pub is_unknown_point: bool,
    /// The trial's verdict.
    pub verdict: Verdict,
    /// Intended load in frames per second; absent if it is not a constant rate.
    pub intended_pps: Option<f64>,
    /// Shape of a load that is neither a constant rate nor maximum load.
    pub load: Option<LoadShape>,
    /// Frames that the generator should send.
    pub intended: u64,
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Frames that reached the application intact, counted once each.
    pub delivered: u64,
    /// Whether the receiver does not slow the generator.
    pub load_independent: bool,
    /// Offered load times the share delivered.
    pub delivered_pps: f64,
    /// CPU time of application and kernel per frame, nanoseconds; absent if unknown.
    pub total_ns_per_packet: Option<f64>,
    /// CPU time of the application per frame, nanoseconds; absent if unknown, or if only a range is known.
    pub app_ns_per_packet: Option<f64>,
    /// Median of the latency, nanoseconds; absent if unknown.
    pub median_latency_ns: Option<f64>,
    /// 99.9th percentile of the latency, nanoseconds; absent if unknown.
    pub worst_latency_ns: Option<f64>,
}

/// A figure of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredFigure {
    /// Which figure it is.
    pub measure: Measure,
    /// Its value, in the figure's unit.
    pub value: f64,
    /// Whether the method may sustain more: it lost nothing at the generator's maximum.
    pub is_at_least: bool,
}

impl SampledTrial {
    /// A trial of a results file. `point` is its point of a sweep, if the set-up does not contain it.
    pub fn from_result(trial: &TrialResult, point: Option<&str>) -> Self {
        let total = trial.latency.as_ref().and_then(|latency| latency.total.as_ref());
        Self {
            setup: Setup::from_trial(trial, point),
            phase: trial.phase,
            is_unknown_point: false,
            verdict: trial.verdict,
            intended_pps: trial.intended_pps,
            load: trial.load,
            intended: trial.intended,
            sent: trial.sent,
            delivered: trial.delivered,
            load_independent: trial.profile.load_independent,
            delivered_pps: trial.delivered_pps,
            total_ns_per_packet: trial.total_ns_per_packet(),
            app_ns_per_packet: trial.cpu.app_ns_per_packet.filter(|_| !trial.cpu.split_is_sampled),
            median_latency_ns: total.map(|delays| delays.p50_ns as f64),
            worst_latency_ns: total.map(|delays| delays.p99_9_ns as f64),
        }
    }

    /// Why the trial is not compared, by its own figures alone.
    pub fn unusable(&self) -> Option<Unusable> {
        if self.verdict == Verdict::Invalid {
            return Some(Unusable::Invalid);
        }
        if let Some(unusable) = self.without_purpose() {
            return Some(unusable);
        }
        // A trial at maximum load has no load to reach.
        (self.intended_pps.is_some() && !self.is_load_sent()).then_some(Unusable::LoadNotSent)
    }

    /// Whether it was measured to be compared. It may be left out all the same, by what came of it.
    pub fn is_to_be_compared(&self) -> bool {
        self.without_purpose().is_none()
    }

    /// Why no trial with its purpose is compared.
    fn without_purpose(&self) -> Option<Unusable> {
        match self.phase {
            // A search or a procedure chose their loads by its own trials, they are too short, or others than these compare them.
            Phase::Confirmation
            | Phase::Search
            | Phase::SelfTest
            | Phase::Soak
            | Phase::Probe
            | Phase::Retried
            | Phase::BackToBack
            | Phase::Recovery
            | Phase::Turns => Some(Unusable::Step),
            Phase::Sweep if self.is_unknown_point => Some(Unusable::UnknownPoint),
            _ => None,
        }
    }

    /// Why the trial is not compared; `common` are the common loads of its run.
    pub fn left_out(&self, common: &CommonLoads) -> Option<Unusable> {
        self.unusable().or_else(|| common.is_lowered(self).then_some(Unusable::LoweredLoad))
    }

    /// The figures by which the trial is compared.
    pub fn figures(&self) -> Vec<MeasuredFigure> {
        let mut figures = Vec::new();
        for measure in Measure::OF_TRIALS {
            if let Some(value) = self.value(measure) {
                let is_at_least = measure == Measure::DeliveredRate && self.is_rate_at_least();
                figures.push(MeasuredFigure { measure, value, is_at_least });
            }
        }
        figures
    }

    /// A figure of the trial; `None` if it is unknown, or is not compared at this load. See [`Measure`] for the reasons.
    fn value(&self, measure: Measure) -> Option<f64> {
        let is_maximum_load = self.intended_pps.is_none() && self.load.is_none();
        match measure {
            Measure::DeliveredRate => is_maximum_load.then_some(self.delivered_pps),
            Measure::LossRatio => (!is_maximum_load).then(|| self.loss_ratio()),
            Measure::Throughput => None,
            // A lost frame has a part of the kernel's cost, and none of the application's.
            Measure::TotalCost => self.total_ns_per_packet.filter(|_| self.is_load_delivered()),
            Measure::ApplicationCost => self.app_ns_per_packet,
            Measure::MedianLatency => self.median_latency_ns,
            Measure::WorstLatency => self.worst_latency_ns,
        }
    }

    /// Whether the generator sent the load.
    fn is_load_sent(&self) -> bool {
        let unsent = shortfall(self.intended, self.sent, self.intended_pps);
        are_frames_sent(self.intended, self.intended - unsent)
    }

    /// Whether the load was sent and all of it was delivered. Otherwise the CPU time per packet is not that of this load.
    pub fn is_load_delivered(&self) -> bool {
        delivers_all(self.verdict) && self.is_load_sent()
    }

    /// Whether the method may deliver more than it did: it lost nothing. If the receiver slows the generator, the sent rate is a
    /// property of the method.
    pub fn is_rate_at_least(&self) -> bool {
        self.lost() == 0 && self.load_independent
    }

    fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.delivered)
    }

    fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost() as f64 / self.sent as f64 }
    }
}

/// Whether the CPU time of a packet is not compared between two common loads, because it depends on the load.
pub(super) fn are_loads_unlike(one_pps: f64, other_pps: f64) -> bool {
    (one_pps - other_pps).abs() > EQUAL_LOADS * one_pps.max(other_pps)
}

/// The common loads of a run, by the set-up without method: the lowest that was tried. Higher ones were lowered, because a method
/// lost frames there.
#[derive(Clone, Debug, Default)]
pub struct CommonLoads(BTreeMap<Setup, f64>);

impl CommonLoads {
    /// The common loads of the trials of a run.
    pub fn of_trials<'t>(trials: impl IntoIterator<Item = &'t SampledTrial>) -> Self {
        let mut loads = BTreeMap::new();
        for trial in trials {
            if let (Phase::CommonLoad, Some(pps)) = (trial.phase, trial.intended_pps) {
                let lowest = loads.entry(trial.setup.common_scene()).or_insert(pps);
                *lowest = pps.min(*lowest);
            }
        }
        Self(loads)
    }

    /// Whether a trial is at a common load that was lowered afterwards.
    fn is_lowered(&self, trial: &SampledTrial) -> bool {
        trial.phase == Phase::CommonLoad
            && self.0.get(&trial.setup.common_scene()).copied() != trial.intended_pps
    }

    /// The set-ups without method, each with its common load.
    pub fn scenes(&self) -> impl Iterator<Item = (&Setup, f64)> {
        self.0.iter().map(|(scene, pps)| (scene, *pps))
    }
}
