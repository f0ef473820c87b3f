//! The judgement: what of the settings stands against capture, and what would be better. Pure functions of the facts.
//!
//! | file | items |
//! |---|---|
//! | `card` | rings, offloads, interrupt moderation |
//! | `queues` | numbers of queues, interrupts, RSS, RPS |
//! | `host` | kernel settings, frequencies, idle states, threads of cores, irqbalance |

mod card;
mod host;
mod queues;

use std::fmt;
use std::str::FromStr;

use capbench_model::environment::queues::QueueFinding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::setting::{Proposal, Setting, numbers, value_of};

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemName {
    /// Numbers of queues.
    Queues,
    /// Descriptors of the receive ring.
    Rings,
    /// CPUs of the interrupts of queues.
    Interrupts,
    /// Distribution of frames to queues.
    Rss,
    /// Receive packet steering.
    Rps,
    /// Offloads that change what a capture sees.
    Offloads,
    /// Interrupt moderation.
    Moderation,
    /// Packets that wait for a CPU's receive work.
    Backlog,
    /// How much the receive softirq does at a time.
    Budget,
    /// Largest receive buffer of a socket.
    Buffers,
    /// Frequency governor.
    Governor,
    /// Idle states.
    Idle,
    /// Threads that share a core.
    Threads,
    /// The daemon that moves interrupts.
    Irqbalance,
}

/// Items with their keys and judges, in the order in which they are printed.
const ITEMS: [(ItemName, &str, Judge); 14] = [
    (ItemName::Queues, "queues", queues::channels),
    (ItemName::Rings, "rings", card::rings),
    (ItemName::Interrupts, "interrupts", queues::interrupts),
    (ItemName::Rss, "rss", queues::rss),
    (ItemName::Rps, "rps", queues::rps),
    (ItemName::Offloads, "offloads", card::offloads),
    (ItemName::Moderation, "moderation", card::moderation),
    (ItemName::Backlog, "backlog", host::backlog),
    (ItemName::Budget, "budget", host::budget),
    (ItemName::Buffers, "buffers", host::buffers),
    (ItemName::Governor, "governor", host::governor),
    (ItemName::Idle, "idle", host::idle),
    (ItemName::Threads, "threads", host::threads),
    (ItemName::Irqbalance, "irqbalance", host::irqbalance),
];

type Judge = fn(&Facts, &Wishes) -> Judgement;

impl ItemName {
    /// Its name on the command line and in text.
    pub fn key(self) -> &'static str {
        ITEMS.iter().find(|(item, ..)| *item == self).map_or("", |(_, key, _)| key)
    }

    /// Every name, for messages.
    pub fn keys() -> String {
        ITEMS.map(|(_, key, _)| key).join(", ")
    }
}

impl fmt::Display for ItemName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.key())
    }
}

impl FromStr for ItemName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ITEMS.iter().find(|(_, key, _)| *key == text).map(|(item, ..)| *item);
        found.ok_or_else(|| format!("there is no item {text:?}; those are {}", Self::keys()))
    }
}

/// How a setting stands towards capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// Nothing is against it.
    Fine,
    /// It costs frames or CPU time, or changes what a capture sees.
    Against,
    /// It is worth knowing, and may be wanted.
    Note,
    /// The host or the driver does not have it.
    Absent,
    /// It could not be read, or a run did not record it. That is not fine.
    Unknown,
}

/// What the user wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// The CPUs for capture. Empty: those next to the card.
    pub cpus: Vec<u32>,
    /// The items that are judged. Empty: all.
    pub only: Vec<ItemName>,
}

/// How an item stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The item.
    pub item: ItemName,
    /// How it stands, and why.
    pub judgement: Judgement,
}

/// What is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// In words.
    Words(String),
    /// Facts about queues. The reports of runs have them, too, and so their words.
    Queues(Vec<QueueFinding>),
}

/// The words of a fact about queues.
pub type QueueWords = fn(&QueueFinding) -> String;

impl Is {
    /// It in words.
    pub fn words(&self, queue_words: QueueWords) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Queues(findings) => findings.iter().map(queue_words).collect::<Vec<_>>().join("; "),
        }
    }
}

impl From<&str> for Is {
    fn from(words: &str) -> Self {
        Self::Words(words.into())
    }
}

impl From<String> for Is {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

/// What is, what would be better, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// How it stands.
    pub stands: Stands,
    /// What is.
    pub is: Is,
    /// What would be better.
    pub better: Option<String>,
    /// Why.
    pub why: &'static str,
    /// The changes that make it so. Empty where only the user can.
    pub proposals: Vec<Proposal>,
}

impl Judgement {
    fn new(stands: Stands, is: impl Into<Is>, why: &'static str) -> Self {
        Self { stands, is: is.into(), better: None, why, proposals: Vec::new() }
    }

    /// Nothing is against it.
    fn fine(is: impl Into<Is>) -> Self {
        Self::new(Stands::Fine, is, "")
    }

    /// The driver or the host does not have it.
    fn absent(is: impl Into<Is>) -> Self {
        Self::new(Stands::Absent, is, "")
    }

    /// It is not known how it stands.
    fn unknown(is: impl Into<Is>) -> Self {
        Self::new(Stands::Unknown, is, "")
    }

    fn better(self, better: impl Into<String>) -> Self {
        Self { better: Some(better.into()), ..self }
    }

    fn by(self, proposals: Vec<Proposal>) -> Self {
        Self { proposals, ..self }
    }
}

/// The change of one number of a group of settings. None where its other numbers are not known.
fn with_number(facts: &Facts, setting: Setting, at: usize, number: u32) -> Vec<Proposal> {
    let before = facts.settings.get(&setting).and_then(|value| numbers(value));
    let change = before.filter(|numbers| numbers.len() == 4).map(|mut numbers| {
        numbers[at] = number;
        Proposal { setting, value: value_of(&numbers) }
    });
    change.into_iter().collect()
}

/// Judges every item, or those that the user names. Nothing can be changed of a run.
pub fn judge(facts: &Facts, wishes: &Wishes) -> Vec<Finding> {
    let is_wanted = |item: &ItemName| wishes.only.is_empty() || wishes.only.contains(item);
    let wanted = ITEMS.iter().filter(|(item, ..)| is_wanted(item));
    let found = wanted.map(|(item, _, judge)| Finding { item: *item, judgement: judge(facts, wishes) });
    let of_run = |mut finding: Finding| {
        finding.judgement.proposals.clear();
        finding
    };
    if facts.is_of_run { found.map(of_run).collect() } else { found.collect() }
}

#[cfg(test)]
mod tests;
