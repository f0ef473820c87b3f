//! What one method of a sweep shows over the axis: at which points it keeps up, its longest bursts, where it reads most.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::point::SweepPoint;
use crate::sustained::is_load_sent;
use crate::sweep::outcome::{Reading, Series, SweepOutcome, Swept};

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
pub fn ranked(sweeps: &[SweepOutcome]) -> Vec<SeriesOfSweep<'_>> {
    let mut ranked = all_series(sweeps);
    ranked.retain(|of_sweep| !searches_bursts(of_sweep.series));
    ranked.sort_by_key(|of_sweep| Reverse(points_kept_up_with(of_sweep.series)));
    ranked
}

fn points_kept_up_with(series: &Series) -> usize {
    series.readings.iter().filter(|reading| !reading.falls_short()).count()
}

/// Where a method keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeepsUp {
    /// The points at which it neither loses frames nor only buffers them, and the load was sent.
    pub points: KeptPoints,
    /// Number of points without loss at which the generator did not send the load.
    pub unsent_points: usize,
}

/// Points at which a method keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
        /// These.
        points: Vec<SweepPoint>,
    },
}

/// Where a method keeps up.
pub fn keeps_up(swept: &Swept<'_>, series: &Series) -> KeepsUp {
    let mut kept = Vec::new();
    let mut unsent_points = 0;
    for reading in &series.readings {
        if reading.falls_short() {
            continue;
        }
        if is_sent(swept, reading) {
            kept.push(reading);
        } else {
            unsent_points += 1;
        }
    }
    KeepsUp { points: kept_points(swept.outcome, &series.readings, &kept), unsent_points }
}

/// The readings that are kept up with, named by the first or last of them where they are all up to a point, or from one on.
fn kept_points(sweep: &SweepOutcome, readings: &[Reading], kept: &[&Reading]) -> KeptPoints {
    let [first, ..] = kept else { return KeptPoints::Nowhere };
    let last = kept[kept.len() - 1];
    if kept.len() == readings.len() {
        return KeptPoints::Everywhere;
    }
    if !sweep.has_named_points() {
        // Both lists are in the order of the axis. So if the last of them is the n-th reading, they are the first n.
        if readings[kept.len() - 1].point == last.point {
            return KeptPoints::UpTo(SweepPoint::of_reading(sweep, last));
        }
        // If as many points follow the first of them, they are all points to the end of the axis.
        if first.point + kept.len() == sweep.points.len() {
            return KeptPoints::From(SweepPoint::of_reading(sweep, first));
        }
    }
    let points = kept.iter().map(|reading| SweepPoint::of_reading(sweep, reading)).collect();
    KeptPoints::Only { points }
}

/// Whether the generator sent the intended load in at least half of the trials of a point.
fn is_sent(swept: &Swept<'_>, reading: &Reading) -> bool {
    let sent = swept.trials_of(reading).filter(|trial| is_load_sent(trial));
    2 * sent.count() >= reading.trials.len()
}

/// The point at which a series reads most frames per second. Frames that were only in buffers do not count.
pub fn reads_most(series: &Series) -> Option<&Reading> {
    let readings = series.readings.iter().filter(|reading| reading.back_to_back.is_none());
    readings.max_by(|a, b| a.taken_pps.median.total_cmp(&b.taken_pps.median))
}

/// The shortest and the longest burst without loss of a method over the axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BurstRange {
    /// The shortest of the points.
    pub shortest: MeanBurst,
    /// The longest; absent if only one point has a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<MeanBurst>,
    /// Number of points at which none was found.
    pub points_without: usize,
}

/// The mean of the longest bursts without loss at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MeanBurst {
    /// The point.
    pub point: SweepPoint,
    /// Its length in frames.
    pub frames: f64,
    /// Its duration, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    use std::time::Duration;

    use super::{KeepsUp, KeptPoints, keeps_up};
    use crate::finding::sweep::point::SweepPoint;
    use crate::sweep::AxisKind;
    use crate::sweep::for_tests::{reading_of_each, series, sweep_of_loads};
    use crate::sweep::outcome::{SweepOutcome, Swept};
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    /// What became of the frames of the only trial at a point.
    #[derive(Clone, Copy)]
    enum Outcome {
        /// All were sent and delivered.
        Clean,
        /// Three of ten were lost.
        Lossy,
        /// One of ten was not sent: more than a load may lack.
        Unsent,
    }
    use Outcome::{Clean, Lossy, Unsent};

    fn trial(number: u32, outcome: Outcome) -> TrialResult {
        let measured = match outcome {
            Clean => measured(1000, 1000, 1000, 0),
            Lossy => measured(1000, 1000, 700, 300),
            Unsent => measured(1000, 900, 900, 0),
        };
        let load = Load::Rate("1000".parse().unwrap());
        measured.result(number, Phase::Sweep, &profile("recv"), load, Duration::from_secs(1))
    }

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
