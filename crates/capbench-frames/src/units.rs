//! Frame sizes as RFC 2544 counts them, and as capture methods see them.
//!
//! Rates are in [`crate::rates`].

use std::fmt;
use std::str::FromStr;

use crate::{FrameError, Result};

/// Octets of the frame check sequence, which no capture method delivers (IEEE 802.3 3.2.9).
pub const FCS_OCTETS: u16 = 4;

/// Octets on the wire besides the frame: preamble, start of frame and the gap between two frames (IEEE 802.3).
pub const WIRE_OVERHEAD_OCTETS: f64 = 20.0;

/// The smallest legal Ethernet frame, FCS included (IEEE 802.3 `minFrameSize`).
pub const LEAST_FRAME_OCTETS: u16 = 64;

/// The largest frame that this crate creates, FCS included. Its network-layer length stays below 64 KiB.
pub const LARGEST_FRAME_OCTETS: u16 = u16::MAX;

/// The smallest runt: an Ethernet header and the FCS.
const LEAST_RUNT_OCTETS: u16 = 18;

/// A frame size in octets, from the destination address to the FCS, both included (RFC 1242 3.5).
///
/// It includes a VLAN tag. [`captured`](Self::captured) is the size that a capture method sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameSize(u16);

impl FrameSize {
    /// The smallest legal Ethernet frame.
    pub const LEAST: Self = Self(LEAST_FRAME_OCTETS);

    /// A legal Ethernet frame size.
    ///
    /// # Errors
    /// Fewer than 64 octets or more than [`LARGEST_FRAME_OCTETS`].
    pub fn new(octets: u32) -> Result<Self> {
        Self::within(octets, LEAST_FRAME_OCTETS, LARGEST_FRAME_OCTETS)
    }

    /// A deliberately short frame, as in `dain-2004` (62 octets). A virtual link carries it unchanged,
    /// a real one pads it to 64.
    ///
    /// # Errors
    /// Fewer than 18 octets (header and FCS), or a size that is no runt.
    pub fn runt(octets: u32) -> Result<Self> {
        Self::within(octets, LEAST_RUNT_OCTETS, LEAST_FRAME_OCTETS - 1)
    }

    fn within(octets: u32, least: u16, most: u16) -> Result<Self> {
        match u16::try_from(octets) {
            Ok(size) if (least..=most).contains(&size) => Ok(Self(size)),
            _ => Err(FrameError::FrameSize { asked: octets.into(), least, most }),
        }
    }

    /// The size of a frame that a capture method sees with `octets` octets, legal or runt.
    pub const fn of_captured(octets: u16) -> Self {
        Self(octets + FCS_OCTETS)
    }

    /// Octets, FCS included.
    pub const fn octets(self) -> u16 {
        self.0
    }

    /// Octets without the FCS, as seen by capture methods and passed to transmit methods.
    pub const fn captured(self) -> usize {
        (self.0 - FCS_OCTETS) as usize
    }

    /// Whether it is below the smallest legal Ethernet frame.
    pub const fn is_runt(self) -> bool {
        self.0 < LEAST_FRAME_OCTETS
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FrameSize {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let octets = text.trim().parse::<u32>();
        Self::new(octets.map_err(|_| FrameError::parse(text, "a frame size in octets, such as 64 or 1518"))?)
    }
}

/// A size that may be a runt.
impl TryFrom<u16> for FrameSize {
    type Error = FrameError;

    fn try_from(octets: u16) -> Result<Self> {
        Self::within(octets.into(), LEAST_RUNT_OCTETS, LARGEST_FRAME_OCTETS)
    }
}

/// The maximum transmission unit of an interface: octets of the network-layer packet (RFC 1122 3.3.3).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Mtu(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_the_fcs_and_captures_do_not() {
        let size = FrameSize::new(64).unwrap();
        assert_eq!((size.octets(), size.captured()), (64, 60));
        assert!(!size.is_runt());
    }

    #[test]
    fn bounds_are_named_in_the_message() {
        let small = FrameSize::new(63).unwrap_err().to_string();
        assert_eq!(small, "frame size 63 is not allowed: 64 to 65535 octets, the 4-octet FCS included");
        assert!(FrameSize::new(9018).is_ok());
        assert!(FrameSize::new(65_536).is_err());
        assert!(
            "jumbo".parse::<FrameSize>().unwrap_err().to_string().contains("'jumbo' is not a frame size")
        );
        assert!("-64".parse::<FrameSize>().is_err());
    }

    #[test]
    fn runts_are_made_on_purpose_only() {
        assert_eq!(FrameSize::runt(62).unwrap().captured(), 58);
        assert!(FrameSize::runt(64).is_err());
        assert!(FrameSize::runt(17).is_err());
        assert!(FrameSize::try_from(62_u16).unwrap().is_runt());
    }
}
