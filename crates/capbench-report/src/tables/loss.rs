//! When frames were lost, and in which burst lengths.

use crate::results::Results;
use capbench_model::loss_shape::{Burst, LossShape};
use capbench_model::trial::TrialResult;

use super::shape::{Columns, group};
use crate::groups::{self, Group};
use crate::model::{Cell, Column, Table, Unit};
use crate::naming::{self, key};

/// Most bursts that are listed.
const BURSTS: usize = 20;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    [shapes(results), longest(results)].into_iter().flatten().collect()
}

/// Trials with losses, with their loss patterns; unknown if one trial has none.
type OfLoss<'r> = (&'r Group<'r>, u64, Option<Vec<&'r LossShape>>);

fn shapes(results: &Results) -> Option<Table> {
    let groups = groups::of(results);
    let sum = |shapes: &Option<Vec<&LossShape>>, of: fn(&LossShape) -> u64| {
        shapes.as_ref().map(|shapes| shapes.iter().map(|shape| of(shape)).fold(0, u64::saturating_add))
    };
    let most = |shapes: &Option<Vec<&LossShape>>, of: fn(&LossShape) -> u64| {
        shapes.as_ref().and_then(|shapes| shapes.iter().map(|shape| of(shape)).max())
    };
    let total = move |key, heading, of: fn(&LossShape) -> u64| {
        let head = Column::new(key, heading, Unit::Count);
        (head, move |(.., shapes): &OfLoss<'_>| Cell::count(sum(shapes, of)))
    };
    let bursts = total("loss_bursts", "bursts", |shape| shape.bursts.count);
    let at_start = total("lost_at_start", "in the first 100 ms", |shape| shape.lost_at_start);
    let steadily = total("lost_steadily", "in between", |shape| shape.lost_steadily);
    let at_end = total("lost_at_end", "in the last 100 ms", |shape| shape.lost_at_end);
    let columns = Columns::new()
        .part(group(), |(group, ..): &OfLoss<'_>| *group)
        .count("trials", "trials", |(group, ..)| group.trials.len())
        .count("lost", "lost", |(_, lost, _)| *lost)
        .with(bursts.0, bursts.1)
        .count("longest_burst", "frames of the longest", move |(.., shapes)| {
            Cell::count(most(shapes, |shape| shape.bursts.max.unwrap_or(0)))
        })
        .named("longest_burst_ns", "time of the longest", move |(.., shapes)| {
            Cell::number(most(shapes, duration_of_longest).map(|ns| ns as f64))
        })
        .named("worst_100ms_loss_ratio", "worst 100 ms", |(.., shapes)| {
            let worst =
                |shapes: &Vec<&LossShape>| shapes.iter().map(|one| one.worst_ratio()).reduce(f64::max);
            Cell::number(shapes.as_ref().and_then(worst))
        })
        .named("lossy_100ms_ratio", "100 ms with loss", move |(.., shapes)| {
            let windows = sum(shapes, |shape| shape.windows).filter(|windows| *windows > 0);
            let lossy = sum(shapes, |shape| shape.lossy_windows);
            Cell::number(lossy.zip(windows).map(|(lossy, windows)| lossy as f64 / windows as f64))
        })
        .with(at_start.0, at_start.1)
        .with(steadily.0, steadily.1)
        .with(at_end.0, at_end.1);
    let rows: Vec<OfLoss<'_>> = groups
        .iter()
        .map(|group| {
            let lossy = group.trials.iter().filter(|trial| trial.lost() > 0);
            let shapes = lossy.clone().map(|trial| trial.loss_shape.as_ref()).collect();
            (group, lossy.fold(0u64, |sum, trial| sum.saturating_add(trial.lost())), shapes)
        })
        .filter(|(_, lost, _)| *lost > 0)
        .collect();
    let is_open = rows.iter().any(|(.., shapes)| shapes.is_none());
    let note = is_open.then(|| "Unknown where frames were not looked at one by one.".to_string());
    let caption = "Bursts of loss and the worst 100 ms, of trials that lost frames; sums of several trials, and the largest of them";
    Some(columns.table("loss-bursts", caption, rows, |(group, ..)| group.numbers())?.with_notes(note))
}

/// Time from the first frame of the longest burst to the next received frame.
fn duration_of_longest(shape: &LossShape) -> u64 {
    shape.longest.first().map_or(0, |burst| burst.to_ns.saturating_sub(burst.from_ns))
}

fn longest(results: &Results) -> Option<Table> {
    type OfBurst<'r> = (&'r TrialResult, &'r Burst);
    let mut bursts: Vec<OfBurst<'_>> = results
        .trials
        .iter()
        .filter_map(|trial| Some((trial, trial.loss_shape.as_ref()?)))
        .flat_map(|(trial, shape)| shape.longest.iter().map(move |burst| (trial, burst)))
        .collect();
    bursts.sort_by_key(|(_, burst)| std::cmp::Reverse(burst.frames));
    bursts.truncate(BURSTS);
    let columns = Columns::new()
        .words("trial", "trial", |(trial, _): &OfBurst<'_>| trial.number)
        .words("method", "method", |(trial, _)| trial.profile.method.as_str())
        .words("load", "load", |(trial, _)| naming::load(trial))
        .count("frames", "frames", |(_, burst)| burst.frames)
        .count("first", "first frame", |(_, burst)| burst.first)
        .named("from_ns", "began", |(_, burst)| burst.from_ns as f64)
        .named("length_ns", "lasted", |(_, burst)| burst.to_ns.saturating_sub(burst.from_ns) as f64)
        .words("position", "part of the trial", |(_, burst)| key(burst.position))
        .words("marked", "marked by the method", |(_, burst)| {
            burst.marked.map_or(Cell::Unknown, |marked| if marked { "yes" } else { "no" }.into())
        });
    let caption = format!("The longest bursts of loss, {} of those that trials keep", bursts.len());
    columns.table("loss-longest", &caption, bursts, |(trial, _)| vec![trial.number])
}
