//! The stamp that makes every generated frame countable without a kernel counter.
//!
//! 14 octets, big-endian: trial 16 bits, stream 8, sequence number 40, planned send time 48. UDP carries it as the first 14
//! octets of payload. TCP carries octets 0..4 as sequence number, 4..8 as acknowledgement number, 8..10 as urgent pointer and
//! 10..14 as the first payload octets. So the 58-octet frame of `dain-2004` (54 of headers, 4 of payload) contains the whole
//! stamp. It has no checksum: that of UDP or TCP covers it.

use serde::{Deserialize, Serialize};

/// Octets of a stamp.
pub const STAMP_OCTETS: usize = 14;

/// Bits of the planned send time: 2^48 ns are 3.2 days.
const TIME_BITS: u32 = 48;
/// Bits of the sequence number: 2^40 frames are 20 hours at 15 million a second.
const SEQUENCE_BITS: u32 = 40;
/// Bits of the stream.
const STREAM_BITS: u32 = 8;

/// The trial of a frame within a run. It distinguishes leftovers of the previous trial.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct TrialId(pub u16);

/// The sender of a frame within a trial. Each sender counts its sequence from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct StreamId(pub u8);

impl StreamId {
    /// How many there are.
    pub const COUNT: u16 = 1 << u8::BITS;
}

/// The content of a frame's stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The trial.
    pub trial: TrialId,
    /// The sender within the trial.
    pub stream: StreamId,
    /// Number of the frame in its stream, from 0. 40 bits are stored.
    pub sequence: u64,
    /// Planned send time in nanoseconds since the trial started. 48 bits are stored.
    pub planned_ns: u64,
}

impl Stamp {
    /// The largest sequence number of a stamp.
    pub const LAST_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;
    /// The latest planned send time of a stamp, in nanoseconds.
    pub const LAST_PLANNED_NS: u64 = (1 << TIME_BITS) - 1;

    /// Encodes the stamp.
    #[inline]
    pub fn to_bytes(self) -> [u8; STAMP_OCTETS] {
        let high = u64::from(self.trial.0) << (STREAM_BITS + SEQUENCE_BITS)
            | u64::from(self.stream.0) << SEQUENCE_BITS
            | self.sequence & Self::LAST_SEQUENCE;
        let mut bytes = [0; STAMP_OCTETS];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&self.planned_ns.to_be_bytes()[2..]);
        bytes
    }

    /// Decodes a stamp. Any octets are a valid stamp.
    #[inline]
    pub fn from_bytes(bytes: [u8; STAMP_OCTETS]) -> Self {
        let [a, b, stream, s4, s3, s2, s1, s0, t5, t4, t3, t2, t1, t0] = bytes;
        Self {
            trial: TrialId(u16::from_be_bytes([a, b])),
            stream: StreamId(stream),
            sequence: u64::from_be_bytes([0, 0, 0, s4, s3, s2, s1, s0]),
            planned_ns: u64::from_be_bytes([0, 0, t5, t4, t3, t2, t1, t0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn octets_are_in_the_documented_order() {
        let stamp = Stamp {
            trial: TrialId(0x0102),
            stream: StreamId(0x03),
            sequence: 0x04_0506_0708,
            planned_ns: 0x090a_0b0c_0d0e,
        };
        assert_eq!(stamp.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    }

    proptest! {
        #[test]
        fn every_stamp_survives(trial: u16, stream: u8, sequence in 0..=Stamp::LAST_SEQUENCE,
                                planned_ns in 0..=Stamp::LAST_PLANNED_NS) {
            let stamp = Stamp { trial: TrialId(trial), stream: StreamId(stream), sequence, planned_ns };
            prop_assert_eq!(Stamp::from_bytes(stamp.to_bytes()), stamp);
        }

        #[test]
        fn every_octet_counts(bytes: [u8; STAMP_OCTETS]) {
            prop_assert_eq!(Stamp::from_bytes(bytes).to_bytes(), bytes);
        }
    }
}
