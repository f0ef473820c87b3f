//! The highest load of a search, where it is from, and the doubts that the self-test of the generator leaves.

use super::warning::{SearchWarning, SelfTestCause};
use crate::thresholds::{DISTURBED_TRIES_DIFFERENCE, SLOW_GENERATOR_SHARE};

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use capbench_statistics::by_key;

/// The origin of a maximum load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaximumSource {
    /// The generator's limit while this method captures.
    Generator,
    /// The limit of generator and receiver together, on a path where the offered load depends on the receiver.
    GeneratorAndReceiver,
    /// The link's limit, which the generator reaches.
    LineRate,
    /// The user's limit.
    Given,
}

/// The maximum load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MaximumLoad {
    /// Frames per second.
    pub load_pps: Pps,
    /// Its origin.
    pub source: MaximumSource,
    /// The generator's self-test; absent if the user gave the load, and if a trial at maximum load ran before the search.
    pub self_test: Option<SelfTest>,
}

/// The capability of the generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SelfTest {
    /// Frames per second without a plan, in the best try.
    pub unpaced_pps: f64,
    /// Frames per second in the best try at the rate that became the maximum load.
    pub paced_pps: f64,
    /// Whether the generator sent everything at that rate. If not, the maximum load is the rate of its best try by plan.
    pub held: bool,
    /// Every trial, in order. They are not evidence for any goal.
    #[serde(default)]
    pub tries: Vec<Try>,
}

/// A trial of the self-test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Try {
    /// Its number.
    pub trial: u32,
    /// Frames per second that the plan requested; absent if there was no plan.
    pub asked_pps: Option<f64>,
    /// Frames per second that were sent.
    pub offered_pps: f64,
    /// Whether the generator sent everything requested.
    pub held: bool,
}

/// The result of the tries at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// The rate, frames per second.
    pub pps: f64,
    /// What each try sent, frames per second.
    pub offered: Vec<f64>,
    /// Whether a try sent everything.
    pub held: bool,
}

impl Rate {
    /// The highest rate that a try sent.
    pub fn best(&self) -> f64 {
        most(self.offered.iter().copied())
    }

    /// The range of its tries, as a share of the rate.
    pub fn spread(&self) -> f64 {
        (self.best() - self.offered.iter().copied().fold(f64::INFINITY, f64::min)) / self.pps
    }
}

/// Tries by plan, grouped by rate, in the order in which rates were requested.
pub fn rates(tries: &[Try]) -> Vec<Rate> {
    let mut rates = Vec::new();
    for (asked_pps, tries) in by_key(tries, |tried| tried.asked_pps) {
        let Some(pps) = asked_pps else { continue };
        rates.push(Rate {
            pps,
            offered: tries.iter().map(|paced| paced.offered_pps).collect(),
            held: tries.iter().any(|paced| paced.held),
        });
    }
    rates
}

/// The highest of these rates; 0 if there are none.
pub fn most(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

impl SelfTest {
    /// The doubts that it leaves, with the tries that show them.
    pub fn doubts(&self) -> Vec<SearchWarning> {
        let mut doubts = Vec::new();
        for rate in rates(&self.tries) {
            let is_sent_at_once = rate.held && rate.offered.len() == 1;
            if is_sent_at_once {
                continue;
            }
            let cause = if rate.spread() > DISTURBED_TRIES_DIFFERENCE {
                SelfTestCause::Host
            } else if rate.held {
                SelfTestCause::NotAtFirst
            } else {
                SelfTestCause::NotSustained
            };
            let Rate { pps: planned_pps, offered: offered_pps, .. } = rate;
            doubts.push(SearchWarning::SelfTestRate { planned_pps, offered_pps, cause });
        }
        let unpaced = self.tries.iter().filter(|tried| tried.asked_pps.is_none());
        let offered_pps: Vec<f64> = unpaced.map(|tried| tried.offered_pps).collect();
        let enough_pps = self.unpaced_pps * (1.0 - SLOW_GENERATOR_SHARE);
        if offered_pps.iter().any(|pps| *pps < enough_pps) {
            doubts.push(SearchWarning::SelfTestUnpaced { offered_pps });
        }
        if self.paced_pps < enough_pps {
            doubts.push(SearchWarning::SelfTestByPlan {
                paced_pps: self.paced_pps,
                unpaced_pps: self.unpaced_pps,
            });
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::{Rate, SearchWarning, SelfTest, SelfTestCause, Try};

    fn unpaced(offered_pps: f64) -> Try {
        Try { trial: 1, asked_pps: None, offered_pps, held: true }
    }

    /// A try by a plan of this rate.
    fn paced(asked_pps: f64, offered_pps: f64) -> Try {
        Try { trial: 1, asked_pps: Some(asked_pps), offered_pps, held: asked_pps <= offered_pps }
    }

    /// The doubts of a generator that sends 1000 packets/s without a plan at best.
    fn doubts(tries: &[Try], paced_pps: f64) -> Vec<SearchWarning> {
        SelfTest { unpaced_pps: 1000.0, paced_pps, held: true, tries: tries.to_vec() }.doubts()
    }

    /// The doubt about the plan of 1000 packets/s.
    fn doubt_of_plan(offered_pps: &[f64], cause: SelfTestCause) -> SearchWarning {
        SearchWarning::SelfTestRate { planned_pps: 1000.0, offered_pps: offered_pps.to_vec(), cause }
    }

    #[test]
    fn what_is_not_sustained_is_found_with_every_try() {
        let at_once = [unpaced(1000.0), unpaced(990.0), paced(1000.0, 1000.0)];
        assert_eq!(doubts(&at_once, 1000.0), []);
        let disturbed = [
            unpaced(700.0),
            unpaced(1000.0),
            paced(1000.0, 985.0),
            paced(1000.0, 690.0),
            paced(1000.0, 700.0),
            paced(700.0, 700.0),
        ];
        assert_eq!(
            doubts(&disturbed, 700.0),
            [
                doubt_of_plan(&[985.0, 690.0, 700.0], SelfTestCause::Host),
                SearchWarning::SelfTestUnpaced { offered_pps: vec![700.0, 1000.0] },
                SearchWarning::SelfTestByPlan { paced_pps: 700.0, unpaced_pps: 1000.0 },
            ]
        );
        let alike = [paced(1000.0, 900.0), paced(1000.0, 899.0)];
        assert_eq!(doubts(&alike, 900.0)[0], doubt_of_plan(&[900.0, 899.0], SelfTestCause::NotSustained));
        assert_eq!(Rate { pps: 10.0, offered: vec![8.0, 9.0], held: false }.best(), 9.0);
    }
}
