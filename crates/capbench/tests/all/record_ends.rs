//! Recordings that end before their time: the file can be read up to the last whole packet, by others, too.

use std::fs;

use crate::support::recording::counted_by_others;
use crate::support::{
    File, HOST, Namespaces, Recording, Running, Scratch, capbench, eventually, program, run, scratch_of_root,
    signal, test_bed,
};

/// Frames of a run.
const FRAMES: u64 = 60_000;

fn sender(spaces: &Namespaces) -> Running {
    Running::start(
        &spaces.left,
        capbench("send -i left --json --rate 30000 --size imix --trial 7").args(["-c", &FRAMES.to_string()]),
    )
}

#[test]
fn root_a_recorder_that_is_killed_while_packets_come_leaves_all_up_to_the_last_whole_one() {
    let Some(folder) = scratch_of_root() else { return };
    for (number, (method, more)) in [
        ("packet-v3", ""),
        ("packet-v2", "-U"),
        ("recvmmsg", "--direct"),
        ("libpcap", ""),
        ("packet-v3", "--format verbatim --direct --ring 16MiB --block 64KiB"),
    ]
    .into_iter()
    .enumerate()
    {
        let spaces = Namespaces::make();
        let name = folder.file(&format!("{number}.pcapng"));
        let recording = Recording::start(&spaces.right, &name, &format!("--method {method} {more}"));
        // It has its name only once it is complete.
        let mut file = recording.part();
        let sender = sender(&spaces);
        eventually("packets reach the file", || {
            recording.running.signal("USR2");
            fs::metadata(&file).is_ok_and(|file| file.len() > 1_000_000)
        });
        recording.running.signal("KILL");
        let ended = recording.running.end();
        assert_eq!(ended.signal, Some(9), "{method}: {ended:#?}");
        assert!(!name.exists(), "{method}");
        // What it would still send reaches nobody.
        drop(sender);
        let read = File::read(&file, 7, None, None);
        let found = read.packets.len() as u64;
        assert!(found > 500 && found < FRAMES, "{method}: {found} packets");
        assert!(read.sequences().into_iter().eq(0..found), "{method}: nothing is missing in between");
        let verified = run(HOST, capbench("verify --json --trial 7").arg(&file));
        assert_eq!(verified.json()["trials"][0]["delivered"], found, "{method}: {verified:#?}");
        assert_eq!(verified.code, Some(if read.ends_early { 3 } else { 0 }), "{method}: {verified:#?}");
        if more.contains("verbatim") {
            // Others read what it becomes.
            let converted = folder.file("converted.pcapng");
            let ended = run(HOST, capbench("convert").args([&file, &converted]));
            assert_eq!(ended.code, Some(i32::from(read.ends_early)), "{ended:#?}");
            file = converted;
        }
        // What programs of others say of a record that was cut is theirs; they read what is before it.
        let by_tshark = run(
            HOST,
            program("tshark -n -T fields -e frame.number -r")
                .arg(&file)
                .env("WIRESHARK_CONFIG_DIR", "/nonexistent"),
        );
        assert_eq!(by_tshark.out.lines().count() as u64, found, "{method}: {}", by_tshark.errors);
        let by_capinfos = run(HOST, program("capinfos -c -M -T -r").arg(&file));
        assert!(by_capinfos.out.trim().ends_with(&format!("\t{found}")), "{method}: {by_capinfos:#?}");
    }
}

#[test]
fn root_a_reader_that_leaves_ends_it_with_an_account_of_what_it_did_not_take() {
    let Some((folder, spaces)) = test_bed() else { return };
    let copy = folder.file("copy.pcapng");
    let mut command = program("bash");
    let script = "\"$1\" record -i right -w - --method packet-v3 --json | head -c 500000 >\"$2\"; \
                  exit ${PIPESTATUS[0]}";
    command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_capbench")]).arg(&copy);
    let mut recorder = Running::start(&spaces.right, &mut command);
    recorder.wait_for("listening on");
    let sender = sender(&spaces);
    let ended = recorder.end();
    sender.end().success();
    assert_eq!(ended.code, Some(141), "{ended:#?}");
    let document = ended.errors.find("\n{").map(|at| &ended.errors[at..]);
    let document: serde_json::Value = serde_json::from_str(document.unwrap()).unwrap();
    assert_eq!(document["end"], "reader_gone", "{document:#}");
    let read = File::read(&copy, 7, None, None);
    let found = read.packets.len() as u64;
    assert!(
        found > 0 && read.ends_early && read.sequences().into_iter().eq(0..found),
        "{found}: {document:#}"
    );
    let ledger = &document["interfaces"][0];
    // What stood in the pipe was written, and read by nobody.
    let count = |key: &str| ledger[key].as_u64().unwrap();
    assert!(count("written") >= found && count("unwritten") > 0, "{found}: {document:#}");
    assert_eq!((count("unexplained"), count("in_hand")), (0, 0), "{document:#}");
    let lost = count("unwritten") + count("refused_by_writer");
    assert_eq!(count("taken"), count("written") + lost + count("past_end"), "{document:#}");
}

#[test]
fn root_nobody_who_reads_what_is_said_is_no_end() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("f.pcap");
    let mut command = program("bash");
    // Tests may run below nohup(1), which a recorder would heed.
    let script = "exec 3>\"$3\"; exec env --default-signal=HUP \
                  \"$1\" record -i right -w \"$2\" --format pcap --method packet-v3 2> >(head -n 1 >&3)";
    command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_capbench")]).arg(&file).arg(folder.file("said"));
    let mut recorder = spaces.right.spawn(&mut command);
    let said = || fs::read_to_string(folder.file("said")).unwrap_or_default();
    eventually("it listens, and whoever read that has left", || said().contains("listening on"));
    let send = |frames: &str| {
        let mut send = capbench(&format!("send -i left --rate 10000 --trial 7 -c {frames}"));
        run(&spaces.left, &mut send).success();
    };
    send("1000");
    signal(recorder.id(), "USR1");
    send("2000");
    signal(recorder.id(), "HUP");
    eventually("it ends", || recorder.try_wait().unwrap().is_some());
    let side = fs::read_to_string(folder.file("f.pcap.ledger.json")).unwrap();
    let side: serde_json::Value = serde_json::from_str(&side).unwrap();
    assert_eq!(side["interfaces"][0]["unexplained"], 0, "{side:#}");
    assert_eq!((&side["written"], counted_by_others(&file)), (&3000.into(), [3000; 2]), "{side:#}");
}

#[test]
fn root_files_that_end_at_any_boundary_are_whole_and_together_all() {
    let Some((_, spaces)) = test_bed() else { return };
    for (rotation, least) in [
        ("-C 16KiB --immediate-mode", 30),
        ("-C 200KiB", 3),
        ("--file-packets 50", 40),
        ("--file-packets 1999", 2),
        ("--file-packets 2000", 1),
        ("-G 1", 2),
        ("-C 100KiB --file-packets 700 -G 1", 4),
    ] {
        let folder = Scratch::new();
        // Files of different seconds have different names, and those of one second numbers.
        // With seconds it has to send for longer than one.
        let (name, rate) = if rotation.contains("-G") { ("%s.pcapng", 1700) } else { ("f.pcapng", 10_000) };
        // The ring has room for the whole run: on a busy host the recorder may be late.
        let arguments = format!("--method packet-v3 --ring 64MiB --block 64KiB {rotation}");
        let recording = Recording::start(&spaces.right, &folder.file(name), &arguments);
        run(
            &spaces.left,
            capbench(&format!("send -i left --json --rate {rate} --size imix --trial 7 -c 2000")),
        )
        .success();
        let (_, document) = recording.interrupt();
        let mut names = folder.entries();
        // By second, then by number.
        names.sort_by_key(|name| {
            let (stem, number) = name.split_once(".pcapng").unwrap();
            (stem.parse::<u64>().unwrap_or(0), number.parse::<u64>().unwrap_or(0))
        });
        assert!(names.len() >= least, "{rotation}: {} files", names.len());
        assert_eq!(document["files"], names.len(), "{rotation}: {document:#}");
        let verified = run(
            HOST,
            capbench("verify --json --trial 7 --frames 2000").args(&names).current_dir(folder.path()),
        )
        .success()
        .json();
        assert_eq!((&verified["right"], &verified["packets"]), (&true.into(), &2000.into()), "{rotation}");
        // Without stamps, in the other order, and without a file in the middle.
        let is_complete = |names: Vec<&String>| {
            let ended = run(HOST, capbench("verify --json").args(names).current_dir(folder.path()));
            (ended.code, ended.json()["recording"]["completeness"].clone())
        };
        assert_eq!(is_complete(names.iter().rev().collect()), (Some(0), "complete".into()), "{rotation}");
        if names.len() > 2 {
            let others = names.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, name)| name);
            assert_eq!(is_complete(others.collect()), (Some(3), "incomplete".into()), "{rotation}");
        }
        let last = File::read(&folder.file(names.last().unwrap()), 7, None, None);
        assert_eq!(last.last_statistics(0).accepted, Some(2000), "{rotation}");
        // The last, and one that ends before it.
        for name in names.iter().rev().step_by(names.len().div_ceil(2)) {
            let file = File::read(&folder.file(name), 7, None, None);
            let packets = file.packets.len() as u64;
            assert_eq!(
                file.last_statistics(0).end_ns.is_some(),
                Some(name) == names.last(),
                "{rotation}: {name}"
            );
            assert_eq!(counted_by_others(&folder.file(name)), [packets; 2], "{rotation}: {name}");
        }
    }
}
