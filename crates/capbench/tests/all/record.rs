//! `capbench record` for real: what is sent stands in the files once, as programs of others read them, too.

use std::fs;

use crate::support::recording::counted_by_others;
use crate::support::{
    File, HOST, NOBODY, Namespaces, Recording, Running, Scratch, capbench, eventually, privileges, program,
    run, scratch_of_root, send, test_bed,
};
use capbench_testing::{HostLoad, busy};

const FRAMES: u64 = 20_000;
/// A rate that any host holds, also while it compiles something.
const RATE: &str = "50000";
const METHODS: [&str; 6] = ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3", "libpcap"];

/// The kernel removes the tags of all frames, and only packet-v1 does not report them.
#[test]
fn root_a_file_without_vlan_tags_says_that_they_are_missing() {
    let Some((folder, spaces)) = test_bed() else { return };
    for (method, is_missing) in [("packet-v1", true), ("packet-v3", false)] {
        let file = folder.file(&format!("{method}.pcapng"));
        let recording = Recording::start(&spaces.right, &file, &format!("--method {method} -c 100"));
        send(&spaces, "--rate 5000 -c 100 --trial 7 --vlan 5");
        let (ended, _) = recording.end();
        assert_eq!(ended.errors.contains("VLAN tags will be missing"), is_missing, "{method}: {ended:#?}");
        let verified = run(HOST, capbench("verify --trial 7 --vlan 5 --frames 100").arg(&file));
        assert_eq!(
            verified.out.contains("note: VLAN tags are missing"),
            is_missing,
            "{method}: {verified:#?}"
        );
        let untagged = if is_missing { 100 } else { 0 };
        assert!(
            verified.out.contains(&format!("{untagged} without their VLAN tag")),
            "{method}: {verified:#?}"
        );
    }
}

fn traffic(trial: u16) -> String {
    format!("--rate {RATE} --size imix -c {FRAMES} --trial {trial}")
}

#[test]
fn root_every_method_records_every_frame_once() {
    let Some(folder) = scratch_of_root() else { return };
    for (number, method) in METHODS.iter().enumerate() {
        let spaces = Namespaces::make();
        let format = ["pcapng", "pcap"][number % 2];
        let file = folder.file(&format!("{method}.{format}"));
        // The format is that of the file's ending.
        let recording = Recording::start(&spaces.right, &file, &format!("--method {method}"));
        send(&spaces, &traffic(7));
        let (ended, document) = recording.interrupt();
        let read = File::read(&file, 7, None, None);
        assert!(read.holds_once(FRAMES), "{method}: {} packets: {ended:#?}", read.packets.len());
        assert!(!read.ends_early && read.format.name() == format, "{method}");
        assert_eq!(counted_by_others(&file), [FRAMES; 2], "{method}");
        let ledger = &document["interfaces"][0];
        for (key, expected) in
            [("accepted", FRAMES), ("taken", FRAMES), ("written", FRAMES), ("in_hand", 0), ("unexplained", 0)]
        {
            assert_eq!(ledger[key], expected, "{method}: {key}: {document:#}");
        }
        for line in [
            format!("{FRAMES} packets captured"),
            format!("{FRAMES} packets received by filter"),
            "0 packets dropped by kernel".into(),
        ] {
            assert!(ended.errors.lines().any(|said| said == line), "{method}: {line}: {ended:#?}");
        }
        if format == "pcapng" {
            let last = read.last_statistics(0);
            assert_eq!(
                (last.accepted, last.delivered, last.system_dropped),
                (Some(FRAMES), Some(FRAMES), Some(0)),
                "{method}: {last:?}"
            );
            assert!(last.end_ns.is_some(), "{method}: {last:?}");
        } else {
            let side = fs::read_to_string(folder.file(&format!("{method}.pcap.ledger.json"))).unwrap();
            let side: serde_json::Value = serde_json::from_str(&side).unwrap();
            assert_eq!(side["written"], FRAMES, "{method}: {side:#}");
        }
    }
}

#[test]
fn root_alone_several_ports_become_one_stream_in_order() {
    const SENT: u64 = 2_500;
    let Some((folder, spaces)) = test_bed() else { return };
    spaces.add_pairs(2);
    let load = HostLoad::watch();
    for method in ["packet-v3", "packet-v2", "recvmmsg"] {
        let file = folder.file(&format!("{method}.pcapng"));
        let ports = "-i right -i right1 -i right2";
        let recording =
            Recording::start_on(&spaces.right, ports, &file, &format!("--method {method} --ring 16MiB"));
        let senders: Vec<_> = ["left", "left1", "left2"]
            .iter()
            .enumerate()
            .map(|(number, interface)| {
                Running::start(
                    &spaces.left,
                    capbench(&format!("send -i {interface} --json --rate 10000 -c {SENT}"))
                        .args(["--trial", &(7 + number).to_string()]),
                )
            })
            .collect();
        senders.into_iter().for_each(|sender| drop(sender.end().success()));
        let (ended, document) = recording.interrupt();
        for trial in [7, 8, 9] {
            let read = File::read(&file, trial, None, None);
            let of_port: Vec<_> =
                read.packets.iter().filter(|packet| packet.interface == u32::from(trial) - 7).collect();
            let found: Vec<_> = of_port.iter().filter_map(|packet| packet.sequence).collect();
            assert!(
                found.iter().copied().eq(0..SENT) && of_port.len() as u64 == SENT,
                "{method}: {} of {}: {ended:#?}",
                found.len(),
                of_port.len()
            );
            assert_eq!(read.statistics.iter().filter(|block| block.end_ns.is_some()).count(), 3, "{method}");
        }
        let ports = document["interfaces"].as_array().unwrap();
        for port in ports {
            assert_eq!(
                (&port["unexplained"], &port["in_hand"]),
                (&0.into(), &0.into()),
                "{method}: {document:#}"
            );
        }
        assert_eq!(counted_by_others(&file), [3 * SENT; 2], "{method}");
        // A reader that is kept from its CPU for longer than the others wait for it comes late, which the account says.
        let late: u64 = ports.iter().map(|port| port["late"].as_u64().unwrap()).sum();
        let read = File::read(&file, 7, None, None);
        let backwards = read.packets.windows(2).filter(|pair| pair[0].time_ns > pair[1].time_ns).count();
        assert!(late > 0 || backwards == 0, "{method}: in time order: {document:#}");
        if late > 0 {
            let others = load.others().unwrap_or_else(|| panic!("{method}: {late} late: {document:#}"));
            busy(format_args!("{method}: {late} frames came late; {others}"));
        }
    }
}

#[test]
fn root_captures_that_share_an_interface_record_all_of_it() {
    let Some(folder) = scratch_of_root() else { return };
    // Behind a queueing discipline a frame takes the queue of its flow.
    for (method, queues, transmit) in [
        ("packet-v3 --ring 16MiB --fanout hash", 1, "packet-tx"),
        ("af-xdp --ring 16MiB", 2, "packet-tx+qdisc"),
    ] {
        let spaces = Namespaces::with_queues(queues);
        let file = folder.file(&format!("shared{queues}.pcapng"));
        let recording = Recording::start(&spaces.right, &file, &format!("--method {method} --members 2"));
        send(&spaces, &format!("{} --flows 64 --transmit {transmit}", traffic(7)));
        let (ended, document) = recording.interrupt();
        assert_eq!(document["interfaces"][0]["members"], 2, "{document:#}");
        // Its own XDP program is none that takes frames in front of it.
        assert!(document["interfaces"][0]["lost_by_xdp"].is_null(), "{method}: {document:#}");
        assert!(!ended.errors.contains("attached while it is recorded"), "{ended:#?}");
        assert_eq!(document["interfaces"][0]["unexplained"], 0, "{document:#}");
        let mut found: Vec<_> = {
            let octets = fs::read(&file).unwrap();
            let layout = capbench_frames::FrameLayout {
                flows: capbench_frames::Flows::new(64).unwrap(),
                ..capbench_frames::FrameLayout::default()
            };
            let recogniser =
                capbench_frames::Classifier::new(capbench_frames::TrialId(7), &layout, None).unwrap();
            let mut reader = capbench_record::file::CaptureReader::new(&octets[..]).unwrap();
            let mut found = Vec::new();
            while let Some(record) = reader.next_record().unwrap() {
                if let capbench_record::file::Record::Packet(packet) = record
                    && let capbench_frames::FrameClass::Own(stamp) = recogniser.look(
                        packet.data,
                        packet.original_length,
                        capbench_frames::TagMetadata::Absent,
                    )
                {
                    found.push(stamp.sequence);
                }
            }
            found
        };
        found.sort_unstable();
        assert!(found.into_iter().eq(0..FRAMES), "{document:#}");
    }
}

#[test]
fn root_filters_snap_lengths_and_tags_are_heeded() {
    let Some(folder) = scratch_of_root() else { return };
    for method in ["packet-v3", "recv", "packet-v2"] {
        let spaces = Namespaces::make();
        let file = folder.file(&format!("{method}.pcapng"));
        let recording = Recording::start(
            &spaces.right,
            &file,
            &format!("--method {method} -s 96 -c 1000 vlan 100 and udp"),
        );
        // Without the tag they are not wanted.
        send(&spaces, "--rate 10000 -c 500 --trial 7 --size 200");
        send(&spaces, "--rate 10000 -c 1500 --trial 7 --size 200 --vlan 100");
        let (ended, document) = recording.end();
        let read = File::read(&file, 7, Some(100), Some(96));
        assert!(read.holds_once(1000), "{method}: {} packets: {ended:#?}", read.packets.len());
        assert!(read.packets.iter().all(|packet| packet.octets == 96), "{method}");
        assert_eq!(document["end"], "packets", "{method}: {document:#}");
        let lines = run(
            HOST,
            program("tshark")
                .args(["-n", "-Y", "vlan.id == 100", "-r"])
                .arg(&file)
                .env("WIRESHARK_CONFIG_DIR", "/nonexistent"),
        )
        .success()
        .out
        .lines()
        .count();
        assert_eq!(lines, 1000, "{method}: the tag is among the octets");
    }
}

#[test]
fn root_a_pipe_gets_packets_while_they_come() {
    let Some((folder, spaces)) = test_bed() else { return };
    let copy = folder.file("copy.pcapng");
    let mut command = program("sh");
    let script = "exec \"$1\" record -i right -w - --method packet-v3 --json > \"$2\"";
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_capbench")]).arg(&copy);
    let mut recorder = Running::start(&spaces.right, &mut command);
    recorder.wait_for("listening on");
    send(&spaces, "--rate 10000 -c 100 --trial 7");
    let is_there = || File::read(&copy, 7, None, None).packets.len() == 100;
    eventually("packets are in the output while the recorder runs", || copy.exists() && is_there());
    recorder.signal("TERM");
    let ended = recorder.end().success();
    assert!(File::read(&copy, 7, None, None).holds_once(100), "{ended:#?}");
    assert!(ended.out.is_empty() && ended.errors.contains("\"schema_version\": 1"), "{ended:#?}");
}

#[test]
fn root_privileges_are_given_up_and_files_belong_to_the_user() {
    let Some(()) = privileges() else { return };
    let (folder, spaces) = (Scratch::of_nobody(), Namespaces::make());
    let file = folder.file("nobody.pcapng");
    let recording = Recording::start(&spaces.right, &file, "--method packet-v3 -Z nobody");
    let status = fs::read_to_string(format!("/proc/{}/status", recording.running.pid())).unwrap();
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_string();
    assert!(field("Uid:").split_whitespace().all(|uid| uid == NOBODY.to_string()), "{status}");
    assert_eq!(field("CapEff:"), "0000000000000000", "{status}");
    send(&spaces, &traffic(7));
    let (_, document) = recording.interrupt();
    assert!(File::read(&file, 7, None, None).holds_once(FRAMES), "{document:#}");
    assert_eq!(document["interfaces"][0]["unexplained"], 0, "{document:#}");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&fs::metadata(&file).unwrap()), NOBODY);
}
