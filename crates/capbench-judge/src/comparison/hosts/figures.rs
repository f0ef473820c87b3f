//! The compared figures of the runs of many hosts, those of [`Measure`]. A run has one figure in each set-up, the median of its
//! trials.

use std::collections::BTreeMap;

use crate::comparison::generator_rate::is_rate_of_generator;
use crate::comparison::{Measure, Setup};
use capbench_statistics::median;

/// A run of the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetRun {
    /// What identifies it.
    pub id: String,
    /// What identifies its host; `None` if unknown.
    pub host: Option<String>,
    /// Its day.
    pub date: String,
    /// Its campaign.
    pub campaign: String,
    /// Its start, microseconds since 1970.
    pub started_us: i64,
    /// Its command.
    pub command: String,
    /// Its kernel.
    pub kernel_release: String,
    /// Trials that are results.
    pub trials: u64,
    /// Those of them that are noisy.
    pub noisy: u64,
    /// Their intended frames.
    pub intended: u64,
    /// Their delivered frames.
    pub delivered: u64,
}

/// A figure of a trial, or of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Index of its run.
    pub run: usize,
    /// Index of its set-up.
    pub setup: usize,
    /// Index of the value by which runs are distinguished; `None` if unknown.
    pub value_of: Option<usize>,
    /// Which figure it is.
    pub measure: Measure,
    /// Its value.
    pub value: f64,
    /// The intended load; `None` at maximum load.
    pub intended_pps: Option<f64>,
    /// Whether the method may sustain more: it lost nothing at the generator's maximum.
    pub is_at_least: bool,
}

/// All figures of a dataset.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The runs, by day.
    pub runs: Vec<DatasetRun>,
    /// The set-ups.
    pub setups: Vec<Setup>,
    /// The values by which runs are distinguished.
    pub values: Vec<String>,
    /// The figures.
    pub all: Vec<Figure>,
    /// Results without a figure: invalid, of a search, of a sweep, or below their load.
    pub left_out: u64,
}

impl Figures {
    /// The medians of the runs in each set-up: within a run, trials share what chance did to it, so a run is one figure.
    pub fn of_runs(&self) -> Vec<Figure> {
        let mut groups: Vec<Vec<Figure>> = Vec::new();
        let mut places: BTreeMap<(usize, usize, Option<usize>, Measure), usize> = BTreeMap::new();
        for figure in &self.all {
            let key = (figure.run, figure.setup, figure.value_of, figure.measure);
            let place = *places.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[place].push(*figure);
        }
        groups.iter().map(|group| Figure::median_of(group)).collect()
    }
}

impl Figure {
    /// The figure of a run by those of its trials, of which there is at least one.
    fn median_of(trials: &[Self]) -> Self {
        let first = trials[0];
        let at_least = trials.iter().filter(|figure| figure.is_at_least).count();
        Self {
            value: median(trials.iter().map(|figure| figure.value)).unwrap_or(first.value),
            is_at_least: is_rate_of_generator(at_least, trials.len()),
            ..first
        }
    }
}
