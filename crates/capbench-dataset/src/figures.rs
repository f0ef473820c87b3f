//! The compared figures of the trials in a dataset, those of [`Measure`], read from its files. capbench-judge decides which trials
//! are compared, and by what.
//!
//! `examples/sql/regressions.sql` is a similar comparison in SQL, for datasets that are larger than one machine.

mod sampled;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;

use capbench_judge::comparison::hosts::{DatasetRun, Figure, Figures};
use capbench_judge::comparison::sampled::{CommonLoads, MeasuredFigure, SampledTrial};
use capbench_judge::comparison::setup::goal_words;
use capbench_judge::comparison::{Measure, Setup};
use capbench_model::saved::Saved;
use capbench_results::column::Values;
use capbench_results::tidy::RESULT;

use self::sampled::{sampled, setup};
use crate::compared_trials::is_compared;
use crate::error::{DatasetError, Result};
use crate::layout::{self, DataFile};
use crate::reader::{self, Record};
use crate::tables::trials;

/// A column by which runs are distinguished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A partition: the campaign.
    Campaign,
    /// A partition: the day.
    Date,
    /// A label.
    Label(String),
    /// A column of `trials` with text.
    Column(&'static str),
}

/// How a label is written as a column.
const LABELS: &str = "labels.";

impl By {
    /// The column of this name.
    ///
    /// # Errors
    /// `trials` has no such column, or runs cannot be distinguished by it.
    pub fn parse(text: &str) -> Result<Self> {
        match (text, text.strip_prefix(LABELS)) {
            ("campaign", _) => Ok(Self::Campaign),
            ("date", _) => Ok(Self::Date),
            (_, Some(label)) if !label.is_empty() => Ok(Self::Label(label.into())),
            _ => usable().find(|name| *name == text).map(Self::Column).ok_or_else(|| {
                let names: Vec<_> = usable().collect();
                DatasetError::Comparison(format!(
                    "--by {text}: name a column of trials: campaign, date, labels.NAME, {}",
                    names.join(", ")
                ))
            }),
        }
    }

    fn of(&self, file: &DataFile, row: &Record) -> Option<String> {
        match self {
            Self::Campaign => Some(file.campaign.clone()),
            Self::Date => Some(file.date.clone()),
            Self::Label(name) => row.entry("labels", name).map(String::from),
            Self::Column(name) => row.text(name).map(String::from),
        }
    }

    /// The set-up without what it may differ in.
    fn without(&self, setup: &mut Setup) {
        let Self::Column(name) = self else { return };
        match *name {
            "method" => setup.method = None,
            "placement" => setup.placement = None,
            "frame_size" => setup.frame_size = None,
            "traffic" => setup.traffic = None,
            "transmit" => setup.transmit = None,
            "work" => setup.work = None,
            _ => {}
        }
    }
}

/// Columns of text that say how a trial was made, not how it ended.
fn usable() -> impl Iterator<Item = &'static str> {
    const OTHERS: [&str; 8] =
        ["run_id", "kept", "command", "phase", "host_id", "clock_class", "verdict", "invalid_because"];
    let columns = trials::columns();
    let names: Vec<_> = columns
        .iter()
        .filter(|column| matches!(column.values, Values::Text(_)))
        .map(|column| column.name)
        .collect();
    names.into_iter().filter(|name| !OTHERS.contains(name))
}

/// Columns of text of a set-up and of a trial that are read.
const COLUMNS: [&str; 28] = [
    "run_id",
    "number",
    "started_at",
    "kept",
    "command",
    "phase",
    "labels",
    "host_id",
    "kernel_release",
    "method",
    "frame_size",
    "traffic",
    "placement",
    "work",
    "transmit",
    "intended_pps",
    "delivered_pps",
    "intended",
    "sent",
    "delivered",
    "app_ns_per_packet",
    "total_ns_per_packet",
    "latency_total_p50_ns",
    "latency_total_p99_9_ns",
    "verdict",
    "noise",
    "load_independent",
    "offered_pps",
];

/// The columns of searches that are read.
const SEARCHES: [&str; 4] = ["goal", "status", "achieved_pps", "first_trial"];

/// Reads the figures of a dataset.
///
/// # Errors
/// There is no dataset, or a file cannot be read.
pub fn read(dataset: &Path, by: &By) -> Result<Figures> {
    let files = layout::files(dataset, trials::NAME)?;
    if files.is_empty() {
        return Err(DatasetError::NoDataset(dataset.into()));
    }
    let mut columns = COLUMNS.to_vec();
    if let By::Column(name) = by {
        columns.push(name);
    }
    let mut reading = Reading::default();
    for file in &files {
        let rows = reader::rows(&file.path, &columns)?;
        let mut goals = goals(dataset, file)?;
        let octets = fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        reading.budget.grant(octets);
        reading
            .add(file, by, &rows, &mut goals)
            .map_err(|TooMuch| DatasetError::TooMuch(file.path.clone()))?;
    }
    Ok(reading.figures)
}

/// A goal of a search with a regular result: its name and its rate.
struct Goal {
    name: String,
    achieved_pps: f64,
}

/// The regular goals of a run's searches, by the number of their first trial.
type Goals = HashMap<i64, Vec<Goal>>;

fn goals(dataset: &Path, trials: &DataFile) -> Result<Goals> {
    let Some(name) = trials.path.file_name() else { return Ok(Goals::new()) };
    let path = dataset.join(layout::partition("searches", &trials.campaign, &trials.date)).join(name);
    let rows = reader::rows(&path, &SEARCHES)?;
    Ok(goals_of(&rows))
}

fn goals_of(rows: &[Record]) -> Goals {
    let mut goals = Goals::new();
    for row in rows.iter().filter(|row| row.text("status") == Some("regular")) {
        let first_trial = row.whole("first_trial");
        let (Some(first_trial), Some(name), Some(achieved_pps)) =
            (first_trial, row.text("goal"), row.number("achieved_pps"))
        else {
            continue;
        };
        goals.entry(first_trial).or_default().push(Goal { name: name.into(), achieved_pps });
    }
    goals
}

/// What the figures of a dataset may take in memory.
struct Budget {
    left: u64,
}

/// The figures take more memory than the budget.
struct TooMuch;

impl Default for Budget {
    fn default() -> Self {
        Self { left: Self::FIRST }
    }
}

impl Budget {
    /// Octets for small datasets.
    const FIRST: u64 = 64 << 20;
    /// Octets more for each octet of a file. The figures of a trial have about four times what the trial has in its file.
    const PER_OCTET: u64 = 16;

    fn grant(&mut self, octets: u64) {
        self.left = self.left.saturating_add(octets.saturating_mul(Self::PER_OCTET));
    }

    fn take(&mut self, octets: usize) -> std::result::Result<(), TooMuch> {
        self.left = self.left.checked_sub(octets as u64).ok_or(TooMuch)?;
        Ok(())
    }
}

/// Octets that an item takes in memory.
trait InMemory {
    fn octets(&self) -> usize;
}

impl InMemory for String {
    fn octets(&self) -> usize {
        size_of::<Self>() + self.len()
    }
}

impl InMemory for Setup {
    fn octets(&self) -> usize {
        let texts = [&self.frame_size, &self.load];
        size_of::<Self>()
            + texts.into_iter().flatten().map(String::len).sum::<usize>()
            + octets_of_part(self.method.as_ref())
            + octets_of_part(self.placement.as_ref())
            + octets_of_part(self.traffic.as_ref())
            + octets_of_part(self.transmit.as_ref())
            + octets_of_part(self.work.as_ref())
    }
}

/// At most what a part of a set-up keeps: its text, and names and values in it.
fn octets_of_part<T: fmt::Display>(part: Option<&Saved<T>>) -> usize {
    part.map_or(0, |part| 4 * part.to_string().len())
}

#[derive(Default)]
struct Reading {
    figures: Figures,
    setups: HashMap<Setup, usize>,
    values: HashMap<String, usize>,
    budget: Budget,
}

/// Of a trial: where its figures belong.
struct Row<'r> {
    record: &'r Record,
    run: usize,
    value_of: Option<usize>,
}

impl Reading {
    /// Adds the trials of a run.
    fn add(
        &mut self,
        file: &DataFile,
        by: &By,
        rows: &[Record],
        goals: &mut Goals,
    ) -> std::result::Result<(), TooMuch> {
        let results: Vec<&Record> = rows.iter().filter(|row| row.text("kept") == Some(RESULT)).collect();
        let Some(first) = results.first() else { return Ok(()) };
        let run = self.figures.runs.len();
        let facts = run_facts(file, first, &results);
        self.budget.take(
            size_of::<DatasetRun>() + facts.id.len() + facts.command.len() + facts.kernel_release.len(),
        )?;
        self.figures.runs.push(facts);
        let sampled: Vec<Option<SampledTrial>> = results.iter().map(|row| sampled(row)).collect();
        let common = CommonLoads::of_trials(sampled.iter().flatten());
        for (record, trial) in results.into_iter().zip(sampled) {
            let value = by.of(file, record);
            let value_of = value
                .map(|value| number(&mut self.budget, &mut self.values, &mut self.figures.values, value))
                .transpose()?;
            let row = Row { record, run, value_of };
            // The number of a trial is that of one row.
            for goal in record.whole("number").and_then(|number| goals.remove(&number)).unwrap_or_default() {
                let figure = MeasuredFigure {
                    measure: Measure::Throughput,
                    value: goal.achieved_pps,
                    is_at_least: false,
                };
                self.add_figure(by, &row, setup(record, goal_words(&goal.name)), figure)?;
            }
            match trial {
                Some(trial) if is_compared(record.text("kept"), &trial, &common) => {
                    for figure in trial.figures() {
                        self.add_figure(by, &row, trial.setup.clone(), figure)?;
                    }
                }
                _ => self.figures.left_out += 1,
            }
        }
        Ok(())
    }

    fn add_figure(
        &mut self,
        by: &By,
        row: &Row<'_>,
        mut setup: Setup,
        figure: MeasuredFigure,
    ) -> std::result::Result<(), TooMuch> {
        by.without(&mut setup);
        let setup = number(&mut self.budget, &mut self.setups, &mut self.figures.setups, setup)?;
        self.budget.take(size_of::<Figure>())?;
        let intended_pps = row.record.number("intended_pps");
        let MeasuredFigure { measure, value, is_at_least } = figure;
        let Row { run, value_of, .. } = *row;
        self.figures.all.push(Figure { run, setup, value_of, measure, value, intended_pps, is_at_least });
        Ok(())
    }
}

fn run_facts(file: &DataFile, first: &Record, results: &[&Record]) -> DatasetRun {
    let text = |column| first.text(column).unwrap_or_default().to_string();
    DatasetRun {
        id: text("run_id"),
        host: first.text("host_id").map(String::from),
        date: file.date.clone(),
        campaign: file.campaign.clone(),
        started_us: first.whole("started_at").unwrap_or_default(),
        command: text("command"),
        kernel_release: text("kernel_release"),
        trials: results.len() as u64,
        noisy: results.iter().filter(|row| row.length("noise").is_some_and(|reasons| reasons > 0)).count()
            as u64,
        intended: sum(results, "intended"),
        delivered: sum(results, "delivered"),
    }
}

/// The sum of a column of counts.
fn sum(rows: &[&Record], column: &str) -> u64 {
    let counts =
        rows.iter().filter_map(|row| row.whole(column)).filter_map(|count| u64::try_from(count).ok());
    counts.fold(0, u64::saturating_add)
}

/// The index of an item in a list without duplicates.
fn number<T: Clone + Eq + std::hash::Hash + InMemory>(
    budget: &mut Budget,
    known: &mut HashMap<T, usize>,
    all: &mut Vec<T>,
    item: T,
) -> std::result::Result<usize, TooMuch> {
    if let Some(number) = known.get(&item) {
        return Ok(*number);
    }
    // It is in both.
    budget.take(2 * item.octets())?;
    all.push(item.clone());
    known.insert(item, all.len() - 1);
    Ok(all.len() - 1)
}

/// Octets as the trials of a run and as its searches: they are refused, or they have figures, whose indices are right.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(octets: &[u8]) {
    let columns: Vec<&str> = COLUMNS.iter().chain(&SEARCHES).copied().collect();
    let Ok(rows) = reader::rows_of_octets(octets, &columns) else { return };
    let file = DataFile { date: "2026-01-01".into(), campaign: "none".into(), path: "x".into() };
    for by in [By::Date, By::Label("site".into()), By::Column("method")] {
        let mut reading = Reading::default();
        reading.budget.grant(octets.len() as u64);
        let added = reading.add(&file, &by, &rows, &mut goals_of(&rows));
        let figures = &reading.figures;
        assert!(added.is_err() || figures.runs.len() <= 1);
        for figure in &figures.all {
            assert!(figure.run < figures.runs.len() && figure.setup < figures.setups.len());
            assert!(figure.value_of.is_none_or(|value| value < figures.values.len()));
        }
        figures.of_runs();
    }
}
