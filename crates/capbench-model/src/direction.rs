//! Which frames of an interface are captured.

use std::str::FromStr;

/// Which frames of an interface are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub enum Direction {
    /// Received frames.
    In,
    /// Frames that this host sends.
    Out,
    /// Both.
    Both,
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "in" => Ok(Self::In),
            "out" => Ok(Self::Out),
            "inout" => Ok(Self::Both),
            _ => Err(format!("\"{text}\" is not a direction; in, out and inout are")),
        }
    }
}
