//! When frames were lost during a trial: at the start, steadily or at the end, in which bursts, and in which 100 ms most.

use capbench_model::loss_pattern::{LossInTime, LossPattern, Window};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::parts::{self, MOST_CHARTS, by_key, chart, linear, logarithmic, names, point, series, upright};
use crate::model::{Cell, Chart, Kind, Mark, Role, Section, Series, Table, Unit};
use crate::naming::{self, Scene, is_sound, load};
use crate::tables::rows::{Fields, Rows};

/// What to know before reading the charts. A trial stores its eight longest bursts.
const TEXT: &str = "A steady loss means that something is too slow; a few long bursts mean that something stalled. Curves over time have every \
                    frame that was lost. Of bursts the eight longest of each trial are stored; shorter ones are counted and not drawn.";

/// A trial that lost frames, with the pattern of its losses.
#[derive(Clone, Copy)]
struct LossyTrial<'r> {
    trial: &'r TrialResult,
    pattern: &'r LossPattern,
}

impl<'r> LossyTrial<'r> {
    /// `None` if the trial lost nothing, or its pattern is unknown.
    fn from_trial(trial: &'r TrialResult) -> Option<Self> {
        let pattern = trial.loss_pattern.as_ref()?;
        if pattern.lost > 0 { Some(Self { trial, pattern }) } else { None }
    }
}

/// Up to three charts and a table for each group of lossy trials with the same scene and load.
pub(super) fn section(results: &Results) -> Option<Section> {
    let groups = by_key(lossy_trials(results), |LossyTrial { trial, .. }| {
        (Scene::from_trial(trial), trial.phase, trial.intended_pps.map(|pps| pps.round() as u64))
    });
    let mut charts = Vec::new();
    let mut tables = Vec::new();
    for ((scene, ..), group) in groups {
        let load_and_scene = format!("{}: {}", load(group[0].trial), scene.words());
        charts.extend(losses_in_time(&load_and_scene, &group));
        charts.push(parts_of_trials(&load_and_scene, &group));
        charts.push(longest_bursts(&load_and_scene, &group));
        tables.extend(worst_windows(&load_and_scene, &group));
    }
    // Tables take more room than charts: a section shows half as many.
    tables.truncate(MOST_CHARTS / 2);
    let section = parts::section("loss-in-time", "When frames were lost", charts, TEXT, [])?;
    Some(Section { tables, ..section })
}

/// The trials that this section shows.
fn lossy_trials(results: &Results) -> Vec<LossyTrial<'_>> {
    let not_sustained = trials_of_upper_bounds(results);
    let mut trials = Vec::new();
    for trial in naming::compared(results) {
        let is_shown = match trial.phase {
            Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad | Phase::FrameLoss | Phase::Latency => {
                true
            }
            _ => not_sustained.contains(&trial.number),
        };
        if is_shown {
            trials.push(trial);
        }
    }
    // A soak keeps the trials of its first segment and of the one with the most losses.
    trials.extend(results.soak.iter().flat_map(|soak| &soak.kept));
    trials.retain(|trial| is_sound(trial));
    trials.into_iter().filter_map(LossyTrial::from_trial).collect()
}

/// The trials of searches at loads that are not sustained.
fn trials_of_upper_bounds(results: &Results) -> Vec<u32> {
    let mut numbers = Vec::new();
    for goal in results.searches.iter().flat_map(|search| &search.goals) {
        if let Some(upper) = &goal.upper {
            numbers.extend(&upper.trials);
        }
    }
    numbers
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Losses over time by method; `None` if no trial has them. A stretch is an interval of the saved curve.
fn losses_in_time(load_and_scene: &str, group: &[LossyTrial<'_>]) -> Option<Chart> {
    let known = group.iter().filter_map(|lossy| Some((lossy.trial, lossy.pattern.in_time.as_ref()?)));
    let mut lines = Vec::new();
    let mut lengths_ns = Vec::new();
    let mut most_trials = 1;
    for (method, mut trials) in by_key(known, |(trial, _)| &trial.profile.method) {
        // Trials of one method at one load have the same length, and so have their intervals.
        let length_ns = trials[0].1.length_ns;
        trials.retain(|(_, losses)| losses.length_ns == length_ns);
        lines.push(mean_in_time(method, &trials, length_ns));
        lengths_ns.push(length_ns);
        most_trials = most_trials.max(trials.len());
    }
    let shortest_ns = lengths_ns.iter().copied().min()?;
    let length = naming::time(seconds(shortest_ns));
    let mut notes = vec![format!(
        "Frames lost in each {length}, as a rate; a point is where its stretch begins. The last stretch may be shorter than the \
         others, and its rate too low."
    )];
    if lengths_ns.iter().any(|length_ns| *length_ns != shortest_ns) {
        notes.push("Trials that went on for longer have longer stretches.".into());
    }
    if most_trials > 1 {
        notes.push("Of a method with several trials here, their mean.".into());
    }
    let title = format!("Lost frames in time, at {load_and_scene}");
    let x = linear("Time in the trial", Unit::Seconds);
    let chart = chart("loss-in-time", title, Kind::Lines, x, linear("Lost", Unit::PacketsPerSecond), lines);
    Some(chart.noting(notes).marking(worst_window(group)))
}

/// Frames per second that the trials of a method lost in each interval of this length: their mean.
fn mean_in_time(method: &SavedMethod, trials: &[(&TrialResult, &LossInTime)], length_ns: u64) -> Series {
    let numbers: Vec<u32> = trials.iter().map(|(trial, _)| trial.number).collect();
    let intervals = trials.iter().map(|(_, losses)| losses.lost.len()).max().unwrap_or(0);
    let mut points = Vec::new();
    for index in 0..intervals {
        let lost: u64 = trials.iter().filter_map(|(_, losses)| losses.lost.get(index)).sum();
        let mean = lost as f64 / trials.len() as f64;
        let begin_ns = length_ns.saturating_mul(index as u64);
        points.push(point(seconds(begin_ns), mean / seconds(length_ns), numbers.clone()));
    }
    series(method.to_string(), Role::Method, points)
}

/// Marks the 100 ms in which most frames of a group were lost.
fn worst_window(group: &[LossyTrial<'_>]) -> Vec<Mark> {
    let known = group.iter().filter_map(|lossy| Some((lossy.trial, lossy.pattern.worst_window?)));
    let Some((trial, window)) = known.max_by_key(|(_, window)| window.lost) else { return Vec::new() };
    let label = format!("worst 100 ms: {}", trial.profile.method);
    let end_ns = window.from_ns + window.length_ns;
    vec![upright(label, seconds(window.from_ns)), upright("its end", seconds(end_ns))]
}

/// Losses at the beginning, in between and at the end of each trial.
fn parts_of_trials(load_and_scene: &str, group: &[LossyTrial<'_>]) -> Chart {
    let mut trials = Vec::new();
    let [mut at_start, mut steadily, mut at_end] = [const { Vec::new() }; 3];
    for (index, LossyTrial { trial, pattern }) in group.iter().enumerate() {
        trials.push(format!("{}, trial {}", trial.profile.method, trial.number));
        let x = index as f64;
        at_start.push(point(x, pattern.lost_at_start as f64, vec![trial.number]));
        steadily.push(point(x, pattern.lost_steadily as f64, vec![trial.number]));
        at_end.push(point(x, pattern.lost_at_end as f64, vec![trial.number]));
    }
    let layers = vec![
        series("first 100 ms", Role::Account, at_start),
        series("in between", Role::Account, steadily),
        series("last 100 ms", Role::Account, at_end),
    ];
    let title = format!("Lost at the beginning, in between and at the end, at {load_and_scene}");
    let y = linear("Lost frames", Unit::Count);
    chart("loss-parts", title, Kind::StackedBars, names("Trial", trials), y, layers)
}

/// The longest bursts of each trial over its time.
fn longest_bursts(load_and_scene: &str, group: &[LossyTrial<'_>]) -> Chart {
    let mut lines = Vec::new();
    for (method, trials) in by_key(group, |lossy| &lossy.trial.profile.method) {
        let mut points = Vec::new();
        for LossyTrial { trial, pattern } in trials {
            for burst in &pattern.longest {
                points.push(point(seconds(burst.from_ns), burst.frames as f64, vec![trial.number]));
            }
        }
        lines.push(series(method.to_string(), Role::Method, points));
    }
    let title = format!("Longest bursts of loss in time, at {load_and_scene}");
    let x = linear("Time in the trial", Unit::Seconds);
    let y = logarithmic("Frames lost one after the other", Unit::Count);
    // The axis covers the whole trial, so that a burst shows its position.
    let end = group.iter().map(|lossy| lossy.trial.sending_s).fold(0.0, f64::max);
    chart("loss-bursts", title, Kind::Points, x, y, lines)
        .marking([upright("start", 0.0), upright("end of sending", end)])
        .marking(worst_window(group))
        .noting(["The eight longest bursts of each trial; shorter ones are counted and not drawn."])
}

/// For each trial, how many windows of 100 ms lost frames, and the worst of them.
fn worst_windows(load_and_scene: &str, group: &[LossyTrial<'_>]) -> Option<Table> {
    let mut rows = Rows::new();
    for LossyTrial { trial, pattern } in group {
        let worst = pattern.worst_window.as_ref();
        let fields = Fields::new()
            .words("method", "Method", trial.profile.method.to_string())
            .count("lost", "Lost frames", pattern.lost)
            .count("loss_bursts", "Bursts", pattern.bursts.count)
            .count("lossy_windows", "Times of 100 ms that lost", pattern.lossy_windows)
            .count("windows", "Of all", pattern.windows)
            .figure(
                "worst_from_s",
                "Worst began at",
                Cell::number_or_unknown(worst.map(|window| seconds(window.from_ns))),
            )
            .count("worst_lost", "It lost", Cell::count_or_unknown(worst.map(|window| window.lost)))
            .figure(
                "worst_loss_ratio",
                "Of its frames",
                Cell::number_or_unknown(worst.map(Window::loss_ratio)),
            );
        rows.add(fields, vec![trial.number]);
    }
    rows.table("worst-windows", &format!("Times of 100 ms, at {load_and_scene}"))
}
