//! The changes that days show: each day and those after it against those before.

use std::collections::BTreeSet;

use capbench_judge::comparison::hosts::{self, Figure, Figures, HostsCompared};
use capbench_judge::comparison::{Contrast, Judgement, Measure, Setup, Thresholds};
use capbench_model::figures::{many, percent};
use capbench_report::model::{Cell, Mark, Place as At, Row, Section, Sentence, Table, Unit};

use super::hosts::which_hosts;
use super::{column, row, sentence};

/// Days on each side of a day that are compared. A host has one run a day, and a test needs several.
const WINDOW: usize = 3;

/// Each day and those after it against those before, on the hosts that both have.
pub(super) struct DayByDay {
    /// Each with its day.
    pairs: Vec<(String, HostsCompared)>,
    /// Days without a host in common with those before.
    without: usize,
}

/// A change that was shown on a day.
struct DayChange<'d> {
    words: &'static str,
    day: &'d str,
    days: &'d HostsCompared,
    contrast: &'d Contrast,
}

pub(super) fn day_by_day(figures: &Figures, days: &[String], thresholds: Thresholds) -> DayByDay {
    let compared = |nth: usize| {
        let before = &days[nth.saturating_sub(WINDOW)..nth];
        let after = &days[nth..days.len().min(nth + WINDOW)];
        let side = |value: Option<usize>| {
            let day = figures.values.get(value?)?;
            if before.contains(day) { Some(0) } else { after.contains(day).then_some(1) }
        };
        let values = [format!("before {}", days[nth]), format!("from {}", days[nth])];
        let own = Figures {
            runs: figures.runs.clone(),
            setups: figures.setups.clone(),
            values: values.to_vec(),
            all: figures.all.iter().map(|one| Figure { value_of: side(one.value_of), ..*one }).collect(),
            left_out: figures.left_out,
        };
        let compared = hosts::of_figures(&own, "date", Some(values), thresholds).ok()?;
        Some((days[nth].clone(), compared))
    };
    let all: Vec<_> = (1..days.len()).map(compared).collect();
    let without = all.iter().filter(|pair| pair.is_none()).count();
    DayByDay { pairs: all.into_iter().flatten().collect(), without }
}

impl DayByDay {
    /// The changes that are shown, if all days are one family of tests. Of a change that several days show, the day of which
    /// chance explains it least.
    fn shown(&self) -> Vec<DayChange<'_>> {
        let kinds = [(Judgement::Regression, "worse"), (Judgement::Improvement, "better")];
        let mut shown: Vec<DayChange<'_>> = Vec::new();
        for (judgement, words) in kinds {
            for (day, days) in &self.pairs {
                let level = days.comparison.false_alarms / self.pairs.len() as f64;
                let is_shown = |contrast: &&Contrast| {
                    contrast.setups == 1 && contrast.corrected.is_some_and(|p| p <= level)
                };
                for contrast in days.comparison.judged(judgement).filter(is_shown) {
                    let is_same = |known: &&mut DayChange<'_>| {
                        let other = known.contrast;
                        known.words == words
                            && other.setup == contrast.setup
                            && other.measure == contrast.measure
                    };
                    let found = DayChange { words, day, days, contrast };
                    match shown.iter_mut().find(is_same) {
                        Some(known) if contrast.by_chance < known.contrast.by_chance => *known = found,
                        Some(_) => {}
                        None => shown.push(found),
                    }
                }
            }
        }
        shown
    }

    fn worse(&self) -> usize {
        self.shown().iter().filter(|change| change.words == "worse").count()
    }

    /// A line before each day from which on a figure is worse or better.
    pub(super) fn marks(&self, measure: Measure, scene: &Setup, days: &[String]) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        for change in self.shown() {
            let is_own = change.contrast.measure == measure && change.contrast.setup.scene() == *scene;
            let Some(nth) = days.iter().position(|day| day == change.day).filter(|_| is_own) else {
                continue;
            };
            let mark = Mark { label: change.words.into(), at: At::X(nth as f64 - 0.5) };
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        marks
    }

    /// Since when it is worse: the first of the days.
    fn since(&self) -> String {
        let shown = self.shown();
        let days: BTreeSet<&str> =
            shown.iter().filter(|change| change.words == "worse").map(|change| change.day).collect();
        match (days.first(), days.len()) {
            (None, _) => String::new(),
            (Some(day), 1) => format!(" since {day}"),
            (Some(day), _) => format!(", the first since {day}"),
        }
    }

    pub(super) fn verdict(&self, of: &str) -> String {
        let is_inconclusive = |(_, days): &(String, HostsCompared)| days.comparison.is_inconclusive();
        let days = many(self.pairs.len() as u64, "day was compared", "days were compared");
        match (self.worse(), &self.pairs[..]) {
            (_, []) => format!("No trend: no host was measured on two days with the same set-up; {of}."),
            (0, pairs) if pairs.iter().all(is_inconclusive) => {
                format!("Inconclusive: too few runs of each host and day for a test; {of}.")
            }
            (0, _) => format!("No regression shown over the days: {days} with those before; {of}."),
            (some, _) => format!(
                "{}{}: {days} with those before; {of}.",
                many(some as u64, "regression", "regressions"),
                self.since()
            ),
        }
    }

    pub(super) fn findings(&self) -> Vec<Sentence> {
        const MOST: usize = 8;
        let said = |change: &DayChange<'_>| {
            let by = percent(change.contrast.change.middle.abs());
            let hosts = which_hosts(change.contrast, change.days);
            sentence(&format!(
                "Since {}, {} is {} than on the days before by {by} over {}: {}. {}",
                change.day,
                change.contrast.measure.words(),
                change.words,
                many(change.days.paired as u64, "host", "hosts"),
                change.contrast.setup,
                hosts.unwrap_or_default()
            ))
        };
        self.shown().iter().filter(|change| change.words == "worse").take(MOST).map(said).collect()
    }

    pub(super) fn summary(&self) -> Option<Table> {
        let shown = self.shown();
        let rows: Vec<Row> = shown
            .iter()
            .map(|DayChange { words, day, days, contrast }| {
                let change = contrast.change;
                let interval = change.low.zip(change.high);
                row([
                    Cell::Text((*words).into()),
                    Cell::Text((*day).into()),
                    Cell::Text(contrast.measure.words().into()),
                    Cell::Text(contrast.setup.to_string()),
                    match interval {
                        Some((low, high)) => Cell::Interval { middle: change.middle, low, high },
                        None => Cell::Number(change.middle),
                    },
                    Cell::Count(days.paired as u64),
                ])
            })
            .collect();
        (!rows.is_empty()).then(|| Table {
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
                "Up to {WINDOW} days before and from a day on are compared. Each of {} is tested at {}, so that all together name \
                 a change that is not there in one dataset of 20. Of a change that several days show, the clearest day is listed.",
                many(self.pairs.len() as u64, "day", "days"),
                percent(0.05 / self.pairs.len().max(1) as f64)
            )],
            is_main: true,
        })
    }

    pub(super) fn section(&self) -> Option<Section> {
        let text = match self.without {
            0 => return None,
            some => sentence(&format!(
                "{} no host and set-up in common with those before, so nothing was compared there.",
                many(some as u64, "day has", "days have")
            )),
        };
        let (id, heading) = ("days".into(), "Days that cannot be compared".into());
        Some(Section { id, heading, text: vec![text], charts: Vec::new(), tables: Vec::new() })
    }
}
