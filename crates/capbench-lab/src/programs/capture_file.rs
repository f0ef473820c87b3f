//! Reads frames from a capture file, pcap or pcapng, one after the other. It reads only what verification needs.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use capbench_capture::{Frame, PacketType};
use capbench_record::file::{CaptureReader, ETHERNET, FileError, Record};

/// Properties of a capture file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// `pcap` or `pcapng`.
    pub(super) format: &'static str,
    /// Number of its frames.
    pub(super) frames: u64,
    /// Whether it ends within a record, as the file of a killed program does.
    pub(super) ends_early: bool,
}

/// Passes every frame of the file to `each`.
///
/// # Errors
/// Why it is not a capture file of Ethernet frames, as the rest of a sentence about the file.
pub(super) fn read(path: &Path, each: impl FnMut(&Frame<'_>)) -> Result<Summary, String> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "was not written".to_string(),
        _ => format!("cannot be read: {error}"),
    })?;
    read_from(file, each)
}

fn read_from(input: impl Read, mut each: impl FnMut(&Frame<'_>)) -> Result<Summary, String> {
    let tell = |error: FileError| error.to_string();
    let mut reader = CaptureReader::new(input).map_err(tell)?;
    while let Some(record) = reader.next_record().map_err(tell)? {
        match record {
            Record::Interface(_, interface) if interface.link_type != ETHERNET => {
                return Err(format!("has frames of link type {}, not Ethernet", interface.link_type));
            }
            Record::Packet(packet) => {
                let (data, wire_length) = packet.without_fcs();
                let packet_type = PacketType::OtherHost;
                each(&Frame { data, wire_length, packet_type, hash: None, status: 0, ..packet.frame() })
            }
            _ => {}
        }
    }
    Ok(Summary { format: reader.format().name(), frames: reader.frames(), ends_early: reader.ends_early() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Summary, read, read_from};

    type Seen = Vec<(Vec<u8>, u32, u64)>;

    fn parse(octets: &[u8]) -> Result<(Summary, Seen), String> {
        let mut seen = Vec::new();
        let each = |frame: &capbench_capture::Frame<'_>| {
            seen.push((frame.data.to_vec(), frame.wire_length, frame.time_ns));
        };
        read_from(octets, each).map(|summary| (summary, seen))
    }

    fn words(words: &[u32], big: bool) -> Vec<u8> {
        words.iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect()
    }

    fn pcap(magic: u32, big: bool) -> Vec<u8> {
        let mut file = words(&[magic, 0, 0, 0, 65535, 1], big);
        for octets in [[1, 2, 3, 4], [5, 6, 7, 8]] {
            file.extend(words(&[10, 7, 4, 60], big));
            file.extend(octets);
        }
        file
    }

    fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
        let length = 12 + body.len() as u32;
        [words(&[kind, length], big), body.to_vec(), words(&[length], big)].concat()
    }

    fn pcapng(big: bool) -> Vec<u8> {
        let short = |values: [u16; 2]| -> Vec<u8> {
            values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect()
        };
        // Nanoseconds: option 9, if_tsresol.
        let interface =
            [short([1, 0]), words(&[65535], big), short([9, 1]), vec![9, 0, 0, 0], short([0, 0])].concat();
        let enhanced = |time: u64| {
            let head = words(&[0, (time >> 32) as u32, time as u32, 3, 60], big);
            [head, vec![1, 2, 3, 0]].concat()
        };
        [
            block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], big), big),
            block(1, &interface, big),
            block(6, &enhanced(5_000_000_007), big),
            // Interface statistics, which nobody asked for.
            block(5, &words(&[0, 0, 0], big), big),
            block(3, &[words(&[2], big), vec![8, 9, 0, 0]].concat(), big),
        ]
        .concat()
    }

    #[test]
    fn pcap_of_either_order_and_resolution_is_read() {
        for big in [false, true] {
            for (magic, time) in [(0xa1b2_c3d4, 10_000_007_000), (0xa1b2_3c4d, 10_000_000_007)] {
                let (summary, seen) = parse(&pcap(magic, big)).unwrap();
                assert_eq!(summary, Summary { format: "pcap", frames: 2, ends_early: false });
                assert_eq!(seen, [(vec![1, 2, 3, 4], 60, time), (vec![5, 6, 7, 8], 60, time)]);
            }
        }
    }

    #[test]
    fn pcapng_of_either_order_is_read() {
        for big in [false, true] {
            let (summary, seen) = parse(&pcapng(big)).unwrap();
            assert_eq!(summary, Summary { format: "pcapng", frames: 2, ends_early: false });
            assert_eq!(seen, [(vec![1, 2, 3], 60, 5_000_000_007), (vec![8, 9], 2, 0)]);
        }
        // Two sections, as files that were put together have.
        let twice = [pcapng(false), pcapng(true)].concat();
        assert_eq!(parse(&twice).unwrap().0.frames, 4);
    }

    #[test]
    fn a_file_that_ends_within_a_record_gives_the_frames_before_it() {
        for file in [pcap(0xa1b2_c3d4, false), pcapng(false)] {
            let whole = parse(&file).unwrap().0.frames;
            let (summary, _) = parse(&file[..file.len() - 1]).unwrap();
            assert_eq!((summary.frames, summary.ends_early), (whole - 1, true));
            for length in 0..file.len() {
                // Never a panic, never a frame that is not there.
                assert!(
                    parse(&file[..length]).is_ok_and(|(summary, _)| summary.frames < whole) || length < 28
                );
            }
        }
    }

    #[test]
    fn what_is_no_capture_of_ethernet_frames_is_told() {
        let mut other_link = pcap(0xa1b2_c3d4, false);
        other_link[20] = 113;
        let mut too_long = pcap(0xa1b2_c3d4, false);
        too_long[24 + 8 + 3] = 0x7f;
        let mut odd_block = pcapng(false);
        odd_block[4] = 13;
        let mut no_interface = pcapng(false);
        let at = 28 + 12 + 20 + 8;
        no_interface[at] = 1;
        for (octets, expected) in [
            (&b""[..], "is empty"),
            (
                b"text that is no capture file at all",
                "is neither pcap nor pcapng: it begins with 74 65 78 74",
            ),
            (&other_link, "link type 113, not Ethernet"),
            (&too_long, "is damaged after 0 frames: a record of 2130706436 octets"),
            (&odd_block, "is damaged after 0 frames: a block of 13 octets"),
            (&no_interface, "is damaged after 0 frames: "),
        ] {
            let error = parse(octets).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(read("/no/such/file".as_ref(), |_| {}).unwrap_err(), "was not written");
    }

    proptest! {
        #[test]
        fn no_octets_make_it_panic(kind in 0..3, noise in prop::collection::vec((0usize..200, any::<u8>()), 0..8)) {
            let mut file = match kind { 0 => pcap(0xa1b2_c3d4, false), 1 => pcapng(false), _ => pcapng(true) };
            for (at, octet) in noise {
                let length = file.len();
                file[at % length] = octet;
            }
            let _ = parse(&file);
        }
    }
}
