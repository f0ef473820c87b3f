//! All publications on the simulated path: plans, tables against the data files, and the answers on paths with losses that are
//! known.

mod decided;
mod plans;
mod rules;
mod whole;

use std::time::Duration;

use super::conditions::{Conditions, Scale};
use super::find;
use capbench_judge::reproduction::{Answer, Judgement, Reproduction};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_plan::for_tests::Collected;
use capbench_plan::for_tests::publication_methods as methods;
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};

fn conditions(visits: u32) -> Conditions {
    let base = Setup { quiet: Duration::from_millis(200), ..setup(64) };
    Conditions { base, scale: Scale::DEFAULT, visits, seed: 7 }
}

/// A path with a generator that reaches the rate of 1 Gbit/s at every size.
fn path(methods: Vec<SimulatedMethod>) -> SimulatedLaboratory {
    SimulatedLaboratory::new(1_500_000.0, methods)
}

fn run(key: &str, visits: u32, laboratory: &mut dyn Laboratory) -> (Reproduction, Collected) {
    let mut record = Collected::default();
    assert!(!find(key).unwrap().run(&conditions(visits), laboratory, &mut record).unwrap());
    (record.reproduced.last().unwrap().clone(), record)
}

/// The answers to claims that have these words.
fn answers(reproduction: &Reproduction, words: &str) -> Vec<Answer> {
    judgements(reproduction, words).into_iter().map(|judgement| judgement.answer).collect()
}

fn judgements<'r>(reproduction: &'r Reproduction, words: &str) -> Vec<&'r Judgement> {
    reproduction.findings.iter().filter(|finding| finding.claim.contains(words)).collect()
}
