//! From which day on the same hosts were worse, or better: each day and those after it against those before.

use std::collections::BTreeSet;

use super::hosts::{Figure, Figures, HostsCompared, WorseHosts, of_figures};
use super::{Contrast, Judgement, Thresholds};
use crate::thresholds::{COMPARED_DAYS, DAYS_FALSE_ALARMS, LAST_DAYS};

#[cfg(test)]
mod tests;

/// How the figures of hosts changed over the days of a dataset.
#[derive(Clone, Debug)]
pub struct DaysCompared {
    /// The last days, earliest first.
    pub days: Vec<String>,
    /// Number of days of the dataset.
    pub all_days: usize,
    /// Days that have a host and set-up in common with those before.
    pub compared: usize,
    /// Days that have none.
    pub without: usize,
    /// The probability with which chance may explain a change of a day. All days together show a change that is none with
    /// [`DAYS_FALSE_ALARMS`].
    pub level: f64,
    /// The changes that are shown, those for the worse first. Of a change that several days show, the clearest day.
    pub changes: Vec<DayChange>,
    /// What they show together.
    pub conclusion: DaysConclusion,
}

/// A change that a day shows.
#[derive(Clone, Debug, PartialEq)]
pub struct DayChange {
    /// The first day with the change.
    pub day: String,
    /// The figure that changed. Its judgement is [`Judgement::Regression`] or [`Judgement::Improvement`].
    pub contrast: Contrast,
    /// Hosts that were measured on both sides of the day.
    pub hosts: usize,
    /// Those of them that became worse in this figure.
    pub worse: Option<WorseHosts>,
}

/// What the days show together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaysConclusion {
    /// No host was measured on two days with the same set-up.
    NothingInCommon,
    /// There are too few runs of each host and day for a test.
    Inconclusive,
    /// No figure is known to have become worse.
    NoRegressionShown,
    /// Figures became worse.
    Regressions {
        /// Number of figures.
        changes: usize,
        /// The days on which they did, earliest first.
        days: BTreeSet<String>,
    },
}

/// A day that was compared.
struct Day {
    day: String,
    compared: HostsCompared,
}

/// Compares the days of figures whose values are days.
pub fn day_by_day(figures: &Figures, thresholds: Thresholds) -> DaysCompared {
    let mut days = figures.values.clone();
    days.sort();
    let all_days = days.len();
    days.drain(..all_days.saturating_sub(LAST_DAYS));
    let mut compared = Vec::new();
    let mut without = 0;
    // Before the first day there is none to compare with.
    for nth in 1..days.len() {
        match compared_day(figures, &days, nth, thresholds) {
            Some(day) => compared.push(day),
            None => without += 1,
        }
    }
    let level = DAYS_FALSE_ALARMS / compared.len().max(1) as f64;
    let mut changes = Vec::new();
    for judgement in [Judgement::Regression, Judgement::Improvement] {
        changes.extend(shown(&compared, judgement, level));
    }
    let conclusion = conclusion(&compared, &changes);
    DaysCompared { days, all_days, compared: compared.len(), without, level, changes, conclusion }
}

/// Compares the `nth` day and those after it with those before it. `None` if no host has a set-up on both sides.
fn compared_day(figures: &Figures, days: &[String], nth: usize, thresholds: Thresholds) -> Option<Day> {
    let before = &days[nth.saturating_sub(COMPARED_DAYS)..nth];
    let after = &days[nth..days.len().min(nth + COMPARED_DAYS)];
    let mut all = Vec::new();
    for figure in &figures.all {
        let day = figure.value_of.and_then(|value| figures.values.get(value));
        let side = match day {
            Some(day) if before.contains(day) => Some(0),
            Some(day) if after.contains(day) => Some(1),
            _ => None,
        };
        all.push(Figure { value_of: side, ..*figure });
    }
    let day = days[nth].clone();
    let sides = [format!("before {day}"), format!("from {day}")];
    let divided = Figures {
        runs: figures.runs.clone(),
        setups: figures.setups.clone(),
        values: sides.to_vec(),
        all,
        left_out: figures.left_out,
    };
    let compared = of_figures(&divided, "date", Some(sides), thresholds).ok()?;
    Some(Day { day, compared })
}

/// The changes with this judgement that chance explains with up to this probability. Several days show one change: its day is the one
/// that chance explains least.
fn shown(days: &[Day], judgement: Judgement, level: f64) -> Vec<DayChange> {
    let mut changes: Vec<DayChange> = Vec::new();
    for Day { day, compared } in days {
        for contrast in compared.comparison.judged(judgement) {
            let is_shown = contrast.corrected.is_some_and(|by_chance| by_chance <= level);
            let is_of_one_setup = contrast.setups == 1;
            if !is_of_one_setup || !is_shown {
                continue;
            }
            let change = DayChange {
                day: day.clone(),
                contrast: contrast.clone(),
                hosts: compared.paired,
                worse: compared.worse_hosts(contrast),
            };
            match changes.iter_mut().find(|known| is_same_figure(&known.contrast, contrast)) {
                Some(known) if contrast.by_chance < known.contrast.by_chance => *known = change,
                Some(_) => {}
                None => changes.push(change),
            }
        }
    }
    changes
}

fn is_same_figure(one: &Contrast, other: &Contrast) -> bool {
    one.setup == other.setup && one.measure == other.measure
}

fn conclusion(compared: &[Day], changes: &[DayChange]) -> DaysConclusion {
    if compared.is_empty() {
        return DaysConclusion::NothingInCommon;
    }
    let mut days = BTreeSet::new();
    let mut regressions = 0;
    for change in changes {
        if change.contrast.judgement == Judgement::Regression {
            regressions += 1;
            days.insert(change.day.clone());
        }
    }
    if regressions > 0 {
        return DaysConclusion::Regressions { changes: regressions, days };
    }
    match compared.iter().all(|day| day.compared.comparison.is_inconclusive()) {
        true => DaysConclusion::Inconclusive,
        false => DaysConclusion::NoRegressionShown,
    }
}
