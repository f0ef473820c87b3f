//! What a report of a sweep says first, by the readings of its series: up to which point methods keep up, the highest rate that
//! one reads, and the longest bursts.

use crate::sustained::is_load_sent;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;

use super::point::SweepPoint;
use crate::sweep::outcome::{Reading, Series, SweepOutcome, SweepScene, Swept, numbers};

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
#[derive(Clone, Debug, PartialEq)]
pub struct KeepsUp {
    /// The points at which it neither loses frames nor only buffers them, and the load was sent.
    pub points: KeptPoints,
    /// Number of points without loss at which the generator did not send the load.
    pub unsent_points: usize,
}

/// Points at which a method keeps up.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptPoints {
    /// No point.
    Nowhere,
    /// All of them.
    Everywhere,
    /// All up to this one.
    UpTo(SweepPoint),
    /// All from this one on.
    From(SweepPoint),
    /// These.
    Only(Vec<SweepPoint>),
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
    KeptPoints::Only(kept.iter().map(|reading| SweepPoint::of_reading(sweep, reading)).collect())
}

/// Whether the generator sent the intended load in most trials of a point.
fn is_sent(swept: &Swept<'_>, reading: &Reading) -> bool {
    let sent = swept.trials_of(reading).filter(|trial| is_load_sent(trial));
    2 * sent.count() >= reading.trials.len()
}

/// The points at which methods of a run keep up.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptUp {
    /// Placement and load, if all methods share them.
    pub shared_scene: Option<SweepScene>,
    /// The methods, those that keep up at most points first.
    pub methods: Vec<MethodKeepsUp>,
}

/// Where one method keeps up.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodKeepsUp {
    /// The method.
    pub method: SavedMethod,
    /// Its placement and load.
    pub scene: SweepScene,
    /// The points.
    pub keeps_up: KeepsUp,
    /// Numbers of its trials.
    pub trials: Vec<u32>,
}

/// The points at which methods keep up; `None` without series of loads.
pub fn kept_up(sweeps: &[SweepOutcome], trials: &[TrialResult]) -> Option<KeptUp> {
    let ranked = ranked(sweeps);
    let scene = ranked.first()?.series.placement_and_load();
    let is_shared = ranked.iter().all(|of_sweep| of_sweep.series.placement_and_load() == scene);
    let mut methods = Vec::new();
    for SeriesOfSweep { sweep, series } in ranked {
        methods.push(MethodKeepsUp {
            method: series.method.clone(),
            scene: series.placement_and_load(),
            keeps_up: keeps_up(&Swept::new(sweep, trials), series),
            trials: numbers(&series.readings),
        });
    }
    Some(KeptUp { shared_scene: is_shared.then_some(scene), methods })
}

/// The point at which a series reads most frames per second. Frames that were only in buffers do not count.
pub fn reads_most(series: &Series) -> Option<&Reading> {
    let readings = series.readings.iter().filter(|reading| reading.back_to_back.is_none());
    readings.max_by(|a, b| a.taken_pps.median.total_cmp(&b.taken_pps.median))
}

/// The highest rate that a method of a run reads.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestRate {
    /// The method.
    pub method: SavedMethod,
    /// Its placement and load; absent if all methods of the run share them.
    pub scene: Option<SweepScene>,
    /// The point.
    pub point: SweepPoint,
    /// The rate, in packets per second.
    pub read_pps: f64,
    /// What happened to the other frames.
    pub loss: LossAtHighestRate,
    /// Number of visits of the point.
    pub visits: u32,
    /// Numbers of its trials.
    pub trials: Vec<u32>,
}

/// The loss at the highest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossAtHighestRate {
    /// Frames were lost in most visits.
    Lost {
        /// Share of the sent frames.
        loss_ratio: f64,
    },
    /// No frame was lost, while the buffers filled.
    BuffersFilled,
    /// No frame was lost in any visit.
    Nothing,
    /// No frame was lost in most visits.
    NothingInMostVisits,
}

/// The highest rate that a method of these sweeps reads.
pub fn highest_rate(sweeps: &[SweepOutcome]) -> Option<HighestRate> {
    let all = all_series(sweeps);
    let mut highest: Option<(SeriesOfSweep<'_>, &Reading)> = None;
    for &of_sweep in &all {
        let Some(reading) = reads_most(of_sweep.series) else { continue };
        let is_lower = highest
            .is_some_and(|(_, known)| reading.taken_pps.median.total_cmp(&known.taken_pps.median).is_lt());
        if !is_lower {
            highest = Some((of_sweep, reading));
        }
    }
    let (SeriesOfSweep { sweep, series }, reading) = highest?;
    let scene = series.placement_and_load();
    let is_shared = all.iter().all(|other| other.series.placement_and_load() == scene);
    Some(HighestRate {
        method: series.method.clone(),
        scene: (!is_shared).then_some(scene),
        point: SweepPoint::of_reading(sweep, reading),
        read_pps: reading.taken_pps.median,
        loss: loss_at(reading),
        visits: reading.delivered_pps.repeats,
        trials: reading.trials.clone(),
    })
}

fn loss_at(reading: &Reading) -> LossAtHighestRate {
    if reading.loses() {
        return LossAtHighestRate::Lost { loss_ratio: reading.sent_loss_ratio.median };
    }
    if reading.is_saturated() {
        return LossAtHighestRate::BuffersFilled;
    }
    match reading.is_clean() {
        true => LossAtHighestRate::Nothing,
        false => LossAtHighestRate::NothingInMostVisits,
    }
}

/// The shortest and the longest burst without loss of a method over the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstRange {
    /// The shortest of the points.
    pub shortest: MeanBurst,
    /// The longest; absent if only one point has a burst.
    pub longest: Option<MeanBurst>,
    /// Number of points at which none was found.
    pub points_without: usize,
}

/// The mean of the longest bursts without loss at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanBurst {
    /// The point.
    pub point: SweepPoint,
    /// Its length in frames.
    pub frames: f64,
    /// Its duration, seconds.
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

/// The trials of the searches for bursts of a series.
pub fn trials_of_bursts(series: &Series) -> Vec<u32> {
    let tests = series.readings.iter().filter_map(|reading| reading.back_to_back.as_ref());
    tests.flat_map(|test| &test.searches).flat_map(|search| search.trials.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sweep::AxisKind;
    use crate::sweep::outcome::PointRecord;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

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
            interval: String::new(),
            points: points.collect(),
            series: vec![series.clone()],
            stopped: false,
        };
        keeps_up(&Swept::new(&sweep, &trials), &series)
    }

    fn indices(points: &KeptPoints) -> Vec<usize> {
        match points {
            KeptPoints::Only(points) => points.iter().map(|point| point.index).collect(),
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
