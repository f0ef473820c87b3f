//! `capbench verify` on files whose content is known, whole and not.

use std::fs;

use crate::support::results_file::assert_valid_output;
use crate::support::{Ended, HOST, Scratch, capbench, run};
use capbench_capture::{Frame, PacketType};
use capbench_frames::{Flow, FrameLayout, FrameSize, FrameWriter, Stamp, StreamId, TrialId, VlanTag};
use capbench_model::counters::Loss;
use capbench_model::places::Place;
use capbench_model::units::SnapLength;
use capbench_record::file::{
    ETHERNET, EarlierFiles, Encoder, HashAlgorithm, InterfaceDescription, InterfaceStatistics, LostAt,
    PacketFacts, RecordingPart, SectionDescription,
};
use serde_json::Value;

/// Octets of the frames, with FCS.
const SIZE: u32 = 100;

/// A packet to be written.
struct Made {
    octets: Vec<u8>,
    interface: u32,
    dropped: Option<u64>,
}

fn made(trial: u16, sequence: u64) -> Made {
    of_layout(&FrameLayout::default(), trial, sequence)
}

fn of_layout(layout: &FrameLayout, trial: u16, sequence: u64) -> Made {
    let stamp = Stamp { trial: TrialId(trial), stream: StreamId(0), sequence, planned_ns: 0 };
    let mut octets = vec![0; SIZE as usize];
    let length =
        FrameWriter::new(layout).write(&mut octets, FrameSize::new(SIZE).unwrap(), Flow::FIRST, stamp);
    octets.truncate(length);
    Made { octets, interface: 0, dropped: None }
}

fn sequences(trial: u16, numbers: impl IntoIterator<Item = u64>) -> Vec<Made> {
    numbers.into_iter().map(|number| made(trial, number)).collect()
}

/// A file of two interfaces with these packets, and statistics behind them.
fn encoded(encoder: &Encoder, packets: &[Made], statistics: &[InterfaceStatistics]) -> Vec<u8> {
    let mut file = encoder.header();
    let mut room = vec![0; encoder.largest_record()];
    for (number, Made { octets, interface, dropped }) in packets.iter().enumerate() {
        let frame = Frame {
            data: octets,
            wire_length: octets.len() as u32,
            time_ns: 1_000_000_000 + number as u64,
            vlan: None,
            packet_type: PacketType::OtherHost,
            hash: None,
            status: 0,
        };
        let facts = PacketFacts { interface: *interface, queue: None, dropped: *dropped };
        let length = encoder.encode(&frame, &facts, &mut room).unwrap();
        file.extend(&room[..length]);
    }
    file.extend(statistics.iter().filter_map(|block| encoder.statistics(block)).flatten());
    file
}

fn pcapng(packets: &[Made], statistics: &[InterfaceStatistics]) -> Vec<u8> {
    let interface = |name: &str| InterfaceDescription { name: Some(name.into()), ..Default::default() };
    let interfaces = [interface("eth1"), interface("eth2")];
    let snap = SnapLength::EVERYTHING;
    let section = SectionDescription::default();
    let encoder = Encoder::pcapng(&section, &interfaces, snap, HashAlgorithm::default()).unwrap();
    encoded(&encoder, packets, statistics)
}

fn lost(accepted: u64, delivered: u64, ring: u64) -> InterfaceStatistics {
    InterfaceStatistics {
        accepted: Some(accepted),
        delivered: Some(delivered),
        ..booked(&[(Place::Ring, Some(ring))])
    }
}

/// Statistics with these losses.
fn booked(places: &[(Place, Option<u64>)]) -> InterfaceStatistics {
    let mut losses = Vec::new();
    for &(place, count) in places {
        losses.push(Loss { place, count, source: "".into() });
    }
    let mut statistics = InterfaceStatistics::default();
    statistics.book(&LostAt::of(&losses).collect::<Vec<_>>());
    statistics
}

/// Runs `capbench verify` on files of a folder.
fn verified(folder: &Scratch, arguments: &str) -> Ended {
    run(HOST, capbench("verify").args(arguments.split_whitespace()).current_dir(folder.path()))
}

/// What it prints of one file, with its exit code and what it says of errors.
fn of(octets: &[u8], arguments: &str) -> String {
    let folder = Scratch::new();
    fs::write(folder.file("some.file"), octets).unwrap();
    let ended = verified(&folder, &format!("some.file {arguments}"));
    format!("{}{}exit code {}", ended.out, ended.errors, ended.code.unwrap())
}

#[test]
fn a_whole_file_is_right_in_either_format() {
    let packets = sequences(7, 0..50);
    insta::assert_snapshot!(
        "whole_pcapng",
        of(&pcapng(&packets, &[lost(50, 50, 0)]), "--trial 7 --frames 50")
    );
    let file = encoded(&Encoder::pcap(ETHERNET, SnapLength::EVERYTHING), &packets, &[]);
    insta::assert_snapshot!("whole_pcap", of(&file, "--trial 7 --frames 50"));
}

#[test]
fn what_is_missing_is_told_and_set_against_what_the_file_says() {
    let mut packets = sequences(7, (0..5).chain(10..20).chain([25, 22, 19]));
    packets[5].dropped = Some(5);
    packets[7].dropped = Some(2);
    let file = pcapng(&packets, &[lost(40, 18, 22)]);
    insta::assert_snapshot!("missing", of(&file, "--trial 7 --frames 40"));
    insta::assert_snapshot!("missing_json", of(&file, "--trial 7 --json"));
    // The reason of the exit code follows the document.
    let printed = of(&file, "--trial 7 --json");
    let mut documents = serde_json::Deserializer::from_str(&printed).into_iter::<Value>();
    assert_valid_output("verify", &documents.next().unwrap().unwrap());
    insta::assert_snapshot!("contradiction", of(&pcapng(&packets, &[lost(40, 18, 6)]), "--trial 7"));
}

#[test]
fn several_trials_on_several_interfaces_are_told_apart() {
    let mut packets = sequences(7, 0..4);
    packets.extend(sequences(8, [0, 1, 3]).into_iter().map(|packet| Made { interface: 1, ..packet }));
    packets.extend(sequences(9, 0..2));
    insta::assert_snapshot!("several_trials", of(&pcapng(&packets, &[]), "--trial 8,7 --frames 4"));
    insta::assert_snapshot!("trial_twice", of(&pcapng(&packets, &[]), "--trial 8,7,8"));
}

#[test]
fn damaged_cut_and_untagged_packets_are_none_that_were_sent() {
    let tagged = FrameLayout { vlan: Some(VlanTag { tci: 100 }), ..FrameLayout::default() };
    let mut packets: Vec<_> = (0..3).map(|number| of_layout(&tagged, 7, number)).collect();
    packets.push(made(7, 3));
    packets[1].octets[60] ^= 1;
    insta::assert_snapshot!("damaged_packets", of(&pcapng(&packets, &[]), "--trial 7 --vlan 100"));
}

#[test]
fn files_of_a_rotation_are_one_recording() {
    let folder = Scratch::new();
    fs::write(folder.file("a"), pcapng(&sequences(7, 0..5), &[])).unwrap();
    fs::write(folder.file("b"), pcapng(&sequences(7, 5..9), &[])).unwrap();
    assert_eq!(verified(&folder, "a b --trial 7 --frames 9").code, Some(0));
    assert_eq!(verified(&folder, "a --trial 7 --frames 9").code, Some(3));
    let ended = verified(&folder, "a c --trial 7");
    assert_eq!(ended.code, Some(1));
    assert!(ended.errors.starts_with("capbench: cannot read c: No such file"), "{ended:?}");
}

#[test]
fn a_file_is_read_as_far_as_it_is_whole() {
    let file = pcapng(&sequences(7, 0..50), &[]);
    insta::assert_snapshot!("ends_early", of(&file[..file.len() - 7], "--trial 7"));
    let mut damaged = file.clone();
    let at = file.len() - 3 * (file.len() - pcapng(&[], &[]).len()) / 50;
    damaged[at + 4] = 13;
    insta::assert_snapshot!("damaged_file", of(&damaged, "--trial 7"));
    insta::assert_snapshot!("no_capture", of(b"text that is no capture file", ""));
    insta::assert_snapshot!("empty", of(b"", ""));
}

#[test]
fn a_compressed_file_is_read_whatever_its_name() {
    let file = pcapng(&sequences(1, 0..50), &[]);
    let folder = Scratch::new();
    let plain = folder.file("plain.pcapng");
    fs::write(&plain, &file).unwrap();
    let compressed = folder.file("named-as-nothing");
    let mut convert = capbench("");
    convert.arg("convert").arg(&plain).arg(folder.file("x.pcapng")).arg("--zstd");
    run(HOST, &mut convert).success();
    fs::rename(folder.file("x.pcapng.zst"), &compressed).unwrap();
    let mut verify = capbench("");
    let verified = run(HOST, verify.args(["verify", "--frames", "50"]).arg(&compressed)).success();
    assert!(verified.out.contains("50 delivered once"), "{verified:#?}");
}

/// A file of a recording of traffic without stamps: this many packets behind those of earlier files, and statistics.
fn part(
    before: u64,
    packets: u64,
    earlier_files: EarlierFiles,
    statistics: &[InterfaceStatistics],
) -> Vec<u8> {
    let part = RecordingPart { began_ns: 1_764_301_940_000_000_007, packets_before: before, earlier_files };
    let section = SectionDescription { comments: vec![part.to_string()], ..Default::default() };
    let interfaces = [InterfaceDescription { name: Some("eth1".into()), ..Default::default() }];
    let snap = SnapLength::EVERYTHING;
    let encoder = Encoder::pcapng(&section, &interfaces, snap, HashAlgorithm::default()).unwrap();
    let packet = |number: u64| Made { octets: vec![number as u8; 60], interface: 0, dropped: None };
    let packets: Vec<_> = (before..before + packets).map(packet).collect();
    encoded(&encoder, &packets, statistics)
}

fn at_end(statistics: InterfaceStatistics) -> InterfaceStatistics {
    InterfaceStatistics { end_ns: Some(2_000_000_000), ..statistics }
}

/// Three files of a recording of 25,000 packets.
fn three(earlier_files: EarlierFiles, first: u64) -> [Vec<u8>; 3] {
    [
        part(first, 10_000, earlier_files, &[lost(10_000, 10_000, 0)]),
        part(first + 10_000, 10_000, earlier_files, &[lost(20_000, 20_000, 0)]),
        part(first + 20_000, 5000, earlier_files, &[at_end(lost(25_000, 25_000, 0))]),
    ]
}

/// The verdict of files about a recording without stamps, with the exit code.
fn verdict(files: &[(&str, &[u8])]) -> (String, Option<i32>) {
    let folder = Scratch::new();
    files.iter().for_each(|(name, octets)| fs::write(folder.file(name), octets).unwrap());
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    let text = verified(&folder, &names.join(" "));
    let json = verified(&folder, &format!("--json {}", names.join(" ")));
    assert_valid_output("verify", &json.json());
    assert_eq!(json.code, text.code);
    (text.out.lines().next().unwrap_or_default().into(), text.code)
}

#[test]
fn a_recording_without_stamps_is_verified_by_what_its_files_say() {
    let [a, b, c] = three(EarlierFiles::Kept, 0);
    let [a, b, c] = [("a", &a[..]), ("b", &b[..]), ("c", &c[..])];
    let whole = "complete: 25,000 of 25,000 packets in 3 files, no gap between files";
    assert_eq!(verdict(&[a, b, c]), (whole.into(), Some(0)));
    assert_eq!(verdict(&[c, a, b]), (whole.into(), Some(0)), "in any order");
    let empty = part(10_000, 0, EarlierFiles::Kept, &[lost(10_000, 10_000, 0)]);
    let four = whole.replace("3 files", "4 files");
    assert_eq!(verdict(&[c, b, ("empty", &empty), a]), (four, Some(0)), "one without packets");
    let gap = "not complete: 10,000 packets missing between a and c";
    assert_eq!(verdict(&[c, a]), (gap.into(), Some(3)));
    assert_eq!(verdict(&[c]), ("not complete: 20,000 packets missing before c".into(), Some(3)));
    let no_end = "unknown whether it is complete: b has no statistics of the end: the recorder was killed, still runs, or a \
                  later file is missing";
    assert_eq!(verdict(&[b, a]), (no_end.into(), Some(4)));
    let twice = "not complete: a and d overlap: a file is named twice, or was changed";
    assert_eq!(verdict(&[a, ("d", a.1), b, c]), (twice.into(), Some(3)));

    let losing = part(0, 1000, EarlierFiles::Kept, &[at_end(lost(1250, 1000, 250))]);
    assert_eq!(
        verdict(&[("a", &losing)]),
        ("not complete: lost 250 of 1,250 packets (20 %)".into(), Some(3))
    );
    let killed = part(0, 1000, EarlierFiles::Kept, &[]);
    let no_end = no_end.replace(": b has", ": k has");
    assert_eq!(verdict(&[("k", &killed)]), (no_end, Some(4)));
    let cut = verdict(&[("k", &killed[..killed.len() - 3])]);
    assert!(cut.0.starts_with("not complete: k ends within a record") && cut.1 == Some(3), "{cut:?}");
}

#[test]
fn a_recording_whose_losses_are_not_all_counted_is_of_unknown_completeness() {
    for (statistics, why) in [
        (
            booked(&[(Place::Link, Some(0)), (Place::Ring, None), (Place::Writer, Some(0))]),
            "how many packets of eth1 were lost in the ring or socket queue is unknown",
        ),
        (
            booked(&[(Place::Xdp, None), (Place::Ring, Some(0))]),
            "how many packets of eth1 were lost in XDP is unknown",
        ),
        (
            booked(&[(Place::Link, Some(0)), (Place::Writer, Some(0))]),
            "the recorder did not count how many packets of eth1 it lost",
        ),
        (lost(9, 7, 0), "2 packets of eth1, accepted by the kernel, neither delivered nor counted as lost"),
    ] {
        let file = part(0, 7, EarlierFiles::Kept, &[at_end(statistics)]);
        let expected = format!("unknown whether it is complete: {why}");
        assert_eq!(verdict(&[("a", &file)]), (expected, Some(4)));
    }
    let losing = booked(&[(Place::FillRing, None), (Place::Ring, Some(3))]);
    let (sentence, code) = verdict(&[("a", &part(0, 7, EarlierFiles::Kept, &[at_end(losing)]))]);
    assert!(sentence.starts_with("not complete: lost 3 of 10 packets (30 %); how many packets of eth1"));
    assert_eq!(code, Some(3));
    let uncounted_link = booked(&[(Place::Link, None), (Place::Ring, Some(0))]);
    let whole = part(0, 7, EarlierFiles::Kept, &[at_end(uncounted_link)]);
    assert_eq!(verdict(&[("a", &whole)]).1, Some(0), "its counter is also of packets that nobody wanted");
}

#[test]
fn a_recording_with_an_unreadable_rest_is_neither_complete_nor_right() {
    let mut octets = part(0, 7, EarlierFiles::Kept, &[at_end(lost(7, 7, 0))]);
    assert_eq!(verdict(&[("a", &octets)]).1, Some(0));
    // A block of 3 octets, which is less than the head of a block.
    octets.extend([6, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    let folder = Scratch::new();
    fs::write(folder.file("a"), &octets).unwrap();
    let output = verified(&folder, "a --json");
    assert_eq!(output.code, Some(1), "{}", output.errors);
    let document: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(document["right"], false);
    assert_eq!(document["recording"]["completeness"], "unknown");
    assert_eq!(document["recording"]["findings"][0], "a cannot be read to its end");
}

#[test]
fn a_ring_is_complete_with_all_of_its_files() {
    let [a, b, c] = three(EarlierFiles::Ring(3), 1000);
    let [a, b, c] = [("r0", &a[..]), ("r1", &b[..]), ("r2", &c[..])];
    let all = "complete from packet 1,001: 25,000 of 25,000 packets in 3 files, no gap between files; the recorder removed the \
               files before, with 1,000 packets";
    assert_eq!(verdict(&[c, a, b]), (all.into(), Some(0)));
    assert_eq!(verdict(&[b, c]), ("not complete: 2 of the 3 files of the ring".into(), Some(3)));
    let one = part(1000, 7, EarlierFiles::Removed, &[at_end(lost(7, 7, 0))]);
    let kept = "complete from packet 1,001: 7 of 7 packets in 1 file; the recorder removed the files before, with 1,000 packets";
    assert_eq!(verdict(&[("x", &one)]), (kept.into(), Some(0)));
}

#[test]
fn files_that_say_nothing_of_losses_are_no_answer() {
    let packets = sequences(9, 0..5);
    let pcap = encoded(&Encoder::pcap(ETHERNET, SnapLength::EVERYTHING), &packets, &[]);
    let nothing = "says nothing of losses: it has no statistics with counts of them";
    assert_eq!(verdict(&[("p", &pcap)]), (format!("unknown whether it is complete: p {nothing}"), Some(4)));
    // Of another link type: frames without stamps.
    let other = encoded(&Encoder::pcap(101, SnapLength::EVERYTHING), &packets, &[]);
    assert_eq!(verdict(&[("p", &other)]), (format!("unknown whether it is complete: p {nothing}"), Some(4)));
    let [a, b, c] = three(EarlierFiles::Kept, 0);
    let unknown = "unknown whether it is complete: the files do not say how they follow each other";
    let said = verdict(&[("a", &a), ("b", &b), ("c", &c), ("p", &pcap)]);
    assert!(said.0.starts_with(unknown) && said.1 == Some(4), "{said:?}");
}
