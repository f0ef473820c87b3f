//! What one method of a sweep shows over the axis: at which points it keeps up, its longest bursts, where it reads most.

use crate::sustained::is_load_sent;
use serde::{Deserialize, Serialize};

use super::point::SweepPoint;
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

/// Series without searches for bursts, those that keep up at most points first.
pub fn ranked(sweeps: &[SweepOutcome]) -> Vec<SeriesOfSweep<'_>> {
    let mut ranked = all_series(sweeps);
    ranked.retain(|of_sweep| !searches_bursts(of_sweep.series));
    ranked.sort_by_key(|of_sweep| {
        let kept = of_sweep.series.readings.iter().filter(|reading| !reading.falls_short()).count();
        std::cmp::Reverse(kept)
    });
    ranked
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
    let readings = &series.readings;
    let mut kept = Vec::new();
    let mut first_short = readings.len();
    let mut unsent_points = 0;
    for (nth, reading) in readings.iter().enumerate() {
        let is_sent = is_sent(swept, reading);
        if is_sent && !reading.falls_short() {
            kept.push(reading);
            continue;
        }
        first_short = first_short.min(nth);
        unsent_points += usize::from(!reading.falls_short());
    }
    KeepsUp { points: kept_points(swept.outcome, readings, &kept, first_short), unsent_points }
}

fn kept_points(
    sweep: &SweepOutcome,
    readings: &[Reading],
    kept: &[&Reading],
    first_short: usize,
) -> KeptPoints {
    let [first, ..] = kept else { return KeptPoints::Nowhere };
    let last = kept[kept.len() - 1];
    if kept.len() == readings.len() {
        return KeptPoints::Everywhere;
    }
    if sweep.unit.is_some() && kept.len() == first_short {
        return KeptPoints::UpTo(SweepPoint::of_reading(sweep, last));
    }
    if sweep.unit.is_some() && first.point + kept.len() == sweep.points.len() {
        return KeptPoints::From(SweepPoint::of_reading(sweep, first));
    }
    let points = kept.iter().map(|reading| SweepPoint::of_reading(sweep, reading)).collect();
    KeptPoints::Only { points }
}

/// Whether the generator sent the intended load in most trials of a point.
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

/// The bursts of a method; `None` if none was found.
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

    use super::*;
    use crate::sweep::AxisKind;
    use crate::sweep::outcome::PointRecord;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    /// A trial at a point of a sweep.
    #[derive(Clone, Copy)]
    enum Outcome {
        Clean,
        Lossy,
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

    /// Where a method with these outcomes, one a point, keeps up.
    fn kept(outcomes: &[Outcome], unit: Option<&str>) -> KeepsUp {
        let trials: Vec<TrialResult> =
            outcomes.iter().zip(1..).map(|(outcome, number)| trial(number, *outcome)).collect();
        let readings = trials
            .iter()
            .enumerate()
            .map(|(point, trial)| Reading::from_trials(point, &[trial], None).unwrap());
        let series = Series {
            method: "recv".into(),
            placement: None,
            load: None,
            unit_ns: None,
            scaling: None,
            readings: readings.collect(),
        };
        let points = (0..outcomes.len()).map(|index| PointRecord {
            label: index.to_string(),
            at: Some(index as f64),
            refined: false,
        });
        let sweep = SweepOutcome {
            axis: AxisKind::Load,
            unit: unit.map(String::from),
            seed: 0,
            repeats: 1,
            quiet_s: 0.0,
            interval_method: None,
            interval: String::new(),
            points: points.collect(),
            series: vec![series.clone()],
            stopped: false,
        };
        keeps_up(&Swept::new(&sweep, &trials), &series)
    }

    fn indices(points: &KeptPoints) -> Vec<usize> {
        match points {
            KeptPoints::Only { points } => points.iter().map(|point| point.index).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_method_keeps_up_to_a_point_from_a_point_or_at_some() {
        let unit = Some("packets/s");
        assert_eq!(kept(&[Clean, Clean], unit).points, KeptPoints::Everywhere);
        assert_eq!(kept(&[Lossy, Lossy], unit).points, KeptPoints::Nowhere);
        let up_to = kept(&[Clean, Clean, Lossy], unit).points;
        assert!(matches!(&up_to, KeptPoints::UpTo(last) if last.index == 1), "{up_to:?}");
        let from = kept(&[Lossy, Clean, Clean], unit).points;
        assert!(matches!(&from, KeptPoints::From(first) if first.index == 1), "{from:?}");
        assert_eq!(indices(&kept(&[Clean, Lossy, Clean], unit).points), [0, 2]);
        assert_eq!(indices(&kept(&[Clean, Clean, Lossy], None).points), [0, 1], "points without an order");
    }

    #[test]
    fn a_load_that_was_not_sent_is_not_kept_up_with() {
        let found = kept(&[Clean, Unsent, Lossy], Some("packets/s"));
        assert!(matches!(&found.points, KeptPoints::UpTo(last) if last.index == 0), "{found:?}");
        assert_eq!(found.unsent_points, 1);
    }
}
