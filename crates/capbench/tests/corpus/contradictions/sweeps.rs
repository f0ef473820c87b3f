//! Where methods of a sweep keep up, and what stops more members, against the trials of each point.

use super::{limits, trials_of};
use crate::imports::{
    Finding, KeepsUp, KeptPoints, Limit, LimitFrom, LossAtHighestRate, MembersGrowth, Reading, Results,
    SavedMethod, Scales, Series, StopFigures, SweepAnswer, SweepFinding, SweepScene, TrialResult,
    buffered_frames,
};

/// An application that reads less than this share of what arrives does not keep up.
const KEEPS_UP: f64 = 0.99;
/// A generator that sends at least this share of the load has sent it.
const SENT: f64 = 0.95;

pub fn in_answer(answer: &SweepAnswer, finding: &Finding, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    match answer {
        SweepAnswer::KeepsUp(kept_up) => {
            for method in &kept_up.methods {
                if let Some(series) = series_of(&method.method, &method.scene, results) {
                    all.extend(against_points(&method.keeps_up, series, results));
                }
            }
        }
        SweepAnswer::Scales { methods } => {
            for method in methods {
                let limit = match &method.scales {
                    Scales::LessThanLoad { limit, .. } | Scales::NoNumberIsEnough { limit } => *limit,
                    Scales::NotAtAll { limit, .. } | Scales::UpTo { limit, .. } => Some(*limit),
                    _ => None,
                };
                all.extend(limit.and_then(|limit| against_members_limit(limit, &method.method, results)));
            }
        }
        SweepAnswer::HighestRate(highest) => {
            let lost = trials_of(results, &finding.trials).iter().any(|trial| trial.lost() > 0);
            if lost && highest.loss == LossAtHighestRate::Nothing {
                all.push("nothing is said to be lost, but a trial lost frames".into());
            }
        }
        SweepAnswer::LongestBursts { .. } => {}
    }
    all
}

pub fn in_finding(fact: &SweepFinding, results: &Results) -> Vec<String> {
    match fact {
        SweepFinding::MembersGrowth(MembersGrowth { series, stop: Some(stop), .. }) => {
            let limit = match stop.cause {
                StopFigures::Load => Limit::Load,
                StopFigures::Generator { .. } => Limit::Generator,
                _ => return Vec::new(),
            };
            against_members_limit(limit, &series.method, results).into_iter().collect()
        }
        SweepFinding::LossBegins(fact) => {
            against_limits(&fact.limits, series_of(&fact.series.method, &fact.series.scene, results), results)
        }
        SweepFinding::HardlyAnyLoss(fact) => {
            against_limits(&fact.limits, series_of(&fact.series.method, &fact.series.scene, results), results)
        }
        _ => Vec::new(),
    }
}

/// What limits a method from a point on is the place that lost most there.
fn against_limits(limits: &[LimitFrom], series: Option<&Series>, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    let Some(series) = series else { return all };
    for LimitFrom { from, limit } in limits {
        for reading in series.readings.iter().filter(|reading| reading.point == from.index) {
            all.extend(limits::against(*limit, &trials_of(results, &reading.trials), 1));
        }
    }
    all
}

/// The series of a method in a placement and at a load.
fn series_of<'r>(method: &SavedMethod, scene: &SweepScene, results: &'r Results) -> Option<&'r Series> {
    let mut all = results.sweeps.iter().flat_map(|sweep| &sweep.series);
    all.find(|series| series.method == *method && series.placement_and_load() == *scene)
}

/// Members that are said to read all of the load, or all that the generator sends, lose nothing at the first number that brings no more.
fn against_members_limit(limit: Limit, method: &SavedMethod, results: &Results) -> Option<String> {
    if !matches!(limit, Limit::Load | Limit::Generator) {
        return None;
    }
    for sweep in &results.sweeps {
        for series in sweep.series.iter().filter(|series| series.method == *method) {
            let next = series.scaling.as_ref()?.stop?.next;
            for reading in &series.readings {
                let members = sweep.points.get(reading.point)?.at?;
                let lost: u64 = trials_of(results, &reading.trials).iter().map(|trial| trial.lost()).sum();
                if members == f64::from(next) && lost > 0 {
                    return Some(format!(
                        "limited by {limit:?}, which they read, but {next} members lost {lost} frames"
                    ));
                }
            }
        }
    }
    None
}

/// How the trials of a point agree with the load.
struct PointTrials {
    trials: usize,
    failed: usize,
    sent: usize,
}

impl PointTrials {
    fn of_reading(reading: &Reading, results: &Results) -> Self {
        let trials = trials_of(results, &reading.trials);
        Self {
            trials: trials.len(),
            failed: trials.iter().filter(|trial| fails(trial)).count(),
            sent: trials.iter().filter(|trial| trial.sent as f64 >= SENT * trial.intended as f64).count(),
        }
    }

    fn most_failed(&self) -> bool {
        2 * self.failed > self.trials
    }

    fn most_sent(&self) -> bool {
        2 * self.sent >= self.trials
    }
}

/// Whether a trial lost frames, or would have lost some had it been longer.
fn fails(trial: &TrialResult) -> bool {
    trial.lost() > 0 || buffered_frames(trial, 1) > 0 || trial.read_pps() < KEEPS_UP * trial.offered_pps
}

/// Most trials of each point agree with what is said of it.
fn against_points(said: &KeepsUp, series: &Series, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    let mut unsent = 0;
    for reading in &series.readings {
        let index = reading.point;
        let found = PointTrials::of_reading(reading, results);
        if found.trials == 0 {
            continue;
        }
        let PointTrials { trials, failed, .. } = found;
        if said.open.iter().any(|point| point.index == index) {
            if found.most_failed() {
                all.push(format!("point {index} is open, but {failed} of {trials} trials fail"));
            }
            continue;
        }
        match (is_kept(&said.points, index, series), found.most_failed(), found.most_sent()) {
            (true, true, _) => {
                all.push(format!("point {index} is kept, but {failed} of {trials} trials fail"))
            }
            (false, false, true) => {
                all.push(format!("point {index} is not kept, but {failed} of {trials} trials fail"));
            }
            (_, false, false) => unsent += 1,
            _ => {}
        }
    }
    if unsent > said.unsent_points {
        all.push(format!("the load was not sent at {unsent} points, not {}", said.unsent_points));
    }
    all
}

/// Whether a point is said to be kept up with.
fn is_kept(points: &KeptPoints, index: usize, series: &Series) -> bool {
    match points {
        KeptPoints::Nowhere => false,
        KeptPoints::Everywhere => series.readings.iter().any(|reading| reading.point == index),
        KeptPoints::UpTo(last) => index <= last.index,
        KeptPoints::From(first) => index >= first.index,
        KeptPoints::Only { points } => points.iter().any(|point| point.index == index),
    }
}
