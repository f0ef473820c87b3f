//! Differences of two runs other than the compared ones, and notes to read before the figures.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::setup::{Field, Setup};
use crate::run::RunFacts;
use crate::thresholds::EQUAL_HOST_SPEED;
use capbench_model::figures::grouped;
use capbench_model::running::CaptureFacts;
use capbench_model::saved::SavedWork;
use capbench_model::statistics::median;
use capbench_model::trial::TrialResult;

/// How the note on noisy trials of a run ends.
pub const NOISY: &str = "trials are noisy; its `findings` say why";

/// A fact that a trial states.
struct Fact {
    /// Its name.
    name: &'static str,
    /// Its value in words.
    of: fn(&TrialResult) -> String,
    /// Whether trials of one run can differ in it by chance: searches choose lengths by their results. Then two runs differ in
    /// it only if they have no value in common.
    varies: bool,
}

/// Facts of a trial that are not part of its set-up and must still be equal.
const FACTS: [Fact; 6] = [
    Fact { name: "what ran", of: TrialResult::engine, varies: false },
    Fact { name: "sizes and times", of: running, varies: false },
    Fact { name: "generator", of: |trial| trial.generator.clone(), varies: true },
    Fact { name: "CPUs", of: cpus, varies: false },
    Fact { name: "length of trials", of: |trial| format!("{} s", trial.duration_s), varies: true },
    Fact {
        name: "load independent of the receiver",
        of: |trial| trial.profile.load_independent.to_string(),
        varies: true,
    },
];

/// Buffers and source of timestamps; empty if unknown.
fn running(trial: &TrialResult) -> String {
    trial.capture.as_ref().map_or(String::new(), CaptureFacts::running_anywhere)
}

fn cpus(trial: &TrialResult) -> String {
    let cpus = trial.profile.cpus;
    let kernel = cpus.kernel.map_or("?".into(), |cpu| cpu.to_string());
    format!("{}, {kernel}, {} (generator, kernel, application)", cpus.generator, cpus.application)
}

/// Differences of host, kernel and settings. Properties in `across` may differ.
pub(super) fn differences(then: &RunFacts<'_>, now: &RunFacts<'_>, across: &[Field]) -> Vec<String> {
    let mut all: Vec<String> =
        then.environment.differences(now.environment).iter().map(ToString::to_string).collect();
    for fact in FACTS {
        let values = [then, now].map(|run| by_setup(run, across, fact.of));
        let [before, after] = &values;
        // The same difference of several methods is reported once.
        let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (setup, before) in before {
            let Some(after) = after.get(setup) else { continue };
            let differs = if fact.varies { before.is_disjoint(after) } else { before != after };
            if differs {
                let list = |values: &BTreeSet<String>| {
                    let known =
                        values.iter().map(|value| if value.is_empty() { "unknown" } else { value.as_str() });
                    known.collect::<Vec<_>>().join(" or ")
                };
                let methods = found.entry((list(before), list(after))).or_default();
                let method = setup.method.as_ref().map_or("what was compared".into(), ToString::to_string);
                if !methods.contains(&method) {
                    methods.push(method);
                }
            }
        }
        for ((before, after), methods) in found {
            all.push(format!("{} of {}: {before} then, {after} now", fact.name, methods.join(", ")));
        }
    }
    all
}

/// The values of a fact in the trials of a set-up, at any load.
fn by_setup(
    run: &RunFacts<'_>,
    across: &[Field],
    of: fn(&TrialResult) -> String,
) -> BTreeMap<Setup, BTreeSet<String>> {
    let mut setups: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for trial in run.trials {
        let setup = Setup { load: None, capture: None, ..Setup::from_trial(trial, None) }.across(across);
        setups.entry(setup).or_default().insert(of(trial));
    }
    setups
}

/// Notes about different work, incomplete runs, trials that the host disturbed, and a faster or slower host.
pub(super) fn notes(then: &RunFacts<'_>, now: &RunFacts<'_>) -> Vec<String> {
    let mut notes = work(then, now);
    for (side, run) in [("A", then), ("B", now)] {
        if !run.complete {
            notes.push(format!("{side} is not complete: it has the trials that were finished"));
        }
        notes.extend(
            run.statements
                .iter()
                .filter(|statement| statement.starts_with("interrupted after"))
                .map(|statement| format!("{side} was {statement}")),
        );
        let disturbed = run.trials.iter().filter(|trial| !trial.noise.is_empty()).count();
        if disturbed > 0 {
            let all = run.trials.len();
            notes.push(format!("{side}: {disturbed} of {all} {NOISY}"));
        }
        if run.soak.is_some() {
            notes.push(format!(
                "{side} is a soak: its segments are no trials of their own and are not compared"
            ));
        }
    }
    notes.extend(speed(then, now));
    notes
}

/// Whether other work on the host or its hardware disturbed most trials. Slow CPUs do not count: trials are compared with trials
/// whose CPUs were equally slow.
pub(super) fn is_disturbed(run: &RunFacts<'_>) -> bool {
    let disturbed = run
        .trials
        .iter()
        .filter(|trial| !trial.disturbance.without_core_speed().reasons().is_empty())
        .count();
    2 * disturbed > run.trials.len()
}

/// The time to verify a frame is measured before trials, and depends only on the CPU.
fn speed(then: &RunFacts<'_>, now: &RunFacts<'_>) -> Option<String> {
    let verify_ns = |run: &RunFacts<'_>| {
        let costs = run.trials.iter().map(|trial| trial.cpu.verify_ns_per_packet).filter(|ns| *ns > 0.0);
        median(costs)
    };
    let (before, after) = (verify_ns(then)?, verify_ns(now)?);
    let change = after / before - 1.0;
    (change.abs() > EQUAL_HOST_SPEED).then(|| {
        format!(
            "the CPU itself took {before:.1} ns to verify a frame in A and {after:.1} ns in B ({:+.0} %), in a loop without any method: the host itself is faster or slower",
            change * 100.0
        )
    })
}

/// Work in nanoseconds is a number of loop iterations that lasted as long before the trials. If that number differs, the
/// application did different work under the same name.
fn work(then: &RunFacts<'_>, now: &RunFacts<'_>) -> Vec<String> {
    let [before, after] = [then, now].map(iterations);
    let changed = before.iter().filter_map(|(work, before)| {
        let after = after.get(work)?;
        let change = after / before - 1.0;
        (change.abs() > EQUAL_HOST_SPEED).then(|| {
            format!(
                "work {work} was {} iterations of the wait loop for each frame in A and {} in B ({:+.0} %), as many as were found to \
                 take that long before the trials: on one CPU that is other work by the same name, and rates and costs follow it",
                grouped(*before),
                grouped(*after),
                change * 100.0
            )
        })
    });
    changed.collect()
}

/// Iterations of the wait loop per frame, by work in nanoseconds: the median of the trials.
fn iterations<'r>(run: &RunFacts<'r>) -> BTreeMap<&'r SavedWork, f64> {
    let mut found: BTreeMap<&SavedWork, Vec<f64>> = BTreeMap::new();
    for trial in run.trials {
        let work = &trial.profile.work;
        let asked = work.known().and_then(|work| work.nanoseconds());
        let of_one = trial.cpu.wait_ns_per_iteration.filter(|ns| *ns > 0.0);
        if let Some((asked, of_one)) = asked.filter(|ns| *ns > 0.0).zip(of_one) {
            found.entry(work).or_default().push(asked / of_one);
        }
    }
    found.into_iter().filter_map(|(work, values)| Some((work, median(values)?))).collect()
}
