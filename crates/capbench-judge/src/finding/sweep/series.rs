//! What one method of a sweep shows over the axis: the range of points at which it keeps up, its longest bursts, where it reads most.

use std::cmp::Reverse;

use serde::Serialize;

use super::point::SweepPoint;
use crate::sweep::keeps_up::{PointStatus, is_kept_up_with};
use crate::sweep::outcome::{Reading, Series, SweepOutcome, Swept};
use capbench_model::trial::TrialResult;

/// A series, with the sweep that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct SeriesOfSweep<'r> {
    /// The sweep.
    pub sweep: &'r SweepOutcome,
    /// The series.
    pub series: &'r Series,
}

/// All series, in their order.
pub fn all_series(sweeps: &[SweepOutcome]) -> Vec<SeriesOfSweep<'_>> {
    let mut all = Vec::new();
    for sweep in sweeps {
        all.extend(sweep.series.iter().map(|series| SeriesOfSweep { sweep, series }));
    }
    all
}

/// Whether bursts were searched for at the points of a series.
pub fn searches_bursts(series: &Series) -> bool {
    series.readings.iter().any(|reading| reading.back_to_back.is_some())
}

/// Series without searches for bursts, those that keep up at most points first. The order of equal ones is kept.
pub fn ranked<'r>(sweeps: &'r [SweepOutcome], trials: &[TrialResult]) -> Vec<SeriesOfSweep<'r>> {
    let mut ranked = all_series(sweeps);
    ranked.retain(|of_sweep| !searches_bursts(of_sweep.series));
    ranked.sort_by_key(|of_sweep| {
        let swept = Swept::new(of_sweep.sweep, trials);
        let points = of_sweep.series.readings.iter();
        Reverse(points.filter(|point| is_kept_up_with(&swept, point)).count())
    });
    ranked
}

/// Where a method keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KeepsUp {
    /// The points at which it neither loses frames nor only buffers them, and the load was sent.
    pub points: KeptPoints,
    /// Points at which it does not keep up in the median of the visits, but did in at least half of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<SweepPoint>,
    /// Number of points without loss at which the generator did not send the load.
    pub unsent_points: usize,
}

/// Points at which a method keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "keeps_up", rename_all = "snake_case")]
pub enum KeptPoints {
    /// No point.
    Nowhere,
    /// All of them.
    Everywhere,
    /// All up to this one.
    UpTo(SweepPoint),
    /// All from this one on.
    From(SweepPoint),
    /// Some of them.
    Only {
        /// The points at which the method keeps up.
        points: Vec<SweepPoint>,
    },
}

/// Where a method keeps up.
pub fn keeps_up(swept: &Swept<'_>, series: &Series) -> KeepsUp {
    let mut kept = Vec::new();
    let mut falling_short = Vec::new();
    let mut open = Vec::new();
    let mut unsent_points = 0;
    for (nth, reading) in series.readings.iter().enumerate() {
        match PointStatus::of_reading(swept, reading) {
            PointStatus::KeptUp => kept.push(nth),
            PointStatus::FallsShort => falling_short.push(nth),
            PointStatus::Open => open.push(SweepPoint::of_reading(swept.outcome, reading)),
            PointStatus::Unsent => unsent_points += 1,
        }
    }
    KeepsUp {
        points: kept_points(swept.outcome, &series.readings, &kept, &falling_short),
        open,
        unsent_points,
    }
}

/// The readings that are kept up with, by their places: named by the first or last of them if no reading up to it, or from it on, falls
/// short.
fn kept_points(
    sweep: &SweepOutcome,
    readings: &[Reading],
    kept: &[usize],
    falling_short: &[usize],
) -> KeptPoints {
    let [first, ..] = *kept else { return KeptPoints::Nowhere };
    let last = kept[kept.len() - 1];
    let reaches_both_ends = first == 0 && last + 1 == readings.len();
    if kept.len() == readings.len() {
        return KeptPoints::Everywhere;
    }
    if !sweep.has_named_points() {
        if reaches_both_ends && falling_short.is_empty() {
            return KeptPoints::Everywhere;
        }
        if falling_short.iter().all(|nth| *nth > last) {
            return KeptPoints::UpTo(SweepPoint::of_reading(sweep, &readings[last]));
        }
        if falling_short.iter().all(|nth| *nth < first) {
            return KeptPoints::From(SweepPoint::of_reading(sweep, &readings[first]));
        }
    }
    KeptPoints::Only {
        points: kept.iter().map(|&nth| SweepPoint::of_reading(sweep, &readings[nth])).collect(),
    }
}

/// The point at which a series reads most frames per second. Frames that were only in buffers do not count.
pub fn reads_most(series: &Series) -> Option<&Reading> {
    let readings = series.readings.iter().filter(|reading| reading.back_to_back.is_none());
    readings.max_by(|a, b| a.taken_pps.median.total_cmp(&b.taken_pps.median))
}

/// The shortest and the longest burst without loss of a method over the axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BurstRange {
    /// The shortest of the points.
    pub shortest: MeanBurst,
    /// The longest; absent if only one point has a burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<MeanBurst>,
    /// Number of points at which none was found.
    pub points_without: usize,
}

/// The mean of the longest bursts without loss at a point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MeanBurst {
    /// The point.
    pub point: SweepPoint,
    /// Its length in frames.
    pub frames: f64,
    /// Its duration, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts_s: Option<f64>,
}

/// The range of the bursts of a method; `None` if no burst was found.
pub fn burst_range(sweep: &SweepOutcome, series: &Series) -> Option<BurstRange> {
    let mut bursts = Vec::new();
    for reading in &series.readings {
        let Some(test) = &reading.back_to_back else { continue };
        let Some(frames) = test.mean_frames else { continue };
        let point = SweepPoint::of_reading(sweep, reading);
        bursts.push(MeanBurst { point, frames, lasts_s: test.implied_buffer_s });
    }
    bursts.sort_by(|a, b| a.frames.total_cmp(&b.frames));
    Some(BurstRange {
        shortest: bursts.first()?.clone(),
        longest: bursts.last().filter(|_| bursts.len() > 1).cloned(),
        points_without: series.readings.len() - bursts.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::{KeepsUp, KeptPoints, keeps_up};
    use crate::finding::sweep::point::SweepPoint;
    use crate::sweep::AxisKind;
    use crate::sweep::for_tests::Outcome::{self, Clean, Lossy, Unsent};
    use crate::sweep::for_tests::{reading_of_each, series, sweep_of_loads, sweep_of_two_visits, trial};
    use crate::sweep::outcome::{SweepOutcome, Swept};

    /// Where a method keeps up over an axis with these outcomes, one a point.
    fn kept_on_ordered_axis(outcomes: &[Outcome]) -> KeepsUp {
        let mut trials = Vec::new();
        let mut places = Vec::new();
        for (number, outcome) in (1..).zip(outcomes) {
            trials.push(trial(number, *outcome));
            places.push(f64::from(number));
        }
        let sweep = sweep_of_loads(&places, vec![series("recv", reading_of_each(&trials))]);
        keeps_up(&Swept::new(&sweep, &trials), &sweep.series[0])
    }

    fn indices(points: &[SweepPoint]) -> Vec<usize> {
        points.iter().map(|point| point.index).collect()
    }

    #[test]
    fn a_method_keeps_up_to_a_point_from_a_point_or_at_some() {
        assert_eq!(kept_on_ordered_axis(&[Clean, Clean]).points, KeptPoints::Everywhere);
        assert_eq!(kept_on_ordered_axis(&[Lossy, Lossy]).points, KeptPoints::Nowhere);
        let up_to = kept_on_ordered_axis(&[Clean, Clean, Lossy]).points;
        assert!(matches!(&up_to, KeptPoints::UpTo(last) if last.index == 1), "{up_to:?}");
        let from = kept_on_ordered_axis(&[Lossy, Clean, Clean]).points;
        assert!(matches!(&from, KeptPoints::From(first) if first.index == 1), "{from:?}");
        let only = kept_on_ordered_axis(&[Clean, Lossy, Clean]).points;
        assert!(matches!(&only, KeptPoints::Only { points } if indices(points) == [0, 2]), "{only:?}");
    }

    /// The readings of two visits of each point.
    fn kept_in_two_visits(outcomes: &[[Outcome; 2]]) -> KeepsUp {
        let (sweep, trials) = sweep_of_two_visits(outcomes);
        keeps_up(&Swept::new(&sweep, &trials), &sweep.series[0])
    }

    #[test]
    fn a_point_whose_visits_do_not_agree_breaks_no_range() {
        let found = kept_in_two_visits(&[[Clean, Clean], [Clean, Lossy], [Clean, Clean], [Lossy, Lossy]]);
        assert!(matches!(&found.points, KeptPoints::UpTo(last) if last.index == 2), "{found:?}");
        assert_eq!(indices(&found.open), [1]);
        let broken = kept_in_two_visits(&[[Clean, Clean], [Lossy, Lossy], [Clean, Clean]]);
        assert!(matches!(&broken.points, KeptPoints::Only { .. }) && broken.open.is_empty(), "{broken:?}");
    }

    #[test]
    fn points_without_an_order_are_named_one_by_one() {
        let trials = [trial(1, Clean), trial(2, Clean), trial(3, Lossy)];
        let sweep = sweep_of_loads(&[0.0, 1.0, 2.0], vec![series("recv", reading_of_each(&trials))]);
        let named = SweepOutcome { axis: AxisKind::Placement, unit: None, ..sweep };
        let only = keeps_up(&Swept::new(&named, &trials), &named.series[0]).points;
        assert!(matches!(&only, KeptPoints::Only { points } if indices(points) == [0, 1]), "{only:?}");
    }

    #[test]
    fn a_load_that_was_not_sent_is_not_kept_up_with() {
        let found = kept_on_ordered_axis(&[Clean, Unsent, Lossy]);
        assert!(matches!(&found.points, KeptPoints::UpTo(last) if last.index == 0), "{found:?}");
        assert_eq!(found.unsent_points, 1);
    }
}
