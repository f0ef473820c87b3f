//! The server as scripts see it, on veth pairs: plain HTTP requests, and every answer held against the model.

mod account;
mod lab;
mod model;
mod random_requests;

use std::time::{Duration, Instant};

use capbench_record::file::{CaptureReader, Record};
use capbench_testing::http::{Answer, ask};
use capbench_testing::network::{eventually, program};
use serde_json::{Value, json};

use crate::account::Account;
use crate::lab::{CLIENT, Lab, connect_from, flow, ports};
use crate::model::assert_answer;

/// Octets and original length of each frame of a capture file.
fn frames(file: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let mut reader = CaptureReader::new(file).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        if let Record::Packet(packet) = record {
            frames.push((packet.data.to_vec(), packet.original_length));
        }
    }
    frames
}

#[test]
fn root_a_flow_is_sent_counted_and_captured() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    let mut config = json!({
        "ports": ports(&["a0", "b0"]),
        "layer1": [{"name": "ly", "port_names": ["p-a0", "p-b0"], "speed": "speed_1_gbps", "mtu": 1500, "promiscuous": true}],
        "captures": [{"name": "ca", "port_names": ["p-a0", "p-b0"], "format": "pcap", "overwrite": true}],
        "flows": [flow("f", "p-a0", &["p-b0"], 100, 2000)],
    });
    for format in ["pcap", "pcapng"] {
        config["captures"][0]["format"] = format.into();
        let warnings = lab.done("POST", "/config", &config);
        assert!(warnings["warnings"][0].as_str().unwrap().contains("a0 has no speed;"), "{warnings}");
        let got = lab.done("GET", "/config", &Value::Null);
        assert_eq!((&got["flows"][0]["rate"]["pps"], &got["captures"]), (&json!(2000), &config["captures"]));
        lab.capture("start");
        lab.transmit("start", &[]);
        let row = &lab.wait_until_stopped()[0];
        assert_eq!((&row["frames_tx"], &row["frames_rx"]), (&json!(100), &json!(100)), "{row}");
        assert_eq!((&row["bytes_tx"], &row["bytes_rx"]), (&json!(12_800), &json!(12_800)), "{row}");
        assert_eq!(
            (&row["port_tx"], &row["port_rx"], &row["loss"]),
            (&json!("p-a0"), &json!("p-b0"), &json!(0.0))
        );
        let [first, last] =
            ["first_timestamp_ns", "last_timestamp_ns"].map(|name| row["timestamps"][name].as_f64().unwrap());
        // 100 frames, 500 µs apart, less what the first one was late.
        assert!(last > first && first > 1.7e18, "{row}");
        let [least, mean, most] =
            ["minimum_ns", "average_ns", "maximum_ns"].map(|name| row["latency"][name].as_f64().unwrap());
        assert!(0.0 < least && least <= mean && mean <= most && most < 120e9, "{row}");
        lab.capture("stop");
        let file = lab.captured(&json!({"port_name": "p-b0"}));
        assert_eq!(
            &file[..4],
            if format == "pcap" { &[0x4d, 0x3c, 0xb2, 0xa1] } else { &[0x0a, 0x0d, 0x0d, 0x0a] }
        );
        let frames = frames(&file);
        assert_eq!(frames.len(), 100);
        for (number, (octets, length)) in frames.iter().enumerate() {
            assert_eq!((octets.len(), *length), (128, 128));
            assert_eq!(crc32(&octets[..124]).to_le_bytes(), octets[124..]);
            let port = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
            assert_eq!(port(34), [5000, 5010, 5020][number % 3]);
            assert_eq!(port(36), 6000 + 2 * (number % 5) as u16);
            assert_eq!(port(16), 128 - 14 - 4);
        }
        assert_eq!(dissected(&lab, &file), expected_by_tshark(), "{format}");
        let slice = json!({"port_name": "p-b0", "packets": {"choice": "slice", "slice": {"choice": "initial", "initial": {"start": 11, "count": 5}}}});
        assert_eq!(self::frames(&lab.captured(&slice)), frames[10..15]);
        let sender = lab.captured(&json!({"port_name": "p-a0"}));
        assert!(self::frames(&sender).is_empty(), "a port captures what it receives");
    }
}

/// What a capture that is full has is the file, its counts and a warning.
#[test]
fn root_a_full_capture_says_so_and_its_counts_have_the_frames_that_are_not_in_it() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    let mut large = flow("f", "p-a0", &["p-b0"], 20_000, 20_000);
    large["size"] = json!({"choice": "fixed", "fixed": 1500});
    for overwrite in [false, true] {
        let capture =
            json!({"name": "c", "port_names": ["p-b0"], "format": "pcapng", "overwrite": overwrite});
        let config = json!({"ports": ports(&["a0", "b0"]), "captures": [capture], "flows": [large]});
        lab.done("POST", "/config", &config);
        lab.capture("start");
        lab.transmit("start", &[]);
        lab.wait_until_stopped();
        let stopped = lab.capture("stop");
        let file = lab.captured(&json!({"port_name": "p-b0"}));
        let (mut reader, mut frames, mut counts) = (CaptureReader::new(&*file).unwrap(), 0, None);
        while let Some(record) = reader.next_record().unwrap() {
            match record {
                Record::Packet(_) => frames += 1,
                Record::Statistics(statistics) => counts = Some(statistics),
                _ => {}
            }
        }
        let counts = counts.unwrap();
        println!("overwrite {overwrite}: {stopped}, {counts:?}");
        assert_eq!(counts.delivered.unwrap(), frames + counts.own_dropped().unwrap(), "{counts:?}");
        let warnings = stopped["warnings"].as_array().unwrap();
        let warning = warnings.iter().find_map(|warning| {
            warning
                .as_str()
                .unwrap()
                .strip_prefix("the capture of p-b0 is full (16MiB, --capture-size): its first ")
        });
        let expected = if overwrite {
            let overwritten = counts.comments[0].split_once("full_file (ours) ").unwrap().1;
            format!("{overwritten} frames were overwritten, its last {frames} are in it")
        } else {
            format!("{frames} frames are in it, and none that came later")
        };
        assert_eq!(warning, Some(&*expected), "{stopped}");
        // Half of the size, up to all of it; the FCS makes it a little larger.
        assert!((8 << 20..17 << 20).contains(&file.len()), "{} octets", file.len());
    }
}

/// What tshark reads of each frame of a file: addresses, ports, and whether both checksums and the FCS are right (1).
fn dissected(lab: &Lab, file: &[u8]) -> Vec<String> {
    let path = lab.folder.file("fetched");
    std::fs::write(&path, file).unwrap();
    let mut tshark = program(
        "tshark -o eth.check_fcs:TRUE -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields -E separator=, \
         -e eth.src -e eth.dst -e ip.src -e ip.dst -e udp.srcport -e udp.dstport -e ip.checksum.status \
         -e udp.checksum.status -e eth.fcs.status -r",
    );
    let output = tshark.arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn expected_by_tshark() -> Vec<String> {
    let frame = |number: usize| {
        let (from, to) = ([5000, 5010, 5020][number % 3], 6000 + 2 * (number % 5));
        format!("02:00:00:00:00:01,02:00:00:00:00:02,198.18.0.1,198.18.0.2,{from},{to},1,1,1")
    };
    (0..100).map(frame).collect()
}

/// The FCS of Ethernet (IEEE 802.3 3.2.9), bit by bit.
fn crc32(octets: &[u8]) -> u32 {
    !octets.iter().fold(u32::MAX, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// One flow of each pair has more frames than 16 bits count.
#[test]
fn root_alone_three_ports_and_eight_flows_count_every_frame() {
    /// Of the first flow of each pair, and of the others.
    const FRAMES: [u64; 3] = [33_000, 5_500, 5_500];
    const FLOWS: u64 = 8;
    let Some(lab) = Lab::new(3, Duration::from_secs(600)) else { return };
    // Each port sends to the other end of its pair; a third of the flows of each.
    let flows: Vec<_> = (0..FLOWS)
        .map(|number| {
            let pair = number % 3;
            let mut flow = flow(
                &format!("f{number}"),
                &format!("p-a{pair}"),
                &[&format!("p-b{pair}")],
                FRAMES[number as usize / 3],
                // For 2 s or a little less.
                FRAMES[number as usize / 3] / 2 + 50 * number,
            );
            flow["size"] = match number % 4 {
                0 => json!({"choice": "increment", "increment": {"start": 64, "end": 256, "step": 7}}),
                1 => json!({"choice": "random", "random": {"min": 64, "max": 300}}),
                2 => json!({"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom": [{"size": 64, "weight": 3}, {"size": 200, "weight": 1}]}}),
                _ => json!({"choice": "fixed", "fixed": 100}),
            };
            flow
        })
        .collect();
    let config = json!({"ports": ports(&["a0", "b0", "a1", "b1", "a2", "b2"]), "flows": flows});
    lab.done("POST", "/config", &config);
    let accounts = ["b0", "b1", "b2"].map(|interface| Account::start(&lab.place, interface.into()));
    lab.transmit("start", &[]);
    let rows = lab.wait_until_stopped();
    assert_eq!(rows.len() as u64, FLOWS);
    for (number, row) in rows.iter().enumerate() {
        let sent = json!(FRAMES[number / 3]);
        assert_eq!((&row["name"], &row["frames_tx"]), (&json!(format!("f{number}")), &sent), "{row}");
        assert_eq!(row["frames_rx"], sent, "{row}");
        assert_eq!((&row["bytes_tx"], &row["loss"]), (&row["bytes_rx"], &json!(0.0)), "{row}");
    }
    let ports = lab.ports();
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let mut frames = 0;
    for (pair, account) in accounts.into_iter().enumerate() {
        let of_flows = |name: &str| {
            let port = format!("p-b{pair}");
            rows.iter().filter(|row| row["port_rx"] == port).map(|row| number(row, name)).sum::<u64>()
        };
        let (received, octets) = (of_flows("frames_rx"), of_flows("bytes_rx"));
        let [sender, receiver] = [&ports[2 * pair], &ports[2 * pair + 1]];
        assert_eq!(
            (number(sender, "frames_tx"), number(receiver, "frames_rx")),
            (received, received),
            "{ports:?}"
        );
        // Interfaces count octets without the FCS.
        let without_fcs = octets - 4 * received;
        assert_eq!(
            (number(sender, "bytes_tx"), number(receiver, "bytes_rx")),
            (without_fcs, without_fcs),
            "{ports:?}"
        );
        let [captured, lost] = account.end();
        assert_eq!(captured + lost, received, "b{pair}: {captured} captured, {lost} lost by the capture");
        println!("b{pair}: {received} frames of the flows, {captured} captured, {lost} lost by the capture");
        frames += received;
    }
    assert_eq!(frames, 3 * FRAMES[0] + 3 * FRAMES[1] + 2 * FRAMES[2]);
    // The same by the kernel's own table, since the interfaces exist.
    // Three of the flows begin at the first end.
    assert_eq!(lab.place.sent(), FRAMES.iter().sum::<u64>());
}

#[test]
fn root_flows_pause_resume_stop_and_start_anew() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    let mut endless = flow("endless", "p-a0", &["p-b0"], 1, 1000);
    endless["duration"] = json!({"choice": "continuous"});
    let short = flow("short", "p-a0", &["p-b0"], 50, 1000);
    let mut quiet = flow("quiet", "p-b0", &[], 10, 1000);
    quiet["metrics"] = json!({"enable": false});
    lab.done("POST", "/config", &json!({"ports": ports(&["a0", "b0"]), "flows": [endless, short, quiet]}));
    let state = |name: &str| {
        let row = lab.flows().into_iter().find(|row| row["name"] == name).unwrap();
        (
            row["transmit"].as_str().unwrap().to_string(),
            row["frames_tx"].as_u64().unwrap(),
            row["frames_rx"].as_u64().unwrap(),
        )
    };
    assert_eq!(state("endless"), ("stopped".into(), 0, 0), "before the first start");
    lab.transmit("start", &["endless"]);
    eventually("frames are sent", || state("endless").1 > 10);
    assert_eq!((state("endless").0.as_str(), state("short").1), ("started", 0));
    lab.transmit("pause", &[]);
    let mut before = 0;
    eventually("nothing more is sent", || {
        let (transmit, sent, received) = state("endless");
        let is_settled = sent == before && sent == received;
        before = sent;
        transmit == "paused" && is_settled
    });
    // Only the flow that paused goes on. What is stopped stays so, with its counts.
    let warnings = lab.transmit("resume", &["endless", "short"]);
    assert!(warnings["warnings"][0].as_str().unwrap().contains("flow short is stopped"), "{warnings}");
    eventually("the paused flow goes on", || state("endless").1 > before + 10);
    lab.transmit("start", &["short"]);
    eventually("the short flow ends while the other goes on", || {
        state("short") == ("stopped".into(), 50, 50) && state("endless").0 == "started"
    });
    assert_eq!(lab.transmit("resume", &[]), json!({"warnings": []}), "no flow was named");
    assert_eq!(state("short"), ("stopped".into(), 50, 50));
    lab.transmit("stop", &[]);
    let rows = lab.wait_until_stopped();
    assert_eq!(rows.len(), 2, "a flow without metrics has no row: {rows:?}");
    assert_eq!((&rows[0]["frames_tx"], &rows[1]["frames_tx"]), (&rows[0]["frames_rx"], &json!(50)));
    lab.transmit("start", &["short", "quiet"]);
    eventually("it ends again, with counts from 0", || state("short") == ("stopped".into(), 50, 50));
    eventually("a flow without metrics is sent, too", || lab.ports()[0]["frames_rx"] == 10);
    let (status, why) = lab.refused(
        "POST",
        "/monitor/metrics",
        &json!({"choice": "flow", "flow": {"flow_names": ["quiet"]}}),
    );
    assert_eq!((status, why.contains("flows[2].metrics.enable")), (400, true), "{why}");
    // A flow that is not sent can be changed.
    let mut changed = flow("short", "p-a0", &["p-b0"], 50, 500);
    changed["size"] = json!({"choice": "fixed", "fixed": 200});
    let update =
        json!({"choice": "flows", "flows": {"property_names": ["rate", "size"], "flows": [&changed]}});
    lab.done("PATCH", "/config", &update);
    assert_eq!(lab.done("GET", "/config", &Value::Null)["flows"][1]["size"]["fixed"], 200);
    lab.transmit("start", &["short"]);
    assert_eq!(lab.wait_until_stopped()[1]["bytes_rx"], 10_000);
    // Without a size it has the model's again.
    changed["size"] = Value::Null;
    let update = json!({"choice": "flows", "flows": {"property_names": ["size"], "flows": [changed]}});
    lab.done("PATCH", "/config", &update);
    assert!(lab.done("GET", "/config", &Value::Null)["flows"][1].get("size").is_none());
    lab.transmit("start", &["endless"]);
    let (status, why) = lab.refused(
        "PATCH",
        "/config",
        &json!({"choice": "flows", "flows": {"property_names": ["rate"], "flows": [endless_again()]}}),
    );
    assert_eq!((status, why.contains("stop endless")), (409, true), "{why}");
    lab.server.stop();
    let sent = lab.place.sent();
    assert!(lab.flows().is_empty(), "nothing is left");
    assert_eq!(lab.place.sent(), sent, "no frame after the end");
}

fn endless_again() -> Value {
    flow("endless", "p-a0", &["p-b0"], 1, 10)
}

#[test]
fn root_what_a_client_may_not_do_is_refused_and_sends_nothing() {
    let Some(lab) = Lab::new(2, Duration::from_secs(600)) else { return };
    let second = lab.another("a1");
    let config = json!({"ports": ports(&["a1"])});
    second.done("POST", "/config", &config);
    let (status, why) = lab.refused("POST", "/config", &config);
    assert_eq!(status, 422);
    assert!(why.contains("ports[0].location") && why.contains("another controller uses it"), "{why}");

    for (config, expected_status, expected) in [
        (
            json!({"ports": ports(&["lo"])}),
            400,
            "ports[0].location: \"lo\" is no interface that clients may use",
        ),
        (
            json!({"ports": ports(&["a0", "ssh:host/eth0"])}),
            400,
            "ports[1].location: \"ssh:host/eth0\" is no interface that clients may use",
        ),
        (
            json!({"ports": ports(&["a0"]), "flows": [flow("f", "p-b0", &[], 1, 1)]}),
            404,
            "flows[0].tx_rx.port.tx_name",
        ),
        (json!({"ports": ports(&["a0", "a0"])}), 400, "\"p-a0\" is empty, or the name of two things"),
        (json!({"devices": [{"name": "d"}]}), 400, "devices: capbench does not support this"),
    ] {
        let (status, why) = lab.refused("POST", "/config", &config);
        assert_eq!((status, why.contains(expected)), (expected_status, true), "{why}");
    }
    let mut percent = flow("f", "p-a0", &["p-b0"], 1, 1);
    percent["rate"] = json!({"choice": "percentage", "percentage": 10});
    let (_, why) =
        lab.refused("POST", "/config", &json!({"ports": ports(&["a0", "b0"]), "flows": [percent]}));
    assert!(why.contains("flows[0].rate.percentage: the interface has no speed"), "{why}");
    let mut small = flow("f", "p-a0", &["p-b0"], 1, 1);
    small["size"] = json!({"choice": "fixed", "fixed": 60});
    let (_, why) = lab.refused("POST", "/config", &json!({"ports": ports(&["a0", "b0"]), "flows": [small]}));
    assert!(why.contains("flows[0].size.fixed: "), "{why}");

    for (method, path, status) in [
        ("POST", "/control/action", 501),
        ("POST", "/monitor/states", 501),
        ("PATCH", "/config/append", 501),
        ("GET", "/control/state", 405),
        ("GET", "/", 404),
    ] {
        assert_eq!(lab.refused(method, path, &json!({})).0, status, "{method} {path}");
    }
    let (status, why) = lab.refused("POST", "/monitor/capture", &json!({"port_name": "p9"}));
    assert_eq!((status, why.as_str()), (404, "port_name: the configuration has no port \"p9\""));
    let version = lab.done("GET", "/capabilities/version", &Value::Null);
    assert_eq!(
        (&version["api_spec_version"], &version["sdk_version"]),
        (&json!("^1.58.0"), &json!("1.61.0"))
    );
    assert_eq!(lab.place.sent(), 0, "no refused configuration sends a frame");
    second.server.stop();
    lab.done("POST", "/config", &config);
}

/// The memory for frames and times is one for all ports: what fits a port does not fit all.
#[test]
fn root_flows_of_all_ports_share_the_memory_for_frames() {
    const ENDS: [(&str, &str); 2] = [("p-a0", "p-b0"), ("p-a1", "p-b1")];
    const SIZED: usize = 16;
    let Some(lab) = Lab::new(2, Duration::from_secs(600)) else { return };
    let without_metrics = |name: String, (tx, rx): (&str, &str)| {
        let mut flow = flow(&name, tx, &[rx], 1, 1_000_000);
        flow["metrics"] = json!({"enable": false});
        flow
    };
    // The times of such a burst need 800,000 octets: 334 of them are all of the memory.
    let bursts = |of_port: usize| {
        let burst = json!({"choice": "burst", "burst": {"bursts": 1, "packets": 100_000}});
        let of = |ends| {
            let mut flows: Vec<_> = (0..of_port)
                .map(|number| without_metrics(format!("burst {ends:?} {number}"), ends))
                .collect();
            flows.iter_mut().for_each(|flow| flow["duration"] = burst.clone());
            flows
        };
        ENDS.map(of).concat()
    };
    // A flow of random sizes needs about 500,000.
    let (fixed, random) = (json!({"choice": "fixed", "fixed": 128}), json!({"choice": "random"}));
    let sized = |sizes: [&Value; 2]| {
        let of = |(ends, size): ((&str, &str), &Value)| {
            let mut flows: Vec<_> =
                (0..SIZED).map(|number| without_metrics(format!("sized {ends:?} {number}"), ends)).collect();
            flows.iter_mut().for_each(|flow| flow["size"] = size.clone());
            flows
        };
        [(ENDS[0], sizes[0]), (ENDS[1], sizes[1])].map(of).concat()
    };
    let config = |flows: Vec<Value>| json!({"ports": ports(&["a0", "b0", "a1", "b1"]), "flows": flows});
    let (status, why) = lab.refused("POST", "/config", &config(bursts(180)));
    assert_eq!((status, why.contains("bytes of memory, but")), (400, true), "{why}");
    let refused: usize = why["flows[".len()..].split_once(']').unwrap().0.parse().unwrap();
    assert!((180..360).contains(&refused), "a flow of the second port is refused: {why}");
    lab.done("POST", "/config", &config([bursts(160), sized([&fixed, &fixed])].concat()));
    let change = |sizes| {
        let update = json!({"property_names": ["size"], "flows": sized(sizes)});
        json!({"choice": "flows", "flows": update})
    };
    // A change that moves memory from one port to the other fits in both directions.
    for sizes in [[&random, &fixed], [&fixed, &random], [&random, &fixed]] {
        lab.done("PATCH", "/config", &change(sizes));
    }
    let (status, why) = lab.refused("PATCH", "/config", &change([&random, &random]));
    assert_eq!((status, why.contains("bytes of memory, but")), (400, true), "{why}");
    // What was refused needs nothing.
    lab.done("PATCH", "/config", &change([&fixed, &random]));
}

/// One of the ports has as many starts as it can have: the other one must not keep its sender open.
#[test]
fn root_a_start_that_one_port_refuses_leaves_nothing_open_at_the_others() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    let endless = |name: &str, from: &str| {
        let mut flow = flow(name, from, &[], 1, 1);
        flow["duration"] = json!({"choice": "continuous"});
        flow
    };
    let names: Vec<_> = (0..17).map(|number| format!("g{number}")).collect();
    let mut flows: Vec<_> = names.iter().map(|name| endless(name, "p-b0")).collect();
    flows.push(endless("f", "p-a0"));
    lab.done("POST", "/config", &json!({"ports": ports(&["a0", "b0"]), "flows": flows}));
    names[..16].iter().for_each(|name| drop(lab.transmit("start", &[name])));
    let sockets = || lab.place.inside(|| std::fs::read_to_string("/proc/thread-self/net/packet")).unwrap();
    let before = sockets().lines().count();
    assert!(before > 16, "{}", sockets());
    let start = json!({"state": "start", "flow_names": ["f", "g16"]});
    let traffic = json!({"choice": "flow_transmit", "flow_transmit": start});
    let (status, why) =
        lab.refused("POST", "/control/state", &json!({"choice": "traffic", "traffic": traffic}));
    assert_eq!((status, why.contains("flows of 16 starts are sent")), (409, true), "{why}");
    assert_eq!(sockets().lines().count(), before, "{}", sockets());
}

#[test]
fn root_a_name_that_is_there_twice_and_a_page_in_a_browser_are_refused() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    let config = json!({"ports": ports(&["a0", "b0"]), "flows": [flow("f", "p-a0", &["p-b0"], 20, 1000)]});
    lab.done("POST", "/config", &config);
    let twice = json!({"state": "start", "flow_names": ["f", "f"]});
    let traffic = json!({"choice": "flow_transmit", "flow_transmit": twice});
    for (path, body) in [
        ("/control/state", json!({"choice": "traffic", "traffic": traffic})),
        ("/monitor/metrics", json!({"choice": "flow", "flow": {"flow_names": ["f", "f"]}})),
        ("/monitor/metrics", json!({"choice": "port", "port": {"port_names": ["p-a0", "p-a0"]}})),
    ] {
        let (status, why) = lab.refused("POST", path, &body);
        assert_eq!((status, why.contains("twice")), (400, true), "{path}: {why}");
    }
    let head = "POST /config HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n";
    for header in ["Content-Type: text/plain", "Content-Type: application/json\r\nOrigin: http://page"] {
        let text = lab.place.inside(|| ask(connect_from(CLIENT, lab.address), &format!("{head}{header}")));
        let answer = Answer::read(text.unwrap().as_bytes());
        assert_answer("POST", "/config", &answer);
        assert_eq!(answer.status, 415, "{header}: {answer:?}");
    }
    let long = "POST /config HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16777217";
    let text = lab.place.inside(|| ask(connect_from(CLIENT, lab.address), long));
    let answer = Answer::read(text.unwrap().as_bytes());
    let why = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!((answer.status, why.contains("the body is longer than 16777216 bytes")), (413, true), "{why}");
}

#[test]
fn root_another_client_waits_until_the_lease_of_the_first_ends() {
    let Some(lab) = Lab::new(1, Duration::from_secs(3)) else { return };
    let (first, second) = (CLIENT, [127, 0, 0, 2]);
    let mut endless = flow("endless", "p-a0", &["p-b0"], 1, 100);
    endless["duration"] = json!({"choice": "continuous"});
    let mut config = json!({"ports": ports(&["a0", "b0"]), "flows": [endless]});
    let post = |client, config: &Value| {
        let answer = lab.request_from(client, "POST", "/config", &config.to_string());
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    assert_eq!(post(second, &config).0, 200, "nothing runs");
    assert_eq!(post(first, &config).0, 200, "nothing runs");
    lab.transmit("start", &[]);
    let (status, why) = post(second, &config);
    assert_eq!((status, why.contains("flows or captures run for 127.0.0.1")), (409, true), "{why}");
    config["options"] = json!({"port_options": {"location_preemption": true}});
    assert_eq!(post(second, &config).0, 200, "it may, if it says so");
    assert_eq!(post(first, &config).0, 200);
    lab.transmit("start", &[]);
    // The first client is silent from here on. The second one only looks on, which renews nothing.
    let begin = Instant::now();
    eventually("its flows are stopped", || {
        let request = json!({"choice": "flow", "flow": {}});
        let answer = lab.request_from(second, "POST", "/monitor/metrics", &request.to_string());
        let metrics: Value = serde_json::from_slice(&answer.body).unwrap();
        metrics["flow_metrics"][0]["transmit"] == "stopped"
    });
    assert!(begin.elapsed() >= Duration::from_secs(2), "not before the lease has ended");
    config["options"] = json!({});
    let (status, _) = post(second, &config);
    assert_eq!(status, 200);
}

#[test]
fn root_a_link_is_set_down_and_up() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    lab.done(
        "POST",
        "/config",
        &json!({"ports": ports(&["a0", "b0"]), "flows": [flow("f", "p-a0", &["p-b0"], 20, 1000)]}),
    );
    let link = |state: &str| {
        let link = json!({"choice": "link", "link": {"state": state, "port_names": ["p-b0"]}});
        lab.done("POST", "/control/state", &json!({"choice": "port", "port": link}));
    };
    link("down");
    eventually("the port is down", || lab.ports()[1]["link"] == "down");
    link("up");
    eventually("the port is up", || lab.ports().iter().all(|port| port["link"] == "up"));
    link("down");
    lab.done(
        "POST",
        "/config",
        &json!({"ports": ports(&["a0", "b0"]), "flows": [flow("f", "p-a0", &["p-b0"], 20, 1000)]}),
    );
    eventually("a new configuration has its links", || lab.ports().iter().all(|port| port["link"] == "up"));
    lab.transmit("start", &[]);
    let rows = lab.wait_until_stopped();
    assert_eq!((&rows[0]["frames_tx"], &rows[0]["frames_rx"]), (&json!(20), &json!(20)), "{rows:?}");
    assert!(lab.folder.path().read_dir().unwrap().next().is_none(), "no capture, no file");
}
