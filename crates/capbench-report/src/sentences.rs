//! What follows from results, in sentences with the trials that they rest on: a pure function of what was measured.
//!
//! | file | of |
//! |---|---|
//! | `trials` | trials of any run: accounts, the shape of loss, guards, noise |
//! | `bench` | methods in one set-up |
//! | `search`, `sweep`, `soak`, `reproduction` | runs of these kinds |

mod bench;
mod reproduction;
mod search;
mod soak;
mod sweep;
mod trials;

use capbench_measure::figures::{grouped, percent};
use capbench_measure::results::{Finding, Results};
use capbench_measure::trial::TrialResult;

use crate::naming::Kind;

/// Everything that a run shows: what is saved as its findings.
pub fn find(results: &Results) -> Vec<Finding> {
    if Kind::of(results) == Kind::Reproduce {
        return reproduction::find(results);
    }
    let mut found = search::find(&results.searches);
    found.extend(results.sweeps.iter().flat_map(|outcome| sweep::find(outcome, &results.trials)));
    found.extend(match &results.soak {
        Some(record) => soak::find(record),
        None => trials::find(&results.trials),
    });
    found
}

/// A finding that concerns no one frame size and placement.
fn finding(text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: None, text, trials }
}

fn numbers(trials: &[&TrialResult]) -> Vec<u32> {
    trials.iter().map(|trial| trial.number).collect()
}

/// A rate as people write it.
fn rate(pps: f64) -> String {
    if pps >= 1e6 {
        format!("{:.3} million packets/s", pps / 1e6)
    } else {
        format!("{} packets/s", grouped(pps))
    }
}

/// A time as people write it.
fn time(ns: f64) -> String {
    match ns.abs() {
        large if large >= 1e9 => format!("{:.3} s", ns / 1e9),
        large if large >= 1e6 => format!("{:.2} ms", ns / 1e6),
        large if large >= 1e4 => format!("{:.1} µs", ns / 1e3),
        large if large >= 1e3 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}
