//! Tells the frames of a trial from everything else, on the receiving side, and intact ones from damaged ones.

use crate::checksum::{fold, sum_native};
use crate::error::{Result, TrafficError};
use crate::head::Head;
use crate::head_match::HeadMatch;
use crate::layout::{
    DESTINATION_PORT, ETHERNET_OCTETS, FIRST_SOURCE_PORT, Flow, FrameLayout, NETWORK_V4_OCTETS,
    NETWORK_V6_OCTETS, Network, TAG_OCTETS, Transport, VlanTag,
};
use crate::stamp::{STAMP_OCTETS, Stamp, TrialId};
use crate::units::{FCS_OCTETS, LEAST_FRAME_OCTETS};

/// The network layer's part of the least frame: hardware pads shorter ones to it (IEEE 802.3 3.2.8).
const PADDED_OCTETS: usize = (LEAST_FRAME_OCTETS - FCS_OCTETS) as usize - ETHERNET_OCTETS;

/// What a captured frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A frame of this trial, unharmed as far as it was captured.
    Ours(Stamp),
    /// A frame sent to the address and port of generated frames, of which a header field, a length or a checksum
    /// is wrong.
    Corrupt,
    /// Such a frame, of which fewer octets were captured than the snapshot length allows.
    Truncated,
    /// Anything else: other traffic, or an unharmed frame of another trial.
    Foreign,
}

/// What the capture method knows of a VLAN tag beside the octets of the frame. The kernel takes a tag out of the
/// frame on receipt and keeps it in metadata (`struct tpacket_auxdata`, packet(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagMetadata {
    /// No tag was taken out.
    Absent,
    /// This tag was taken out.
    Stripped(VlanTag),
    /// The method has no such metadata: a frame without the tag of the layout is accepted.
    Unknown,
}

/// Recognises the frames of one trial.
///
/// With a snapshot length, frames are cut on purpose: what is there is verified, including the checksum, because
/// the octets that were cut off are known to be zero. A snapshot length that cuts off the stamp is refused by
/// [`Recogniser::new`], since nothing could be accounted for.
#[derive(Debug, Clone)]
pub struct Recogniser {
    trial: TrialId,
    layout: FrameLayout,
    /// The head of flow 0, to compare with.
    head: Head,
    /// The same for whole frames, in machine words.
    whole: HeadMatch,
    /// Octets from the network header to the end of the stamp.
    stamp_end: usize,
    /// Octets that the capture method delivers of a frame at most.
    snaplen: usize,
}

impl Recogniser {
    /// A recogniser for the frames of one trial and layout, captured with `snaplen` octets at most, `None` for all.
    ///
    /// # Errors
    /// A snapshot length that cuts off the stamp.
    pub fn new(trial: TrialId, layout: &FrameLayout, snaplen: Option<u32>) -> Result<Self> {
        let least = layout.network_at() + layout.stamp_end();
        let octets = snaplen.map_or(usize::MAX, |asked| asked as usize);
        if let Some(asked) = snaplen
            && octets < least
        {
            return Err(TrafficError::Snaplen { asked, layout: layout.to_string(), least });
        }
        let head = Head::new(layout, Flow::FIRST);
        let whole = HeadMatch::new(layout, &head);
        Ok(Self { trial, layout: *layout, head, whole, stamp_end: layout.stamp_end(), snaplen: octets })
    }

    /// What this frame is. `captured` are its octets without FCS, `wire_length` how many there were when it was
    /// captured (without FCS and without a stripped tag, as in `tp_len`). Never panics, whatever the octets.
    #[inline]
    pub fn look(&self, captured: &[u8], wire_length: u32, tag: TagMetadata) -> Seen {
        if captured.len() == wire_length as usize
            && self.stripped_tag_fits(tag)
            && let Some(stamp) = self.whole.stamp(captured)
        {
            return if stamp.trial == self.trial { Seen::Ours(stamp) } else { Seen::Foreign };
        }
        self.look_closely(captured, wire_length as usize, tag)
    }

    /// Whether a frame without inline tag has what the layout wants.
    #[inline]
    fn stripped_tag_fits(&self, tag: TagMetadata) -> bool {
        match (self.layout.vlan, tag) {
            (None, TagMetadata::Absent | TagMetadata::Unknown) | (Some(_), TagMetadata::Unknown) => true,
            (Some(wanted), TagMetadata::Stripped(found)) => wanted == found,
            _ => false,
        }
    }

    /// Any frame: cut, padded, tagged, damaged, of others.
    fn look_closely(&self, captured: &[u8], wire_length: usize, tag: TagMetadata) -> Seen {
        let inline = captured.get(12..14) == Some(&VlanTag::TPID.to_be_bytes());
        let network_at = if inline { ETHERNET_OCTETS + TAG_OCTETS } else { ETHERNET_OCTETS };
        let cut_short = captured.len() < wire_length.min(self.snaplen);
        let Some(packet) = captured.get(network_at..).filter(|packet| packet.len() >= self.stamp_end) else {
            return self.look_at_stub(captured, cut_short);
        };
        if !self.is_addressed_to_us(captured, packet, network_at) {
            return Seen::Foreign;
        }
        let stamp = self.stamp(packet);
        let verified = self.is_verified(packet, wire_length - network_at.min(wire_length));
        if stamp.trial != self.trial && (verified || cut_short) {
            return Seen::Foreign;
        }
        if cut_short {
            return Seen::Truncated;
        }
        if verified && self.fits_layout(captured, packet) && self.tag_fits(captured, inline, tag) {
            Seen::Ours(stamp)
        } else {
            Seen::Corrupt
        }
    }

    /// Too few octets for a stamp: ours if the Ethernet destination says so, as nothing else does.
    #[cold]
    fn look_at_stub(&self, captured: &[u8], cut_short: bool) -> Seen {
        if cut_short && captured.get(..6) == Some(&self.layout.destination.0) {
            Seen::Truncated
        } else {
            Seen::Foreign
        }
    }

    /// Whether the fields that nothing but generated traffic bears are there: protocol, destination address of the
    /// benchmarking range, destination port.
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

    /// The stamp of a packet that is long enough for one.
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

    /// Whether lengths and checksums are right. `wire_length` counts from the network header.
    fn is_verified(&self, packet: &[u8], wire_length: usize) -> bool {
        let transport_at = self.transport_at();
        let length = match self.layout.network {
            Network::V4 => get(packet, 2),
            Network::V6 => get(packet, 4) + NETWORK_V6_OCTETS,
        };
        // A short frame may have been padded on a real link; the padding may hold anything.
        let padded = length < wire_length && wire_length <= PADDED_OCTETS;
        if (length != wire_length && !padded) || length < self.stamp_end || packet.len() > wire_length {
            return false;
        }
        // Of a frame that a snapshot length cut, the missing octets are zero and add nothing.
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

    /// Whether the fields that no checksum covers, and the flow, are those of the layout.
    fn fits_layout(&self, captured: &[u8], packet: &[u8]) -> bool {
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
        network && flow < self.layout.flows.get() as usize && captured[..12] == self.head.octets[..12]
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

#[inline]
fn get(octets: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([octets[at], octets[at + 1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameWriter;
    use crate::layout::Flows;
    use crate::stamp::StreamId;
    use crate::units::FrameSize;
    use proptest::prelude::*;

    const TRIAL: TrialId = TrialId(7);

    fn layout(vlan: bool, network: Network, transport: Transport) -> FrameLayout {
        FrameLayout {
            vlan: vlan.then_some(VlanTag { tci: 0x2064 }),
            network,
            transport,
            flows: Flows::new(300).unwrap(),
            ..FrameLayout::default()
        }
    }

    fn every_layout() -> Vec<FrameLayout> {
        let mut layouts = Vec::new();
        for vlan in [false, true] {
            for network in [Network::V4, Network::V6] {
                layouts.extend(
                    [Transport::Udp, Transport::Tcp].map(|transport| layout(vlan, network, transport)),
                );
            }
        }
        layouts
    }

    fn stamp() -> Stamp {
        Stamp { trial: TRIAL, stream: StreamId(3), sequence: 123_456_789, planned_ns: 987_654_321 }
    }

    fn frame(layout: &FrameLayout, extra: u16, flow: u32, stamp: Stamp) -> Vec<u8> {
        let size = FrameSize::try_from(layout.minimum_size().octets() + extra).unwrap();
        let mut slot = vec![0; size.captured()];
        FrameWriter::new(layout).write(&mut slot, size, layout.flows.flow(flow).unwrap(), stamp);
        slot
    }

    fn look(layout: &FrameLayout, frame: &[u8]) -> Seen {
        let recogniser = Recogniser::new(TRIAL, layout, None).unwrap();
        recogniser.look(frame, frame.len() as u32, TagMetadata::Absent)
    }

    #[test]
    fn a_flip_of_any_single_bit_is_noticed() {
        for layout in every_layout() {
            for (extra, flow) in [(0, 0), (13, 299)] {
                let mut frame = frame(&layout, extra, flow, stamp());
                assert_eq!(look(&layout, &frame), Seen::Ours(stamp()), "{layout}");
                for bit in 0..frame.len() * 8 {
                    frame[bit / 8] ^= 1 << (bit % 8);
                    let seen = look(&layout, &frame);
                    assert!(
                        !matches!(seen, Seen::Ours(_) | Seen::Truncated),
                        "{layout}: bit {bit} gave {seen:?}"
                    );
                    // From the stamp on, the frame is clearly one of ours.
                    if bit / 8 >= layout.network_at() + layout.stamp_end() {
                        assert_eq!(seen, Seen::Corrupt, "{layout}: bit {bit}");
                    }
                    frame[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }

    #[test]
    fn octets_that_are_missing_are_noticed() {
        for layout in every_layout() {
            let frame = frame(&layout, 40, 1, stamp());
            let recogniser = Recogniser::new(TRIAL, &layout, None).unwrap();
            for kept in 6..frame.len() {
                let seen = recogniser.look(&frame[..kept], frame.len() as u32, TagMetadata::Absent);
                assert_eq!(seen, Seen::Truncated, "{layout}: {kept} octets");
                // The same with a wire length that hides it.
                let seen = recogniser.look(&frame[..kept], kept as u32, TagMetadata::Absent);
                assert!(
                    matches!(seen, Seen::Corrupt | Seen::Foreign),
                    "{layout}: {kept} octets gave {seen:?}"
                );
            }
            assert_eq!(recogniser.look(&[], 100, TagMetadata::Absent), Seen::Foreign);
            let next = Recogniser::new(TrialId(8), &layout, None).unwrap();
            let seen = next.look(&frame[..frame.len() - 1], frame.len() as u32, TagMetadata::Absent);
            assert_eq!(seen, Seen::Foreign, "a cut frame of another trial");
        }
    }

    #[test]
    fn octets_too_many_are_noticed() {
        for layout in every_layout() {
            let mut frame = frame(&layout, 40, 1, stamp());
            frame.push(0);
            assert_eq!(look(&layout, &frame), Seen::Corrupt);
            let recogniser = Recogniser::new(TRIAL, &layout, None).unwrap();
            let seen = recogniser.look(&frame, frame.len() as u32 - 1, TagMetadata::Absent);
            assert_eq!(seen, Seen::Corrupt, "more captured than there was");
        }
    }

    #[test]
    fn padding_of_a_runt_is_not_corruption() {
        let layout = FrameLayout::dain_2004();
        let mut frame = frame(&layout, 0, 0, stamp());
        assert_eq!(frame.len(), 58);
        frame.extend([0xaa, 0x55]);
        assert_eq!(look(&layout, &frame), Seen::Ours(stamp()));
    }

    #[test]
    fn other_trials_and_layouts_are_foreign() {
        for layout in every_layout() {
            let other = Stamp { trial: TrialId(6), ..stamp() };
            assert_eq!(look(&layout, &frame(&layout, 4, 5, other)), Seen::Foreign);
            for sent in every_layout() {
                let seen = look(&layout, &frame(&sent, 20, 5, stamp()));
                let like = sent.network == layout.network && sent.transport == layout.transport;
                match (sent == layout, like) {
                    (true, _) => assert_eq!(seen, Seen::Ours(stamp())),
                    (false, true) => assert_eq!(seen, Seen::Corrupt, "{sent} as {layout}: the tag is wrong"),
                    (false, false) => assert_eq!(seen, Seen::Foreign, "{sent} as {layout}"),
                }
            }
        }
    }

    #[test]
    fn flows_that_were_not_sent_are_noticed() {
        let sent = FrameLayout::default();
        let layout = FrameLayout { flows: Flows::new(301).unwrap(), ..sent };
        assert_eq!(look(&sent, &frame(&layout, 4, 300, stamp())), Seen::Corrupt);
    }

    #[test]
    fn a_tag_may_be_in_the_metadata() {
        let layout = layout(true, Network::V4, Transport::Udp);
        let mut frame = frame(&layout, 4, 5, stamp());
        frame.drain(12..16);
        let recogniser = Recogniser::new(TRIAL, &layout, None).unwrap();
        let look = |tag| recogniser.look(&frame, frame.len() as u32, tag);
        assert_eq!(look(TagMetadata::Stripped(VlanTag { tci: 0x2064 })), Seen::Ours(stamp()));
        assert_eq!(look(TagMetadata::Unknown), Seen::Ours(stamp()));
        assert_eq!(look(TagMetadata::Absent), Seen::Corrupt);
        assert_eq!(look(TagMetadata::Stripped(VlanTag { tci: 0x2065 })), Seen::Corrupt);
    }

    #[test]
    fn a_snapshot_length_is_no_truncation() {
        for layout in every_layout() {
            let least = layout.network_at() + layout.stamp_end();
            let snaplen = least as u32 + 3;
            let recogniser = Recogniser::new(TRIAL, &layout, Some(snaplen)).unwrap();
            let mut frame = frame(&layout, 100, 1, stamp());
            let wire_length = frame.len() as u32;
            frame.truncate(snaplen as usize);
            let look = |octets: &[u8]| recogniser.look(octets, wire_length, TagMetadata::Absent);
            assert_eq!(look(&frame), Seen::Ours(stamp()));
            assert_eq!(look(&frame[..least]), Seen::Truncated);
            frame[least] ^= 1;
            assert_eq!(look(&frame), Seen::Corrupt, "{layout}: a harmed octet within the snapshot");
            let error = Recogniser::new(TRIAL, &layout, Some(least as u32 - 1)).unwrap_err().to_string();
            assert!(error.contains(&format!("at least {least} octets")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_octets_make_it_panic(
            octets in proptest::collection::vec(any::<u8>(), 0..200), wire_length: u32, index in 0..8_usize,
            snaplen in proptest::option::of(90..200_u32),
        ) {
            let recogniser = Recogniser::new(TRIAL, &every_layout()[index], snaplen).unwrap();
            for tag in [TagMetadata::Absent, TagMetadata::Unknown, TagMetadata::Stripped(VlanTag { tci: 1 })] {
                prop_assert!(!matches!(recogniser.look(&octets, wire_length, tag), Seen::Ours(_)));
            }
        }

        /// Beginning with a valid frame, which gets further than arbitrary octets.
        #[test]
        fn no_mutation_makes_it_panic(
            index in 0..8_usize, extra in 0..100_u16, wire_length in 0..300_u32,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), kept: prop::sample::Index,
        ) {
            let layout = every_layout()[index];
            let mut frame = frame(&layout, extra, 0, stamp());
            for (at, value) in changes {
                let at = at.index(frame.len());
                frame[at] = value;
            }
            let recogniser = Recogniser::new(TRIAL, &layout, None).unwrap();
            recogniser.look(&frame[..kept.index(frame.len() + 1)], wire_length, TagMetadata::Absent);
        }

        /// The quick way accepts nothing that a close look would not, and every frame as it is received.
        #[test]
        fn the_quick_way_agrees_with_the_close_look(
            index in 0..8_usize, extra in 0..100_u16, flow in 0..300_u32,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let layout = every_layout()[index];
            let mut frame = frame(&layout, extra, flow, stamp());
            let tag = match layout.vlan {
                Some(tag) => {
                    frame.drain(12..16);
                    TagMetadata::Stripped(tag)
                }
                None => TagMetadata::Absent,
            };
            let recogniser = Recogniser::new(TRIAL, &layout, None).unwrap();
            prop_assert_eq!(recogniser.whole.stamp(&frame), Some(stamp()));
            for (at, value) in changes {
                let at = at.index(frame.len());
                frame[at] = value;
            }
            if let Some(stamp) = recogniser.whole.stamp(&frame) {
                let closely = recogniser.look_closely(&frame, frame.len(), tag);
                let expected = if stamp.trial == TRIAL { Seen::Ours(stamp) } else { Seen::Foreign };
                prop_assert_eq!(closely, expected);
            }
        }

        #[test]
        fn every_frame_that_is_written_is_recognised(
            index in 0..8_usize, extra in 0..1500_u16, flow in 0..300_u32, sequence in 0..=Stamp::LAST_SEQUENCE,
            planned_ns in 0..=Stamp::LAST_PLANNED_NS,
        ) {
            let layout = every_layout()[index];
            let stamp = Stamp { sequence, planned_ns, ..stamp() };
            prop_assert_eq!(look(&layout, &frame(&layout, extra, flow, stamp)), Seen::Ours(stamp));
        }
    }
}
