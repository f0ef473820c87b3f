//! All publications on the simulated path: plans, tables against the data files, and what follows from paths whose losses are
//! known.

mod outcomes;
mod plans;
mod rules;
mod whole;

use std::time::Duration;

use super::LeftOut;
use super::conditions::{Conditions, Scale};
use super::outcome::{Answer, Judgement, Reproduction};
use super::{Observer, find};
use crate::error::{MeasureError, Result};
use crate::laboratory::{Laboratory, Setup};
use crate::search::SearchOutcome;
use crate::session;
use crate::simulated::{SimulatedLaboratory, SimulatedMethod, setup};
use crate::sweep::{self, SweepOutcome};
use crate::trial::{Load, TrialResult};

/// Follows a reproduction, and stops it after so many trials.
#[derive(Default)]
struct Record {
    ended: usize,
    stop_after: Option<usize>,
    searches: usize,
    left_out: Vec<LeftOut>,
    so_far: Vec<Reproduction>,
}

impl session::Observer for Record {
    fn starts(&mut self, _: &str) {}
    fn ends(&mut self, _: &TrialResult) -> Result<()> {
        self.ended += 1;
        Ok(())
    }
    fn skips(&mut self, setup: &Setup, _: Load, why: &MeasureError) {
        panic!("{}: {why}", setup.method);
    }
    fn stopping(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.ended >= limit)
    }
}

impl sweep::Observer for Record {
    fn swept(&mut self, _: SweepOutcome) {}
}

impl Observer for Record {
    fn searched(&mut self, _: SearchOutcome) -> Result<()> {
        self.searches += 1;
        Ok(())
    }
    fn leaves_out(&mut self, left: &LeftOut) {
        self.left_out.push(left.clone());
    }
    fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
        self.so_far.push(so_far);
        Ok(())
    }
}

fn conditions(visits: u32) -> Conditions {
    let base = Setup { quiet: Duration::from_millis(200), ..setup(64) };
    Conditions { base, scale: Scale::DEFAULT, visits, seed: 7 }
}

/// A path as a host of today might be, without the cards of 2008.
fn methods() -> Vec<SimulatedMethod> {
    vec![
        SimulatedMethod::new("recv", 400_000.0).livelock(0.3).cost(900, 1200),
        SimulatedMethod::new("libpcap", 1_100_000.0).cost(150, 900),
        SimulatedMethod::new("packet-v1", 800_000.0).cost(250, 900),
        SimulatedMethod::new("packet-v2", 900_000.0).cost(200, 900),
        SimulatedMethod::new("packet-v3", 1_600_000.0).cost(100, 700),
        SimulatedMethod::new("xdp-count+generic", 2_000_000.0).cost(0, 300),
        SimulatedMethod::new("xdp-count+generic+napi-defer", 2_000_000.0).cost(0, 250),
        SimulatedMethod::new("recv+napi-defer", 500_000.0).cost(900, 800),
        SimulatedMethod::new("recv+napi-thread", 450_000.0).cost(900, 900),
    ]
}

/// A path whose generator reaches the rate of 1 Gbit/s at every size.
fn path(methods: Vec<SimulatedMethod>) -> SimulatedLaboratory {
    SimulatedLaboratory::new(1_500_000.0, methods)
}

fn run(key: &str, visits: u32, laboratory: &mut dyn Laboratory) -> (Reproduction, Record) {
    let mut record = Record::default();
    assert!(!find(key).unwrap().run(&conditions(visits), laboratory, &mut record).unwrap());
    (record.so_far.last().unwrap().clone(), record)
}

/// The answers to claims that have these words.
fn answers(reproduction: &Reproduction, words: &str) -> Vec<Answer> {
    judgements(reproduction, words).into_iter().map(|judgement| judgement.answer).collect()
}

fn judgements<'r>(reproduction: &'r Reproduction, words: &str) -> Vec<&'r Judgement> {
    reproduction.findings.iter().filter(|finding| finding.claim.contains(words)).collect()
}
