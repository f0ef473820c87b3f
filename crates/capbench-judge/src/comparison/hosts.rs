//! Compares two values of a column over all hosts: two kernels, two drivers, two campaigns.
//!
//! `figures` has what is compared. The test is that of two runs: a permutation test of aligned ranks. A stratum is a host with one set-up, so differences between
//! hosts are no differences between the values. A figure is a run, the median of its trials: what happened to a run happened to
//! all of its trials. So what is permuted are the runs of a host.

mod figures;
mod worse;

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::contrast::{Matched, without_those_of_generator};
use crate::comparison::note::ComparisonNote;
use crate::comparison::sampled::are_loads_unlike;
use crate::comparison::setup::COMMON_LOAD;
use crate::comparison::{Better, Comparison, LeftOut, Measure, NotCompared, Setup, Thresholds};
use capbench_model::statistics::median;

pub use self::figures::{DatasetRun, Figure, Figures};
pub use self::worse::WorseHosts;
use crate::error::{JudgeError, Result};

/// A figure of a host with both values.
#[derive(Clone, Debug, PartialEq)]
pub struct HostChange {
    /// What identifies the host.
    pub host: String,
    /// The set-up.
    pub setup: Setup,
    /// The figure.
    pub measure: Measure,
    /// The median of its runs with the first value, and with the second.
    pub medians: [f64; 2],
    /// How many runs these are.
    pub runs: [usize; 2],
    /// The change, relative to the first; of shares the difference.
    pub change: f64,
}

impl HostChange {
    /// How much it became worse; negative if it became better.
    pub fn worse(&self) -> f64 {
        match self.measure.better() {
            Better::Higher => -self.change,
            Better::Lower => self.change,
        }
    }
}

/// Two values of a column, compared over all hosts.
#[derive(Clone, Debug)]
pub struct HostsCompared {
    /// The comparison. Its trials are indices of runs.
    pub comparison: Comparison,
    /// The change of each host with both values.
    pub changes: Vec<HostChange>,
    /// Hosts with both values.
    pub paired: usize,
    /// Hosts with the first value only, and with the second only.
    pub only: [usize; 2],
    /// Runs that were compared.
    pub runs: usize,
}

/// Compares two values of a column. Without `values` the column must have two; the earlier one is the first.
///
/// # Errors
/// The values cannot be compared.
pub fn of_figures(
    figures: &Figures,
    by: &str,
    values: Option<[String; 2]>,
    thresholds: Thresholds,
) -> Result<HostsCompared> {
    let [then, now] = match values {
        Some(values) => chosen(figures, by, values)?,
        None => only_two(figures, by)?,
    };
    let sides = Sides::from_figures(figures, [then, now]);
    let (strata, unlike) = sides.strata();
    let changes = strata.iter().map(Stratum::change).collect::<Vec<_>>();
    let mut matched = matched(&strata);
    let names = [then, now].map(|value| figures.values[value].as_str());
    if matched.is_empty() {
        return Err(refused(format!(
            "--by {by}: no host has the same set-up with {} and with {}: {}; hosts are compared with themselves only",
            names[0],
            names[1],
            sides.described(names)
        )));
    }
    let mut left_out: Vec<LeftOut> = without_those_of_generator(&mut matched, "both").into_iter().collect();
    for (because, trials) in [
        (NotCompared::UnlikeCommonLoadsOfHost, unlike),
        (NotCompared::UnknownHost, sides.without_host),
        (NotCompared::WithoutFigure, figures.left_out as usize),
    ] {
        let trials = u32::try_from(trials).unwrap_or(u32::MAX);
        if trials > 0 {
            left_out.push(LeftOut { of: "both".into(), because, trials });
        }
    }
    let hosts: BTreeSet<&str> = strata.iter().map(|stratum| stratum.host).collect();
    let own: BTreeSet<usize> = strata.iter().flat_map(|stratum| stratum.runs()).collect();
    let note_facts = notes(figures, &own);
    let mut comparison = Comparison {
        hosts: Some(u32::try_from(hosts.len()).unwrap_or(u32::MAX)),
        note_facts,
        visits_needed: None,
        ..Comparison::from_matched(names.map(String::from), false, &matched, thresholds, left_out)
    };
    // The median over hosts of unlike speed says nothing of the change of each.
    for contrast in &mut comparison.contrasts {
        contrast.then.median = None;
        contrast.now.median = None;
    }
    let paired = hosts.len();
    Ok(HostsCompared { comparison, changes, paired, only: sides.only(&hosts), runs: own.len() })
}

fn refused(reason: String) -> JudgeError {
    JudgeError::Values { reason }
}

/// The indices of the values that the user named.
fn chosen(figures: &Figures, by: &str, values: [String; 2]) -> Result<[usize; 2]> {
    let [then, now] = &values;
    if then == now {
        return Err(refused(format!("--values: {then} is named twice; name two values of {by}")));
    }
    let mut indices = [0; 2];
    for (index, value) in indices.iter_mut().zip(&values) {
        *index = figures.values.iter().position(|known| known == value).ok_or_else(|| {
            refused(format!("--values: no run has {by} {value}; there are {}", listed(figures)))
        })?;
    }
    Ok(indices)
}

/// The indices of the only two values, the one that was measured first before the other.
fn only_two(figures: &Figures, by: &str) -> Result<[usize; 2]> {
    let mut first: BTreeMap<usize, i64> = BTreeMap::new();
    for figure in &figures.all {
        let Some(value) = figure.value_of else { continue };
        let started = figures.runs[figure.run].started_us;
        first.entry(value).and_modify(|earliest| *earliest = started.min(*earliest)).or_insert(started);
    }
    let mut values: Vec<usize> = first.keys().copied().collect();
    values.sort_by_key(|value| (first[value], *value));
    match values[..] {
        [then, now] => Ok([then, now]),
        [] => Err(refused(format!("--by {by}: no trial that can be compared has a value of it"))),
        [only] => Err(refused(format!(
            "--by {by}: all runs have {}; a comparison needs two values",
            figures.values[only]
        ))),
        _ => Err(refused(format!(
            "--by {by}: there are {} values; name two of them with --values A,B: {}",
            values.len(),
            listed(figures)
        ))),
    }
}

/// The first values, for the end of a message.
fn listed(figures: &Figures) -> String {
    const MOST: usize = 12;
    let mut words: Vec<&str> = figures.values.iter().take(MOST).map(String::as_str).collect();
    if figures.values.len() > MOST {
        words.push("...");
    }
    words.join(", ")
}

/// A host, and which set-up and figure of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'f> {
    host: &'f str,
    /// Index of the set-up.
    setup: usize,
    measure: Measure,
}

/// The figures of runs with the first value, and with the second.
type BothSides = [Vec<Figure>; 2];

/// The figures of runs on both sides.
struct Sides<'f> {
    figures: &'f Figures,
    /// Of each host, set-up and figure, in the order of the dataset.
    by_key: Vec<(Key<'f>, BothSides)>,
    /// Runs with a side and without a host.
    without_host: usize,
}

/// The figures of a host in one set-up.
struct Stratum<'f> {
    host: &'f str,
    setup: &'f Setup,
    measure: Measure,
    sides: BothSides,
}

impl<'f> Sides<'f> {
    fn from_figures(figures: &'f Figures, values: [usize; 2]) -> Self {
        let mut by_key: Vec<(Key<'f>, BothSides)> = Vec::new();
        let mut places: BTreeMap<Key<'f>, usize> = BTreeMap::new();
        let mut without_host = BTreeSet::new();
        for figure in figures.of_runs() {
            let Some(side) = values.iter().position(|value| Some(*value) == figure.value_of) else {
                continue;
            };
            let Some(host) = figures.runs[figure.run].host.as_deref() else {
                without_host.insert(figure.run);
                continue;
            };
            let key = Key { host, setup: figure.setup, measure: figure.measure };
            let place = *places.entry(key).or_insert_with(|| {
                by_key.push((key, Default::default()));
                by_key.len() - 1
            });
            by_key[place].1[side].push(figure);
        }
        Self { figures, by_key, without_host: without_host.len() }
    }

    /// Hosts with both sides in a set-up, and the number of runs left out because their common loads differ.
    fn strata(&self) -> (Vec<Stratum<'f>>, usize) {
        let mut strata = Vec::new();
        let mut unlike = BTreeSet::new();
        for (key, sides) in &self.by_key {
            if sides.iter().any(Vec::is_empty) {
                continue;
            }
            let setup = &self.figures.setups[key.setup];
            if setup.load.as_deref() == Some(COMMON_LOAD) && are_unlike(sides) {
                unlike.extend(sides.iter().flatten().map(|figure| figure.run));
                continue;
            }
            strata.push(Stratum { host: key.host, setup, measure: key.measure, sides: sides.clone() });
        }
        (strata, unlike.len())
    }

    /// How many hosts have the first side only, and how many the second only.
    fn only(&self, paired: &BTreeSet<&str>) -> [usize; 2] {
        let mut hosts: [BTreeSet<&str>; 2] = Default::default();
        for (key, sides) in self.by_key.iter().filter(|(key, _)| !paired.contains(key.host)) {
            for (hosts, side) in hosts.iter_mut().zip(sides) {
                if !side.is_empty() {
                    hosts.insert(key.host);
                }
            }
        }
        hosts.map(|hosts| hosts.len())
    }

    /// How many hosts have each of the values, in words.
    fn described(&self, names: [&str; 2]) -> String {
        let [then, now] = self.only(&BTreeSet::new()).map(|hosts| match hosts {
            1 => "1 host has".to_string(),
            several => format!("{several} hosts have"),
        });
        format!("{then} {}, and {now} {}", names[0], names[1])
    }
}

/// Whether the common loads of both sides differ too much.
fn are_unlike(sides: &BothSides) -> bool {
    let [then, now] = sides;
    match (median_load_pps(then), median_load_pps(now)) {
        (Some(then_pps), Some(now_pps)) => are_loads_unlike(then_pps, now_pps),
        _ => false,
    }
}

fn median_load_pps(figures: &[Figure]) -> Option<f64> {
    median(figures.iter().filter_map(|figure| figure.intended_pps))
}

fn median_value(figures: &[Figure]) -> f64 {
    median(figures.iter().map(|figure| figure.value)).unwrap_or_default()
}

impl Stratum<'_> {
    fn change(&self) -> HostChange {
        let medians = [median_value(&self.sides[0]), median_value(&self.sides[1])];
        let [then, now] = medians.map(|value| self.measure.scaled(value));
        HostChange {
            host: self.host.into(),
            setup: self.setup.clone(),
            measure: self.measure,
            medians,
            runs: [self.sides[0].len(), self.sides[1].len()],
            change: self.measure.change(now - then),
        }
    }

    /// The indices of its runs.
    fn runs(&self) -> impl Iterator<Item = usize> {
        self.sides.iter().flatten().map(|figure| figure.run)
    }

    /// The values of a side, with the indices of their runs.
    fn values(&self, side: usize) -> Vec<(f64, u32)> {
        let mut values = Vec::new();
        for figure in &self.sides[side] {
            values.push((figure.value, u32::try_from(figure.run).unwrap_or(u32::MAX)));
        }
        values
    }
}

/// The strata by set-up and figure, as the test takes them.
fn matched(strata: &[Stratum<'_>]) -> Vec<Matched> {
    let mut all: Vec<Matched> = Vec::new();
    let mut places: BTreeMap<(&Setup, Measure), usize> = BTreeMap::new();
    for stratum in strata {
        let place = *places.entry((stratum.setup, stratum.measure)).or_insert_with(|| {
            let (setup, measure) = (stratum.setup.clone(), stratum.measure);
            all.push(Matched { setup, measure, strata: Vec::new(), at_least: [0; 2] });
            all.len() - 1
        });
        all[place].strata.push([stratum.values(0), stratum.values(1)]);
        for (side, figures) in stratum.sides.iter().enumerate() {
            all[place].at_least[side] += figures.iter().filter(|figure| figure.is_at_least).count();
        }
    }
    all
}

/// What to know before the figures.
fn notes(figures: &Figures, runs: &BTreeSet<usize>) -> Vec<ComparisonNote> {
    let mut noisy_trials = 0;
    let mut all_trials = 0;
    for run in runs {
        noisy_trials += figures.runs[*run].noisy;
        all_trials += figures.runs[*run].trials;
    }
    if noisy_trials == 0 {
        return Vec::new();
    }
    vec![ComparisonNote::NoisyRuns { noisy_trials, all_trials }]
}

#[cfg(test)]
mod tests;
