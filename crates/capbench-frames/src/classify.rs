//! Classifies received frames: of this trial or not, intact or damaged.

use crate::checksum::{fold, sum_native};
use crate::head::Head;
use crate::head_match::HeadMatch;
use crate::layout::{
    DESTINATION_PORT, ETHERNET_OCTETS, FIRST_SOURCE_PORT, NETWORK_V4_OCTETS, NETWORK_V6_OCTETS, STREAM_AT,
    TAG_OCTETS,
};
use crate::stamp::STAMP_OCTETS;
use crate::units::{FCS_OCTETS, LEAST_FRAME_OCTETS};
use crate::{Flow, FrameError, FrameLayout, Network, Result, Stamp, Transport, TrialId, VlanTag};

/// Network-layer octets of the smallest frame: hardware pads shorter frames to this (IEEE 802.3 3.2.8).
const PADDED_OCTETS: usize = (LEAST_FRAME_OCTETS - FCS_OCTETS) as usize - ETHERNET_OCTETS;

/// The class of a captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameClass {
    /// A frame of this trial, intact as far as it was captured.
    Own(Stamp),
    /// A frame to the address and port of generated frames, with a wrong header field, length or checksum.
    Corrupt,
    /// Such a frame, captured with fewer octets than the snapshot length allows.
    Truncated,
    /// Any other frame: other traffic, or an intact frame of another trial.
    Foreign,
}

/// The capture method's metadata on a VLAN tag. The kernel removes a tag from the frame on receipt and keeps it in metadata
/// (`struct tpacket_auxdata`, packet(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagMetadata {
    /// No tag was removed.
    Absent,
    /// This tag was removed.
    Stripped(VlanTag),
    /// The method has no such metadata. A frame without the layout's tag is accepted.
    Unknown,
}

/// Classifies the frames of one trial.
///
/// A snapshot length cuts frames on purpose. The captured octets are verified, including the checksum, because the missing
/// octets are known to be zero. [`Classifier::new`] refuses a snapshot length that cuts off the stamp, because no frame could
/// be accounted for.
#[derive(Debug, Clone)]
pub struct Classifier {
    trial: TrialId,
    layout: FrameLayout,
    /// The head of flow 0, for comparison.
    head: Head,
    /// The same for whole frames, compared in machine words.
    whole: HeadMatch,
    /// Octets from the network header to the end of the stamp.
    stamp_end: usize,
    /// Maximum number of octets that the capture method delivers of a frame.
    snaplen: usize,
}

impl Classifier {
    /// A classifier for the frames of one trial and layout, captured with up to `snaplen` octets, or whole if `None`.
    ///
    /// # Errors
    /// A snapshot length that cuts off the stamp.
    pub fn new(trial: TrialId, layout: &FrameLayout, snaplen: Option<u32>) -> Result<Self> {
        let least = layout.network_at() + layout.stamp_end();
        let octets = snaplen.map_or(usize::MAX, |asked| asked as usize);
        if let Some(asked) = snaplen
            && octets < least
        {
            return Err(FrameError::Snaplen { asked, layout: layout.to_string(), least });
        }
        let head = Head::new(layout, Flow::FIRST);
        let whole = HeadMatch::new(layout, &head);
        Ok(Self { trial, layout: *layout, head, whole, stamp_end: layout.stamp_end(), snaplen: octets })
    }

    /// Classifies a frame. `captured` are its octets without FCS. `wire_length` is its full length when captured (without FCS
    /// and without a removed tag, as in `tp_len`). Never panics, for any octets.
    #[inline]
    pub fn look(&self, captured: &[u8], wire_length: u32, tag: TagMetadata) -> FrameClass {
        if captured.len() == wire_length as usize
            && self.stripped_tag_fits(tag)
            && let Some(stamp) = self.whole.stamp(captured)
        {
            return if stamp.trial == self.trial { FrameClass::Own(stamp) } else { FrameClass::Foreign };
        }
        self.look_closely(captured, wire_length as usize, tag)
    }

    /// The trial of a frame that is addressed as generated frames of this layout are, by its stamp, intact or not.
    #[cold]
    pub fn trial_of(&self, captured: &[u8]) -> Option<TrialId> {
        let network_at = network_at(captured);
        let packet = captured.get(network_at..).filter(|packet| packet.len() >= self.stamp_end)?;
        self.is_addressed_to_us(captured, packet, network_at).then(|| self.stamp(packet).trial)
    }

    /// Whether the removed tag of a frame without inline tag is the layout's.
    #[inline]
    fn stripped_tag_fits(&self, tag: TagMetadata) -> bool {
        match (self.layout.vlan, tag) {
            (None, TagMetadata::Absent | TagMetadata::Unknown) | (Some(_), TagMetadata::Unknown) => true,
            (Some(wanted), TagMetadata::Stripped(found)) => wanted == found,
            _ => false,
        }
    }

    /// Any frame: cut, padded, tagged, damaged, or foreign.
    fn look_closely(&self, captured: &[u8], wire_length: usize, tag: TagMetadata) -> FrameClass {
        let network_at = network_at(captured);
        let inline = network_at > ETHERNET_OCTETS;
        let cut_short = captured.len() < wire_length.min(self.snaplen);
        let Some(packet) = captured.get(network_at..).filter(|packet| packet.len() >= self.stamp_end) else {
            return self.look_at_stub(captured, cut_short);
        };
        if !self.is_addressed_to_us(captured, packet, network_at) {
            return FrameClass::Foreign;
        }
        let stamp = self.stamp(packet);
        let verified = self.is_verified(packet, wire_length - network_at.min(wire_length));
        if stamp.trial != self.trial && (verified || cut_short) {
            return FrameClass::Foreign;
        }
        if cut_short {
            return FrameClass::Truncated;
        }
        if verified && self.fits_layout(captured, packet, stamp) && self.tag_fits(captured, inline, tag) {
            FrameClass::Own(stamp)
        } else {
            FrameClass::Corrupt
        }
    }

    /// Too few octets for a stamp. The frame is ours if the Ethernet destination matches; nothing else identifies it.
    #[cold]
    fn look_at_stub(&self, captured: &[u8], cut_short: bool) -> FrameClass {
        if cut_short && captured.get(..6) == Some(&self.layout.destination.0) {
            FrameClass::Truncated
        } else {
            FrameClass::Foreign
        }
    }

    /// Whether the fields that only generated traffic has are present: protocol, destination address of the benchmarking
    /// range, destination port.
    fn is_addressed_to_us(&self, captured: &[u8], packet: &[u8], network_at: usize) -> bool {
        let expected = self.expected();
        let own_network_at = self.layout.network_at();
        let ether_type =
            self.head.octets[own_network_at - 2..own_network_at] == captured[network_at - 2..network_at];
        let port = packet[self.transport_at() + 2..self.transport_at() + 4] == DESTINATION_PORT.to_be_bytes();
        let address = match self.layout.network {
            Network::V4 => {
                packet[0] == expected[0] && packet[9] == expected[9] && packet[16..20] == expected[16..20]
            }
            Network::V6 => {
                packet[0] >> 4 == expected[0] >> 4
                    && packet[6] == expected[6]
                    && packet[24..40] == expected[24..40]
            }
        };
        ether_type && address && port
    }

    /// The stamp of a packet that is long enough.
    fn stamp(&self, packet: &[u8]) -> Stamp {
        let segment = &packet[self.transport_at()..];
        let mut stamp = [0; STAMP_OCTETS];
        match self.layout.transport {
            Transport::Udp => stamp.copy_from_slice(&segment[8..8 + STAMP_OCTETS]),
            Transport::Tcp => {
                stamp[..8].copy_from_slice(&segment[4..12]);
                stamp[8..].copy_from_slice(&segment[18..24]);
            }
        }
        Stamp::from_bytes(stamp)
    }

    /// Whether lengths and checksums are correct. `wire_length` counts from the network header.
    fn is_verified(&self, packet: &[u8], wire_length: usize) -> bool {
        let transport_at = self.transport_at();
        let length = match self.layout.network {
            Network::V4 => get(packet, 2),
            Network::V6 => get(packet, 4) + NETWORK_V6_OCTETS,
        };
        // A real link may have padded a short frame; the padding can have any content.
        let padded = length < wire_length && wire_length <= PADDED_OCTETS;
        if (length != wire_length && !padded) || length < self.stamp_end || packet.len() > wire_length {
            return false;
        }
        // The octets cut by a snapshot length are zero and add nothing to the sum.
        let segment = &packet[transport_at..length.min(packet.len())];
        let segment_length = length - transport_at;
        let (addresses, protocol) = match self.layout.network {
            Network::V4 if fold(sum_native(&packet[..NETWORK_V4_OCTETS])) != u16::MAX => return false,
            Network::V4 => (&packet[12..20], packet[9]),
            Network::V6 => (&packet[8..40], packet[6]),
        };
        if self.layout.transport == Transport::Udp && get(segment, 4) != segment_length {
            return false;
        }
        let sum = sum_native(addresses)
            + sum_native(segment)
            + u64::from(u16::from_ne_bytes([0, protocol]))
            + u64::from((segment_length as u16).to_be());
        fold(sum) == u16::MAX
    }

    /// Whether the flow, and the fields that no checksum covers, match the layout.
    fn fits_layout(&self, captured: &[u8], packet: &[u8], stamp: Stamp) -> bool {
        let expected = self.expected();
        let transport_at = self.transport_at();
        let flow = (get(packet, transport_at)).wrapping_sub(usize::from(FIRST_SOURCE_PORT));
        let network = match self.layout.network {
            Network::V4 => {
                packet[..2] == expected[..2]
                    && packet[4..10] == expected[4..10]
                    && packet[12..14] == expected[12..14]
                    && get(packet, 14) == get(expected, 14).wrapping_add(flow)
            }
            Network::V6 => {
                packet[..4] == expected[..4]
                    && packet[6..22] == expected[6..22]
                    && get(packet, 22) == get(expected, 22).wrapping_add(flow)
            }
        };
        let mut addresses = [0; 12];
        addresses.copy_from_slice(&self.head.octets[..12]);
        addresses[STREAM_AT] = addresses[STREAM_AT].wrapping_add(stamp.stream.0);
        network && flow < self.layout.flows.get() as usize && captured[..12] == addresses
    }

    fn tag_fits(&self, captured: &[u8], inline: bool, tag: TagMetadata) -> bool {
        match (self.layout.vlan, inline, tag) {
            (Some(wanted), true, _) => captured[14..16] == wanted.tci.to_be_bytes(),
            (Some(wanted), false, TagMetadata::Stripped(found)) => wanted == found,
            (Some(_), false, TagMetadata::Unknown) => true,
            (Some(_), false, TagMetadata::Absent) => false,
            (None, inline, tag) => !inline && !matches!(tag, TagMetadata::Stripped(_)),
        }
    }

    fn transport_at(&self) -> usize {
        self.layout.network_octets()
    }

    /// The expected packet, from its network header on.
    fn expected(&self) -> &[u8] {
        &self.head.octets[self.layout.network_at()..]
    }
}

/// Where the network header begins, behind a tag among the octets.
fn network_at(captured: &[u8]) -> usize {
    let is_tagged = captured.get(12..14) == Some(&VlanTag::TPID.to_be_bytes());
    if is_tagged { ETHERNET_OCTETS + TAG_OCTETS } else { ETHERNET_OCTETS }
}

#[inline]
fn get(octets: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([octets[at], octets[at + 1]]))
}

#[cfg(test)]
mod tests;
