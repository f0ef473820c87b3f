//! `capbench record` when something goes wrong: what is missing is told, and where.

use std::fs;
use std::sync::mpsc::channel;

use crate::support::recording::counted_by_others;
use crate::support::{
    Ended, File, HOST, Namespaces, Place, Recording, Running, Scratch, Tmpfs, capbench, eventually,
    privileges, program, run, scratch_of_root, send, test_bed,
};

/// Frames of a run in which the recorder stands still for a while.
const FRAMES: u64 = 40_000;

/// Stops a recorder with a small ring in the middle of a run, and lets it go on before the end.
fn standing_still(spaces: &Namespaces, recording: &Recording) {
    let sender = Running::start(
        &spaces.left,
        capbench("send -i left --json --rate 40000 --size 64 --trial 7").args(["-c", &FRAMES.to_string()]),
    );
    eventually("some frames are recorded", || spaces.right.received() > 2500);
    recording.running.signal("STOP");
    eventually("the ring overflows", || spaces.right.received() > 22_000);
    recording.running.signal("CONT");
    sender.end().success();
}

/// Frames missing before each packet of an interface, and its drop count.
///
/// The kernel counts the losses between two readings of its counters as one number. So a ring that overflows again before
/// the first mark is reached, as on a busy host, has both losses there: never later, and nowhere but at a gap.
fn gaps_and_drop_counts(read: &File) -> Vec<(u64, u64)> {
    let (mut next, mut missing, mut dropped) = (0, 0, 0);
    let mut before = Vec::new();
    for packet in &read.packets {
        let sequence = packet.sequence.expect("only frames of the trial are sent");
        let (gap, count) = (sequence - next, packet.dropped.unwrap_or(0));
        missing += gap;
        dropped += count;
        assert!(dropped >= missing, "{dropped} of {missing} before {sequence}");
        assert!(count == 0 || gap > 0, "{count} before {sequence}, where nothing is missing");
        before.push((gap, count));
        next = sequence + 1;
    }
    before
}

#[test]
fn root_what_a_ring_lost_stands_before_the_packet_that_follows() {
    let Some(folder) = scratch_of_root() else { return };
    for (method, ring) in [
        ("packet-v3", "--ring 1MiB --block 64KiB"),
        ("packet-v3", "--ring 2MiB --block 1MiB"),
        ("packet-v2", "--ring 1MiB"),
        ("packet-v1", "--ring 1MiB"),
        ("packet-v3", "--ring 1MiB --block 64KiB --format verbatim"),
    ] {
        let spaces = Namespaces::make();
        let mut file = folder.file(&format!("{method}.pcapng"));
        let recording = Recording::start(&spaces.right, &file, &format!("--method {method} {ring}"));
        standing_still(&spaces, &recording);
        let (_, document) = recording.interrupt();
        let mut read = File::read(&file, 7, None, None);
        if ring.contains("verbatim") {
            let blocks = std::mem::replace(&mut file, folder.file("converted.pcapng"));
            run(HOST, capbench("convert").arg(blocks).arg(&file)).success();
            let verbatim = std::mem::replace(&mut read, File::read(&file, 7, None, None));
            assert_eq!(gaps_and_drop_counts(&verbatim), gaps_and_drop_counts(&read));
            assert_eq!(verbatim.last_statistics(0).system_dropped, read.last_statistics(0).system_dropped);
        }
        let found = read.sequences();
        let missing = FRAMES - found.len() as u64;
        assert!(missing > 0, "{method}: nothing was lost: {document:#}");
        let gaps = gaps_and_drop_counts(&read);
        let counts = |wanted: fn(u64, u64) -> bool| {
            gaps.iter().filter(|&&(gap, count)| wanted(gap, count)).count() as u64
        };
        let ledger = &document["interfaces"][0];
        assert_eq!(ledger["lost_by_kernel"], missing, "{method}: {document:#}");
        assert_eq!((&ledger["unexplained"], &ledger["in_hand"]), (&0.into(), &0.into()), "{method}");
        assert_eq!(ledger["ring_fullest"], 1.0, "{method}: a ring that lost packets was full");
        let last = read.last_statistics(0);
        assert_eq!((last.system_dropped, last.accepted), (Some(missing), Some(FRAMES)), "{method}: {last:?}");
        assert_eq!(read.dropped() + ledger["drops_behind_last"].as_u64().unwrap(), missing, "{method}");
        let told = run(
            HOST,
            program("tshark -n -T fields -e frame.drop_count -r")
                .arg(&file)
                .env("WIRESHARK_CONFIG_DIR", "/nonexistent"),
        )
        .success()
        .out;
        let by_tshark = told.lines().map(|line| line.trim().parse::<u64>().ok());
        assert!(by_tshark.eq(read.packets.iter().map(|packet| packet.dropped)), "{method}: packet by packet");
        let by_us = run(HOST, capbench("verify --json --trial 7").arg(&file));
        assert_eq!(by_us.code, Some(3), "{method}: {by_us:#?}");
        let port = &by_us.json()["interfaces"][0];
        assert_eq!(
            (&port["gaps"], &port["gaps_told"], &port["told_elsewhere"], &port["lost"]),
            (
                &counts(|gap, _| gap > 0).into(),
                &counts(|gap, count| gap > 0 && count == gap).into(),
                &counts(|gap, count| count > 0 && count != gap).into(),
                &missing.into()
            ),
            "{method}: {port:#}"
        );
    }
}

#[test]
fn root_methods_without_marks_tell_losses_too_and_so_do_merged_ports() {
    let Some(folder) = scratch_of_root() else { return };
    for (method, more) in [
        ("recvmmsg", ""),
        ("packet-v3", "--block 64KiB --fanout lb --members 2"),
        ("packet-v2", "--fanout lb --members 2"),
    ] {
        let spaces = Namespaces::make();
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
fn root_what_each_of_several_ports_lost_stands_before_its_own_packets() {
    let Some(folder) = scratch_of_root() else { return };
    for (method, more) in [("packet-v3", "--block 64KiB"), ("packet-v2", "")] {
        let spaces = Namespaces::make();
        spaces.add_pairs(1);
        let file = folder.file(&format!("{method}.pcapng"));
        let arguments = format!("--method {method} --ring 1MiB {more}");
        let recording = Recording::start_on(&spaces.right, "-i right1 -i right", &file, &arguments);
        standing_still(&spaces, &recording);
        let (_, document) = recording.interrupt();
        let read = File::read(&file, 7, None, None);
        let missing = FRAMES - read.sequences().len() as u64;
        assert!(missing > 0, "{method}: nothing was lost: {document:#}");
        assert_eq!(document["interfaces"][0]["lost_by_kernel"], 0, "{method}: {document:#}");
        assert_eq!(document["interfaces"][1]["lost_by_kernel"], missing, "{method}: {document:#}");
        assert!(
            read.packets.iter().all(|packet| packet.interface == 1),
            "{method}: nothing is sent to the other one"
        );
        // With several captures the first marked packet of a batch has what was lost until its end: V2's batches are copies.
        if method == "packet-v3" {
            gaps_and_drop_counts(&read);
        }
        let told = read.dropped() + document["interfaces"][1]["drops_behind_last"].as_u64().unwrap();
        assert_eq!(told, missing, "{method}: {document:#}");
        assert_eq!(read.last_statistics(1).system_dropped, Some(missing), "{method}");
    }
}

#[test]
fn root_each_file_of_a_lossy_rotation_knows_of_the_losses_that_it_tells() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("twice.pcapng");
    let arguments = "--method packet-v3 --ring 2MiB --block 64KiB --file-packets 3000";
    let recording = Recording::start(&spaces.right, &file, arguments);
    let sender = Running::start(
        &spaces.left,
        capbench("send -i left --json --rate 40000 --size 64 --trial 7 -c 100000"),
    );
    for until in [25_000, 50_000, 75_000] {
        let before = spaces.right.received();
        eventually("some frames are recorded", || spaces.right.received() > before + 2000);
        recording.running.signal("STOP");
        eventually("the ring overflows", || spaces.right.received() > until);
        recording.running.signal("CONT");
    }
    sender.end().success();
    let (_, document) = recording.interrupt();
    let count = document["files"].as_u64().unwrap();
    let (mut next, mut missing, mut told_by_now) = (0, 0, 0);
    for number in 0..count {
        let name =
            folder.file(&if number == 0 { "twice.pcapng".into() } else { format!("twice.pcapng{number}") });
        let read = File::read(&name, 7, None, None);
        for packet in &read.packets {
            let sequence = packet.sequence.expect("only frames of the trial are sent");
            missing += sequence - next;
            told_by_now += packet.dropped.unwrap_or(0);
            // A ring that overflows again before the first mark is reached tells both losses there, and never later.
            assert!(told_by_now >= missing, "{told_by_now} of {missing} before {sequence}: {document:#}");
            next = sequence + 1;
        }
        // Each file knows of what it tells, also where it ended between two readings of the counters.
        let told = read.last_statistics(0).system_dropped;
        assert!(told >= Some(told_by_now), "{}: {told:?} of {told_by_now}", name.display());
        let verified = run(HOST, capbench("verify --trial 7").arg(&name));
        assert!(!verified.out.contains("fewer than its drop counts"), "{verified:#?}");
    }
    assert_eq!(document["interfaces"][0]["lost_by_kernel"], missing, "{document:#}");
    assert_eq!(told_by_now, missing, "{document:#}");
    assert!(missing > 10_000, "{document:#}");
}

/// Records so many frames through a pipe that nobody reads before `until` is over, which gets the recording and the sender.
fn record_into_a_pipe_that_stands_still(
    spaces: &Namespaces,
    arguments: &str,
    frames: &str,
    until: impl FnOnce(&mut Recording, Running),
) -> (Ended, File) {
    let folder = Scratch::new();
    let (pipe, copy) = (folder.file("pipe"), folder.file("copy.pcapng"));
    run(HOST, program("mkfifo").arg(&pipe)).success();
    let (go, wait) = channel::<()>();
    let reader = std::thread::spawn({
        let (pipe, copy) = (pipe.clone(), copy.clone());
        move || {
            let mut pipe = fs::File::open(pipe).unwrap();
            // The end of the channel means to go on, too.
            let _ = wait.recv();
            std::io::copy(&mut pipe, &mut fs::File::create(copy).unwrap()).unwrap()
        }
    });
    let mut recording = Recording::start(&spaces.right, &pipe, arguments);
    until(
        &mut recording,
        Running::start(
            &spaces.left,
            capbench(&format!("send -i left --json --rate 20000 --size 512 --trial 7 -c {frames}")),
        ),
    );
    drop(go);
    recording.running.signal("INT");
    let ended = recording.running.end();
    reader.join().unwrap();
    let read = File::read(&copy, 7, None, None);
    (ended, read)
}

#[test]
fn root_while_the_output_stands_still_the_ring_holds_what_its_buffers_do_not() {
    let Some((_, spaces)) = test_bed() else { return };
    // Four times as much as the buffers hold, and an eighth of what the ring does: few of its blocks are full where the sender is slow.
    let arguments = "--method packet-v3 --write-buffer 4MiB --ring 128MiB";
    let until = |recording: &mut Recording, sender: Running| {
        sender.end().success();
        recording.running.wait_for("buffers wait to be written");
    };
    let (ended, read) = record_into_a_pipe_that_stands_still(&spaces, arguments, "30000", until);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(read.packets.len(), 30_000, "{ended:#?}");
    assert!(!ended.errors.contains("packets dropped at the writer"), "{ended:#?}");
}

#[test]
fn root_an_output_that_does_not_keep_up_is_told_while_it_happens_and_its_losses_are_the_writers() {
    let Some((_, spaces)) = test_bed() else { return };
    let arguments = "--method packet-v3 --ring 32MiB --write-buffer 4MiB --max-loss 0.01";
    let until = |recording: &mut Recording, sender: Running| {
        recording.running.wait_for("packets dropped at the writer");
        sender.end().success();
    };
    let (ended, read) = record_into_a_pipe_that_stands_still(&spaces, arguments, "60000", until);
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    let document = ended.json();
    let missing = 60_000 - read.packets.len() as u64;
    let ledger = &document["interfaces"][0];
    for key in ["unexplained", "in_hand", "unwritten"] {
        assert_eq!(ledger[key], 0, "{key}: {document:#}");
    }
    // The ring may lose a frame, too, while its block is closed and its reader is away.
    let [by_writer, by_kernel] =
        ["refused_by_writer", "lost_by_kernel"].map(|key| ledger[key].as_u64().unwrap());
    assert_eq!(by_writer + by_kernel, missing, "{document:#}");
    assert!(by_kernel < missing / 100, "{document:#}");
    assert!(missing > 1000 && read.drop_counts_fill_the_gaps() == 60_000, "{missing}: {document:#}");
    let last = read.last_statistics(0);
    let ours = format!("writer (ours) {by_writer}");
    assert!(last.comments.iter().any(|comment| comment.contains(&ours)), "{last:?}");
    assert_eq!(
        (last.system_dropped, last.delivered),
        (Some(by_kernel), Some(60_000 - by_kernel)),
        "{last:?}"
    );
}

#[test]
fn root_a_full_disk_ends_it_with_a_readable_file_and_an_account() {
    let Some(()) = privileges() else { return };
    for format in ["pcapng", "verbatim --block 64KiB --ring 16MiB"] {
        let (disk, spaces) = (Tmpfs::new("2m"), Namespaces::make());
        let file = disk.0.file("full");
        let arguments = format!("--method packet-v3 --format {format}");
        let recording = Recording::start(&spaces.right, &file, &arguments);
        send(&spaces, "--rate 20000 -c 20000 --size 1000 --trial 7");
        let ended = recording.running.end();
        assert_eq!(ended.code, Some(7), "{ended:#?}");
        assert!(ended.errors.contains("free space"), "{ended:#?}");
        let document = ended.json();
        let read = File::read(&file, 7, None, None);
        let written = read.packets.len() as u64;
        assert!(written > 1000 && read.holds_once(written) && !read.ends_early, "{written}: {document:#}");
        let ledger = &document["interfaces"][0];
        assert_eq!((&ledger["written"], &ledger["in_hand"]), (&written.into(), &0.into()), "{document:#}");
        assert!(ledger["unwritten"].as_u64() > Some(0), "what the disk did not take is told: {document:#}");
        assert_eq!(ledger["unexplained"], 0, "{document:#}");
        assert_eq!(document["end"], "failed", "{document:#}");
        if format == "pcapng" {
            assert_eq!(counted_by_others(&file), [written; 2]);
        }
    }
}

fn set(place: &Place, state: &str) {
    place.ip(&format!("link set dev right {state}"));
}

#[test]
fn root_an_interface_that_goes_down_and_comes_back_is_recorded_on() {
    let Some(folder) = scratch_of_root() else { return };
    for method in ["packet-v3", "packet-v2", "recv", "recvmmsg"] {
        let spaces = Namespaces::make();
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
