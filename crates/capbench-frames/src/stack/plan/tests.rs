use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::protocols::PROTOCOLS;
use super::*;
use crate::checksum::{fold, sum_words};
use crate::{Stamp, TrailerReader, TrialId};

const MTU: Mtu = Mtu(1500);

fn make(headers: Value, sizes: &str, stream: Option<u8>) -> Result<StackPlan> {
    let stack = HeaderStack::from_value(&headers).unwrap();
    StackPlan::new(stack, sizes.parse().unwrap(), &Payload::default(), stream.map(StreamId), MTU)
}

fn stamp(sequence: u64) -> Stamp {
    Stamp { trial: TrialId(7), stream: StreamId(0), sequence, planned_ns: 3 * sequence }
}

/// The first frames of a plan, in slots that are not empty.
fn frames(plan: &StackPlan, count: u64) -> Vec<Vec<u8>> {
    let mut frames = plan.frames();
    let frame = |sequence| {
        let mut slot = vec![0xa5; 1600];
        let size = frames.write_next(&mut slot, stamp(sequence));
        assert!(slot[size.captured()..].iter().all(|octet| *octet == 0xa5));
        slot.truncate(size.captured());
        slot
    };
    (0..count).map(frame).collect()
}

/// The bits of a field, one by one.
fn bits(frame: &[u8], at: usize, field: &Field) -> u128 {
    let bit = |bit: usize| u128::from(frame[at + bit / 8] >> (7 - bit % 8) & 1);
    field.range().fold(0, |value, place| value << 1 | bit(place))
}

#[test]
fn fields_of_a_header_shorter_than_eight_octets_are_written() {
    let field = |name: &str| {
        let protocol = PROTOCOLS.iter().find(|protocol| protocol.name == "mpls").unwrap();
        protocol.fields.iter().find(|field| field.name == name).unwrap()
    };
    let mut head = [0xff; 4];
    for (name, value) in
        [("label", 0xabcde_u128), ("traffic_class", 0), ("bottom_of_stack", 1), ("time_to_live", 7)]
    {
        Varying::new(field(name), 0, 4, None).put(&mut head, value);
    }
    assert_eq!(head, [0xab, 0xcd, 0xe1, 7]);
}

#[test]
fn udp_at_64_octets_holds_headers_and_trailer() {
    let headers = json!([{}, {"ipv4": {"src": "1.1.1.1", "dst": "1.1.1.2"}}, {"udp": {"src_port": 5000}}]);
    let plan = make(headers.clone(), "64", Some(9)).unwrap();
    let frame = &frames(&plan, 2)[1];
    assert_eq!(frame.len(), 60);
    assert_eq!(&frame[12..24], &[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    assert_eq!(TrailerReader::new(TrialId(7)).read(frame), Some(Stamp { stream: StreamId(9), ..stamp(1) }));
    let short = make(headers.clone(), "runt:46", None).unwrap();
    assert_eq!(frames(&short, 1)[0].len(), 42);
    let error = make(json!([{}, {"ipv6": {}}, {"udp": {}}]), "64", Some(9)).unwrap_err().to_string();
    assert_eq!(
        error,
        "frame size 64 is too small for ethernet/ipv6/udp with a trailer: at least 84 octets, the FCS included"
    );
    let error = make(headers, "1519", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "frame size 1519 needs an MTU of 1501, but the interface has 1500: at most 1518 octets"
    );
    assert!(make(json!([{}, {"vlan": {}}]), "1522", None).is_ok());
    assert!(make(json!([{"vlan": {}}]), "64", None).unwrap_err().to_string().contains("have 4 octets"));
    let error = make(json!([{}, {"tcp": {}}]), "64", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "[1].tcp.checksum: needs the addresses of an ipv4 or ipv6 header in front; add one, or state a value"
    );
}

#[test]
fn the_next_header_decides_types_and_ports() {
    let headers = json!([
        {}, {"vlan": {}}, {"mpls": {}}, {"mpls": {}}, {"ipv4": {}}, {"gre": {}}, {"ipv6": {}}, {"udp": {}}, {"vxlan": {}},
        {"ethernet": {}}, {"arp": {}}
    ]);
    let frame = &frames(&make(headers, "200", None).unwrap(), 1)[0];
    let type_at = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let (ip, gre, ip6, udp) = (26, 46, 50, 90);
    assert_eq!((type_at(12), type_at(16), frame[20] & 1, frame[24] & 1), (0x8100, 0x8847, 0, 1));
    assert_eq!((frame[ip + 9], type_at(gre + 2), frame[ip6 + 6]), (47, 0x86dd, 17));
    assert_eq!((type_at(udp + 2), type_at(udp + 16 + 12)), (4789, 0x0806));
    assert_eq!((type_at(ip + 2), type_at(ip6 + 4), type_at(udp + 4)), (196 - 26, 196 - 90, 196 - 90));
    let last = &frames(&make(json!([{}, {"ipv4": {}}]), "64", None).unwrap(), 1)[0];
    assert_eq!((last[14 + 9], &last[12..14]), (61, &[8, 0][..]));
}

#[test]
fn an_inner_frame_can_keep_room_for_its_fcs() {
    let inner = json!([
        {}, {"ipv4": {}}, {"udp": {"checksum": 0}}, {"vxlan": {}}, {}, {"ipv6": {"src": "::1", "dst": "::2"}}, {"udp": {}}
    ]);
    let stack = HeaderStack::from_value(&inner).unwrap().with_inner_fcs();
    let plan =
        StackPlan::new(stack, "256".parse().unwrap(), &Payload::default(), Some(StreamId(1)), MTU).unwrap();
    for frame in frames(&plan, 3) {
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        // Octets to the end: 252 - 14, 252 - 34; inside 4 fewer.
        assert_eq!((word(16), word(38), word(68), word(108)), (238, 218, 252 - 4 - 104, 252 - 4 - 104));
        // The pseudo header: addresses, length and protocol (RFC 8200 8.1).
        let sum = sum_words(&frame[72..248]) + sum_words(&[0, 144, 0, 17]);
        assert_eq!(fold(sum), u16::MAX, "{frame:02x?}");
    }
}

#[test]
fn each_field_counts_its_frames_alone() {
    let headers = json!([{}, {"ipv4": {"src": {"increment": {"start": "10.0.0.255", "count": 3}},
        "dst": ["1.1.1.1", "2.2.2.2"]}}, {"tcp": {"src_port": {"decrement": {"start": 1, "step": 2, "count": 4}}}}]);
    let plan = make(headers, "64,128", None).unwrap();
    for (number, frame) in frames(&plan, 12).iter().enumerate() {
        assert_eq!(frame.len(), [60, 124][number % 2]);
        assert_eq!(frame[28..30], [[0, 255], [1, 0], [1, 1]][number % 3]);
        assert_eq!(frame[30], [1, 2][number % 2]);
        assert_eq!(frame[34..36], [[0, 1], [255, 255], [255, 253], [255, 251]][number % 4]);
    }
}

#[test]
fn a_wrong_checksum_is_wrong_in_every_frame() {
    let headers = json!([{}, {"ipv4": {"src": {"increment": {"count": 70000}}, "header_checksum": "bad"}},
        {"udp": {"checksum": "bad"}}]);
    let plan = make(headers, "64", Some(1)).unwrap();
    for frame in frames(&plan, 70_000) {
        assert_ne!(fold(sum_words(&frame[14..34])), 0xffff);
        let pseudo = sum_words(&frame[26..34]) + 17 + (frame.len() - 34) as u64;
        assert_ne!(fold(pseudo + sum_words(&frame[34..])), 0xffff);
        assert_ne!(frame[40..42], [0, 0]);
    }
}

/// A pattern that fits into a field, in the model's form.
fn patterns(field: &'static Field) -> BoxedStrategy<Value> {
    let most = u64::try_from(field.most()).unwrap_or(u64::MAX);
    let values = prop::collection::vec(0..=most, 1..5);
    let counter = (0..=most, 0..=most, 1..9_u32, any::<bool>()).prop_map(|(start, step, count, down)| {
        json!({if down { "decrement" } else { "increment" }: {"start": start, "step": step, "count": count}})
    });
    let random = (0..=most, 1..9_u32, 1..9_u32)
        .prop_map(|(max, count, seed)| json!({"random": {"max": max, "count": count, "seed": seed}}));
    let value = (0..=most).prop_map(|value| json!(value));
    if field.kind == Kind::Ipv6 {
        return prop_oneof![value, values.prop_map(|values| json!(values)), counter].boxed();
    }
    prop_oneof![value, values.prop_map(|values| json!(values)), counter, random].boxed()
}

/// A header with some fields stated. `is_first`: one that a frame can begin with.
fn headers(is_first: bool) -> BoxedStrategy<Value> {
    let custom = prop::collection::vec(any::<u8>(), 1..8).prop_map(|octets| {
        json!({"custom": {"bytes": octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>()}})
    });
    let protocols: Vec<_> =
        PROTOCOLS.iter().filter(|protocol| protocol.octets >= if is_first { 14 } else { 1 }).collect();
    let known = prop::sample::select(protocols).prop_flat_map(|protocol| {
        let fields = protocol.fields.iter().filter(|field| {
            let has_length = matches!(field.name, "checksum_present" | "header_length" | "reserved1");
            !has_length && !field.name.starts_with("priority.tos") && field.name != "priority.raw"
        });
        let fields: Vec<_> = fields.filter(|field| !matches!(field.auto, Some(Auto::Checksum(_)))).collect();
        let count = fields.len();
        prop::sample::subsequence(fields, 0..=count.min(4)).prop_flat_map(move |stated| {
            let patterns: Vec<_> = stated.iter().map(|field| patterns(field)).collect();
            patterns.prop_map(move |patterns| {
                let mut header = json!({});
                for (field, pattern) in stated.iter().zip(patterns) {
                    let place = field.name.split('.').fold(&mut header, |group, name| &mut group[name]);
                    *place = pattern;
                }
                json!({protocol.name: header})
            })
        })
    });
    if is_first { known.boxed() } else { prop_oneof![6 => known, 1 => custom].boxed() }
}

proptest! {
    /// Reads every field of every frame bit by bit, and sums everything that a checksum covers.
    #[test]
    fn every_field_of_every_frame_is_as_configured(
        first in headers(true), rest in prop::collection::vec(headers(false), 0..6), sizes in prop_oneof![Just("200-420/20"), Just("random:300-900")],
        is_tracked: bool, payload in prop_oneof![Just(Payload::default()), Just(Payload::Counting { unit: 1, down: true })],
    ) {
        let stack = HeaderStack::from_value(&Value::Array([vec![first], rest].concat())).unwrap();
        let stream = is_tracked.then_some(StreamId(3));
        let plan = StackPlan::new(stack.clone(), sizes.parse().unwrap(), &payload, stream, MTU);
        // Only a transport header without addresses is refused.
        let Ok(plan) = plan else {
            prop_assert!(plan.unwrap_err().to_string().contains("needs the addresses"));
            return Ok(());
        };
        let written = frames(&plan, 40);
        let expected: Vec<_> = plan.sizes().sizes().iter().cycle().take(40).map(|size| size.captured()).collect();
        prop_assert_eq!(written.iter().map(Vec::len).collect::<Vec<_>>(), expected);
        let mut at = 0;
        let mut addresses = None;
        for header in stack.headers() {
            for field in header.fields() {
                if let Some(mut sequence) = header.pattern(field).and_then(|pattern| Sequence::of(field, pattern)) {
                    for frame in &written {
                        prop_assert_eq!(bits(frame, at, field), sequence.take(), "{} {}", header.protocol().name, field.name);
                    }
                }
                for frame in &written {
                    let sum = match field.auto {
                        Some(Auto::Length { without }) if header.pattern(field).is_none() => {
                            prop_assert_eq!(bits(frame, at, field), (frame.len() - at - without) as u128);
                            continue;
                        }
                        Some(Auto::Checksum(Cover::Ipv4Header)) => sum_words(&frame[at..at + 20]),
                        Some(Auto::Checksum(Cover::Rest)) => sum_words(&frame[at..]),
                        Some(Auto::Checksum(Cover::WithPseudoHeader { protocol })) => {
                            let addresses: Range<usize> = addresses.clone().unwrap();
                            sum_words(&frame[addresses]) + u64::from(protocol) + (frame.len() - at) as u64 + sum_words(&frame[at..])
                        }
                        _ => continue,
                    };
                    prop_assert_eq!(fold(sum), 0xffff, "{} {}", header.protocol().name, field.name);
                }
            }
            match header.protocol().name {
                "ipv4" => addresses = Some(at + 12..at + 20),
                "ipv6" => addresses = Some(at + 8..at + 40),
                _ => {}
            }
            at += header.octets();
        }
        for (sequence, frame) in written.iter().enumerate() {
            let end = frame.len() - if is_tracked { TRAILER_OCTETS } else { 0 };
            prop_assert_eq!(&frame[at..end], &payload.octets(end - at)[..]);
            let read = TrailerReader::new(TrialId(7)).read(frame);
            let expected = stream.map(|stream| Stamp { stream, ..stamp(sequence as u64) });
            prop_assert_eq!(read, expected);
        }
    }
}
