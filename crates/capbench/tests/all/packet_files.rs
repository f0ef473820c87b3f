//! `send --packet`: flows of a file arrive as configured, as tshark dissects them, and their counts are those of the wire.

use std::fs;
use std::path::Path;

use capbench_frames::{Stamp, TrailerReader, TrialId};
use capbench_record::file::{CaptureReader, Record};
use capbench_testing::stacks::{Draw, RandomStack, as_toml, differences, dissected};

use crate::support::{HOST, Running, capbench, eventually, program, run, send, test_bed};

/// The stamp and the length of each frame of a file.
fn stamps(file: &Path) -> Vec<(Stamp, usize)> {
    let octets = fs::read(file).unwrap_or_default();
    let Ok(mut reader) = CaptureReader::new(&octets[..]) else { return Vec::new() };
    let (trailers, mut stamps) = (TrailerReader::new(TrialId(1)), Vec::new());
    while let Ok(Some(record)) = reader.next_record() {
        if let Record::Packet(packet) = record {
            let stamp = trailers.read(packet.data).expect("every frame has a trailer of the trial");
            stamps.push((stamp, packet.data.len()));
        }
    }
    stamps
}

#[test]
fn root_flows_arrive_as_configured_and_counts_are_exact() {
    const COUNTS: [u64; 4] = [301, 200, 77, 1];
    let Some((folder, spaces)) = test_bed() else { return };
    let (file, arrived) = (folder.file("flows.toml"), folder.file("arrived.pcap"));
    let seed = 24;
    println!("seed {seed}");
    let mut draw = Draw(seed);
    let mut on_the_wire = 0;
    for (transmit, rate) in [
        ("packet-tx", "50k"),
        ("packet-tx", "max"),
        ("sendmmsg", "50k"),
        ("sendto", "20k"),
        ("af-xdp-tx", "50k"),
        ("af-xdp-tx", "max"),
        ("packet-tx+threads=2", "20k"),
    ] {
        let stacks = COUNTS.map(|count| (count, RandomStack::draw(&mut draw)));
        let flow = |(count, stack): &(u64, RandomStack)| {
            let least = stack.octets + 50;
            let sizes = format!("size = \"{least}-{}/7\"", least + 60);
            format!(
                "[[flow]]\n{sizes}\ncount = {count}\nrate = \"{rate}\"\nheader = {}\n",
                as_toml(&stack.headers)
            )
        };
        fs::write(&file, stacks.iter().map(flow).collect::<String>()).unwrap();
        let _ = fs::remove_file(&arrived);
        let listen = "tcpdump -i right -U -B 65536 -Z root -w";
        let mut tcpdump = Running::start(&spaces.right, program(listen).arg(&arrived));
        tcpdump.wait_for("listening on right");
        let report = send(&spaces, &format!("--packet {} --transmit {transmit}", file.display()));
        let sum: u64 = COUNTS.iter().sum();
        eventually("tcpdump has written every frame", || stamps(&arrived).len() as u64 >= sum);
        tcpdump.signal("INT");
        tcpdump.end().success();
        on_the_wire += sum;
        assert_eq!(
            (&report["sent"], &report["intended"]),
            (&sum.into(), &sum.into()),
            "{transmit}: {report}"
        );
        assert_eq!(spaces.left.sent(), on_the_wire, "{transmit}");
        let (stamps, shown) = (stamps(&arrived), dissected(&arrived));
        assert_eq!((stamps.len() as u64, shown.len() as u64), (sum, sum), "{transmit}");
        let mut counts = [(0, 0); COUNTS.len()];
        for ((stamp, length), shown) in stamps.iter().zip(&shown) {
            let flow = usize::from(stamp.stream.0);
            assert_eq!(stamp.sequence, counts[flow].0, "{transmit}: flow {flow}");
            counts[flow] = (counts[flow].0 + 1, counts[flow].1 + *length as u64 + 4);
            let expected = stacks[flow].1.expected(stamp.sequence as usize, *length);
            let wrong = differences(shown, &expected);
            assert!(wrong.is_empty(), "{transmit}: seed {seed}, {}: {wrong:#?}", stacks[flow].1.headers);
        }
        for (flow, (count, octets)) in counts.into_iter().enumerate() {
            let document = &report["flows"][flow];
            let said = ["intended", "sent", "octets"].map(|name| document[name].as_u64().unwrap());
            assert_eq!(said, [COUNTS[flow], count, octets], "{transmit}: {document}");
        }
    }
}

/// A phase that ends early says for each flow what was not sent.
#[test]
fn root_an_early_end_leaves_the_rest_of_each_flow_unsent() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("flows.toml");
    let flow = |rate: u32| {
        format!(
            "[[flow]]\nrate = {rate}\ncount = 1000000\nheader = [{{}}, {{ ipv4 = {{}} }}, {{ udp = {{}} }}]\n"
        )
    };
    fs::write(&file, flow(2000) + &flow(1000)).unwrap();
    let mut command = capbench("send -i left --json --duration 100ms --packet");
    // A busy host may keep the sender from sending all that is planned; then the exit code says so.
    let report = run(&spaces.left, command.arg(&file)).json();
    let of = |flow: usize, name: &str| report["flows"][flow][name].as_u64().unwrap();
    assert_eq!((of(0, "intended"), of(1, "intended")), (200, 100), "{report}");
    let sent = of(0, "sent") + of(1, "sent");
    assert_eq!((&report["sent"], &report["intended"]), (&sent.into(), &300.into()), "{report}");
    assert_eq!(spaces.left.sent(), sent);
}

#[test]
fn plans_and_refusals_of_packet_files() {
    let folder = capbench_testing::Scratch::new();
    let file = folder.file("flows.toml");
    let plan = |text: &str, flags: &str| {
        fs::write(&file, text).unwrap();
        let mut command = capbench("send -i lo --isolated --dry-run --packet");
        run(HOST, command.arg(&file).args(flags.split_whitespace()))
    };
    let headers = "header = [{}, { ipv4 = {} }, { udp = {} }]";
    let planned = plan(headers, "--size 128 --rate 250k --count 9").success().out;
    assert_eq!(planned, "flow 1: ethernet/ipv4/udp, 128 bytes, 250,000 packets/s for 9 frames\n");
    let two =
        format!("[[flow]]\nname = \"a\"\n{headers}\n[[flow]]\nsize = \"imix\"\ntrailer = false\n{headers}");
    let planned = plan(&two, "--duration 2s").success().out;
    assert_eq!(
        planned,
        "flow a: ethernet/ipv4/udp, 64 bytes, unpaced\nflow 2: ethernet/ipv4/udp, imix, unpaced\n"
    );
    for (text, flags, words) in [
        (headers, "", &["flow 1 has no end", "--count", "--duration"][..]),
        (&two, "--duration 1s --threads 3", &["--threads 3", "2 flows"]),
        ("header = [{}, { ipv4 = { src = \"1.1.1\" } }]", "-c 1", &["header[1].ipv4.src: \"1.1.1\""]),
        ("header = 7", "-c 1", &["header: must be a list of headers"]),
        ("x =", "-c 1", &["flows.toml: line 1: "]),
        (headers, "-c 1 --size 63", &["--size", "63"]),
    ] {
        let refused = plan(text, flags);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(words.iter().all(|word| refused.errors.contains(word)), "{words:?}: {refused:?}");
    }
}
