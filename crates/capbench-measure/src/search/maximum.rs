//! The highest load of a search: what the generator can do by itself. A search must not take the generator's limit for
//! that of a capture method (RFC 9971 section 4.2: benchmark the tester first).

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::plan::SearchPlan;
use super::runner::{End, Halt, Runner};
use crate::trial::{Load, Phase};

/// How often the rate is lowered until the generator holds it.
const ROUNDS: usize = 5;
/// How often it may try each: a host that is busy for a moment is no limit of the generator.
const TRIES: usize = 2;
/// The next rate, as a share of the one that it did not hold, where it came closer than that.
const LOWERED: f64 = 0.97;

/// Where a maximum load comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaximumSource {
    /// The generator reaches no more.
    Generator,
    /// The link carries no more, and the generator reaches it.
    LineRate,
    /// The user wants no more.
    Given,
}

/// The maximum load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaximumLoad {
    /// Frames per second.
    pub load_pps: Pps,
    /// Where it comes from.
    pub source: MaximumSource,
    /// The generator's self-test; absent where the user gave the load.
    pub self_test: Option<SelfTest>,
}

/// What the generator can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Frames per second without a plan.
    pub unpaced_pps: f64,
    /// Frames per second that it reached at the rate which became the maximum load.
    pub paced_pps: f64,
    /// Whether it sent everything there. If not, the maximum load is what it reached.
    pub held: bool,
    /// Its trials. They are no evidence for any goal.
    pub trials: Vec<u32>,
}

impl MaximumLoad {
    pub(super) fn given(load_pps: Pps) -> Self {
        Self { load_pps, source: MaximumSource::Given, self_test: None }
    }
}

/// Finds out what the generator can do: as fast as it goes, then at that rate by plan, which is less where keeping to a
/// plan costs something.
pub(super) fn self_test(plan: &SearchPlan, runner: &mut Runner<'_>) -> Result<MaximumLoad, Halt> {
    let duration = plan.self_test;
    let unpaced = runner.measure(Load::Maximum, duration, Phase::SelfTest)?;
    let unpaced_pps = unpaced.offered_pps;
    let mut trials = vec![unpaced.number];
    let line = plan.line_rate_pps.map(Pps::get).filter(|line| unpaced_pps >= *line);
    let mut rate = line.unwrap_or(unpaced_pps).floor();
    let mut paced_pps: f64 = 0.0;
    let mut held = false;
    for _ in 0..ROUNDS {
        let load = legal(rate, plan)?;
        paced_pps = 0.0;
        for _ in 0..TRIES {
            let paced = runner.measure(Load::Rate(load), duration, Phase::SelfTest)?;
            trials.push(paced.number);
            paced_pps = paced.offered_pps.min(rate).max(paced_pps);
            held = paced.shortfall() == 0;
            if held {
                break;
            }
        }
        if held {
            break;
        }
        rate = paced_pps.min(rate * LOWERED).floor();
    }
    let load_pps = legal(if held { rate } else { paced_pps.floor() }, plan)?;
    let at_line = line.is_some_and(|line| load_pps.get() >= line.floor());
    let source = if at_line { MaximumSource::LineRate } else { MaximumSource::Generator };
    Ok(MaximumLoad { load_pps, source, self_test: Some(SelfTest { unpaced_pps, paced_pps, held, trials }) })
}

fn legal(rate: f64, plan: &SearchPlan) -> Result<Pps, Halt> {
    let above = |load: &Pps| *load > plan.least_pps;
    Pps::new(rate).ok().filter(above).ok_or_else(|| {
        Halt::Ended(End::Failed {
            reason: format!(
                "the generator reaches {rate:.0} packets/s only, which is not above the least load of the search, {} \
                 packets/s",
                plan.least_pps
            ),
        })
    })
}
