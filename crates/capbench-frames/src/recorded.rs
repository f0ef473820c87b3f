//! Frames of a capture file, in memory, in the order in which they are sent. On a link without Ethernet they are IP packets.

use crate::layout::VlanTag;
use crate::units::FCS_OCTETS;
use crate::{FrameError, FrameSize, Result, Turn};

/// One frame or more, without FCS. A sender repeats them from the first one on.
#[derive(Debug, Clone)]
pub struct RecordedFrames {
    octets: Vec<u8>,
    /// Where each frame ends in `octets`.
    ends: Vec<usize>,
    largest: FrameSize,
    /// Octets of FCS on the link of these frames.
    fcs_octets: u16,
}

impl RecordedFrames {
    /// Octets of the shortest frame: an Ethernet header without a tag.
    pub const SHORTEST: usize = 14;

    /// Memory for each frame besides its octets.
    pub const OVERHEAD: usize = size_of::<usize>();

    /// A first frame, without FCS.
    ///
    /// # Errors
    /// It is shorter than an Ethernet header, or longer than a frame can be.
    pub fn new(first: &[u8]) -> Result<Self> {
        let (octets, ends) = (first.to_vec(), vec![first.len()]);
        Ok(Self { octets, ends, largest: size(first)?, fcs_octets: FCS_OCTETS })
    }

    /// The same as IP packets of a link without Ethernet: [`Self::largest_octets`] and [`Self::mean_octets`] include no FCS.
    #[must_use]
    pub fn without_fcs(self) -> Self {
        Self { fcs_octets: 0, ..self }
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn push(&mut self, frame: &[u8]) -> Result<()> {
        self.largest = self.largest.max(size(frame)?);
        self.octets.extend_from_slice(frame);
        self.ends.push(self.octets.len());
        Ok(())
    }

    /// The last frame, to change its octets.
    pub fn last_mut(&mut self) -> &mut [u8] {
        let begin = self.ends.len().checked_sub(2).map_or(0, |before| self.ends[before]);
        &mut self.octets[begin..]
    }

    /// Number of frames.
    pub fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The longest frame.
    pub fn largest(&self) -> FrameSize {
        self.largest
    }

    /// Octets of the longest frame on its link.
    pub fn largest_octets(&self) -> u64 {
        self.largest.captured() as u64 + u64::from(self.fcs_octets)
    }

    /// Mean size of a frame in octets on its link: FCS included, if there is one.
    pub fn mean_octets(&self) -> f64 {
        self.octets.len() as f64 / self.ends.len() as f64 + f64::from(self.fcs_octets)
    }

    /// Frame `number`, counted from 0 over all repetitions.
    pub fn frame(&self, number: u64) -> &[u8] {
        self.at((number % self.count()) as usize)
    }

    #[inline]
    fn at(&self, index: usize) -> &[u8] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.octets[begin..self.ends[index]]
    }

    /// The frames of a turn, endless. The same as [`Self::frame`], but without divisions.
    pub fn frames(&self, turn: Turn) -> RecordedSequence<'_> {
        let index = |number: u64| (number % self.count()) as usize;
        let (at, stride) = (index(turn.number(0)), index(turn.number(1) - turn.number(0)));
        RecordedSequence { frames: self, at, stride }
    }
}

/// The size of a frame that is recorded without FCS.
///
/// # Errors
/// Ethernet has no such frame.
pub fn size(frame: &[u8]) -> Result<FrameSize> {
    let octets = frame.len() as u64 + u64::from(FCS_OCTETS);
    let allowed = u16::try_from(octets).ok().and_then(|octets| FrameSize::try_from(octets).ok());
    allowed.ok_or(FrameError::FrameSize {
        asked: octets,
        least: RecordedFrames::SHORTEST as u16 + FCS_OCTETS,
        most: crate::units::LARGEST_FRAME_OCTETS,
    })
}

/// Octets of an IP packet's header, without options; `None` if it is neither IPv4 nor IPv6.
pub fn ip_header_octets(packet: &[u8]) -> Option<usize> {
    match packet.first()? >> 4 {
        4 => Some(20),
        6 => Some(40),
        _ => None,
    }
}

/// The MTU that a frame needs. Linux lets one tag of 802.1Q pass beyond the MTU, and no other (`packet_extra_vlan_len_allowed` of
/// net/packet/af_packet.c).
pub fn needed_mtu(frame: &[u8]) -> u32 {
    let header = RecordedFrames::SHORTEST;
    let is_tagged = frame.get(12..header) == Some(&VlanTag::TPID.to_be_bytes());
    frame.len().saturating_sub(if is_tagged { header + 4 } else { header }) as u32
}

/// Recorded frames in the order in which one sender sends them.
#[derive(Debug, Clone)]
pub struct RecordedSequence<'a> {
    frames: &'a RecordedFrames,
    at: usize,
    /// Frames from one of the turn to its next, below the number of frames.
    stride: usize,
}

impl<'a> RecordedSequence<'a> {
    /// Octets of the last frames, FCS included.
    pub fn octets_of_last(&self, frames: u64) -> u64 {
        let count = self.frames.ends.len();
        let mut at = self.at;
        let octets = (0..frames).map(|_| {
            at = if at >= self.stride { at - self.stride } else { at + count - self.stride };
            self.frames.at(at).len() as u64 + u64::from(FCS_OCTETS)
        });
        octets.sum()
    }

    /// The next frame.
    #[inline]
    pub fn next_frame(&mut self) -> &'a [u8] {
        let frame = self.frames.at(self.at);
        self.at += self.stride;
        if self.at >= self.frames.ends.len() {
            self.at -= self.frames.ends.len();
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recorded(lengths: &[usize]) -> RecordedFrames {
        let frame = |(number, length): (usize, &usize)| vec![number as u8; *length];
        let mut frames = lengths.iter().enumerate().map(frame);
        let mut recorded = RecordedFrames::new(&frames.next().unwrap()).unwrap();
        frames.for_each(|frame| recorded.push(&frame).unwrap());
        recorded
    }

    #[test]
    fn frames_that_ethernet_does_not_have_are_refused() {
        assert!(RecordedFrames::new(&[0; 13]).unwrap_err().to_string().contains("frame size 17"));
        let mut frames = RecordedFrames::new(&[0; 14]).unwrap();
        assert!(frames.push(&[0; 65_532]).is_err());
        frames.push(&[1; 65_531]).unwrap();
        assert_eq!((frames.count(), frames.largest().octets()), (2, u16::MAX));
        assert_eq!(frames.mean_octets(), (18.0 + 65_535.0) / 2.0);
        frames.last_mut()[0] = 7;
        assert_eq!((frames.frame(0), &frames.frame(3)[..2]), (&[0; 14][..], &[7, 1][..]));
    }

    #[test]
    fn one_vlan_tag_passes_beyond_the_mtu() {
        let mut frame = [0; 1522];
        assert_eq!(needed_mtu(&frame), 1508);
        frame[12..14].copy_from_slice(&[0x81, 0]);
        assert_eq!(needed_mtu(&frame), 1504);
        frame[12..14].copy_from_slice(&[0x88, 0xa8]);
        assert_eq!(needed_mtu(&frame), 1508);
    }

    proptest! {
        #[test]
        fn senders_in_turn_send_each_frame_once(
            lengths in prop::collection::vec(14..100_usize, 1..20),
            senders in 1..30_u32,
        ) {
            let frames = recorded(&lengths);
            for turn in Turn::of_each(senders.try_into().unwrap()) {
                let mut sequence = frames.frames(turn);
                for nth in 0..50 {
                    prop_assert_eq!(sequence.next_frame(), frames.frame(turn.number(nth)));
                }
            }
        }
    }
}
