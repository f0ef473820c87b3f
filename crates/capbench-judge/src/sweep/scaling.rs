//! How the rate of a method grows with its members, where it stops to grow, what stops it, and how many members a load needs.

use crate::limit::{Limit, saved_names};
use crate::sustained::is_rate_sent;
use crate::thresholds::USEFUL_MEMBERS_GAIN;
use capbench_model::members::MOST_MEMBERS;
use capbench_model::statistics::scalability::{Law, ScalabilityFit, Unfit};
use capbench_model::trial::{Load, TrialResult};
use serde::{Deserialize, Serialize};

use super::contrasts::middle;
use super::outcome::{Reading, sustained_pps};

/// How the rate of a method grows with its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Scaling {
    /// What limited the members at each reading, in the order of the readings.
    #[serde(with = "saved_names::list")]
    #[schemars(with = "Vec<saved_names::LimitName>")]
    pub limits: Vec<Limit>,
    /// The Universal Scalability Law through the readings that the members limited, each on a CPU; absent if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<ScalabilityFit>,
    /// Why there is no law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_law_because: Option<Unfit>,
    /// Where more members stop to bring more; absent if they do up to the last number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The load for which members are counted, in frames per second: the rate, or the highest offered load.
    pub load_pps: f64,
    /// How many members it needs.
    pub needed: Needed,
}

/// Where more members stop to bring more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stop {
    /// Up to this number of members the rate grows.
    pub after: u32,
    /// The next number, whose trials show the cause.
    pub next: u32,
    /// The cause.
    #[serde(with = "saved_names::one")]
    #[schemars(with = "saved_names::LimitName")]
    pub cause: Limit,
}

/// How many members a load needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Needed {
    /// The fewest that read all of it in every trial.
    Measured {
        /// Their number.
        members: u32,
    },
    /// The fewest by the law; no measured number read all of it.
    ByLaw {
        /// Their number.
        members: u32,
    },
    /// No number is enough by the law.
    NoNumber {
        /// The highest rate by the law, in frames per second.
        most_pps: f64,
    },
    /// No measured number read all of it, and there is no law.
    Unknown,
}

/// A number of members, its reading, and the trials that count.
pub struct Step<'r> {
    /// The number.
    pub members: f64,
    /// Its reading.
    pub reading: &'r Reading,
    /// The trials of the reading.
    pub trials: Vec<&'r TrialResult>,
}

impl Step<'_> {
    fn rates(&self) -> Vec<f64> {
        self.trials.iter().map(|trial| sustained_pps(trial)).collect()
    }

    /// Whether it read the whole load in every trial.
    fn holds(&self, load_pps: f64) -> bool {
        let is_sent = is_rate_sent(self.reading.offered_pps.median, load_pps);
        is_sent && self.reading.is_clean() && !self.reading.falls_short()
    }
}

impl Scaling {
    /// How the rate grows over the steps, by rising number of members.
    pub fn from_steps(steps: &[Step<'_>], load: Load) -> Self {
        let limits: Vec<Limit> = steps.iter().map(|step| Limit::of_members(&step.trials)).collect();
        let mut rates = Vec::new();
        for (step, limit) in steps.iter().zip(&limits) {
            if *limit == Limit::Members {
                rates.push((step.members, step.rates()));
            }
        }
        let fit = ScalabilityFit::of(&rates);
        let offered = steps.iter().map(|step| step.reading.offered_pps.median).fold(0.0, f64::max);
        let load_pps = load.pps().unwrap_or(offered);
        let law = fit.ok();
        let no_law_because = fit.err();
        let mut stop = None;
        if let Some(last) = last_worth(steps)
            && let Some(next) = steps.get(last + 1)
        {
            let is_load_read = load.pps().is_some() && next.holds(load_pps);
            stop = Some(Stop {
                after: steps[last].members as u32,
                next: next.members as u32,
                cause: limits[last + 1].of_more_members(is_load_read, law.as_ref(), next.members),
            });
        }
        let held = steps.iter().find(|step| step.holds(load_pps));
        let needed = match (held, law) {
            (Some(step), _) => Needed::Measured { members: step.members as u32 },
            (None, Some(fit)) => by_law(&fit.law(), load_pps),
            (None, None) => Needed::Unknown,
        };
        Self { limits, law, no_law_because, stop, load_pps, needed }
    }
}

/// The first step after which no later one brings enough.
fn last_worth(steps: &[Step<'_>]) -> Option<usize> {
    let rates: Vec<f64> = steps.iter().map(|step| middle(step.rates())).collect();
    let is_worth = |one: usize, other: usize| {
        let (members, rate) =
            (steps[other].members / steps[one].members - 1.0, rates[other] / rates[one] - 1.0);
        rate >= USEFUL_MEMBERS_GAIN * members
    };
    (0..steps.len()).find(|&one| !(one + 1..steps.len()).any(|other| is_worth(one, other)))
}

/// The fewest members whose rate by the law is at least the load, of those that a fanout group can have.
fn by_law(law: &Law, load_pps: f64) -> Needed {
    let most = law.peak().unwrap_or(f64::INFINITY).ceil().min(MOST_MEMBERS as f64);
    let rates = || (1..=most as u32).map(|members| (members, law.rate(members.into())));
    let found = rates().find(|(_, rate)| *rate >= load_pps).map(|(members, _)| members);
    let most_pps = rates().map(|(_, rate)| rate).fold(0.0, f64::max);
    found.map_or(Needed::NoNumber { most_pps }, |members| Needed::ByLaw { members })
}
