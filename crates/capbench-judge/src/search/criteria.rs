//! When a load is sustained: the classification of RFC 9971, a pure function of the trials of that load.

use crate::thresholds::DURATION_ROUNDING_NS;

use std::time::Duration;

use super::database::Observation;
use super::goal::Ratio;

/// The criteria that decide a load: the attributes of a goal, or of a coarser target on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criteria {
    /// A trial that loses more is a high-loss trial.
    pub loss_ratio: Ratio,
    /// The allowed share of the time in high-loss trials.
    pub exceed_ratio: Ratio,
    /// Shorter trials are short trials: they count against a load, not for it.
    pub full_length: Duration,
    /// Maximum trial time that decides a load.
    pub duration_sum: Duration,
}

/// The classification of a load by its trials (RFC 9971, load classification).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The load is sustained.
    Lower,
    /// The load is not sustained.
    Upper,
    /// More trials are needed.
    Undecided,
}

/// A duration in nanoseconds; exact up to 104 days.
fn ns(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    is_full: bool,
    is_high: bool,
}

/// Trial time of one load by kind of trial, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Tally {
    pub(super) fn add(&mut self, duration: Duration, kind: Kind) {
        let sum = match (kind.is_full, kind.is_high) {
            (true, false) => &mut self.full_low,
            (true, true) => &mut self.full_high,
            (false, false) => &mut self.short_low,
            (false, true) => &mut self.short_high,
        };
        *sum += ns(duration);
    }
}

impl Criteria {
    /// Classifies one load. It is decided if it has the same class with all missing time good, and with all of it bad.
    pub fn classify<'t>(&self, trials: impl IntoIterator<Item = &'t Observation>) -> Class {
        let mut tally = Tally::default();
        trials
            .into_iter()
            .for_each(|trial| tally.add(trial.duration, self.kind(trial.duration, trial.loss_ratio)));
        self.decide(&tally)
    }

    /// The sum to which a trial of this length and loss belongs.
    pub(super) fn kind(&self, duration: Duration, loss_ratio: f64) -> Kind {
        Kind { is_full: duration >= self.full_length, is_high: loss_ratio > self.loss_ratio.get() }
    }

    pub(super) fn decide(&self, tally: &Tally) -> Class {
        let Tally { full_low, full_high, short_low, short_high } = *tally;
        let exceed = self.exceed_ratio.get();
        // Short low-loss trials compensate short high-loss ones in the allowed share, and have no other positive effect.
        let excess: f64 = short_high - short_low * exceed / (1.0 - exceed);
        let high = full_high + excess.max(0.0);
        let whole = (full_low + high).max(ns(self.duration_sum));
        let limit = whole * exceed + DURATION_ROUNDING_NS;
        match (high <= limit, whole - full_low <= limit) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Undecided,
        }
    }

    /// The loss ratio that determines the conditional throughput: the worst of the best full-length trials that make up the
    /// share of the time which must not exceed the goal. 1 if there are too few.
    pub fn quantile_loss<'t>(&self, trials: impl IntoIterator<Item = &'t Observation>) -> f64 {
        let mut full: Vec<_> =
            trials.into_iter().filter(|trial| trial.duration >= self.full_length).collect();
        full.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
        let measured: f64 = full.iter().map(|trial| ns(trial.duration)).sum();
        let mut remaining = measured.max(ns(self.duration_sum)) * (1.0 - self.exceed_ratio.get());
        let mut quantile = 0.0;
        for (position, trial) in full.iter().enumerate() {
            if position > 0 && remaining <= DURATION_ROUNDING_NS {
                break;
            }
            quantile = trial.loss_ratio;
            remaining -= ns(trial.duration);
        }
        if remaining > DURATION_ROUNDING_NS { 1.0 } else { quantile }
    }
}
