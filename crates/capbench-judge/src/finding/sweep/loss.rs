//! What is lost at a point of a sweep, and where; what buffers hide; and what limits a method from which point on, by its
//! readings.

use capbench_model::places::Place;
use serde::Serialize;

use super::point::{SweepPoint, points_of};
use crate::limit::Limit;
use crate::sweep::outcome::{Reading, Swept};

/// The loss at a point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LossAtPoint {
    /// The point.
    pub point: SweepPoint,
    /// Share of the sent frames that was lost: the median of the visits.
    pub loss_ratio: f64,
    /// Where they were lost, most first; empty if no counter reports it.
    pub places: Vec<PlaceShare>,
}

/// The part of a loss at one place.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PlaceShare {
    /// The place.
    pub place: Place,
    /// Its share of all lost frames.
    pub share: f64,
}

impl LossAtPoint {
    /// The loss at the point of a reading.
    pub(super) fn of_reading(swept: &Swept<'_>, reading: &Reading) -> Self {
        let all: u64 = reading.lost.iter().map(|lost| lost.frames).sum();
        let mut places = Vec::new();
        for lost in &reading.lost {
            places.push(PlaceShare { place: lost.place, share: lost.frames as f64 / all as f64 });
        }
        Self {
            point: SweepPoint::of_reading(swept.outcome, reading),
            loss_ratio: reading.sent_loss_ratio.median,
            places,
        }
    }
}

/// A point at which the application reads frames more slowly than they arrive, and buffers hold the rest.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BufferedAtPoint {
    /// The point.
    pub point: SweepPoint,
    /// The rate at which the application reads, in frames per second.
    pub read_pps: f64,
    /// The offered load, in frames per second.
    pub offered_pps: f64,
}

impl BufferedAtPoint {
    pub(super) fn of_reading(swept: &Swept<'_>, reading: &Reading) -> Self {
        Self {
            point: SweepPoint::of_reading(swept.outcome, reading),
            read_pps: reading.taken_pps.median,
            offered_pps: reading.offered_pps.median,
        }
    }
}

/// Points without loss where buffers hide, for the length of a trial, that frames arrive faster than they are read.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HiddenByBuffers {
    /// The points.
    pub points: Vec<SweepPoint>,
    /// Whether they are all points from the first of them on.
    pub reaches_end: bool,
    /// The first of them.
    pub first: BufferedAtPoint,
}

/// The points of these readings where only buffers prevent loss.
pub(super) fn hidden_by_buffers(swept: &Swept<'_>, readings: &[Reading]) -> Option<HiddenByBuffers> {
    let hidden: Vec<&Reading> = readings.iter().filter(|reading| is_hidden(reading)).collect();
    let first = hidden.first()?;
    // They are all points from the first of them on if no other point is among the last ones.
    let hidden_at_the_end = readings.iter().rev().take_while(|reading| is_hidden(reading)).count();
    let are_in_a_row_to_the_end = hidden_at_the_end == hidden.len();
    Some(HiddenByBuffers {
        points: points_of(swept.outcome, hidden.iter().copied()),
        reaches_end: are_in_a_row_to_the_end && !swept.outcome.has_named_points(),
        first: BufferedAtPoint::of_reading(swept, first),
    })
}

/// Whether the application read frames more slowly than they arrived, and most visits lost none all the same.
fn is_hidden(reading: &Reading) -> bool {
    reading.is_saturated() && !reading.loses()
}

/// A limit, and the point from which on it is the limit.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LimitFrom {
    /// The point.
    pub from: SweepPoint,
    /// The limit.
    pub limit: Limit,
}

/// The limits at the points at which the method does not keep up. They may change over the axis. Noise does not take the place of another
/// limit where each point asks more of the method than the one before.
pub(super) fn limits(swept: &Swept<'_>, readings: &[Reading]) -> Vec<LimitFrom> {
    let mut limits: Vec<LimitFrom> = Vec::new();
    for reading in readings.iter().filter(|reading| reading.falls_short()) {
        let Some(limit) = swept.limit(reading) else { continue };
        let known = limits.last().map(|known| known.limit);
        let is_hidden_by_noise =
            limit == Limit::Noise && known.is_some() && swept.outcome.axis.demands_more();
        if known != Some(limit) && !is_hidden_by_noise {
            limits.push(LimitFrom { from: SweepPoint::of_reading(swept.outcome, reading), limit });
        }
    }
    // `RingOrApplication` leaves open which of the two it is. A point that shows one limit decides for such points, too.
    if limits.iter().any(|known| !matches!(known.limit, Limit::RingOrApplication | Limit::Noise)) {
        limits.retain(|known| known.limit != Limit::RingOrApplication);
        limits.dedup_by_key(|known| known.limit);
    }
    limits
}

#[cfg(test)]
mod tests {
    use capbench_model::disturbance::CpuDisturbance;
    use capbench_model::trial::TrialResult;

    use super::limits;
    use crate::limit::Limit;
    use crate::sweep::AxisKind;
    use crate::sweep::for_tests::Outcome::Lossy;
    use crate::sweep::for_tests::{reading_of_each, series, sweep_of_loads, trial};
    use crate::sweep::outcome::Swept;

    /// A trial that lost three of ten frames, while others had a half of the application's CPU.
    fn disturbed(number: u32) -> TrialResult {
        let mut trial = trial(number, Lossy);
        let foreign_ns = 500_000_000;
        let cpu =
            CpuDisturbance { cpu: 1, window_ns: 2 * foreign_ns, foreign_ns, ..CpuDisturbance::default() };
        trial.disturbance.sending_ns = 2 * foreign_ns;
        trial.disturbance.cpus = vec![cpu];
        trial
    }

    /// The limits at a disturbed point, an undisturbed one, and a disturbed one.
    fn limits_on(axis: AxisKind) -> Vec<Limit> {
        let trials = [disturbed(1), trial(2, Lossy), disturbed(3)];
        let mut sweep = sweep_of_loads(&[0.0, 1.0, 2.0], vec![series("recv", reading_of_each(&trials))]);
        sweep.axis = axis;
        let found = limits(&Swept::new(&sweep, &trials), &sweep.series[0].readings);
        found.iter().map(|from| from.limit).collect()
    }

    #[test]
    fn noise_takes_the_place_of_a_limit_only_where_a_later_point_asks_no_more_of_the_method() {
        let undisturbed = limits_on(AxisKind::Load)[1];
        assert_ne!(undisturbed, Limit::Noise);
        for axis in [AxisKind::Load, AxisKind::Work] {
            assert_eq!(limits_on(axis), [Limit::Noise, undisturbed]);
        }
        assert_eq!(limits_on(AxisKind::Size), [Limit::Noise, undisturbed, Limit::Noise]);
    }
}
