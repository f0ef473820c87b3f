//! `capbench record` when something goes wrong: what is missing is told, and where.

mod support;

use support::recording::counted_by_others;
use support::why::send;
use support::{
    File, Namespaces, Place, Recording, Running, Scratch, Tmpfs, capbench, eventually, in_turn, privileged,
    program, run,
};

/// Frames of a run in which the recorder stands still for a while.
const FRAMES: u64 = 60_000;

/// Stops a recorder with a small ring in the middle of a run, and lets it go on before the end.
fn standing_still(spaces: &Namespaces, recording: &Recording) {
    let mut command = capbench();
    command.args(["send", "-i", "left", "--json", "--rate", "40000", "--size", "64", "--trial", "7"]);
    let sender = Running::start(Some(&spaces.left), command.args(["-c", &FRAMES.to_string()]));
    eventually("some frames are recorded", || spaces.right.received() > 5000);
    recording.running.signal("STOP");
    eventually("the ring overflows", || spaces.right.received() > 40_000);
    recording.running.signal("CONT");
    sender.end().success();
}

#[test]
fn root_what_a_ring_lost_stands_before_the_packet_that_follows() {
    if !privileged("root_what_a_ring_lost_stands_before_the_packet_that_follows") {
        return;
    }
    let (_turn, folder) = (in_turn(), Scratch::new());
    for method in ["packet-v3", "packet-v2", "packet-v1"] {
        let spaces = Namespaces::new();
        let file = folder.file(&format!("{method}.pcapng"));
        let arguments = format!("--method {method} --ring 1MiB");
        let arguments = if method == "packet-v3" { arguments + " --block 64KiB" } else { arguments };
        let recording = Recording::start(&spaces.right, &file, &arguments);
        standing_still(&spaces, &recording);
        let (ended, document) = recording.interrupt();
        let read = File::read(&file, 7, None, None);
        let found = read.sequences();
        let missing = FRAMES - found.len() as u64;
        assert!(missing > 0, "{method}: nothing was lost: {document:#}");
        let mut next = 0;
        for packet in &read.packets {
            let sequence = packet.sequence.expect("only frames of the trial are sent");
            let gap = packet.dropped.unwrap_or(0);
            assert_eq!(next + gap, sequence, "{method}: drop count before {sequence}: {ended:#?}");
            next = sequence + 1;
        }
        let ledger = &document["interfaces"][0];
        assert_eq!(ledger["lost_by_kernel"], missing, "{method}: {document:#}");
        assert_eq!((&ledger["unexplained"], &ledger["in_hand"]), (&0.into(), &0.into()), "{method}");
        let last = read.last_statistics(0);
        assert_eq!((last.system_dropped, last.accepted), (Some(missing), Some(FRAMES)), "{method}: {last:?}");
        assert_eq!(read.dropped() + ledger["drops_behind_last"].as_u64().unwrap(), missing, "{method}");
        let mut tshark = program("tshark");
        tshark.args(["-n", "-T", "fields", "-e", "frame.drop_count", "-r"]).arg(&file);
        let told = run(None, tshark.env("WIRESHARK_CONFIG_DIR", "/nonexistent")).success().out;
        let by_tshark = told.lines().map(|line| line.trim().parse::<u64>().ok());
        assert!(by_tshark.eq(read.packets.iter().map(|packet| packet.dropped)), "{method}: packet by packet");
        let by_us = run(None, capbench().args(["verify", "--json", "--trial", "7"]).arg(&file));
        assert_eq!(by_us.code, Some(3), "{method}: {by_us:#?}");
        let port = &by_us.json()["interfaces"][0];
        assert_eq!(
            (&port["gaps_told"], &port["told_elsewhere"], &port["lost"]),
            (&port["gaps"], &0.into(), &missing.into()),
            "{method}: {port:#}"
        );
    }
}

#[test]
fn root_methods_without_marks_tell_losses_too_and_so_do_merged_ports() {
    if !privileged("root_methods_without_marks_tell_losses_too_and_so_do_merged_ports") {
        return;
    }
    let (_turn, folder) = (in_turn(), Scratch::new());
    for (method, more) in [
        ("recvmmsg", ""),
        ("packet-v3", "--block 64KiB --fanout lb --members 2"),
        ("packet-v2", "--fanout lb --members 2"),
    ] {
        let spaces = Namespaces::new();
        let file = folder.file(&format!("{method}.pcapng"));
        let recording =
            Recording::start(&spaces.right, &file, &format!("--method {method} --ring 1MiB {more}"));
        standing_still(&spaces, &recording);
        let (_, document) = recording.interrupt();
        let read = File::read(&file, 7, None, None);
        let missing = FRAMES - read.sequences().len() as u64;
        let ledger = &document["interfaces"][0];
        assert!(missing > 0, "{method}: nothing was lost: {document:#}");
        assert_eq!(ledger["lost_by_kernel"], missing, "{method}: {document:#}");
        assert_eq!(ledger["unexplained"], 0, "{method}: {document:#}");
        let behind = ledger["drops_behind_last"].as_u64().unwrap();
        assert_eq!(read.dropped() + behind, missing, "{method}: {document:#}");
        assert_eq!(read.last_statistics(0).system_dropped, Some(missing), "{method}");
    }
}

#[test]
fn root_a_full_disk_ends_it_with_a_readable_file_and_an_account() {
    if !privileged("root_a_full_disk_ends_it_with_a_readable_file_and_an_account") {
        return;
    }
    let (_turn, disk, spaces) = (in_turn(), Tmpfs::new("2m"), Namespaces::new());
    let file = disk.0.file("full.pcapng");
    let recording = Recording::start(&spaces.right, &file, "--method packet-v3");
    send(&spaces, "--rate 20000 -c 20000 --size 1000 --trial 7");
    let ended = recording.running.end();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.errors.contains("free space"), "{ended:#?}");
    let document = ended.json();
    let read = File::read(&file, 7, None, None);
    let written = read.packets.len() as u64;
    assert!(written > 1000 && read.holds_once(written) && !read.ends_early, "{written}: {document:#}");
    let ledger = &document["interfaces"][0];
    assert_eq!((&ledger["written"], &ledger["in_hand"]), (&written.into(), &0.into()), "{document:#}");
    assert!(ledger["unwritten"].as_u64() > Some(0), "what the disk did not take is told: {document:#}");
    assert_eq!(ledger["unexplained"], 0, "{document:#}");
    assert_eq!(counted_by_others(&file), [written; 3]);
    assert_eq!(document["end"], "failed", "{document:#}");
}

fn set(place: &Place, state: &str) {
    place.ip(&format!("link set dev right {state}"));
}

#[test]
fn root_an_interface_that_goes_down_and_comes_back_is_recorded_on() {
    if !privileged("root_an_interface_that_goes_down_and_comes_back_is_recorded_on") {
        return;
    }
    let (_turn, folder) = (in_turn(), Scratch::new());
    for method in ["packet-v3", "packet-v2", "recv", "recvmmsg"] {
        let spaces = Namespaces::new();
        let file = folder.file(&format!("{method}.pcapng"));
        let mut recording = Recording::start(&spaces.right, &file, &format!("--method {method}"));
        send(&spaces, "--rate 10000 -c 1000 --trial 7");
        set(&spaces.right, "down");
        recording.running.wait_for("right went down");
        set(&spaces.right, "up");
        let has_carrier = || spaces.left.ip("-o link show dev left").contains("LOWER_UP");
        eventually("the pair has carrier again", has_carrier);
        send(&spaces, "--rate 10000 -c 1000 --trial 7");
        let (_, document) = recording.interrupt();
        let read = File::read(&file, 7, None, None);
        assert!(read.sequences().into_iter().eq((0..1000).chain(0..1000)), "{method}: {document:#}");
        let ledger = &document["interfaces"][0];
        assert_eq!((&ledger["went_down"], &ledger["unexplained"]), (&1.into(), &0.into()), "{method}");
        assert_eq!((&ledger["written"], &document["lost"]), (&2000.into(), &0.into()), "{method}");
    }
}
