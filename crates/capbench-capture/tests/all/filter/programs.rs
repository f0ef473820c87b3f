//! Programs of any kind: hostile ones do no harm, those that the kernel accepts are accepted, and both run them alike.

use capbench_capture::filter::{Filter, FrameMetadata, SoftwareFilter, Tags};
use capbench_capture::{CaptureError, Frame, PacketType, VlanTag};
use capbench_model::places::Place;
use capbench_model::units::SnapLength;
use capbench_sys::host::interface::InterfaceIndex;
use capbench_sys::packet::FilterInstruction;
use proptest::prelude::*;
use proptest::sample::select;

use super::frames::{frame, plain, with_tag};
use super::kernel::InKernel;

/// Every code that Linux knows, and some that it does not.
const CODES: [u16; 52] = [
    0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1, 0x02, 0x03, 0x04, 0x0c,
    0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0x84, 0x94, 0x9c,
    0xa4, 0xac, 0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x06, 0x06, 0x07, 0x87, 0x0e, 0x69,
    0x8c,
];

fn operand() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => 0..64u32,
        // Tag, tag present, its protocol, packet type, queue, hash, exclusive or, what is not known.
        1 => select(&[44u32, 48, 60, 4, 24, 32, 40, 64, 2][..]).prop_map(|number| 0xffff_f000 + number),
        1 => any::<u32>(),
    ]
}

fn instruction() -> impl Strategy<Value = FilterInstruction> {
    // Codes of all kinds, and often those that lead to valid programs.
    let code = prop_oneof![20 => select(&CODES[..49]), 1 => select(&CODES[..]), 1 => any::<u16>()];
    (code, 0..6u8, 0..6u8, operand()).prop_map(|(code, jt, jf, k)| FilterInstruction { code, jt, jf, k })
}

fn program() -> impl Strategy<Value = Vec<FilterInstruction>> {
    let last = (0..200u32).prop_map(|k| FilterInstruction { code: 6, jt: 0, jf: 0, k });
    // Enough returns behind for most jumps, and memory written before.
    (proptest::collection::vec(instruction(), 1..24), proptest::collection::vec(last, 1..8), any::<bool>())
        .prop_map(|(body, last, writes)| {
            let store = (0..16).map(|k| FilterInstruction { code: 2 + (k as u16 & 1), jt: 0, jf: 0, k });
            store.filter(|_| writes).chain(body).chain(last).collect()
        })
}

/// All that can be known.
fn known() -> FrameMetadata {
    FrameMetadata { packet_type: true, hash: true, queue: Some(0), ..FrameMetadata::tags(Tags::InFrames) }
}

fn listed(program: &[FilterInstruction]) -> String {
    let lines = program.iter().map(|at| format!("{} {} {} {}", at.code, at.jt, at.jf, at.k));
    std::iter::once(program.len().to_string()).chain(lines).collect::<Vec<_>>().join("\n")
}

proptest! {
    #[test]
    fn the_kernel_takes_the_same_programs_and_runs_them_alike(
        program in program(),
        frames in proptest::collection::vec(frame(), 1..6),
    ) {
        let kernel = InKernel::new(&program);
        let here = Filter::new(program.clone());
        // A computed length is refused here only.
        if program.iter().all(|at| at.code != 0x16) {
            prop_assert_eq!(kernel.is_some(), here.is_ok(), "{:?}", here);
        }
        let (Some(kernel), Ok(filter)) = (kernel, here) else { return Ok(()) };
        let software = SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &known());
        prop_assert!(software.is_ok(), "{software:?}");
        let software = software.unwrap();
        for frame in &frames {
            let kept = software.matches(&plain(frame)).map_or(0, |kept| frame.len().min(kept.octets() as usize));
            prop_assert_eq!(kept, kernel.keeps(frame), "{:?}\n{:?}", program, frame);
        }
    }

    #[test]
    fn no_text_and_no_program_makes_it_panic(
        text in "(\\PC|[0-9]{1,3}[ ,\n]){0,40}",
        program in proptest::collection::vec((any::<u16>(), any::<u8>(), any::<u8>(), any::<u32>()), 0..12),
        data in proptest::collection::vec(any::<u8>(), 0..40),
        wire_length: u32,
    ) {
        let _ = text.parse::<Filter>();
        let instruction = |&(code, jt, jf, k): &_| FilterInstruction { code, jt, jf, k };
        let program: Vec<_> = program.iter().map(instruction).collect();
        let Ok(filter) = listed(&program).parse::<Filter>() else { return Ok(()) };
        prop_assert_eq!(filter.program(), &program[..]);
        let Ok(software) = SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &known()) else { return Ok(()) };
        let frame = Frame { wire_length, packet_type: PacketType::Unknown, ..plain(&data) };
        let _ = software.matches(&frame);
    }
}

/// A program that wants the frames of which this ancillary datum is so much.
fn equal(number: u32, value: u32) -> Filter {
    format!("4,32 0 0 {},21 0 1 {value},6 0 0 7,6 0 0 0", 0xffff_f000 + number).parse().unwrap()
}

/// The same, to run here on frames with this metadata.
fn here(number: u32, value: u32, metadata: &FrameMetadata) -> Result<SoftwareFilter, CaptureError> {
    SoftwareFilter::new(&equal(number, value), SnapLength::EVERYTHING, metadata)
}

#[test]
fn known_ancillary_data_is_reported() {
    let data = frame_of(0x86dd);
    let tagged = with_tag(&data, Some(VlanTag { tci: 0x6064, tpid: 0x88a8 }));
    let frame = Frame { hash: Some(77), packet_type: PacketType::Multicast, ..tagged };
    let known = FrameMetadata {
        tags: Tags::InMetadata,
        interface: InterfaceIndex::new(5),
        hardware_type: Some(1),
        queue: Some(3),
        ..known()
    };
    let cases =
        [(0, 0x86dd), (4, 2), (8, 5), (24, 3), (28, 1), (32, 77), (44, 0x6064), (48, 1), (60, 0x88a8)];
    for (number, value) in cases {
        let keeps = |value| here(number, value, &known).unwrap().matches(&frame);
        assert_eq!(keeps(value), Some(SnapLength::new(7)), "{number}");
        assert_eq!(keeps(value + 1), None, "{number}");
        let nothing = here(number, value, &FrameMetadata::tags(Tags::Unknown));
        match nothing {
            Ok(_) => assert_eq!(number, 0, "the protocol follows from the octets"),
            Err(error) => assert!(error.to_string().contains("does not report"), "{error}"),
        }
    }
    for number in [12, 16, 20, 36, 52, 56] {
        let said = here(number, 0, &known).unwrap_err().to_string();
        assert!(said.contains("this method does not report"), "{said}");
    }
    // Tags among the octets are not in the metadata.
    let among = FrameMetadata { tags: Tags::InFrames, ..known };
    assert!(here(48, 0, &among).unwrap().matches(&frame).is_some());
}

#[test]
fn the_protocol_is_that_of_the_kernel() {
    for (kind, protocol) in [(0x0800, 0x0800), (0x0600, 0x0600), (0x05ff, 4), (46, 4)] {
        let filter = here(0, protocol, &known()).unwrap();
        assert!(filter.matches(&plain(&frame_of(kind))).is_some(), "{kind:#x}");
    }
    let mut raw = frame_of(46);
    raw[14..16].fill(0xff);
    assert!(here(0, 1, &known()).unwrap().matches(&plain(&raw)).is_some());
    assert!(here(0, 0, &known()).unwrap().matches(&plain(&[0; 13])).is_none());
}

#[test]
fn kept_octets_end_at_the_snap_length_and_both_outcomes_are_counted() {
    let mut filter =
        SoftwareFilter::new(&equal(0, 0x0800), SnapLength::new(5), &FrameMetadata::tags(Tags::Unknown))
            .unwrap();
    assert_eq!(filter.pass(&plain(&frame_of(0x0800))), Some(SnapLength::new(5)));
    for _ in 0..2 {
        assert_eq!(filter.pass(&plain(&frame_of(0x0806))), None);
    }
    assert_eq!((filter.passed(), filter.filtered().count), (1, Some(2)));
    assert_eq!(filter.filtered().place, Place::Filter);
}

fn frame_of(kind: u16) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&kind.to_be_bytes());
    frame
}
