//! `send --replay`: frames of capture files arrive byte for byte, as tcpdump records them, at the times of the file.

use std::fs;
use std::path::Path;

use capbench_record::file::{CaptureReader, Record};

use crate::support::{Running, capbench, eventually, program, run, send, test_bed};

/// The MTU of both ends, for jumbo frames.
const MTU: usize = 9000;

/// Octets of the frames of a file, and their times since the first in nanoseconds.
fn frames(file: &Path) -> Vec<(u64, Vec<u8>)> {
    let octets = fs::read(file).unwrap_or_default();
    let Ok(mut reader) = CaptureReader::new(&octets[..]) else { return Vec::new() };
    let mut frames = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        if let Record::Packet(packet) = record {
            assert_eq!(packet.data.len(), packet.original_length as usize);
            frames.push((packet.time_ns.unwrap(), packet.data.to_vec()));
        }
    }
    let first = frames.first().map_or(0, |(time, _)| *time);
    frames.into_iter().map(|(time, octets)| (time - first, octets)).collect()
}

/// A pcap file with times in nanoseconds (draft-ietf-opsawg-pcap), in either byte order.
fn pcap(frames: &[(u64, Vec<u8>)], is_big: bool) -> Vec<u8> {
    let order = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
    let words = |words: &[u32]| words.iter().flat_map(|word| order(*word)).collect::<Vec<_>>();
    let version = if is_big { 2 << 16 | 4 } else { 4 << 16 | 2 };
    let mut file = words(&[0xa1b2_3c4d, version, 0, 0, 262_144, 1]);
    for (time, octets) in frames {
        let (time, length) = (time + 1_700_000_000_000_000_000, octets.len() as u32);
        file.extend(words(&[(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, length, length]));
        file.extend_from_slice(octets);
    }
    file
}

/// A frame with these tags, of a protocol that no kernel answers; its octets differ from those of every other frame.
fn frame(number: usize, length: usize, tags: &[u16]) -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    for tpid in tags {
        octets.extend(tpid.to_be_bytes());
        octets.extend((number as u16 % 4094 + 1).to_be_bytes());
    }
    octets.extend([0x88, 0xb5]);
    octets.extend((octets.len()..length).map(|at| (at * 31 + number * 7 + number / 256) as u8));
    octets
}

/// Twenty files: each size alone and mixed, with one tag, two, and none, at several intervals, bursts among them.
fn files() -> Vec<Vec<(u64, Vec<u8>)>> {
    const SIZES: [&[usize]; 5] =
        [&[60], &[22, 64, 65], &[60, 566, 1514], &[1518, 2048, 2049, 9000], &[4096, 9014]];
    const TAGS: [&[&[u16]]; 4] =
        [&[&[]], &[&[0x8100]], &[&[0x88a8, 0x8100]], &[&[], &[0x8100], &[0x8100, 0x8100]]];
    let each = SIZES.iter().flat_map(|sizes| TAGS.iter().map(move |tags| (sizes, tags)));
    let file = |(nth, (sizes, tags)): (usize, (&&[usize], &&[&[u16]]))| {
        let frame = |number: usize| {
            let tags = tags[number / sizes.len() % tags.len()];
            let room = if tags.first() == Some(&0x8100) { 18 } else { 14 };
            let length = sizes[number % sizes.len()].min(MTU + room);
            // Every fourth is due with the one before it.
            let time =
                [0, 200_000 + nth as u64 * 1000, 300_000, 300_000][number % 4] + number as u64 / 4 * 500_000;
            (time, frame(number, length, tags))
        };
        (0..40 + nth).map(frame).collect()
    };
    each.enumerate().map(file).collect()
}

#[test]
fn root_replayed_frames_arrive_byte_for_byte_at_their_times() {
    const TRANSMIT: [&str; 4] = ["packet-tx", "sendmmsg", "sendto", "packet-tx+qdisc"];
    let Some((folder, spaces)) = test_bed() else { return };
    spaces.left.ip(&format!("link set dev left mtu {MTU}"));
    spaces.right.ip(&format!("link set dev right mtu {MTU}"));
    let (file, arrived) = (folder.file("sent.pcap"), folder.file("arrived.pcap"));
    let mut tested = 0;
    for (nth, sent) in files().into_iter().enumerate() {
        fs::write(&file, pcap(&sent, nth % 2 == 1)).unwrap();
        if nth % 3 == 2 {
            // The reader of another format, and a compressed file.
            let pcapng = folder.file("sent.pcapng");
            let convert = capbench("convert").arg(&file).arg(&pcapng).output().unwrap();
            assert!(convert.status.success(), "{convert:?}");
            fs::rename(&pcapng, &file).unwrap();
        }
        let _ = fs::remove_file(&arrived);
        let listen = "tcpdump -i right -U --time-stamp-precision=nano -B 65536 -Z root -w";
        let mut tcpdump = Running::start(&spaces.right, program(listen).arg(&arrived));
        tcpdump.wait_for("listening on right");
        let transmit = TRANSMIT[nth % TRANSMIT.len()];
        let report = send(&spaces, &format!("--replay {} --loops 2 --transmit {transmit}", file.display()));
        let count = 2 * sent.len();
        assert_eq!(
            (&report["intended"], &report["sent"]),
            (&count.into(), &count.into()),
            "file {nth}: {report}"
        );
        eventually("tcpdump has written every frame", || frames(&arrived).len() >= count);
        tcpdump.signal("INT");
        tcpdump.end().success();
        let frames = frames(&arrived);
        assert_eq!(frames.len(), count, "file {nth}");
        let (last, intervals) = (sent[sent.len() - 1].0, sent.len() as u64 - 1);
        let late = report["lateness"]["max_ns"].as_u64().unwrap();
        for (number, (time, octets)) in frames.iter().enumerate() {
            let (planned, expected) = &sent[number % sent.len()];
            assert!(octets == expected, "file {nth}, frame {number}: {octets:02x?}");
            let planned = planned + (number / sent.len()) as u64 * (last + last / intervals);
            // Both times are since the first frame, which was itself late by up to this much; the histogram is exact to 1 %.
            let allowed = late + late / 50 + 1000;
            assert!(
                time.abs_diff(planned) <= allowed,
                "file {nth}, frame {number}: {time} {planned} {allowed}"
            );
        }
        tested += 1;
    }
    assert_eq!(tested, 20);
}

#[test]
fn root_frames_left_out_are_counted_and_files_without_others_refused() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("frames.pcap");
    fs::write(
        &file,
        pcap(&[(0, frame(0, 60, &[])), (9, frame(1, 1515, &[])), (8, frame(2, 60, &[]))], false),
    )
    .unwrap();
    let replay = |flags: &str| {
        let mut command = capbench("send -i left --json --replay");
        run(&spaces.left, command.arg(&file).args(flags.split_whitespace()))
    };
    for (flags, words) in [
        ("", "frame 2 of 1515 octets, which needs an MTU of 1501"),
        ("--leave-out too-long --loops 2 -c 1 --rate max", ""),
        ("--leave-out too-long,cut-short --rate 10k", ""),
    ] {
        let ended = replay(flags);
        assert!(
            ended.errors.contains(words) && (ended.code == Some(0)) == words.is_empty(),
            "{flags}: {ended:?}"
        );
    }
    let left_out = replay("--leave-out too-long --rate max").success();
    assert!(left_out.errors.contains("frames left out: 1 too-long"), "{left_out:?}");
    let report = left_out.json();
    assert_eq!((&report["sent"], &report["replay"]["too_long"]), (&2.into(), &1.into()), "{report}");
    assert_eq!(replay("--leave-out too-long --rate max --loops 3 -c 5").success().json()["sent"], 5);
}

#[test]
fn root_neither_an_fcs_of_the_file_nor_octets_beyond_the_original_length_are_sent() {
    let Some((folder, spaces)) = test_bed() else { return };
    // The link-type word says that each packet ends with 4 octets of FCS. The third has more octets than its original length.
    let mut file =
        pcap(&[(0, frame(0, 64, &[])), (1000, frame(1, 90, &[])), (2000, frame(2, 100, &[]))], false);
    file[20..24].copy_from_slice(&0x4400_0001_u32.to_le_bytes());
    let third = file.len() - 100;
    file[third - 4..third].copy_from_slice(&64_u32.to_le_bytes());
    let (sent, arrived) = (folder.file("sent.pcap"), folder.file("arrived.pcap"));
    fs::write(&sent, &file).unwrap();
    let mut tcpdump = Running::start(&spaces.right, program("tcpdump -i right -U -Z root -w").arg(&arrived));
    tcpdump.wait_for("listening on right");
    let ended = run(&spaces.left, capbench("send -i left --json --replay").arg(&sent)).success();
    for words in ["3 frames are sent without the FCS", "1 frames have more captured octets"] {
        assert!(ended.errors.contains(words), "{words}: {}", ended.errors);
    }
    let replay = &ended.json()["replay"];
    assert_eq!((&replay["without_fcs"], &replay["longer_than_original"]), (&3.into(), &1.into()), "{replay}");
    eventually("tcpdump has written every frame", || frames(&arrived).len() >= 3);
    tcpdump.signal("INT");
    tcpdump.end().success();
    let arrived: Vec<_> = frames(&arrived).into_iter().map(|(_, octets)| octets).collect();
    let expected = [&frame(0, 64, &[])[..60], &frame(1, 90, &[])[..86], &frame(2, 100, &[])[..60]];
    assert_eq!(arrived, expected);
}

#[test]
fn root_one_command_sends_on_an_interface_at_a_time() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut first = Running::start(&spaces.left, capbench("send -i left --rate 1000 --duration 10min"));
    first.wait_for("packets/s");
    let ended = run(&spaces.left, capbench("send -i left -c 1")).ended_with(1);
    assert!(ended.errors.contains("interface left: another controller uses it"), "{ended:?}");
    // Mistakes on the command line are found before.
    let ended = run(&spaces.left, capbench("send -i left -c 1 --cpu 99999")).ended_with(2);
    assert!(ended.errors.contains("--cpu 99999"), "{ended:?}");
    run(&spaces.left, capbench("send -i left -c 1 --dry-run")).success();
    first.signal("INT");
    first.end().ended_with(130);
    run(&spaces.left, capbench("send -i left -c 1")).success();
}
