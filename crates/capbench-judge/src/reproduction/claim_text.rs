//! Texts of claims: the publication's words with names in braces, and the value of each name. The report fills the values in.

use std::collections::BTreeMap;

use capbench_model::ledger::LostAt;
use serde::{Deserialize, Serialize};

use super::quantity::Quantity;

/// A text of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClaimText {
    /// The publication's words. Names of values are in braces.
    pub text: String,
    /// The value of each name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, ClaimValue>,
}

/// What a name in a text of a claim stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ClaimValue {
    /// Words of the publication's file, or the label of a place or method.
    Words {
        /// The words.
        words: String,
    },
    /// A measured figure.
    Figure {
        /// Its quantity.
        quantity: Quantity,
        /// Its value.
        value: f64,
    },
    /// A figure that no trial shows.
    Unmeasured,
    /// The smallest of several captured shares.
    LeastShare {
        /// The share of the sent frames.
        share: f64,
    },
    /// The time that the work of a packet takes on the publication's host.
    WorkTime {
        /// The time in nanoseconds.
        ns: f64,
    },
    /// The selected places.
    Places {
        /// Their labels.
        labels: Vec<String>,
    },
    /// Where frames were lost.
    Losses {
        /// The places with their frames.
        losses: Vec<LostAt>,
    },
    /// Why a point does not decide the claim.
    Undecided {
        /// The reason.
        why: Undecided,
    },
    /// Buffers contained more than a few of the sent frames when sending ended.
    Buffered {
        /// The largest share of the sent frames.
        share: f64,
    },
    /// The receiver's work slowed the generator in some of the trials.
    GeneratorSlowed,
    /// A note whose condition is not met.
    Nothing,
    /// Another text of the claim.
    Text(ClaimText),
    /// A text of the claim for each of several places.
    Texts {
        /// The texts.
        texts: Vec<ClaimText>,
        /// What is between two of them.
        joined_by: String,
    },
}

/// Why visits meet neither a limit nor its contrary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// There are none.
    NotMeasured,
    /// There is only one.
    OneVisit,
    /// Buffers absorbed the excess until sending had ended. Longer trials can decide.
    Buffered,
    /// Some meet the limit and some do not.
    VisitsDisagree,
    /// The generator does not reach the load.
    LoadNotReached,
}

impl ClaimText {
    /// A text that names no values.
    pub fn plain(text: &str) -> Self {
        Self { text: text.into(), values: BTreeMap::new() }
    }
}

impl ClaimValue {
    /// A number of objects.
    pub(crate) fn count(count: u64) -> Self {
        Self::Figure { quantity: Quantity::Count, value: count as f64 }
    }
}

impl From<&str> for ClaimValue {
    fn from(words: &str) -> Self {
        Self::Words { words: words.into() }
    }
}

impl From<String> for ClaimValue {
    fn from(words: String) -> Self {
        Self::Words { words }
    }
}

/// The names in braces of a text, in their order.
pub(crate) fn names_in(words: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut unread = words;
    while let Some((_, from_name)) = unread.split_once('{') {
        let Some((name, after)) = from_name.split_once('}') else { break };
        names.push(name);
        unread = after;
    }
    names
}

/// Replaces each `{NAME}` that has a value.
pub fn fill(words: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut unread = words;
    while let Some((before, from_name)) = unread.split_once('{') {
        let Some((name, after)) = from_name.split_once('}') else { break };
        text.push_str(before);
        text.push_str(&value(name).unwrap_or_else(|| format!("{{{name}}}")));
        unread = after;
    }
    text + unread
}
