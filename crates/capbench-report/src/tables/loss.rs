//! When frames were lost, and how many at a time.

use capbench_measure::loss_shape::LossShape;
use capbench_measure::results::Results;

use crate::groups::{self, Group};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{self, key};

/// Bursts that are listed at most.
const BURSTS: usize = 20;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    [shapes(results), longest(results)].into_iter().flatten().collect()
}

fn shapes(results: &Results) -> Option<Table> {
    let mut columns = Group::columns();
    columns.extend([
        Column::new("trials", "trials", Unit::Count),
        Column::new("lost", "lost", Unit::Count),
        Column::new("loss_bursts", "bursts", Unit::Count),
        Column::new("longest_burst", "frames of the longest", Unit::Count),
        Column::named("longest_burst_ns", "time of the longest"),
        Column::named("worst_100ms_loss_ratio", "worst 100 ms"),
        Column::named("lossy_100ms_ratio", "100 ms with loss"),
        Column::new("lost_at_start", "in the first 100 ms", Unit::Count),
        Column::new("lost_steadily", "in between", Unit::Count),
        Column::new("lost_at_end", "in the last 100 ms", Unit::Count),
    ]);
    let mut not_looked_at = 0;
    let rows = groups::of(results)
        .iter()
        .filter_map(|group| {
            let lost = group.trials.iter().fold(0u64, |sum, trial| sum.saturating_add(trial.lost()));
            if lost == 0 {
                return None;
            }
            let shapes: Option<Vec<&LossShape>> = group
                .trials
                .iter()
                .filter(|trial| trial.lost() > 0)
                .map(|trial| trial.loss_shape.as_ref())
                .collect();
            not_looked_at += usize::from(shapes.is_none());
            let sum = |of: fn(&LossShape) -> u64| {
                shapes
                    .as_ref()
                    .map(|shapes| shapes.iter().map(|shape| of(shape)).fold(0, u64::saturating_add))
            };
            let most = |of: fn(&LossShape) -> u64| {
                shapes.as_ref().and_then(|shapes| shapes.iter().map(|shape| of(shape)).max())
            };
            let worst = shapes
                .as_ref()
                .and_then(|shapes| shapes.iter().map(|shape| shape.worst_ratio()).reduce(f64::max));
            let windows = sum(|shape| shape.windows).filter(|windows| *windows > 0);
            let lossy = sum(|shape| shape.lossy_windows);
            let mut cells = group.cells();
            cells.extend([
                Cell::Count(group.trials.len() as u64),
                Cell::Count(lost),
                Cell::count(sum(|shape| shape.bursts.count)),
                Cell::count(most(|shape| shape.bursts.max.unwrap_or(0))),
                Cell::number(most(duration_of_longest).map(|ns| ns as f64)),
                Cell::number(worst),
                Cell::number(lossy.zip(windows).map(|(lossy, windows)| lossy as f64 / windows as f64)),
                Cell::count(sum(|shape| shape.lost_at_start)),
                Cell::count(sum(|shape| shape.lost_steadily)),
                Cell::count(sum(|shape| shape.lost_at_end)),
            ]);
            Some(Row::new(cells, group.numbers()))
        })
        .collect();
    let caption = "Bursts of loss and the worst 100 ms, of trials that lost frames; sums of several trials, and the largest of them";
    let note = if not_looked_at > 0 {
        "Unknown where frames were not looked at one by one.".into()
    } else {
        String::new()
    };
    Some(Table::of("loss-bursts", caption, columns, rows)?.with_notes([note]))
}

/// From the first frame of the longest burst until one came again.
fn duration_of_longest(shape: &LossShape) -> u64 {
    shape.longest.first().map_or(0, |burst| burst.to_ns.saturating_sub(burst.from_ns))
}

fn longest(results: &Results) -> Option<Table> {
    let mut bursts: Vec<_> = results
        .trials
        .iter()
        .flat_map(|trial| {
            trial
                .loss_shape
                .iter()
                .flat_map(move |shape| shape.longest.iter().map(move |burst| (trial, burst)))
        })
        .collect();
    bursts.sort_by_key(|(_, burst)| std::cmp::Reverse(burst.frames));
    let all = bursts.len();
    let rows = bursts
        .into_iter()
        .take(BURSTS)
        .map(|(trial, burst)| {
            let cells = vec![
                Cell::Count(trial.number.into()),
                Cell::text(trial.profile.method.as_str()),
                Cell::text(naming::load(trial)),
                Cell::Count(burst.frames),
                Cell::Count(burst.first),
                Cell::Number(burst.from_ns as f64),
                Cell::Number(burst.to_ns.saturating_sub(burst.from_ns) as f64),
                Cell::text(key(burst.position)),
                burst.marked.map_or(Cell::Unknown, |marked| Cell::text(if marked { "yes" } else { "no" })),
            ];
            Row::new(cells, vec![trial.number])
        })
        .collect();
    let columns = vec![
        Column::new("trial", "trial", Unit::None),
        Column::words("method", "method"),
        Column::words("load", "load"),
        Column::new("frames", "frames", Unit::Count),
        Column::new("first", "first frame", Unit::Count),
        Column::named("from_ns", "began"),
        Column::named("length_ns", "lasted"),
        Column::words("position", "part of the trial"),
        Column::words("marked", "marked by the method"),
    ];
    let caption = format!("The longest bursts of loss, {} of those that trials keep", BURSTS.min(all));
    Table::of("loss-longest", &caption, columns, rows)
}
