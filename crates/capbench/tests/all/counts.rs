//! Programs that capbench's authors did not write count what it sends, and it counts what they send: to the frame.
//!
//! Counts end with a frame of another length, sent when everything else has been: what was lost before it would leave
//! the count waiting, what was too much would show in its octets.

use std::fs;
use std::path::Path;

use crate::support::results_file::assert_valid_output;
use crate::support::why::number_before;
use crate::support::{
    HOST, Namespaces, Running, Scratch, capbench, eventually, privileges, program, run, scratch_of_root,
    send, test_bed,
};
use capbench_testing::{HostLimit, cannot_have};
use serde_json::Value;

/// Frames of a run.
const FRAMES: u64 = 20_000;
/// Frames of a run in which six captures receive what a program sends that catches up in a burst when it was stopped.
const FRAMES_OF_SIX_CAPTURES: u64 = 5_000;
/// Memory that holds every frame of a run, however long a busy host keeps the receiver from its CPU.
const WHOLE_RUN: &str = "--ring=64MiB";
/// A rate that any host holds, also while it compiles something.
const RATE: &str = "50000";
const METHODS: [&str; 6] = ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3", "libpcap"];
const TRANSMIT: [&str; 5] = ["sendto", "sendmmsg", "packet-tx", "af-xdp-tx", "packet-tx+threads=2"];

/// Lengths of the frames in a pcap file (draft-ietf-opsawg-pcap), as far as they are written.
fn recorded(file: &Path) -> Vec<u32> {
    let bytes = fs::read(file).unwrap_or_default();
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().unwrap()));
    let (mut lengths, mut at) = (Vec::new(), 24);
    while let (Some(captured), Some(length)) = (word(at + 8), word(at + 12)) {
        at += 16 + captured as usize;
        if at > bytes.len() {
            break;
        }
        lengths.push(length);
    }
    lengths
}

/// A pcap file with frames of these lengths, for another host and of a protocol that none speaks.
fn recording(lengths: impl Iterator<Item = u32>) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut bytes = words(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, 1]);
    for (number, length) in lengths.enumerate() {
        bytes.extend(words(&[0, number as u32, length, length]));
        let mut frame = vec![number as u8; length as usize];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5]);
        bytes.extend(frame);
    }
    bytes
}

/// The number in front of, or behind, some words of a program's output.
fn number_behind(text: &str, words: &str) -> u64 {
    let found = text.split(words).nth(1).unwrap_or_else(|| panic!("{words}: {text}"));
    found.split_whitespace().next().unwrap().parse().unwrap()
}

/// What tcpdump records at the right end while `send` sends `frames` frames at the left one.
fn tcpdump_records(spaces: &Namespaces, frames: u64, send: impl FnOnce()) -> Vec<u32> {
    let folder = Scratch::new();
    let file = folder.file("frames.pcap");
    let mut tcpdump =
        Running::start(&spaces.right, program("tcpdump -i right -U -B 65536 -Z root -w").arg(&file));
    tcpdump.wait_for("listening on right");
    send();
    eventually("tcpdump has written every frame", || recorded(&file).len() as u64 >= frames);
    tcpdump.signal("INT");
    let ended = tcpdump.end().success();
    assert_eq!(number_before(&ended.errors, "packets captured"), frames, "{ended:#?}");
    assert_eq!(number_before(&ended.errors, "packets received by filter"), frames, "{ended:#?}");
    assert_eq!(number_before(&ended.errors, "packets dropped by kernel"), 0, "{ended:#?}");

    let ended = run(HOST, program("tracestats").arg(format!("pcapfile:{}", file.display()))).success();
    assert_eq!(number_behind(&ended.errors, "Accepted Packets:"), frames, "tracestats: {ended:#?}");
    assert_eq!(number_behind(&ended.out, "Total:"), frames, "tracestats: {ended:#?}");
    recorded(&file)
}

#[test]
fn root_tcpdump_and_tracestats_count_what_send_sent() {
    let Some(()) = privileges() else { return };
    for transmit in TRANSMIT {
        for size in ["64", "imix"] {
            let spaces = Namespaces::make();
            let what = format!("--size {size} --transmit {transmit} --rate {RATE} -c {FRAMES}");
            let mut report = Value::Null;
            let lengths = tcpdump_records(&spaces, FRAMES, || report = send(&spaces, &what));
            assert_eq!((&report["sent"], &report["unsent"]), (&FRAMES.into(), &0.into()), "{what}: {report}");
            assert_eq!((spaces.left.sent(), spaces.right.received()), (FRAMES, FRAMES), "{what}");
            // Reports count the 4 octets of FCS that tcpdump does not see.
            let octets: u64 = lengths.iter().map(|&length| u64::from(length) + 4).sum();
            assert_eq!(report["octets"], octets, "{what}: {report}");
            let sizes = |length: u32| lengths.iter().filter(|&&found| found == length).count() as u64;
            // Simple IMIX: seven of 64, four of 570, one of 1518 in each twelve.
            let expected =
                if size == "64" { [FRAMES, 0, 0] } else { [7, 4, 1].map(|share| FRAMES * share / 12) };
            for (length, expected) in [60, 566, 1514].into_iter().zip(expected) {
                assert!(sizes(length).abs_diff(expected) <= 7, "{what}: {} of {length}", sizes(length));
            }
        }
    }
}

#[test]
fn root_the_packets_of_2004_are_58_octets_long() {
    let Some((_, spaces)) = test_bed() else { return };
    let lengths = tcpdump_records(&spaces, 1000, || {
        let report = send(&spaces, "--dain-2004 --wait-loop 1000 -c 1000");
        assert_eq!(report["sent"], 1000, "{report}");
    });
    assert!(lengths.iter().all(|&length| length == 58), "{lengths:?}");
}

/// Counts at the right end with every method at once, while `send` sends at the left one.
fn counted_by_all(frames: u64, octets: u64, send_frames: impl FnOnce(&Namespaces)) {
    let spaces = Namespaces::make();
    let last = 1514;
    let counts: Vec<_> = METHODS
        .iter()
        .map(|method| {
            let mut count = Running::start(
                &spaces.right,
                capbench("").args([
                    "count",
                    "-i",
                    "right",
                    "--json",
                    WHOLE_RUN,
                    "--method",
                    method,
                    "-c",
                    &(frames + 1).to_string(),
                ]),
            );
            count.wait_for(&format!("{method} on right"));
            count
        })
        .collect();
    send_frames(&spaces);
    send(&spaces, "--size 1518 -c 1");
    for (method, count) in METHODS.iter().zip(counts) {
        let ended = count.end().success();
        let total: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
        let expected =
            [("packets", frames + 1), ("accepted", frames + 1), ("octets", octets + last), ("dropped", 0)];
        for (key, expected) in expected {
            assert_eq!(total[key], expected, "{method}: {key}: {ended:#?}");
        }
        let lines = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.clone().for_each(|line| assert_valid_output("count", &line));
        let each_second: u64 =
            lines.filter(|line| line["total"] != true).map(|line| line["packets"].as_u64().unwrap()).sum();
        assert_eq!(each_second, frames + 1, "{method}: the lines of each second: {ended:#?}");
    }
}

#[test]
fn root_count_counts_what_trafgen_sent() {
    let Some(folder) = scratch_of_root() else { return };
    let packet = folder.file("packet.cfg");
    fs::write(&packet, "{ 2,0,0,0,0,9, 2,0,0,0,0,8, 0x88,0xb5, fill(0xaa, 86) }\n").unwrap();
    counted_by_all(FRAMES_OF_SIX_CAPTURES, FRAMES_OF_SIX_CAPTURES * 100, |spaces| {
        let mut trafgen = program("trafgen");
        // No settings of the host: neither socket memory nor interrupts.
        trafgen.args([
            "--no-sock-mem",
            "--notouch-irq",
            "--cpus",
            "1",
            "--num",
            &FRAMES_OF_SIX_CAPTURES.to_string(),
        ]);
        trafgen.args(["--rate", &format!("{RATE}pps"), "--dev", "left", "--conf"]).arg(&packet);
        let ended = run(&spaces.left, &mut trafgen).success();
        let said = format!("{}{}", ended.out, ended.errors);
        assert_eq!(number_before(&said, "packets outgoing"), FRAMES_OF_SIX_CAPTURES, "{ended:#?}");
    });
}

#[test]
fn root_count_counts_what_tcpreplay_sent() {
    let Some(folder) = scratch_of_root() else { return };
    let file = folder.file("frames.pcap");
    let lengths = || (0..FRAMES_OF_SIX_CAPTURES as u32).map(|number| 60 + number * 37 % 1455);
    fs::write(&file, recording(lengths())).unwrap();
    assert!(recorded(&file).into_iter().eq(lengths()));
    counted_by_all(FRAMES_OF_SIX_CAPTURES, lengths().map(u64::from).sum(), |spaces| {
        let ended =
            run(&spaces.left, program("tcpreplay").args(["-i", "left", "--pps", RATE]).arg(&file)).success();
        assert_eq!(number_behind(&ended.out, "Actual:"), FRAMES_OF_SIX_CAPTURES, "{ended:#?}");
        assert_eq!(number_behind(&ended.out, "Failed packets:"), 0, "{ended:#?}");
    });
}

/// Counts and verifies at the right end what two sends of different trials send at the left one.
fn verified(method: &str, transmit: &str, headers: &str, capture: &str) {
    let spaces = Namespaces::make();
    let what = format!("{method}, {transmit}, {headers} {capture}");
    let mut count = Running::start(
        &spaces.right,
        capbench(&format!("count -i right --json --verify 7 --method {method}"))
            .args([WHOLE_RUN, "-c", &(FRAMES + 3).to_string()])
            .args(headers.split_whitespace())
            .args(capture.split_whitespace()),
    );
    count.wait_for(&format!("{method} on right"));
    let sending = format!("{headers} --transmit {transmit} --rate {RATE} --size random:100-1518");
    let sent = send(&spaces, &format!("{sending} -c {FRAMES} --trial 7"));
    assert_eq!((&sent["sent"], &sent["in_flight"]), (&FRAMES.into(), &0.into()), "{what}: {sent}");
    // As long as others, and of the same kind: only the trial in the stamp tells them from the rest.
    send(&spaces, &format!("{sending} -c 3 --trial 8"));
    let ended = count.end().success();
    let total: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&total["packets"], &total["dropped"]),
        (&(FRAMES + 3).into(), &0.into()),
        "{what}: {ended:#?}"
    );
    assert_valid_output("count", &total);
    let seen = &total["verified"];
    let others = serde_json::json!([{ "trial": 8, "frames": 3 }]);
    assert_eq!(
        (&seen["lost"], &seen["of"], &seen["of_other_trials"]),
        (&0.into(), &FRAMES.into(), &others),
        "{what}"
    );
    assert_eq!((&seen["delivered"], &seen["foreign"]), (&FRAMES.into(), &3.into()), "{what}: {ended:#?}");
    for key in ["duplicates", "reordered", "truncated", "corrupt"] {
        assert_eq!(seen[key], 0, "{what}: {key}: {ended:#?}");
    }
}

#[test]
fn root_count_verifies_what_send_sent() {
    let Some(()) = privileges() else { return };
    let headers = ["", "--tcp --flows 100", "--ipv6", "--ipv6 --tcp --flows 7"];
    let tags = ["", " --vlan 0", " --vlan 4094"];
    let all = headers.iter().flat_map(|headers| tags.iter().map(move |tag| format!("{headers}{tag}")));
    for (number, headers) in all.enumerate() {
        let capture = ["", "-s 96", "-s 1000 -p"][number / 2 % 3];
        verified(METHODS[number % METHODS.len()], TRANSMIT[number % TRANSMIT.len()], &headers, capture);
    }
}

#[test]
fn root_frames_of_others_and_damaged_ones_are_told_apart() {
    let Some((folder, spaces)) = test_bed() else { return };
    // Frames of send, recorded; some of them damaged, repeated and turned round; then replayed.
    let recording = folder.file("frames.pcap");
    let mut tcpdump =
        Running::start(&spaces.right, program("tcpdump -i right -U -Z root -w").arg(&recording));
    tcpdump.wait_for("listening on right");
    send(&spaces, "--size 100 -c 10 --rate 1000 --trial 7");
    eventually("tcpdump has written every frame", || recorded(&recording).len() == 10);
    tcpdump.signal("INT");
    tcpdump.end().success();
    let bytes = fs::read(&recording).unwrap();
    let mut frames: Vec<Vec<u8>> = bytes[24..].chunks(16 + 96).map(<[u8]>::to_vec).collect();
    // The octet before the last of frame 3: payload. A duplicate of frame 4. Frames 8 and 9 turned round.
    frames[3][16 + 94] ^= 1;
    frames.push(frames[4].clone());
    frames.swap(8, 9);
    fs::write(&recording, [bytes[..24].to_vec(), frames.concat()].concat()).unwrap();

    for method in METHODS {
        let mut count = Running::start(
            &spaces.right,
            capbench(&format!("count -i right --verify 7 --method {method} -c 12")),
        );
        count.wait_for(&format!("{method} on right"));
        run(&spaces.left, program("tcpreplay").args(["-i", "left", "--pps", "1000"]).arg(&recording))
            .success();
        send(&spaces, "--size 100 -c 1 --trial 9");
        let ended = count.end().success();
        let expected =
            "verified: 9 delivered once, 1 duplicate, 1 reordered, 1 foreign, 0 cut short, 1 damaged\n";
        assert!(ended.out.contains(expected), "{method}: {ended:#?}");
        for line in ["12 packets captured", "12 packets received by filter", "0 packets dropped by kernel"] {
            assert!(ended.out.contains(line), "{method}: {line}: {ended:#?}");
        }
    }
}

#[test]
fn root_count_takes_filters_and_counts_each_one_exactly() {
    let Some((_, spaces)) = test_bed() else { return };
    // Without metadata of removed tags, a filter cannot ask for them.
    let (tagged, long) = (("vlan 7", [20, 20]), ("greater 190", [30, 40]));
    for (method, (third, of_third)) in
        [("recv", tagged), ("packet-v2", tagged), ("packet-v3", tagged), ("libpcap", long), ("af-xdp", long)]
    {
        let mut count =
            Running::start(
                &spaces.right,
                capbench(&format!("count -i right --json --method {method} -c 110 --each udp --each"))
                    .args(["ip6 or udp", "--each", third, "less 1000"]),
            );
        count.wait_for(&format!("{method} on right"));
        // The filter of all leaves out the first ten.
        let frames = [
            "-c 10 --size 1200",
            "-c 40",
            "-c 30 --ipv6 --tcp --size 200",
            "-c 20 --tcp --vlan 7 --size 100",
            "-c 20 --tcp",
        ];
        for frames in frames {
            send(&spaces, frames);
        }
        let ended = count.end().success();
        let total: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
        assert_valid_output("count", &total);
        let packets = |place: usize| &total["each"][place]["packets"];
        assert_eq!(total["packets"], 110, "{method}: {ended:#?}");
        assert_eq!(
            [packets(0), packets(1), packets(2), packets(3)],
            [40, 70, of_third[0], of_third[1]],
            "{method}: {total}"
        );
        assert_eq!(total["each"][0]["octets"], 40 * 60, "{method}: {total}");
        let left_out = if method == "af-xdp" { 10.into() } else { Value::Null };
        assert_eq!(total["left_out_by_filter"], left_out, "{method}: {total}");
    }
}

#[test]
fn root_count_says_how_many_of_a_trial_were_lost_and_which_trial_came_instead() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut count = Running::start(&spaces.right, capbench("count -i right --verify 7 --frames 50 -c 45"));
    count.wait_for("packet-v3 on right");
    send(&spaces, "--trial 7 -c 40");
    send(&spaces, "--trial 9 -c 5");
    let out = count.end().success().out;
    for line in ["lost 10 of 50 (20 %)\n", "5 foreign frames are of trial 9 (--verify 9)\n", "2700 bytes"] {
        assert!(out.contains(line), "{line}: {out}");
    }
}

#[test]
fn root_send_prints_a_line_a_second_and_keeps_a_rate_in_bits() {
    let Some((_, spaces)) = test_bed() else { return };
    let command = "send -i left --rate 512kbit/s -c 2500";
    let out = run(&spaces.left, &mut capbench(command)).success().out;
    let lines: Vec<_> = out.lines().filter(|line| line.contains(" s  ")).collect();
    assert!(lines.len() >= 2, "{out}");
    assert!(lines.iter().all(|line| line.contains("kbit/s L2")), "{out}");
    assert!(out.contains("2500 intended, 0 unsent"), "{out}");
}

#[test]
fn root_a_send_whose_frames_stay_in_the_ring_is_inconclusive() {
    let Some((_, spaces)) = test_bed() else { return };
    // Some frames pass at once, the next one after most of a minute.
    let shaper = "tc qdisc add dev left root tbf rate 8bit burst 1600 limit 1000000";
    if run(&spaces.left, program(shaper)).code != Some(0) {
        return cannot_have(HostLimit::Kernel, "it has no sch_tbf, or tc is missing");
    }
    let sending = "send -i left --json --transmit packet-tx+qdisc --rate 10000 -c 100";
    let report = run(&spaces.left, capbench(sending)).ended_with(4).json();
    assert_eq!((&report["sent"], &report["unsent"]), (&100.into(), &0.into()), "{report:#}");
    assert!(report["in_flight"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn root_a_count_that_is_interrupted_prints_its_totals() {
    let Some((_, spaces)) = test_bed() else { return };
    for (limit, code) in [("", 0), ("-c 1000", 130), ("--duration 1h", 130)] {
        let mut count = Running::start(
            &spaces.right,
            capbench("count -i right --method recv").args(limit.split_whitespace()),
        );
        count.wait_for("recv on right");
        send(&spaces, "-c 10");
        // The line of the first second.
        count.wait_for("10 packets");
        count.signal("INT");
        let ended = count.end();
        assert_eq!(ended.code, Some(code), "{limit}: {ended:#?}");
        assert!(
            ended.out.contains("10 packets captured\n10 packets received by filter"),
            "{limit}: {ended:#?}"
        );
    }
}
