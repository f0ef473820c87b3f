//! Files of others, converted: as large as they are, and with an account of what has no place in the output.

use super::foreign::{Foreign, example};
use super::{Kept, KeptPacket, Whole, packets};
use crate::convert::{ConvertError, Converted, convert};
use crate::file::{FileFormat, LeftOut};
use crate::writing::WriteOptions;

/// The file that another becomes.
pub(super) fn converted(file: &[u8], format: FileFormat) -> (Vec<u8>, Converted, Result<(), ConvertError>) {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("capbench-convert-{}-{number}", std::process::id()));
    let mut options = WriteOptions::new(&path);
    options.pool.0 = 4 << 20;
    let mut counts = Converted::default();
    let done = convert(file, format, &options, &mut counts);
    let written = std::fs::read(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
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
fn what_has_no_place_is_counted_by_kind() {
    for big in [false, true] {
        let mut file = Foreign::new(big);
        file.octets = example(big);
        file.block(0x0bad, &[0; 8]).block(0x4000_0bad, &[0; 8]);
        // Of a section, of a packet two, and its flags, that say inbound without saying to whom.
        let mut left_out = LeftOut { names: 1, secrets: 1, custom: 2, blocks: 1, comments: 1, options: 4 };
        let (written, counts, done) = converted(&file.octets, FileFormat::Pcapng);
        done.unwrap();
        assert_eq!(counts.left_out, left_out);
        assert_eq!((counts.packets, counts.dropped, counts.without_time), (5, 16, 1));
        let times: Vec<_> = packets(&Whole::of(&written)).map(|packet| packet.time_ns).collect();
        assert_eq!(times.iter().filter(|&&time| time == Some(0)).count(), 1);

        left_out.options -= 1;
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
