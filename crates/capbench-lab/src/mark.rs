//! How methods that count frames in place recognise those of a trial: converts the layout of generated frames to a [`FrameMark`].

use capbench_frames::layout::FrameLayout;
use capbench_frames::stamp::TrialId;
use capbench_model::mark::{FrameMark, MaskedOctet};

/// The mark of a trial's frames. It is weaker than the verification of [`capbench_frames::classify`]: it does not check lengths,
/// checksums and the flow.
pub fn mark(trial: TrialId, layout: &FrameLayout) -> FrameMark {
    let known = layout.known_octets();
    FrameMark {
        octets: known.octets.iter().map(|&(at, value)| MaskedOctet { at, mask: 0xff, value }).collect(),
        stamp_at: known.stamp_at,
        trial: trial.0,
    }
}

#[cfg(test)]
mod tests {
    use super::mark;
    use capbench_frames::classify::{Classifier, FrameClass, TagMetadata};
    use capbench_frames::frame::FrameWriter;
    use capbench_frames::layout::{Flows, FrameLayout, Network, Transport, VlanTag};
    use capbench_frames::stamp::{Stamp, StreamId, TrialId};
    use capbench_frames::units::FrameSize;
    use capbench_model::mark::FrameMark;
    use proptest::prelude::*;

    const TRIAL: TrialId = TrialId(0x1234);

    fn every_layout() -> Vec<FrameLayout> {
        let mut layouts = Vec::new();
        for vlan in [None, Some(VlanTag { tci: 0x2064 })] {
            for network in [Network::V4, Network::V6] {
                for transport in [Transport::Udp, Transport::Tcp] {
                    let flows = Flows::new(300).unwrap();
                    layouts.push(FrameLayout { vlan, network, transport, flows, ..FrameLayout::default() });
                }
            }
        }
        layouts
    }

    fn frame(layout: &FrameLayout, extra: u16, flow: u32, stamp: Stamp) -> Vec<u8> {
        let size = FrameSize::try_from(layout.minimum_size().octets() + extra).unwrap();
        let mut slot = vec![0; size.captured()];
        FrameWriter::new(layout).write(&mut slot, size, layout.flows.flow(flow).unwrap(), stamp);
        slot
    }

    /// What a method that counts in place does with a mark: the stream and sequence number of a marked frame.
    fn number(mark: &FrameMark, frame: &[u8]) -> Option<u64> {
        let known = mark.octets.iter();
        let is_marked = known.into_iter().all(|octet| {
            frame.get(usize::from(octet.at)).is_some_and(|found| found & octet.mask == octet.value)
        });
        let stamp = u64::from_be_bytes(*frame.get(usize::from(mark.stamp_at)..)?.first_chunk()?);
        (is_marked && (stamp >> 48) as u16 == mark.trial).then_some(stamp & (u64::MAX >> 16))
    }

    #[test]
    fn frames_of_other_layouts_are_not_marked() {
        let stamp = Stamp { trial: TRIAL, stream: StreamId(0), sequence: 5, planned_ns: 6 };
        for marked in every_layout() {
            for sent in every_layout() {
                let frame = frame(&sent, 26, 7, stamp);
                let expected = (marked == sent).then_some(5);
                assert_eq!(number(&mark(TRIAL, &marked), &frame), expected, "{marked}: {sent}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_mark_agrees_with_the_recogniser(
            index in 0..8_usize, extra in 0..1000_u16, flow in 0..300_u32, trial in 0x1233..0x1236_u16,
            stream: u8, sequence in 0..=Stamp::LAST_SEQUENCE, planned_ns in 0..=Stamp::LAST_PLANNED_NS,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
        ) {
            let layout = every_layout()[index];
            let stamp = Stamp { trial: TrialId(trial), stream: StreamId(stream), sequence, planned_ns };
            let mut frame = frame(&layout, extra, flow, stamp);
            for (at, value) in changes {
                let at = at.index(frame.len());
                frame[at] = value;
            }
            let recogniser = Classifier::new(TRIAL, &layout, None).unwrap();
            let counted = number(&mark(TRIAL, &layout), &frame);
            match recogniser.look(&frame, frame.len() as u32, TagMetadata::Absent) {
                FrameClass::Own(stamp) => {
                    prop_assert_eq!(counted, Some(u64::from(stamp.stream.0) << 40 | stamp.sequence));
                }
                // It may be one of ours that was damaged where no mark looks; frames of others are none of ours.
                FrameClass::Corrupt => {}
                FrameClass::Foreign | FrameClass::Truncated => prop_assert_eq!(counted, None),
            }
        }
    }
}
