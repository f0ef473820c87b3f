//! The files of recordings: their names, who may read them, and what is known of the disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{
    Ended, File, HOST, Namespaces, Recording, Running, capbench, program, run, send, test_bed,
};
use capbench_testing::{HostLimit, cannot_have};

/// What `capbench record` at the right end says that does not begin.
fn refused(spaces: &Namespaces, file: &Path, arguments: &[&str]) -> Ended {
    run(&spaces.right, capbench("record -i right --method packet-v3 -w").arg(file).args(arguments))
}

#[test]
fn root_what_the_disk_does_not_take_after_the_page_cache_took_it_is_not_written() {
    let Some((folder, spaces)) = test_bed() else { return };
    // A disk of 400 MB for which there are 40 MB, as with thin provisioning. The mounts end with the process's own namespace.
    let script = "mount -t tmpfs -o size=40m none \"$2\" && truncate -s 400m \"$2/image\" && mkdir \"$2/disk\" &&
        mkfs.ext4 -q -F -E lazy_itable_init=1,nodiscard \"$2/image\" || exit 1
        loop=$(losetup -f --show \"$2/image\") || exit 77
        mount \"$loop\" \"$2/disk\" || { losetup -d \"$loop\"; exit 77; }
        \"$1\" record -i right -w \"$2/disk/f.pcapng\" --method packet-v3 --json --max-loss 0 -c 50000; code=$?
        ls \"$2/disk\" >&2; umount \"$2/disk\"; losetup -d \"$loop\"; exit $code";
    let mut recorder = Running::start(
        &spaces.right,
        program("unshare --mount --propagation private bash -c")
            .args([script, "bash"])
            .arg(env!("CARGO_BIN_EXE_capbench"))
            .arg(folder.path()),
    );
    if !recorder.says("listening on") {
        let ended = recorder.end();
        assert_eq!(ended.code, Some(77), "only a host without loop devices ends the script so: {ended:#?}");
        return cannot_have(HostLimit::Kernel, format_args!("loop devices: {}", ended.errors));
    }
    send(&spaces, "--rate 30000 --size 1518 -c 60000 --trial 7");
    let ended = recorder.end();
    // The kernel says EIO or ENOSPC; or the file system becomes read-only before, where the disk is asked for its room early.
    assert!([Some(1), Some(7)].contains(&ended.code), "{ended:#?}");
    let says = |what: &str| ended.errors.contains(what);
    assert!(
        (says("cannot bring to the disk ") || says("cannot write ")) && says("/f.pcapng: "),
        "{ended:#?}"
    );
    assert!(says("\nf.pcapng.part\n") && !says("\nf.pcapng\n"), "{ended:#?}");
    let ledger = &ended.json()["interfaces"][0];
    let count = |key: &str| ledger[key].as_u64().unwrap();
    for key in ["written", "in_hand", "unexplained"] {
        assert_eq!(ledger[key], 0, "{key}: {ended:#?}");
    }
    let not_written = count("refused_by_writer") + count("unwritten") + count("not_known_on_disk");
    assert_eq!(not_written + count("past_end"), count("taken"), "{ended:#?}");
    assert!(count("not_known_on_disk") > 0, "{ended:#?}");
}

#[test]
fn root_names_that_come_again_replace_nothing() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("same.pcapng");
    fs::write(&file, "of somebody else").unwrap();
    let recording = Recording::start(&spaces.right, &file, "--method packet-v3 -G 1 --max-loss 0");
    send(&spaces, "--rate 100 -c 250 --trial 7");
    let (ended, document) = recording.interrupt();
    assert!(ended.errors.contains("names repeat after 1s"), "{ended:#?}");
    assert_eq!(fs::read(&file).unwrap(), b"of somebody else");
    fs::remove_file(&file).unwrap();
    let names = folder.entries();
    assert!(names.len() >= 3 && names.contains(&"same-1.pcapng".into()), "{names:?}");
    let packets = names.iter().map(|name| File::read(&folder.file(name), 7, None, None).packets.len());
    assert_eq!((packets.sum::<usize>(), &document["written"]), (250, &250.into()), "{document:#}");
}

#[test]
fn root_what_a_ring_replaces_is_not_written_any_more_and_not_lost() {
    let Some((folder, spaces)) = test_bed() else { return };
    let arguments = "--method packet-v3 --file-packets 1000 -W 3 --max-loss 0";
    let recording = Recording::start(&spaces.right, &folder.file("ring.pcapng"), arguments);
    send(&spaces, "--rate 10000 -c 7500 --trial 7");
    let (_, document) = recording.interrupt();
    let names = folder.entries();
    let packets = names.iter().map(|name| File::read(&folder.file(name), 7, None, None).packets.len());
    assert_eq!((packets.sum::<usize>(), names.len()), (2500, 3), "{names:?}");
    let ledger = &document["interfaces"][0];
    for (key, count) in [("written", 2500), ("overwritten", 5000), ("in_hand", 0), ("not_yet_on_disk", 0)] {
        assert_eq!(ledger[key], count, "{key}: {document:#}");
    }
    assert_eq!(document["lost"], 0, "{document:#}");
    let reversed = names.iter().rev();
    let verified = run(HOST, capbench("verify").args(reversed).current_dir(folder.path())).success();
    let complete = "complete from packet 5,001: 2,500 of 2,500 packets in 3 files, no gap between files";
    assert!(verified.out.starts_with(complete), "{verified:#?}");
}

#[test]
fn root_a_recording_ends_with_its_last_file_of_a_size() {
    let Some((folder, spaces)) = test_bed() else { return };
    for (name, conditions, files) in [
        ("one.pcapng", "-a filesize:20", vec!["one.pcapng"]),
        ("two.pcapng", "-a filesize:20 -a files:2", vec!["two.pcapng", "two.pcapng1"]),
    ] {
        let command = capbench(&format!("record -i right --method packet-v3 --json {conditions} -w"));
        let mut recorder = Running::start(&spaces.right, { command }.arg(folder.file(name)));
        recorder.wait_for("listening on");
        send(&spaces, "--rate 10000 -c 2000 --trial 7");
        let ended = recorder.end();
        assert_eq!((ended.code, &ended.json()["end"]), (Some(0), &"files".into()), "{ended:#?}");
        let names: Vec<_> = folder.entries().into_iter().filter(|entry| entry.starts_with(name)).collect();
        assert_eq!(names, files);
        for file in files {
            let length = fs::metadata(folder.file(file)).unwrap().len();
            assert!((20_000..22_000).contains(&length), "{file}: {length} bytes");
        }
    }
}

#[test]
fn root_a_second_recorder_on_one_file_is_refused_and_the_first_one_is_named() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("one.pcapng");
    let recording = Recording::start(&spaces.right, &file, "--method packet-v3");
    let ended = refused(&spaces, &file, &[]);
    let holder = format!("process {} (capbench) writes it", recording.running.pid());
    assert!(ended.code == Some(1) && ended.errors.contains(&holder), "{ended:#?}");
    send(&spaces, "--rate 10000 -c 1000 --trial 7");
    recording.interrupt();
    assert!(File::read(&file, 7, None, None).holds_once(1000));
    assert_eq!(folder.entries(), ["one.pcapng"]);
}

#[test]
fn root_a_second_recorder_of_the_same_names_is_refused_before_it_replaces_or_removes_a_file() {
    let Some((folder, spaces)) = test_bed() else { return };
    for (name, rate, count, first, second) in [
        ("f.pcapng", 10_000, 2500, "--file-packets 500", &["--file-packets", "500"][..]),
        ("f-%s.pcapng", 100, 250, "-G 1", &["-G", "1", "--keep-files", "1"][..]),
    ] {
        let file = folder.file(name);
        let recording = Recording::start(&spaces.right, &file, &format!("--method packet-v3 {first}"));
        send(&spaces, &format!("--rate {rate} -c {count} --trial 7"));
        let ended = refused(&spaces, &file, &[second, &["--duration", "1s"]].concat());
        let holder = format!("process {} (capbench) writes it", recording.running.pid());
        assert!(ended.code == Some(1) && ended.errors.contains(&holder), "{name}: {ended:#?}");
        recording.interrupt();
        let names = folder.entries();
        let packets = names.iter().map(|name| File::read(&folder.file(name), 7, None, None).packets.len());
        assert_eq!(packets.sum::<usize>(), count, "{names:?}");
        names.iter().for_each(|name| fs::remove_file(folder.file(name)).unwrap());
    }
    // A recorder that was killed stops no other one.
    let file = folder.file("f.pcapng");
    let recording = Recording::start(&spaces.right, &file, "--method packet-v3");
    recording.running.signal("KILL");
    recording.running.end();
    assert!(folder.entries().contains(&".f.pcapng.lock".into()), "{:?}", folder.entries());
    Recording::start(&spaces.right, &file, "--method packet-v3").interrupt();
    assert_eq!(folder.entries(), ["f.pcapng"]);
}

#[test]
fn root_numbered_files_that_replace_earlier_ones_are_announced() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("f.pcapng");
    for is_again in [false, true] {
        let (ended, _) = Recording::start(&spaces.right, &file, "--method packet-v3 -C 1").interrupt();
        let says = ended.errors.contains("f.pcapng exists: new files replace those of an earlier recording");
        assert_eq!(says, is_again, "{ended:#?}");
    }
}

#[test]
fn root_the_account_of_an_earlier_recording_of_the_same_names_stays() {
    let Some((folder, spaces)) = test_bed() else { return };
    for frames in [100, 200] {
        let recording =
            Recording::start(&spaces.right, &folder.file("f.pcap"), "--method packet-v3 -G 86400");
        send(&spaces, &format!("--rate 1000 -c {frames} --trial 7"));
        recording.interrupt();
    }
    let names = ["f-1.pcap", "f-1.pcap.ledger.json", "f.pcap", "f.pcap.ledger.json"];
    assert_eq!(folder.entries(), names);
    for (name, frames) in [("f.pcap", 100), ("f-1.pcap", 200)] {
        let ledger = fs::read(folder.file(&format!("{name}.ledger.json"))).unwrap();
        let ledger: serde_json::Value = serde_json::from_slice(&ledger).unwrap();
        assert_eq!(ledger["written"], frames, "{name}: {ledger:#}");
    }
}

#[test]
fn root_links_are_not_followed_and_files_are_their_owners() {
    let Some((folder, spaces)) = test_bed() else { return };
    let (victim, link) = (folder.file("victim"), folder.file("link.pcapng"));
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let ended = refused(&spaces, &link, &[]);
    assert!(ended.code == Some(1) && ended.errors.contains("symbolic link"), "{ended:#?}");
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o7777;
    for (arguments, expected) in [("", 0o600), ("--group daemon", 0o640), ("--mode 660", 0o660)] {
        let file = folder.file("f.pcap");
        let recording = Recording::start(&spaces.right, &file, &format!("--method packet-v3 {arguments}"));
        assert_eq!(mode(&recording.part()), expected, "{arguments}");
        recording.interrupt();
        assert_eq!(mode(&file), expected, "{arguments}");
        assert_eq!(mode(&folder.file("f.pcap.ledger.json")), expected, "{arguments}");
    }
    let ended = refused(&spaces, &folder.file("f.pcapng"), &["--group", "no-such-group"]);
    assert!(ended.code == Some(2) && ended.errors.contains("no such group"), "{ended:#?}");
}

#[test]
fn root_a_pipe_that_nobody_reads_is_said_and_does_not_hold_the_recorder() {
    let Some((folder, spaces)) = test_bed() else { return };
    let pipe = folder.file("pipe");
    run(HOST, program("bash").args(["-c", "mkfifo \"$1\"", "bash"]).arg(&pipe)).success();
    let ended = refused(&spaces, &pipe, &["--duration", "100ms"]);
    assert!(ended.code == Some(1) && ended.errors.contains("nobody read "), "{ended:#?}");
    let start = || {
        let mut recorder =
            Running::start(&spaces.right, capbench("record -i right --method packet-v3 -w").arg(&pipe));
        recorder.wait_for("waiting for a reader");
        recorder
    };
    let recorder = start();
    recorder.signal("TERM");
    assert_eq!(recorder.end().code, Some(143));
    let mut recorder = start();
    let copy = folder.file("copy");
    let mut reader = program("bash");
    reader.args(["-c", "exec cat \"$1\" >\"$2\"", "bash"]);
    let reader = Running::start(HOST, reader.arg(&pipe).arg(&copy));
    recorder.wait_for("listening on");
    send(&spaces, "--rate 10000 -c 1000 --trial 7");
    recorder.signal("INT");
    recorder.end().success();
    reader.end().success();
    assert!(File::read(&copy, 7, None, None).holds_once(1000));
}
