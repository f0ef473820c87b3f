//! Files of our encoders, read by programs that we did not write; and files of theirs, read by us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use capbench_capture::{Frame, PacketType, VlanTag};
use capbench_model::units::SnapLength;
use capbench_record::convert::{Converted, OutputLimit, convert};
use capbench_record::file::{
    Booking, CaptureReader, ETHERNET, Encoder, FileFormat, HashAlgorithm, InterfaceDescription,
    InterfaceFilter, InterfaceStatistics, LEAST_BUFFER, LostAt, PacketFacts, Record, SectionDescription,
};
use capbench_record::writing::WriteOptions;
use capbench_testing::{missing, scratch_file};

/// 2023-11-14 22:13:20 UTC, and a bit.
const BEGIN_NS: u64 = 1_700_000_000_123_456_789;
const LENGTHS: [usize; 6] = [60, 61, 62, 63, 1514, 9000];
const KINDS: [PacketType; 6] = [
    PacketType::Host,
    PacketType::Broadcast,
    PacketType::Multicast,
    PacketType::OtherHost,
    PacketType::Outgoing,
    PacketType::Unknown,
];
/// `TP_STATUS_CSUMNOTREADY`, `_CSUM_VALID`, `_GSO_TCP`.
const STATUS: [u32; 6] = [0, 1 << 7, 0, 0, 1 << 3 | 1 << 8, 0];

/// A program, or `None` with the reason why the test goes without it.
fn program(name: &str, package: &str) -> Option<Command> {
    let path = std::env::var("PATH").unwrap_or_default();
    // Where Debian keeps programs for root, which an ordinary user's PATH leaves out.
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let found = folders.find(|folder| folder.join(name).is_file());
    if found.is_none() {
        missing(format_args!("{name} (package {package})"));
    }
    found.map(|folder| Command::new(folder.join(name)))
}

fn tshark() -> Option<Command> {
    let mut tshark = program("tshark", "tshark")?;
    // It reads no settings of the user who runs the test. With a profile (-C) it would make the folder, and others of its kind
    // at the same time.
    tshark.arg("-n").env("WIRESHARK_CONFIG_DIR", "/nonexistent").env("TZ", "UTC");
    Some(tshark)
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A frame of a protocol that is for experiments (IEEE 802), full of its number.
fn octets(number: usize) -> Vec<u8> {
    let mut octets = vec![number as u8; LENGTHS[number]];
    octets[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    octets
}

fn encoded(encoder: &Encoder) -> Vec<u8> {
    let mut file = encoder.header();
    let mut room = vec![0; LEAST_BUFFER];
    for number in 0..LENGTHS.len() {
        let data = octets(number);
        let frame = Frame {
            data: &data,
            wire_length: data.len() as u32,
            time_ns: BEGIN_NS + number as u64,
            vlan: (number % 2 == 1).then_some(VlanTag { tpid: 0x8100, tci: 0x6000 | number as u16 }),
            packet_type: KINDS[number],
            hash: (number == 2).then_some(0x0102_0304),
            status: STATUS[number],
        };
        let facts = PacketFacts {
            interface: number as u32 % 2,
            queue: (number > 2).then_some(number as u32),
            dropped: (number == 3).then_some(1_234_567_890_123),
        };
        let encoded = encoder.encode(&frame, &facts, &mut room).unwrap();
        file.extend(&room[..encoded]);
    }
    file
}

fn pcapng(snap: u32) -> Vec<u8> {
    let interface = |name: &str| InterfaceDescription {
        name: Some(name.into()),
        description: Some("left".into()),
        mac: Some([2, 0, 0, 0, 0, 1]),
        speed: Some(10_000_000_000),
        filter: Some(InterfaceFilter::Expression("ether proto 0x88b5".into())),
        system: Some("Linux 6.1".into()),
        hardware: Some("a card".into()),
        fcs_octets: None,
        comments: vec!["captured by packet-v3: 64 blocks".into()],
    };
    let section = SectionDescription {
        hardware: Some("a machine".into()),
        system: Some("Linux 6.1".into()),
        application: Some("capbench test".into()),
        comments: Vec::new(),
    };
    let interfaces = [interface("eth0"), interface("eth1")];
    let encoder =
        Encoder::pcapng(&section, &interfaces, SnapLength::new(snap), HashAlgorithm::Unassigned).unwrap();
    let mut file = encoded(&encoder);
    for (end_ns, ring) in [(None, 3), (Some(BEGIN_NS + 2_000_000_000), 4)] {
        for interface in [0, 1] {
            let mut statistics = InterfaceStatistics {
                interface,
                time_ns: BEGIN_NS + 1_000_000_000,
                start_ns: Some(BEGIN_NS),
                end_ns,
                received: Some(1000),
                accepted: Some(900),
                delivered: Some(6),
                ..InterfaceStatistics::default()
            };
            let lost = |place: &'static str, booking, count| LostAt { place: place.into(), booking, count };
            statistics.book(&[
                lost("link", Booking::Interface, Some(2)),
                lost("backlog", Booking::System, None),
                lost("ring", Booking::System, Some(ring)),
                lost("writer", Booking::Own, Some(5)),
            ]);
            file.extend(encoder.statistics(&statistics).unwrap());
        }
    }
    file
}

/// What tshark shows of every frame, a line each.
fn fields(file: &Path, fields: &[&str]) -> Option<Vec<String>> {
    let mut tshark = tshark()?;
    tshark.arg("-r").arg(file).args(["-T", "fields", "-E", "separator=,"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    Some(output(&mut tshark).lines().map(str::to_string).collect())
}

#[test]
fn tshark_reads_frames_with_their_metadata() {
    let file = scratch_file(&pcapng(0));
    let names = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "vlan.id",
        "vlan.priority",
        "frame.interface_name",
    ];
    let Some(lines) = fields(file.path(), &names) else { return };
    let expected: Vec<_> = (0..LENGTHS.len())
        .map(|number| {
            let tag = if number % 2 == 1 { 4 } else { 0 };
            let length = LENGTHS[number] + tag;
            let vlan = if tag > 0 { format!("{number},3") } else { ",".into() };
            format!("1700000000.{},{length},{length},{vlan},eth{}", 123_456_789 + number, number % 2)
        })
        .collect();
    assert_eq!(lines, expected);

    let names = ["frame.drop_count", "frame.interface_queue", "frame.packet_flags", "frame.protocols"];
    let lines = fields(file.path(), &names).unwrap();
    let protocols = ["eth:ethertype:data", "eth:ethertype:vlan:ethertype:data"];
    let flags = ["0x00000405", "0x0000000d", "0x00000009", "0x00000011", "0x00000a02", ""];
    // The first is not "valid": its status says nothing of the checksum.
    let flags = [["0x00000005", "0x0000040d"].as_slice(), &flags[2..]].concat();
    for (number, line) in lines.iter().enumerate() {
        let dropped = if number == 3 { "1234567890123" } else { "" };
        let queue = if number > 2 { number.to_string() } else { String::new() };
        assert_eq!(*line, format!("{dropped},{queue},{},{}", flags[number], protocols[number % 2]));
    }
}

#[test]
fn tshark_and_capinfos_read_descriptions_and_statistics() {
    let file = scratch_file(&pcapng(0));
    if let Some(mut tshark) = tshark() {
        let shown = output(tshark.args(["-V", "-X", "read_format:MIME Files Format", "-r"]).arg(file.path()));
        for text in [
            "Application: capbench test",
            "Interface Name = eth1",
            "Filter = ether proto 0x88b5",
            "Timestamp Resolution = 10^-9 (nanoseconds)",
            "Speed = 10000000000",
            "MAC Address = 02:00:00:00:00:01",
            "Comment: captured by packet-v3: 64 blocks",
            "Comment: lost: link 2, backlog unknown, ring 4, writer (ours) 5",
        ] {
            assert!(shown.contains(text), "\"{text}\" is missing in {shown}");
        }
        let count = |text: &str| shown.matches(text).count();
        assert_eq!(count("Block: Interface Statistics Block"), 4, "{shown}");
        assert_eq!((count("Option: Start Time"), count("Option: End Time")), (4, 2), "{shown}");
        for (counter, value, times) in [
            ("Number of Received Packets", "1000", 4),
            ("Number of Dropped Packets", "2", 4),
            ("Number of Accepted Packets", "900", 4),
            ("Number of Packets Dropped by OS", "3", 2),
            ("Number of Packets Dropped by OS", "4", 2),
            ("Number of Packets Delivered to the User", "6", 4),
        ] {
            let text = format!("Option: {counter} = {value}\n");
            assert_eq!(count(&text), times, "{text}: {shown}");
        }
        assert!(shown.contains("Option: Hash"), "{shown}");
        assert!(!shown.contains("Malformed") && !shown.contains("Expert Info"), "{shown}");
    }
    let Some(mut capinfos) = program("capinfos", "wireshark-common") else { return };
    let shown = output(capinfos.arg("-M").arg(file.path()));
    for text in [
        "File type:           pcapng",
        "Number of packets:   6",
        "Capture hardware:    a machine",
        "Capture oper-sys:    Linux 6.1",
        "Capture application: capbench test",
        "Number of interfaces in file: 2",
        "Name = eth1",
        "Description = left",
        "Hardware = a card",
        "Speed = 10000000000",
        "Capture length = 262144",
        "Time precision = nanoseconds (9)",
        "Filter string = ether proto 0x88b5",
        "Operating system = Linux 6.1",
        "Comment = captured by packet-v3: 64 blocks",
        "Number of stat entries = 2",
        "Number of packets = 3",
    ] {
        assert!(shown.contains(text), "\"{text}\" is missing in {shown}");
    }
}

#[test]
fn tcpdump_reads_both_formats_with_their_tags() {
    let pcapng = scratch_file(&pcapng(0));
    let pcap = scratch_file(&encoded(&Encoder::pcap(ETHERNET, SnapLength::new(0))));
    let Some(mut first) = program("tcpdump", "tcpdump") else { return };
    let tcpdump = |command: &mut Command, file: &Path| {
        output(command.args(["-n", "-e", "-tt", "--nano", "-r"]).arg(file).env("TZ", "UTC"))
    };
    let shown = tcpdump(&mut first, pcapng.path());
    let again = tcpdump(&mut program("tcpdump", "tcpdump").unwrap(), pcap.path());
    let frames = |shown: &str| -> Vec<_> {
        shown.lines().filter(|line| line.starts_with("17")).map(str::to_string).collect()
    };
    let (lines, again) = (frames(&shown), frames(&again));
    assert_eq!(lines, again);
    assert_eq!(lines.len(), LENGTHS.len(), "{shown}");
    for (number, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("1700000000.{} 02:00", 123_456_789 + number)), "{line}");
        let tag = format!("vlan {number}, p 3");
        assert_eq!(line.contains(&tag), number % 2 == 1, "{line}");
        let length = LENGTHS[number] + if number % 2 == 1 { 4 } else { 0 };
        assert!(line.contains(&format!("length {length}: ")), "{line}");
    }
}

#[test]
fn a_snap_length_holds_with_the_tag_put_back() {
    let pcapng = scratch_file(&pcapng(62));
    let pcap = scratch_file(&encoded(&Encoder::pcap(ETHERNET, SnapLength::new(62))));
    for file in [pcapng.path(), pcap.path()] {
        let Some(lines) = fields(file, &["frame.len", "frame.cap_len"]) else { return };
        assert_eq!(lines, ["60,60", "65,62", "62,62", "67,62", "1514,62", "9004,62"]);
    }
}

/// A pcap file with this snap length and link-type word, and packets of these lengths.
fn pcap_of(snap: u32, link: u32, lengths: &[usize]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, snap, link]);
    for &length in lengths {
        let mut octets = vec![7; length];
        octets[..14].copy_from_slice(&self::octets(0)[..14]);
        file.extend(words(&[1_700_000_000, 5, length as u32, length as u32]));
        file.extend(octets);
    }
    file
}

fn converted(file: &[u8], format: FileFormat, written: &Path) {
    let mut counts = Converted::default();
    convert(file, format, &WriteOptions::new(written), OutputLimit::None, &mut counts).unwrap();
}

#[test]
fn others_read_what_a_conversion_corrected_and_kept() {
    let folder = capbench_testing::Scratch::new();
    for name in ["out.pcap", "out.pcapng"] {
        let format = FileFormat::of_name(Path::new(name)).unwrap();
        let written = folder.file(name);
        // Two packets are longer than the snap length that the header states.
        converted(&pcap_of(100, 1, &[60, 500, 90, 200]), format, &written);
        let Some(mut tcpdump) = program("tcpdump", "tcpdump") else { return };
        let shown = output(tcpdump.args(["-nn", "-e", "-t", "-xx", "-r"]).arg(&written));
        let octets = shown.matches("0707").count() * 2;
        assert!((60 + 500 + 90 + 200 - 4 * 16..850).contains(&octets), "{name}: {octets}: {shown}");
        // A link-type word with an FCS of two words.
        converted(&pcap_of(65535, 0x2400_0001, &[64]), format, &written);
        let Some(lines) = fields(&written, &["frame.len", "eth.fcs"]) else { return };
        if format == FileFormat::Pcapng {
            assert_eq!(lines, ["64,0x07070707"], "{name}");
        }
    }
}

/// Octets, original length and time.
type Seen = (Vec<u8>, u32, Option<u64>);

/// Every frame.
fn read(path: &Path) -> (FileFormat, Vec<Seen>) {
    let mut reader = CaptureReader::new(fs::File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        if let Record::Packet(packet) = record {
            frames.push((packet.data.to_vec(), packet.original_length, packet.time_ns));
        }
    }
    assert!(!reader.ends_early());
    (reader.format(), frames)
}

#[test]
fn files_edited_by_editcap_and_tcpdump_are_readable() {
    let file = scratch_file(&pcapng(0));
    let (_, ours) = read(file.path());
    assert_eq!(ours.len(), LENGTHS.len());
    for (format, expected, unit) in [
        ("pcapng", FileFormat::Pcapng, 1),
        ("nsecpcap", FileFormat::Pcap, 1),
        ("pcap", FileFormat::Pcap, 1000),
    ] {
        let Some(mut editcap) = program("editcap", "wireshark-common") else { break };
        let theirs = scratch_file(b"");
        output(editcap.args(["-F", format]).arg(file.path()).arg(theirs.path()));
        let (format, frames) = read(theirs.path());
        assert_eq!(format, expected);
        let coarse =
            ours.iter().cloned().map(|(data, length, time)| (data, length, time.map(|ns| ns / unit * unit)));
        assert_eq!(frames, coarse.collect::<Vec<_>>());
    }
    let Some(mut tcpdump) = program("tcpdump", "tcpdump") else { return };
    let theirs = scratch_file(b"");
    output(tcpdump.args(["--nano", "-r"]).arg(file.path()).arg("-w").arg(theirs.path()));
    assert_eq!(read(theirs.path()), (FileFormat::Pcap, ours));
}
