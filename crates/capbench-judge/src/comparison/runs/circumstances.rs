//! Differences of two runs other than the compared ones, and notes to read before the figures.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::note::{ComparisonNote, RunSide, RunsDifference, TrialFact};
use crate::comparison::setup::{Field, Setup};
use crate::disturbed::{are_disturbed, is_disturbed_besides_speed, is_noisy};
use crate::run::RunFacts;
use crate::thresholds::{EQUAL_HOST_SPEED, EQUAL_ITERATIONS};
use capbench_model::environment::Difference;
use capbench_model::running::CaptureFacts;
use capbench_model::saved::{SavedMethod, SavedWork};
use capbench_model::statement::Statement;
use capbench_model::trial::TrialResult;
use capbench_statistics::median;

/// A fact that a trial states.
struct Stated {
    fact: TrialFact,
    /// Its value in words.
    value: fn(&TrialResult) -> String,
    /// Whether trials of one run can differ in it by chance: searches choose lengths by their results. Then two runs differ in
    /// it only if they have no value in common.
    varies: bool,
}

/// Facts of a trial that are not part of its set-up and must still be equal.
const FACTS: [Stated; 6] = [
    Stated { fact: TrialFact::Engine, value: TrialResult::engine, varies: false },
    Stated { fact: TrialFact::Capture, value: running, varies: false },
    Stated { fact: TrialFact::Generator, value: |trial| trial.generator.clone(), varies: true },
    Stated { fact: TrialFact::Cpus, value: cpus, varies: false },
    Stated { fact: TrialFact::Length, value: |trial| format!("{} s", trial.duration_s), varies: true },
    Stated {
        fact: TrialFact::LoadIndependent,
        value: |trial| trial.profile.load_independent.to_string(),
        varies: true,
    },
];

/// Buffers and source of timestamps; empty if unknown.
fn running(trial: &TrialResult) -> String {
    trial.capture.as_ref().map_or(String::new(), CaptureFacts::running_anywhere)
}

/// The CPUs of a trial in words.
fn cpus(trial: &TrialResult) -> String {
    let cpus = trial.profile.cpus;
    let kernel = cpus.kernel.map_or("?".into(), |cpu| cpu.to_string());
    format!("{}, {kernel}, {} (generator, kernel, application)", cpus.generator, cpus.application)
}

/// Differences of host, kernel and settings. Properties in `across` may differ.
pub(super) fn differences(then: &RunFacts<'_>, now: &RunFacts<'_>, across: &[Field]) -> Vec<RunsDifference> {
    let mut all = Vec::new();
    for Difference { fact, then, now } in then.environment.differences(now.environment) {
        all.push(RunsDifference::Host { fact, then, now });
    }
    for stated in FACTS {
        let values = [then, now].map(|run| by_setup(run, across, stated.value));
        all.extend(differences_in(&stated, &values));
    }
    all
}

/// The differences in one fact about trials. The same difference of several methods is reported once.
fn differences_in(stated: &Stated, [then, now]: &[ValuesBySetup; 2]) -> Vec<RunsDifference> {
    let mut found: BTreeMap<[Vec<String>; 2], Vec<Option<SavedMethod>>> = BTreeMap::new();
    for (setup, before) in then {
        let Some(after) = now.get(setup) else { continue };
        let is_different = if stated.varies { before.is_disjoint(after) } else { before != after };
        if !is_different {
            continue;
        }
        let values = [before, after].map(|values| values.iter().cloned().collect());
        let methods = found.entry(values).or_default();
        if !methods.contains(&setup.method) {
            methods.push(setup.method.clone());
        }
    }
    let mut all = Vec::new();
    for ([then, now], methods) in found {
        all.push(RunsDifference::Trials { fact: stated.fact, methods, then, now });
    }
    all
}

/// Values of a fact, by set-up.
type ValuesBySetup = BTreeMap<Setup, BTreeSet<String>>;

/// The values of a fact in the trials of a set-up, at any load.
fn by_setup(run: &RunFacts<'_>, across: &[Field], value: fn(&TrialResult) -> String) -> ValuesBySetup {
    let mut setups = ValuesBySetup::new();
    for trial in run.trials {
        let setup = Setup { load: None, capture: None, ..Setup::from_trial(trial, None) }.across(across);
        setups.entry(setup).or_default().insert(value(trial));
    }
    setups
}

/// Whether the file of a run is not as it was written: its reader warns of it, or somebody changed a trial.
pub(super) fn is_damaged(run: &RunFacts<'_>) -> bool {
    !run.file_warnings.is_empty() || run.trials.iter().any(|trial| !trial.ledger_sums_up())
}

/// Notes about damaged files, different work, incomplete runs, trials that the host disturbed, and a faster or slower host.
pub(super) fn notes(then: &RunFacts<'_>, now: &RunFacts<'_>) -> Vec<ComparisonNote> {
    let mut notes = file_warnings(RunSide::A, then);
    notes.extend(file_warnings(RunSide::B, now));
    notes.extend(work(then, now));
    notes.extend(notes_on_run(RunSide::A, then));
    notes.extend(notes_on_run(RunSide::B, now));
    notes.extend(speed(then, now));
    notes
}

/// What the reader of a run's file warns of.
fn file_warnings(side: RunSide, run: &RunFacts<'_>) -> Vec<ComparisonNote> {
    let mut notes = Vec::new();
    for warning in run.file_warnings {
        let text = format!("{side:?}: {}", warning.trim_end_matches('.'));
        notes.push(ComparisonNote::FileWarning { text });
    }
    notes
}

/// Notes about one run.
fn notes_on_run(side: RunSide, run: &RunFacts<'_>) -> Vec<ComparisonNote> {
    let mut notes = Vec::new();
    if !run.complete {
        notes.push(ComparisonNote::Incomplete { run: side });
    }
    for statement in run.statements {
        if let Statement::Resumed { after_trials, at } = statement {
            notes.push(ComparisonNote::Resumed { run: side, after_trials: *after_trials, at: at.clone() });
        }
    }
    let noisy_trials = run.trials.iter().filter(|trial| is_noisy(trial)).count() as u64;
    if noisy_trials > 0 {
        let all_trials = run.trials.len() as u64;
        notes.push(ComparisonNote::Noisy { run: side, noisy_trials, all_trials });
    }
    if run.soak.is_some() {
        notes.push(ComparisonNote::Soak { run: side });
    }
    notes
}

/// Whether other work on the host or its hardware disturbed most trials. Slow CPUs do not count: trials are compared with trials
/// whose CPUs were equally slow.
pub(super) fn is_disturbed(run: &RunFacts<'_>) -> bool {
    let disturbed = run.trials.iter().filter(|trial| is_disturbed_besides_speed(trial)).count();
    are_disturbed(disturbed, run.trials.len())
}

/// A note if the host is faster or slower, by the time to verify a frame: it is measured before trials, and depends only on the CPU.
fn speed(then: &RunFacts<'_>, now: &RunFacts<'_>) -> Option<ComparisonNote> {
    let verify_ns_then = verify_ns(then)?;
    let verify_ns_now = verify_ns(now)?;
    if (verify_ns_now / verify_ns_then - 1.0).abs() <= EQUAL_HOST_SPEED {
        return None;
    }
    Some(ComparisonNote::HostSpeed { verify_ns_then, verify_ns_now })
}

fn verify_ns(run: &RunFacts<'_>) -> Option<f64> {
    median(run.trials.iter().map(|trial| trial.cpu.verify_ns_per_packet).filter(|ns| *ns > 0.0))
}

/// A note for work in nanoseconds that was not the same in both runs. It is a number of loop iterations that lasted as long before the
/// trials. If that number differs, the application did different work under the same name.
fn work(then: &RunFacts<'_>, now: &RunFacts<'_>) -> Vec<ComparisonNote> {
    let after = iterations(now);
    let mut notes = Vec::new();
    for (work, iterations_then) in iterations(then) {
        let Some(&iterations_now) = after.get(work) else { continue };
        if (iterations_now / iterations_then - 1.0).abs() > EQUAL_ITERATIONS {
            notes.push(ComparisonNote::OtherWork { work: work.clone(), iterations_then, iterations_now });
        }
    }
    notes
}

/// Iterations of the wait loop per frame, by work in nanoseconds: the median of the trials.
fn iterations<'r>(run: &RunFacts<'r>) -> BTreeMap<&'r SavedWork, f64> {
    let mut found: BTreeMap<&SavedWork, Vec<f64>> = BTreeMap::new();
    for trial in run.trials {
        let work = &trial.profile.work;
        let Some(work_ns) = work.known().and_then(|work| work.nanoseconds()) else { continue };
        let Some(ns_per_iteration) = trial.cpu.wait_ns_per_iteration else { continue };
        if work_ns > 0.0 && ns_per_iteration > 0.0 {
            found.entry(work).or_default().push(work_ns / ns_per_iteration);
        }
    }
    found.into_iter().filter_map(|(work, values)| Some((work, median(values)?))).collect()
}
