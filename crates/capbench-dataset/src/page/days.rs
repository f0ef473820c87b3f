//! The words for what days show.

use capbench_judge::comparison::days::{DayChange, DaysCompared, DaysConclusion};
use capbench_judge::comparison::{Judgement, Measure, Setup};
use capbench_judge::thresholds::{COMPARED_DAYS, DAYS_FALSE_ALARMS};
use capbench_model::figures::{many, percent};
use capbench_report::model::{Cell, Mark, Place as At, Section, Sentence, Table, Unit};

use super::hosts::worse_words;
use super::{column, row, sentence};

/// Findings about days, the first ones.
const MOST_FINDINGS: usize = 8;

/// The direction of a change in words.
fn direction(change: &DayChange) -> &'static str {
    match change.contrast.judgement {
        Judgement::Improvement => "better",
        _ => "worse",
    }
}

/// A line before each day from which on a figure is worse or better.
pub(super) fn marks(compared: &DaysCompared, measure: Measure, scene: &Setup) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for change in &compared.changes {
        if change.contrast.measure != measure || change.contrast.setup.scene() != *scene {
            continue;
        }
        let Some(nth) = compared.days.iter().position(|day| *day == change.day) else { continue };
        let mark = Mark { label: direction(change).into(), at: At::X(nth as f64 - 0.5) };
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}

/// What the days show, in one sentence. `extent` says how many runs, hosts and days there are.
pub(super) fn verdict(compared: &DaysCompared, extent: &str) -> String {
    let count = many(compared.compared as u64, "day was compared", "days were compared");
    match &compared.conclusion {
        DaysConclusion::NothingInCommon => {
            format!("No trend: no host was measured on two days with the same set-up; {extent}.")
        }
        DaysConclusion::Inconclusive => {
            format!("Inconclusive: too few runs of each host and day for a test; {extent}.")
        }
        DaysConclusion::NoRegressionShown => {
            format!("No regression shown over the days: {count} with those before; {extent}.")
        }
        DaysConclusion::Regressions { changes, days } => {
            let regressions = many(*changes as u64, "regression", "regressions");
            let since = match days.first() {
                Some(day) if days.len() == 1 => format!(" since {day}"),
                Some(day) => format!(", the first since {day}"),
                None => String::new(),
            };
            format!("{regressions}{since}: {count} with those before; {extent}.")
        }
    }
}

/// The changes for the worse.
pub(super) fn findings(compared: &DaysCompared) -> Vec<Sentence> {
    let mut findings = Vec::new();
    for change in &compared.changes {
        if change.contrast.judgement == Judgement::Regression && findings.len() < MOST_FINDINGS {
            findings.push(sentence(&change_words(change)));
        }
    }
    findings
}

fn change_words(change: &DayChange) -> String {
    format!(
        "Since {}, {} is {} than on the days before by {} over {}: {}. {}",
        change.day,
        change.contrast.measure.words(),
        direction(change),
        percent(change.contrast.change.middle.abs()),
        many(change.hosts as u64, "host", "hosts"),
        change.contrast.setup,
        change.worse.as_ref().map(worse_words).unwrap_or_default()
    )
}

/// The table of changes; `None` if there are none.
pub(super) fn summary(compared: &DaysCompared) -> Option<Table> {
    if compared.changes.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for one in &compared.changes {
        let change = one.contrast.change;
        let interval = match (change.low, change.high) {
            (Some(low), Some(high)) => Cell::Interval { middle: change.middle, low, high },
            _ => Cell::Number(change.middle),
        };
        rows.push(row([
            Cell::Text(direction(one).into()),
            Cell::Text(one.day.clone()),
            Cell::Text(one.contrast.measure.words().into()),
            Cell::Text(one.contrast.setup.to_string()),
            interval,
            Cell::Count(one.hosts as u64),
        ]));
    }
    Some(Table {
        id: "summary".into(),
        caption: "Changes beyond the threshold against the days before, on hosts that both have".into(),
        columns: vec![
            column("judgement", "change", Unit::None),
            column("day", "since", Unit::None),
            column("measure", "figure", Unit::None),
            column("setup", "set-up", Unit::None),
            column("change_ratio", "by (95 %)", Unit::Ratio),
            column("hosts", "hosts", Unit::Count),
        ],
        rows,
        notes: vec![format!(
            "Up to {COMPARED_DAYS} days before and from a day on are compared. Each of {} is tested at {}, so that all together name \
             a change that is not there in one dataset of {:.0}. Of a change that several days show, the clearest day is listed.",
            many(compared.compared as u64, "day", "days"),
            percent(compared.level),
            1.0 / DAYS_FALSE_ALARMS
        )],
        is_main: true,
    })
}

/// Days that were not compared; `None` if there are none.
pub(super) fn section(compared: &DaysCompared) -> Option<Section> {
    if compared.without == 0 {
        return None;
    }
    let text = sentence(&format!(
        "{} no host and set-up in common with those before, so nothing was compared there.",
        many(compared.without as u64, "day has", "days have")
    ));
    Some(Section {
        id: "days".into(),
        heading: "Days that cannot be compared".into(),
        text: vec![text],
        charts: Vec::new(),
        tables: Vec::new(),
    })
}
