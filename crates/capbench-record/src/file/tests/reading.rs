//! The reader on files that the encoder would not write.

use std::io::{self, Read};

use proptest::prelude::*;

use super::foreign::{Foreign, example, pcap_example};
use super::{Kept, KeptPacket, Whole, packets};
use crate::file::description::InterfaceFilter;
use crate::file::reading::FileError;
use crate::file::{CaptureReader, MendedLengths, Record};

#[test]
fn every_kind_of_record_is_read_in_either_order() {
    let records = Whole::of(&example(true));
    assert_eq!(records, Whole::of(&example(false)));

    let Kept::Section(section) = &records[0] else { panic!("{records:?}") };
    let texts = [&section.hardware, &section.system, &section.application].map(Option::as_deref);
    assert_eq!(texts, [Some("machine"), Some("system"), Some("program")]);
    assert_eq!(section.comments, ["made by hand"]);

    let (Kept::Interface(0, first), Kept::Interface(1, second)) = (&records[1], &records[2]) else {
        panic!("{records:?}")
    };
    let description = &first.description;
    assert_eq!((first.link_type, first.snap, description.name.as_deref()), (1, 96, Some("eth0")));
    assert_eq!((description.mac, description.speed), (Some([2, 0, 0, 0, 0, 1]), Some(10_000_000_000)));
    assert_eq!(description.filter, Some(InterfaceFilter::Expression("udp port 9".into())));
    assert_eq!(
        (description.system.as_deref(), description.hardware.as_deref()),
        (Some("Linux"), Some("card"))
    );
    let Some(InterfaceFilter::Program(program)) = &second.description.filter else { panic!("{second:?}") };
    assert_eq!((program.len(), program[0].code, program[0].k), (1, 6, 96));

    let expected = [
        KeptPacket {
            data: vec![1, 2, 3],
            original_length: 60,
            time_ns: Some(6_000_000_007),
            dropped: Some(7),
            flags: Some(0x401),
            queue: Some(3),
            hash: Some((5, vec![1, 2, 3, 4])),
            ..KeptPacket::default()
        },
        KeptPacket {
            interface: 1,
            data: vec![4; 8],
            original_length: 8,
            time_ns: Some(1_000_976_562),
            ..KeptPacket::default()
        },
        // Without a time; cut to what the first interface says.
        KeptPacket { data: vec![5; 96], original_length: 100, ..KeptPacket::default() },
        KeptPacket {
            interface: 1,
            data: vec![6; 5],
            original_length: 70,
            time_ns: Some(2_000_000_000),
            dropped: Some(9),
            flags: Some(2),
            ..KeptPacket::default()
        },
    ];
    let seen: Vec<_> = packets(&records).cloned().collect();
    assert_eq!(seen[..4], expected);
    assert_eq!(seen[4], KeptPacket { dropped: None, ..expected[3].clone() }, "unknown is not 65535");

    let Some(Kept::Statistics(statistics)) = records.last() else { panic!("{records:?}") };
    assert_eq!((statistics.interface, statistics.time_ns), (0, 8_000_000_000));
    assert_eq!(
        (statistics.start_ns, statistics.end_ns),
        (Some(6_000_000_000), Some((1 << 32) + 5_000_000_000))
    );
    assert_eq!((statistics.received, statistics.interface_dropped), (Some(100), Some(1)));
    assert_eq!((statistics.accepted, statistics.system_dropped), (Some(90), Some(2)));
    assert_eq!((statistics.delivered, &statistics.comments[..]), (Some(88), &["all of it".to_string()][..]));
}

#[test]
fn pcap_is_read_in_either_order_and_resolution() {
    for big in [false, true] {
        for (magic, time_ns) in [(0xa1b2_c3d4, 10_000_007_000), (0xa1b2_3c4d, 10_000_000_007)] {
            let records = Whole::of(&pcap_example(big, magic));
            let Kept::Interface(0, interface) = &records[1] else { panic!("{records:?}") };
            assert_eq!((interface.link_type, interface.snap), (1, 65535));
            let seen: Vec<_> = packets(&records)
                .map(|packet| (packet.data.clone(), packet.original_length, packet.time_ns))
                .collect();
            let expected = |octets: [u8; 4]| (octets.to_vec(), 60, Some(time_ns));
            assert_eq!(seen, [expected([1, 2, 3, 4]), expected([5, 6, 7, 8])]);
        }
    }
}

#[test]
fn an_fcs_is_known_from_the_packet_else_from_its_interface() {
    for big in [false, true] {
        let mut file = Foreign::new(big);
        let of_interface = file.option(13, &[32]);
        file.section(&[]).interface(1, 0, &of_interface).interface(1, 0, &[]);
        let of_packet = file.option(2, &file.number::<4>(2 << 5 | 1));
        file.enhanced(0, 1, &[7; 64], 64, &[]).enhanced(1, 2, &[7; 64], 64, &[]);
        file.enhanced(0, 3, &[7; 64], 64, &of_packet).enhanced(0, 4, &[7; 62], 64, &[]);
        file.enhanced(0, 5, &[7; 64], 90, &[]).enhanced(0, 6, &[7; 3], 3, &[]);
        let records = Whole::of(&file.octets);
        let lengths = |packet: &KeptPacket| {
            let (data, original) = packet.as_read().without_fcs();
            (data.len(), original)
        };
        let seen: Vec<_> = packets(&records).map(lengths).collect();
        assert_eq!(seen, [(60, 60), (64, 64), (62, 62), (60, 60), (64, 86), (0, 0)]);

        let mut file = pcap_example(big, 0xa1b2_c3d4);
        let word = Foreign::new(big).number::<4>(0x2400_0001);
        file[20..24].copy_from_slice(&word);
        let records = Whole::of(&file);
        let Kept::Interface(0, interface) = &records[1] else { panic!("{records:?}") };
        assert_eq!((interface.link_type, interface.description.fcs_octets), (1, Some(4)));
        assert!(packets(&records).all(|packet| packet.fcs_octets == Some(4)));
    }
}

#[test]
fn of_two_lengths_that_contradict_each_other_the_original_one_rules() {
    let mut pcapng = Foreign::new(false);
    pcapng.section(&[]).interface(1, 0, &[]);
    let mut pcap = pcap_example(false, 0xa1b2_c3d4)[..24].to_vec();
    for original in [60, 64, 70, 0] {
        pcapng.enhanced(0, 5, &[7; 64], original, &[]);
        pcap.extend([&pcapng.words(&[10, 7, 64, original])[..], &[7; 64]].concat());
    }
    for file in [&pcapng.octets, &pcap] {
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        let mut lengths = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            if let Record::Packet(packet) = record {
                lengths.push((packet.data.len(), packet.original_length));
            }
        }
        assert_eq!(lengths, [(60, 60), (64, 64), (64, 70), (64, 64)]);
        assert_eq!(reader.mended_lengths(), MendedLengths { cut: 1, raised: 1 });
    }
}

#[test]
fn sections_of_either_order_follow_each_other_and_count_their_interfaces_anew() {
    let mut other = Foreign::new(true);
    other.section(&[]).interface(113, 0, &[]).enhanced(0, 5, &[1], 1, &[]);
    let records = Whole::of(&[example(false), other.octets, example(true)].concat());
    assert_eq!(packets(&records).count(), 11);
    let links: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Kept::Interface(number, interface) => Some((*number, interface.link_type)),
            _ => None,
        })
        .collect();
    assert_eq!(links, [(0, 1), (1, 1), (0, 113), (0, 1), (1, 1)]);
}

#[test]
fn a_file_that_ends_anywhere_gives_every_whole_record_before_and_says_so() {
    for file in
        [example(false), example(true), pcap_example(false, 0xa1b2_3c4d), pcap_example(true, 0xa1b2_c3d4)]
    {
        let all = Whole::of(&file);
        let mut whole = 0;
        for length in 4..=file.len() {
            let cut = Whole::read(&file[..length]).unwrap();
            assert!(cut.error.is_none(), "{:?}", cut.error);
            assert_eq!(cut.records, all[..cut.records.len()]);
            assert!(cut.records.len() >= whole, "what was whole stays whole");
            whole = cut.records.len();
        }
        assert_eq!(whole, all.len());
        assert!(Whole::read(&file[..file.len() - 1]).unwrap().early);
        assert!(!Whole::read(&file[..]).unwrap().early);
    }
}

#[test]
fn impossible_records_are_errors_and_earlier_records_are_kept() {
    let begun = |big| {
        let mut file = Foreign::new(big);
        file.section(&[]).interface(1, 0, &[]).enhanced(0, 5, &[1], 1, &[]);
        file
    };
    let with = |change: fn(&mut Foreign)| {
        let mut file = begun(true);
        change(&mut file);
        file.octets
    };
    let after = "is damaged after 1 frames: ";
    let too_short = "a block that is too short, or of an interface that does not exist";
    // An enhanced packet of no octets has a captured length of 9.
    const NINE: [u8; 20] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0];
    for (octets, what) in [
        (with(|file| file.octets.extend([0, 0, 0, 6, 0, 0, 0, 13])), "a block of 13 octets"),
        (with(|file| file.octets.extend([0, 0, 0, 6, 0, 0, 0, 8])), "a block of 8 octets"),
        (with(|file| file.octets.extend([0, 0, 0, 6, 0x7f, 0, 0, 0])), "a block of 2130706432 octets"),
        (
            with(|file| file.octets.extend([0, 0, 0, 9, 0, 0, 0, 12, 0, 0, 0, 16])),
            "the two lengths of a block differ",
        ),
        (with(|file| file.add(0x0a0d_0d0a, &[9; 16])), "a section without 0x1a2b3c4d"),
        (with(|file| file.add(1, &[0; 4])), too_short),
        (with(|file| file.add(5, &[0; 8])), too_short),
        (with(|file| file.add(5, &[0xff; 12])), too_short),
        (with(|file| file.add(6, &[0; 16])), too_short),
        (with(|file| file.add(6, &[1; 20])), too_short),
        (with(|file| file.add(6, &NINE)), too_short),
        (with(|file| file.add(2, &[0; 16])), too_short),
        (with(|file| file.add(3, &[0, 0, 0, 9, 1, 0, 0, 0])), too_short),
    ] {
        let whole = Whole::read(&octets[..]).unwrap();
        assert_eq!(packets(&whole.records).count(), 1);
        assert_eq!(whole.error.unwrap().to_string(), format!("{after}{what}"));
    }
    let mut record = pcap_example(false, 0xa1b2_c3d4);
    record[24 + 8 + 3] = 0x7f;
    let error = Whole::read(&record[..]).unwrap().error.unwrap();
    assert_eq!(error.to_string(), "is damaged after 0 frames: a record of 2130706436 octets");
    let mut orphan = Foreign::new(false);
    orphan.section(&[]).block(3, &[0; 8]);
    assert!(Whole::read(&orphan.octets[..]).unwrap().error.is_some(), "there is no first interface");

    assert!(matches!(Whole::read(&b"\n\r\r"[..]), Err(FileError::Empty)));
    let text = Whole::read(&b"no capture"[..]).unwrap_err().to_string();
    assert_eq!(text, "is neither pcap nor pcapng: it begins with 6e 6f 20 63");
}

#[test]
fn a_failing_source_is_reported_with_its_reason() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    let file = example(false);
    let whole = Whole::read(file[..200].chain(Broken)).unwrap();
    assert_eq!(whole.error.unwrap().to_string(), "cannot be read: the disk is on fire");
    assert!(!whole.early);
    assert_eq!(Whole::read(Broken).unwrap_err().to_string(), "cannot be read: the disk is on fire");
}

#[test]
fn descriptions_without_end_are_refused() {
    let mut file = Foreign::new(false);
    file.section(&[]);
    let comment = file.option(1, &[b'x'; 60_000]);
    for _ in 0..1000 {
        file.interface(1, 0, &comment);
    }
    let error = Whole::read(&file.octets[..]).unwrap().error.unwrap().to_string();
    assert!(error.contains("descriptions of more memory"), "{error}");
    let mut section = Foreign::new(false);
    section.section(&vec![1; 3 << 20]);
    assert!(Whole::read(&section.octets[..]).unwrap().error.is_some());
}

#[test]
fn a_large_record_comes_whole_and_a_claim_of_one_takes_no_memory() {
    let mut file = Foreign::new(false);
    let data: Vec<_> = (0..9 << 20).map(|at: u32| (at >> 3) as u8).collect();
    file.section(&[]).interface(1, 0, &[]).enhanced(0, 5, &data, 9 << 20, &[]);
    file.enhanced(0, 6, &[7; 60], 60, &[]);
    let records = Whole::of(&file.octets);
    let seen: Vec<_> = packets(&records).map(|packet| packet.data.len()).collect();
    assert_eq!(seen, [9 << 20, 60]);
    assert!(packets(&records).next().is_some_and(|packet| packet.data == data));

    let mut claim = Foreign::new(false);
    claim.section(&[]).octets.extend([6, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    let mut reader = crate::file::CaptureReader::new(&claim.octets[..]).unwrap();
    while reader.next_record().unwrap().is_some() {}
    assert!(reader.ends_early() && reader.memory() <= 1 << 20, "{}", reader.memory());
}

proptest! {
    #[test]
    fn frames_of_any_fields_are_read_alike_in_either_order(
        data in prop::collection::vec(any::<u8>(), 0..100),
        fields in any::<(u64, u32, u32, u64, u32)>(),
        hash in any::<(u8, [u8; 6])>(),
        resolution in 0u8..20,
    ) {
        let original_length = fields.1.max(data.len() as u32);
        let file = |big| {
            let mut file = Foreign::new(big);
            let option = file.option(9, &[resolution]);
            file.section(&[]).interface(1, 0, &option);
            let options = [
                file.option(2, &file.number::<4>(fields.2.into())),
                file.option(3, &[&[hash.0][..], &hash.1].concat()),
                file.option(4, &file.number::<8>(fields.3)),
                file.option(6, &file.number::<4>(fields.4.into())),
            ];
            file.enhanced(0, fields.0, &data, original_length, &options.concat());
            file.octets
        };
        let records = Whole::of(&file(false));
        prop_assert_eq!(&records, &Whole::of(&file(true)));
        let seen = packets(&records).next().unwrap();
        let ns = u128::from(fields.0) * 1_000_000_000 / 10_u128.pow(resolution.into());
        let expected = KeptPacket {
            interface: 0,
            data,
            original_length,
            fcs_octets: Some((fields.2 >> 5 & 0xf) as u8).filter(|octets| *octets > 0),
            time_ns: Some(u64::try_from(ns).unwrap_or(u64::MAX)),
            dropped: Some(fields.3),
            flags: Some(fields.2),
            queue: Some(fields.4),
            hash: Some((hash.0, hash.1.to_vec())),
        };
        prop_assert_eq!(seen, &expected);
    }
}
