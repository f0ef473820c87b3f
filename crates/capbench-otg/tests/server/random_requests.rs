//! Random requests of two clients while flows are sent: any request of the interface, right or wrong, in any order.
//!
//! `CAPBENCH_REQUESTS`, or `PROPTEST_CASES`, is the number of sequences of requests, `PROPTEST_RNG_SEED` the seed, which is printed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capbench_testing::network::{Place, eventually};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};

use crate::lab::{CLIENT, Lab, flow, ports};
use crate::model::{assert_answer, is_request};

const OTHER_CLIENT: [u8; 4] = [127, 0, 0, 2];

/// Methods, and paths with and without a request of the model.
const METHODS: [&str; 6] = ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"];
const PATHS: [&str; 13] = [
    "/config",
    "/config/append",
    "/config/delete",
    "/control/state",
    "/control/action",
    "/monitor/metrics",
    "/monitor/states",
    "/monitor/capture",
    "/capabilities/version",
    "/",
    "/config/",
    "/../config?x=1",
    "/monitor",
];

#[derive(Clone, Debug)]
struct Asked {
    by_other: bool,
    method: &'static str,
    path: &'static str,
    body: String,
}

/// A value somewhere in a document that is replaced, or a member that is added there.
#[derive(Clone, Debug)]
struct Change {
    place: Index,
    member: Option<&'static str>,
    value: Value,
}

impl Change {
    fn apply(&self, document: &mut Value) {
        let mut places = Vec::new();
        list_places(document, String::new(), &mut places);
        let place = document.pointer_mut(&places[self.place.index(places.len())]).unwrap();
        match (self.member, place) {
            (Some(member), Value::Object(members)) => drop(members.insert(member.into(), self.value.clone())),
            (_, place) => *place = self.value.clone(),
        }
    }
}

/// The JSON pointers of a value and of all that it has.
fn list_places(value: &Value, here: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                list_places(member, format!("{here}/{name}"), places);
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                list_places(element, format!("{here}/{number}"), places);
            }
        }
        _ => {}
    }
    places.push(here);
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let members = select(vec![
        "choice",
        "name",
        "state",
        "port_names",
        "flow_names",
        "rate",
        "size",
        "pps",
        "percentage",
        "metrics",
        "payload",
        "mtu",
        "packet_size",
        "devices",
        "lags",
        "no_such_member",
    ]);
    let values = select(vec![
        json!(null),
        json!([]),
        json!({}),
        json!(true),
        json!(""),
        json!("a1"),
        json!("p-a0"),
        json!("p-b0"),
        json!("f"),
        json!("start"),
        json!("no such thing \u{0}\u{fffd}"),
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
        json!(["f", "f"]),
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
    let change = (any::<Index>(), prop::option::weighted(0.2, members), values);
    let change = change.prop_map(|(place, member, value)| Change { place, member, value });
    // Half of the requests are as they should be.
    prop_oneof![Just(Vec::new()), prop::collection::vec(change, 1..3)]
}

/// Two flows that end and one that does not, which the other port sends: so slowly that its thread sleeps between two frames.
fn config() -> Value {
    let mut endless = flow("g", "p-b0", &["p-a0"], 1, 200);
    endless["duration"] = json!({"choice": "continuous"});
    let mut uncounted = flow("u", "p-a0", &[], 1, 1000);
    uncounted["metrics"] = json!({"enable": false});
    json!({
        "ports": ports(&["a0", "b0"]),
        "layer1": [{"name": "ly", "port_names": ["p-a0"], "speed": "speed_10_gbps", "mtu": 1500}],
        "captures": [{"name": "ca", "port_names": ["p-b0"], "format": "pcapng", "packet_size": 100}],
        "flows": [flow("f", "p-a0", &["p-b0"], 5, 10_000), endless, uncounted],
    })
}

/// A request of each kind, as it should be.
fn requests() -> impl Strategy<Value = (&'static str, &'static str, Value)> {
    let names = |names: &'static [&'static str]| prop::sample::subsequence(names, 0..=names.len());
    let traffic = (select(vec!["start", "stop", "pause", "resume"]), names(&["f", "g", "u"]));
    let traffic = traffic.prop_map(|(state, flows)| {
        let flow_transmit = json!({"state": state, "flow_names": flows});
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": flow_transmit});
        ("POST", "/control/state", json!({"choice": "traffic", "traffic": traffic}))
    });
    let of_port = |choice: &'static str, states: [&'static str; 2], its: &'static [&'static str]| {
        (select(states.to_vec()), names(its)).prop_map(move |(state, ports)| {
            let port = json!({"choice": choice, choice: {"state": state, "port_names": ports}});
            ("POST", "/control/state", json!({"choice": "port", "port": port}))
        })
    };
    let flow_metrics = (names(&["f", "g"]), names(&["transmit", "frames_tx", "loss", "latency"])).prop_map(
        |(flow_names, metric_names)| {
            let flow = json!({"flow_names": flow_names, "metric_names": metric_names});
            ("POST", "/monitor/metrics", json!({"choice": "flow", "flow": flow}))
        },
    );
    let port_metrics = (names(&["p-a0", "p-b0"]), names(&["link", "frames_rx", "speed"])).prop_map(
        |(port_names, column_names)| {
            let port = json!({"port_names": port_names, "column_names": column_names});
            ("POST", "/monitor/metrics", json!({"choice": "port", "port": port}))
        },
    );
    let slice =
        json!({"choice": "slice", "slice": {"choice": "initial", "initial": {"start": 2, "count": 3}}});
    let update = |member: &'static str, value: Value| {
        let mut changed = flow("f", "p-a0", &["p-b0"], 5, 10_000);
        changed[member] = value;
        let flows = json!({"property_names": [member], "flows": [changed]});
        Just(("PATCH", "/config", json!({"choice": "flows", "flows": flows})))
    };
    prop_oneof![
        4 => Just(("POST", "/config", config())),
        8 => traffic,
        4 => of_port("capture", ["start", "stop"], &["p-b0"]),
        2 => of_port("link", ["up", "down"], &["p-a0", "p-b0"]),
        3 => flow_metrics,
        3 => port_metrics,
        1 => Just(("POST", "/monitor/capture", json!({"port_name": "p-b0"}))),
        1 => Just(("POST", "/monitor/capture", json!({"port_name": "p-b0", "packets": slice}))),
        1 => update("rate", json!({"choice": "pps", "pps": 5000})),
        1 => update("size", json!({"choice": "fixed", "fixed": 200})),
        1 => Just(("GET", "/config", Value::Null)),
        1 => Just(("GET", "/capabilities/version", Value::Null)),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let right = (requests(), changes()).prop_map(|((method, path, mut body), changes)| {
        changes.iter().for_each(|change| change.apply(&mut body));
        (method, path, body.to_string())
    });
    let wrong_place = (select(METHODS.to_vec()), select(PATHS.to_vec()), requests())
        .prop_map(|(method, path, (_, _, body))| (method, path, body.to_string()));
    let broken = prop_oneof![".{0,40}", Just("[".repeat(20_000)), Just("{\"a\":".repeat(200))];
    let wrong_body = (requests(), broken).prop_map(|((method, path, _), body)| (method, path, body));
    let any = prop_oneof![8 => right, 1 => wrong_place, 1 => wrong_body];
    (prop::bool::weighted(0.1), any).prop_map(|(by_other, (method, path, body))| Asked {
        by_other,
        method,
        path,
        body,
    })
}

/// Frames that an interface of the namespace has received and sent.
fn frames_of(place: &Place, interface: &str) -> [u64; 2] {
    let text = place.inside(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:"))).unwrap();
    [1, 9].map(|column| line.split_whitespace().nth(column).unwrap().parse().unwrap())
}

/// After the last request no flow of either client is sent.
fn end(lab: &Lab) {
    let flow_transmit = json!({"choice": "flow_transmit", "flow_transmit": {"state": "stop"}});
    let stop = json!({"choice": "traffic", "traffic": flow_transmit}).to_string();
    let statuses =
        [CLIENT, OTHER_CLIENT].map(|client| lab.request_from(client, "POST", "/control/state", &stop).status);
    // What runs for the other client can also be a capture, or a link that is down.
    assert!(matches!(statuses, [200, 200 | 409] | [409, 200]), "{statuses:?}");
    eventually("no port sends", || lab.ports().iter().all(|port| port["transmit"] == "stopped"));
    let sent = || ["a0", "b0"].map(|interface| frames_of(&lab.place, interface)[1]);
    let before = sent();
    // For a frame that comes when all is over.
    sleep(Duration::from_millis(20));
    assert_eq!(sent(), before, "frames after the end");
}

/// Of fewer requests, chance can leave an outcome out.
const ENOUGH: u64 = 1000;

#[test]
fn root_any_requests_get_answers_of_the_model_and_send_on_allowed_ports_only() {
    let Some(lab) = Lab::new(1, Duration::from_secs(600)) else { return };
    lab.place.ip("link add name a1 type veth peer name b1");
    for end in ["a1", "b1"] {
        lab.place.ip(&format!("link set dev {end} arp off up"));
    }
    let mut settings = Config { failure_persistence: None, ..Config::default() };
    if settings.rng_seed == RngSeed::Random {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        settings.rng_seed = RngSeed::Fixed(now.as_secs());
    }
    if let Some(cases) = env::var("CAPBENCH_REQUESTS").ok().and_then(|cases| cases.parse().ok()) {
        settings.cases = cases;
    }
    println!("PROPTEST_RNG_SEED={} PROPTEST_CASES={}", settings.rng_seed, settings.cases);
    let answers = RefCell::new(BTreeMap::<_, u64>::new());
    // Configurations that were taken: those that the model does not have, and those that it has.
    let taken = RefCell::new([0, 0]);
    let outcome = TestRunner::new(settings).run(&prop::collection::vec(asked(), 1..16), |sequence| {
        // Each begins alike, with what the one before left to be ended.
        let mut begin = config();
        begin["options"] = json!({"port_options": {"location_preemption": true}});
        lab.done("POST", "/config", &begin);
        lab.capture("start");
        lab.transmit("start", &[]);
        // A configuration is returned as the client wrote it. capbench also takes the short forms of packet files, for example.
        let mut config_is_of_model = true;
        let get = Asked { by_other: false, method: "GET", path: "/config", body: String::new() };
        for Asked { by_other, method, path, body } in sequence.into_iter().chain([get]) {
            let client = if by_other { OTHER_CLIENT } else { CLIENT };
            let answer = lab.ask(client, method, path, &body);
            let status = answer.status;
            *answers.borrow_mut().entry((method, path, status)).or_default() += 1;
            prop_assert!(status < 500 || status == 501, "{method} {path}: {status}: {body}");
            let is_change = status == 200 && path == "/config" && method != "GET";
            if let (true, Ok(body)) = (is_change, serde_json::from_str(&body)) {
                config_is_of_model = match method {
                    "POST" => is_request("Config", &body),
                    _ => config_is_of_model && is_request("Config.Update", &body),
                };
                taken.borrow_mut()[usize::from(config_is_of_model)] += 1;
            }
            if config_is_of_model || (method, path) != ("GET", "/config") {
                assert_answer(method, path, &answer);
            }
        }
        end(&lab);
        Ok(())
    });
    let answers = answers.into_inner();
    let [others, of_model] = taken.into_inner();
    println!("{of_model} configurations taken as the model has them, {others} others");
    println!("{} requests, by their answers:", answers.values().sum::<u64>());
    for ((method, path, status), count) in &answers {
        println!("{count:>8} {method} {path} {status}");
    }
    outcome.unwrap();
    assert!(of_model > 0, "no configuration of the model was taken");
    for (method, path) in [
        ("POST", "/config"),
        ("PATCH", "/config"),
        ("POST", "/control/state"),
        ("POST", "/monitor/metrics"),
        ("POST", "/monitor/capture"),
    ] {
        let has = |wanted: fn(u16) -> bool| {
            answers.keys().any(|asked| (asked.0, asked.1) == (method, path) && wanted(asked.2))
        };
        let is_varied = has(|status| status == 200) && has(|status| status >= 400);
        assert!(is_varied || answers.values().sum::<u64>() < ENOUGH, "{method} {path} had one outcome");
    }
    for untouched in ["a1", "b1"] {
        assert_eq!(frames_of(&lab.place, untouched), [0, 0], "{untouched}");
    }
    for used in ["a0", "b0"] {
        assert!(frames_of(&lab.place, used)[1] > 0, "{used}");
    }
}
