//! Frame rates.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{FrameError, Result};

/// The slowest rate: one frame in 11 days. Slower ones would overflow the exact arithmetic of the schedule.
const SLOWEST: f64 = 1e-6;

/// The fastest rate, above any link (a 1.6 Tbit/s link carries 2.4e9 frames/s).
const FASTEST: f64 = 1e12;

/// Frames per second: finite, above 0.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Pps(f64);

impl Pps {
    /// A frame rate, frames per second.
    ///
    /// # Errors
    /// Zero, negative, not a number, infinite, or outside 1e-6 to 1e12.
    pub fn new(frames_per_second: f64) -> Result<Self> {
        // A NaN is in no range.
        if (SLOWEST..=FASTEST).contains(&frames_per_second) {
            Ok(Self(frames_per_second))
        } else {
            Err(FrameError::Rate { asked: frames_per_second })
        }
    }

    /// Frames per second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Pps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<f64> for Pps {
    type Error = FrameError;

    fn try_from(frames_per_second: f64) -> Result<Self> {
        Self::new(frames_per_second)
    }
}

impl From<Pps> for f64 {
    fn from(rate: Pps) -> Self {
        rate.0
    }
}

/// `100000`, `100k`, `1.5M`, `1.5Mpps`.
impl FromStr for Pps {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let number = scaled(text);
        Self::new(
            number.ok_or_else(|| FrameError::parse(text, "a frame rate, such as 100000, 100k or 1.5Mpps"))?,
        )
    }
}

/// A decimal number, an SI multiplier and "pps", the last two optional and without space.
fn scaled(text: &str) -> Option<f64> {
    let text = text.trim();
    let bare = text.strip_suffix("pps").unwrap_or(text);
    let (digits, factor) = match bare.char_indices().next_back()? {
        (at, 'k' | 'K') => (&bare[..at], 1e3),
        (at, 'M') => (&bare[..at], 1e6),
        (at, 'G') => (&bare[..at], 1e9),
        (at, 'T') => (&bare[..at], 1e12),
        _ => (bare, 1.0),
    };
    // The parser of the standard library also accepts "inf" and "nan", which no user means.
    let plain = digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let spelled = digits.chars().any(|c| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
    if plain && !spelled { digits.parse::<f64>().ok().map(|number| number * factor) } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_as_users_write_them() {
        for (text, expected) in
            [("100k", 1e5), ("1.5Mpps", 1.5e6), ("100000", 1e5), ("2G", 2e9), ("1e6", 1e6), ("500pps", 500.0)]
        {
            assert_eq!(text.parse::<Pps>().unwrap().get(), expected, "{text}");
        }
    }

    #[test]
    fn rates_that_mean_nothing_are_refused() {
        for text in ["fast", "0", "-5", "NaN", "inf", "infinity", "", "k", "pps", "1e400", "10 k k", "1.5MM"]
        {
            assert!(text.parse::<Pps>().is_err(), "{text}");
        }
        assert!("fast".parse::<Pps>().unwrap_err().to_string().contains("'fast' is not a frame rate"));
        assert!("0".parse::<Pps>().unwrap_err().to_string().contains("rate 0 is not allowed"));
        assert!(Pps::new(f64::NAN).is_err());
        assert!(Pps::new(f64::INFINITY).is_err());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,12}") {
            let _ = text.parse::<Pps>();
        }
    }
}
