//! Sizes as users write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::ParseError;

/// A number of bytes. Written with binary suffixes: `64MiB`, `256KiB`, `4096B`; also read as `64M` and, in powers of 1000, `64MB`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct ByteCount(pub u64);

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, suffix) = text.split_at(digits);
        // As in dd(1): K and KiB are 1024 bytes, kB is 1000.
        let unit: u64 = match suffix {
            "" | "B" => 1,
            "k" | "K" | "KiB" => 1 << 10,
            "M" | "MiB" => 1 << 20,
            "G" | "GiB" => 1 << 30,
            "kB" | "KB" => 1000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            _ => return Err(ParseError::Size(text.into()).to_string()),
        };
        let number: u64 = number.parse().map_err(|_| ParseError::Size(text.into()).to_string())?;
        number
            .checked_mul(unit)
            .filter(|&bytes| bytes > 0)
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is out of range"))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Exact where few digits suffice, so that the printed value can be parsed back.
        for (shift, suffix) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            let count = self.0 >> shift;
            if (1..100_000).contains(&count) && self.0.trailing_zeros() >= shift {
                return write!(f, "{count}{suffix}");
            }
        }
        match self.0 {
            many if many >= 1 << 30 => write!(f, "{:.1}GiB", many as f64 / f64::from(1 << 30)),
            many if many >= 100_000 => write!(f, "{:.1}MiB", many as f64 / f64::from(1 << 20)),
            few => write!(f, "{few}B"),
        }
    }
}

/// Maximum number of octets captured of each frame.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(from = "u32", into = "u32")]
pub struct SnapLength(u32);

impl From<u32> for SnapLength {
    fn from(octets: u32) -> Self {
        Self::new(octets)
    }
}

impl From<SnapLength> for u32 {
    fn from(length: SnapLength) -> Self {
        length.0
    }
}

impl SnapLength {
    /// tcpdump's default: in practice everything.
    pub const EVERYTHING: Self = Self(262_144);
    /// Addresses and type of a frame.
    pub const ETHERNET_HEADER: Self = Self(14);

    /// A limit. 0 and values above the default mean the default, as for tcpdump(8).
    pub fn new(octets: u32) -> Self {
        if octets == 0 { Self::EVERYTHING } else { Self(octets.min(Self::EVERYTHING.0)) }
    }

    /// The number of octets.
    pub const fn octets(self) -> u32 {
        self.0
    }

    /// Whether it can cut frames.
    pub fn cuts(self) -> bool {
        self < Self::EVERYTHING
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteCount, SnapLength};

    #[test]
    fn sizes_are_read_and_written_alike() {
        for text in ["1B", "4096B", "4KiB", "64MiB", "3GiB"] {
            let size: ByteCount = text.parse().unwrap();
            assert_eq!(size, size.to_string().parse().unwrap());
        }
        assert_eq!("4096".parse::<ByteCount>().unwrap().to_string(), "4KiB");
        assert_eq!(ByteCount(24_250_212 << 10).to_string(), "23.1GiB");
        let of = |text: &str| text.parse::<ByteCount>().unwrap().0;
        assert_eq!(
            [of("64K"), of("64kB"), of("10M"), of("4MB"), of("1G")],
            [65_536, 64_000, 10 << 20, 4_000_000, 1 << 30]
        );
        for text in ["", "0", "MiB", "64Mb", "64m", "-1", "1.5MiB", "99999999999GiB"] {
            assert!(text.parse::<ByteCount>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_snap_length_of_0_means_everything() {
        assert_eq!(SnapLength::new(0), SnapLength::EVERYTHING);
        assert!(SnapLength::new(96).cuts());
        assert!(!SnapLength::new(u32::MAX).cuts());
    }
}
