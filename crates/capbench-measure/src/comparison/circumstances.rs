//! In what two runs differ beside what is compared, and what is to be known of them before any figure is read.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::Results;
use crate::statistics::interval::Estimate;
use crate::trial::TrialResult;

/// By how much a figure of the host's speed may differ and be called the same.
const SAME_SPEED: f64 = 0.05;

/// The name of a fact, and what a trial says of it.
type Fact = (&'static str, fn(&TrialResult) -> String);

/// What of a trial is not part of its set-up, and has to be the same all the same.
const FACTS: [Fact; 6] = [
    ("what ran", |trial| trial.engine.clone()),
    ("sizes and times", |trial| trial.running.clone()),
    ("generator", |trial| trial.generator.clone()),
    ("CPUs", |trial| {
        let cpus = trial.profile.cpus;
        let kernel = cpus.kernel.map_or("?".into(), |cpu| cpu.to_string());
        format!("{}, {kernel}, {} (generator, kernel, application)", cpus.generator, cpus.application)
    }),
    ("length of trials", |trial| format!("{} s", trial.duration_s)),
    ("load independent of the receiver", |trial| trial.profile.load_independent.to_string()),
];

/// Host, kernel and settings, as far as they are not the same.
pub(super) fn differences(then: &Results, now: &Results) -> Vec<String> {
    let mut all: Vec<String> =
        then.environment.differences(&now.environment).iter().map(ToString::to_string).collect();
    for (fact, of) in FACTS {
        let values = [then, now].map(|run| by_place(run, of));
        let [before, after] = &values;
        // The same difference of several methods is said once.
        let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (place, before) in before {
            let Some(after) = after.get(place) else { continue };
            if before.is_disjoint(after) {
                let list = |values: &BTreeSet<String>| {
                    let known =
                        values.iter().map(|value| if value.is_empty() { "unknown" } else { value.as_str() });
                    known.collect::<Vec<_>>().join(" or ")
                };
                let methods = found.entry((list(before), list(after))).or_default();
                if !methods.contains(&place.0) {
                    methods.push(place.0.clone());
                }
            }
        }
        for ((before, after), methods) in found {
            all.push(format!("{fact} of {}: {before} then, {after} now", methods.join(", ")));
        }
    }
    all
}

/// What the trials of a method in a placement say of a fact.
fn by_place(run: &Results, of: fn(&TrialResult) -> String) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut places: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for trial in &run.trials {
        let place = (trial.profile.method.clone(), trial.profile.placement.clone());
        places.entry(place).or_default().insert(of(trial));
    }
    places
}

/// Runs that did not go to their end, trials that the host disturbed, and a host that was faster or slower.
pub(super) fn notes(then: &Results, now: &Results) -> Vec<String> {
    let mut notes = Vec::new();
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
            notes.push(format!(
                "{side}: {disturbed} of {all} trials are to be taken with care; `findings` in it says why"
            ));
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

/// Whether other work of the host, or of others on its hardware, disturbed most trials of those that are compared: slow CPUs
/// do not count, as their trials are left out.
pub(super) fn is_disturbed(run: &Results) -> bool {
    let disturbed =
        run.trials.iter().filter(|trial| !trial.disturbance.beside_pace().reasons().is_empty()).count();
    2 * disturbed > run.trials.len()
}

/// What verifying a frame takes is measured before trials, and depends on nothing but the CPU.
fn speed(then: &Results, now: &Results) -> Option<String> {
    let of = |run: &Results| {
        let costs = run.trials.iter().map(|trial| trial.cpu.verify_ns_per_packet).filter(|ns| *ns > 0.0);
        Estimate::of(costs).map(|estimate| estimate.median)
    };
    let (before, after) = (of(then)?, of(now)?);
    let change = after / before - 1.0;
    (change.abs() > SAME_SPEED).then(|| {
        format!(
            "the CPU itself took {before:.1} ns to verify a frame in A and {after:.1} ns in B ({:+.0} %), in a loop that no \
             method is part of: part of what changed is the host's",
            change * 100.0
        )
    })
}
