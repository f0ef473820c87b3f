//! Blocks of a ring in a verbatim file give what their frames give in a pcapng file.

use capbench_model::units::SnapLength;
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{Block, BlockGeometry};
use proptest::prelude::*;

use super::converting::converted;
use super::{Kept, Whole, packets};
use crate::file::verbatim::{MAGIC, PAGE, enclose, padding};
use crate::file::{
    Encoder, FileError, FileFormat, HashAlgorithm, InterfaceDescription, InterfaceStatistics, PacketFacts,
    SectionDescription,
};

const BLOCK: usize = 16 << 10;
/// Where the frames of a block begin, and what each has in front of its octets (`tp_mac`).
const FIRST: usize = 48;

/// A frame of a ring.
#[derive(Clone, Debug)]
struct RingFrame {
    data: Vec<u8>,
    time_ns: u64,
    more: u32,
    status: u32,
    hash: u32,
    tag: (u16, u16),
    packet_type: u8,
}

fn ring_frame() -> impl Strategy<Value = RingFrame> {
    // Checksum not ready, VLAN, its protocol, checksum valid, segments.
    let status = prop::sample::subsequence(vec![1_u32 << 3, 1 << 4, 1 << 6, 1 << 7, 1 << 8], 0..=5);
    let tag = any::<(u16, u16)>();
    let data = prop::collection::vec(any::<u8>(), 0..300);
    let time = 0..4_294_967_295_999_999_999_u64;
    (data, time, 0..2000_u32, status, any::<u32>(), tag, 0..6_u8).prop_map(
        |(data, time_ns, more, status, hash, tag, packet_type)| RingFrame {
            data,
            time_ns,
            more,
            status: status.into_iter().fold(1, |all, one| all | one),
            hash: if hash % 3 == 0 { 0 } else { hash },
            tag,
            packet_type,
        },
    )
}

/// A block of a ring with as many of these frames as fit.
fn filled(frames: &[RingFrame]) -> Block {
    let (mut kernel, mut ring) =
        BlockKernel::with_ring(BlockGeometry::new(BLOCK as u32, 1, 10).unwrap()).unwrap();
    kernel.fill_timed(frames.iter().map(|frame| (frame.time_ns, &frame.data[..])));
    let mut block = ring.take().unwrap();
    let count = block.len();
    let octets = block.octets_mut();
    let mut at = FIRST;
    for frame in &frames[..count] {
        let mut put =
            |offset: usize, value: u32| octets[at + offset..][..4].copy_from_slice(&value.to_le_bytes());
        put(16, frame.data.len() as u32 + frame.more);
        put(20, frame.status);
        put(28, frame.hash);
        put(32, frame.tag.0.into());
        put(36, frame.tag.1.into());
        octets[at + 58] = frame.packet_type;
        at += u32::from_le_bytes(octets[at..at + 4].try_into().unwrap()) as usize;
    }
    block
}

fn pcapng(snap: u32) -> Encoder {
    let interface = InterfaceDescription { name: Some("eth7".into()), ..InterfaceDescription::default() };
    let section = SectionDescription { system: Some("Linux".into()), ..SectionDescription::default() };
    Encoder::pcapng(&section, &[interface], SnapLength::new(snap), HashAlgorithm::Unassigned).unwrap()
}

/// A pcapng file and a verbatim one of the same blocks, with frames lost before each, and statistics between them.
fn both(blocks: &[(Vec<RingFrame>, u64)], snap: u32) -> (Vec<u8>, Vec<u8>) {
    let encoder = pcapng(snap);
    let (mut plain, mut verbatim) = (encoder.header(), encoder.clone().verbatim().header());
    let mut room = vec![0; encoder.largest_record()];
    for (number, (frames, lost)) in blocks.iter().enumerate() {
        let mut block = filled(frames);
        let mut dropped = (*lost > 0).then_some(*lost);
        let mut records = Vec::new();
        for frame in block.frames() {
            let facts = PacketFacts { dropped: dropped.take(), ..PacketFacts::default() };
            let octets = encoder.encode(&frame, &facts, &mut room).unwrap();
            records.extend(&room[..octets]);
        }
        plain.extend(&records);
        verbatim.extend_from_slice(&padding(verbatim.len()));
        assert!(verbatim.len().is_multiple_of(PAGE));
        // Every third one as single frames.
        match enclose(&mut block, *lost, HashAlgorithm::Unassigned).filter(|_| number % 3 != 2) {
            Some(octets) => verbatim.extend(&block.octets()[..octets]),
            None => verbatim.extend(&records),
        }
        let statistics = InterfaceStatistics { time_ns: number as u64, ..InterfaceStatistics::default() };
        for file in [&mut plain, &mut verbatim] {
            file.extend(encoder.statistics(&statistics).unwrap());
        }
    }
    (plain, verbatim)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn conversion_yields_what_recording_pcapng_would_have_written(
        blocks in prop::collection::vec((prop::collection::vec(ring_frame(), 1..60), 0..3_u64), 0..6),
        snap in prop::sample::select(vec![0, 14, 100, 200]),
    ) {
        let (plain, verbatim) = both(&blocks, snap);
        prop_assert_eq!(Whole::of(&verbatim), Whole::of(&plain));
        let (written, counts, done) = converted(&verbatim, FileFormat::Pcapng);
        done.unwrap();
        prop_assert_eq!(written, plain.clone());
        prop_assert_eq!(counts.packets, packets(&Whole::of(&plain)).count() as u64);
        // A pcapng file becomes itself.
        prop_assert_eq!(converted(&plain, FileFormat::Pcapng).0, plain);
    }

    #[test]
    fn a_file_that_ends_early_gives_the_blocks_before(
        blocks in prop::collection::vec((prop::collection::vec(ring_frame(), 1..20), 0..3_u64), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let (_, verbatim) = both(&blocks, 0);
        let all = Whole::of(&verbatim);
        let cut = cut.index(verbatim.len());
        match Whole::read(&verbatim[..cut]) {
            Ok(part) => {
                prop_assert!(part.error.is_none());
                prop_assert_eq!(&part.records[..], &all[..part.records.len()]);
            }
            Err(error) => prop_assert!(cut < MAGIC.len(), "{error}"),
        }
    }
}

/// A small verbatim file: one block with two frames, without the rest of its page.
pub(in crate::file) fn small_example() -> Vec<u8> {
    let frame = |data: &[u8], status| RingFrame {
        data: data.to_vec(),
        time_ns: 1_700_000_000_000_000_001,
        more: 3,
        status,
        hash: 0x0102_0304,
        tag: (5, 0x88a8),
        packet_type: 1,
    };
    let frames = [frame(&[1; 60], 1 << 4 | 1 << 6 | 1), frame(&[2; 20], 1 << 7 | 1)];
    let mut block = filled(&frames);
    let used = block.used();
    enclose(&mut block, 7, HashAlgorithm::Unassigned).unwrap();
    let encoder = pcapng(0);
    let mut file = MAGIC.to_vec();
    file.extend(encoder.header());
    let begin = file.len();
    file.extend(&block.octets()[..used]);
    let length = (used as u32 + 4).to_le_bytes();
    file[begin + 4..begin + 8].copy_from_slice(&length);
    file.extend(length);
    file.extend(encoder.statistics(&InterfaceStatistics::default()).unwrap());
    file
}

/// Where the ring's block begins in it.
fn block_in(file: &[u8]) -> usize {
    let kind = super::super::verbatim::RING_BLOCK.to_le_bytes();
    file.windows(4).position(|four| four == kind).unwrap()
}

#[test]
fn a_small_file_is_read() {
    let all = Whole::of(&small_example());
    let [first, second] = packets(&all).collect::<Vec<_>>()[..] else { panic!("{all:?}") };
    assert_eq!((first.data.len(), first.original_length, first.dropped), (64, 67, Some(7)));
    assert_eq!(first.data[10..18], [1, 1, 0x88, 0xa8, 0, 5, 1, 1]);
    assert_eq!((second.data.len(), second.original_length, second.dropped), (20, 23, None));
    assert_eq!(second.hash, Some((255, vec![1, 2, 3, 4])));
    assert!(matches!(all[4], Kept::Statistics(_)));
}

#[test]
fn numbers_that_cannot_be_are_refused_with_their_place() {
    let file = small_example();
    let begin = block_in(&file);
    let with = |at: usize, value: u32| {
        let mut other = file.clone();
        other[begin + at..][..4].copy_from_slice(&value.to_le_bytes());
        Whole::read(&other[..]).unwrap()
    };
    let says = |whole: &Whole| whole.error.as_ref().map(ToString::to_string).unwrap_or_default();
    // More frames than there are, a first one outside, one that goes on in itself, octets in front of it and beyond.
    for (at, value, before) in [
        (12, 3, 1),
        (12, u32::MAX, 1),
        (16, 1 << 30, 0),
        (FIRST, 0, 0),
        (FIRST, u32::MAX, 1),
        (FIRST + 12, 5000, 0),
        (FIRST + 24, 3, 0),
    ] {
        let whole = with(at, value);
        let expected = format!("is damaged after {before} frames: a frame outside its block");
        assert!(says(&whole).starts_with(&expected), "{at} {value}: {}", says(&whole));
        assert_eq!(packets(&whole.records).count(), before);
    }
    assert_eq!(packets(&with(12, 0).records).count(), 0);
    assert!(says(&with(4, 4096)).is_empty() && with(4, 4096).early);

    let mut other = file.clone();
    other[17] = b'9';
    assert!(matches!(Whole::read(&other[..]), Err(FileError::OtherVerbatim)));
    let section = u32::from_le_bytes(file[MAGIC.len() + 4..][..4].try_into().unwrap()) as usize;
    let headless = [&file[..MAGIC.len()], &file[MAGIC.len() + section..]].concat();
    assert!(matches!(Whole::read(&headless[..]), Err(FileError::Damaged { frames: 0, .. })));
    // In a pcapng file the type is somebody else's.
    let foreign = Whole::of(&file[MAGIC.len()..]);
    assert_eq!(packets(&foreign).count(), 0);
}

#[test]
fn an_impossible_conversion_is_reported_and_earlier_packets_stay() {
    let mut file = small_example();
    let begin = block_in(&file);
    let second = u32::from_le_bytes(file[begin + FIRST..][..4].try_into().unwrap()) as usize;
    file[begin + FIRST + second + 24] = 0;
    let (written, counts, done) = converted(&file, FileFormat::Pcapng);
    assert_eq!((counts.packets, counts.dropped), (1, 7));
    assert_eq!(packets(&Whole::of(&written)).count(), 1);
    let error = done.unwrap_err().to_string();
    assert!(error.starts_with("the file is damaged after 1 frames: "), "{error}");

    let (written, counts, done) = converted(&small_example()[..begin + 40], FileFormat::Pcap);
    done.unwrap();
    assert!(counts.ends_early && counts.packets == 0);
    assert_eq!(written.len(), 24, "its header at least");
}
