//! The account of `capbench record`: it ends where the recording ends, its numbers belong together, and it has every frame that the
//! interface received.

use std::time::Duration;

use crate::support::results_file::assert_valid_output;
use crate::support::{
    Ended, File, HOST, Namespaces, Recording, Running, Scratch, capbench, eventually, privileges, run,
    scratch_of_root, send, test_bed,
};
use serde_json::Value;

/// The methods whose counters are those of a packet socket.
const BY_SOCKET: [&str; 6] = ["packet-v1", "packet-v2", "packet-v3", "recv", "recvmmsg", "libpcap"];

/// Frames that keep coming until this is dropped.
fn traffic(spaces: &Namespaces, arguments: &str) -> Running {
    Running::start(
        &spaces.left,
        capbench("send -i left --isolated --trial 7 -c 10000000").args(arguments.split_whitespace()),
    )
}

/// Records frames that come before, while and after it does; what it says.
fn in_the_middle(spaces: &Namespaces, folder: &Scratch, arguments: &str) -> (Ended, Value) {
    let recording = Recording::start(&spaces.right, &folder.file("f.pcapng"), arguments);
    let then = spaces.right.received();
    eventually("frames are recorded", || spaces.right.received() > then + 2000);
    recording.running.signal("INT");
    let ended = recording.running.end();
    let document = ended.json();
    assert_valid_output("record", &document);
    (ended, document)
}

#[test]
fn root_what_came_until_the_entrance_was_shut_is_in_the_file_and_nothing_later_in_the_account() {
    let Some((folder, spaces)) = test_bed() else { return };
    let _traffic = traffic(&spaces, "--rate 5000");
    let mut differences = Vec::new();
    for method in ["libpcap", "libpcap+loop", "libpcap+next", "libpcap+next-ex"].iter().chain(&BY_SOCKET[..5])
    {
        let (ended, document) = in_the_middle(&spaces, &folder, &format!("--method {method} --max-loss 0"));
        assert_eq!(ended.code, Some(0), "{method}: {ended:#?}");
        let ledger = &document["interfaces"][0];
        let count = |key: &str| ledger[key].as_i64().unwrap();
        assert_eq!(
            (count("unexplained"), count("in_hand"), count("lost_by_stack")),
            (0, 0, 0),
            "{method}: {document:#}"
        );
        assert_eq!(count("accepted"), count("written"), "{method}: {document:#}");
        differences.push(count("received").abs_diff(count("accepted")));
    }
    // As many as came between two calls; 600 come in the 120 ms in which a ring is emptied.
    assert!(differences.iter().min().is_some_and(|least| *least < 100), "{differences:?}");
}

#[test]
fn root_numbers_that_a_signal_asks_for_belong_together() {
    let Some((folder, spaces)) = test_bed() else { return };
    for arguments in ["--method packet-v3", "--method recv", "--method packet-v3 --workers 2"] {
        let _traffic = traffic(&spaces, "--rate 2000");
        let mut recording = Recording::start(&spaces.right, &folder.file("f.pcapng"), arguments);
        let then = spaces.right.received();
        for number in 1..=8 {
            eventually("frames are recorded", || spaces.right.received() > then + number * 200);
            recording.running.signal("USR1");
        }
        recording.running.wait_for("\nunexplained");
        let (ended, _) = recording.interrupt();
        let asked: Vec<_> =
            ended.errors.split("capbench: ").filter(|text| text.contains(" packets captured, ")).collect();
        assert!(!asked.is_empty(), "{arguments}: {ended:#?}");
        for text in asked {
            let line = text.lines().next().unwrap();
            assert!(line.ends_with(" packets dropped by kernel"), "{arguments}: {line}");
            let row = |name: &str| -> i64 {
                let row = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                row.split_whitespace().next().unwrap().parse().unwrap()
            };
            assert!(row("unexplained") == 0 && row("in capbench") >= 0, "{arguments}: {text}");
            assert!(row("accepted") >= row("read") && row("read") >= row("written"), "{arguments}: {text}");
        }
    }
}

#[test]
fn root_frames_that_came_while_an_interface_went_up_are_lost_in_the_stack() {
    let Some(()) = privileges() else { return };
    const FLAPS: u64 = 20;
    let folder = Scratch::new();
    let mut all = 0;
    for method in BY_SOCKET {
        let spaces = Namespaces::make();
        let file = folder.file("f.pcapng");
        let recording = Recording::start(&spaces.right, &file, &format!("--method {method} --max-loss 0"));
        let sender = traffic(&spaces, "--rate 20000");
        for _ in 0..FLAPS {
            let then = spaces.right.received();
            eventually("frames come", || spaces.right.received() > then);
            spaces.right.ip("link set dev right down");
            spaces.right.ip("link set dev right up");
        }
        drop(sender);
        // The last frames are on their way for microseconds; the recorder trusts that after 50 ms in which it looked.
        std::thread::sleep(Duration::from_millis(300));
        recording.running.signal("INT");
        let ended = recording.running.end();
        let document = ended.json();
        let ledger = &document["interfaces"][0];
        let count = |key: &str| ledger[key].as_u64().unwrap();
        let (lost, missing) = (count("lost_by_stack"), count("received") - count("accepted"));
        assert_eq!(
            (count("received"), count("went_down")),
            (spaces.right.received(), FLAPS),
            "{method}: {document:#}"
        );
        assert!(lost <= missing && missing - lost <= 256, "{method}: {missing}: {document:#}");
        assert_eq!(
            (&ledger["unexplained"], count("written")),
            (&0.into(), count("accepted")),
            "{method}: {document:#}"
        );
        assert_eq!(ended.code, Some(if lost > 0 { 3 } else { 0 }), "{method}: {ended:#?}");
        let reason = format!(
            "--max-loss 0: {lost} of {} packets are lost (right: stack {lost})",
            count("accepted") + lost
        );
        assert_eq!(ended.errors.contains(&reason), lost > 0, "{method}: {ended:#?}");
        let read = File::read(&file, 7, None, None);
        assert_eq!(read.last_statistics(0).interface_dropped, Some(lost), "{method}: {document:#}");
        assert_eq!(read.dropped() + count("drops_behind_last"), lost, "{method}: {document:#}");
        let verified = run(HOST, capbench("verify --json --trial 7").arg(&file)).json();
        assert_valid_output("verify", &verified);
        assert_eq!(verified["interfaces"][0]["lost"], lost, "{method}: {verified:#}");
        all += lost;
    }
    assert!(all > 0, "no frame came while the interface went up: nothing was shown");
}

#[test]
fn root_packets_of_both_directions_with_tags_or_merged_are_no_loss() {
    let Some(folder) = scratch_of_root() else { return };
    for (name, arguments, known) in
        [("both directions", "", true), ("VLAN", "--vlan 100", true), ("GRO", "", false)]
    {
        let spaces = Namespaces::make();
        if name == "GRO" {
            spaces.right.run("ethtool", "-K right gro on");
        }
        for method in BY_SOCKET {
            let recording = Recording::start(
                &spaces.right,
                &folder.file("f.pcapng"),
                &format!("--method {method} --max-loss 0"),
            );
            let mut back = capbench("send -i right --transmit packet-tx+qdisc --rate 5000 -c 1200 --trial 8");
            let back = Running::start(&spaces.right, &mut back);
            send(&spaces, &format!("--rate 10000 -c 2000 --trial 7 {arguments}"));
            back.end().success();
            let (_, document) = recording.interrupt();
            let ledger = &document["interfaces"][0];
            let lost = if known { 0.into() } else { Value::Null };
            assert_eq!(
                (&ledger["lost_by_stack"], &ledger["written"]),
                (&lost, &3200.into()),
                "{name}, {method}: {document:#}"
            );
        }
    }
}

#[test]
fn root_an_interface_that_is_removed_is_named() {
    let Some(folder) = scratch_of_root() else { return };
    for method in BY_SOCKET {
        let spaces = Namespaces::make();
        let recording =
            Recording::start(&spaces.right, &folder.file("f.pcapng"), &format!("--method {method}"));
        send(&spaces, "--rate 10000 -c 1000 --trial 7");
        spaces.right.ip("link del dev right");
        let ended = recording.running.end();
        assert_eq!(ended.code, Some(1), "{method}: {ended:#?}");
        assert!(ended.errors.contains("capbench: right was removed"), "{method}: {ended:#?}");
        let ledger = &ended.json()["interfaces"][0];
        // libpcap reads nothing more of its ring then: what it had not read is unexplained.
        let unread = if method.starts_with("libpcap") { ledger["unexplained"].as_u64().unwrap() } else { 0 };
        assert_eq!(ledger["written"].as_u64().unwrap() + unread, 1000, "{method}: {ended:#?}");
    }
}

#[test]
fn root_on_a_loopback_interface_each_packet_is_recorded_once_and_the_note_says_so() {
    let Some((folder, spaces)) = test_bed() else { return };
    spaces.right.ip("link set lo up");
    let file = folder.file("f.pcapng");
    // Past the queueing discipline no socket sees the sent copy.
    let sending = "send -i lo --isolated --rate 1000 -c 50 --trial 7 --transmit sendto+qdisc";
    for (arguments, copies, is_said) in [("", 1, true), ("-Q inout", 2, false)] {
        let recording = Recording::start_on(&spaces.right, "-i lo", &file, arguments);
        run(&spaces.right, capbench(sending)).success();
        let (ended, _) = recording.interrupt();
        assert_eq!(ended.errors.contains("the sent copies are left out (-Q inout"), is_said, "{ended:#?}");
        let trial =
            &run(HOST, capbench("verify --json --trial 7 --frames 50").arg(&file)).json()["trials"][0];
        let seen = trial["delivered"].as_u64().unwrap() + trial["duplicates"].as_u64().unwrap();
        assert_eq!((seen, &trial["delivered"]), (50 * copies, &50.into()), "{arguments}: {trial:#}");
        let counting = format!("count -i lo --duration 10ms {arguments}");
        let counted = run(&spaces.right, capbench("").args(counting.split_whitespace())).success();
        assert_eq!(
            counted.errors.contains("the sent copies are left out (-Q inout"),
            is_said,
            "{counted:#?}"
        );
    }
}
