//! `capbench record` of several ports that are not alike: one stream in time order, and what is not in order is told.

use std::path::Path;
use std::process::Command;

use crate::support::{
    File, HOST, Namespaces, Recording, Running, Scratch, capbench, eventually, privileges, program, run,
    test_bed,
};
use capbench_sys::host::affinity::online_cpus;
use capbench_testing::{HostLimit, cannot_have};
use serde_json::Value;

/// Sends from a left end, from the first CPU.
fn sender(spaces: &Namespaces, interface: &str, trial: u16, rate: u32, frames: u64) -> Running {
    Running::start(
        &spaces.left,
        capbench(&format!("send -i {interface} --json --cpu 0 --rate {rate} -c {frames} --trial {trial}")),
    )
}

/// Packets behind one with a later time, of each port, and by how much at most.
fn behind(file: &File, ports: usize) -> Vec<(u64, Option<u64>)> {
    let mut late = vec![(0, None); ports];
    let mut latest = 0;
    for packet in &file.packets {
        let (count, most) = &mut late[packet.interface as usize];
        if packet.time_ns < latest {
            *count += 1;
            *most = (*most).max(Some(latest - packet.time_ns));
        }
        latest = latest.max(packet.time_ns);
    }
    late
}

/// Asserts that the file holds all frames of these trials, each on its port, and that the ledger tells of every packet that
/// stands behind a later one, and of nothing else.
fn assert_merged(file: &Path, document: &Value, frames: &[u64], ring: u64) {
    let mut late = Vec::new();
    for (port, &sent) in frames.iter().enumerate() {
        let read = File::read(file, 7 + port as u16, None, None);
        assert!(!read.ends_early);
        let of_port: Vec<_> = read.packets.iter().filter(|packet| packet.interface == port as u32).collect();
        assert!(
            of_port.iter().map(|packet| packet.sequence).eq((0..sent).map(Some)),
            "port {port}: {document:#}"
        );
        late = behind(&read, frames.len());
    }
    for (port, (late, latest_ns)) in late.into_iter().enumerate() {
        let ledger = &document["interfaces"][port];
        assert_eq!(
            (&ledger["late"], ledger["latest_ns"].as_u64()),
            (&late.into(), latest_ns),
            "port {port}: {document:#}"
        );
        for key in ["unexplained", "in_hand", "lost_by_kernel", "refused_by_writer", "unwritten"] {
            assert_eq!(ledger[key], 0, "port {port}: {key}: {document:#}");
        }
    }
    assert_eq!(document["lost"], 0, "{document:#}");
    let held = document["merge"]["most_held_octets"].as_u64().unwrap();
    println!("held by the merge at most: {held} octets");
    assert!((1..=ring / 2 * frames.len() as u64).contains(&held), "{document:#}");
}

#[test]
fn root_skewed_ports_of_which_one_is_idle_become_one_stream() {
    let Some((folder, spaces)) = test_bed() else { return };
    spaces.add_pairs(2);
    for method in ["packet-v3", "packet-v2", "recvmmsg"] {
        let file = folder.file(&format!("{method}.pcapng"));
        let ports = "-i right -i right1 -i right2";
        let arguments = format!("--method {method} --ring 64MiB");
        let recording = Recording::start_on(&spaces.right, ports, &file, &arguments);
        let senders = [sender(&spaces, "left", 7, 18_000, 9000), sender(&spaces, "left1", 8, 2000, 1000)];
        senders.into_iter().for_each(|sender| drop(sender.end().success()));
        recording.running.signal("INT");
        let Recording { running, file } = recording;
        let ended = running.end().success();
        assert!(ended.errors.contains("merge: up to "), "{ended:#?}");
        let verified = run(HOST, capbench("verify --json --trial 7").arg(&file)).json();
        assert_eq!(verified["trials"][0]["delivered"], 9000, "{verified:#}");
        assert_merged(&file, &ended.json(), &[9000, 1000, 0], 64 << 20);
    }
}

#[test]
fn root_ports_with_several_captures_each_are_groups_of_their_own() {
    let Some((folder, spaces)) = test_bed() else { return };
    spaces.add_pairs(1);
    // Small blocks: a ring of few is full as soon as a busy host keeps its reader waiting.
    for (method, ring) in [("packet-v3", "--ring 16MiB --block 64KiB"), ("recvmmsg", "--ring 16MiB")] {
        let file = folder.file(&format!("{method}.pcapng"));
        let arguments = format!("--method {method} {ring} --fanout lb --members 2");
        let recording = Recording::start_on(&spaces.right, "-i right -i right1", &file, &arguments);
        let senders = [sender(&spaces, "left", 7, 8_000, 8_000), sender(&spaces, "left1", 8, 4_000, 4_000)];
        senders.into_iter().for_each(|sender| drop(sender.end().success()));
        let (_, document) = recording.interrupt();
        let held = |port: usize| {
            let read = File::read(&file, 7 + port as u16, None, None);
            let mut found = read.sequences();
            found.sort_unstable();
            found
        };
        assert!(
            held(0).into_iter().eq(0..8_000) && held(1).into_iter().eq(0..4_000),
            "{method}: {document:#}"
        );
        for (port, sent) in [8_000, 4_000].into_iter().enumerate() {
            let ledger = &document["interfaces"][port];
            assert_eq!(
                (&ledger["written"], &ledger["unexplained"]),
                (&sent.into(), &0.into()),
                "{document:#}"
            );
        }
    }
}

/// Takes a CPU away from everything else for a second: the kernel ends it after that much time at a real-time priority.
fn hog(cpu: u32) -> Command {
    let mut command = program(&format!("chrt -f 1 taskset -c {cpu}"));
    command.args(["prlimit", "--rttime=1000000:1000000", "sh", "-c", "while :; do :; done"]);
    command
}

#[test]
fn root_alone_a_capture_that_stalls_for_a_second_is_not_waited_for_and_loses_nothing() {
    let Some(()) = privileges() else { return };
    if online_cpus().unwrap().len() < 2 {
        return cannot_have(HostLimit::Cpus, "with one everything would stall");
    }
    let (folder, spaces) = (Scratch::new(), Namespaces::make());
    spaces.add_pairs(2);
    let file = folder.file("stalled.pcapng");
    let ports = "-i right -i right1 -i right2";
    // The ring of a port with few packets holds as many times 10 ms as it has blocks.
    let arguments = "--method packet-v3 --ring 16MiB --block 64KiB --cpu 0,1,0,0";
    let recording = Recording::start_on(&spaces.right, ports, &file, arguments);
    let senders = [sender(&spaces, "left", 7, 4_000, 8_000), sender(&spaces, "left1", 8, 4_000, 8_000)];
    eventually("some frames have come", || spaces.right.received() > 500);
    let hogged = Running::start(HOST, &mut hog(1)).end();
    assert!(hogged.signal.is_some(), "the kernel ended it: {hogged:#?}");
    senders.into_iter().for_each(|sender| drop(sender.end().success()));
    let (_, document) = recording.interrupt();
    assert_merged(&file, &document, &[8_000, 8_000, 0], 16 << 20);
    let late = |port: usize| document["interfaces"][port]["late"].as_u64().unwrap();
    assert!(late(1) > 0, "those of the port that stalled: {document:#}");
}
