//! At which point of a sweep a method starts to lose frames, or would start in longer trials, and where loss ends, by its
//! readings in the order of the axis.

use serde::{Deserialize, Serialize};

use super::loss::{BufferedAtPoint, HiddenByBuffers, LimitFrom, LossAtPoint, hidden_by_buffers, limits};
use super::point::{SweepPoint, SweepSeries, points_of};
use super::{SweepFinding, found};
use crate::finding::Found;
use crate::limit::is_generator_limit;
use crate::sweep::outcome::{Reading, Series, Swept, numbers};

/// Loss that begins at a point of an ordered axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossBegins {
    /// The method.
    pub series: SweepSeries,
    /// The last point before it without loss and without full buffers; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_up_to: Option<SweepPoint>,
    /// The first point at which the method does not keep up, if only buffers prevent loss there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_buffered: Option<BufferedAtPoint>,
    /// The first point with loss.
    pub first_loss: LossAtPoint,
    /// The last point; absent if it is the first one with loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastPoint>,
    /// Where loss ends again; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<LossEnds>,
    /// What limits the method, from which points on.
    pub limits: Vec<LimitFrom>,
}

/// The result at the last point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossEnds {
    /// The first point without loss.
    pub from: SweepPoint,
    /// The same point, if only buffers prevent loss there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_by_buffers: Option<BufferedAtPoint>,
    /// The first point from which on the method keeps up; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_up_from: Option<SweepPoint>,
}

/// Loss at points without an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossAtNamedPoints {
    /// The method.
    pub series: SweepSeries,
    /// The points with loss.
    pub lossy: Vec<LossAtPoint>,
    /// Points at which only buffers prevent loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenByBuffers>,
}

/// No loss at any point, or in a minority of the visits only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HardlyAnyLoss {
    /// The method.
    pub series: SweepSeries,
    /// The points with loss in some visits.
    pub lossy: Vec<SweepPoint>,
    /// Where the generator is the limit; absent if it is at no point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_limits: Option<GeneratorLimits>,
    /// Points at which only buffers prevent loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenByBuffers>,
    /// What limits the method, from which points on.
    pub limits: Vec<LimitFrom>,
}

/// Where the generator is the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorLimits {
    /// At every point.
    Everywhere,
    /// At the points at which the method keeps up.
    WhereItKeepsUp,
}

/// Where a method starts to lose frames. `None` without readings.
pub(super) fn onset(swept: &Swept<'_>, series: &Series) -> Option<Found> {
    let readings = &series.readings;
    let last = readings.last()?;
    let Some(first_lossy) = readings.iter().position(Reading::loses) else {
        return Some(hardly_any_loss(swept, series));
    };
    if swept.outcome.unit.is_none() {
        return Some(at_named_points(swept, series));
    }
    let lossy = &readings[first_lossy];
    let first_short = readings.iter().position(Reading::falls_short).unwrap_or(first_lossy);
    let clean = readings[..first_short].iter().rev().find(|reading| reading.is_clean());
    let first_buffered =
        (first_short < first_lossy).then(|| BufferedAtPoint::of_reading(swept, &readings[first_short]));
    let begins = LossBegins {
        series: SweepSeries::new(series),
        keeps_up_to: clean.map(|clean| SweepPoint::of_reading(swept.outcome, clean)),
        first_buffered,
        first_loss: LossAtPoint::of_reading(swept, lossy),
        last: (last.point != lossy.point).then(|| last_point(swept, last)),
        ends: loss_ends(swept, &readings[first_lossy..]),
        limits: limits(swept, &readings[first_short..]),
    };
    let trials = numbers(clean.into_iter().chain(&readings[first_short..]));
    Some(found(SweepFinding::LossBegins(begins), trials))
}

fn last_point(swept: &Swept<'_>, last: &Reading) -> LastPoint {
    if last.loses() {
        return LastPoint::Loses(LossAtPoint::of_reading(swept, last));
    }
    if last.falls_short() {
        return LastPoint::Buffers(BufferedAtPoint::of_reading(swept, last));
    }
    LastPoint::Lossless(SweepPoint::of_reading(swept.outcome, last))
}

/// Where loss ends, and whether the method keeps up there. The first reading has loss.
fn loss_ends(swept: &Swept<'_>, readings: &[Reading]) -> Option<LossEnds> {
    let clean = readings.iter().rev().take_while(|reading| reading.is_clean()).last()?;
    let keeps_up =
        readings.iter().rev().take_while(|reading| reading.is_clean() && !reading.falls_short()).last();
    let is_kept = keeps_up.is_some_and(|kept| kept.point == clean.point);
    Some(LossEnds {
        from: SweepPoint::of_reading(swept.outcome, clean),
        only_by_buffers: (!is_kept).then(|| BufferedAtPoint::of_reading(swept, clean)),
        keeps_up_from: keeps_up.map(|kept| SweepPoint::of_reading(swept.outcome, kept)),
    })
}

fn at_named_points(swept: &Swept<'_>, series: &Series) -> Found {
    let mut lossy = Vec::new();
    for reading in series.readings.iter().filter(|reading| reading.loses()) {
        lossy.push(LossAtPoint::of_reading(swept, reading));
    }
    let hidden = hidden_by_buffers(swept, &series.readings);
    let fact = LossAtNamedPoints { series: SweepSeries::new(series), lossy, hidden };
    let trials = numbers(series.readings.iter().filter(|reading| reading.falls_short()));
    found(SweepFinding::LossAtNamedPoints(fact), trials)
}

fn hardly_any_loss(swept: &Swept<'_>, series: &Series) -> Found {
    let readings = &series.readings;
    let lossy: Vec<&Reading> = readings.iter().filter(|reading| !reading.is_clean()).collect();
    let trials = match lossy.is_empty() {
        true => numbers(readings),
        false => numbers(lossy.iter().copied()),
    };
    let fact = HardlyAnyLoss {
        series: SweepSeries::new(series),
        lossy: points_of(swept.outcome, lossy),
        generator_limits: generator_limits(swept, readings),
        hidden: hidden_by_buffers(swept, readings),
        limits: limits(swept, readings),
    };
    found(SweepFinding::HardlyAnyLoss(fact), trials)
}

fn generator_limits(swept: &Swept<'_>, readings: &[Reading]) -> Option<GeneratorLimits> {
    let (saturated, kept): (Vec<&Reading>, Vec<&Reading>) =
        readings.iter().partition(|reading| reading.is_saturated());
    if !kept.iter().any(|reading| swept.trials_of(reading).any(is_generator_limit)) {
        return None;
    }
    Some(match saturated.is_empty() {
        true => GeneratorLimits::Everywhere,
        false => GeneratorLimits::WhereItKeepsUp,
    })
}
