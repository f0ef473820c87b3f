//! Clients that take what a server has: one that behaves loses no request, though it has their address.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use capbench_testing::http::connect;
use capbench_testing::tls::{self, Authority};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::{Value, json};

use crate::support::{Place, Running, capbench, eventually, privileges};

/// How many clients abuse a server at the same time.
const ABUSERS: usize = 32;

/// How long each server is abused; `CAPBENCH_ABUSE_SECONDS` says it otherwise.
const DURATION: Duration = Duration::from_secs(3);

/// How long all abusers do the same.
const DURATION_OF_ONE: Duration = Duration::from_secs(2);

/// The servers' ports.
const OTG_PORT: u16 = 8443;
const METRICS_PORT: u16 = 9873;

/// Frames of the capture that clients fetch: 7 MB, more than the buffers of a connection take.
const FRAMES: u64 = 5_000;

/// The longest wait for an answer, also on a host whose CPUs others use. A place is free within 2 s, and 16 of the abusers wait with
/// the client that behaves.
const LONGEST: Duration = Duration::from_secs(30);

/// Time between an end and a new connection of a client.
const PAUSE: Duration = Duration::from_millis(10);

/// The password `secret` of the user alice, at the usual cost of 10.
const USERS: &str =
    "basic_auth_users:\n  alice: $2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u\n";

/// The request that fetches the capture.
const CAPTURE: &str = r#"{"port_name":"rx"}"#;

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// How a client abuses a server.
#[derive(Clone, Copy, Debug)]
enum Abuse {
    /// Sends an octet of its headers now and then.
    Slow,
    /// Begins a handshake and does not go on.
    HalfOpen,
    /// Is silent after an answer.
    Idle,
    WrongPassword,
    /// Asks again and again, and reads no answer.
    Unread,
    HugeHeader,
    /// Announces a large configuration, and sends an octet of it.
    LargeBody,
    /// Fetches a capture, and reads little of it.
    SlowCapture,
}

impl Abuse {
    const ALL: [Self; 8] = [
        Self::Slow,
        Self::HalfOpen,
        Self::Idle,
        Self::WrongPassword,
        Self::Unread,
        Self::HugeHeader,
        Self::LargeBody,
        Self::SlowCapture,
    ];

    /// Does it in one connection, until the server ends that.
    fn commit(self, server: &Server, until: &AtomicBool) -> std::io::Result<()> {
        let mut tcp = TcpStream::connect(server.address)?;
        tcp.set_read_timeout(Some(Duration::from_secs(3)))?;
        tcp.set_write_timeout(Some(Duration::from_millis(200)))?;
        if matches!(self, Self::HalfOpen) {
            tcp.write_all(&[22, 3, 1, 2, 0])?;
            return wait_for_end(&mut tcp, until);
        }
        let mut stream = tls::over(tcp, server.client.clone());
        while stream.conn.is_handshaking() && !until.load(Ordering::Relaxed) {
            match stream.conn.complete_io(&mut stream.sock) {
                Err(error) if !is_timeout(&error) => return Err(error),
                _ => {}
            }
        }
        match self {
            Self::HalfOpen => {}
            Self::Slow => {
                for octet in server.head("secret", "").bytes().cycle() {
                    if until.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    stream.write_all(&[if octet == b'\r' { b' ' } else { octet }])?;
                    thread::sleep(Duration::from_millis(100));
                }
            }
            Self::Idle => stream.write_all(server.head("secret", "\r\n").as_bytes())?,
            Self::WrongPassword => stream.write_all(server.head("wrong", "\r\n").as_bytes())?,
            Self::Unread => {
                let head = server.head("secret", "\r\n");
                while stream.write_all(head.as_bytes()).is_ok() && !until.load(Ordering::Relaxed) {}
                return wait_for_reset(&mut stream.sock, until);
            }
            Self::HugeHeader => {
                stream.write_all(
                    server.head("secret", &format!("X: {}\r\n\r\n", "a".repeat(1 << 20))).as_bytes(),
                )?;
            }
            Self::LargeBody => stream.write_all((server.post("/config", 2_000_000) + "{").as_bytes())?,
            Self::SlowCapture => {
                stream.write_all((server.post("/monitor/capture", CAPTURE.len()) + CAPTURE).as_bytes())?;
                while !until.load(Ordering::Relaxed) && stream.read(&mut [0; 16])? > 0 {
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
        wait_for_end(&mut stream, until)
    }
}

/// As long as nothing is read, only writing shows the end.
fn wait_for_reset(tcp: &mut TcpStream, until: &AtomicBool) -> std::io::Result<()> {
    while !until.load(Ordering::Relaxed) {
        match tcp.write(&[0]) {
            Err(error) if !is_timeout(&error) => return Err(error),
            _ => thread::sleep(Duration::from_millis(100)),
        }
    }
    Ok(())
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

fn wait_for_end(stream: &mut impl Read, until: &AtomicBool) -> std::io::Result<()> {
    while !until.load(Ordering::Relaxed) {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return Ok(()),
            Err(error) if !is_timeout(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn head(method: &str, path: &str, password: &str) -> String {
    let code = BASE64_STANDARD.encode(format!("alice:{password}"));
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {code}\r\n")
}

/// A server that is abused.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    path: &'static str,
    client: ClientConfig,
}

impl Server {
    /// A request's head without its end.
    fn head(&self, password: &str, end: &str) -> String {
        head("GET", self.path, password) + end
    }

    /// The head of a request with a body.
    fn post(&self, path: &str, length: usize) -> String {
        let head = head("POST", path, "secret");
        format!(
            "{head}Content-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        )
    }

    /// A request of a client that behaves, in a connection of its own. Returns the answer.
    fn exchange(&self, request: &str) -> Result<String, String> {
        let mut stream: Stream = tls::over(connect(self.address), self.client.clone());
        let mut answer = String::new();
        let asked = stream.write_all(request.as_bytes());
        let ended = asked.and_then(|()| stream.read_to_string(&mut answer));
        let is_whole = answer.starts_with("HTTP/1.1 200 OK\r\n");
        if is_whole { Ok(answer) } else { Err(format!("{ended:?}: {answer}")) }
    }

    fn ask(&self) -> Result<(), String> {
        self.exchange(&self.head("secret", "Connection: close\r\n\r\n")).map(drop)
    }

    fn done(&self, path: &str, body: &Value) -> String {
        let body = body.to_string();
        self.exchange(&(self.post(path, body.len()) + &body)).unwrap()
    }

    /// Makes a capture that clients can fetch.
    fn capture(&self) {
        let config = json!({
            "ports": [{"name": "tx", "location": "left"}, {"name": "rx", "location": "right"}],
            "captures": [{"name": "c", "port_names": ["rx"]}],
            "flows": [{
                "name": "f", "tx_rx": {"port": {"tx_name": "tx", "rx_names": ["rx"]}}, "rate": {"pps": 20_000},
                "packet": [{"ethernet": {}}, {"ipv4": {}}, {"udp": {}}], "size": {"fixed": 1500},
                "duration": {"fixed_packets": {"packets": FRAMES}}, "metrics": {"enable": true},
            }],
        });
        let set_capture =
            |state| json!({"choice": "port", "port": {"choice": "capture", "capture": {"state": state}}});
        self.done("/config", &config);
        self.done("/control/state", &set_capture("start"));
        let start = json!({"choice": "flow_transmit", "flow_transmit": {"state": "start"}});
        self.done("/control/state", &json!({"choice": "traffic", "traffic": start}));
        let flows = json!({"choice": "flow", "flow": {}});
        eventually("the flow has stopped", || self.done("/monitor/metrics", &flows).contains("\"stopped\""));
        self.done("/control/state", &set_capture("stop"));
    }

    /// Abuses it for a time. Returns how many requests of the client that behaves were answered, the longest wait for one, and how
    /// many connections its abusers made.
    fn endure(&self, abuse: &[Abuse], duration: Duration) -> Figures {
        let (is_over, abuses) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut figures = Figures::default();
        thread::scope(|scope| {
            for number in 0..ABUSERS {
                let (is_over, abuses) = (&is_over, &abuses);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        // That the server ends its connection is what an abuser gets.
                        let _ = abuse[number % abuse.len()].commit(self, is_over);
                        abuses.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(PAUSE);
                    }
                });
            }
            let begun = Instant::now();
            while begun.elapsed() < duration {
                let asked = Instant::now();
                match self.ask() {
                    Ok(()) => figures.answered += 1,
                    Err(why) => figures.lost.push(why),
                }
                figures.longest = figures.longest.max(asked.elapsed());
                thread::sleep(PAUSE);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        Figures { abuses: abuses.into_inner(), ..figures }
    }
}

#[derive(Debug, Default)]
struct Figures {
    answered: u64,
    lost: Vec<String>,
    longest: Duration,
    abuses: u64,
}

#[test]
fn root_a_client_that_behaves_loses_no_request_among_abusive_ones() {
    let Some(()) = privileges() else { return };
    let (place, folder, authority) = (Place::with_pair(), capbench_testing::Scratch::new(), Authority::new());
    place.ip("link set lo up");
    let config = authority.web_config(&folder, USERS);
    let seconds = std::env::var("CAPBENCH_ABUSE_SECONDS").ok();
    let duration = seconds.map_or(DURATION, |seconds| Duration::from_secs(seconds.parse().unwrap()));
    for (arguments, port, path, started) in [
        ("otg --port left --port right --web-config", OTG_PORT, "/config", "OTG at https://127.0.0.1:8443"),
        (
            "count -i right --metrics 9873 --web-config",
            METRICS_PORT,
            "/metrics",
            "metrics at 127.0.0.1:9873/metrics",
        ),
    ] {
        let mut running = Running::start(&place, capbench(arguments).arg(&config));
        running.wait_for(started);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let server = Arc::new(Server { address, path, client: authority.client(None) });
        let mut abused = vec![(&Abuse::ALL[..], duration)];
        if port == OTG_PORT {
            place.inside(|| server.capture());
            abused.push((&[Abuse::LargeBody], DURATION_OF_ONE));
            abused.push((&[Abuse::SlowCapture], DURATION_OF_ONE));
        }
        for (abuse, duration) in abused {
            let Figures { answered, lost, longest, abuses } = place.inside(|| server.endure(abuse, duration));
            let memory = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
            let memory = memory.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_string();
            println!(
                "{arguments}, {abuse:?}: {answered} answered, the longest after {longest:?}; {abuses} connections of abusers; {memory}"
            );
            assert!(
                lost.is_empty(),
                "{arguments}, {abuse:?}: {} of {answered} lost: {}",
                lost.len(),
                lost[0]
            );
            assert!(answered > 0 && longest < LONGEST, "{arguments}, {abuse:?}: {longest:?}");
        }
        running.signal("INT");
        let ended = running.end();
        let said = "connections ended, whose clients sent or read too slowly";
        assert!(ended.errors.contains(said), "{arguments}: {ended:?}");
    }
}
