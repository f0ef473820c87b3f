//! The table of a search: for each goal the highest load that was sustained, and the lowest that was not.

use capbench_judge::search::GoalResult;
use capbench_judge::search::bound::Trials;
use capbench_judge::search::ranking::{goals, ranked_goals};
use capbench_results::Results;

use super::limit_word;
use crate::model::{Cell, Table};
use crate::sentences::sorted;
use crate::tables::rows::{Fields, Rows};
use crate::tables::searches::{lower_bound, quality, set_up_and_number, upper_bound};

/// A row per search and goal, best first; `None` if no goal has a bound.
pub(super) fn table(results: &Results) -> Option<Table> {
    if !goals(&results.searches).any(|(_, goal)| has_bound(goal)) {
        return None;
    }
    let mut rows = Rows::new();
    let mut has_so_far = false;
    for (search, goal) in ranked_goals(&results.searches) {
        has_so_far |= goal.so_far.is_some();
        let trials = Trials::new(&results.trials, search.plan.burst_frames);
        rows.add(set_up_and_number(search).and(goal_fields(goal, &trials)), sorted(goal.trials()));
    }
    let caption = "The highest load that was sustained, and the lowest that was not";
    let mut table = rows.table("summary", caption)?.without_empty_columns();
    if has_so_far {
        table.notes.push("* by fewer trials than the goal asks for: the search ended before.".into());
    }
    Some(table)
}

fn goal_fields(goal: &GoalResult, trials: &Trials<'_>) -> Fields {
    let (width, result) = match &goal.so_far {
        Some(so_far) => (Some(so_far.relative_width), "so far *"),
        None => (goal.relative_width, quality(goal.status)),
    };
    Fields::new()
        .words("goal", "goal", goal.goal.name.as_str())
        .figure("lower_pps", "sustained", lower_bound(goal.status, goal.best_lower()))
        .figure("upper_pps", "not sustained", upper_bound(goal.best_upper()))
        .figure("relative_width_ratio", "width", Cell::number_or_empty(width))
        .words("status", "result", result)
        .words("limit", "limited by", goal.limited_by(trials).map(limit_word))
}

fn has_bound(goal: &GoalResult) -> bool {
    goal.best_lower().is_some() || goal.best_upper().is_some()
}
