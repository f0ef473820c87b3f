//! Random stacks of headers, and what tshark must show of their frames.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::network::program;

/// Values by the name that tshark has for their field; from the outermost header on.
pub type Fields = BTreeMap<&'static str, Vec<u128>>;

/// A stack of headers that a dissector can follow from the first to the last.
#[derive(Debug)]
pub struct RandomStack {
    /// The headers, in the form of the Open Traffic Generator model.
    pub headers: Value,
    /// Octets of all headers.
    pub octets: usize,
    /// The values of a field of tshark, for frames in turn.
    stated: Vec<(&'static str, Vec<u128>)>,
    /// The field of a length, and the octets of the frame in front of what it counts.
    lengths: Vec<(&'static str, usize)>,
}

/// Random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Draw(pub u64);

impl Draw {
    /// A number below `count`.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) % count
    }

    fn is_one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A field: its name in the model, its bits, the smallest and largest drawn value, its name in tshark.
type Row = (&'static str, u32, u128, u128, &'static str);

const fn whole(name: &'static str, bits: u32, shown: &'static str) -> Row {
    (name, bits, 0, u128::MAX >> (128 - bits), shown)
}

/// Ports that no dissector of tshark has.
const fn port(name: &'static str, shown: &'static str) -> Row {
    (name, 16, 61_000, 64_000, shown)
}

/// A protocol: name, octets, fields that are stated, fields whose value it has always.
type Rows = (&'static str, usize, &'static [Row], &'static [(&'static str, u128)]);

/// The status of a right checksum.
const GOOD: u128 = 1;

const PROTOCOLS: &[Rows] = &[
    ("ethernet", 14, &[whole("dst", 48, "eth.dst"), whole("src", 48, "eth.src")], &[]),
    (
        "vlan",
        4,
        &[whole("priority", 3, "vlan.priority"), whole("cfi", 1, "vlan.dei"), whole("id", 12, "vlan.id")],
        &[],
    ),
    (
        "mpls",
        4,
        // Labels below 16 have meanings of their own.
        &[
            ("label", 20, 16, 0xf_ff00, "mpls.label"),
            whole("traffic_class", 3, "mpls.exp"),
            whole("time_to_live", 8, "mpls.ttl"),
        ],
        &[],
    ),
    (
        "arp",
        28,
        &[
            whole("operation", 16, "arp.opcode"),
            whole("sender_hardware_addr", 48, "arp.src.hw_mac"),
            whole("sender_protocol_addr", 32, "arp.src.proto_ipv4"),
            whole("target_hardware_addr", 48, "arp.dst.hw_mac"),
            whole("target_protocol_addr", 32, "arp.dst.proto_ipv4"),
        ],
        &[("arp.hw.type", 1), ("arp.proto.type", 0x0800), ("arp.hw.size", 6), ("arp.proto.size", 4)],
    ),
    (
        "ipv4",
        20,
        &[
            whole("priority.dscp.phb", 6, "ip.dsfield.dscp"),
            whole("priority.dscp.ecn", 2, "ip.dsfield.ecn"),
            whole("identification", 16, "ip.id"),
            whole("reserved", 1, "ip.flags.rb"),
            whole("dont_fragment", 1, "ip.flags.df"),
            whole("time_to_live", 8, "ip.ttl"),
            whole("src", 32, "ip.src"),
            whole("dst", 32, "ip.dst"),
        ],
        &[("ip.version", 4), ("ip.hdr_len", 20), ("ip.frag_offset", 0), ("ip.checksum.status", GOOD)],
    ),
    (
        "ipv6",
        40,
        &[
            whole("traffic_class", 8, "ipv6.tclass"),
            whole("flow_label", 20, "ipv6.flow"),
            whole("hop_limit", 8, "ipv6.hlim"),
            whole("src", 128, "ipv6.src"),
            whole("dst", 128, "ipv6.dst"),
        ],
        &[("ip.version", 6)],
    ),
    (
        "udp",
        8,
        &[port("src_port", "udp.srcport"), port("dst_port", "udp.dstport")],
        &[("udp.checksum.status", GOOD)],
    ),
    (
        "tcp",
        20,
        &[
            port("src_port", "tcp.srcport"),
            port("dst_port", "tcp.dstport"),
            whole("seq_num", 32, "tcp.seq_raw"),
            whole("ack_num", 32, "tcp.ack_raw"),
            whole("ecn_cwr", 1, "tcp.flags.cwr"),
            whole("ctl_urg", 1, "tcp.flags.urg"),
            whole("ctl_ack", 1, "tcp.flags.ack"),
            whole("ctl_psh", 1, "tcp.flags.push"),
            whole("ctl_rst", 1, "tcp.flags.reset"),
            whole("ctl_syn", 1, "tcp.flags.syn"),
            whole("ctl_fin", 1, "tcp.flags.fin"),
            whole("window", 16, "tcp.window_size_value"),
        ],
        &[("tcp.hdr_len", 20), ("tcp.checksum.status", GOOD)],
    ),
    (
        "icmp",
        8,
        &[whole("echo.code", 8, "icmp.code"), whole("echo.sequence_number", 16, "icmp.seq")],
        &[("icmp.type", 8), ("icmp.checksum.status", GOOD)],
    ),
    (
        "icmpv6",
        8,
        &[
            whole("echo.code", 8, "icmpv6.code"),
            whole("echo.identifier", 16, "icmpv6.echo.identifier"),
            whole("echo.sequence_number", 16, "icmpv6.echo.sequence_number"),
        ],
        &[("icmpv6.type", 128), ("icmpv6.checksum.status", GOOD)],
    ),
    ("gre", 4, &[], &[]),
    ("vxlan", 8, &[whole("vni", 24, "vxlan.vni")], &[("vxlan.flags", 0x0800)]),
];

/// The fields that tshark is asked for besides.
const OTHERS: [&str; 8] =
    ["eth.type", "vlan.etype", "mpls.bottom", "ip.proto", "ipv6.nxt", "ip.len", "ipv6.plen", "udp.length"];

impl RandomStack {
    /// A stack.
    pub fn draw(draw: &mut Draw) -> Self {
        let mut stack = Self { headers: json!([]), octets: 0, stated: Vec::new(), lengths: Vec::new() };
        let mut names = Vec::new();
        link(draw, &mut names, 0);
        for (index, name) in names.iter().enumerate() {
            stack.push(draw, name, names.get(index + 1).copied());
        }
        stack
    }

    fn push(&mut self, draw: &mut Draw, name: &'static str, next: Option<&'static str>) {
        let (_, octets, rows, fixed) = PROTOCOLS.iter().find(|rows| rows.0 == name).expect("a row");
        let mut body = json!({});
        for (field, bits, least, most, shown) in *rows {
            if (name, *field, next) == ("udp", "dst_port", Some("vxlan")) {
                self.stated.push((shown, vec![4789]));
                continue;
            }
            let (pattern, values) = pattern(draw, *bits, *least, *most);
            let place = field.split('.').fold(&mut body, |group, name| &mut group[name]);
            *place = pattern;
            self.stated.push((shown, values));
        }
        let ether_type = match next {
            Some("vlan") => 0x8100,
            Some("mpls") => 0x8847,
            Some("arp") => 0x0806,
            Some("ipv4") => 0x0800,
            Some("ipv6") => 0x86dd,
            Some("ethernet") => 0x6558,
            _ => 0,
        };
        let protocol = match next {
            Some("udp") => 17,
            Some("tcp") => 6,
            Some("icmp") => 1,
            Some("icmpv6") => 58,
            Some("gre") => 47,
            _ => 0,
        };
        let by_next: &[(&'static str, u128)] = match name {
            "ethernet" => &[("eth.type", ether_type)],
            "vlan" => &[("vlan.etype", ether_type)],
            "mpls" => &[("mpls.bottom", (next != Some("mpls")) as u128)],
            "gre" => &[("gre.proto", ether_type)],
            "ipv4" => &[("ip.proto", protocol)],
            "ipv6" => &[("ipv6.nxt", protocol)],
            _ => &[],
        };
        self.stated.extend(fixed.iter().chain(by_next).map(|(shown, value)| (*shown, vec![*value])));
        self.lengths.extend(match name {
            "ipv4" => Some(("ip.len", self.octets)),
            "ipv6" => Some(("ipv6.plen", self.octets + 40)),
            "udp" => Some(("udp.length", self.octets)),
            _ => None,
        });
        self.octets += octets;
        if name == "gre" && draw.is_one_of(2) {
            body["checksum_present"] = json!(1);
            self.octets += 4;
            self.stated.push(("gre.checksum.status", vec![GOOD]));
        }
        let list = self.headers.as_array_mut().expect("a list");
        list.push(json!({"choice": name, name: body}));
    }

    /// What tshark must show of frame `number` with this length without FCS.
    pub fn expected(&self, number: usize, length: usize) -> Fields {
        let mut fields = Fields::new();
        for (shown, values) in &self.stated {
            fields.entry(shown).or_default().push(values[number % values.len()]);
        }
        for (shown, in_front) in &self.lengths {
            fields.entry(shown).or_default().push((length - in_front) as u128);
        }
        fields
    }
}

/// Names of the headers from an Ethernet header on, with up to two tunnels.
fn link(draw: &mut Draw, names: &mut Vec<&'static str>, depth: usize) {
    names.push("ethernet");
    names.extend((0..draw.below(3)).map(|_| "vlan"));
    let labels = draw.below(3);
    names.extend((0..labels).map(|_| "mpls"));
    if labels == 0 && draw.is_one_of(6) {
        names.push("arp");
    } else {
        network(draw, names, depth);
    }
}

fn network(draw: &mut Draw, names: &mut Vec<&'static str>, depth: usize) {
    let is_6 = draw.is_one_of(2);
    names.push(if is_6 { "ipv6" } else { "ipv4" });
    match draw.below(if depth < 2 { 6 } else { 3 }) {
        0 => names.push("udp"),
        1 => names.push("tcp"),
        2 => names.push(if is_6 { "icmpv6" } else { "icmp" }),
        3 => {
            names.push("gre");
            network(draw, names, depth + 1);
        }
        4 => {
            names.push("gre");
            link(draw, names, depth + 1);
        }
        _ => {
            names.extend(["udp", "vxlan"]);
            link(draw, names, depth + 1);
        }
    }
}

/// A pattern, and the values that it stands for, in turn.
fn pattern(draw: &mut Draw, bits: u32, least: u128, most: u128) -> (Value, Vec<u128>) {
    let mask = u128::MAX >> (128 - bits);
    let mut value = || {
        let word = u128::from(draw.below(u64::MAX)) << 64 | u128::from(draw.below(u64::MAX));
        // A range of all numbers of 128 bits has no length of 128 bits.
        least + if most - least == u128::MAX { word } else { word % (most - least + 1) }
    };
    let (first, list) = (value(), [value(), value(), value()]);
    let written = |value: u128| match bits {
        48 => {
            let [.., a, b, c, d, e, f] = value.to_be_bytes();
            json!(format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))
        }
        32 if least == 0 => json!(value as u64),
        128 => json!(Ipv6Addr::from(value).to_string()),
        _ => json!(value as u64),
    };
    let (step, count) = (u128::from(draw.below(4)) & mask, 1 + draw.below(5));
    let counter = |down: bool| {
        let values = (0..u128::from(count)).map(|number| {
            let moved = number * step;
            if down { first.wrapping_sub(moved) & mask } else { (first + moved) & mask }
        });
        (json!({"start": written(first), "step": step as u64, "count": count}), values.collect::<Vec<_>>())
    };
    let is_at_an_edge = least > 0 && (first < least + 20 || first + 20 > most);
    match draw.below(4) {
        0 => (json!({"choice": "values", "values": list.map(written)}), list.to_vec()),
        1 if !is_at_an_edge && bits < 128 => {
            let (body, values) = counter(false);
            (json!({"choice": "increment", "increment": body}), values)
        }
        2 if !is_at_an_edge => {
            let (body, values) = counter(true);
            (json!({"choice": "decrement", "decrement": body}), values)
        }
        _ => (json!({"choice": "value", "value": written(first)}), vec![first]),
    }
}

/// What tshark shows of each frame of a file, of the fields that stacks can have. It checks every checksum.
pub fn dissected(file: &Path) -> Vec<Fields> {
    let stated = PROTOCOLS.iter().flat_map(|(_, _, rows, fixed)| {
        rows.iter().map(|row| row.4).chain(fixed.iter().map(|(shown, _)| *shown))
    });
    let names: Vec<_> = stated.chain(OTHERS).chain(["gre.proto", "gre.checksum.status"]).collect();
    let mut tshark = program("tshark -n -T fields -E separator=| -E occurrence=a -E aggregator=; -r");
    tshark.arg(file).env("WIRESHARK_CONFIG_DIR", "/nonexistent");
    for protocol in ["ip", "udp", "tcp"] {
        tshark.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    tshark.args(names.iter().flat_map(|name| ["-e", name]));
    let output = tshark.output().expect("tshark runs");
    assert!(output.status.success(), "{output:?}");
    let line = |line: &str| {
        let values = line.split('|').map(|values| values.split(';').filter_map(number).collect::<Vec<_>>());
        names.iter().copied().zip(values).filter(|(_, values)| !values.is_empty()).collect()
    };
    String::from_utf8_lossy(&output.stdout).lines().map(line).collect()
}

/// A value as tshark writes it.
fn number(text: &str) -> Option<u128> {
    if text.is_empty() {
        return None;
    }
    let of_hexadecimal = |digits: &str| u128::from_str_radix(digits, 16).ok();
    let known = match text {
        "True" => Some(1),
        "False" => Some(0),
        _ if text.len() == 17 && text.matches(':').count() == 5 => of_hexadecimal(&text.replace(':', "")),
        _ => None,
    };
    let known = known
        .or_else(|| text.strip_prefix("0x").and_then(of_hexadecimal))
        .or_else(|| text.parse().ok())
        .or_else(|| text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into()))
        .or_else(|| text.parse::<Ipv6Addr>().ok().map(u128::from));
    Some(known.unwrap_or_else(|| panic!("tshark writes {text}")))
}

/// The fields in which frames differ from what was expected of them.
pub fn differences(shown: &Fields, expected: &Fields) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = shown.keys().chain(expected.keys()).collect();
    let differ = names.into_iter().filter(|name| shown.get(*name) != expected.get(*name));
    differ
        .map(|name| format!("{name}: {:x?} instead of {:x?}", shown.get(name), expected.get(name)))
        .collect()
}

/// A value as the inline form of TOML.
pub fn as_toml(value: &Value) -> String {
    let table = |members: &Map<String, Value>| {
        let members = members.iter().map(|(name, value)| format!("{name} = {}", as_toml(value)));
        members.collect::<Vec<_>>().join(", ")
    };
    match value {
        Value::Object(members) => format!("{{ {} }}", table(members)),
        Value::Array(values) => format!("[{}]", values.iter().map(as_toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
