use proptest::prelude::*;
use serde_json::{Value, json};

use super::config::{CaptureFormat, Config, Speed};
use super::flow::{Duration, Gap, Rate, Size};
use super::requests::{CaptureRequest, ConfigUpdate, ControlState, MetricsRequest, Traffic, Transmit};
use super::{of_value, read};

/// As snappi writes it, with all defaults.
fn snappi() -> Value {
    json!({
        "ports": [{"name": "p1", "location": "veth0"}, {"name": "p2", "location": "veth1"}],
        "layer1": [{"name": "ly", "port_names": ["p1"], "mtu": 1500, "promiscuous": true, "speed": "speed_1_gbps"}],
        "captures": [{"name": "ca", "port_names": ["p1"], "format": "pcapng", "overwrite": true}],
        "options": {"port_options": {"data_integrity": false, "location_preemption": true}},
        "flows": [{
            "name": "f",
            "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
            "packet": [{"choice": "ethernet", "ethernet": {"src": {"choice": "value", "value": "00:00:01:01:01:01"}}}],
            "rate": {"choice": "pps", "pps": "50"},
            "size": {"choice": "fixed", "fixed": 128},
            "duration": {"choice": "burst", "burst": {"bursts": 3, "gap": 12, "packets": 2,
                         "inter_burst_gap": {"bytes": 10, "choice": "bytes"}}},
            "metrics": {"enable": true, "loss": false, "timestamps": false,
                        "latency": {"enable": true, "mode": "store_forward"}},
        }],
    })
}

#[test]
fn what_snappi_writes_is_read() {
    let config: Config = of_value(&snappi()).unwrap();
    let flow = &config.flows[0];
    assert_eq!((config.captures[0].format, config.captures[0].overwrite), (CaptureFormat::Pcapng, true));
    assert!(matches!(&flow.rate, Rate::Pps(pps) if pps.0.0 == 50));
    assert!(matches!(&flow.size, Size::Fixed(octets) if octets.0 == 128));
    let Duration::Burst(burst) = &flow.duration else { panic!("{:?}", flow.duration) };
    assert_eq!((burst.bursts, burst.packets.0.0), (3, 2));
    assert!(matches!(burst.inter_burst_gap, Gap::Bytes(gap) if gap.0 == 10.0));
    let (_, text) = Config::read(snappi().to_string().as_bytes()).unwrap();
    let value: Value = serde_json::from_slice(&text.octets()).unwrap();
    assert_eq!(value["flows"][0]["rate"]["pps"], 50);
}

#[test]
fn the_least_that_the_model_needs_has_its_defaults() {
    let least =
        json!({"flows": [{"name": "f", "tx_rx": {"port": {"tx_name": "p"}}}], "devices": [], "lags": null});
    let (config, _): (Config, _) = read(least.to_string().as_bytes()).unwrap();
    let flow = &config.flows[0];
    assert!(matches!(&flow.rate, Rate::Pps(pps) if pps.0.0 == 1000));
    assert!(
        matches!(flow.duration, Duration::Continuous(_)) && !flow.metrics.enable && flow.packet.is_none()
    );
    assert!(matches!(read(b"").unwrap(), (Config { flows, .. }, _) if flows.is_empty()));
    let mut config = snappi();
    config["flows"][0]["packet"] = json!([]);
    assert!(of_value::<Config>(&config).unwrap().flows[0].packet.is_none());
}

#[test]
fn speeds_of_the_model_are_read() {
    for (name, bits) in [
        ("speed_10_fd_mbps", Some(1e7)),
        ("speed_100_hd_mbps", Some(1e8)),
        ("speed_1_gbps", Some(1e9)),
        ("speed_800_gbps", Some(8e11)),
        ("speed_1_tbps", None),
        ("1_gbps", None),
    ] {
        assert_eq!(of_value(&json!(name)).ok(), bits.map(Speed), "{name}");
    }
}

/// What the model has and capbench has not, with the path that the error names.
#[test]
fn what_capbench_does_not_have_is_refused_with_its_path() {
    let changed = |pointer: &str, value: Value| {
        let mut config = snappi();
        match config.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => {
                let (parent, member) = pointer.rsplit_once('/').unwrap();
                config.pointer_mut(parent).unwrap()[member] = value;
            }
        }
        of_value(&config).and_then(|config: Config| config.check()).unwrap_err().to_string()
    };
    for (pointer, value, expected) in [
        ("/devices", json!([{"name": "d"}]), "devices: capbench does not support this"),
        ("/events", json!({"dp_events": {}}), "events: capbench does not support this"),
        ("/new_in_the_next_version", json!(1), "new_in_the_next_version: unknown field"),
        (
            "/captures/0/filters",
            json!([{"choice": "custom"}]),
            "captures[0].filters: capbench does not support",
        ),
        ("/captures/0/format", json!("erf"), "captures[0].format: unknown variant `erf`"),
        ("/layer1/0/promiscuous", json!(false), "layer1[0].promiscuous: capbench supports only true"),
        (
            "/layer1/0/flow_control",
            json!({"choice": "ieee_802_3x"}),
            "layer1[0].flow_control: capbench does not",
        ),
        (
            "/options/port_options/data_integrity",
            json!(true),
            "options.port_options.data_integrity: capbench supports",
        ),
        ("/flows/0/tx_rx", json!({"choice": "device"}), "flows[0].tx_rx: capbench does not support device"),
        ("/flows/0/rate", json!({"choice": "lightspeed"}), "flows[0].rate: the model has no lightspeed here"),
        (
            "/flows/0/rate",
            json!({"choice": "pps", "bps": 1}),
            "flows[0].rate: choice is pps, but bps is given",
        ),
        ("/flows/0/rate", json!({"pps": 1, "bps": 1000}), "exclude each other"),
        ("/flows/0/rate/pps", json!("12x"), "flows[0].rate.pps: invalid value: string \"12x\""),
        ("/flows/0/rate/pps", json!(-1), "flows[0].rate.pps: invalid type"),
        (
            "/flows/0/metrics/latency/mode",
            json!("cut_through"),
            "flows[0].metrics.latency.mode: unknown variant",
        ),
        ("/flows/0/duration/burst/gap", json!(13), "flows[0].duration.burst.gap: capbench supports only 12"),
        ("/flows/0/packet", json!({}), "flows[0].packet: must be a list of headers"),
        ("/flows/0/packet/0", json!({"choice": "gtpv2"}), "flows[0].packet[0].gtpv2: this protocol"),
        (
            "/flows/0/packet/0/ethernet/src",
            json!({"choice": "values", "values": ["02:00:00:00:00:01", "02:00"]}),
            "flows[0].packet[0].ethernet.src.values[1]: \"02:00\" is not an Ethernet address",
        ),
        (
            "/flows/0/packet/0/ethernet/src",
            json!({"value": "02:00:00:00:00:01", "metric_tags": [{"name": "t"}]}),
            "flows[0].packet[0].ethernet.src.metric_tags: is not supported",
        ),
        (
            "/flows/0/packet/0/ethernet/ether_type",
            json!({"choice": "auto", "auto": 2048}),
            "flows[0].packet[0].ethernet.ether_type.auto: capbench computes it",
        ),
        (
            "/flows/0/packet/0/ethernet/pfc_queue",
            json!({"value": 3}),
            "flows[0].packet[0].ethernet.pfc_queue: is not supported here",
        ),
        (
            "/flows/0/payload",
            json!({"fixed": {"pattern": "x"}}),
            "flows[0].payload.fixed.pattern: must be octets",
        ),
        ("/flows/0/tx_rx/port/rx_name", json!("p2"), "flows[0].tx_rx.port.rx_name: is set next to rx_names"),
        ("/flows/0/duration/burst/packets", json!(0), "flows[0].duration.burst.packets: must be 1 or more"),
        ("/flows/0/rate/pps", json!("0"), "flows[0].rate.pps: must be 1 or more"),
        (
            "/flows/0/metrics/rx_tx_ratio",
            json!({"value": 0}),
            "flows[0].metrics.rx_tx_ratio.value: must be above 0",
        ),
        ("/ports/1/location", json!("veth0"), "ports[1].location: is also that of ports[0]"),
        ("/flows/0/name", json!("p1"), "flows[0].name: \"p1\" is empty, or the name of two things"),
        ("/captures/0/name", json!("ly"), "captures[0].name: \"ly\" is empty, or the name of two things"),
        (
            "/captures",
            json!([{"name": "c", "port_names": ["p1"]}, {"name": "d", "port_names": ["p2", "p1"]}]),
            "captures[1].port_names: port \"p1\" is in captures[0], too",
        ),
        (
            "/layer1",
            json!([{"name": "l", "port_names": ["p1"]}, {"name": "m", "port_names": ["p1"]}]),
            "layer1[1].port_names: port \"p1\" is in layer1[0], too",
        ),
        (
            "/layer1/0/speed",
            json!("speed_1_tbps"),
            "layer1[0].speed: the model has no speed \"speed_1_tbps\"",
        ),
        ("/layer1/0/media", json!("fiber"), "layer1[0].media: unknown field"),
        ("/captures/0/packet_size", json!(0), "captures[0].packet_size: invalid value: integer `0`"),
        ("/captures/0/packet_size", json!(65_536), "captures[0].packet_size: invalid value: integer `65536`"),
        ("/flows/0/egress_packet", json!([{}]), "flows[0].egress_packet: capbench does not support this"),
        ("/flows/0/payload", json!({"choice": "random"}), "flows[0].payload.random: is not supported here"),
        ("/ports/0", json!(["p1", "veth0"]), "ports[0]: invalid type: sequence, expected an object"),
        ("", json!([]), "invalid type: sequence, expected an object"),
    ] {
        let error = changed(pointer, value);
        assert!(error.contains(expected), "{pointer}: {error}");
    }
}

#[test]
fn requests_as_snappi_writes_them() {
    let (state, _) = read(
        br#"{"choice":"traffic","traffic":{"choice":"flow_transmit","flow_transmit":{"state":"pause"}}}"#,
    )
    .unwrap();
    let ControlState::Traffic(Traffic::FlowTransmit(transmit)) = state else { panic!("{state:?}") };
    assert_eq!((transmit.state, transmit.flow_names.len()), (Transmit::Pause, 0));
    let (request, _) = read(br#"{"choice":"flow","flow":{"flow_names":[]}}"#).unwrap();
    assert!(matches!(request, MetricsRequest::Flow(_)));
    let error = read::<MetricsRequest>(br#"{"choice":"bgpv4"}"#).unwrap_err().to_string();
    assert!(error.contains("capbench does not support bgpv4; it has port flow"), "{error}");
    let error = read::<ControlState>(br#"{"choice":"protocol","protocol":{}}"#).unwrap_err().to_string();
    assert!(error.contains("capbench does not support protocol"), "{error}");
    let error = read::<CaptureRequest>(br#"{"port_name":"p","packets":{"slice":{"initial":{"start":0}}}}"#);
    assert!(error.unwrap_err().to_string().starts_with("packets.slice.initial.start: must be 1 or more"));
    let rows = |filter: Value| {
        let request = json!({"flow": {"tagged_metrics": filter}}).to_string();
        let (MetricsRequest::Flow(request), _) = read(request.as_bytes()).unwrap() else { panic!() };
        [0, 1].map(|frames| request.tagged_metrics.has_row(frames))
    };
    assert_eq!((rows(json!({})), rows(json!({"include_empty_metrics": true}))), ([false, true], [true; 2]));
    assert!(read::<ControlState>(b"[1").unwrap_err().to_string().starts_with("the body is no JSON"));
}

/// A request that names nothing must not act on everything.
#[test]
fn a_request_that_changes_something_has_the_members_that_the_model_requires() {
    let of_state = |body: &str| read::<ControlState>(body.as_bytes()).map(drop);
    let of_update = |body: &str| read::<ConfigUpdate>(body.as_bytes()).map(drop);
    let traffic = r#"{"choice":"traffic","traffic":{"choice":"flow_transmit"}}"#;
    for (outcome, expected) in [
        (of_state(""), "choice: is missing"),
        (of_state("{}"), "choice: is missing"),
        (of_state(r#"{"choice":"port"}"#), "port: is missing"),
        (of_state(r#"{"choice":"traffic"}"#), "traffic: is missing"),
        (of_state(r#"{"port":{}}"#), "port.choice: is missing"),
        (of_state(r#"{"port":{"choice":"link"}}"#), "port.link: is missing"),
        (of_state(traffic), "traffic.flow_transmit: is missing"),
        (of_state(r#"{"port":{"link":{}}}"#), "port.link: missing field `state`"),
        (of_state(r#"{"port":{"capture":{}}}"#), "port.capture: missing field `state`"),
        (of_state(r#"{"traffic":{"flow_transmit":{}}}"#), "traffic.flow_transmit: missing field `state`"),
        (of_update("{}"), "choice: is missing"),
        (of_update(r#"{"choice":"flows"}"#), "flows: is missing"),
        (of_update(r#"{"flows":{"flows":[]}}"#), "flows: missing field `property_names`"),
        (of_update(r#"{"flows":{"property_names":[]}}"#), "flows: missing field `flows`"),
    ] {
        let error = outcome.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.status().as_u16()), (expected, 400));
    }
    // What only reads has the model's defaults.
    assert!(matches!(read(b"{}").unwrap().0, MetricsRequest::Port(_)));
}

/// Any value, often one that the model has.
fn values() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "choice",
        "ports",
        "name",
        "location",
        "flows",
        "tx_rx",
        "port",
        "tx_name",
        "rate",
        "pps",
        "size",
        "fixed",
        "packet",
        "ethernet",
        "ipv4",
        "src",
        "value",
        "values",
        "increment",
        "start",
        "step",
        "count",
        "duration",
        "burst",
        "metrics",
        "enable",
        "layer1",
        "speed",
        "captures",
        "port_names",
        "format",
        "pcap",
        "options",
        "p1",
        "weight_pairs",
        "custom",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(words.clone().prop_map(String::from), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_configuration_is_read_or_refused(value in values()) {
        let _ = Config::read(value.to_string().as_bytes());
    }

    #[test]
    fn a_part_of_a_configuration_that_is_something_else_is_read_or_refused(
        pointer in prop::sample::select(vec![
            "/ports", "/ports/0", "/layer1/0", "/captures/0", "/options", "/flows", "/flows/0", "/flows/0/tx_rx",
            "/flows/0/packet", "/flows/0/packet/0", "/flows/0/rate", "/flows/0/size", "/flows/0/duration",
            "/flows/0/metrics", "/flows/0/metrics/latency",
        ]),
        value in values(),
    ) {
        let mut config = snappi();
        *config.pointer_mut(pointer).unwrap() = value;
        let _ = of_value::<Config>(&config);
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read::<Config>(&octets);
    }
}
