use proptest::prelude::*;

use super::*;
use crate::{Flows, FrameSize, FrameWriter, StreamId};

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
            layouts
                .extend([Transport::Udp, Transport::Tcp].map(|transport| layout(vlan, network, transport)));
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

fn look(layout: &FrameLayout, frame: &[u8]) -> FrameClass {
    let recogniser = Classifier::new(TRIAL, layout, None).unwrap();
    recogniser.look(frame, frame.len() as u32, TagMetadata::Absent)
}

#[test]
fn a_flip_of_any_single_bit_is_noticed() {
    for layout in every_layout() {
        for (extra, flow) in [(0, 0), (13, 299)] {
            let mut frame = frame(&layout, extra, flow, stamp());
            assert_eq!(look(&layout, &frame), FrameClass::Own(stamp()), "{layout}");
            for bit in 0..frame.len() * 8 {
                frame[bit / 8] ^= 1 << (bit % 8);
                let seen = look(&layout, &frame);
                assert!(
                    !matches!(seen, FrameClass::Own(_) | FrameClass::Truncated),
                    "{layout}: bit {bit} gave {seen:?}"
                );
                // From the stamp on, the frame is clearly one of ours.
                if bit / 8 >= layout.network_at() + layout.stamp_end() {
                    assert_eq!(seen, FrameClass::Corrupt, "{layout}: bit {bit}");
                }
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn the_trial_of_a_foreign_frame_is_known_by_its_stamp() {
    for layout in every_layout() {
        let frame = frame(&layout, 0, 1, stamp());
        let other = Classifier::new(TrialId(9), &layout, None).unwrap();
        assert_eq!(other.look(&frame, frame.len() as u32, TagMetadata::Absent), FrameClass::Foreign);
        assert_eq!(other.trial_of(&frame), Some(TRIAL), "{layout}");
        assert_eq!(other.trial_of(&frame[..30]), None, "{layout}");
        assert_eq!(other.trial_of(&vec![0; frame.len()]), None, "{layout}");
    }
}

#[test]
fn octets_that_are_missing_are_noticed() {
    for layout in every_layout() {
        let frame = frame(&layout, 40, 1, stamp());
        let recogniser = Classifier::new(TRIAL, &layout, None).unwrap();
        for kept in 6..frame.len() {
            let seen = recogniser.look(&frame[..kept], frame.len() as u32, TagMetadata::Absent);
            assert_eq!(seen, FrameClass::Truncated, "{layout}: {kept} octets");
            // The same with a wire length that hides it.
            let seen = recogniser.look(&frame[..kept], kept as u32, TagMetadata::Absent);
            assert!(
                matches!(seen, FrameClass::Corrupt | FrameClass::Foreign),
                "{layout}: {kept} octets gave {seen:?}"
            );
        }
        assert_eq!(recogniser.look(&[], 100, TagMetadata::Absent), FrameClass::Foreign);
        let next = Classifier::new(TrialId(8), &layout, None).unwrap();
        let seen = next.look(&frame[..frame.len() - 1], frame.len() as u32, TagMetadata::Absent);
        assert_eq!(seen, FrameClass::Foreign, "a cut frame of another trial");
    }
}

#[test]
fn octets_too_many_are_noticed() {
    for layout in every_layout() {
        let mut frame = frame(&layout, 40, 1, stamp());
        frame.push(0);
        assert_eq!(look(&layout, &frame), FrameClass::Corrupt);
        let recogniser = Classifier::new(TRIAL, &layout, None).unwrap();
        let seen = recogniser.look(&frame, frame.len() as u32 - 1, TagMetadata::Absent);
        assert_eq!(seen, FrameClass::Corrupt, "more captured than there was");
    }
}

#[test]
fn padding_of_a_runt_is_not_corruption() {
    let layout = FrameLayout::dain_2004();
    let mut frame = frame(&layout, 0, 0, stamp());
    assert_eq!(frame.len(), 58);
    frame.extend([0xaa, 0x55]);
    assert_eq!(look(&layout, &frame), FrameClass::Own(stamp()));
}

#[test]
fn other_trials_and_layouts_are_foreign() {
    for layout in every_layout() {
        let other = Stamp { trial: TrialId(6), ..stamp() };
        assert_eq!(look(&layout, &frame(&layout, 4, 5, other)), FrameClass::Foreign);
        for sent in every_layout() {
            let seen = look(&layout, &frame(&sent, 20, 5, stamp()));
            let like = sent.network == layout.network && sent.transport == layout.transport;
            match (sent == layout, like) {
                (true, _) => assert_eq!(seen, FrameClass::Own(stamp())),
                (false, true) => {
                    assert_eq!(seen, FrameClass::Corrupt, "{sent} as {layout}: the tag is wrong")
                }
                (false, false) => assert_eq!(seen, FrameClass::Foreign, "{sent} as {layout}"),
            }
        }
    }
}

#[test]
fn flows_that_were_not_sent_are_noticed() {
    let sent = FrameLayout::default();
    let layout = FrameLayout { flows: Flows::new(301).unwrap(), ..sent };
    assert_eq!(look(&sent, &frame(&layout, 4, 300, stamp())), FrameClass::Corrupt);
}

#[test]
fn a_tag_may_be_in_the_metadata() {
    let layout = layout(true, Network::V4, Transport::Udp);
    let mut frame = frame(&layout, 4, 5, stamp());
    frame.drain(12..16);
    let recogniser = Classifier::new(TRIAL, &layout, None).unwrap();
    let look = |tag| recogniser.look(&frame, frame.len() as u32, tag);
    assert_eq!(look(TagMetadata::Stripped(VlanTag { tci: 0x2064 })), FrameClass::Own(stamp()));
    assert_eq!(look(TagMetadata::Unknown), FrameClass::Own(stamp()));
    assert_eq!(look(TagMetadata::Absent), FrameClass::Corrupt);
    assert_eq!(look(TagMetadata::Stripped(VlanTag { tci: 0x2065 })), FrameClass::Corrupt);
}

#[test]
fn a_snapshot_length_is_no_truncation() {
    for layout in every_layout() {
        let least = layout.network_at() + layout.stamp_end();
        let snaplen = least as u32 + 3;
        let recogniser = Classifier::new(TRIAL, &layout, Some(snaplen)).unwrap();
        let mut frame = frame(&layout, 100, 1, stamp());
        let wire_length = frame.len() as u32;
        frame.truncate(snaplen as usize);
        let look = |octets: &[u8]| recogniser.look(octets, wire_length, TagMetadata::Absent);
        assert_eq!(look(&frame), FrameClass::Own(stamp()));
        assert_eq!(look(&frame[..least]), FrameClass::Truncated);
        frame[least] ^= 1;
        assert_eq!(look(&frame), FrameClass::Corrupt, "{layout}: a harmed octet within the snapshot");
        let error = Classifier::new(TRIAL, &layout, Some(least as u32 - 1)).unwrap_err().to_string();
        assert!(error.contains(&format!("at least {least} octets")), "{error}");
    }
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(
        octets in proptest::collection::vec(any::<u8>(), 0..200), wire_length: u32, index in 0..8_usize,
        snaplen in proptest::option::of(90..200_u32),
    ) {
        let recogniser = Classifier::new(TRIAL, &every_layout()[index], snaplen).unwrap();
        for tag in [TagMetadata::Absent, TagMetadata::Unknown, TagMetadata::Stripped(VlanTag { tci: 1 })] {
            prop_assert!(!matches!(recogniser.look(&octets, wire_length, tag), FrameClass::Own(_)));
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
        let recogniser = Classifier::new(TRIAL, &layout, None).unwrap();
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
        let recogniser = Classifier::new(TRIAL, &layout, None).unwrap();
        prop_assert_eq!(recogniser.whole.stamp(&frame), Some(stamp()));
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        if let Some(stamp) = recogniser.whole.stamp(&frame) {
            let closely = recogniser.look_closely(&frame, frame.len(), tag);
            let expected = if stamp.trial == TRIAL { FrameClass::Own(stamp) } else { FrameClass::Foreign };
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
        prop_assert_eq!(look(&layout, &frame(&layout, extra, flow, stamp)), FrameClass::Own(stamp));
    }
}
