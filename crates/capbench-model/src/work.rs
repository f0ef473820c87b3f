//! The application's work per frame, as a user requests it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::ParseError;

/// Work per frame, as the user requests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkModel {
    /// Nothing beyond the verification of every frame.
    None,
    /// A loop with this number of iterations, as in Dain's receiver of 2004; an iteration is a multiplication that needs the
    /// result of the previous one.
    Loop(u32),
    /// A loop calibrated to last this many nanoseconds.
    Nanoseconds(u32),
    /// Reads every captured octet.
    Touch,
    /// Finds the transport ports behind Ethernet, VLAN, IPv4 or IPv6.
    Parse,
    /// Copies the captured octets to other memory.
    Copy,
}

/// Capacity of an application's queue in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
pub struct QueueLength(u32);

impl QueueLength {
    /// The longest queue.
    pub const MOST: u32 = 1 << 20;

    /// The number of frames.
    pub fn frames(self) -> u32 {
        self.0
    }
}

impl FromStr for QueueLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(frames) if (1..=Self::MOST).contains(&frames) => Ok(Self(frames)),
            _ => Err(format!("a work queue holds 1 to {} frames, not \"{text}\"", Self::MOST)),
        }
    }
}

impl TryFrom<u32> for QueueLength {
    type Error = String;

    fn try_from(frames: u32) -> Result<Self, String> {
        frames.to_string().parse()
    }
}

impl From<QueueLength> for u32 {
    fn from(length: QueueLength) -> Self {
        length.0
    }
}

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Work per frame, and the thread that does it: `ns:5000`, `ns:5000+queue=512`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct WorkPlan {
    /// The work.
    pub model: WorkModel,
    /// The queue in front of a second thread that does the work, on the same CPU as the first. `None` if the reading thread
    /// also does the work.
    pub queue: Option<QueueLength>,
}

impl From<WorkModel> for WorkPlan {
    fn from(model: WorkModel) -> Self {
        Self { model, queue: None }
    }
}

impl FromStr for WorkPlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((model, setting)) = text.split_once('+') else { return text.parse().map(WorkModel::into) };
        let length = setting.strip_prefix("queue=").ok_or_else(|| {
            format!("\"+{setting}\" is no setting of work; +queue=N is, a queue of N frames before a second thread")
        })?;
        Ok(Self { model: model.parse()?, queue: Some(length.parse()?) })
    }
}

impl TryFrom<String> for WorkPlan {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<WorkPlan> for String {
    fn from(plan: WorkPlan) -> Self {
        plan.to_string()
    }
}

impl fmt::Display for WorkPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)?;
        self.queue.map_or(Ok(()), |length| write!(f, "+queue={length}"))
    }
}

/// The work per packet of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Work that the user requested.
    Plan(WorkPlan),
    /// The work of a program that capbench starts. capbench does not know what it does with a packet.
    OfProgram,
}

impl Work {
    /// Nothing beyond the verification of every frame.
    pub const NONE: Self = Self::Plan(WorkPlan { model: WorkModel::None, queue: None });

    /// Nanoseconds per frame, if the user requested the work by its time.
    pub fn nanoseconds(self) -> Option<f64> {
        match self {
            Self::Plan(WorkPlan { model: WorkModel::Nanoseconds(ns), .. }) => Some(ns.into()),
            Self::Plan(_) | Self::OfProgram => None,
        }
    }
}

/// The text of [`Work::OfProgram`].
const OF_PROGRAM: &str = "its own";

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == OF_PROGRAM { Ok(Self::OfProgram) } else { text.parse().map(Self::Plan) }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(plan) => plan.fmt(f),
            Self::OfProgram => f.pad(OF_PROGRAM),
        }
    }
}

impl FromStr for WorkModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let model = match text.split_once(':') {
            Some(("loop", digits)) => digits.parse().ok().map(Self::Loop),
            Some(("ns", digits)) => digits.parse().ok().map(Self::Nanoseconds),
            None if text == "none" => Some(Self::None),
            None if text == "touch" => Some(Self::Touch),
            None if text == "parse" => Some(Self::Parse),
            None if text == "copy" => Some(Self::Copy),
            _ => None,
        };
        model.ok_or_else(|| ParseError::WorkModel(text.into()).to_string())
    }
}

impl fmt::Display for WorkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Loop(iterations) => write!(f, "loop:{iterations}"),
            Self::Nanoseconds(duration) => write!(f, "ns:{duration}"),
            Self::Touch => f.write_str("touch"),
            Self::Parse => f.write_str("parse"),
            Self::Copy => f.write_str("copy"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WorkModel, WorkPlan};

    #[test]
    fn models_are_read_and_written_alike() {
        for text in ["none", "loop:0", "loop:3000", "ns:5000", "touch", "parse", "copy"] {
            assert_eq!(text.parse::<WorkModel>().unwrap().to_string(), text);
        }
        for text in ["", "loop", "loop:-1", "ns:1.5", "sleep:3", "touch:1"] {
            assert!(text.parse::<WorkModel>().is_err(), "{text}");
        }
    }

    #[test]
    fn plans_are_read_and_written_alike_and_queues_have_limits() {
        for text in ["none", "ns:5000", "ns:5000+queue=512", "none+queue=1", "touch+queue=1048576"] {
            assert_eq!(text.parse::<WorkPlan>().unwrap().to_string(), text);
        }
        for (text, words) in [
            ("none+queue=0", "1 to 1048576"),
            ("none+queue=1048577", "1 to 1048576"),
            ("none+queue=-1", "1 to 1048576"),
            ("none+queue", "+queue=N"),
            ("none+cpu=1", "+queue=N"),
            ("sleep+queue=3", "no work model"),
        ] {
            let refusal = text.parse::<WorkPlan>().unwrap_err();
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }
}
