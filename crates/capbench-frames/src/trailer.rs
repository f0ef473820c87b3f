//! The stamp at the end of a frame with any headers: the last 18 octets before the FCS, a [`Stamp`] and a check of it.
//!
//! A [`Classifier`](crate::Classifier) knows the headers of a trial, and so where the stamp is. Frames of a stack can have any
//! headers, and a network card can take a VLAN tag away. The end of the frame stays where it is, because Ethernet pads only
//! frames below 64 octets: those carry no trailer.

use crate::stamp::{STAMP_OCTETS, Stamp, TrialId};

/// Octets of a trailer.
pub const TRAILER_OCTETS: usize = STAMP_OCTETS + size_of::<u32>();

/// Mixed into the check, so that octets of other programs do not pass by their structure.
const SALT: u64 = 0x6361_7062_656e_6368;

/// A function of all octets of a stamp, each bit of which changes about half of the result's bits (the finaliser of SplitMix64).
/// Random octets pass it once in 2^32 frames.
#[inline]
fn check(stamp: &[u8; STAMP_OCTETS]) -> u32 {
    let [a, b, c, d, e, f, g, h, rest @ ..] = *stamp;
    let [i, j, k, l, m, n] = rest;
    let first = mix(u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ SALT);
    (mix(first ^ u64::from_be_bytes([0, 0, i, j, k, l, m, n])) >> 32) as u32
}

#[inline]
const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The octets of a trailer.
#[inline]
pub fn encode(stamp: Stamp) -> [u8; TRAILER_OCTETS] {
    let stamp = stamp.to_bytes();
    let mut trailer = [0; TRAILER_OCTETS];
    trailer[..STAMP_OCTETS].copy_from_slice(&stamp);
    trailer[STAMP_OCTETS..].copy_from_slice(&check(&stamp).to_be_bytes());
    trailer
}

/// Reads the trailers of one trial.
#[derive(Debug, Clone, Copy)]
pub struct TrailerReader {
    trial: TrialId,
}

impl TrailerReader {
    /// Of this trial.
    pub const fn new(trial: TrialId) -> Self {
        Self { trial }
    }

    /// The stamp of a whole frame without FCS; `None` if it is no frame of the trial, or was changed.
    #[inline]
    pub fn read(&self, frame: &[u8]) -> Option<Stamp> {
        read(frame).filter(|stamp| stamp.trial == self.trial)
    }
}

/// The stamp of a whole frame without FCS, of any trial; `None` if it has none, or was changed.
#[inline]
pub fn read(frame: &[u8]) -> Option<Stamp> {
    let trailer = frame.last_chunk::<TRAILER_OCTETS>()?;
    let (octets, expected) = (trailer.first_chunk()?, trailer.last_chunk()?);
    (check(octets) == u32::from_be_bytes(*expected)).then(|| Stamp::from_bytes(*octets))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stamp_is_read_whatever_is_in_front_of_it(
            octets: [u8; STAMP_OCTETS], head in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let stamp = Stamp::from_bytes(octets);
            let frame = [&head[..], &encode(stamp)].concat();
            prop_assert_eq!(TrailerReader::new(stamp.trial).read(&frame), Some(stamp));
            prop_assert_eq!(TrailerReader::new(TrialId(!stamp.trial.0)).read(&frame), None);
            prop_assert_eq!(TrailerReader::new(stamp.trial).read(&frame[..frame.len() - 1]), None);
        }

        #[test]
        fn a_changed_bit_is_noticed(octets: [u8; STAMP_OCTETS], bit in 0..8 * TRAILER_OCTETS) {
            let stamp = Stamp::from_bytes(octets);
            let mut frame = encode(stamp);
            frame[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(TrailerReader::new(stamp.trial).read(&frame), None);
        }
    }

    /// 2^20 random frames of the right trial: one in 4096 runs of this test would see a false one, and the seed is fixed.
    #[test]
    fn octets_of_others_are_no_trailer() {
        use rand_core::{Rng, SeedableRng};
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let reader = TrailerReader::new(TrialId(7));
        let mut frame = [0; 60];
        for _ in 0..1 << 20 {
            random.fill_bytes(&mut frame);
            frame[60 - TRAILER_OCTETS..][..2].copy_from_slice(&7_u16.to_be_bytes());
            assert_eq!(reader.read(&frame), None);
        }
        assert_eq!(TrailerReader::new(TrialId(0)).read(&[0; 60]), None);
    }
}
