//! Files of others, converted: with what they state, as large as they are, and with an account of what has no place in the output.

use proptest::prelude::*;

use super::foreign::{Foreign, example};
use super::{Kept, KeptPacket, Whole, packets};
use crate::convert::{ConvertError, Converted, OutputLimit, convert};
use crate::file::{CaptureReader, Clock, FileFormat, LeftOut, MendedLengths, Record};
use crate::writing::WriteOptions;

/// The file that another becomes.
pub(super) fn converted(file: &[u8], format: FileFormat) -> (Vec<u8>, Converted, Result<(), ConvertError>) {
    converted_up_to(file, format, OutputLimit::None)
}

fn converted_up_to(
    file: &[u8],
    format: FileFormat,
    limit: OutputLimit,
) -> (Vec<u8>, Converted, Result<(), ConvertError>) {
    let folder = capbench_testing::Scratch::new();
    let path = folder.file("converted");
    let mut options = WriteOptions::new(&path);
    options.pool.0 = 4 << 20;
    let mut counts = Converted::default();
    let done = convert(file, format, &options, limit, &mut counts);
    let written = std::fs::read(&path).unwrap_or_default();
    (written, counts, done)
}

fn names(records: &[Kept]) -> Vec<Option<String>> {
    let name = |record: &Kept| match record {
        Kept::Interface(_, interface) => Some(interface.description.name.clone()),
        _ => None,
    };
    records.iter().filter_map(name).collect()
}

fn sections(records: &[Kept]) -> usize {
    records.iter().filter(|record| matches!(record, Kept::Section(_))).count()
}

/// Checks that a pcapng file becomes one of a size linear in its own, with the same sections, interfaces and packets.
fn grows_little(file: &Foreign) {
    let (written, counts, done) = converted(&file.octets, FileFormat::Pcapng);
    done.unwrap();
    let (from, to) = (file.octets.len(), written.len());
    assert!(to <= 4 * from + 4096, "{from} octets became {to}");
    let (read, again) = (Whole::of(&file.octets), Whole::of(&written));
    assert_eq!((sections(&again), names(&again)), (sections(&read), names(&read)));
    let kept: Vec<&KeptPacket> = packets(&read).collect();
    assert_eq!(packets(&again).collect::<Vec<_>>(), kept);
    assert_eq!((counts.packets, counts.left_out), (kept.len() as u64, LeftOut::default()));
}

#[test]
fn interfaces_described_late_are_described_once() {
    let mut file = Foreign::new(false);
    file.section(&file.option(4, &[b'p'; 1000]));
    for number in 0..3000_u32 {
        file.interface(1, number % 7, &file.option(2, format!("eth{number}").as_bytes()));
        file.enhanced(number, number.into(), &[7], 60, &[]);
    }
    grows_little(&file);
}

#[test]
fn packets_change_their_hash_algorithm_and_grow_without_new_descriptions() {
    let mut file = Foreign::new(true);
    file.section(&file.option(4, &[b'p'; 60_000]));
    file.interface(1, 20, &[]);
    for number in 0..3000_u32 {
        let algorithm = [5, 2, 255][number as usize % 3];
        let hash = file.option(3, &[algorithm, 1, 2, 3, 4]);
        file.enhanced(0, number.into(), &vec![7; number as usize / 10], 3000, &hash);
    }
    grows_little(&file);
}

#[test]
fn sections_and_interfaces_without_packets_stay() {
    let mut file = Foreign::new(false);
    file.section(&file.option(1, b"nothing in it")).section(&[]).interface(1, 0, &named("first"));
    file.enhanced(0, 5, &[1], 60, &[]).interface(1, 0, &named("late"));
    file.section(&[]).interface(1, 0, &named("last"));
    grows_little(&file);
}

fn named(name: &str) -> Vec<u8> {
    Foreign::new(false).option(2, name.as_bytes())
}

#[test]
fn drops_without_a_place_are_counted_by_kind() {
    for big in [false, true] {
        let mut file = Foreign::new(big);
        file.octets = example(big);
        file.block(0x0bad, &[0; 8]).block(0x4000_0bad, &[0; 8]);
        let (written, counts, done) = converted(&file.octets, FileFormat::Pcapng);
        done.unwrap();
        // The one that may not be copied, and one of an unknown layout in the other order.
        let left_out = LeftOut { custom: 1, blocks: u64::from(big), ..LeftOut::default() };
        assert_eq!(counts.left_out, left_out);
        assert_eq!((counts.packets, counts.dropped, counts.without_time), (5, 16, 1));
        let times: Vec<_> = packets(&Whole::of(&written)).map(|packet| packet.time_ns).collect();
        assert_eq!(
            times.iter().filter(|&&time| time == Some(5_000_000_000)).count(),
            1,
            "its clock's first time"
        );

        // Options: of a section, of a packet two.
        let left_out = LeftOut { names: 1, secrets: 1, custom: 2, blocks: 1, comments: 1, options: 3 };
        let (_, counts, done) = converted(&file.octets, FileFormat::Pcap);
        done.unwrap();
        assert_eq!((counts.left_out, counts.without_time), (left_out, 1));
    }
}

#[test]
fn the_padding_of_a_verbatim_file_is_nothing_left_out() {
    let mut file = super::small_example();
    file.extend_from_slice(&crate::file::verbatim::padding(file.len()));
    let (_, counts, done) = converted(&file, FileFormat::Pcapng);
    done.unwrap();
    assert_eq!((counts.packets, counts.left_out, counts.without_time), (2, LeftOut::default(), 0));
}

/// A packet as its file has it: link type, clock, the number that is its time, octets, original length.
type Recorded = (u16, Clock, u64, Vec<u8>, u32);

fn recorded(octets: &[u8]) -> Vec<Recorded> {
    let mut reader = CaptureReader::new(octets).unwrap().in_units();
    let (mut links, mut seen) = (Vec::new(), Vec::new());
    while let Some(record) = reader.next_record().unwrap() {
        match record {
            Record::Section(_) => links.clear(),
            Record::Interface(_, interface) => links.push((interface.link_type, interface.clock)),
            Record::Packet(packet) => {
                let (link_type, clock) = links[packet.interface as usize];
                let (data, time) = (packet.data.to_vec(), packet.time_ns.unwrap());
                seen.push((link_type, clock, time, data, packet.original_length));
            }
            Record::Statistics(_) | Record::Other => {}
        }
    }
    seen
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..10_u64,
        Just(u64::MAX),
        1_600_000_000_000_000_000..1_700_000_000_000_000_000_u64
    ]
}

/// Link type, resolution and offset of an interface.
fn interface() -> impl Strategy<Value = (u16, u8, i64)> {
    let offset = prop_oneof![Just(0), any::<i64>(), -100_000_000_000..100_000_000_000_i64];
    (any::<u16>(), prop_oneof![Just(9_u8), Just(6), any::<u8>()], offset)
}

proptest! {
    #[test]
    fn pcapng_keeps_link_types_times_and_lengths_of_any_file(
        big: bool,
        sections in prop::collection::vec(
            (
                prop::collection::vec(interface(), 1..4),
                prop::collection::vec((any::<u32>(), numbers(), prop::collection::vec(any::<u8>(), 0..70), any::<u32>()), 0..6),
            ),
            1..4,
        ),
    ) {
        let mut file = Foreign::new(big);
        for (interfaces, packets) in &sections {
            file.section(&[]);
            for &(link_type, resolution, offset) in interfaces {
                let offset = file.option(14, &file.number::<8>(offset.cast_unsigned()));
                file.interface(link_type, 0, &[file.option(9, &[resolution]), offset].concat());
            }
            for (interface, time, data, original) in packets {
                file.enhanced(interface % interfaces.len() as u32, *time, data, *original, &[]);
            }
        }
        let (written, counts, done) = converted(&file.octets, FileFormat::Pcapng);
        done.unwrap();
        let expected = recorded(&file.octets);
        prop_assert_eq!(counts.packets, expected.len() as u64);
        prop_assert_eq!(recorded(&written), expected);
    }

    #[test]
    fn pcap_keeps_a_link_type_times_and_lengths_or_refuses_them(
        big: bool,
        (link_type, resolution, offset) in interface(),
        time in numbers(),
        data in prop::collection::vec(any::<u8>(), 0..70),
        original: u32,
    ) {
        let mut file = Foreign::new(big);
        file.section(&[]);
        let offset = file.option(14, &file.number::<8>(offset.cast_unsigned()));
        file.interface(link_type, 0, &[file.option(9, &[resolution]), offset].concat());
        file.enhanced(0, time, &data, original, &[]);
        let (_, clock, ..) = recorded(&file.octets)[0];
        let ns = clock.ns(time);
        let (written, counts, done) = converted(&file.octets, FileFormat::Pcap);
        if (0..(1 << 32) * 1_000_000_000).contains(&ns) {
            done.unwrap();
            let expected = (link_type, Clock::NANOSECONDS, ns as u64, data, original);
            prop_assert_eq!(recorded(&written), [expected]);
            prop_assert_eq!(counts.finer_times, u64::from(!clock.is_whole_ns(time)));
        } else {
            let refused = matches!(done, Err(ConvertError::Time { number: 1, seconds }) if seconds == ns.div_euclid(1_000_000_000));
            prop_assert!(refused && written.is_empty(), "{:?}", done);
        }
    }
}

#[test]
fn pcap_refuses_several_link_types_and_leaves_no_file() {
    let begun = || {
        let mut file = Foreign::new(false);
        file.section(&[]).interface(1, 0, &[]).interface(113, 0, &[]);
        file
    };
    let mut file = begun();
    file.enhanced(1, 5, &[1], 60, &[]).enhanced(0, 5, &[1], 60, &[]);
    let (written, _, done) = converted(&file.octets, FileFormat::Pcap);
    let said = done.unwrap_err().to_string();
    assert!(said.contains("packet 2 has link type 1, the packets before it have 113"), "{said}");
    assert!(said.contains("--format pcapng") && written.is_empty());

    // An interface without packets is no reason.
    let mut file = begun();
    file.enhanced(1, 5, &[1], 60, &[]).section(&[]).interface(113, 0, &[]).enhanced(0, 6, &[2], 60, &[]);
    let (written, _, done) = converted(&file.octets, FileFormat::Pcap);
    done.unwrap();
    assert_eq!(recorded(&written).iter().map(|packet| packet.0).collect::<Vec<_>>(), [113, 113]);
}

#[test]
fn an_output_beyond_its_limit_is_refused_and_removed() {
    let mut file = Foreign::new(false);
    file.section(&[]).interface(1, 0, &[]);
    for number in 0..1000 {
        file.enhanced(0, number, &[7; 60], 60, &[]);
    }
    let (whole, _, done) = converted(&file.octets, FileFormat::Pcapng);
    done.unwrap();
    let limit =
        |octets: usize| converted_up_to(&file.octets, FileFormat::Pcapng, OutputLimit::Octets(octets as u64));
    let (written, _, done) = limit(whole.len());
    done.unwrap();
    assert_eq!(written, whole);
    let (written, _, done) = limit(whole.len() - 1);
    let said = done.unwrap_err().to_string();
    assert!(said.contains("--max-output") && written.is_empty(), "{said}");
}

/// The snap lengths that a file states.
fn snaps(file: &[u8]) -> Vec<u32> {
    let snap = |record| match record {
        Kept::Interface(_, interface) => Some(interface.snap),
        _ => None,
    };
    Whole::of(file).into_iter().filter_map(snap).collect()
}

/// A pcap file that states a snap length of 65535, with a packet of this many octets behind one of 60.
fn pcap_with_packet_of(octets: usize) -> Vec<u8> {
    let mut file = super::pcap_example(false, 0xa1b2_c3d4)[..24].to_vec();
    for octets in [60, octets] {
        let head = Foreign::new(false).words(&[10, 7, octets as u32, octets as u32]);
        file.extend([&head[..], &vec![7; octets]].concat());
    }
    file
}

#[test]
fn no_packet_contradicts_the_snap_length_that_is_written() {
    for (octets, snap) in [(60, 65535), (65535, 65535), (65549, 65549), (262_144, 262_144)] {
        for format in [FileFormat::Pcap, FileFormat::Pcapng] {
            let (written, _, done) = converted(&pcap_with_packet_of(octets), format);
            done.unwrap();
            assert_eq!(snaps(&written), [snap], "{octets} octets as {format:?}");
            assert_eq!(packets(&Whole::of(&written)).last().unwrap().data.len(), octets);
        }
    }
    // Each interface has its own, in each section, and no limit stays none.
    let mut file = Foreign::new(true);
    for longest in [100, 20] {
        file.section(&[]).interface(1, 40, &[]).interface(1, 30, &[]).interface(1, 0, &[]);
        file.enhanced(1, 5, &vec![7; longest], 200, &[]).enhanced(0, 5, &[7; 40], 40, &[]);
        file.enhanced(2, 5, &[7; 90], 90, &[]);
    }
    let (written, _, done) = converted(&file.octets, FileFormat::Pcapng);
    done.unwrap();
    assert_eq!(snaps(&written), [40, 100, 0, 40, 30, 0]);
}

#[test]
fn what_cannot_be_corrected_states_the_largest_snap_length() {
    let folder = capbench_testing::Scratch::new();
    let mut options = WriteOptions::new(folder.file("converted.pcapng"));
    options.compression = Some(1);
    let (file, mut counts) = (pcap_with_packet_of(65549), Converted::default());
    convert(&file[..], FileFormat::Pcapng, &options, OutputLimit::None, &mut counts).unwrap();
    let written = std::fs::File::open(folder.file("converted.pcapng.zst")).unwrap();
    let mut octets = Vec::new();
    let mut source = crate::file::Decompressed::new(written).unwrap();
    std::io::Read::read_to_end(&mut source, &mut octets).unwrap();
    assert_eq!(snaps(&octets), [262_144]);
}

#[test]
fn an_fcs_length_stays_known_in_either_format() {
    let fcs = |file: &[u8]| packets(&Whole::of(file)).last().unwrap().fcs_octets;
    let mut pcap = super::pcap_example(true, 0xa1b2_c3d4);
    pcap[20] = 0x24;
    let mut pcapng = Foreign::new(true);
    let of_interface = pcapng.option(13, &[32]);
    pcapng.section(&[]).interface(1, 0, &of_interface).enhanced(0, 5, &[7; 64], 64, &[]);
    for file in [&pcap, &pcapng.octets] {
        for format in [FileFormat::Pcap, FileFormat::Pcapng] {
            let (written, counts, done) = converted(file, format);
            done.unwrap();
            assert_eq!((fcs(&written), counts.left_out.options), (Some(4), 0));
            assert_eq!(recorded(&written)[0].3, recorded(file)[0].3, "it stays in the packet");
        }
    }
    let of_packet = pcapng.option(2, &pcapng.number::<4>(2 << 5));
    pcapng.enhanced(0, 6, &[7; 64], 64, &of_packet);
    assert_eq!(fcs(&converted(&pcapng.octets, FileFormat::Pcapng).0), Some(2));
    let (written, _, done) = converted(&pcapng.octets, FileFormat::Pcap);
    let said = done.unwrap_err().to_string();
    assert!(said.starts_with("packet 2 has an FCS of 2 octets, the packets before it of 4"), "{said}");
    assert!(written.is_empty());
}

#[test]
fn captured_octets_behind_the_original_length_are_cut_and_counted() {
    let mut file = Foreign::new(false);
    file.section(&[]).interface(1, 0, &[]).enhanced(0, 5, &[7; 64], 60, &[]).enhanced(0, 5, &[7; 9], 9, &[]);
    for format in [FileFormat::Pcap, FileFormat::Pcapng] {
        let (written, counts, done) = converted(&file.octets, format);
        done.unwrap();
        assert_eq!(counts.mended_lengths, MendedLengths { cut: 1, raised: 0 });
        let lengths: Vec<_> = recorded(&written).iter().map(|packet| (packet.3.len(), packet.4)).collect();
        assert_eq!(lengths, [(60, 60), (9, 9)]);
    }
}

#[test]
fn a_file_keeps_what_its_packets_state() {
    let mut file = Foreign::new(true);
    let options = [
        file.option(1, b"first"),
        file.option(1, b"second"),
        file.option(2, &file.number::<4>(0x8000_0105)),
        file.option(3, &[5, 1, 2, 3, 4]),
        file.option(3, &[3, 9, 9]),
        file.option(7, &[&[2][..], &file.number::<8>(2)].concat()),
        file.option(5, &file.number::<8>(77)),
        file.custom(2988, b"of somebody"),
    ];
    file.section(&[]).interface(1, 0, &[]).enhanced(0, 5, &[7; 61], 61, &options.concat());
    let (written, counts, done) = converted(&file.octets, FileFormat::Pcapng);
    done.unwrap();
    assert_eq!(counts.left_out, LeftOut::default());
    let mut little = Foreign::new(false);
    let options = [
        little.option(1, b"first"),
        little.option(1, b"second"),
        little.option(2, &little.number::<4>(0x8000_0105)),
        little.option(3, &[5, 1, 2, 3, 4]),
        little.option(3, &[3, 9, 9]),
        little.option(7, &[&[2][..], &little.number::<8>(2)].concat()),
        little.option(5, &little.number::<8>(77)),
        little.custom(2988, b"of somebody"),
        vec![0; 4],
    ];
    little.section(&[]).interface(1, 0, &[]).enhanced(0, 5, &[7; 61], 61, &options.concat());
    assert_eq!(written, little.octets);
}
