//! Files that end and begin at every place where they can: all of them are whole, and together they are what was recorded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use capbench_capture::{Frame, PacketType};
use capbench_model::units::{ByteCount, SnapLength};
use capbench_record::file::{
    CaptureReader, Encoder, HashAlgorithm, InterfaceDescription, InterfaceStatistics, PacketFacts, Record,
    SectionDescription,
};
use capbench_record::writing::{Ending, FileEnds, Origin, Output, Rotation, WhenFull, WriteOptions};
use capbench_testing::Scratch;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
/// 2023-11-14 22:13:20 UTC.
const BEGIN: u64 = 1_700_000_000 * SECOND;

/// What a file begins with, and statistics of as many packets as were recorded by then at its end.
struct Ends {
    encoder: Encoder,
    recorded: u64,
}

impl FileEnds for Ends {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend(self.encoder.header());
    }

    fn trailer(&mut self, out: &mut Vec<u8>) {
        let statistics = InterfaceStatistics { delivered: Some(self.recorded), ..Default::default() };
        out.extend(self.encoder.statistics(&statistics).unwrap());
    }
}

fn encoder() -> Encoder {
    let snap = SnapLength::EVERYTHING;
    let interfaces = [InterfaceDescription { name: Some("eth1".into()), ..Default::default() }];
    Encoder::pcapng(&SectionDescription::default(), &interfaces, snap, HashAlgorithm::default()).unwrap()
}

/// A packet of so many octets that bears its number.
fn frame(data: &mut Vec<u8>, number: u32, octets: usize, time_ns: u64) -> Frame<'_> {
    data.clear();
    data.resize(octets.max(60), 0);
    data[14..18].copy_from_slice(&number.to_be_bytes());
    Frame {
        wire_length: data.len() as u32,
        data,
        time_ns,
        vlan: None,
        packet_type: PacketType::OtherHost,
        hash: None,
        status: 0,
    }
}

/// Records packets of these octets and times; the files in their order, none of which may have replaced another.
fn recorded(folder: &Path, rotation: Rotation, packets: &[(usize, u64)]) -> Vec<PathBuf> {
    let begun = record(folder, rotation, packets);
    let files = in_order(folder);
    assert_eq!(begun, files.len());
    files
}

/// Records packets of these octets and times; how many files were begun.
fn record(folder: &Path, rotation: Rotation, packets: &[(usize, u64)]) -> usize {
    let name = if rotation.seconds.is_some() { "%s.pcapng" } else { "f.pcapng" };
    let mut options = WriteOptions::new(folder.join(name));
    options.rotation = rotation;
    (options.interfaces, options.when_full) = (1, WhenFull::Wait);
    (options.pool, options.buffer) = (ByteCount(4 << 20), ByteCount(1 << 20));
    let mut ends = Ends { encoder: encoder(), recorded: 0 };
    let encoder = encoder();
    let mut output = Output::open(&options, encoder.extent(), BEGIN, &mut ends).unwrap();
    let mut data = Vec::new();
    for (number, &(octets, time_ns)) in packets.iter().enumerate() {
        let frame = frame(&mut data, number as u32, octets, time_ns);
        let origin = Origin { interface: 0, time_ns };
        let facts = PacketFacts::default();
        output.packet(origin, &mut ends, |room| encoder.encode(&frame, &facts, room)).unwrap();
        ends.recorded += 1;
    }
    let done = output.finish(&mut ends);
    assert!(matches!(done.ending, Ending::Finished), "{:?}", done.ending);
    let packets = packets.len() as u64;
    assert_eq!((done.counts.packets().written, done.counts.packets().lost()), (packets, 0));
    done.counts.files as usize
}

/// The files of a folder in the order in which they were written: by what their last statistics know of.
fn in_order(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_cached_key(|file| contents(file).1);
    files
}

/// The numbers of a file's packets, and how many its last statistics, at its end, know of.
fn contents(file: &Path) -> (Vec<u32>, Option<u64>) {
    let octets = fs::read(file).unwrap();
    let mut reader = CaptureReader::new(&octets[..]).unwrap();
    let (mut numbers, mut last) = (Vec::new(), None);
    while let Some(record) = reader.next_record().unwrap() {
        match record {
            Record::Packet(packet) => {
                assert!(last.is_none(), "a packet behind the end of {}", file.display());
                numbers.push(u32::from_be_bytes(packet.data[14..18].try_into().unwrap()));
            }
            Record::Statistics(statistics) => last = statistics.delivered,
            _ => {}
        }
    }
    assert!(!reader.ends_early());
    (numbers, last)
}

/// Asserts that the files together are so many packets; how many are in each.
fn assert_all(files: &[PathBuf], packets: usize) -> Vec<usize> {
    let mut all = Vec::new();
    let mut lengths = Vec::new();
    for file in files {
        let (numbers, known) = contents(file);
        assert_eq!(known, Some((all.len() + numbers.len()) as u64), "{}", file.display());
        lengths.push(numbers.len());
        all.extend(numbers);
    }
    assert!(all.into_iter().eq(0..packets as u32));
    lengths
}

/// What capinfos counts in files; `None` where it is not installed.
fn by_capinfos(files: &[PathBuf]) -> Option<BTreeMap<PathBuf, usize>> {
    let output = Command::new("capinfos").args(["-c", "-M", "-T", "-r"]).args(files).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = |line: &str| {
        let (file, count) = line.split_once('\t').unwrap();
        (file.into(), count.parse().unwrap())
    };
    Some(text.lines().map(count).collect())
}

/// Packets of all lengths modulo 4, a few milliseconds apart.
fn packets() -> Vec<(usize, u64)> {
    [60, 61, 1514, 62, 63, 9000, 64, 300].iter().enumerate().map(at_halves).collect()
}

fn at_halves((number, &octets): (usize, &usize)) -> (usize, u64) {
    (octets, BEGIN + number as u64 * SECOND / 2)
}

#[test]
fn files_that_end_by_size_at_every_octet_around_every_packet_are_whole() {
    let packets = packets();
    let whole = Scratch::new();
    let file = recorded(&whole, Rotation::default(), &packets).remove(0);
    let length = fs::metadata(file).unwrap().len();
    // Where each packet of the one file ends, and what a file with one packet has.
    let mut boundaries = vec![1, length, length + 1];
    let mut room = vec![0; encoder().largest_record()];
    let mut ends = vec![encoder().header().len()];
    let mut data = Vec::new();
    for &(octets, time_ns) in &packets {
        let taken =
            encoder().encode(&frame(&mut data, 0, octets, time_ns), &PacketFacts::default(), &mut room);
        ends.push(ends.last().unwrap() + taken.unwrap());
    }
    boundaries.extend(ends.iter().flat_map(|end| (end - 2..=end + 2).map(|limit| limit as u64)));
    let mut seen = std::collections::BTreeSet::new();
    for limit in boundaries {
        let folder = Scratch::new();
        let rotation = Rotation { bytes: Some(limit), ..Rotation::default() };
        let files = recorded(&folder, rotation, &packets);
        let lengths = assert_all(&files, packets.len());
        if let Some(counted) = by_capinfos(&files) {
            assert!(files.iter().map(|file| counted[file]).eq(lengths.iter().copied()), "{limit} bytes");
        }
        // The first file is there before any packet, and may be too large for one already.
        assert!(lengths.iter().skip(1).all(|&packets| packets > 0), "{limit} bytes: {lengths:?}");
        seen.insert(lengths.len());
    }
    assert!(seen.contains(&1) && seen.contains(&2) && seen.contains(&packets.len()), "{seen:?}");
}

#[test]
fn files_that_end_by_number_or_time_anywhere_are_whole() {
    let packets = packets();
    for limit in 1..=packets.len() as u64 + 1 {
        let folder = Scratch::new();
        let by_number = Rotation { packets: Some(limit), ..Rotation::default() };
        let lengths = assert_all(&recorded(&folder, by_number, &packets), packets.len());
        assert_eq!(lengths.len(), packets.len().div_ceil(limit as usize));
        let folder = Scratch::new();
        let by_time = Rotation { seconds: Some(limit as u32), ..Rotation::default() };
        let lengths = assert_all(&recorded(&folder, by_time, &packets), packets.len());
        assert_eq!(lengths.len(), packets.len().div_ceil(2 * limit as usize), "two a second");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_clock_that_is_set_loses_no_packet_and_begins_no_files_without_packets(
        steps in prop::collection::vec((1..40_usize, -4_000_000_000_000_i64..4_000_000_000_000), 1..12),
        seconds in prop::sample::select(vec![1, 60, 3600]),
        count in prop::option::of(1..20_u64),
    ) {
        let folder = Scratch::new();
        let (mut packets, mut now) = (Vec::new(), BEGIN);
        for (many, step_us) in steps {
            for _ in 0..many {
                packets.push((60, now));
                now += SECOND / 3;
            }
            // Micro- in nanoseconds, and off the seconds of any other step, since files of one second have one name.
            now = now.saturating_add_signed(step_us * 1000) + packets.len() as u64;
        }
        let rotation = Rotation { seconds: Some(seconds), packets: count, ..Rotation::default() };
        let begun = record(&folder, rotation, &packets);
        let files = in_order(&folder);
        prop_assume!(begun == files.len());
        let lengths = assert_all(&files, packets.len());
        // Only the first file, which is there before any packet, may have none.
        prop_assert!(lengths.iter().skip(1).all(|&packets| packets > 0), "{:?}", lengths);
    }
}
