use serde_json::{Value, json};

use super::*;

fn stack(value: Value) -> HeaderStack {
    HeaderStack::from_value(&value).unwrap()
}

fn refusal(value: Value) -> String {
    HeaderStack::from_value(&value).unwrap_err().to_string()
}

fn pattern<'a>(stack: &'a HeaderStack, header: usize, name: &str) -> Option<&'a Pattern> {
    let header = &stack.headers()[header];
    header.pattern(header.fields().find(|field| field.name == name).unwrap())
}

#[test]
fn the_models_form_and_the_short_form_are_one() {
    let long = stack(json!([
        {"choice": "ethernet", "ethernet": {
            "dst": {"choice": "value", "value": "00:00:01:01:01:02"}, "src": {"choice": "value", "value": "00:00:01:01:01:01"},
            "ether_type": {"choice": "auto", "auto": 65535}}},
        {"choice": "ipv4", "ipv4": {
            "src": {"choice": "increment", "increment": {"start": "1.1.1.1", "step": "0.0.1.0", "count": 4}},
            "priority": {"choice": "dscp", "dscp": {"phb": {"choice": "values", "values": [46, 8]}}},
            "header_checksum": {"choice": "generated", "generated": "bad"}, "options": []}},
        {"choice": "udp", "udp": {"src_port": {"choice": "random", "random": {"min": 5, "max": 7, "count": 9, "seed": 3}},
            "checksum": {"choice": "custom", "custom": 7}}},
        {"choice": "custom", "custom": {"bytes": "0x0a 0B:0c"}}
    ]));
    let short = stack(json!([
        {"ethernet": {"dst": "00:00:01:01:01:02", "src": "00:00:01:01:01:01", "ether_type": {"auto": 65535}}},
        {"ipv4": {"src": {"increment": {"start": "1.1.1.1", "step": 256, "count": 4}},
            "priority": {"dscp": {"phb": [46, 8]}}, "header_checksum": "bad"}},
        {"udp": {"src_port": {"random": {"min": 5, "max": 7, "count": 9, "seed": 3}}, "checksum": 7}},
        {"custom": {"bytes": "0a0b0c"}}
    ]));
    assert_eq!(long, short);
    assert_eq!(long.to_string(), "ethernet/ipv4/udp/custom");
    assert_eq!(long.octets(), 14 + 20 + 8 + 3);
    assert_eq!(pattern(&long, 1, "priority.dscp.phb"), Some(&Pattern::Values([46, 8].into())));
    assert_eq!(pattern(&long, 1, "header_checksum"), Some(&Pattern::WrongChecksum));
    assert_eq!(pattern(&long, 1, "dst"), None);
    let counter = Pattern::Counter { start: 0x0101_0101, step: 256, count: 4, down: false };
    assert_eq!(pattern(&long, 1, "src"), Some(&counter));
}

#[test]
fn a_long_stack_is_named_in_short() {
    let names = |headers: usize| stack(vec![json!({"vlan": {}}); headers].into()).to_string();
    assert_eq!(names(16), ["vlan"; 16].join("/"));
    assert_eq!(names(300), format!("{}/… (300 headers)", ["vlan"; 16].join("/")));
}

#[test]
fn what_is_left_out_has_the_models_default() {
    let stack = stack(json!([{}, {"choice": "ipv4"}, {"choice": "udp", "udp": {
        "src_port": {"choice": "increment"}, "dst_port": {"choice": "decrement", "decrement": {"start": 3}},
        "length": {}}}, {"gre": {"checksum_present": true, "reserved1": 4}}]));
    assert_eq!(stack.to_string(), "ethernet/ipv4/udp/gre");
    let counter = |start, down| Pattern::Counter { start, step: 1, count: 1, down };
    assert_eq!(pattern(&stack, 2, "src_port"), Some(&counter(0, false)));
    assert_eq!(pattern(&stack, 2, "dst_port"), Some(&counter(3, true)));
    assert_eq!(pattern(&stack, 2, "length"), None);
    assert_eq!(stack.headers()[3].octets(), 8);
}

#[test]
fn refusals_name_the_place_and_what_there_is() {
    for (value, expected) in [
        (json!({}), "must be a list of headers"),
        (json!([]), "has no header; state one or more"),
        (json!([7]), "[0]: must be a table"),
        (
            json!([{}, {"ipv4": {"src": "1.1.1"}}]),
            "[1].ipv4.src: \"1.1.1\" is not an IPv4 address, such as 198.18.0.1",
        ),
        (
            json!([{"vlan": {"id": {"increment": {"start": 4096}}}}]),
            "[0].vlan.id.increment.start: 4096 does not fit into 12 bits: at most 4095",
        ),
        (
            json!([{"vlan": {"id": {"increment": {"stop": 1}}}}]),
            "[0].vlan.id.increment.stop: is not supported here; there are: start, step, count",
        ),
        (
            json!([{"vlan": {"id": {"random": {"min": 9, "max": 8}}}}]),
            "[0].vlan.id.random.min: must not exceed max",
        ),
        (
            json!([{"vlan": {"id": {"increment": {"count": 0}}}}]),
            "[0].vlan.id.increment.count: must be a number from 1 to 4294967295",
        ),
        (json!([{"vlan": {"id": {"auto": 1}}}]), "[0].vlan.id.auto: this field has no such pattern"),
        (json!([{"vlan": {"id": []}}]), "[0].vlan.id: must be a list of one value or more"),
        (
            json!([{"vlan": {"vid": 1}}]),
            "[0].vlan.vid: is not supported here; there are: priority, cfi, id, tpid",
        ),
        (
            json!([{"ethernet": {"pfc_queue": 1}}]),
            "[0].ethernet.pfc_queue: is not supported here; there are: dst, src, ether_type",
        ),
        (
            json!([{"ipv4": {"options": [{"choice": "router_alert"}]}}]),
            "[0].ipv4.options: is not supported here; there are: version, header_length, priority, total_length, \
             identification, reserved, dont_fragment, more_fragments, fragment_offset, time_to_live, protocol, \
             header_checksum, src, dst",
        ),
        (
            json!([{"ipv4": {"priority": {"choice": "tos", "raw": 1}}}]),
            "[0].ipv4.priority.raw: is set next to tos; state one of them",
        ),
        (
            json!([{"ipv4": {"priority": {"raw": 1, "dscp": {"ecn": 1}}}}]),
            "[0].ipv4.priority.raw: has bits that priority.dscp.ecn has, too; state one of them",
        ),
        (
            json!([{"icmp": {"choice": "redirect"}}]),
            "[0].icmp.redirect: is not supported here; there are: echo",
        ),
        (
            json!([{"udp": {"src_port": {"value": 1, "metric_tags": [{"name": "a"}]}}}]),
            "[0].udp.src_port.metric_tags: is not supported",
        ),
        (
            json!([{"vlan": {"id": {"values": [1, 4096]}}}]),
            "[0].vlan.id.values[1]: 4096 does not fit into 12 bits: at most 4095",
        ),
        (
            json!([{"ipv4": {"protocol": {"auto": 6}}}]),
            "[0].ipv4.protocol.auto: capbench computes it; state it as value",
        ),
        (
            json!([{"udp": {"checksum": {"choice": "custom"}}}]),
            "[0].udp.checksum.custom: has no value; state one",
        ),
        (
            json!([{"udp": {"ports": []}}]),
            "[0].udp.ports: is not supported here; there are: src_port, dst_port, length, checksum",
        ),
        (json!([{"udp": {"checksum": "wrong"}}]), "[0].udp.checksum: must be good or bad"),
        (
            json!([{"gre": {"reserved1": 1}}]),
            "[0].gre.reserved1: is in the header only with checksum_present 1",
        ),
        (
            json!([{"gre": {"checksum_present": [0, 1]}}]),
            "[0].gre.checksum_present: must be one value: it says how long the header is",
        ),
        (
            json!([{"custom": {"bytes": "abc"}}]),
            "[0].custom.bytes: must be octets in hexadecimal, such as \"0a 0b 0c\"",
        ),
        (json!([{"choice": "udp", "tcp": {}}]), "[0].tcp: is set next to udp; state one of them"),
    ] {
        assert_eq!(refusal(value), expected);
    }
    assert!(refusal(json!([{"choice": "gtpv1"}])).starts_with(
        "[0].gtpv1: this protocol is not supported; there are: ethernet, vlan, mpls, arp, ipv4"
    ));
}

#[test]
fn the_documentation_has_every_field() {
    let page = include_str!("../../../../docs/packet-files.md");
    for protocol in protocols::PROTOCOLS {
        let field = |field: &Field| {
            let mark = if field.auto.is_some() { "*" } else { "" };
            format!("{mark}{}{mark}", field.name)
        };
        let fields: Vec<_> = protocol.fields.iter().map(field).collect();
        let fields = if fields.is_empty() { "bytes".to_owned() } else { fields.join(", ") };
        let row = format!("| `{}` | {fields} |\n", protocol.name);
        assert!(page.contains(&row), "docs/packet-files.md needs the row {row}");
    }
}

proptest::proptest! {
    #[test]
    fn no_value_makes_the_parser_panic(text in "[\\[\\]{}:,\"a-z0-9 ]{0,60}") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let _ = HeaderStack::from_value(&value);
        }
    }
}
