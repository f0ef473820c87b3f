//! `capbench otg` under requests that are made to harm it: its memory, its answers to others, and how soon traffic stops.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use capbench_testing::http::{connect, exchange};
use serde_json::{Value, json};

use crate::support::{Place, Running, Scratch, capbench, eventually, privileges, run};

const ADDRESS: &str = "127.0.0.1:8443";

/// What a request may take.
const MOST_MEMORY: u64 = 200 << 20;

/// How soon others are answered, and how soon traffic stops.
const SOON: Duration = Duration::from_secs(3);

struct Lab {
    place: Place,
    server: Running,
    _folder: Scratch,
}

impl Lab {
    fn new(options: &str) -> Option<Self> {
        privileges()?;
        let (place, folder) = (Place::with_pair(), Scratch::new());
        place.ip("link set lo up");
        let mut command = capbench(&format!("otg --port left --port right {options} --capture-dir"));
        let mut server = Running::start(&place, command.arg(folder.path()));
        server.wait_for("OTG at http://127.0.0.1:8443, ports left, right");
        Some(Self { place, server, _folder: folder })
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        ask(&self.place, method, path, body)
    }

    fn done(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, &body.to_string());
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn transmit(&self, state: &str) -> Value {
        let transmit = json!({"state": state});
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": transmit});
        self.done("/control/state", &json!({"choice": "traffic", "traffic": traffic}))
    }

    fn flow(&self) -> Value {
        self.done("/monitor/metrics", &json!({"choice": "flow", "flow": {}}))["flow_metrics"][0].clone()
    }

    /// The largest memory of the server so far in octets.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Waits until no frame is sent, and returns for how long some were.
    fn time_of_traffic(&self) -> Duration {
        let (begun, mut last) = (Instant::now(), (Instant::now(), self.place.sent()));
        // 100 frames a second: a pause of 200 ms is none between frames.
        while last.0.elapsed() < Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
            let sent = self.place.sent();
            if sent != last.1 {
                last = (Instant::now(), sent);
            }
        }
        last.0 - begun
    }
}

fn ask(place: &Place, method: &str, path: &str, body: &str) -> (u16, Value) {
    let answer = place.inside(|| exchange(connect(ADDRESS.parse().unwrap()), method, path, body));
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

fn config(rate: u64, duration: &Value) -> Value {
    json!({
        "ports": [{"name": "tx", "location": "left"}, {"name": "rx", "location": "right"}],
        "captures": [{"name": "c", "port_names": ["rx"]}],
        "flows": [{
            "name": "f", "tx_rx": {"port": {"tx_name": "tx", "rx_names": ["rx"]}}, "rate": {"pps": rate},
            "packet": [{"ethernet": {}}, {"ipv4": {}}, {"udp": {}}], "duration": duration, "metrics": {"enable": true},
        }],
    })
}

/// Bodies of 16 MiB that take a hundred times as much as trees of values.
fn bombs() -> [String; 2] {
    let room = (16 << 20) - 200;
    let filled = |begin: &str, element: &str, end: &str| {
        let count = (room - begin.len() - end.len()) / element.len() - 1;
        format!("{begin}{}{}{end}", element.repeat(count), element.trim_end_matches(','))
    };
    let flow = r#"{"flows":[{"name":"f","tx_rx":{"port":{"tx_name":"tx"}},"#;
    [
        filled(r#"{"ports":["#, r#"{"":0},"#, "]}"),
        filled(&format!(r#"{flow}"packet":[{{"udp":{{"src_port":{{"values":["#), "1,", "]}}}]}]}"),
    ]
}

#[test]
fn root_alone_bodies_made_to_take_memory_harm_nobody_and_delay_no_stop() {
    let Some(lab) = Lab::new("") else { return };
    lab.done("/config", &config(100, &json!({"continuous": {}})));
    lab.transmit("start");
    let (bombs, is_over) = (bombs(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for bomb in &bombs {
            let (place, is_over) = (&lab.place, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let (status, answer) = ask(place, "POST", "/config", bomb);
                    assert_eq!(status, 400, "{answer}");
                }
            });
        }
        for _ in 0..20 {
            let begun = Instant::now();
            assert_eq!(lab.ask("GET", "/capabilities/version", "").0, 200);
            assert_eq!(lab.flow()["transmit"], "started");
            assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(lab.place.sent() > 10);
        let begun = Instant::now();
        lab.transmit("stop");
        let stopped = begun.elapsed();
        println!("stop is answered after {stopped:?}; traffic for {:?} more", lab.time_of_traffic());
        assert!(stopped < SOON, "{stopped:?}");
        assert_eq!(lab.flow()["transmit"], "stopped");
        lab.transmit("start");
        let before = lab.place.sent();
        eventually("frames are sent", || lab.place.sent() > before + 10);
        println!("peak {} MiB", lab.peak() >> 20);
        assert!(lab.peak() < MOST_MEMORY, "{} MiB", lab.peak() >> 20);
        is_over.store(true, Ordering::Relaxed);
    });
    // The server is busy with a body when the signal comes.
    let mut busy = lab.place.inside(|| connect(ADDRESS.parse().unwrap()));
    send_bomb(&mut busy, &bombs[1]);
    lab.server.signal("TERM");
    let time = lab.time_of_traffic();
    println!("traffic for {time:?} after the signal");
    assert!(time < SOON, "{time:?}");
    assert_eq!(lab.server.end().code, Some(128 + 15));
}

fn send_bomb(stream: &mut TcpStream, bomb: &str) {
    let length = bomb.len();
    let head = format!(
        "POST /config HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(bomb.as_bytes())).unwrap();
}

/// Captures wait in their files, not in memory.
#[test]
fn root_clients_that_read_no_capture_take_little_memory_and_no_place_for_long() {
    const CLIENTS: usize = 24;
    let Some(lab) = Lab::new("--capture-size 64MiB") else { return };
    let mut large = config(20_000, &json!({"fixed_packets": {"packets": 20_000}}));
    large["flows"][0]["size"] = json!({"fixed": 1500});
    lab.done("/config", &large);
    let capture =
        |state: &str| json!({"choice": "port", "port": {"choice": "capture", "capture": {"state": state}}});
    lab.done("/control/state", &capture("start"));
    lab.transmit("start");
    eventually("the flow has stopped", || lab.flow()["transmit"] == "stopped");
    lab.done("/control/state", &capture("stop"));
    let before = lab.peak();
    let body = json!({"port_name": "rx"}).to_string();
    let head = format!(
        "POST /monitor/capture HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // From several addresses: one has few connections.
    let silent: Vec<_> = (0..CLIENTS)
        .map(|_| {
            lab.place.inside(|| {
                let mut stream = connect(ADDRESS.parse().unwrap());
                stream.write_all(head.as_bytes()).unwrap();
                stream
            })
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(lab.flow()["frames_tx"], 20_000);
    }
    drop(silent);
    let (status, octets) = lab.place.inside(|| {
        let answer = exchange(connect(ADDRESS.parse().unwrap()), "POST", "/monitor/capture", &body);
        (answer.status, answer.body.len())
    });
    let grown = lab.peak() - before;
    println!("{CLIENTS} silent clients of {octets} octets: {} MiB more", grown >> 20);
    assert!(status == 200 && octets > 20_000 * 1500, "{status}, {octets} octets");
    assert!(grown < octets as u64, "{} MiB", grown >> 20);
}

#[test]
fn root_alone_a_flow_of_one_second_ends_after_one_second() {
    let Some(lab) = Lab::new("") else { return };
    // More than one thread sends anywhere.
    lab.done("/config", &config(40_000_000, &json!({"fixed_seconds": {"seconds": 1}})));
    let begun = Instant::now();
    lab.transmit("start");
    let mut row = Value::Null;
    eventually("the flow has stopped", || {
        row = lab.flow();
        row["transmit"] == "stopped"
    });
    let took = begun.elapsed();
    println!("{took:?}: {row}");
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert!(row["frames_tx"].as_u64().unwrap() < 40_000_000, "{row}");
    let warnings = lab.transmit("stop")["warnings"].to_string();
    assert!(warnings.contains("flow f: its time is over, and "), "{warnings}");
}

#[test]
fn root_a_server_that_is_killed_leaves_no_link_down() {
    let Some(lab) = Lab::new("") else { return };
    lab.done("/config", &config(100, &json!({"continuous": {}})));
    let is_up = |place: &Place| place.ip("-o link show dev right").contains(",UP");
    let link = json!({"choice": "port", "port": {"choice": "link", "link": {"port_names": ["rx"], "state": "down"}}});
    lab.done("/control/state", &link);
    assert!(!is_up(&lab.place));
    lab.server.signal("KILL");
    eventually("the link is up again", || is_up(&lab.place));
}

#[test]
fn root_captures_go_into_no_folder_of_somebody_else() {
    let Some(()) = privileges() else { return };
    let (place, folder) = (Place::with_pair(), Scratch::new());
    place.ip("link set lo up");
    let theirs = folder.file("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(1001), Some(1001)).unwrap();
    for mode in ["", "--agent"] {
        let mut command = capbench(&format!("otg --port left {mode} --capture-dir"));
        let ended = run(&place, command.arg(&theirs));
        let words = format!("--capture-dir {}: {} belongs to user 1001", theirs.display(), theirs.display());
        assert!(ended.code == Some(2) && ended.errors.contains(&words), "{ended:#?}");
    }
}
