//! The bounds of each goal of a search: the trials that decide them, and what those lost.

use capbench_judge::search::ranking::goals;
use capbench_judge::search::{Bound, GoalResult, HighLoss, Losses, Moments, SearchOutcome};

use super::set_up_and_number;
use crate::figures::count;
use crate::model::{Cell, Column, Table, Unit};
use crate::naming::time;
use crate::tables::rows::{Fields, Rows};

/// A row per search, goal and bound.
pub(super) fn table(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for (search, goal) in goals(searches) {
        for (name, bound) in named_bounds(goal) {
            let fields = set_up_and_number(search)
                .words("goal", "goal", goal.goal.name.as_str())
                .words("bound", "bound", name)
                .and(bound_fields(bound));
            rows.add(fields, bound.trials.clone());
        }
    }
    let table = rows.table("searches-bounds", "Bounds: the trials that decide them, and what those lost")?;
    Some(table.without_empty_columns())
}

/// The known bounds of a goal, by its target and by a coarser one.
fn named_bounds(goal: &GoalResult) -> Vec<(&'static str, &Bound)> {
    let mut bounds = Vec::new();
    if let Some(lower) = &goal.lower {
        bounds.push(("lower", lower));
    }
    if let Some(upper) = &goal.upper {
        bounds.push(("upper", upper));
    }
    if let Some(so_far) = &goal.so_far {
        bounds.push(("lower, coarser target", &so_far.lower));
        bounds.push(("upper, coarser target", &so_far.upper));
    }
    bounds
}

/// The trials of a bound, and their losses.
fn bound_fields(bound: &Bound) -> Fields {
    let losses = bound.losses.as_ref();
    let moments = losses.and_then(|losses| losses.moments);
    Fields::new()
        .figure("intended_pps", "intended", bound.intended_pps.floor())
        .figure("achieved_pps", "offered at least", bound.achieved_pps.floor())
        .figure("seconds_s", "seconds of trials", bound.seconds)
        .count("trials", "trials", bound.trials.len())
        .count(
            "high_loss_trials",
            "of these high-loss",
            Cell::count_or_unknown(bound.high_loss.map(|high| high.trials.into())),
        )
        .with(
            Column::new("high_loss_ratio", "share of high-loss trials (95 % interval)", Unit::Ratio),
            high_loss_share(bound.high_loss),
        )
        .words("lost", "lost, by place", losses.map(lost_words))
        .figure(
            "most_of_a_trial_ratio",
            "most of a trial",
            Cell::number_or_empty(losses.map(|losses| losses.most_of_a_trial)),
        )
        .words("moments", "100 ms with loss, longest burst", moments.map(moments_words))
        .count("disturbed", "disturbed trials", bound.disturbed.len())
}

/// The share of a load's full-length trials that lost or left unsent more than the goal allows, with its confidence interval.
/// The first versions did not save it.
fn high_loss_share(high_loss: Option<HighLoss>) -> Cell {
    let Some(high) = high_loss else { return Cell::Unknown };
    // A file can have 0 trials: their share is shown as 0.
    let middle = f64::from(high.trials) / f64::from(high.all_trials.max(1));
    Cell::Interval { middle, low: high.low, high: high.high }
}

/// Lost frames by place.
fn lost_words(losses: &Losses) -> String {
    let mut places = Vec::new();
    for lost in &losses.lost {
        places.push(format!("{} {}", lost.place.key(), count(lost.frames)));
    }
    places.join(", ")
}

/// In how many windows of 100 ms frames were lost; how many frames were lost in a row, and for how long.
fn moments_words(moments: Moments) -> String {
    format!(
        "{} of {}; {} frames or {}",
        count(moments.lossy_windows),
        count(moments.windows),
        count(moments.longest_frames),
        time(moments.longest_ns as f64 / 1e9)
    )
}
