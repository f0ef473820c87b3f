//! Files of a real directory, and those that tcpdump makes of the same packets with the same flags.

use capbench_testing::{HostLimit, Scratch, cannot_have, missing};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::super::buffer::Origin;
use super::super::options::{WhenFull, WriteOptions};
use super::super::output::{FileEnds, Output};
use super::super::rotation::Rotation;
use super::fake::{FakeEnds, read_file, read_record};
use super::stage::put;
use crate::file::Extent;

/// The header of a pcap file with microseconds, snap length 65535 and Ethernet (pcap-savefile(5)).
fn pcap_header() -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, 1];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A packet of a length that depends on its number.
fn packet(number: u32) -> Vec<u8> {
    let length = 60 + number * 7919 % 1400;
    let head = [1_700_000_000, number, length, length];
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(bytes.len() + length as usize, number as u8);
    bytes
}

struct Pcap;

impl FileEnds for Pcap {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend(pcap_header());
    }

    fn trailer(&mut self, _out: &mut Vec<u8>) {}
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|it| (it.file_name().into_string().unwrap(), std::fs::read(it.path()).unwrap())).collect()
}

#[test]
fn files_are_those_of_tcpdump_by_name_and_octet() {
    let (input, packets) = (Scratch::new(), 0..12_000);
    let input_file = input.file("in");
    let mut bytes = pcap_header();
    packets.clone().for_each(|number| bytes.extend(packet(number)));
    std::fs::write(&input_file, bytes).unwrap();
    for (flags, files_kept) in [
        (vec!["-C", "1"], None),
        (vec!["-C", "1", "-W", "12"], Some(12)),
        (vec!["-C", "1", "-W", "3"], Some(3)),
    ] {
        let (theirs, ours) = (Scratch::new(), Scratch::new());
        let mut command = Command::new("tcpdump");
        command.args(["-Z", "root", "-r"]).arg(&input_file).arg("-w").arg(theirs.file("o.pcap")).args(&flags);
        match command.output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => return missing(format_args!("tcpdump: {error}")),
        }
        let mut options = WriteOptions::new(ours.file("o.pcap"));
        options.rotation = Rotation { bytes: Some(1_000_000), files: files_kept, ..Rotation::default() };
        options.when_full = WhenFull::Wait;
        let reader = |bytes: &[u8]| Some(Extent { length: bytes.len(), packet_of: Some(0), frames: 1 });
        let mut output = Output::open(&options, reader, 0, &mut Pcap).unwrap();
        for number in packets.clone() {
            let bytes = packet(number);
            let encode = |room: &mut [u8]| {
                room.get_mut(..bytes.len())?.copy_from_slice(&bytes);
                Some(bytes.len())
            };
            output.packet(Origin { interface: 0, time_ns: 0 }, &mut Pcap, encode).unwrap();
        }
        output.finish(&mut Pcap);
        let (theirs, ours) = (files(theirs.path()), files(ours.path()));
        assert_eq!(theirs.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>(), "{flags:?}");
        assert!(theirs == ours, "{flags:?}");
    }
}

#[test]
fn a_file_is_what_was_recorded_however_it_is_written() {
    let directory = Scratch::new();
    for (direct, compression) in [(false, None), (true, None), (false, Some(1))] {
        let mut options = WriteOptions::new(directory.file("f"));
        (options.direct, options.compression) = (direct, compression);
        (options.interfaces, options.when_full) = (2, WhenFull::Wait);
        // What was there is longer, and goes.
        std::fs::write(&options.path, vec![0; 50 << 20]).unwrap();
        let mut output = match Output::open(&options, read_record, 0, &mut FakeEnds) {
            Err(error) if direct => {
                cannot_have(HostLimit::DirectIo, error);
                continue;
            }
            other => other.unwrap(),
        };
        for number in 0..20_000 {
            put(&mut output, number, number as usize % 1400, 0).unwrap();
            if number % 1234 == 0 {
                output.flush();
            }
        }
        let recorded = output.finish(&mut FakeEnds);
        assert_eq!(recorded.counts.packets().written, 20_000);
        let bytes = if compression.is_some() {
            zstd::decode_all(std::fs::File::open(directory.file("f.zst")).unwrap()).unwrap()
        } else {
            std::fs::read(&options.path).unwrap()
        };
        assert_eq!(bytes.len() as u64, recorded.counts.bytes);
        let contents = read_file(&bytes);
        assert!(contents.is_complete && contents.left_over == 0);
        assert_eq!(contents.numbers, (0..20_000).collect::<Vec<_>>());
    }
}
