//! The visits of one method at one point of a reproduction: what they show together, and how they compare with a limit or with
//! other visits. One visit is never enough to decide.

use serde::Deserialize;

use super::figure::{Figure, buffered};
use crate::reproduction::{Cell, TableNote, Undecided};
use crate::sustained::is_published_load_sent;
use crate::thresholds::BUFFERED_SHARE;
use capbench_model::statistics::interval::Estimate;
use capbench_model::statistics::median;
use capbench_model::trial::{TrialResult, Verdict};

/// The visits of one method at one point, a trial each.
#[derive(Clone, Debug, Default)]
pub struct Visits<'t> {
    /// The trials.
    pub trials: Vec<&'t TrialResult>,
}

/// The order of two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Each visit of the first is above each visit of the second by more than the margin.
    Above,
    /// The opposite.
    Below,
    /// All visits of both are within the margin.
    Alike,
    /// None of these, or too few visits.
    Unknown,
}

/// A limit that each visit must meet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// At least this value, and not only because the buffer had room until sending ended.
    AtLeast(f64),
    /// More than this value, under the same condition.
    Above(f64),
    /// This value or less.
    AtMost(f64),
    /// Less than this value.
    Below(f64),
}

impl Limit {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::Above(least) => value > least,
            Self::AtMost(most) => value <= most,
            Self::Below(most) => value < most,
        }
    }
}

impl<'t> Visits<'t> {
    /// Creates a selection without invalid trials.
    pub(crate) fn from_trials(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        Self { trials: trials.into_iter().filter(|trial| trial.verdict != Verdict::Invalid).collect() }
    }

    /// Numbers of the trials.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.trials.iter().map(|trial| trial.number).collect()
    }

    /// The values of a figure for all trials; empty if one trial does not know it, since the rest would be a biased selection.
    pub(crate) fn values(&self, figure: Figure) -> Vec<f64> {
        self.trials.iter().map(|trial| figure.value_in(trial)).collect::<Option<_>>().unwrap_or_default()
    }

    /// The median of a figure; `None` if a trial does not know it.
    pub(crate) fn median(&self, figure: Figure) -> Option<f64> {
        median(self.values(figure))
    }

    /// A figure as a table cell, marked if the generator or buffers affect it, "at least" if the kernel only samples it.
    pub fn cell(&self, figure: Figure) -> Cell {
        let Some(estimate) = Estimate::of(self.values(figure)) else { return Cell::default() };
        let is_buffered = figure.counts_buffered() && self.buffered_share() > BUFFERED_SHARE;
        let note = match (self.fell_short(), is_buffered) {
            (true, true) => Some(TableNote::LoadNotReachedAndBuffered { above: BUFFERED_SHARE }),
            (true, false) => Some(TableNote::LoadNotReached),
            (false, true) => Some(TableNote::Buffered { above: BUFFERED_SHARE }),
            (false, false) => None,
        };
        let is_sampled = self.trials.iter().any(|trial| trial.cpu.split_is_sampled);
        Cell {
            value: Some(estimate.median),
            low: estimate.low,
            high: estimate.high,
            at_least: figure == Figure::ApplicationLoad && is_sampled,
            mark: note.and_then(|note| note.mark()),
            trials: self.numbers(),
        }
    }

    /// Whether the generator did not reach the load in a trial.
    pub(crate) fn fell_short(&self) -> bool {
        self.trials.iter().any(|trial| !is_published_load_sent(trial))
    }

    /// The largest share of the sent frames that was still buffered when sending ended; 0 if unknown.
    pub(super) fn buffered_share(&self) -> f64 {
        let mut largest: f64 = 0.0;
        for trial in &self.trials {
            largest = largest.max(buffered(trial).unwrap_or_default() / trial.sent.max(1) as f64);
        }
        largest
    }

    /// Whether a share meets a limit in each of at least two visits: a single one may be disturbed.
    pub(crate) fn meets(&self, limit: Limit, share: Figure) -> bool {
        let values = match limit {
            Limit::AtLeast(_) | Limit::Above(_) => self.values(share.without_buffered()),
            Limit::AtMost(_) | Limit::Below(_) => self.values(share),
        };
        values.len() > 1 && values.into_iter().all(|value| limit.is_met_by(value))
    }

    /// Why neither a limit nor its contrary is met.
    pub(crate) fn why_undecided(&self) -> Undecided {
        match self.trials.len() {
            0 => Undecided::NotMeasured,
            1 => Undecided::OneVisit,
            _ if self.buffered_share() > BUFFERED_SHARE => Undecided::Buffered,
            _ => Undecided::VisitsDisagree,
        }
    }

    /// Compares a figure with that of other trials. Differences below `margin` count as none.
    pub(crate) fn against(&self, other: &Visits<'_>, figure: Figure, margin: f64) -> Order {
        order(&self.values(figure), &other.values(figure), margin)
    }
}

/// Compares visits. One visit each proves nothing: the effect of chance is unknown then.
fn order(first: &[f64], second: &[f64], margin: f64) -> Order {
    if first.len() < 2 || second.len() < 2 {
        return Order::Unknown;
    }
    let first = Range::from_values(first);
    let second = Range::from_values(second);
    if first.least > second.most + margin {
        Order::Above
    } else if first.most < second.least - margin {
        Order::Below
    } else if first.most.max(second.most) - first.least.min(second.least) <= margin {
        Order::Alike
    } else {
        Order::Unknown
    }
}

/// The smallest and the largest of several values.
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn from_values(values: &[f64]) -> Self {
        Self {
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

    use super::{Figure, Order, Visits, order};

    #[test]
    fn buffers_matter_from_a_thousandth_of_the_frames_on() {
        for (seconds, mark) in [(0.097, None), (0.103, Some('b'))] {
            let trial = measured(100_000, 100_000, 100_000, 0);
            let second = Duration::from_secs(1);
            let trial = trial.result(1, Phase::Sweep, &profile("recv"), Load::Maximum, second);
            // Of 100 s: 97 or 103 of 100,000 frames.
            let emptying = Some(Emptying { after_s: seconds, holds_s: 0.0 });
            let mut trial = TrialResult { emptying, sending_s: 100.0, ..trial };
            trial.cpu.batches = 100_000;
            assert_eq!(Visits::from_trials([&trial]).cell(Figure::Captured).mark, mark, "{seconds} s");
        }
    }

    #[test]
    fn visits_differ_only_if_all_of_them_differ() {
        assert_eq!(order(&[0.9, 0.92], &[0.5, 0.6], 0.02), Order::Above);
        assert_eq!(order(&[0.5, 0.6], &[0.9, 0.92], 0.02), Order::Below);
        assert_eq!(order(&[0.9, 0.91], &[0.905, 0.9], 0.02), Order::Alike);
        assert_eq!(order(&[0.9, 0.5], &[0.6, 0.4], 0.02), Order::Unknown);
        assert_eq!(order(&[0.905, 0.915], &[0.9, 0.9], 0.02), Order::Alike);
        assert_eq!(order(&[1.0], &[0.0], 0.02), Order::Unknown, "one visit shows nothing");
        assert_eq!(order(&[], &[], 0.02), Order::Unknown);
    }
}
