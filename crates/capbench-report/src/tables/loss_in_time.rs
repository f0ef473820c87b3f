//! When frames were lost: bursts of loss, the 100 ms in which most were lost, and the longest bursts.

use std::cmp::Reverse;

use capbench_model::loss_pattern::{Burst, LossPattern};
use capbench_model::trial::TrialResult;
use capbench_results::Results;
use capbench_results::trial_columns::key;

use super::rows::{Fields, Rows, group_fields};
use crate::groups::groups_in_run;
use crate::model::{Cell, Table};
use crate::naming;

/// Most bursts that are listed.
const MOST_BURSTS: usize = 20;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(bursts_of_groups(results));
    tables.extend(longest_bursts(results));
    tables
}

/// A row per group of trials that lost frames: its bursts of loss and the worst 100 ms.
fn bursts_of_groups(results: &Results) -> Option<Table> {
    let mut rows = Rows::new();
    let mut has_unknown = false;
    for group in groups_in_run(results) {
        let mut lost = 0_u64;
        let mut lossy = Vec::new();
        for trial in &group.trials {
            if trial.lost() > 0 {
                lost = lost.saturating_add(trial.lost());
                lossy.push(*trial);
            }
        }
        if lossy.is_empty() {
            continue;
        }
        let patterns = known_patterns(&lossy);
        has_unknown |= patterns.is_none();
        let fields = group_fields(&group)
            .count("trials", "trials", group.trials.len())
            .count("lost", "lost", lost)
            .and(pattern_fields(patterns.as_deref()));
        rows.add(fields, group.numbers());
    }
    let caption = "Bursts of loss and the worst 100 ms, of trials that lost frames; sums of several trials, and the largest of them";
    let mut table = rows.table("loss-bursts", caption)?;
    if has_unknown {
        table.notes.push("Unknown where frames were not looked at one by one.".into());
    }
    Some(table)
}

/// The loss patterns of trials; `None` if one of them has none.
fn known_patterns<'r>(trials: &[&'r TrialResult]) -> Option<Vec<&'r LossPattern>> {
    trials.iter().map(|trial| trial.loss_pattern.as_ref()).collect()
}

/// The fields of several trials' loss patterns; `None` if a pattern is unknown: then all figures are.
fn pattern_fields(patterns: Option<&[&LossPattern]>) -> Fields {
    let longest_ns = largest(patterns, ns_of_longest_burst);
    Fields::new()
        .count("loss_bursts", "bursts", Cell::count_or_unknown(sum(patterns, |pattern| pattern.bursts.count)))
        .count(
            "longest_burst",
            "frames of the longest",
            Cell::count_or_unknown(largest(patterns, frames_of_longest_burst)),
        )
        .figure(
            "longest_burst_ns",
            "time of the longest",
            Cell::number_or_unknown(longest_ns.map(|ns| ns as f64)),
        )
        .figure("worst_100ms_loss_ratio", "worst 100 ms", Cell::number_or_unknown(worst_ratio(patterns)))
        .figure(
            "lossy_100ms_ratio",
            "100 ms with loss",
            Cell::number_or_unknown(ratio_of_lossy_windows(patterns)),
        )
        .count(
            "lost_at_start",
            "in the first 100 ms",
            Cell::count_or_unknown(sum(patterns, |pattern| pattern.lost_at_start)),
        )
        .count(
            "lost_steadily",
            "in between",
            Cell::count_or_unknown(sum(patterns, |pattern| pattern.lost_steadily)),
        )
        .count(
            "lost_at_end",
            "in the last 100 ms",
            Cell::count_or_unknown(sum(patterns, |pattern| pattern.lost_at_end)),
        )
}

/// The sum of a count of these patterns.
fn sum(patterns: Option<&[&LossPattern]>, count: fn(&LossPattern) -> u64) -> Option<u64> {
    let mut sum = 0_u64;
    for pattern in patterns? {
        sum = sum.saturating_add(count(pattern));
    }
    Some(sum)
}

/// The largest value of these patterns.
fn largest(patterns: Option<&[&LossPattern]>, value: fn(&LossPattern) -> u64) -> Option<u64> {
    patterns?.iter().map(|pattern| value(pattern)).max()
}

fn frames_of_longest_burst(pattern: &LossPattern) -> u64 {
    pattern.bursts.max.unwrap_or(0)
}

/// Time from the first frame of the longest burst to the next received frame.
fn ns_of_longest_burst(pattern: &LossPattern) -> u64 {
    match pattern.longest.first() {
        Some(burst) => burst.to_ns.saturating_sub(burst.from_ns),
        None => 0,
    }
}

/// The share of its frames that the worst 100 ms lost.
fn worst_ratio(patterns: Option<&[&LossPattern]>) -> Option<f64> {
    patterns?.iter().map(|pattern| pattern.worst_ratio()).reduce(f64::max)
}

/// The share of windows of 100 ms in which frames were lost; `None` without windows.
fn ratio_of_lossy_windows(patterns: Option<&[&LossPattern]>) -> Option<f64> {
    let lossy = sum(patterns, |pattern| pattern.lossy_windows)?;
    match sum(patterns, |pattern| pattern.windows)? {
        0 => None,
        windows => Some(lossy as f64 / windows as f64),
    }
}

/// The longest bursts of all trials.
fn longest_bursts(results: &Results) -> Option<Table> {
    let mut bursts: Vec<(&TrialResult, &Burst)> = Vec::new();
    for trial in &results.trials {
        let Some(pattern) = &trial.loss_pattern else { continue };
        for burst in &pattern.longest {
            bursts.push((trial, burst));
        }
    }
    bursts.sort_by_key(|(_, burst)| Reverse(burst.frames));
    bursts.truncate(MOST_BURSTS);
    let caption = format!("The longest bursts of loss, {} of those that trials keep", bursts.len());
    let mut rows = Rows::new();
    for (trial, burst) in bursts {
        let fields = Fields::new()
            .words("trial", "trial", trial.number)
            .words("method", "method", trial.profile.method.to_string())
            .words("load", "load", naming::load(trial))
            .count("frames", "frames", burst.frames)
            .count("first", "first frame", burst.first)
            .figure("from_ns", "began", burst.from_ns as f64)
            .figure("length_ns", "lasted", burst.to_ns.saturating_sub(burst.from_ns) as f64)
            .words("position", "part of the trial", key(burst.position))
            .words("marked", "marked by the method", yes_or_no(burst.marked));
        rows.add(fields, vec![trial.number]);
    }
    rows.table("loss-longest", &caption)
}

fn yes_or_no(answer: Option<bool>) -> Cell {
    match answer {
        Some(true) => Cell::text("yes"),
        Some(false) => Cell::text("no"),
        None => Cell::Unknown,
    }
}
