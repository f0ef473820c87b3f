//! `capbench otg` as a program: what its command line decides, and its end. Its answers are tested in capbench-otg.

use std::fs;

use capbench_testing::http::{connect, exchange};
use serde_json::json;

use crate::support::{Place, Running, capbench, eventually, privileges, run};

/// Any free port would be as good; the namespace has all of them.
const ADDRESS: &str = "127.0.0.1:8443";

fn post(place: &Place, path: &str, body: &serde_json::Value) -> (u16, String) {
    let answer =
        place.inside(|| exchange(connect(ADDRESS.parse().unwrap()), "POST", path, &body.to_string()));
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

#[test]
fn root_flows_stop_and_captures_are_removed_when_the_server_is_told_to_end() {
    let Some(()) = privileges() else { return };
    let (place, folder) = (Place::with_pair(), crate::support::Scratch::new());
    place.ip("link set lo up");
    let mut command = capbench("otg --port left --port right --capture-dir");
    let mut server = Running::start(&place, command.arg(folder.path()));
    server.wait_for("OTG at http://127.0.0.1:8443, ports left, right");
    let config = json!({
        "ports": [{"name": "tx", "location": "left"}, {"name": "rx", "location": "right"}],
        "captures": [{"name": "c", "port_names": ["rx"]}],
        "flows": [{"name": "f", "tx_rx": {"port": {"tx_name": "tx", "rx_names": ["rx"]}}, "metrics": {"enable": true}}],
    });
    assert_eq!(post(&place, "/config", &config), (200, r#"{"warnings":[]}"#.into()));
    for state in [
        json!({"choice": "port", "port": {"choice": "capture", "capture": {"state": "start"}}}),
        json!({"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}}),
    ] {
        assert_eq!(post(&place, "/control/state", &state).0, 200);
    }
    eventually("frames are sent", || place.sent() > 100);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    // A second server has no port of the first.
    let second = run(&place, capbench("otg --port left --listen 127.0.0.1:8443"));
    assert_eq!(
        (second.code, second.errors.contains("--listen 127.0.0.1:8443: cannot listen there")),
        (Some(1), true)
    );
    server.signal("TERM");
    let ended = server.end();
    assert_eq!(ended.code, Some(128 + 15), "{ended:?}");
    let sent = place.sent();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the capture was removed");
    assert_eq!(place.sent(), sent);
}

#[test]
fn root_an_interface_that_does_not_exist_is_named_at_the_start() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.ip("link set lo up");
    let ended = run(&place, capbench("otg --port left --port nosuch --listen 127.0.0.1:0"));
    assert!(ended.code != Some(0) && ended.errors.contains("--port nosuch: "), "{ended:?}");
}

#[test]
fn root_a_port_sends_no_more_than_the_highest_rate() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.ip("link set lo up");
    let mut server = Running::start(&place, capbench("otg --port left --port right --max-rate 5k"));
    server.wait_for("OTG at ");
    let flow = |name: &str, pps: u32| {
        let port = json!({"tx_name": "tx", "rx_names": ["rx"]});
        json!({"name": name, "tx_rx": {"port": port}, "rate": {"choice": "pps", "pps": pps}})
    };
    let config = |flows: &[serde_json::Value]| {
        let ports = json!([{"name": "tx", "location": "left"}, {"name": "rx", "location": "right"}]);
        post(&place, "/config", &json!({"ports": ports, "flows": flows}))
    };
    let (status, why) = config(&[flow("f", 5001)]);
    assert!(status == 400 && why.contains("flows[0].rate: 5001 frames/s are above 5000"), "{why}");
    assert_eq!(config(&[flow("f", 3000), flow("g", 2500), flow("h", 2000)]).0, 200);
    let start = |names: &[&str]| {
        let transmit = json!({"state": "start", "flow_names": names});
        let traffic = json!({"choice": "flow_transmit", "flow_transmit": transmit});
        post(&place, "/control/state", &json!({"choice": "traffic", "traffic": traffic}))
    };
    let (status, why) = start(&[]);
    assert!(status == 409 && why.contains("port tx: all flows together: 7500 frames/s"), "{why}");
    assert_eq!(start(&["f"]).0, 200);
    // What is sent already counts, and a flow that is started again counts once.
    let (status, why) = start(&["g"]);
    assert!(status == 409 && why.contains("5500 frames/s are above 5000"), "{why}");
    assert_eq!(start(&["f", "h"]).0, 200);
    server.signal("INT");
    server.end();
}
