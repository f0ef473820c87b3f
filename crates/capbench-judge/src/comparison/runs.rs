//! Compares two runs, set-up by set-up.
//!
//! | file | what |
//! |---|---|
//! | `samples` | the figures of a run by set-up, and the trials left out |
//! | `circumstances` | the other differences of the runs |

mod circumstances;
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use self::samples::{Samples, settle};
use crate::comparison::contrast::{self, Matched};
use crate::comparison::measure::Measure;
use crate::comparison::sampled::are_loads_unlike;
use crate::comparison::samples::{Fastest, PACES, Sample};
use crate::comparison::setup::{Field, Setup};
use crate::comparison::{Comparison, LeftOut, NotCompared, Thresholds};
use crate::error::{JudgeError, Result};
use crate::run::RunFacts;

/// The names of the two runs.
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
    let is_one = then.started_unix_s == now.started_unix_s && then.trials == now.trials;
    if is_one && !then.trials.is_empty() {
        return Err(JudgeError::OneRun);
    }
    let runs = [then, now];
    let is_one_host = then.environment.cpu_model == now.environment.cpu_model;
    let fastest = runs.map(|run| match is_one_host {
        true => Fastest::from_trials(then.trials.iter().chain(now.trials)),
        false => Fastest::from_trials(run.trials),
    });
    let mut samples = [0, 1].map(|nth| Samples::from_run(runs[nth], &fastest[nth]));
    settle(&mut samples);
    for (side, samples) in SIDES.iter().zip(&samples) {
        one_each(side, &samples.all, across)?;
    }
    let mut left_out: Vec<LeftOut> =
        SIDES.iter().zip(&samples).flat_map(|(side, samples)| samples.left_out(side)).collect();
    let notes = circumstances::notes(then, now);
    let is_changed = runs.iter().any(|run| run.trials.iter().any(|trial| !trial.ledger_sums_up()));
    let unlike = unlike_loads(&samples, across);
    for (side, samples) in SIDES.iter().zip(&mut samples) {
        samples.all.iter_mut().for_each(|sample| sample.setup = sample.setup.across(across));
        let before = trials(&samples.all);
        samples.all.retain(|sample| !unlike.iter().any(|scene| sample.setup.common_scene() == *scene));
        let trials = before - trials(&samples.all);
        if trials > 0 {
            let because = NotCompared::UnlikeCommonLoads;
            left_out.push(LeftOut { of: (*side).into(), because, trials });
        }
    }
    let [then_samples, now_samples] = samples.map(|samples| samples.all);
    let mut matched = matched(&then_samples, &now_samples);
    if matched.is_empty() {
        let commands = runs.map(|run| run.command.get(1).cloned().unwrap_or_default());
        let left_out = left_out.iter().map(LeftOut::to_string).collect();
        return Err(JudgeError::NothingInCommon { commands, left_out });
    }
    left_out.extend(without_lone_paces(&mut matched));
    left_out.extend(contrast::without_those_of_generator(&mut matched, "A and B"));
    Ok(Comparison {
        disturbed: runs.iter().any(|run| circumstances::is_disturbed(run)),
        damaged: is_changed,
        difference_facts: circumstances::differences(then, now, across),
        note_facts: notes,
        only_then: only_in(&then_samples, &now_samples),
        only_now: only_in(&now_samples, &then_samples),
        ..Comparison::from_matched(SIDES.map(String::from), false, &matched, thresholds, left_out)
    })
}

/// Figures of the same set-ups, in the order of the first run. Trials of one pace form a stratum.
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
    for (nth, samples) in [then, now].into_iter().enumerate() {
        for sample in samples {
            let Some(&place) = places.get(&(&sample.setup, sample.measure)) else { continue };
            all[place].strata[sample.pace.number()][nth].push((sample.value, sample.trial));
            all[place].at_least[nth] += usize::from(sample.is_at_least);
        }
    }
    all.retain(|matched| matched.strata.iter().any(|hands| !hands[1].is_empty()));
    all
}

/// Removes the trials at whose pace the other run has no trial of the same set-up.
fn without_lone_paces(matched: &mut Vec<Matched>) -> Vec<LeftOut> {
    let mut lone: [BTreeSet<u32>; 2] = Default::default();
    for one in &mut *matched {
        let (both, single): (Vec<_>, Vec<_>) =
            one.strata.drain(..).partition(|hands| hands.iter().all(|hand| !hand.is_empty()));
        one.strata = both;
        for (nth, hand) in single.iter().flat_map(|hands| hands.iter().enumerate()) {
            lone[nth].extend(hand.iter().map(|(_, trial)| *trial));
        }
    }
    matched.retain(|one| !one.strata.is_empty());
    let of = SIDES.iter().zip(lone).filter(|(_, trials)| !trials.is_empty());
    of.map(|(side, trials)| LeftOut {
        of: (*side).into(),
        because: NotCompared::LonePace,
        trials: trials.len() as u32,
    })
    .collect()
}

/// Every set-up once, in order.
fn setups(samples: &[Sample]) -> Vec<&Setup> {
    let mut known = BTreeSet::new();
    samples.iter().map(|sample| &sample.setup).filter(|setup| known.insert(*setup)).collect()
}

/// A property that may differ between the runs must not differ within one. Otherwise chance would decide what is compared.
fn one_each(side: &str, samples: &[Sample], across: &[Field]) -> Result<()> {
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

/// Scenes whose common loads differ too much.
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

fn trials(samples: &[Sample]) -> u32 {
    let mut numbers: Vec<u32> = samples.iter().map(|sample| sample.trial).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len() as u32
}

fn only_in(here: &[Sample], there: &[Sample]) -> Vec<Setup> {
    let there: BTreeSet<&Setup> = setups(there).into_iter().collect();
    setups(here).into_iter().filter(|setup| !there.contains(setup)).cloned().collect()
}
