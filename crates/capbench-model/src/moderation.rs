//! Interrupt moderation, as a set-up requests it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How to delay receive interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moderation {
    /// By this many microseconds; 0 means no delay. Some drivers round, and e1000e uses 1, 3 and 4 for special modes.
    Fixed(u32),
    /// As the driver chooses from the traffic.
    Adaptive,
}

impl FromStr for Moderation {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        // Microseconds are the only unit, so it may be left out.
        let usecs = || text.strip_suffix("us").unwrap_or(text).parse().ok();
        match text {
            "adaptive" => Ok(Self::Adaptive),
            _ => usecs().map(Self::Fixed).ok_or_else(|| {
                format!("\"{text}\" is no interrupt moderation; write for example 0us, 50us or adaptive")
            }),
        }
    }
}

impl fmt::Display for Moderation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(usecs) => write!(f, "{usecs}us"),
            Self::Adaptive => f.write_str("adaptive"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Moderation;

    #[test]
    fn moderation_is_read_and_written_alike() {
        for text in ["0us", "125us", "adaptive"] {
            assert_eq!(text.parse::<Moderation>().unwrap().to_string(), text);
        }
        assert_eq!("50".parse(), Ok(Moderation::Fixed(50)));
        for text in ["", "us", "-1us", "1ms", "on"] {
            assert!(text.parse::<Moderation>().is_err(), "{text}");
        }
    }
}
