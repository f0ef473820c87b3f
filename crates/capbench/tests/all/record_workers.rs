//! `capbench record --workers`: files are what they are without, and what workers lose stands in file and ledger.

use crate::support::recording::counted_by_others;
use crate::support::{
    File, Namespaces, Recording, Running, Still, capbench, eventually, scratch_of_root, send, test_bed,
};
use serde_json::Value;

const FRAMES: u64 = 20_000;
/// Batches that one worker may have waiting: more than there are while so many frames are sent.
const LONG_QUEUE: &str = "--ring 64MiB --workers 1 --worker-queue 62";
/// As many workers as there may be, and however slow they are: nothing is dropped in front of them.
const PATIENT: &str = "--workers 2 --worker-wait";

fn traffic(trial: u16) -> String {
    format!("--rate 50000 --size imix -c {FRAMES} --trial {trial}")
}

/// The lines of an interface's ledger about queues of workers: how many packets each lost.
fn lost_by_worker(interface: &Value) -> Vec<u64> {
    let rows = interface["ledger"].as_array().unwrap();
    let of_workers = rows.iter().filter(|row| row["place"] == "lost: application_queue");
    let check = |(number, row): (usize, &Value)| {
        assert!(row["source"].as_str().unwrap().starts_with(&format!("worker {number}: ")), "{row}");
        row["count"].as_u64().unwrap()
    };
    of_workers.enumerate().map(check).collect()
}

fn assert_accounted(interface: &Value, frames: u64) {
    for (key, expected) in [
        ("accepted", frames),
        ("taken", frames),
        ("lost_in_queues", 0),
        ("written", frames),
        ("in_hand", 0),
        ("unexplained", 0),
    ] {
        assert_eq!(interface[key], expected, "{key}: {interface:#}");
    }
}

#[test]
fn root_workers_record_every_frame_once() {
    let Some(folder) = scratch_of_root() else { return };
    let ways = [
        ("packet-v3", "pcapng", PATIENT),
        ("packet-v3", "pcap", LONG_QUEUE),
        ("recv", "pcapng", PATIENT),
        ("packet-v2", "pcapng", PATIENT),
    ];
    for (number, (method, format, workers)) in ways.into_iter().enumerate() {
        let spaces = Namespaces::make();
        let file = folder.file(&format!("{number}.{format}"));
        let arguments = format!("--method {method} --format {format} {workers}");
        let recording = Recording::start(&spaces.right, &file, &arguments);
        send(&spaces, &traffic(7));
        let (ended, document) = recording.interrupt();
        let read = File::read(&file, 7, None, None);
        assert!(read.sequences().into_iter().eq(0..FRAMES), "{arguments}: {ended:#?}");
        assert!(!read.ends_early && read.dropped() == 0, "{arguments}");
        assert_eq!(counted_by_others(&file), [FRAMES; 2], "{arguments}");
        let interface = &document["interfaces"][0];
        assert_accounted(interface, FRAMES);
        let count = if workers == PATIENT { 2 } else { 1 };
        assert_eq!(lost_by_worker(interface), vec![0; count], "{arguments}");
        assert!(ended.errors.contains(&format!("capbench: {count} worker")), "{ended:#?}");
    }
}

#[test]
fn root_several_ports_go_through_the_same_workers() {
    let Some((folder, spaces)) = test_bed() else { return };
    let peer = format!("peer name right1 netns {}", spaces.right.path());
    spaces.left.ip(&format!("link add name left1 type veth {peer}"));
    spaces.left.ip("link set dev left1 arp off up");
    spaces.right.ip("link set dev right1 arp off up");
    let has_carrier = || spaces.right.ip("-o link show dev right1").contains("LOWER_UP");
    eventually("a veth pair has carrier", has_carrier);
    for method in ["packet-v3", "recv"] {
        let file = folder.file(&format!("{method}.pcapng"));
        let arguments = format!("--method {method} {PATIENT}");
        let recording = Recording::start_on(&spaces.right, "-i right -i right1", &file, &arguments);
        let senders = [("left", 7), ("left1", 8)].map(|(interface, trial)| {
            Running::start(
                &spaces.left,
                capbench(&format!("send -i {interface} --json --rate 10000 -c 4000"))
                    .args(["--trial", &trial.to_string()]),
            )
        });
        senders.into_iter().for_each(|sender| drop(sender.end().success()));
        let (ended, document) = recording.interrupt();
        for trial in [7, 8] {
            let read = File::read(&file, trial, None, None);
            let of_port = read.packets.iter().filter(|packet| packet.interface == u32::from(trial) - 7);
            let found: Vec<_> = of_port.map(|packet| packet.sequence).collect();
            assert!(found.into_iter().eq((0..4000).map(Some)), "{method}: {ended:#?}");
            let falls = read.packets.windows(2).filter(|pair| pair[0].time_ns > pair[1].time_ns).count();
            let ports = document["interfaces"].as_array().unwrap();
            let late: u64 = ports.iter().map(|port| port["late"].as_u64().unwrap()).sum();
            assert!(falls as u64 <= late, "{method}: only late ones are out of order: {document:#}");
        }
        for port in document["interfaces"].as_array().unwrap() {
            assert_accounted(port, 4000);
        }
    }
}

#[test]
fn root_rotated_files_filters_and_limits_are_what_they_are_without_workers() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("ring.pcapng");
    let arguments = format!("--method packet-v3 --file-packets 6000 {PATIENT}");
    let recording = Recording::start(&spaces.right, &file, &arguments);
    send(&spaces, &traffic(7));
    recording.interrupt();
    let names = ["ring.pcapng", "ring.pcapng1", "ring.pcapng2", "ring.pcapng3"];
    let files = names.map(|name| File::read(&folder.file(name), 7, None, None));
    assert_eq!(files.each_ref().map(|file| file.packets.len()), [6000, 6000, 6000, 2000]);
    assert!(files.iter().flat_map(File::sequences).eq(0..FRAMES));

    // This one has no filter of the kernel's.
    let method = if cfg!(feature = "bpf") { "af-xdp -Q in" } else { "packet-v2" };
    let file = folder.file("filtered.pcapng");
    let recording = Recording::start(
        &spaces.right,
        &file,
        &format!("--method {method} -s 96 -c 1000 {PATIENT} less 300"),
    );
    send(&spaces, "--rate 10000 -c 500 --trial 7 --size 1000");
    send(&spaces, "--rate 10000 -c 1500 --trial 7 --size 200");
    let (ended, document) = recording.end();
    let read = File::read(&file, 7, None, Some(96));
    assert!(read.holds_once(1000), "{} packets: {ended:#?}", read.packets.len());
    assert!(read.packets.iter().all(|packet| packet.octets == 96));
    let interface = &document["interfaces"][0];
    assert_eq!((&document["end"], &interface["in_hand"]), (&"packets".into(), &0.into()), "{document:#}");
    if cfg!(feature = "bpf") {
        assert_eq!(interface["filtered"], 500, "{document:#}");
    }
}

/// Sends while the first worker stands still, until most of it has come, and some behind that.
fn with_a_worker_that_stands_still(spaces: &Namespaces, recording: &Recording, frames: u64) {
    let sender = Running::start(
        &spaces.left,
        capbench("send -i left --json --rate 40000 --size 64 --trial 7").args(["-c", &frames.to_string()]),
    );
    eventually("some frames are recorded", || spaces.right.received() > 2000);
    let still = Still::thread(recording.running.pid(), "capbench-w0");
    eventually("most frames have come", || spaces.right.received() > frames - 10_000);
    drop(still);
    sender.end().success();
}

#[test]
fn root_what_a_worker_that_stands_still_loses_is_lost_at_its_queue_and_nowhere_else() {
    const MANY: u64 = 120_000;
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("still.pcapng");
    // The ring holds all of it; the queues do not, and that of the other worker is never full.
    let arguments =
        "--method packet-v3 --ring 64MiB --block 64KiB --workers 2 --worker-queue 30 --max-loss 1e-4";
    let recording = Recording::start(&spaces.right, &file, arguments);
    with_a_worker_that_stands_still(&spaces, &recording, MANY);
    recording.running.signal("INT");
    let ended = recording.running.end();
    let document = ended.json();
    assert_eq!(ended.code, Some(3), "more is lost than may be: {ended:#?}");
    let read = File::read(&file, 7, None, None);
    let missing = MANY - read.packets.len() as u64;
    assert!(missing > 0, "nothing was lost: {document:#}");
    read.drop_counts_fill_the_gaps();
    let ledger = &document["interfaces"][0];
    assert_eq!(lost_by_worker(ledger), [missing, 0], "{document:#}");
    for (key, expected) in [
        ("lost_in_queues", missing),
        ("lost_by_kernel", 0),
        ("refused_by_writer", 0),
        ("taken", MANY),
        ("accepted", MANY),
        ("unexplained", 0),
        ("in_hand", 0),
    ] {
        assert_eq!(ledger[key], expected, "{key}: {document:#}");
    }
    assert_eq!(document["lost"], missing, "{document:#}");
    assert_eq!(read.dropped() + ledger["drops_behind_last"].as_u64().unwrap(), missing);
    let last = read.last_statistics(0);
    assert_eq!((last.system_dropped, last.delivered), (Some(0), Some(MANY)), "{last:?}");
    let comment = format!("application_queue (ours) {missing}");
    assert!(last.comments.iter().any(|said| said.contains(&comment)), "{last:?}");
}

#[test]
fn root_where_captures_wait_for_workers_the_ring_holds_what_comes() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("waits.pcapng");
    let arguments =
        "--method packet-v3 --ring 64MiB --block 64KiB --workers 2 --worker-queue 1 --worker-wait";
    let recording = Recording::start(&spaces.right, &file, arguments);
    with_a_worker_that_stands_still(&spaces, &recording, 30_000);
    let (_, document) = recording.interrupt();
    assert!(File::read(&file, 7, None, None).sequences().into_iter().eq(0..30_000), "{document:#}");
    assert_accounted(&document["interfaces"][0], 30_000);
}
