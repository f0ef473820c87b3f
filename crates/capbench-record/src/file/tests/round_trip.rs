//! What the encoders write, read again.

use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::packet::{FilterInstruction, Frame, PacketType, VlanTag};
use proptest::prelude::*;

use super::{Kept, KeptPacket, Whole, packets};
use crate::error::RecordError;
use crate::file::facts::PacketFacts;
use crate::file::{
    CaptureReader, ETHERNET, Encoder, Extent, HashAlgorithm, InterfaceDescription, InterfaceFilter,
    InterfaceStatistics, LEAST_BUFFER, Record, SectionDescription, check_buffer,
};

/// `TP_STATUS_*` that a file records: checksum not ready, checksum valid, TCP segments.
const KEPT_STATUS: u32 = 1 << 3 | 1 << 7 | 1 << 8;

/// A frame that outlives its ring.
#[derive(Clone, Debug)]
struct Made {
    data: Vec<u8>,
    more: u32,
    time_ns: u64,
    vlan: Option<VlanTag>,
    packet_type: PacketType,
    hash: Option<u32>,
    status: u32,
    facts: PacketFacts,
}

impl Made {
    fn frame(&self) -> Frame<'_> {
        Frame {
            data: &self.data,
            wire_length: self.data.len() as u32 + self.more,
            time_ns: self.time_ns,
            vlan: self.vlan,
            packet_type: self.packet_type,
            hash: self.hash,
            status: self.status,
        }
    }

    /// What a file has to have of it: octets and original length.
    fn in_file(&self, snap: SnapLength) -> (Vec<u8>, u32) {
        let (mut octets, mut original) = (self.data.clone(), self.frame().wire_length);
        if let Some(VlanTag { tci, tpid }) = self.vlan {
            original += 4;
            if octets.len() >= 12 {
                octets.splice(12..12, [tpid.to_be_bytes(), tci.to_be_bytes()].concat());
            }
        }
        octets.truncate(snap.octets() as usize);
        (octets, original)
    }
}

fn packet_type() -> impl Strategy<Value = PacketType> {
    prop::sample::select(vec![
        PacketType::Host,
        PacketType::Broadcast,
        PacketType::Multicast,
        PacketType::OtherHost,
        PacketType::Outgoing,
        PacketType::Unknown,
    ])
}

fn made() -> impl Strategy<Value = Made> {
    let vlan = prop::option::of(any::<(u16, u16)>().prop_map(|(tci, tpid)| VlanTag { tci, tpid }));
    let facts = (0u32..3, any::<Option<u32>>(), any::<Option<u64>>())
        .prop_map(|(interface, queue, dropped)| PacketFacts { interface, queue, dropped });
    let data = prop::collection::vec(any::<u8>(), 0..300);
    let numbers = (0u32..3000, any::<u64>(), any::<Option<u32>>(), any::<u32>());
    (data, numbers, vlan, packet_type(), facts).prop_map(
        |(data, (more, time_ns, hash, status), vlan, packet_type, facts)| Made {
            data,
            more,
            time_ns,
            vlan,
            packet_type,
            hash,
            status,
            facts,
        },
    )
}

fn pcapng(snap: SnapLength) -> Encoder {
    let interfaces = ["eth0", "eth1", "eth2"]
        .map(|name| InterfaceDescription { name: Some(name.into()), ..InterfaceDescription::default() });
    Encoder::pcapng(&SectionDescription::default(), &interfaces, snap, HashAlgorithm::Toeplitz).unwrap()
}

/// A file of all frames, encoded into buffers of that size. A buffer without room is replaced.
fn file(encoder: &Encoder, frames: &[Made], buffer: usize) -> Vec<u8> {
    let mut file = encoder.header();
    let (mut memory, mut filled) = (vec![0xaa; buffer], 0);
    for made in frames {
        let encode = |room: &mut [u8]| encoder.encode(&made.frame(), &made.facts, room);
        let encoded = encode(&mut memory[filled..]).unwrap_or_else(|| {
            file.extend(&memory[..filled]);
            memory.fill(0xaa);
            filled = 0;
            encode(&mut memory).expect("the largest record fits into an empty buffer")
        });
        assert!(encoded <= encoder.largest_record());
        assert!(
            memory[filled + encoded..].iter().all(|&octet| octet == 0xaa),
            "nothing is written behind a record"
        );
        filled += encoded;
    }
    file.extend(&memory[..filled]);
    file
}

proptest! {
    #[test]
    fn a_recorder_leaves_out_the_flags_of_received_frames_alone(frames in prop::collection::vec(made(), 0..20)) {
        let whole = pcapng(SnapLength::EVERYTHING);
        let sparing = whole.clone().without_flags_of_received();
        let read = |encoder: &Encoder| Whole::of(&file(encoder, &frames, encoder.largest_record()));
        let (whole, sparing) = (read(&whole), read(&sparing));
        for ((made, whole), sparing) in frames.iter().zip(packets(&whole)).zip(packets(&sparing)) {
            let is_missing_checksum_or_segments = made.status & (1 << 3 | 1 << 8) != 0;
            let is_remarkable = made.packet_type == PacketType::Outgoing || is_missing_checksum_or_segments;
            prop_assert_eq!(sparing.flags, whole.flags.filter(|_| is_remarkable));
            prop_assert_eq!(KeptPacket { flags: None, ..sparing.clone() }, KeptPacket { flags: None, ..whole.clone() });
        }
    }
}

proptest! {
    #[test]
    fn pcapng_keeps_everything(
        frames in prop::collection::vec(made(), 0..20),
        snap in prop::sample::select(vec![1, 11, 13, 17, 64, 96, 0]),
        spare in 0usize..500,
    ) {
        let snap = SnapLength::new(snap);
        let encoder = pcapng(snap);
        let octets = file(&encoder, &frames, encoder.largest_record() + spare);
        let records = Whole::of(&octets);
        prop_assert_eq!(packets(&records).count(), frames.len());
        for (made, seen) in frames.iter().zip(packets(&records)) {
            prop_assert_eq!((seen.data.clone(), seen.original_length), made.in_file(snap));
            prop_assert_eq!(seen.time_ns, Some(made.time_ns));
            let facts =
                PacketFacts { interface: seen.interface, queue: seen.queue, dropped: seen.dropped };
            prop_assert_eq!(facts, made.facts);
            prop_assert_eq!(seen.hash.clone(), made.hash.map(|hash| (5, hash.to_be_bytes().to_vec())));
        }
        // As frames again, they are what they were.
        let (mut reader, mut at) = (CaptureReader::new(&octets[..]).unwrap(), 0);
        while let Some(record) = reader.next_record().unwrap() {
            let Record::Packet(packet) = record else { continue };
            let (frame, made) = (packet.frame(), &frames[at]);
            prop_assert_eq!((frame.packet_type, frame.hash), (made.packet_type, made.hash));
            prop_assert_eq!((frame.status, packet.facts()), (made.status & KEPT_STATUS, made.facts));
            at += 1;
        }
    }

    #[test]
    fn pcap_keeps_octets_lengths_and_times(
        frames in prop::collection::vec(made(), 0..20),
        snap in prop::sample::select(vec![1, 13, 64, 0]),
    ) {
        let snap = SnapLength::new(snap);
        let encoder = Encoder::pcap(ETHERNET, snap);
        let records = Whole::of(&file(&encoder, &frames, encoder.largest_record()));
        prop_assert_eq!(packets(&records).count(), frames.len());
        for (made, seen) in frames.iter().zip(packets(&records)) {
            prop_assert_eq!((seen.data.clone(), seen.original_length), made.in_file(snap));
            let last = u64::from(u32::MAX) * 1_000_000_000;
            let second = (made.time_ns / 1_000_000_000 * 1_000_000_000).min(last);
            prop_assert_eq!(seen.time_ns, Some(second + made.time_ns % 1_000_000_000));
        }
    }

    #[test]
    fn a_record_needs_its_octets_and_no_more(made in made(), snap in prop::sample::select(vec![14, 96, 0])) {
        let snap = SnapLength::new(snap);
        fn check(encoder: &Encoder, made: &Made) -> Vec<u8> {
            let encode = |room: &mut [u8]| encoder.encode(&made.frame(), &made.facts, room);
            let length = encode(&mut vec![0; encoder.largest_record()]).unwrap();
            for room in [0, length / 2, length - 1] {
                assert_eq!(encode(&mut vec![0; room]), None);
            }
            let mut record = vec![0; length];
            assert_eq!(encode(&mut record), Some(length));
            record
        }
        let of = |length: usize, interface| Some(Extent { length, packet_of: Some(interface), frames: 1 });
        for (encoder, interface) in [(pcapng(snap), made.facts.interface), (Encoder::pcap(ETHERNET, snap), 0)] {
            let record = check(&encoder, &made);
            prop_assert_eq!(encoder.extent()(&record), of(record.len(), interface));
            prop_assert_eq!(encoder.extent()(&record[..15]), None);
        }
    }

    #[test]
    fn a_drop_count_can_be_added_later(made in made(), dropped in any::<u64>(), snap in prop::sample::select(vec![11, 96, 0])) {
        fn check(encoder: &Encoder, made: &Made, dropped: u64) {
            let encode = |dropped| {
                let mut record = vec![0; encoder.largest_record()];
                let facts = PacketFacts { dropped, ..made.facts };
                let length = encoder.encode(&made.frame(), &facts, &mut record).unwrap();
                record.truncate(length);
                record
            };
            let (without, with) = (encode(None), encode(Some(dropped)));
            for less in [1, with.len()] {
                let mut room = vec![0xaa; with.len() - less];
                assert_eq!(encoder.with_drop_count(&without, dropped, &mut room), None);
                assert!(room.iter().all(|&octet| octet == 0xaa));
            }
            let mut room = vec![0xaa; with.len() + 1];
            assert_eq!(encoder.with_drop_count(&without, dropped, &mut room), Some(with.len()));
            assert_eq!((&room[..with.len()], room[with.len()]), (&with[..], 0xaa));
        }
        check(&pcapng(SnapLength::new(snap)), &made, dropped);
        check(&Encoder::pcap(ETHERNET, SnapLength::new(snap)), &made, dropped);
        let record = pcapng(SnapLength::new(snap)).header();
        prop_assert!(pcapng(SnapLength::new(snap)).with_drop_count(&record[..20], 1, &mut [0; 99]).is_none(), "no record");
    }

    #[test]
    fn statistics_come_back_and_absent_ones_stay_absent(
        interface in 0u32..3,
        times in any::<(u64, Option<u64>, Option<u64>)>(),
        counts in any::<[Option<u64>; 5]>(),
        comments in prop::collection::vec("[^\0]{0,40}", 0..3),
    ) {
        let [received, interface_dropped, accepted, system_dropped, delivered] = counts;
        let statistics = InterfaceStatistics {
            interface,
            time_ns: times.0,
            start_ns: times.1,
            end_ns: times.2,
            received,
            interface_dropped,
            accepted,
            system_dropped,
            delivered,
            comments,
        };
        let encoder = pcapng(SnapLength::EVERYTHING);
        let octets = [encoder.header(), encoder.statistics(&statistics).unwrap()].concat();
        prop_assert_eq!(Whole::of(&octets).pop(), Some(Kept::Statistics(statistics)));
    }

    #[test]
    fn descriptions_come_back(
        texts in any::<[Option<u8>; 7]>(),
        numbers in any::<(Option<[u8; 6]>, Option<u64>)>(),
        filter in prop::option::of(prop_oneof![
            "[^\0]{0,20}".prop_map(InterfaceFilter::Expression),
            prop::collection::vec(any::<(u16, u8, u8, u32)>(), 0..5).prop_map(|program| {
                let instruction = |(code, jt, jf, k)| FilterInstruction { code, jt, jf, k };
                InterfaceFilter::Program(program.into_iter().map(instruction).collect())
            }),
        ]),
    ) {
        let text = |at: usize| texts[at].map(|length| "é".repeat(length.into()));
        let section = SectionDescription {
            hardware: text(0),
            system: text(1),
            application: text(2),
            comments: text(3).into_iter().collect(),
        };
        let interface = InterfaceDescription {
            name: text(4),
            description: text(5),
            mac: numbers.0,
            speed: numbers.1,
            filter,
            system: text(6),
            hardware: text(0),
            fcs_octets: numbers.1.map(|number| number as u8 % 32),
            comments: text(1).into_iter().chain(text(2)).collect(),
        };
        let snap = SnapLength::new(96);
        let encoder =
            Encoder::pcapng(&section, std::slice::from_ref(&interface), snap, HashAlgorithm::default());
        let records = Whole::of(&encoder.unwrap().header());
        prop_assert_eq!(&records[0], &Kept::Section(section));
        let Kept::Interface(0, read) = &records[1] else { panic!("{records:?}") };
        prop_assert_eq!((read.link_type, read.snap, &read.description), (1, 96, &interface));
    }
}

#[test]
fn descriptions_and_statistics_are_records_of_no_frame() {
    let encoder = pcapng(SnapLength::new(0));
    let octets = [encoder.header(), encoder.statistics(&InterfaceStatistics::default()).unwrap()].concat();
    let mut at = 0;
    for _ in 0..5 {
        let Extent { length, packet_of, frames } = encoder.extent()(&octets[at..]).unwrap();
        assert_eq!((packet_of, frames), (None, 0));
        at += length;
    }
    assert_eq!(at, octets.len());
    assert_eq!(encoder.extent()(&[0; 16]), None);
}

#[test]
fn a_text_that_is_too_long_is_refused_by_name() {
    let interface = InterfaceDescription {
        filter: Some(InterfaceFilter::Expression("x".repeat(65535))),
        ..Default::default()
    };
    let section = SectionDescription::default();
    let error = Encoder::pcapng(&section, &[interface], SnapLength::new(0), HashAlgorithm::default());
    assert!(matches!(error, Err(RecordError::FileOption { what: "filter", octets: 65536 })), "{error:?}");
    // A comment about losses is cut instead: the capture goes on.
    let statistics =
        InterfaceStatistics { comments: vec!["é".repeat(40_000)], ..InterfaceStatistics::default() };
    let encoder = pcapng(SnapLength::new(0));
    let octets = [encoder.header(), encoder.statistics(&statistics).unwrap()].concat();
    let Some(Kept::Statistics(read)) = Whole::of(&octets).pop() else { panic!() };
    assert_eq!(read.comments, ["é".repeat(32_767)]);
}

#[test]
fn buffers_that_no_frame_may_exceed_are_checked_at_the_beginning() {
    let encoder = pcapng(SnapLength::EVERYTHING);
    assert!(check_buffer(ByteCount(LEAST_BUFFER as u64), &encoder).is_ok());
    let text = check_buffer(ByteCount(65536), &encoder).unwrap_err().to_string();
    assert!(text.starts_with("write buffers of 64KiB do not hold the largest record"), "{text}");
    assert!(check_buffer(ByteCount(256), &Encoder::pcap(ETHERNET, SnapLength::new(96))).is_ok());
}
