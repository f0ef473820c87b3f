//! The answers of a run of sweeps: up to where methods keep up, or how they scale; the longest bursts; the highest rate that is read.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::members_answer::{MembersAnswer, members_answers};
use super::point::SweepPoint;
use super::series::{
    BurstRange, KeepsUp, SeriesOfSweep, all_series, burst_range, keeps_up, ranked, reads_most,
};
use super::subject_of_scene;
use crate::finding::{Finding, Found};
use crate::sweep::outcome::{Reading, Series, SweepOutcome, SweepScene, Swept, numbers};

/// What answers the question of a run of sweeps.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SweepAnswer {
    /// How methods scale, or how many members a load needs.
    Scales {
        /// The methods, at least one.
        methods: Vec<MembersAnswer>,
    },
    /// At which points methods keep up.
    KeepsUp(KeptUp),
    /// The longest bursts without loss.
    LongestBursts {
        /// The methods, at least one.
        methods: Vec<MethodBursts>,
    },
    /// The highest rate that a method reads.
    HighestRate(HighestRate),
}

/// The longest bursts without loss of a method.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MethodBursts {
    /// The method.
    pub method: SavedMethod,
    /// Its placement and load.
    pub scene: SweepScene,
    /// The shortest and the longest of them over the axis.
    pub range: BurstRange,
    /// Numbers of its trials.
    pub trials: Vec<u32>,
}

/// The answers, the verdict first.
pub fn answers(sweeps: &[SweepOutcome], trials: &[TrialResult]) -> Vec<Found> {
    let mut answers = Vec::new();
    let methods = members_answers(sweeps, trials);
    if methods.is_empty() {
        answers.extend(kept_up(sweeps, trials));
        answers.extend(longest_bursts(sweeps));
    } else {
        // A sweep of members asks how methods scale, and not where they keep up.
        let trials = methods.iter().flat_map(|method| method.trials.clone()).collect();
        answers.push(found(SweepAnswer::Scales { methods }, trials));
    }
    answers.extend(highest_rate(sweeps));
    answers
}

fn found(answer: SweepAnswer, trials: Vec<u32>) -> Found {
    Found::new(Finding::SweepAnswer(Box::new(answer)), trials)
}

/// The points at which methods of a run keep up.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KeptUp {
    /// Placement and load, if all methods share them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_scene: Option<SweepScene>,
    /// The methods, those that keep up at most points first.
    pub methods: Vec<MethodKeepsUp>,
}

/// Where one method keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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

/// The points at which methods keep up; `None` if every series searched for bursts.
fn kept_up(sweeps: &[SweepOutcome], trials: &[TrialResult]) -> Option<Found> {
    let ranked = ranked(sweeps, trials);
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
    let trials = methods.iter().flat_map(|method| method.trials.clone()).collect();
    let subject = if is_shared { subject_of_scene(&scene) } else { None };
    let kept_up = KeptUp { shared_scene: is_shared.then_some(scene), methods };
    Some(Found { subject, ..found(SweepAnswer::KeepsUp(kept_up), trials) })
}

/// The highest rate that a method of a run reads.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HighestRate {
    /// The method.
    pub method: SavedMethod,
    /// Its placement and load; absent if all methods of the run share them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<SweepScene>,
    /// The point.
    pub point: SweepPoint,
    /// The rate, in packets per second.
    pub read_pps: f64,
    /// What happened to the other frames.
    pub loss: LossAtHighestRate,
    /// Number of visits of the point.
    pub visits: u32,
}

/// The loss at the highest rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
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
fn highest_rate(sweeps: &[SweepOutcome]) -> Option<Found> {
    let all = all_series(sweeps);
    let mut highest: Option<(SeriesOfSweep<'_>, &Reading)> = None;
    for &of_sweep in &all {
        let Some(reading) = reads_most(of_sweep.series) else { continue };
        // Of equal rates, the last one counts.
        if highest.is_none_or(|(_, known)| reading.taken_pps.median >= known.taken_pps.median) {
            highest = Some((of_sweep, reading));
        }
    }
    let (SeriesOfSweep { sweep, series }, reading) = highest?;
    let scene = series.placement_and_load();
    let is_shared = all.iter().all(|other| other.series.placement_and_load() == scene);
    let highest = HighestRate {
        method: series.method.clone(),
        scene: (!is_shared).then_some(scene),
        point: SweepPoint::of_reading(sweep, reading),
        read_pps: reading.taken_pps.median,
        loss: loss_at(reading),
        visits: reading.delivered_pps.repeats,
    };
    Some(found(SweepAnswer::HighestRate(highest), reading.trials.clone()))
}

fn loss_at(reading: &Reading) -> LossAtHighestRate {
    if reading.loses() {
        return LossAtHighestRate::Lost { loss_ratio: reading.sent_loss_ratio.median };
    }
    // The application read frames more slowly than they arrived.
    if reading.is_saturated() {
        return LossAtHighestRate::BuffersFilled;
    }
    match reading.is_clean() {
        true => LossAtHighestRate::Nothing,
        false => LossAtHighestRate::NothingInMostVisits,
    }
}

/// The longest bursts without loss, if they were searched for.
fn longest_bursts(sweeps: &[SweepOutcome]) -> Option<Found> {
    let mut methods = Vec::new();
    for SeriesOfSweep { sweep, series } in all_series(sweeps) {
        let Some(range) = burst_range(sweep, series) else { continue };
        methods.push(MethodBursts {
            method: series.method.clone(),
            scene: series.placement_and_load(),
            range,
            trials: trials_of_bursts(series),
        });
    }
    if methods.is_empty() {
        return None;
    }
    let trials = methods.iter().flat_map(|method| method.trials.clone()).collect();
    Some(found(SweepAnswer::LongestBursts { methods }, trials))
}

/// The trials of the searches for bursts of a series.
fn trials_of_bursts(series: &Series) -> Vec<u32> {
    let mut trials = Vec::new();
    for reading in &series.readings {
        let Some(test) = &reading.back_to_back else { continue };
        for search in &test.searches {
            trials.extend(&search.trials);
        }
    }
    trials
}
