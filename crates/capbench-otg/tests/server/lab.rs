//! A server on veth pairs in a namespace, and its clients: plain HTTP requests, and every answer held against the model.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use capbench_http::{Port, Protection};
use capbench_model::units::ByteCount;
use capbench_otg::{Allowed, Options, Server};
use capbench_testing::Scratch;
use capbench_testing::http::{Answer, exchange};
use capbench_testing::network::{Place, eventually, privileges};
use serde_json::{Value, json};

use crate::model::assert_answer;

/// The client of most requests.
pub const CLIENT: [u8; 4] = [127, 0, 0, 1];

/// A server in a namespace with both ends of veth pairs, and its clients.
pub struct Lab {
    pub place: Arc<Place>,
    pub address: SocketAddr,
    pub server: Server,
    pub folder: Scratch,
}

impl Lab {
    /// With `pairs` pairs: `a0` and `b0`, `a1` and `b1`, and so on.
    pub fn new(pairs: usize, lease: Duration) -> Option<Self> {
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
    pub fn another(&self, interface: &str) -> Self {
        let folder = Scratch::new();
        let (server, address) =
            serve(&self.place, &folder, [interface.to_string()].into_iter(), Duration::from_secs(600));
        Self { place: Arc::clone(&self.place), address, server, folder }
    }

    /// The answer to a request from this address.
    pub fn ask(&self, client: [u8; 4], method: &str, path: &str, body: &str) -> Answer {
        self.place.inside(|| {
            let stream = connect_from(client, self.address);
            stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
            exchange(stream, method, path, body)
        })
    }

    /// The same, held against the model.
    pub fn request_from(&self, client: [u8; 4], method: &str, path: &str, body: &str) -> Answer {
        let answer = self.ask(client, method, path, body);
        assert_answer(method, path, &answer);
        answer
    }

    pub fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.request_from(CLIENT, method, path, &body);
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    pub fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.request(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    pub fn refused(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let (status, answer) = self.request(method, path, body);
        assert_ne!(status, 200, "{method} {path}: {answer}");
        (status, answer["errors"][0].as_str().unwrap().to_string())
    }

    pub fn transmit(&self, state: &str, flows: &[&str]) -> Value {
        let flow_transmit = json!({"state": state, "flow_names": flows});
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": flow_transmit});
        self.done("POST", "/control/state", &json!({"choice": "traffic", "traffic": traffic}))
    }

    pub fn capture(&self, state: &str) -> Value {
        let capture = json!({"choice": "capture", "capture": {"state": state}});
        self.done("POST", "/control/state", &json!({"choice": "port", "port": capture}))
    }

    pub fn captured(&self, request: &Value) -> Vec<u8> {
        let answer = self.request_from(CLIENT, "POST", "/monitor/capture", &request.to_string());
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        answer.body
    }

    pub fn flows(&self) -> Vec<Value> {
        let metrics = self.done("POST", "/monitor/metrics", &json!({"choice": "flow", "flow": {}}));
        metrics["flow_metrics"].as_array().unwrap().clone()
    }

    pub fn ports(&self) -> Vec<Value> {
        let metrics = self.done("POST", "/monitor/metrics", &json!({"choice": "port", "port": {}}));
        metrics["port_metrics"].as_array().unwrap().clone()
    }

    pub fn wait_until_stopped(&self) -> Vec<Value> {
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
        allowed: Allowed { interfaces: interfaces.collect(), isolated: false, max_rate: None },
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
pub fn connect_from(client: [u8; 4], server: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(client)), 0)).unwrap();
        let stream = socket.connect(server).await.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream
    })
}

/// A flow of UDP over IPv4.
pub fn flow(name: &str, tx: &str, rx: &[&str], frames: u64, pps: u64) -> Value {
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

pub fn ports(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": format!("p-{name}"), "location": name})).collect()
}
