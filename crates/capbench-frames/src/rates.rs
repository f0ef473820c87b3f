//! Frame rates, and the ways in which users state them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::WIRE_OVERHEAD_OCTETS;
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

/// A rate as users state it. Only the mean frame size, and for a share the speed of the line, make frames per second of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatedRate {
    /// Frames per second: `100k`, `1.5Mpps`.
    Frames(Pps),
    /// Bits per second of whole frames, FCS included (layer 2): `500Mbit/s`, `1Gbps`.
    Layer2(f64),
    /// The same with preamble and gap, as the speed of a link is stated (layer 1): `1GbpsL1`.
    Layer1(f64),
    /// Share of the line's speed, at layer 1: `10%`.
    OfLine(f64),
}

impl StatedRate {
    /// Frames per second for frames of this mean size, FCS included. `line` is the speed of the line in bits per second.
    ///
    /// # Errors
    /// A rate outside the range of [`Pps`]; a share where the speed is unknown.
    pub fn of_frames(self, mean_octets: f64, line: Option<f64>) -> Result<Pps> {
        let layer_1 = |bits: f64| Pps::new(bits / (8.0 * (mean_octets + WIRE_OVERHEAD_OCTETS)));
        match self {
            Self::Frames(rate) => Ok(rate),
            Self::Layer2(bits) => Pps::new(bits / (8.0 * mean_octets)),
            Self::Layer1(bits) => layer_1(bits),
            Self::OfLine(share) => layer_1(share * line.ok_or(FrameError::LineSpeed)?),
        }
    }
}

impl FromStr for StatedRate {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        const FORMS: &str = "a rate, such as 100000, 1.5Mpps, 500Mbit/s, 1GbpsL1 or 10%";
        let refuse = || FrameError::parse(text, FORMS);
        let trimmed = text.trim();
        if let Some(percent) = trimmed.strip_suffix('%') {
            let share = scaled(percent).map(|percent| percent / 100.0);
            return share.filter(|share| *share > 0.0 && *share <= 1.0).map(Self::OfLine).ok_or_else(refuse);
        }
        let of_layer = |layer: &str| trimmed.strip_suffix(layer).map(str::trim_end);
        let (bare, layer): (_, fn(f64) -> Self) = match (of_layer("L1"), of_layer("L2")) {
            (Some(bare), _) => (bare, Self::Layer1),
            (_, Some(bare)) => (bare, Self::Layer2),
            _ => (trimmed, Self::Layer2),
        };
        let number = ["bit/s", "bps", "b/s"].into_iter().find_map(|unit| bare.strip_suffix(unit));
        match number {
            Some(number) => scaled(number).filter(|bits| *bits > 0.0).map(layer).ok_or_else(refuse),
            None if bare.len() < trimmed.len() => Err(refuse()),
            None => match trimmed.parse() {
                Ok(rate) => Ok(Self::Frames(rate)),
                Err(error @ FrameError::Rate { .. }) => Err(error),
                Err(_) => Err(refuse()),
            },
        }
    }
}

/// The rate that a sender is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AskedRate {
    /// This one.
    Stated(StatedRate),
    /// As fast as it goes: `max`.
    Maximum,
}

impl FromStr for AskedRate {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        if text == "max" { Ok(Self::Maximum) } else { text.parse().map(Self::Stated) }
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

    #[test]
    fn bits_per_second_and_shares_of_the_line_become_frames_per_second() {
        let of = |text: &str| text.parse::<StatedRate>().unwrap().of_frames(64.0, Some(1e9)).unwrap().get();
        for (text, expected) in [
            ("1.5Mpps", 1.5e6),
            ("64K", 64e3),
            ("1Gbps", 1_953_125.0),
            ("512kbit/s", 1e3),
            ("1Gbit/s L2", 1_953_125.0),
            ("672MbpsL1", 1e6),
            ("67.2%", 1e6),
            ("100 %", 1e9 / 672.0),
        ] {
            assert!((of(text) / expected - 1.0).abs() < 1e-12, "{text}: {}", of(text));
        }
        let share: StatedRate = "10%".parse().unwrap();
        assert!(share.of_frames(64.0, None).unwrap_err().to_string().contains("speed"));
        for text in ["", "bps", "0bps", "101%", "0%", "1Gbs", "1Gpps L1", "L1", "fast", "0"] {
            assert!(text.parse::<StatedRate>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,12}") {
            let _ = text.parse::<StatedRate>();
            let _ = text.parse::<Pps>();
        }
    }
}
