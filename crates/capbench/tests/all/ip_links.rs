//! Links without Ethernet: the IP packets of a tun device are recorded, counted, watched and replayed; Ethernet frames are refused.

use std::fs;
use std::path::Path;

use capbench_record::file::{CaptureReader, Record};
use serde_json::Value;

use crate::support::recording::counted_by_others;
use crate::support::{
    Ended, HOST, Place, Recording, Running, Scratch, capbench, eventually, program, run, scratch_of_root,
};

/// Half of them are IPv4 packets, half IPv6.
const PACKETS: usize = 60;

/// The type of link of a tun device, and of PPP and CAN (`ARPHRD_*`).
const NONE: u16 = 65_534;
const PPP: u16 = 512;
const CAN: u16 = 280;

/// Opens tun7, with the link type of its first argument. Writes the packets of the others into it after SIGUSR1; then prints each
/// packet that is sent on it.
const DEVICE: &str = "
import fcntl, os, signal, struct, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
device = os.open('/dev/net/tun', os.O_RDWR)
# TUNSETIFF with IFF_TUN and IFF_NO_PI
fcntl.ioctl(device, 0x400454ca, struct.pack('16sH22x', b'tun7', 0x1001))
# TUNSETLINK
fcntl.ioctl(device, 0x400454cd, int(sys.argv[1]))
print('ready', flush=True)
signal.sigwait([signal.SIGUSR1])
for packet in sys.argv[2:]:
    os.write(device, bytes.fromhex(packet))
print('written', flush=True)
while True:
    print(os.read(device, 70000).hex(), flush=True)
";

/// A UDP packet; its octets differ from those of every other.
fn packet(number: usize) -> Vec<u8> {
    let payload = 20 + number * 7 % 1400;
    let length = |octets: usize| (octets as u16).to_be_bytes();
    let mut octets = if number.is_multiple_of(2) {
        let mut header = vec![0x45, 0];
        header.extend(length(28 + payload));
        header.extend([0, number as u8, 0, 0, 64, 17, 0, 0, 10, 7, 0, 2, 10, 7, 0, 1]);
        header
    } else {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(length(8 + payload));
        header.extend([17, 64]);
        header.extend([&[0xfd; 15][..], &[2], &[0xfd; 15], &[1]].concat());
        header
    };
    octets.extend([0x40, 0, 0, 9]);
    octets.extend(length(8 + payload));
    octets.extend([0, 0]);
    octets.extend((0..payload).map(|at| (at + number) as u8));
    octets
}

fn packets() -> Vec<Vec<u8>> {
    (0..PACKETS).map(packet).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A namespace with tun7 of this link type, which is up, and the program that is behind it.
fn tun(link_type: u16) -> (Place, Running) {
    let place = Place::new("tun7");
    let mut device = program("python3 -c");
    device.arg(DEVICE).arg(link_type.to_string()).args(packets().iter().map(|packet| hex(packet)));
    let mut device = Running::start(&place, device);
    device.wait_for("ready");
    place.ip("link set dev tun7 up");
    place.ip("link set dev lo up");
    (place, device)
}

/// The link types of a file's interfaces, and its packets.
fn read(file: &Path) -> (Vec<u16>, Vec<Vec<u8>>) {
    let octets = fs::read(file).unwrap();
    let mut reader = CaptureReader::new(&octets[..]).unwrap();
    let (mut link_types, mut packets) = (Vec::new(), Vec::new());
    while let Some(record) = reader.next_record().unwrap() {
        match record {
            Record::Interface(_, interface) => link_types.push(interface.link_type),
            Record::Packet(packet) => packets.push(packet.data.to_vec()),
            _ => {}
        }
    }
    (link_types, packets)
}

/// Starts the recordings; each ends by itself.
fn recordings(place: &Place, folder: &Scratch) -> Vec<(&'static str, Recording)> {
    [
        ("v3.pcapng", "--method packet-v3"),
        ("v2.pcap", "--method packet-v2"),
        ("v1.pcapng", "--method packet-v1"),
        ("recv.pcapng", "--method recv"),
        ("libpcap.pcap", "--method libpcap"),
        ("verbatim", "--method packet-v3 --format verbatim"),
        ("workers.pcapng", "--method packet-v3 --workers 2 --worker-wait"),
        ("members.pcapng", "--method packet-v3 --fanout bpf --members 2"),
        ("filtered.pcapng", "--method packet-v3 ip6"),
        ("mixed.pcapng", "-i lo --method packet-v3"),
    ]
    .map(|(name, arguments)| {
        let count = if name.starts_with("filtered") { PACKETS / 2 } else { PACKETS };
        let arguments = format!("-c {count} --ring 8MiB {arguments}");
        (name, Recording::start_on(place, "-i tun7", &folder.file(name), &arguments))
    })
    .into()
}

#[test]
fn root_ip_packets_of_a_tun_device_are_recorded_counted_and_watched() {
    let Some(folder) = scratch_of_root() else { return };
    let (place, mut device) = tun(NONE);
    let recordings = recordings(&place, &folder);
    let mut count =
        Running::start(&place, capbench(&format!("count -i tun7 -c {PACKETS} --json --each ip6")));
    count.wait_for("packet-v3 on tun7");
    let mut why = Running::start(&place, capbench("why -i tun7 --json --no-trace"));
    why.wait_for("\n");
    device.signal("USR1");
    device.wait_for("written");
    let sent = packets();
    for (name, recording) in recordings {
        let file = recording.file.clone();
        let (_, document) = recording.end();
        assert_eq!(document["interfaces"][0]["unexplained"], 0, "{name}: {document:#}");
        let (link_types, mut recorded) = read(&file);
        let mut expected = sent.clone();
        match name {
            "members.pcapng" => {
                recorded.sort();
                expected.sort();
            }
            "filtered.pcapng" => expected.retain(|packet| packet[0] >> 4 == 6),
            _ => {}
        }
        let types: &[u16] = if name == "mixed.pcapng" { &[101, 1] } else { &[101] };
        assert_eq!((&link_types[..], recorded.len()), (types, expected.len()), "{name}");
        assert!(recorded == expected, "{name}");
    }
    for name in ["v3.pcapng", "v2.pcap"] {
        assert_eq!(counted_by_others(&folder.file(name)), [PACKETS as u64; 2], "{name}");
        let text = run(HOST, program("tcpdump -nn -t -r").arg(folder.file(name))).success().out;
        assert!(text.starts_with("IP 10.7.0.2.16384 > 10.7.0.1.9: UDP, length 20\nIP6 "), "{name}: {text}");
    }
    let counted = count.end().success();
    let total: Value = serde_json::from_str(counted.out.lines().last().unwrap()).unwrap();
    let octets: usize = sent.iter().map(Vec::len).sum();
    assert_eq!((&total["packets"], &total["octets"]), (&PACKETS.into(), &octets.into()), "{total}");
    assert_eq!(total["each"][0]["packets"], PACKETS / 2, "{total}");
    // No frame with FCS, preamble and gap is there.
    assert_eq!(total["each"][0]["bits_per_s_layer_2"], Value::Null, "{total}");
    let mut seen = 0;
    eventually("why has seen every packet", || {
        let lines = why.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        seen = lines.filter_map(|line| line["received"].as_u64()).sum();
        seen >= PACKETS as u64
    });
    assert_eq!(seen, PACKETS as u64);
}

#[test]
fn root_ip_packets_are_replayed_on_a_link_without_ethernet_and_other_frames_refused() {
    let Some(folder) = scratch_of_root() else { return };
    let (place, mut device) = tun(NONE);
    let (packets_file, frames_file) = (folder.file("packets.pcap"), folder.file("frames.pcap"));
    fs::write(&packets_file, pcap(101, &packets())).unwrap();
    fs::write(&frames_file, pcap(1, &[vec![2; 60]])).unwrap();
    device.signal("USR1");
    device.wait_for("written");
    for transmit in ["", "--transmit sendto", "--transmit sendmmsg+qdisc"] {
        let line = format!("send -i tun7 --rate 10k --json {transmit} --replay {}", packets_file.display());
        let report = run(&place, capbench(&line)).success().json();
        let octets: usize = packets().iter().map(Vec::len).sum();
        assert_eq!((&report["sent"], &report["octets"]), (&PACKETS.into(), &octets.into()), "{transmit}");
        assert_eq!(report["offered_bits_per_s_layer_1"], Value::Null, "{transmit}");
    }
    let expected: String = packets().iter().map(|packet| hex(packet) + "\n").collect();
    let expected = format!("ready\nwritten\n{}", expected.repeat(3));
    eventually("the device has every packet", || device.out().len() >= expected.len());
    assert!(device.out() == expected);

    let said = |line: String| run(&place, capbench(&line).current_dir(folder.path()));
    let packets = "--replay packets.pcap --isolated --rate";
    for (line, code, words) in [
        ("send -i tun7 -c 3".into(), 5, "interface tun7: has IP packets without an Ethernet header"),
        ("bench --tx tun7 --rx lo --isolated --rate 1000".into(), 5, "has IP packets without an Ethernet"),
        ("count -i tun7 --verify 1".into(), 5, "--verify: tun7 has IP packets"),
        ("count -i tun7 --method xdp-count".into(), 5, "it reads Ethernet frames"),
        ("record -i tun7 -i lo -w both.pcap --method recv".into(), 2, "it has one link type for all packets"),
        (
            "send -i tun7 --replay frames.pcap --rate max".into(),
            1,
            "frame 1 of link type 1, and this interface's is 101",
        ),
        (format!("send -i lo {packets} max"), 1, "frame 1 of link type 101, and this interface's is 1,"),
        (format!("send -i tun7 {packets} max --transmit packet-tx"), 5, "packet-tx: sends Ethernet frames"),
        (format!("send -i tun7 {packets} 1GbpsL1"), 2, "preamble and gap"),
        (format!("send -i tun7 {packets} max --src-mac 02:00:00:00:00:01"), 2, "without Ethernet addresses"),
    ] {
        let Ended { code: ended_with, errors, .. } = &said(line.clone());
        assert_eq!(*ended_with, Some(code), "{line}: {errors}");
        assert!(errors.contains(words), "{line}: {errors}");
    }
    let listed = said("record -L -i tun7".into()).success().out;
    assert_eq!(listed, "Data link types for tun7:\n  RAW (Raw IP)\n");
    let dlts = said("extcap --extcap-interface capbench-tun7 --extcap-dlts".into()).success().out;
    assert_eq!(dlts, "dlt {number=12}{name=RAW}{display=Raw IP}\n");
}

#[test]
fn root_a_filter_fits_ip_packets_to_which_libpcap_adds_a_header() {
    let Some(folder) = scratch_of_root() else { return };
    let (place, device) = tun(PPP);
    let cooked =
        run(&place, capbench("record -i tun7 --method libpcap -w none.pcapng").current_dir(folder.path()));
    assert!(cooked.errors.contains("with link type 113 instead of raw IP"), "{cooked:?}");
    cooked.ended_with(5);
    let file = folder.file("filtered.pcapng");
    let arguments = format!("-c {} --ring 4MiB --method recv ip6 and udp port 9", PACKETS / 2);
    let recording = Recording::start_on(&place, "-i tun7", &file, &arguments);
    device.signal("USR1");
    recording.end();
    let expected: Vec<_> = packets().into_iter().filter(|packet| packet[0] >> 4 == 6).collect();
    assert!(read(&file) == (vec![101], expected));
}

#[test]
fn root_a_link_of_another_type_is_refused_by_every_command_that_captures_or_sends() {
    let Some(folder) = scratch_of_root() else { return };
    let (place, _device) = tun(CAN);
    fs::write(folder.file("frames.pcap"), pcap(1, &[vec![2; 60]])).unwrap();
    for line in [
        "record -i tun7 -w none.pcapng",
        "record -L -i tun7",
        "count -i tun7",
        "send -i tun7 -c 1",
        "send -i tun7 --replay frames.pcap --rate max",
        "bench --tx tun7 --rx lo --isolated --rate 1000",
        "extcap --extcap-interface capbench-tun7 --extcap-dlts",
    ] {
        let ended = run(&place, capbench(line).current_dir(folder.path())).ended_with(5);
        assert!(ended.errors.contains("tun7: has packets of another kind (ARPHRD 280)"), "{line}: {ended:?}");
    }
    let listed = run(&place, capbench("extcap --extcap-interfaces")).success().out;
    assert!(listed.contains("capbench-lo") && !listed.contains("tun7"), "{listed}");
    run(&place, capbench("why tun7 --once --for 100ms")).success();
}

/// A pcap file of this link type (draft-ietf-opsawg-pcap).
fn pcap(link_type: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, link_type]);
    for packet in packets {
        file.extend(words(&[0, 0, packet.len() as u32, packet.len() as u32]));
        file.extend_from_slice(packet);
    }
    file
}
