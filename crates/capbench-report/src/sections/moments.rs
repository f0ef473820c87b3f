//! When frames were lost during a trial: at the start, steadily or at the end, in which bursts, and in which 100 ms most.

use capbench_model::loss_pattern::{Burst, LossPattern, Window};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::parts::{self, MOST_CHARTS, chart, grouped, linear, logarithmic, names, point, series, upright};
use crate::model::{Cell, Chart, Kind, Mark, Role, Section, Table, Unit};
use crate::naming::{self, Scene, is_sound, load};
use crate::tables::shape::Columns;

const TEXT: &str = "A steady loss means that something is too slow; a few long bursts mean that something stalled. Curves over time have every \
                    frame that was lost. Of bursts the eight longest of each trial are stored; shorter ones are counted and not drawn.";

type Part = (&'static str, fn(&LossPattern) -> u64);

const PARTS: [Part; 3] = [
    ("first 100 ms", |shape| shape.lost_at_start),
    ("in between", |shape| shape.lost_steadily),
    ("last 100 ms", |shape| shape.lost_at_end),
];

type Lossy<'r> = (&'r TrialResult, &'r LossPattern);

pub(super) fn section(results: &Results) -> Option<Section> {
    let (mut charts, mut tables) = (Vec::new(), Vec::new());
    for ((scene, ..), group) in grouped(lossy(results), |(trial, _)| {
        (Scene::from_trial(trial), trial.phase, trial.intended_pps.map(|pps| pps.round() as u64))
    }) {
        let at = format!("{}: {}", load(group[0].0), scene.words());
        charts.extend(in_time(&at, &group));
        charts.push(parts(&at, &group));
        charts.push(bursts(&at, &group));
        tables.extend(windows(&at, &group));
    }
    tables.truncate(MOST_CHARTS / 2);
    let section = parts::section("loss-in-time", "When frames were lost", charts, TEXT, [])?;
    Some(Section { tables, ..section })
}

/// The trials that this section shows.
fn lossy(results: &Results) -> Vec<Lossy<'_>> {
    // Of searches: trials at the load that is not sustained.
    let goals = results.searches.iter().flat_map(|search| &search.goals);
    let upper: Vec<u32> =
        goals.filter_map(|goal| goal.upper.as_ref()).flat_map(|bound| bound.trials.iter().copied()).collect();
    let is_shown = |trial: &&TrialResult| match trial.phase {
        Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad | Phase::FrameLoss | Phase::Latency => true,
        _ => upper.contains(&trial.number),
    };
    // Of a soak: the first segment and the one with the most losses are kept.
    let kept = results.soak.iter().flat_map(|soak| &soak.kept);
    let trials =
        naming::compared(results).iter().filter(is_shown).chain(kept).filter(|trial| is_sound(trial));
    trials
        .filter_map(|trial| Some((trial, trial.loss_pattern.as_ref().filter(|shape| shape.lost > 0)?)))
        .collect()
}

fn parts(at: &str, group: &[Lossy<'_>]) -> Chart {
    let layer = |(name, of): Part| {
        let bars = group.iter().enumerate();
        let points =
            bars.map(|(nth, (trial, shape))| point(nth as f64, of(shape) as f64, vec![trial.number]));
        series(name, Role::Account, points.collect())
    };
    let name = |(trial, _): &Lossy<'_>| format!("{}, trial {}", trial.profile.method, trial.number);
    let x = names("Trial", group.iter().map(name).collect());
    let title = format!("Lost at the beginning, in between and at the end, at {at}");
    let y = linear("Lost frames", Unit::Count);
    chart("loss-parts", title, Kind::StackedBars, x, y, PARTS.map(layer).into())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Losses over time by method; `None` if the results lack them.
fn in_time(at: &str, group: &[Lossy<'_>]) -> Option<Chart> {
    let known = group.iter().filter_map(|(trial, shape)| Some((*trial, shape.in_time.as_ref()?)));
    let by_method = grouped(known, |(trial, _)| &trial.profile.method);
    let (mut lines, mut lengths, mut most) = (Vec::new(), Vec::new(), 1);
    for (method, own) in by_method {
        // Trials of one method at one load have the same length, and so have their intervals.
        let length_ns = own[0].1.length_ns;
        let own: Vec<_> = own.into_iter().filter(|(_, loss)| loss.length_ns == length_ns).collect();
        let count = own.iter().map(|(_, loss)| loss.lost.len()).max().unwrap_or(0);
        let trials: Vec<u32> = own.iter().map(|(trial, _)| trial.number).collect();
        let lost = |nth: usize| own.iter().filter_map(|(_, loss)| loss.lost.get(nth)).sum::<u64>();
        let points = (0..count).map(|nth| {
            let mean = lost(nth) as f64 / own.len() as f64;
            point(seconds(length_ns.saturating_mul(nth as u64)), mean / seconds(length_ns), trials.clone())
        });
        lines.push(series(method.to_string(), Role::Method, points.collect()));
        lengths.push(length_ns);
        most = most.max(own.len());
    }
    let shortest = lengths.iter().copied().min()?;
    let title = format!("Lost frames in time, at {at}");
    let x = linear("Time in the trial", Unit::Seconds);
    let length = naming::time(seconds(shortest));
    let mut notes = vec![format!(
        "Frames lost in each {length}, as a rate; a point is where its stretch begins. The last stretch may be shorter than the \
         others, and its rate too low."
    )];
    if lengths.iter().any(|length| *length != shortest) {
        notes.push("Trials that went on for longer have longer stretches.".into());
    }
    if most > 1 {
        notes.push("Of a method with several trials here, their mean.".into());
    }
    let chart = chart("loss-in-time", title, Kind::Lines, x, linear("Lost", Unit::PacketsPerSecond), lines);
    Some(chart.noting(notes).marking(worst_window(group)))
}

fn worst_window(group: &[Lossy<'_>]) -> Vec<Mark> {
    let worst = group.iter().filter_map(|(trial, shape)| Some((*trial, shape.worst_window?)));
    let Some((trial, window)) = worst.max_by_key(|(_, window)| window.lost) else { return Vec::new() };
    let label = format!("worst 100 ms: {}", trial.profile.method);
    let end_ns = window.from_ns + window.length_ns;
    vec![upright(label, seconds(window.from_ns)), upright("its end", seconds(end_ns))]
}

fn bursts(at: &str, group: &[Lossy<'_>]) -> Chart {
    let burst = |trial: &TrialResult, burst: &Burst| {
        point(seconds(burst.from_ns), burst.frames as f64, vec![trial.number])
    };
    let line = |(method, own): (&SavedMethod, Vec<&Lossy<'_>>)| {
        let points =
            own.into_iter().flat_map(|(trial, shape)| shape.longest.iter().map(move |one| burst(trial, one)));
        series(method.to_string(), Role::Method, points.collect())
    };
    let by_method = grouped(group, |(trial, _)| &trial.profile.method);
    let lines = by_method.into_iter().map(line).collect();
    let title = format!("Longest bursts of loss in time, at {at}");
    let x = linear("Time in the trial", Unit::Seconds);
    let y = logarithmic("Frames lost one after the other", Unit::Count);
    // The axis covers the whole trial, so that a burst shows its position.
    let end = group.iter().map(|(trial, _)| trial.sending_s).fold(0.0, f64::max);
    chart("loss-bursts", title, Kind::Points, x, y, lines)
        .marking([upright("start", 0.0), upright("end of sending", end)])
        .marking(worst_window(group))
        .noting(["The eight longest bursts of each trial; shorter ones are counted and not drawn."])
}

fn windows(at: &str, group: &[Lossy<'_>]) -> Option<Table> {
    let worst =
        |shape: &LossPattern, of: fn(&Window) -> f64| Cell::number(shape.worst_window.as_ref().map(of));
    let columns = Columns::new()
        .words("method", "Method", |(trial, _): &Lossy<'_>| trial.profile.method.to_string())
        .count("lost", "Lost frames", |(_, shape)| shape.lost)
        .count("loss_bursts", "Bursts", |(_, shape)| shape.bursts.count)
        .count("lossy_windows", "Times of 100 ms that lost", |(_, shape)| shape.lossy_windows)
        .count("windows", "Of all", |(_, shape)| shape.windows)
        .named("worst_from_s", "Worst began at", move |(_, shape)| worst(shape, |one| seconds(one.from_ns)))
        .count("worst_lost", "It lost", |(_, shape)| Cell::count(shape.worst_window.map(|one| one.lost)))
        .named("worst_loss_ratio", "Of its frames", move |(_, shape)| worst(shape, Window::loss_ratio));
    let caption = format!("Times of 100 ms, at {at}");
    columns.table("worst-windows", &caption, group.iter().copied(), |(trial, _)| vec![trial.number])
}
