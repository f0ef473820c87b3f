//! At which point of a sweep a method starts to lose frames, or would start in longer trials, and where loss ends, by its
//! readings in the order of the axis.
//!
//! A reading answers four questions, the first three by the median of the visits:
//!
//! | question | the answer is yes if |
//! |---|---|
//! | [`Reading::loses`] | frames were lost |
//! | [`Reading::is_saturated`] | the application read frames more slowly than they arrived, with or without loss |
//! | [`Reading::falls_short`] | one of both: the method does not keep up |
//! | [`Reading::is_clean`] | no visit lost a frame |
//!
//! So a point can be neither clean nor lossy: frames were lost in at most half of the visits. And a point can fall short without a
//! loss: only buffers prevent loss there, and a longer trial loses frames. Loss begins at a point where most visits fall short. Half of
//! them are not enough (`falls_short` of keeps_up.rs).

use serde::Serialize;

use super::loss::{BufferedAtPoint, HiddenByBuffers, LimitFrom, LossAtPoint, hidden_by_buffers, limits};
use super::point::{SweepPoint, SweepSeries, points_of};
use super::{SweepFinding, found};
use crate::finding::Found;
use crate::limit::is_generator_limit;
use crate::sweep::keeps_up::{falls_short, first_lossy, is_kept_up_with, keeps_up_without_a_loss, loses};
use crate::sweep::outcome::{Reading, Series, Swept, numbers};

/// Loss that begins at a point of an ordered axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LossBegins {
    /// The method.
    pub series: SweepSeries,
    /// The last point before it at which the method keeps up, or at none the last without loss; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps_up_to: Option<SweepPoint>,
    /// The first point at which the method does not keep up, if only buffers prevent loss there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_buffered: Option<BufferedAtPoint>,
    /// The first point with loss.
    pub first_loss: LossAtPoint,
    /// The last point; absent if it is the first one with loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastPoint>,
    /// Where loss ends again; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<LossEnds>,
    /// What limits the method, from which points on.
    pub limits: Vec<LimitFrom>,
}

/// The result at the last point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LastPoint {
    /// Frames are lost.
    Loses(LossAtPoint),
    /// Only buffers prevent loss.
    Buffers(BufferedAtPoint),
    /// No frame is lost.
    Lossless(SweepPoint),
}

/// Where loss ends again, as it does when frames grow.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LossEnds {
    /// The first point without loss.
    pub from: SweepPoint,
    /// The same point, if only buffers prevent loss there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_by_buffers: Option<BufferedAtPoint>,
    /// The first point from which on the method keeps up; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps_up_from: Option<SweepPoint>,
}

/// Loss at points without an order.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LossAtNamedPoints {
    /// The method.
    pub series: SweepSeries,
    /// The points with loss.
    pub lossy: Vec<LossAtPoint>,
    /// Points at which only buffers prevent loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenByBuffers>,
}

/// No loss at any point, or in at most half of the visits only.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HardlyAnyLoss {
    /// The method.
    pub series: SweepSeries,
    /// The points with loss in some visits.
    pub lossy: Vec<SweepPoint>,
    /// Where the generator is the limit; absent if it is at no point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_limits: Option<GeneratorLimits>,
    /// Points at which only buffers prevent loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenByBuffers>,
    /// What limits the method, from which points on.
    pub limits: Vec<LimitFrom>,
}

/// Where the generator is the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorLimits {
    /// At some points, and nothing else is at the others.
    Everywhere,
    /// At the points at which the method keeps up; at others the application is.
    WhereItKeepsUp,
}

/// Where a method starts to lose frames. `None` without readings.
pub(super) fn onset(swept: &Swept<'_>, series: &Series) -> Option<Found> {
    let first_with_loss = first_lossy(series.readings.iter().map(|reading| loses(swept, reading)));
    match first_with_loss {
        None if series.readings.is_empty() => None,
        None => Some(hardly_any_loss(swept, series)),
        Some(_) if swept.outcome.has_named_points() => Some(at_named_points(swept, series)),
        Some(first_with_loss) => loss_begins(swept, series, first_with_loss),
    }
}

/// Where loss begins along an ordered axis, and whether it ends again.
fn loss_begins(swept: &Swept<'_>, series: &Series, first_with_loss: usize) -> Option<Found> {
    let readings = &series.readings;
    let lossy = &readings[first_with_loss];
    let last = readings.last()?;
    // A reading with loss falls short, so this one is the same, or before it.
    let first_falling_short = readings.iter().position(|reading| falls_short(swept, reading))?;
    let (before, not_kept_up) = readings.split_at(first_falling_short);
    // Points whose load was not sent are not kept up with, and lose nothing all the same.
    let last_kept_up = before.iter().rfind(|reading| is_kept_up_with(swept, reading));
    let last_kept_up = last_kept_up.or_else(|| before.iter().rfind(|reading| reading.is_clean()));
    let mut first_buffered = None;
    if first_falling_short < first_with_loss {
        first_buffered = Some(BufferedAtPoint::of_reading(swept, &readings[first_falling_short]));
    }
    let begins = LossBegins {
        series: SweepSeries::new(series),
        keeps_up_to: last_kept_up.map(|kept_up| SweepPoint::of_reading(swept.outcome, kept_up)),
        first_buffered,
        first_loss: LossAtPoint::of_reading(swept, lossy),
        last: if last.point == lossy.point { None } else { last_point(swept, last) },
        ends: loss_ends(swept, &readings[first_with_loss..]),
        limits: limits(swept, not_kept_up),
    };
    let trials = numbers(last_kept_up.into_iter().chain(not_kept_up));
    Some(found(SweepFinding::LossBegins(begins), trials))
}

/// What happens at the last point; `None` if only some of its visits lost frames.
fn last_point(swept: &Swept<'_>, last: &Reading) -> Option<LastPoint> {
    if last.loses() {
        return Some(LastPoint::Loses(LossAtPoint::of_reading(swept, last)));
    }
    if last.falls_short() {
        return Some(LastPoint::Buffers(BufferedAtPoint::of_reading(swept, last)));
    }
    last.is_clean().then(|| LastPoint::Lossless(SweepPoint::of_reading(swept.outcome, last)))
}

/// Where loss ends, and whether the method keeps up there. The first reading has loss.
fn loss_ends(swept: &Swept<'_>, readings: &[Reading]) -> Option<LossEnds> {
    let first_clean = first_of_the_tail(readings, Reading::is_clean)?;
    let first_kept_up = first_of_the_tail(readings, keeps_up_without_a_loss);
    let is_kept_up_with = first_kept_up.is_some_and(|kept_up| kept_up.point == first_clean.point);
    Some(LossEnds {
        from: SweepPoint::of_reading(swept.outcome, first_clean),
        only_by_buffers: (!is_kept_up_with).then(|| BufferedAtPoint::of_reading(swept, first_clean)),
        keeps_up_from: first_kept_up.map(|kept_up| SweepPoint::of_reading(swept.outcome, kept_up)),
    })
}

/// The first reading from which on all readings have a property; `None` if the last one does not have it.
fn first_of_the_tail(readings: &[Reading], has_property: fn(&Reading) -> bool) -> Option<&Reading> {
    readings.iter().rev().take_while(|reading| has_property(reading)).last()
}

/// The loss at each point of an axis without an order.
fn at_named_points(swept: &Swept<'_>, series: &Series) -> Found {
    let mut lossy = Vec::new();
    for reading in series.readings.iter().filter(|reading| loses(swept, reading)) {
        lossy.push(LossAtPoint::of_reading(swept, reading));
    }
    let hidden = hidden_by_buffers(swept, &series.readings);
    let fact = LossAtNamedPoints { series: SweepSeries::new(series), lossy, hidden };
    let trials = numbers(series.readings.iter().filter(|reading| falls_short(swept, reading)));
    found(SweepFinding::LossAtNamedPoints(fact), trials)
}

/// No reading loses frames: at most half of the visits of a point did.
fn hardly_any_loss(swept: &Swept<'_>, series: &Series) -> Found {
    let readings = &series.readings;
    let not_clean: Vec<&Reading> = readings.iter().filter(|reading| !reading.is_clean()).collect();
    let trials = match not_clean.is_empty() {
        true => numbers(readings),
        false => numbers(not_clean.iter().copied()),
    };
    let fact = HardlyAnyLoss {
        series: SweepSeries::new(series),
        lossy: points_of(swept.outcome, not_clean),
        generator_limits: generator_limits(swept, readings),
        hidden: hidden_by_buffers(swept, readings),
        limits: limits(swept, readings),
    };
    found(SweepFinding::HardlyAnyLoss(fact), trials)
}

/// Where the generator is the limit, if no reading loses frames. At a saturated point the application is the limit.
fn generator_limits(swept: &Swept<'_>, readings: &[Reading]) -> Option<GeneratorLimits> {
    let mut is_application_limit = false;
    let mut is_limit = false;
    for reading in readings {
        if reading.is_saturated() {
            is_application_limit = true;
        } else {
            is_limit |= swept.trials_of(reading).any(is_generator_limit);
        }
    }
    match (is_limit, is_application_limit) {
        (false, _) => None,
        (true, true) => Some(GeneratorLimits::WhereItKeepsUp),
        (true, false) => Some(GeneratorLimits::Everywhere),
    }
}

#[cfg(test)]
mod tests {
    use super::onset;
    use crate::finding::Finding;
    use crate::finding::sweep::{SweepFinding, point::SweepPoint};
    use crate::sweep::for_tests::Outcome::{self, Clean, Lossy};
    use crate::sweep::for_tests::sweep_of_two_visits;
    use crate::sweep::outcome::Swept;

    /// What two visits of each point show.
    fn onset_of(outcomes: &[[Outcome; 2]]) -> SweepFinding {
        let (sweep, trials) = sweep_of_two_visits(outcomes);
        match onset(&Swept::new(&sweep, &trials), &sweep.series[0]).unwrap().fact {
            Finding::Sweep(fact) => *fact,
            other => panic!("{other:?}"),
        }
    }

    fn index(point: Option<&SweepPoint>) -> Option<usize> {
        point.map(|point| point.index)
    }

    #[test]
    fn loss_begins_after_the_last_point_that_is_kept_up_with_and_not_where_visits_do_not_agree() {
        let kept = [Clean, Clean];
        let open = [Clean, Lossy];
        let SweepFinding::LossBegins(begins) = onset_of(&[kept, open, kept, [Lossy, Lossy]]) else {
            panic!()
        };
        assert_eq!((index(begins.keeps_up_to.as_ref()), begins.first_loss.point.index), (Some(2), 3));
        let SweepFinding::HardlyAnyLoss(none) = onset_of(&[kept, open, kept, open]) else { panic!() };
        let lossy: Vec<usize> = none.lossy.iter().map(|point| point.index).collect();
        assert_eq!(lossy, [1, 3]);
    }
}
