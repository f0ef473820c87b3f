//! The compared figures of the trials in a dataset, those of [`Measure`], read from its files.
//!
//! `examples/sql/regressions.sql` has the same rules in SQL, for datasets that are larger than one machine.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;

use capbench_judge::comparison::hosts::{DatasetRun, Figure, Figures};
use capbench_judge::comparison::setup::COMMON_LOAD;
use capbench_judge::comparison::{Measure, Setup};
use capbench_judge::sustained::are_frames_sent;
use capbench_model::saved::Saved;

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
    let names: Vec<_> =
        columns.iter().filter(|column| column.of.kind() == "string").map(|column| column.name).collect();
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

/// Purposes of trials that are compared: their load is that of the user, the maximum, or the common one. The points of sweeps are
/// not in the dataset, and steps of searches are no results.
const COMPARED: [&str; 5] = ["best-effort", "common-load", "fixed-load", "latency", "frame-loss"];
const AT_COMMON_LOAD: &str = "common-load";

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
        let results: Vec<&Record> = rows.iter().filter(|row| row.text("kept") == Some("result")).collect();
        let Some(first) = results.first() else { return Ok(()) };
        let run = self.figures.runs.len();
        let facts = run_facts(file, first, &results);
        self.budget.take(
            size_of::<DatasetRun>() + facts.id.len() + facts.command.len() + facts.kernel_release.len(),
        )?;
        self.figures.runs.push(facts);
        let common = common_loads(&results);
        for record in results {
            let value = by.of(file, record);
            let value_of = value
                .map(|value| number(&mut self.budget, &mut self.values, &mut self.figures.values, value))
                .transpose()?;
            let row = Row { record, run, value_of };
            // The number of a trial is that of one row.
            for goal in record.whole("number").and_then(|number| goals.remove(&number)).unwrap_or_default() {
                let load = format!("goal {}", goal.name);
                self.add_figure(by, &row, load, (Measure::Throughput, goal.achieved_pps), false)?;
            }
            if !is_usable(record, &common) {
                self.figures.left_out += 1;
                continue;
            }
            let lost_nothing = record.whole("sent") == record.whole("delivered")
                && record.flag("load_independent") == Some(true);
            for figure in measured(record) {
                let is_at_least = lost_nothing && figure.0 == Measure::DeliveredRate;
                self.add_figure(by, &row, load(record), figure, is_at_least)?;
            }
        }
        Ok(())
    }

    fn add_figure(
        &mut self,
        by: &By,
        row: &Row<'_>,
        load: String,
        (measure, value): (Measure, f64),
        is_at_least: bool,
    ) -> std::result::Result<(), TooMuch> {
        let mut setup = Setup { load: Some(load), ..setup(row.record) };
        by.without(&mut setup);
        let setup = number(&mut self.budget, &mut self.setups, &mut self.figures.setups, setup)?;
        self.budget.take(size_of::<Figure>())?;
        let intended_pps = row.record.number("intended_pps");
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

/// The set-up of a trial, without the load.
fn setup(row: &Record) -> Setup {
    Setup {
        method: row.text("method").map(Saved::from),
        placement: row.text("placement").map(Saved::from),
        frame_size: row.text("frame_size").map(String::from),
        traffic: row.text("traffic").map(Saved::from),
        transmit: row.text("transmit").map(Saved::from),
        work: row.text("work").map(Saved::from),
        load: None,
        capture: None,
    }
}

/// The load in words, as `compare` of two runs has it.
fn load(row: &Record) -> String {
    match row.number("intended_pps") {
        _ if row.text("phase") == Some(AT_COMMON_LOAD) => COMMON_LOAD.into(),
        Some(pps) => format!("{pps:.0} packets/s"),
        None => "maximum load".into(),
    }
}

/// The lowest common load of a run for each set-up without method: higher ones were lowered, because a method lost frames.
fn common_loads(rows: &[&Record]) -> HashMap<Setup, f64> {
    let mut loads = HashMap::new();
    for row in rows.iter().filter(|row| row.text("phase") == Some(AT_COMMON_LOAD)) {
        let Some(pps) = row.number("intended_pps") else { continue };
        let least: &mut f64 = loads.entry(setup(row).common_scene()).or_insert(pps);
        *least = least.min(pps);
    }
    loads
}

fn is_usable(row: &Record, common: &HashMap<Setup, f64>) -> bool {
    let phase = row.text("phase").unwrap_or_default();
    let pps = row.number("intended_pps");
    let is_short = pps.is_some() && !is_load_sent(row);
    let is_lowered = phase == AT_COMMON_LOAD && common.get(&setup(row).common_scene()).copied() != pps;
    COMPARED.contains(&phase) && row.text("verdict") != Some("invalid") && !is_short && !is_lowered
}

fn is_load_sent(row: &Record) -> bool {
    let frames = |column| row.whole(column).and_then(|frames| u64::try_from(frames).ok()).unwrap_or(0);
    are_frames_sent(frames("intended"), frames("sent"))
}

/// The figures of a trial, as [`Measure`] defines them.
fn measured(row: &Record) -> Vec<(Measure, f64)> {
    let is_maximum = row.number("intended_pps").is_none();
    let [sent, delivered] = ["sent", "delivered"].map(|column| row.whole(column).unwrap_or_default());
    let is_delivered =
        matches!(row.text("verdict"), Some("lossless" | "generator_limited")) && is_load_sent(row);
    let loss = if sent > 0 { sent.saturating_sub(delivered).max(0) as f64 / sent as f64 } else { 0.0 };
    let delay = |column| row.whole(column).map(|ns| ns as f64);
    let all = [
        (Measure::DeliveredRate, row.number("delivered_pps").filter(|_| is_maximum)),
        (Measure::LossRatio, (!is_maximum).then_some(loss)),
        (Measure::TotalCost, row.number("total_ns_per_packet").filter(|_| is_delivered)),
        (Measure::ApplicationCost, row.number("app_ns_per_packet")),
        (Measure::MedianLatency, delay("latency_total_p50_ns")),
        (Measure::WorstLatency, delay("latency_total_p99_9_ns")),
    ];
    all.into_iter().filter_map(|(measure, value)| Some((measure, value?))).collect()
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
