//! Notes below a published table.

use capbench_model::saved::SavedMethod;
use serde::{Deserialize, Serialize};

use crate::thresholds::BUFFERED_SHARE;

/// A note below a table: a known flaw, or what a mark of its numbers means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TableNote {
    /// A note of the publication's file.
    Publication {
        /// The words of the file.
        words: String,
    },
    /// A method of the table cannot run here.
    CannotRun {
        /// The method.
        method: SavedMethod,
        /// Why it cannot.
        because: String,
    },
    /// A published rate is above the line rate.
    AboveLineRate,
    /// The generator sent less than the load of the publication.
    LoadNotReached,
    /// When sending ended, buffers contained more than this share of the sent frames.
    Buffered {
        /// The share.
        above: f64,
    },
    /// Both: the load was not reached, and buffers contained more than this share.
    LoadNotReachedAndBuffered {
        /// The share.
        above: f64,
    },
}

impl TableNote {
    /// The notes that say what the marks of measured numbers mean.
    pub fn of_measured_numbers() -> [Self; 3] {
        [
            Self::LoadNotReached,
            Self::Buffered { above: BUFFERED_SHARE },
            Self::LoadNotReachedAndBuffered { above: BUFFERED_SHARE },
        ]
    }

    /// The letter after the numbers that it explains; `None` if it explains the whole table.
    pub const fn mark(&self) -> Option<char> {
        match self {
            Self::Publication { .. } | Self::CannotRun { .. } => None,
            Self::AboveLineRate => Some('!'),
            Self::LoadNotReached => Some('g'),
            Self::Buffered { .. } => Some('b'),
            Self::LoadNotReachedAndBuffered { .. } => Some('x'),
        }
    }
}
