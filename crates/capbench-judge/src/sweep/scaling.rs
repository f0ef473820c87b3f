//! What a sweep over members saves: how the rate of a method grows, where it stops to grow, what stops it, and how many members a
//! load needs.

use crate::limit::{Limit, saved_names};
use capbench_statistics::scalability::{ScalabilityFit, Unfit};
use serde::{Deserialize, Serialize};

/// How the rate of a method grows with its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Scaling {
    /// What limited the members at each reading, in the order of the readings.
    #[serde(with = "saved_names::list")]
    #[schemars(with = "Vec<saved_names::LimitName>")]
    pub limits: Vec<Limit>,
    /// The Universal Scalability Law through the readings that the members limited, each on a CPU of its own; absent if these readings have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<ScalabilityFit>,
    /// Why there is no law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_law_because: Option<Unfit>,
    /// Where more members stop to bring more; absent if they do up to the last number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The load for which members are counted, in frames per second: the one that the user asked for, or the highest offered load.
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
