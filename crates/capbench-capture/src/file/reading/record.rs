//! What a reader gives.

use capbench_sys::packet::Frame;

use super::super::description::{InterfaceDescription, SectionDescription};
use super::super::facts::{PacketFacts, flags_of, packet_type_of, status_of};
use super::super::statistics::InterfaceStatistics;

/// A record of a file, borrowed from its reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A section begins, and with it the numbers of interfaces. A pcap file is one section.
    Section(&'a SectionDescription),
    /// An interface, numbered in its section from 0 on. A pcap file has one, without a description.
    Interface(u32, &'a ReadInterface),
    /// A frame.
    Packet(Packet<'a>),
    /// Counters of an interface.
    Statistics(InterfaceStatistics),
}

/// An interface of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadInterface {
    /// `LINKTYPE_…` of its frames; see [`super::super::ETHERNET`].
    pub link_type: u16,
    /// Octets captured of each frame at most; 0 when there is no limit.
    pub snap: u32,
    /// What the file says of it.
    pub description: InterfaceDescription,
    /// Units of its times.
    pub(super) units: Units,
}

/// How an interface's times are counted (`if_tsresol`, `if_tsoffset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// Units in a second; 0 when 128 bits do not hold them.
    per_second: u128,
    /// Seconds to add.
    pub(super) offset: i64,
}

impl Default for Units {
    fn default() -> Self {
        Self { per_second: 1_000_000, offset: 0 }
    }
}

impl Units {
    /// From the octet of `if_tsresol`: a negative power of 10, or of 2 when the first bit is set.
    pub(super) fn set_resolution(&mut self, resolution: u8) {
        let (base, power) = (if resolution & 0x80 == 0 { 10_u128 } else { 2 }, resolution & 0x7f);
        self.per_second = base.checked_pow(power.into()).unwrap_or(0);
    }

    /// Nanoseconds since the epoch, rounded down; what 64 bits of them cannot say is the nearest that they can.
    #[inline]
    pub(super) fn nanoseconds(self, units: u64) -> u64 {
        if self.per_second == 1_000_000_000 && self.offset == 0 {
            return units;
        }
        // Of units that are too small for 128 bits, 64 bits are no nanosecond.
        let scaled = u128::from(units) * 1_000_000_000;
        let ns = scaled.checked_div(self.per_second).unwrap_or(0) as i128;
        (ns + i128::from(self.offset) * 1_000_000_000).clamp(0, u64::MAX.into()) as u64
    }
}

/// A frame of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of its interface in its section.
    pub interface: u32,
    /// Its octets, as far as they were captured.
    pub data: &'a [u8],
    /// Octets that it had on the wire. A file may say less than were captured.
    pub original_length: u32,
    /// Nanoseconds since the epoch; absent where the record has no time (simple packet blocks).
    pub time_ns: Option<u64>,
    /// Frames lost between the previous one of its interface and this one, where that is told.
    pub dropped: Option<u64>,
    /// The flags word (draft-ietf-opsawg-pcapng, section 4.3.1), where there is one.
    pub flags: Option<u32>,
    /// The receive queue, where it is told.
    pub queue: Option<u32>,
    /// The first hash, where there is one.
    pub hash: Option<PacketHash<'a>>,
}

/// A hash of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHash<'a> {
    /// The algorithm's number in the format.
    pub algorithm: u8,
    /// The hash, as it stands in the file.
    pub value: &'a [u8],
}

impl<'a> Packet<'a> {
    /// It as a captured frame; the VLAN tag stands in its octets.
    pub fn frame(&self) -> Frame<'a> {
        let flags = self.flags.unwrap_or(0);
        let hash = self.hash.and_then(|hash| <[u8; 4]>::try_from(hash.value).ok());
        Frame {
            data: self.data,
            wire_length: self.original_length,
            time_ns: self.time_ns.unwrap_or(0),
            vlan: None,
            packet_type: packet_type_of(flags),
            hash: hash.map(u32::from_be_bytes),
            status: status_of(flags),
        }
    }

    /// How many of its flags word and its hash a captured frame has only a part of, or nothing.
    pub(crate) fn beyond_frame(&self) -> u64 {
        let frame = self.frame();
        let is_in_part = self.flags.unwrap_or(0) != flags_of(&frame);
        u64::from(is_in_part) + u64::from(self.hash.is_some() && frame.hash.is_none())
    }

    /// What is known of it beside that.
    pub fn facts(&self) -> PacketFacts {
        PacketFacts { interface: self.interface, queue: self.queue, dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::Units;

    #[test]
    fn times_of_any_resolution_become_nanoseconds() {
        let ns = |resolution: u8, offset: i64, units: u64| {
            let mut of = Units { offset, ..Units::default() };
            of.set_resolution(resolution);
            of.nanoseconds(units)
        };
        assert_eq!(Units::default().nanoseconds(7), 7000);
        assert_eq!(ns(9, 0, u64::MAX), u64::MAX);
        assert_eq!(ns(0, 0, 7), 7_000_000_000);
        assert_eq!(ns(12, 0, 1_999), 1);
        assert_eq!(ns(19, 0, u64::MAX), 1_844_674_407);
        assert_eq!(ns(0x80 | 10, 0, 1025), 1_000_976_562);
        assert_eq!(ns(0x80 | 64, 0, u64::MAX), 999_999_999);
        assert_eq!(ns(9, 1_700_000_000, 5), 1_700_000_000_000_000_005);
        assert_eq!(ns(9, -2, 1_000_000_000), 0, "before the epoch is the epoch");
        assert_eq!(ns(0, 0, u64::MAX), u64::MAX, "and after the end of 64 bits their end");
        for resolution in 0..=255 {
            for offset in [0, i64::MIN, i64::MAX] {
                ns(resolution, offset, u64::MAX);
            }
        }
    }
}
