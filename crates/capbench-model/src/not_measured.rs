//! Set-ups that could not be measured.

use serde::{Deserialize, Serialize};

use crate::placement::PlacementChoice;
use crate::saved::{Saved, SavedMethod, SavedPlacement};
use crate::trial::{Load, SizeLabel};

/// A set-up that could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NotMeasured {
    /// The method.
    pub method: SavedMethod,
    /// The RFC 2544 test that it concerns, as in `rfc2544`; absent if it concerns the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The placement; absent if it concerns all.
    pub placement: Option<SavedPlacement>,
    /// The frame size; absent if it concerns all.
    pub frame_size: Option<SizeLabel>,
    /// The load of the trial that could not run; absent if it concerns all, and in older files, whose `reason` begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// The reason, in one line.
    pub reason: String,
}

impl NotMeasured {
    /// A method that could not be measured in a placement, or in none.
    pub fn new(method: SavedMethod, placement: Option<PlacementChoice>, reason: String) -> Self {
        let placement = placement.map(|placement| Saved::Known(placement.name()));
        Self { method, test: None, placement, frame_size: None, load: None, reason }
    }
}
