//! `capbench otg` with ports in other network namespaces: their engines are other processes, reached as those of other hosts are.

use std::io::Write;
use std::process::Command;

use capbench_record::file::{CaptureReader, Record};
use capbench_testing::http::{connect, exchange};
use serde_json::{Value, json};

use crate::agents::Hosts;
use crate::support::{
    Management, Place, Running, Scratch, capbench, eventually, ip, privileges, program, signal,
};

const OWN: &str = env!("CARGO_BIN_EXE_capbench");

/// A server in a namespace without ports, and two namespaces with the ends of a link.
struct Lab {
    hosts: Hosts,
    place: Place,
    server: Running,
    /// Locations of the ports.
    tx: String,
    rx: String,
    /// Where captures of the receiving port are.
    folder: Scratch,
}

impl Lab {
    /// One end by its namespace, the other one by a command.
    fn new() -> Option<Self> {
        privileges()?;
        let (hosts, folder) = (Hosts::make(), Scratch::new());
        let interface = hosts.interface("dut");
        let rx = format!(
            "exec:ip netns exec {} {OWN} otg --agent --port {interface} --capture-dir {},{interface}",
            hosts.name("dut"),
            folder.path().display(),
        );
        let tx = hosts.location("gen");
        Some(Self::with(hosts, folder, tx, rx, |command| command))
    }

    /// The same with these locations, and a server whose command is changed by `prepare`.
    fn with(
        hosts: Hosts,
        folder: Scratch,
        tx: String,
        rx: String,
        prepare: impl FnOnce(Command) -> Command,
    ) -> Self {
        let place = Place::new("none");
        place.ip("link set lo up");
        let mut command = prepare(capbench("otg"));
        let mut server = Running::start(&place, command.args(["--port", &tx, "--port", &rx]));
        server.wait_for("OTG at http://127.0.0.1:8443");
        Self { hosts, place, server, tx, rx, folder }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Vec<u8>) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let address = "127.0.0.1:8443".parse().unwrap();
        let answer = self.place.inside(|| exchange(connect(address), method, path, &body));
        (answer.status, answer.body)
    }

    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {}", String::from_utf8_lossy(&answer));
        serde_json::from_slice(&answer).unwrap()
    }

    fn refused(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let (status, answer) = self.ask(method, path, body);
        (status, String::from_utf8(answer).unwrap())
    }

    /// Ports `tx` and `rx` with these flows.
    fn config(&self, flows: &[Value]) -> Value {
        json!({
            "ports": [{"name": "tx", "location": self.tx}, {"name": "rx", "location": self.rx}],
            "captures": [{"name": "c", "port_names": ["rx"]}],
            "flows": flows,
        })
    }

    fn transmit(&self, state: &str) -> Value {
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": {"state": state}});
        self.done("POST", "/control/state", &json!({"choice": "traffic", "traffic": traffic}))
    }

    fn set_port(&self, choice: &str, what: Value) {
        let port = json!({"choice": choice, choice: what});
        self.done("POST", "/control/state", &json!({"choice": "port", "port": port}));
    }

    fn metrics(&self, choice: &str) -> Vec<Value> {
        let metrics = self.done("POST", "/monitor/metrics", &json!({"choice": choice, choice: {}}));
        metrics[format!("{choice}_metrics")].as_array().unwrap().clone()
    }

    fn wait_until_stopped(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        eventually("every flow has stopped", || {
            rows = self.metrics("flow");
            rows.iter().all(|row| row["transmit"] == "stopped")
        });
        rows
    }

    /// The processes that have this end of the link.
    fn engines(&self, which: &str) -> Vec<u32> {
        let end = format!("\0{}\0", self.hosts.interface(which));
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_engine = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("\0otg\0--agent\0") && line.contains(&end)
        };
        numbers.filter(is_engine).collect()
    }

    fn wait_until_left(&self) {
        eventually("no engine is left", || ["gen", "dut"].iter().all(|which| self.engines(which).is_empty()));
    }

    /// Frames that the sending port has sent.
    fn sent(&self) -> u64 {
        let (name, interface) = (self.hosts.name("gen"), self.hosts.interface("gen"));
        let file = format!("/sys/class/net/{interface}/statistics/tx_packets");
        let output = program(&format!("ip netns exec {name} cat {file}")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    fn is_up(&self, which: &str) -> bool {
        let name = self.hosts.name(which);
        let interface = self.hosts.interface(which);
        let output = program(&format!("ip -n {name} -o link show dev {interface}")).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains(",UP")
    }
}

/// A flow of so many frames, or one without an end, whose sender sleeps between its frames.
fn flow(name: &str, tx: &str, rx: &str, frames: Option<u64>) -> Value {
    let (duration, pps) = match frames {
        Some(frames) => (json!({"choice": "fixed_packets", "fixed_packets": {"packets": frames}}), 2000),
        None => (json!({"choice": "continuous"}), 200),
    };
    json!({
        "name": name,
        "tx_rx": {"port": {"tx_name": tx, "rx_names": [rx]}},
        "packet": [{"choice": "ethernet"}, {"choice": "ipv4"}, {"choice": "udp"}],
        "size": {"choice": "fixed", "fixed": 128},
        "rate": {"choice": "pps", "pps": pps},
        "duration": duration,
        "metrics": {"enable": true, "loss": true, "timestamps": true, "latency": {"enable": true}},
    })
}

#[test]
fn root_flows_between_other_namespaces_have_exact_counts() {
    let Some(lab) = Lab::new() else { return };
    let config = lab.config(&[
        flow("f", "tx", "rx", Some(3000)),
        flow("g", "tx", "rx", Some(500)),
        flow("back", "rx", "tx", Some(700)),
    ]);
    lab.done("POST", "/config", &config);
    lab.set_port("capture", json!({"state": "start"}));
    lab.transmit("start");
    for (row, frames) in lab.wait_until_stopped().iter().zip([3000, 500, 700]) {
        assert_eq!((&row["frames_tx"], &row["frames_rx"]), (&json!(frames), &json!(frames)), "{row}");
        assert_eq!((&row["bytes_rx"], &row["loss"]), (&json!(128 * frames), &json!(0.0)), "{row}");
        // Both ends read the clock of one kernel.
        assert!(row["latency"]["minimum_ns"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["timestamps"]["first_timestamp_ns"].as_f64().unwrap() > 1.7e18, "{row}");
    }
    let ports = lab.metrics("port");
    assert_eq!((&ports[0]["location"], &ports[0]["frames_tx"]), (&json!(lab.tx), &json!(3500)), "{ports:?}");
    assert_eq!((&ports[1]["link"], &ports[1]["frames_rx"]), (&json!("up"), &json!(3500)), "{ports:?}");
    let (status, file) = lab.ask("POST", "/monitor/capture", &json!({"port_name": "rx"}));
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&file));
    let mut reader = CaptureReader::new(&*file).unwrap();
    let mut frames = 0;
    while let Some(record) = reader.next_record().unwrap() {
        frames += usize::from(matches!(record, Record::Packet(_)));
    }
    assert_eq!(frames, 3500);
    // An update is checked where the port is: the second flow is too long, so the first one stays as it was.
    let mut long = flow("g", "tx", "rx", None);
    long["size"]["fixed"] = 9000.into();
    let mut short = flow("f", "tx", "rx", None);
    short["size"]["fixed"] = 256.into();
    let update = json!({"choice": "flows", "flows": {"property_names": ["size"], "flows": [short, long]}});
    let (status, why) = lab.refused("PATCH", "/config", &update);
    assert_eq!((status, why.contains("flows.flows[1].size")), (400, true), "{why}");
    assert_eq!(lab.done("GET", "/config", &Value::Null)["flows"], config["flows"]);
    lab.transmit("start");
    assert_eq!(lab.wait_until_stopped()[0]["bytes_tx"], 128 * 3000);
    // What the update leaves out has the model's default.
    let mut plain = flow("g", "tx", "rx", None);
    ["size", "rate"].into_iter().for_each(|name| drop(plain.as_object_mut().unwrap().remove(name)));
    let update = json!({"property_names": ["size", "rate"], "flows": [plain]});
    lab.done("PATCH", "/config", &json!({"choice": "flows", "flows": update}));
    let changed = &lab.done("GET", "/config", &Value::Null)["flows"][1];
    assert!(changed.get("rate").is_none() && changed.get("size").is_none(), "{changed}");
    lab.transmit("start");
    assert_eq!(lab.wait_until_stopped()[1]["bytes_tx"], 64 * 500);
    let other = json!({"ports": [{"name": "p", "location": lab.tx.replace("netns:", "ssh:")}]});
    let (status, why) = lab.refused("POST", "/config", &other);
    assert_eq!((status, why.contains("ports[0].location")), (400, true), "{why}");
}

#[test]
fn root_the_flows_of_a_killed_engine_are_over_and_the_next_configuration_has_it_again() {
    let Some(lab) = Lab::new() else { return };
    let endless = lab.config(&[flow("f", "tx", "rx", None), flow("back", "rx", "tx", None)]);
    lab.done("POST", "/config", &endless);
    lab.transmit("start");
    eventually("frames arrive", || {
        lab.metrics("flow").iter().all(|row| row["frames_rx"].as_u64() > Some(100))
    });
    for pid in lab.engines("gen") {
        signal(pid, "KILL");
    }
    let mut rows = Vec::new();
    eventually("its flow is over", || {
        rows = lab.metrics("flow");
        rows[0]["transmit"] == "stopped"
    });
    // How many of its frames were sent nobody knows, nor what it received.
    assert!(rows[0]["frames_tx"].is_null() && rows[0]["frames_rx"].as_u64() > Some(100), "{rows:?}");
    assert!(rows[1]["transmit"] == "started" && rows[1]["frames_rx"].is_null(), "{rows:?}");
    let ports = lab.metrics("port");
    assert!(ports[0]["link"].is_null() && ports[0]["frames_tx"].is_null(), "{ports:?}");
    let warnings = lab.transmit("stop").to_string();
    assert!(warnings.contains(&format!("port tx: {} is lost", lab.tx)), "{warnings}");
    let start = json!({"choice": "flow_transmit", "flow_transmit": {"state": "start", "flow_names": ["f"]}});
    let (status, why) =
        lab.refused("POST", "/control/state", &json!({"choice": "traffic", "traffic": start}));
    assert_eq!((status, why.contains("set the configuration again")), (409, true), "{why}");
    lab.done("POST", "/config", &lab.config(&[flow("f", "tx", "rx", Some(200))]));
    lab.transmit("start");
    let row = &lab.wait_until_stopped()[0];
    assert_eq!((&row["frames_tx"], &row["frames_rx"]), (&json!(200), &json!(200)), "{row}");
}

#[test]
fn root_an_engine_that_hangs_does_not_hang_the_server() {
    let Some(lab) = Lab::new() else { return };
    lab.done("POST", "/config", &lab.config(&[flow("f", "tx", "rx", None)]));
    lab.transmit("start");
    eventually("frames arrive", || lab.metrics("flow")[0]["frames_rx"].as_u64() > Some(0));
    for pid in lab.engines("dut") {
        signal(pid, "STOP");
    }
    let mut row = Value::Null;
    eventually("it is given up", || {
        row = lab.metrics("flow").remove(0);
        row["frames_rx"].is_null()
    });
    assert_eq!((&row["transmit"], row["frames_tx"].as_u64() > Some(0)), (&json!("started"), true), "{row}");
    let warnings = lab.transmit("stop").to_string();
    assert!(warnings.contains("is lost: no answer within"), "{warnings}");
    eventually("it was killed", || lab.engines("dut").is_empty());
}

/// More requests than there are places wait for the engine.
#[test]
fn root_a_stop_ends_flows_while_requests_that_wait_for_an_engine_have_all_places() {
    const REQUESTS: usize = 9;
    let Some(lab) = Lab::new() else { return };
    lab.done("POST", "/config", &lab.config(&[flow("f", "tx", "rx", None)]));
    lab.transmit("start");
    eventually("frames arrive", || lab.metrics("flow")[0]["frames_rx"].as_u64() > Some(0));
    let hung = lab.engines("dut");
    hung.iter().for_each(|pid| signal(*pid, "STOP"));
    let body = json!({"choice": "flow", "flow": {}}).to_string();
    let send = |path: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}"
        );
        let mut stream = lab.place.inside(|| connect("127.0.0.1:8443".parse().unwrap()));
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        stream
    };
    let mut waiting: Vec<_> = (0..REQUESTS).map(|_| send("/monitor/metrics", &body)).collect();
    let stop = json!({"choice": "flow_transmit", "flow_transmit": {"state": "stop"}});
    let stop = json!({"choice": "traffic", "traffic": stop}).to_string();
    waiting.push(send("/control/state", &stop));
    let mut sent = lab.sent();
    eventually("no frame is sent", || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let before = std::mem::replace(&mut sent, lab.sent());
        before == sent
    });
    // The engine is given up, and killed, 20 s after the first request: the flow has ended before.
    assert_eq!(lab.engines("dut"), hung);
    let answered = waiting.iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        stream.peek(&mut [0]).is_ok()
    });
    assert_eq!(answered.count(), 0, "the engine hangs");
}

#[test]
fn root_engines_end_with_their_server_and_leave_nothing() {
    for name in ["TERM", "KILL"] {
        let Some(lab) = Lab::new() else { return };
        lab.done("POST", "/config", &lab.config(&[flow("f", "tx", "rx", None)]));
        lab.set_port("capture", json!({"state": "start"}));
        lab.transmit("start");
        eventually("frames arrive", || lab.metrics("flow")[0]["frames_rx"].as_u64() > Some(100));
        assert_eq!(lab.folder.path().read_dir().unwrap().count(), 1);
        lab.set_port("link", json!({"state": "down", "port_names": ["rx"]}));
        assert!(!lab.is_up("dut"));
        lab.server.signal(name);
        lab.wait_until_left();
        assert!(lab.is_up("dut"), "SIG{name}: a link that a client has set down is set up");
        assert_eq!(lab.folder.path().read_dir().unwrap().count(), 0, "SIG{name}: the capture was removed");
    }
}

/// What an engine elsewhere allows is its own command line's: here one that has another interface, or none of this namespace.
#[test]
fn root_an_engine_allows_what_its_own_command_line_has() {
    let Some(()) = privileges() else { return };
    let hosts = Hosts::make();
    let (gen_, g) = (hosts.name("gen"), hosts.interface("gen"));
    ip(&format!("-n {gen_} link add other type veth peer name another"));
    ip(&format!("-n {gen_} addr add 198.51.100.1/24 dev {g}"));
    let configured = |arguments: &str, location: &str| {
        let place = Place::new("none");
        place.ip("link set lo up");
        let mut command = capbench(&format!("otg {arguments} --port"));
        let mut server = Running::start(&place, command.arg(location));
        server.wait_for("OTG at ");
        let config = json!({"ports": [{"name": "p", "location": location}]}).to_string();
        let address = "127.0.0.1:8443".parse().unwrap();
        let answer = place.inside(|| exchange(connect(address), "POST", "/config", &config));
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    for (arguments, expected) in [
        ("--agent --port other", "is no interface that clients may use; there are: other (--port)"),
        (&*format!("--agent --port {g}"), "--isolated"),
        ("--agent --port ssh:host/eth1", "with --agent, write an interface of this namespace"),
        ("--agent --port nosuch", "--port nosuch"),
    ] {
        // The server's own --isolated is no word of that command line.
        let location = format!("exec:ip netns exec {gen_} {OWN} otg {arguments},{g}");
        let (status, answer) = configured("--isolated", &location);
        assert!((400..500).contains(&status) && answer.contains(expected), "{arguments}: {status} {answer}");
    }
    // The location leaves the command line to the server.
    let (status, answer) = configured("", &hosts.location("gen"));
    assert!(status == 422 && answer.contains("--isolated"), "{status} {answer}");
    assert_eq!(configured("--isolated", &hosts.location("gen")), (200, r#"{"warnings":[]}"#.into()));
}

/// The key of the server may use one interface. Its network goes away while flows are sent.
#[test]
fn root_an_engine_behind_ssh_has_the_rights_of_its_key_and_ends_without_its_network() {
    let Some(()) = privileges() else { return };
    let hosts = Hosts::make();
    let engine = format!("{OWN} otg --agent --lease 5s --port {}", hosts.interface("gen"));
    let management = Management::make(&hosts.name("ctl"), &[(hosts.name("gen"), engine)]);
    let tx = management.location(0, &hosts.interface("gen"));
    let rx = management.location(0, Management::INTERFACE);
    let lab = Lab::with(hosts, Scratch::new(), tx, rx, |command| management.reached_by(command));
    let (status, why) = lab.refused("POST", "/config", &lab.config(&[]));
    let expected = format!(r#"ports[1].location: \"{}\" is no interface"#, Management::INTERFACE);
    assert_eq!((status, why.contains(&expected)), (400, true), "{why}");
    let port = json!({"name": "tx", "location": lab.tx});
    let mut config = json!({"ports": [port], "flows": [flow("f", "tx", "tx", Some(300))]});
    config["flows"][0]["tx_rx"]["port"]["rx_names"] = json!([]);
    let before = lab.hosts.received();
    lab.done("POST", "/config", &config);
    lab.transmit("start");
    assert_eq!(lab.wait_until_stopped()[0]["frames_tx"], 300);
    assert_eq!(lab.hosts.received() - before, 300);
    config["flows"][0] = flow("f", "tx", "tx", None);
    config["flows"][0]["tx_rx"]["port"]["rx_names"] = json!([]);
    lab.done("POST", "/config", &config);
    lab.transmit("start");
    lab.set_port("link", json!({"state": "up"}));
    eventually("frames are sent", || lab.metrics("flow")[0]["frames_tx"].as_u64() > Some(100));
    ip(&format!("-n {} link set dev m0 down", management.space()));
    let mut row = Value::Null;
    eventually("it is given up", || {
        row = lab.metrics("flow").remove(0);
        row["transmit"] == "stopped"
    });
    assert!(row["frames_tx"].is_null(), "{row}");
    lab.wait_until_left();
    let sent = lab.hosts.received();
    assert!(lab.transmit("stop").to_string().contains("is lost"));
    assert_eq!(lab.hosts.received(), sent, "nothing is sent any more");
}
