//! Compares two values of a column over all hosts: two kernels, two drivers, two campaigns.
//!
//! The test is that of two runs: a permutation test of aligned ranks. A stratum is a host with one set-up, so differences between
//! hosts are no differences between the values. A figure is that of a run, the median of its trials: what happened to a run happened
//! to all of its trials. So the runs of a host are permuted.
//!
//! | file | what |
//! |---|---|
//! | `figures` | what is compared |
//! | `worse` | which hosts became worse |

mod figures;
mod worse;

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::contrast::{Matched, NOW, THEN, TrialValue};
use crate::comparison::generator_rate::remove_those_of_generator;
use crate::comparison::note::ComparisonNote;
use crate::comparison::sampled::are_loads_unlike;
use crate::comparison::setup::COMMON_LOAD;
use crate::comparison::{Better, Comparison, Inputs, LeftOut, Measure, NotCompared, Setup, Thresholds};
use capbench_statistics::median;

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

/// Compares two values of the column `by`. Without `values` the column must have two; the earlier one is the first.
///
/// # Errors
/// The values cannot be compared.
pub fn of_figures(
    figures: &Figures,
    by: &str,
    values: Option<[String; 2]>,
    thresholds: Thresholds,
) -> Result<HostsCompared> {
    let indices = match values {
        Some(values) => indices_of_named(figures, by, values)?,
        None => indices_of_only_two(figures, by)?,
    };
    let names = indices.map(|value| figures.values[value].as_str());
    let sides = Sides::from_figures(figures, indices);
    let Strata { strata, runs_at_unlike_loads } = sides.strata();
    let mut matched = matched(&strata);
    if matched.is_empty() {
        let [then, now] = names;
        if runs_at_unlike_loads > 0 {
            return Err(refused(format!(
                "--by {by}: {runs_at_unlike_loads} runs with {then} or {now} are at common loads that differ on one host; \
                 `bench --rate` measures at one load"
            )));
        }
        return Err(refused(format!(
            "--by {by}: no host has the same set-up with {then} and with {now}: {}; hosts are compared with themselves only",
            sides.described(names)
        )));
    }
    let mut left_out: Vec<LeftOut> = remove_those_of_generator(&mut matched, "both").into_iter().collect();
    for (because, trials) in [
        (NotCompared::UnlikeCommonLoadsOfHost, runs_at_unlike_loads),
        (NotCompared::UnknownHost, sides.runs_without_host),
        (NotCompared::WithoutFigure, figures.left_out as usize),
    ] {
        let trials = u32::try_from(trials).unwrap_or(u32::MAX);
        if trials > 0 {
            left_out.push(LeftOut { subject: "both".into(), because, trials });
        }
    }
    let hosts: BTreeSet<&str> = strata.iter().map(|stratum| stratum.host).collect();
    let compared_runs: BTreeSet<usize> = strata.iter().flat_map(|stratum| stratum.runs()).collect();
    let inputs = Inputs { paired: false, matched: &matched, thresholds, left_out };
    let mut comparison = Comparison {
        hosts: Some(u32::try_from(hosts.len()).unwrap_or(u32::MAX)),
        note_facts: notes(figures, &compared_runs),
        ..Comparison::new(names.map(String::from), inputs)
    };
    // The median over hosts of unlike speed says nothing of the change of each.
    for contrast in &mut comparison.contrasts {
        contrast.then.median = None;
        contrast.now.median = None;
    }
    Ok(HostsCompared {
        comparison,
        changes: strata.iter().map(Stratum::change).collect(),
        paired: hosts.len(),
        only: sides.only(&hosts),
        runs: compared_runs.len(),
    })
}

fn refused(reason: String) -> JudgeError {
    JudgeError::Values { reason }
}

/// The indices of the values that the user named.
fn indices_of_named(figures: &Figures, by: &str, values: [String; 2]) -> Result<[usize; 2]> {
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
fn indices_of_only_two(figures: &Figures, by: &str) -> Result<[usize; 2]> {
    let mut first_start: BTreeMap<usize, i64> = BTreeMap::new();
    for figure in &figures.all {
        let Some(value) = figure.value_of else { continue };
        let started_us = figures.runs[figure.run].started_us;
        let earliest = first_start.entry(value).or_insert(started_us);
        *earliest = started_us.min(*earliest);
    }
    let mut values: Vec<usize> = first_start.keys().copied().collect();
    values.sort_by_key(|value| (first_start[value], *value));
    match values[..] {
        [then, now] => Ok([then, now]),
        [] => Err(refused(format!("--by {by}: no trial that can be compared has a value of it"))),
        [only] => Err(refused(format!(
            "--by {by}: all runs that can be compared have {}; a comparison needs two values",
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

/// Which figure of a host, in which set-up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'f> {
    host: &'f str,
    /// Index of the set-up.
    setup: usize,
    measure: Measure,
}

/// The figures of runs with the first value ([`THEN`]), and with the second ([`NOW`]).
type BothSides = [Vec<Figure>; 2];

/// One figure of a host in one set-up.
struct HostFigures<'f> {
    key: Key<'f>,
    sides: BothSides,
}

/// The figures of runs on both sides.
struct Sides<'f> {
    figures: &'f Figures,
    /// The figures of each host, in the order of the dataset.
    of_hosts: Vec<HostFigures<'f>>,
    /// Runs with a side and without a host.
    runs_without_host: usize,
}

/// The figures of a host in one set-up, of which both sides have at least one.
struct Stratum<'f> {
    host: &'f str,
    setup: &'f Setup,
    measure: Measure,
    sides: BothSides,
}

/// What is compared, and the number of runs that are not, because the common loads of their host differ.
struct Strata<'f> {
    strata: Vec<Stratum<'f>>,
    runs_at_unlike_loads: usize,
}

impl<'f> Sides<'f> {
    /// The figures with these two values, given by their indices.
    fn from_figures(figures: &'f Figures, values: [usize; 2]) -> Self {
        let mut of_hosts: Vec<HostFigures<'f>> = Vec::new();
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
                of_hosts.push(HostFigures { key, sides: Default::default() });
                of_hosts.len() - 1
            });
            of_hosts[place].sides[side].push(figure);
        }
        Self { figures, of_hosts, runs_without_host: without_host.len() }
    }

    /// The figures of hosts that have both sides in a set-up.
    fn strata(&self) -> Strata<'f> {
        let mut strata = Vec::new();
        let mut unlike = BTreeSet::new();
        for HostFigures { key, sides } in &self.of_hosts {
            if sides.iter().any(Vec::is_empty) {
                continue;
            }
            let setup = &self.figures.setups[key.setup];
            if setup.load.as_deref() == Some(COMMON_LOAD) && have_unlike_loads(sides) {
                unlike.extend(sides.iter().flatten().map(|figure| figure.run));
                continue;
            }
            strata.push(Stratum { host: key.host, setup, measure: key.measure, sides: sides.clone() });
        }
        Strata { strata, runs_at_unlike_loads: unlike.len() }
    }

    /// How many hosts have each side, besides those that are paired.
    fn only(&self, paired: &BTreeSet<&str>) -> [usize; 2] {
        let mut hosts_of_sides: [BTreeSet<&str>; 2] = Default::default();
        for HostFigures { key, sides } in &self.of_hosts {
            for (hosts, figures) in hosts_of_sides.iter_mut().zip(sides) {
                if !figures.is_empty() && !paired.contains(key.host) {
                    hosts.insert(key.host);
                }
            }
        }
        hosts_of_sides.map(|hosts| hosts.len())
    }

    /// How many hosts have each of the values, in words, if none is paired.
    fn described(&self, names: [&str; 2]) -> String {
        let [with_then, with_now] = self.only(&BTreeSet::new()).map(|hosts| match hosts {
            1 => "1 host has".to_string(),
            several => format!("{several} hosts have"),
        });
        let [then, now] = names;
        format!("{with_then} {then}, and {with_now} {now}")
    }
}

/// Whether the common loads of both sides differ too much.
fn have_unlike_loads(sides: &BothSides) -> bool {
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
        let medians = [median_value(&self.sides[THEN]), median_value(&self.sides[NOW])];
        let [then, now] = medians.map(|value| self.measure.scaled(value));
        HostChange {
            host: self.host.into(),
            setup: self.setup.clone(),
            measure: self.measure,
            medians,
            runs: [self.sides[THEN].len(), self.sides[NOW].len()],
            change: self.measure.change(now - then),
        }
    }

    /// The indices of its runs.
    fn runs(&self) -> impl Iterator<Item = usize> {
        self.sides.iter().flatten().map(|figure| figure.run)
    }

    /// The values of a side: [`THEN`] or [`NOW`]. As their trials they have the indices of their runs.
    fn values(&self, side: usize) -> Vec<TrialValue> {
        let mut values = Vec::new();
        for figure in &self.sides[side] {
            let trial = u32::try_from(figure.run).unwrap_or(u32::MAX);
            values.push(TrialValue { value: figure.value, trial });
        }
        values
    }
}

/// The strata of each set-up and figure, as the test takes them.
fn matched(strata: &[Stratum<'_>]) -> Vec<Matched> {
    let mut all: Vec<Matched> = Vec::new();
    let mut places: BTreeMap<(&Setup, Measure), usize> = BTreeMap::new();
    for stratum in strata {
        let place = *places.entry((stratum.setup, stratum.measure)).or_insert_with(|| {
            all.push(Matched {
                setup: stratum.setup.clone(),
                measure: stratum.measure,
                strata: Vec::new(),
                at_least: [0; 2],
            });
            all.len() - 1
        });
        all[place].strata.push([stratum.values(THEN), stratum.values(NOW)]);
        for side in [THEN, NOW] {
            let at_least = stratum.sides[side].iter().filter(|figure| figure.is_at_least);
            all[place].at_least[side] += at_least.count();
        }
    }
    all
}

/// A note if trials of the compared runs are noisy. `runs` has indices.
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
