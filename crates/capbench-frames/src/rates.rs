//! Frame rates and bit rates. The type of a bit rate says whether preamble and gap count.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{FrameError, FrameSize, Result};

/// Bits of an octet.
const BITS: f64 = 8.0;

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

    /// Bits per second of the link, preamble and gap included.
    pub fn bit_rate_l1(self, size: FrameSize) -> BitRate<L1> {
        BitRate(self.0 * f64::from(size.on_wire()) * BITS, PhantomData)
    }

    /// Bits per second of the frames themselves, FCS included.
    pub fn bit_rate_l2(self, size: FrameSize) -> BitRate<L2> {
        BitRate(self.0 * f64::from(size.octets()) * BITS, PhantomData)
    }
}

/// Marks a bit rate that counts link time: frame, preamble, start delimiter and gap.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum L1 {}

/// Marks a bit rate that counts frames from destination address to FCS.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum L2 {}

/// Bits per second, at layer 1 ([`L1`]: link time) or layer 2 ([`L2`]: frames).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64", bound(serialize = "Layer: Clone"))]
pub struct BitRate<Layer>(f64, PhantomData<Layer>);

impl<Layer> BitRate<Layer> {
    /// A bit rate, bits per second.
    ///
    /// # Errors
    /// Zero, negative, infinite or not a number.
    pub fn new(bits_per_second: f64) -> Result<Self> {
        if bits_per_second.is_finite() && bits_per_second > 0.0 {
            Ok(Self(bits_per_second, PhantomData))
        } else {
            Err(FrameError::BitRate { asked: bits_per_second })
        }
    }

    /// Bits per second.
    pub const fn get(&self) -> f64 {
        self.0
    }
}

impl BitRate<L1> {
    /// The frame rate that fills this link time with frames of one size.
    ///
    /// # Errors
    /// A rate out of the range of [`Pps`].
    pub fn frames(self, size: FrameSize) -> Result<Pps> {
        Pps::new(self.0 / (f64::from(size.on_wire()) * BITS))
    }
}

impl BitRate<L2> {
    /// The frame rate at which frames of one size are this many bits.
    ///
    /// # Errors
    /// A rate out of the range of [`Pps`].
    pub fn frames(self, size: FrameSize) -> Result<Pps> {
        Pps::new(self.0 / (f64::from(size.octets()) * BITS))
    }
}

/// The highest frame rate of a link: `link / ((S + 20) * 8)` (RFC 2544 appendix B gives the table for Ethernet).
///
/// # Errors
/// A rate out of the range of [`Pps`].
pub fn line_rate(link: BitRate<L1>, size: FrameSize) -> Result<Pps> {
    link.frames(size)
}

impl fmt::Display for Pps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<Layer> fmt::Display for BitRate<Layer> {
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

impl<Layer> TryFrom<f64> for BitRate<Layer> {
    type Error = FrameError;

    fn try_from(bits_per_second: f64) -> Result<Self> {
        Self::new(bits_per_second)
    }
}

impl<Layer> From<BitRate<Layer>> for f64 {
    fn from(rate: BitRate<Layer>) -> Self {
        rate.0
    }
}

/// `100000`, `100k`, `1.5M`, `1.5Mpps`.
impl FromStr for Pps {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let number = scaled(text, &["pps"]);
        Self::new(
            number.ok_or_else(|| FrameError::parse(text, "a frame rate, such as 100000, 100k or 1.5Mpps"))?,
        )
    }
}

/// `1000000000`, `10G`, `2.5Gbps`, `100Mbit`, `1Gbit/s`.
impl<Layer> FromStr for BitRate<Layer> {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let number = scaled(text, &["bit/s", "bps", "bit"]);
        Self::new(number.ok_or_else(|| FrameError::parse(text, "a bit rate, such as 10G or 100Mbit/s"))?)
    }
}

/// A decimal number, an SI multiplier and a unit, the last two optional and without space.
fn scaled(text: &str, units: &[&str]) -> Option<f64> {
    let text = text.trim();
    let bare = units.iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text);
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

    fn floor(link: &str, octets: u32) -> u64 {
        let rate = line_rate(link.parse().unwrap(), FrameSize::new(octets).unwrap()).unwrap();
        rate.get().floor() as u64
    }

    /// Floors of the RFC 2544 appendix B formula at nine link speeds.
    #[test]
    fn line_rates_of_ethernet() {
        let links = ["100M", "1G", "2.5G", "10G", "25G", "40G", "100G", "200G", "400G"];
        let table: [(u32, [u64; 9]); 8] = [
            (64, [148809, 1488095, 3720238, 14880952, 37202380, 59523809, 148809523, 297619047, 595238095]),
            (128, [84459, 844594, 2111486, 8445945, 21114864, 33783783, 84459459, 168918918, 337837837]),
            (256, [45289, 452898, 1132246, 4528985, 11322463, 18115942, 45289855, 90579710, 181159420]),
            (512, [23496, 234962, 587406, 2349624, 5874060, 9398496, 23496240, 46992481, 93984962]),
            (1024, [11973, 119731, 299329, 1197318, 2993295, 4789272, 11973180, 23946360, 47892720]),
            (1280, [9615, 96153, 240384, 961538, 2403846, 3846153, 9615384, 19230769, 38461538]),
            (1518, [8127, 81274, 203185, 812743, 2031859, 3250975, 8127438, 16254876, 32509752]),
            (9018, [1383, 13830, 34576, 138304, 345762, 553219, 1383049, 2766098, 5532197]),
        ];
        for (octets, row) in table {
            for (link, expected) in links.iter().zip(row) {
                assert_eq!(floor(link, octets), expected, "{octets} octets at {link}");
            }
        }
        assert_eq!(floor("10M", 64), 14880);
    }

    #[test]
    fn rates_as_users_write_them() {
        for (text, expected) in
            [("100k", 1e5), ("1.5Mpps", 1.5e6), ("100000", 1e5), ("2G", 2e9), ("1e6", 1e6), ("500pps", 500.0)]
        {
            assert_eq!(text.parse::<Pps>().unwrap().get(), expected, "{text}");
        }
        assert_eq!("1Gbit/s".parse::<BitRate<L1>>().unwrap().get(), 1e9);
        assert_eq!("2.5Gbps".parse::<BitRate<L2>>().unwrap().get(), 2.5e9);
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
        assert!(BitRate::<L1>::new(f64::INFINITY).is_err());
    }

    proptest! {
        #[test]
        fn layers_differ_by_the_link_overhead(rate in 1.0..1e9_f64, octets in 64..9018_u32) {
            let (rate, size) = (Pps::new(rate).unwrap(), FrameSize::new(octets).unwrap());
            let overhead = rate.bit_rate_l1(size).get() - rate.bit_rate_l2(size).get();
            prop_assert!((overhead / (rate.get() * 160.0) - 1.0).abs() < 1e-6);
            let back = rate.bit_rate_l2(size).frames(size).unwrap();
            prop_assert!((back.get() / rate.get() - 1.0).abs() < 1e-12);
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,12}") {
            let _ = text.parse::<Pps>();
            let _ = text.parse::<BitRate<L1>>();
        }
    }
}
