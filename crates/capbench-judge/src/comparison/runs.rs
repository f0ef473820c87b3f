//! Compares two runs, set-up by set-up.
//!
//! - A pace is how much slower than its fastest loop a CPU was in a trial, in a few classes, by one timing. Trials of one pace form a
//!   stratum: only these are compared, so that a slower clock is no difference of the runs.
//! - A common load is the load at which a bench compares CPU times. It is chosen by the trials, and CPU time per packet depends
//!   on it, so figures of unlike common loads are left out.
//!
//! | file | what |
//! |---|---|
//! | `samples` | the figures of a run by set-up, and the trials left out |
//! | `circumstances` | the other differences of the runs |

mod circumstances;
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use self::samples::{Samples, drop_capture_settings_that_tell_no_set_ups_apart};
use crate::comparison::contrast::{Matched, NOW, Stratum, THEN, TrialValue};
use crate::comparison::generator_rate::remove_those_of_generator;
use crate::comparison::measure::Measure;
use crate::comparison::sampled::are_loads_unlike;
use crate::comparison::samples::{Fastest, PACES, Pace, Sample, Timing};
use crate::comparison::setup::{Field, Setup};
use crate::comparison::{Comparison, Inputs, LeftOut, NotCompared, Thresholds, power};
use crate::error::{JudgeError, Result};
use crate::run::RunFacts;

/// The names of the two runs, the earlier one first.
const SIDES: [&str; 2] = ["A", "B"];

/// Compares two runs by their common set-ups. `across` lists the properties in which set-ups may differ.
///
/// # Errors
/// When they are the same run, have no set-up in common, or `across` merges several set-ups of one run.
pub fn of_runs(
    then: &RunFacts<'_>,
    now: &RunFacts<'_>,
    across: &[Field],
    thresholds: Thresholds,
) -> Result<Comparison> {
    if are_one_run(then, now) {
        return Err(JudgeError::OneRun);
    }
    let runs = [then, now];
    let mut samples = samples_of(runs);
    let mut left_out: Vec<LeftOut> = Vec::new();
    for (side, samples) in SIDES.iter().zip(&samples) {
        check_one_value_each(side, &samples.all, across)?;
        left_out.extend(samples.left_out(side));
    }
    if !samples[THEN].tried_one_of(&samples[NOW], across) {
        let commands = runs.map(|run| run.command.command().unwrap_or_default().to_string());
        let left_out = left_out.iter().map(LeftOut::to_string).collect();
        return Err(JudgeError::NothingInCommon { commands, left_out });
    }
    let unlike = unlike_loads(&samples, across);
    for sample in samples.iter_mut().flat_map(|samples| &mut samples.all) {
        // From here on, set-ups that differ only in these properties are equal.
        sample.setup = sample.setup.across(across);
    }
    left_out.extend(remove_unlike_loads(&mut samples, &unlike));
    let [then_samples, now_samples] = samples.map(|samples| samples.all);
    let mut matched = matched(&then_samples, &now_samples);
    left_out.extend(remove_lone_paces(&mut matched, runs));
    left_out.extend(remove_those_of_generator(&mut matched, "A and B"));
    let inputs = Inputs { paired: false, matched: &matched, thresholds, left_out };
    let comparison = Comparison::new(SIDES.map(String::from), inputs);
    Ok(Comparison {
        visits_needed: power::visits_needed(&comparison, &matched),
        disturbed: runs.iter().any(|run| circumstances::is_disturbed(run)),
        damaged: runs.iter().any(|run| circumstances::is_damaged(run)),
        difference_facts: circumstances::differences(then, now, across),
        note_facts: circumstances::notes(then, now),
        only_then: only_in(&then_samples, &now_samples),
        only_now: only_in(&now_samples, &then_samples),
        ..comparison
    })
}

/// Whether the two are one run, or copies of it.
fn are_one_run(then: &RunFacts<'_>, now: &RunFacts<'_>) -> bool {
    !then.trials.is_empty() && then.started_unix_s == now.started_unix_s && then.trials == now.trials
}

/// The figures of both runs. Where the hosts have the same CPU, the speed of a CPU is relative to its fastest loop in both runs.
fn samples_of(runs: [&RunFacts<'_>; 2]) -> [Samples; 2] {
    let [then, now] = runs;
    let is_same_cpu_model = then.environment.cpu_model == now.environment.cpu_model;
    let mut samples = runs.map(|run| {
        let fastest = match is_same_cpu_model {
            true => Fastest::from_trials(then.trials.iter().chain(now.trials)),
            false => Fastest::from_trials(run.trials),
        };
        Samples::from_run(run, &fastest)
    });
    drop_capture_settings_that_tell_no_set_ups_apart(&mut samples);
    samples
}

/// Removes the figures of these set-ups, whose common loads differ too much between the runs.
fn remove_unlike_loads(samples: &mut [Samples; 2], unlike: &[Setup]) -> Vec<LeftOut> {
    let mut left_out = Vec::new();
    for (side, samples) in SIDES.iter().zip(samples) {
        let trials_before = number_of_trials(&samples.all);
        samples.all.retain(|sample| !unlike.contains(&sample.setup.common_scene()));
        let trials = trials_before - number_of_trials(&samples.all);
        if trials > 0 {
            let because = NotCompared::UnlikeCommonLoads;
            left_out.push(LeftOut { subject: (*side).into(), because, trials });
        }
    }
    left_out
}

/// Figures that both runs have in the same set-up, in the order of the first run. Trials of one pace form a stratum.
fn matched(then: &[Sample], now: &[Sample]) -> Vec<Matched> {
    let mut all: Vec<Matched> = Vec::new();
    let mut places: BTreeMap<(&Setup, Measure), usize> = BTreeMap::new();
    for sample in then {
        places.entry((&sample.setup, sample.measure)).or_insert_with(|| {
            all.push(Matched {
                setup: sample.setup.clone(),
                measure: sample.measure,
                strata: vec![[Vec::new(), Vec::new()]; PACES],
                at_least: [0; 2],
            });
            all.len() - 1
        });
    }
    for (side, samples) in [(THEN, then), (NOW, now)] {
        for sample in samples {
            let Some(&place) = places.get(&(&sample.setup, sample.measure)) else { continue };
            let value = TrialValue { value: sample.value, trial: sample.trial };
            all[place].strata[sample.pace.number()][side].push(value);
            all[place].at_least[side] += usize::from(sample.is_at_least);
        }
    }
    all.retain(|matched| matched.strata.iter().any(|stratum| !stratum[NOW].is_empty()));
    all
}

/// Trials of a run at whose pace the other run has none of the same set-up.
#[derive(Default)]
struct LoneTrials {
    /// The other run times the speed of CPUs in the same way.
    like: BTreeSet<u32>,
    /// The other run times it in the other way only.
    unlike: BTreeSet<u32>,
}

/// Removes the trials at whose pace the other run has no trial of the same set-up, and counts them.
fn remove_lone_paces(matched: &mut Vec<Matched>, runs: [&RunFacts<'_>; 2]) -> Vec<LeftOut> {
    let timings = runs.map(timings_of);
    let mut lone: [LoneTrials; 2] = Default::default();
    for figure in &mut *matched {
        for (pace, stratum) in figure.strata.iter().enumerate() {
            if !has_empty_side(stratum) {
                continue;
            }
            let timing = Pace::timing(pace);
            for (side, values) in stratum.iter().enumerate() {
                let of_other_run = &timings[if side == THEN { NOW } else { THEN }];
                let is_unlike = timing.is_some_and(|timing| !of_other_run.contains(&timing));
                let trials = if is_unlike && !of_other_run.is_empty() {
                    &mut lone[side].unlike
                } else {
                    &mut lone[side].like
                };
                trials.extend(values.iter().map(|value| value.trial));
            }
        }
        figure.strata.retain(|stratum| !has_empty_side(stratum));
    }
    matched.retain(|figure| !figure.strata.is_empty());
    let mut left_out = Vec::new();
    for (side, LoneTrials { like, unlike }) in SIDES.iter().zip(lone) {
        for (because, trials) in [(NotCompared::LonePace, like), (NotCompared::UnlikePace, unlike)] {
            if !trials.is_empty() {
                left_out.push(LeftOut { subject: (*side).into(), because, trials: trials.len() as u32 });
            }
        }
    }
    left_out
}

/// How a run timed the speed of CPUs: in both ways if another version went on with it.
fn timings_of(run: &RunFacts<'_>) -> BTreeSet<Timing> {
    let mut timings = BTreeSet::new();
    for cpu in run.trials.iter().flat_map(|trial| &trial.disturbance.cpus) {
        timings.extend(cpu.core_speed.as_ref().map(Timing::of_speed));
    }
    timings
}

fn has_empty_side(stratum: &Stratum) -> bool {
    stratum[THEN].is_empty() || stratum[NOW].is_empty()
}

/// Every set-up once, in order.
fn setups(samples: &[Sample]) -> Vec<&Setup> {
    let mut known = BTreeSet::new();
    let mut setups = Vec::new();
    for sample in samples {
        if known.insert(&sample.setup) {
            setups.push(&sample.setup);
        }
    }
    setups
}

/// Checks that a property in `across` has one value in otherwise equal set-ups of a run. Otherwise chance would decide which value is
/// compared.
fn check_one_value_each(side: &str, samples: &[Sample], across: &[Field]) -> Result<()> {
    let mut known: BTreeMap<Setup, &Setup> = BTreeMap::new();
    for setup in setups(samples) {
        let twin = *known.entry(setup.across(across)).or_insert(setup);
        if let Some(field) = across.iter().find(|field| !twin.is_equal_in(setup, **field)) {
            return Err(JudgeError::Runs {
                reason: format!(
                    "--across {}: {side} has {} and {} in otherwise equal set-ups; each run may have one only",
                    field.name(),
                    twin.value(*field).unwrap_or_else(|| "none".into()),
                    setup.value(*field).unwrap_or_else(|| "none".into())
                ),
            });
        }
    }
    Ok(())
}

/// The set-ups without method whose common loads differ too much, without the properties in `across`.
fn unlike_loads(samples: &[Samples; 2], across: &[Field]) -> Vec<Setup> {
    let [then, now] = samples;
    let mut unlike = Vec::new();
    for (scene, then_pps) in then.common.scenes() {
        let open = scene.across(across);
        for (other, now_pps) in now.common.scenes() {
            if other.across(across) == open && are_loads_unlike(then_pps, now_pps) {
                unlike.push(open.clone());
            }
        }
    }
    unlike
}

/// How many trials these figures are of.
fn number_of_trials(samples: &[Sample]) -> u32 {
    let mut numbers: Vec<u32> = samples.iter().map(|sample| sample.trial).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len() as u32
}

/// The set-ups that only the first of two runs has.
fn only_in(here: &[Sample], there: &[Sample]) -> Vec<Setup> {
    let there: BTreeSet<&Setup> = setups(there).into_iter().collect();
    setups(here).into_iter().filter(|setup| !there.contains(setup)).cloned().collect()
}
