//! Results of searches.
//!
//! | file | the table of |
//! |---|---|
//! | this | goals with their bounds and quality, repeated searches, loads that only buffers sustained, how each search went |
//! | `bounds` | the trials that decide each bound |
//! | `numbers` | rates without loss and with little loss |

mod bounds;
mod numbers;

use std::fmt;

use capbench_judge::search::ranking::{goals as goals_of, repeated};
use capbench_judge::search::{
    Bound, BoundsDistinction, MaximumLoad, MaximumSource, SearchOutcome, SelfTest, SoFar, Status,
};
use capbench_model::saved::Saved;

use super::rows::{Fields, Rows};
use crate::model::{Cell, Column, Table, Unit};
use crate::naming::{percent, rate, time};
use crate::sentences::limits;
use crate::sentences::search::{end_words, goal_help, reason_words, warnings};
use crate::sentences::sorted;

pub(super) fn tables(searches: &[SearchOutcome]) -> Vec<Table> {
    let tables = [goals, bounds::table, numbers::table, repeats, sustained_by_buffers, conduct];
    tables.iter().filter_map(|table| table(searches)).collect()
}

/// A part of a set-up, if known.
fn known<T: fmt::Display>(part: &Option<Saved<T>>) -> Cell {
    match part {
        Some(part) => Cell::text(part.to_string()),
        None => Cell::Unknown,
    }
}

/// The fields of a search's set-up.
pub(super) fn set_up(search: &SearchOutcome) -> Fields {
    let frame_size = match &search.frame_size {
        Some(size) => Cell::text(size.to_string()),
        None => Cell::Unknown,
    };
    Fields::new()
        .words("frame_size", "frame size", frame_size)
        .words("placement", "placement", known(&search.placement))
        .words("work", "work", known(&search.work))
        .words("method", "method", known(&search.method))
}

/// The fields of a search's set-up, and its number if there are several.
pub(super) fn set_up_and_number(search: &SearchOutcome) -> Fields {
    set_up(search).words("nth", "search", search.nth.map_or(Cell::Empty, Cell::from))
}

/// The lower bound of a goal as a cell: "at least" if the result is only a lower bound.
pub(super) fn lower_bound(status: Status, bound: Option<&Bound>) -> Cell {
    match (status, bound) {
        (Status::AtLeast, Some(bound)) => Cell::AtLeast(bound.achieved_pps.floor()),
        (_, Some(bound)) => Cell::Number(bound.achieved_pps.floor()),
        (_, None) => Cell::Unknown,
    }
}

/// The upper bound of a goal as a cell.
pub(super) fn upper_bound(bound: Option<&Bound>) -> Cell {
    match bound {
        Some(bound) => Cell::Number(bound.intended_pps.floor()),
        None => Cell::Unknown,
    }
}

/// The quality of a goal's result, in one word.
pub(super) fn quality(status: Status) -> &'static str {
    match status {
        Status::Regular => "regular",
        Status::AtLeast => "at least",
        Status::Irregular => "irregular",
    }
}

/// A row per search and goal: its bounds, and why the result is not better.
fn goals(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for (search, goal) in goals_of(searches) {
        let fields = set_up_and_number(search)
            .words("goal", "goal", goal.goal.name.as_str())
            .words("status", "result", quality(goal.status))
            .figure("lower_pps", "lower bound", lower_bound(goal.status, goal.lower.as_ref()))
            .figure("upper_pps", "upper bound", upper_bound(goal.upper.as_ref()))
            .figure("relative_width_ratio", "width", Cell::number_or_empty(goal.relative_width))
            .figure(
                "conditional_throughput_pps",
                "conditional throughput",
                Cell::whole_rate_or_empty(goal.conditional_throughput_pps),
            )
            .words("limit", "what limits", goal.limit.map(limits::words))
            .words("reason", "why not regular", goal.reason.as_ref().map(reason_words))
            .words("so_far", "known so far, by a coarser target", goal.so_far.as_ref().map(so_far_words))
            .words("apart", "bounds distinguished", goal.distinction.map(distinction_words))
            .words("attributes", "what was asked for", goal_help::words(&goal.goal));
        rows.add(fields, sorted(goal.trials()));
    }
    let caption = "Goals: the highest load that was sustained and the lowest that was not";
    Some(rows.table("searches-goals", caption)?.without_empty_columns())
}

/// The bounds that a search has for a goal before it is done.
fn so_far_words(so_far: &SoFar) -> String {
    format!(
        "with {} per load: {} to {}, {} apart",
        time(so_far.duration_sum.as_secs_f64()),
        rate(so_far.lower.achieved_pps),
        rate(so_far.upper.intended_pps),
        percent(so_far.relative_width)
    )
}

/// Whether the trials of both bounds differ by more than chance.
fn distinction_words(distinction: BoundsDistinction) -> String {
    // The probability that chance alone makes the trials of the bounds this different.
    let chance = distinction.by_chance;
    if distinction.is_significant() {
        return format!("yes (chance {chance:.3})");
    }
    match distinction.nearest {
        Some([lower_pps, upper_pps]) => {
            format!("no (chance {chance:.2}); distinguished are {} and {}", rate(lower_pps), rate(upper_pps))
        }
        None => format!("no (chance {chance:.2}), and no two loads are"),
    }
}

/// A row per set-up and goal that several searches had: the spread of their lower bounds.
fn repeats(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for repeat in &repeated(searches) {
        let fields = Fields::new()
            .words("frame_size", "frame size", repeat.frame_size.to_string())
            .words("placement", "placement", repeat.placement.to_string())
            .words("work", "work", repeat.work.to_string())
            .words("method", "method", repeat.method.to_string())
            .words("goal", "goal", repeat.goal.as_str())
            .count("searches", "searches", repeat.searches)
            .figure("lower_pps", "lower bound, median", &repeat.lower_pps)
            .figure("least_pps", "least", repeat.least_pps)
            .figure("most_pps", "most", repeat.most_pps)
            .with(Column::new("spread_ratio", "from least to most", Unit::Ratio), repeat.spread_ratio())
            .count("regular", "regular", repeat.regular)
            .count("at_least", "at least", repeat.at_least)
            .count("coarser", "by a coarser target", repeat.coarser)
            .count("without", "without a bound", repeat.without);
        rows.add(fields, repeat.trials.clone());
    }
    let caption = "Several searches of the same set-up: their spread shows how repeatable one search is";
    rows.table("searches-repeats", caption)
}

/// A row per search that had trials without loss above the rate at which the application read.
fn sustained_by_buffers(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for search in searches {
        let Some(buffered) = &search.buffered else { continue };
        let fields = set_up_and_number(search)
            .figure("from_pps", "from", buffered.from_pps)
            .figure("to_pps", "to", buffered.to_pps)
            .figure("taken_pps", "read at most", buffered.taken_pps)
            .figure("behind_s", "behind at most", buffered.behind_s);
        rows.add(fields, buffered.trials.clone());
    }
    let caption = "Loads that lost nothing only because buffers had room; frames in buffers count as lost";
    rows.table("searches-buffered", caption)
}

/// A row per search: its highest load, its time, how it ended, and warnings.
fn conduct(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for search in searches {
        let maximum = search.maximum.as_ref();
        let self_test = maximum.and_then(|maximum| maximum.self_test.as_ref());
        let warnings = warnings::of_search(search).join("; ");
        let fields = set_up_and_number(search)
            .figure(
                "maximum_pps",
                "maximum load",
                Cell::whole_rate_or_unknown(maximum.map(|maximum| maximum.load_pps.get())),
            )
            .words("maximum_source", "which is", maximum.map(source_words))
            .and(self_test_fields(self_test))
            .count("trials", "trials", search.trials.len())
            .figure("sending_s", "traffic", search.sending_s)
            .figure("spent_s", "in all", search.spent_s)
            .words("ended", "how it ended", end_words(&search.ended))
            .words("warnings", "notes", if warnings.is_empty() { Cell::Empty } else { warnings.into() });
        rows.add(fields, search.trials.clone());
    }
    let mut table = rows.table("searches-conduct", "How each search went")?.without_empty_columns().main();
    if searches.iter().any(|search| search.method.is_none()) {
        table.notes.push("A search without a method had no trial.".into());
    }
    Some(table)
}

/// Where the highest load of a search is from.
fn source_words(maximum: &MaximumLoad) -> &'static str {
    match maximum.source {
        MaximumSource::Generator => "what the generator reaches with this method capturing",
        MaximumSource::GeneratorAndReceiver => "what generator and receiver reach together",
        MaximumSource::LineRate => "the line rate, which the generator reaches",
        MaximumSource::Given => "as asked for",
    }
}

/// What the generator sent in the self-test, without a plan and by plan.
fn self_test_fields(self_test: Option<&SelfTest>) -> Fields {
    Fields::new()
        .figure(
            "unpaced_pps",
            "self-test, unpaced",
            Cell::number_or_empty(self_test.map(|test| test.unpaced_pps)),
        )
        .figure(
            "paced_pps",
            "self-test, by plan",
            Cell::number_or_empty(self_test.map(|test| test.paced_pps)),
        )
}
