//! The server as scripts see it, on veth pairs: plain HTTP requests, and every answer held against the model.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use boon::{Compiler, Schemas};
use capbench_http::{Port, Protection};
use capbench_model::units::ByteCount;
use capbench_otg::{Allowed, Options, Server};
use capbench_record::file::{CaptureReader, Record};
use capbench_testing::Scratch;
use capbench_testing::http::exchange;
use capbench_testing::network::{Place, eventually, privileges, program};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// A server in a namespace with both ends of veth pairs, and its clients.
struct Lab {
    place: Arc<Place>,
    address: SocketAddr,
    server: Server,
    folder: Scratch,
}

impl Lab {
    /// With `pairs` pairs: `a0` and `b0`, `a1` and `b1`, and so on.
    fn new(pairs: usize, lease: Duration) -> Option<Self> {
        privileges()?;
        let place = Place::new("a0");
        place.ip("link set lo up");
        for pair in 0..pairs {
            place.ip(&format!("link add name a{pair} type veth peer name b{pair}"));
            for end in ["a", "b"] {
                place.ip(&format!("link set dev {end}{pair} arp off up"));
            }
        }
        for pair in 0..pairs {
            let has_carrier = || place.ip(&format!("-o link show dev b{pair}")).contains("LOWER_UP");
            eventually("a veth pair has carrier", has_carrier);
        }
        let folder = Scratch::new();
        let (server, address) = serve(
            &place,
            &folder,
            (0..pairs).flat_map(|pair| [format!("a{pair}"), format!("b{pair}")]),
            lease,
        );
        Some(Self { place: Arc::new(place), address, server, folder })
    }

    /// Another server in the same namespace.
    fn another(&self, interface: &str) -> Self {
        let folder = Scratch::new();
        let (server, address) =
            serve(&self.place, &folder, [interface.to_string()].into_iter(), Duration::from_secs(600));
        Self { place: Arc::clone(&self.place), address, server, folder }
    }

    /// The status and the answer of a request from this address.
    fn request_from(&self, client: [u8; 4], method: &str, path: &str, body: &Value) -> (u16, Vec<u8>) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.place.inside(|| {
            let stream = connect_from(client, self.address);
            stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
            exchange(stream, method, path, &body)
        })
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (status, octets) = self.request_from([127, 0, 0, 1], method, path, body);
        let answer = serde_json::from_slice(&octets).unwrap();
        let schema = match (status, path) {
            (200, "/monitor/metrics") => "Metrics.Response",
            (200, "/capabilities/version") => "Version",
            (200, _) if method == "GET" => "",
            (200, _) => "Warning",
            _ => "Error",
        };
        assert_valid(schema, &answer);
        (status, answer)
    }

    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.request(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    fn refused(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let (status, answer) = self.request(method, path, body);
        assert_eq!(answer["code"], status, "{answer}");
        (status, answer["errors"][0].as_str().unwrap().to_string())
    }

    fn transmit(&self, state: &str, flows: &[&str]) -> Value {
        let flow_transmit = json!({"state": state, "flow_names": flows});
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": flow_transmit});
        self.done("POST", "/control/state", &json!({"choice": "traffic", "traffic": traffic}))
    }

    fn capture(&self, state: &str) {
        let capture = json!({"choice": "capture", "capture": {"state": state}});
        self.done("POST", "/control/state", &json!({"choice": "port", "port": capture}));
    }

    fn captured(&self, port: &str) -> Vec<u8> {
        let (status, octets) =
            self.request_from([127, 0, 0, 1], "POST", "/monitor/capture", &json!({"port_name": port}));
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&octets));
        octets
    }

    fn flows(&self) -> Vec<Value> {
        let metrics = self.done("POST", "/monitor/metrics", &json!({"choice": "flow", "flow": {}}));
        metrics["flow_metrics"].as_array().unwrap().clone()
    }

    fn ports(&self) -> Vec<Value> {
        let metrics = self.done("POST", "/monitor/metrics", &json!({"choice": "port", "port": {}}));
        metrics["port_metrics"].as_array().unwrap().clone()
    }

    fn wait_until_stopped(&self) -> Vec<Value> {
        let mut last = Vec::new();
        eventually("every flow has stopped", || {
            last = self.flows();
            last.iter().all(|flow| flow["transmit"] == "stopped")
        });
        last
    }
}

fn serve(
    place: &Place,
    folder: &Scratch,
    interfaces: impl Iterator<Item = String>,
    lease: Duration,
) -> (Server, SocketAddr) {
    let options = Options {
        allowed: Allowed { interfaces: interfaces.collect(), isolated: false },
        lease,
        capture_size: ByteCount(16 << 20),
        capture_folder: PathBuf::from(folder.path()),
    };
    place.inside(|| {
        options.check().unwrap();
        let port = Port::open("--listen", "127.0.0.1:0".parse().unwrap(), Protection::None).unwrap();
        let address = port.address().unwrap();
        (Server::start(port, options, |words| eprintln!("{words}")).unwrap(), address)
    })
}

/// A connection from an address of the loopback network.
fn connect_from(client: [u8; 4], server: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(client)), 0)).unwrap();
        let stream = socket.connect(server).await.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream
    })
}

/// Holds an answer against a schema of the model.
fn assert_valid(name: &str, answer: &Value) {
    const URL: &str = "http://localhost/openapi.json";
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    if name.is_empty() {
        return;
    }
    let document = DOCUMENT.get_or_init(|| serde_json::from_str(include_str!("openapi.json")).unwrap());
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(URL, document.clone()).unwrap();
    let schema = compiler.compile(&format!("{URL}#/components/schemas/{name}"), &mut schemas).unwrap();
    if let Err(error) = schemas.validate(answer, schema) {
        panic!("{name}: {answer}: {error}");
    }
}

/// A flow of UDP over IPv4.
fn flow(name: &str, tx: &str, rx: &[&str], frames: u64, pps: u64) -> Value {
    json!({
        "name": name,
        "tx_rx": {"choice": "port", "port": {"tx_name": tx, "rx_names": rx}},
        "packet": [
            {"choice": "ethernet", "ethernet": {"src": {"choice": "value", "value": "02:00:00:00:00:01"},
                                                "dst": {"choice": "value", "value": "02:00:00:00:00:02"}}},
            {"choice": "ipv4", "ipv4": {"src": {"choice": "value", "value": "198.18.0.1"},
                                        "dst": {"choice": "value", "value": "198.18.0.2"}}},
            {"choice": "udp", "udp": {"src_port": {"choice": "values", "values": [5000, 5010, 5020]},
                                      "dst_port": {"choice": "increment", "increment": {"start": 6000, "step": 2, "count": 5}}}},
        ],
        "size": {"choice": "fixed", "fixed": 128},
        "rate": {"choice": "pps", "pps": pps.to_string()},
        "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": frames, "gap": 12}},
        "metrics": {"enable": true, "loss": true, "timestamps": true, "latency": {"enable": true, "mode": "store_forward"}},
    })
}

fn ports(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": format!("p-{name}"), "location": name})).collect()
}

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
        assert!(
            warnings["warnings"][0].as_str().unwrap().contains("a0 has no speed of its own"),
            "{warnings}"
        );
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
        let file = lab.captured("p-b0");
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
        let (_, part) = lab.request_from([127, 0, 0, 1], "POST", "/monitor/capture", &slice);
        assert_eq!(self::frames(&part), frames[10..15]);
        assert!(self::frames(&lab.captured("p-a0")).is_empty(), "a port captures what it receives");
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

#[test]
fn root_alone_three_ports_and_eight_flows_count_a_million_frames() {
    let Some(lab) = Lab::new(3, Duration::from_secs(600)) else { return };
    // Each port sends to the other end of its pair; a third of the flows of each.
    let flows: Vec<_> = (0..8)
        .map(|number: u64| {
            let pair = number % 3;
            let mut flow = flow(
                &format!("f{number}"),
                &format!("p-a{pair}"),
                &[&format!("p-b{pair}")],
                125_000,
                4000 + 500 * number,
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
    lab.transmit("start", &[]);
    let rows = lab.wait_until_stopped();
    assert_eq!(rows.len(), 8);
    let sum = |rows: &[Value], name: &str| rows.iter().map(|row| row[name].as_u64().unwrap()).sum::<u64>();
    for row in &rows {
        assert_eq!((&row["frames_tx"], &row["frames_rx"]), (&json!(125_000), &json!(125_000)), "{row}");
        assert_eq!((&row["bytes_tx"], &row["loss"]), (&row["bytes_rx"], &json!(0.0)), "{row}");
    }
    let ports = lab.ports();
    for end in ["a", "b"] {
        let of_end: Vec<_> = ports
            .iter()
            .filter(|port| port["location"].as_str().unwrap().starts_with(end))
            .cloned()
            .collect();
        let (frames, octets) = if end == "a" { ("frames_tx", "bytes_tx") } else { ("frames_rx", "bytes_rx") };
        assert_eq!(sum(&of_end, frames), 1_000_000, "{of_end:?}");
        // Interfaces count octets without the FCS.
        assert_eq!(sum(&of_end, octets) + 4_000_000, sum(&rows, "bytes_tx"));
    }
    // The same by the kernel's own table, since the interfaces exist.
    assert_eq!(lab.place.sent(), 375_000);
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
        json!({"choice": "flows", "flows": {"property_names": ["rate", "size"], "flows": [changed]}});
    lab.done("PATCH", "/config", &update);
    assert_eq!(lab.done("GET", "/config", &Value::Null)["flows"][1]["size"]["fixed"], 200);
    lab.transmit("start", &["short"]);
    assert_eq!(lab.wait_until_stopped()[1]["bytes_rx"], 10_000);
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
    assert!(why.contains("flows[0].rate: the interface has no speed"), "{why}");
    let mut small = flow("f", "p-a0", &["p-b0"], 1, 1);
    small["size"] = json!({"choice": "fixed", "fixed": 60});
    let (_, why) = lab.refused("POST", "/config", &json!({"ports": ports(&["a0", "b0"]), "flows": [small]}));
    assert!(why.contains("flows[0].size: "), "{why}");

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
    let head = "POST /config HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n";
    for header in ["Content-Type: text/plain", "Content-Type: application/json\r\nOrigin: http://page"] {
        let answer = lab.place.inside(|| {
            capbench_testing::http::ask(connect_from([127, 0, 0, 1], lab.address), &format!("{head}{header}"))
        });
        assert!(answer.as_ref().unwrap().starts_with("HTTP/1.1 415 "), "{header}: {answer:?}");
    }
}

#[test]
fn root_another_client_waits_until_the_lease_of_the_first_ends() {
    let Some(lab) = Lab::new(1, Duration::from_secs(3)) else { return };
    let (first, second) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let mut endless = flow("endless", "p-a0", &["p-b0"], 1, 100);
    endless["duration"] = json!({"choice": "continuous"});
    let mut config = json!({"ports": ports(&["a0", "b0"]), "flows": [endless]});
    let post = |client, config: &Value| {
        let (status, octets) = lab.request_from(client, "POST", "/config", config);
        let answer: Value = serde_json::from_slice(&octets).unwrap();
        assert_valid(if status == 200 { "Warning" } else { "Error" }, &answer);
        (status, answer.to_string())
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
        let (_, octets) = lab.request_from(second, "POST", "/monitor/metrics", &request);
        let metrics: Value = serde_json::from_slice(&octets).unwrap();
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

/// Frames that an interface of the namespace has sent.
fn sent_by(place: &Place, interface: &str) -> u64 {
    let text = place.inside(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:"))).unwrap();
    line.split_whitespace().nth(9).unwrap().parse().unwrap()
}

/// Places of a configuration that are replaced, and by what.
fn changes() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let places = prop::sample::select(vec![
        "/ports/0/location",
        "/ports/1/location",
        "/ports/0/name",
        "/ports/1",
        "/layer1",
        "/captures",
        "/options",
        "/flows/0/name",
        "/flows/0/tx_rx",
        "/flows/0/tx_rx/port/tx_name",
        "/flows/0/tx_rx/port/rx_names",
        "/flows/0/packet",
        "/flows/0/packet/0",
        "/flows/0/packet/1/ipv4",
        "/flows/0/packet/2/udp/src_port",
        "/flows/0/size",
        "/flows/0/size/fixed",
        "/flows/0/rate",
        "/flows/0/rate/pps",
        "/flows/0/duration",
        "/flows/0/duration/fixed_packets",
        "/flows/0/duration/fixed_packets/packets",
        "/flows/0/metrics",
        "/flows/0/metrics/latency",
        "/devices",
        "/lags",
    ]);
    let values = prop::sample::select(vec![
        json!(null),
        json!([]),
        json!({}),
        json!(""),
        json!("a1"),
        json!("p-a0"),
        json!("p-b0"),
        json!(0),
        json!(-1),
        json!(1),
        json!(64),
        json!(1518),
        json!(9000),
        json!(65_535),
        json!(1e300),
        json!("18446744073709551615"),
        json!("007"),
        json!(["p-b0"]),
        json!(["a1"]),
        json!({"choice": "custom"}),
        json!({"choice": "percentage", "percentage": 50}),
        json!({"choice": "gbps", "gbps": 400}),
        json!({"choice": "pps", "pps": "1000000"}),
        json!({"choice": "increment", "increment": {"start": 64, "end": 1518, "step": 0}}),
        json!({"choice": "increment", "increment": {"start": 64, "end": 1518, "step": 100}}),
        json!({"choice": "random", "random": {"min": 1500, "max": 64}}),
        json!({"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom": [{"size": 64, "weight": 1e-9}]}}),
        json!({"choice": "weight_pairs", "weight_pairs": {"choice": "predefined", "predefined": "tcp_imix"}}),
        json!({"choice": "burst", "burst": {"bursts": 2, "packets": 5, "inter_burst_gap": {"choice": "nanoseconds", "nanoseconds": 1e5}}}),
        json!({"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.01, "delay": {"choice": "microseconds", "microseconds": 5}}}),
        json!({"choice": "continuous"}),
        json!({"enable": false}),
        json!({"enable": true, "mode": "cut_through"}),
        json!([{"choice": "ethernet"}, {"choice": "vlan"}, {"choice": "mpls"}, {"choice": "ipv6"}, {"choice": "tcp"}]),
        json!([{"choice": "custom", "custom": {"bytes": "00"}}]),
    ]);
    prop::collection::vec((places, values), 0..3)
}

/// More with PROPTEST_CASES.
#[test]
fn root_random_configurations_send_on_allowed_ports_only_and_get_answers_of_the_model() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    lab.place.ip("link add name a1 type veth peer name b1");
    for end in ["a1", "b1"] {
        lab.place.ip(&format!("link set dev {end} arp off up"));
    }
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::default();
    let outcome = runner.run(&changes(), |changes| {
        let mut config = json!({
            "ports": ports(&["a0", "b0"]),
            "captures": [{"name": "ca", "port_names": ["p-b0"]}],
            "flows": [flow("f", "p-a0", &["p-b0"], 5, 10_000), flow("g", "p-b0", &["p-a0"], 5, 10_000)],
        });
        for (place, value) in changes {
            let (parent, member) = place.rsplit_once('/').unwrap();
            match config.pointer_mut(parent) {
                Some(Value::Object(members)) => drop(members.insert(member.into(), value)),
                Some(Value::Array(elements)) => {
                    if let Some(element) = elements.get_mut(member.parse::<usize>().unwrap_or(0)) {
                        *element = value;
                    }
                }
                _ => {}
            }
        }
        // Each request checks its answer.
        if lab.request("POST", "/config", &config).0 != 200 {
            refused.set(refused.get() + 1);
            return Ok(());
        }
        accepted.set(accepted.get() + 1);
        let control = |choice: &str, inner: &str, state: &str| {
            let state = json!({"choice": choice, choice: {"choice": inner, inner: {"state": state}}});
            lab.request("POST", "/control/state", &state).0
        };
        for (choice, inner, state) in [("port", "capture", "start"), ("traffic", "flow_transmit", "start")] {
            let status = control(choice, inner, state);
            prop_assert!(status < 500, "{choice} {inner} {state}: {status}");
        }
        lab.flows();
        lab.ports();
        prop_assert_eq!(control("traffic", "flow_transmit", "stop"), 200);
        prop_assert_eq!(lab.request("GET", "/config", &Value::Null).0, 200);
        Ok(())
    });
    outcome.unwrap();
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
    println!("{accepted} configurations accepted, {refused} refused");
    assert_eq!(
        (sent_by(&lab.place, "a1"), sent_by(&lab.place, "b1"), sent_by(&lab.place, "lo") > 0),
        (0, 0, true)
    );
    assert!(sent_by(&lab.place, "a0") > 0);
}
