//! capbench's frames as headers of the Open Traffic Generator model.
//!
//! The model has no stamp, but fields that count. Where a stamp has the low 32 bits of the sequence number, a field of 32 bits
//! counts: the acknowledgement number of TCP; behind UDP the group address of an IGMPv1 header, whose other fields have trial and
//! stream. Such a frame is received as capbench's own: numbered, and verified. Its planned time is 0.

use std::net::{Ipv4Addr, Ipv6Addr};

use capbench_frames::layout::{
    DESTINATION_PORT, DESTINATION_V4, DESTINATION_V6, FIRST_SOURCE_PORT, FIRST_SOURCE_V4, FIRST_SOURCE_V6,
    FrameLayout, MacAddress, Network, Transport, VlanTag,
};
use capbench_frames::sizes::{SizeSequence, Sizes};
use capbench_frames::stamp::{StreamId, TrialId};
use serde_json::{Value, json};

/// Octet of the source Ethernet address that the stream is added to, as capbench's own frames have it.
const STREAM_AT: usize = 4;

/// Time to live of capbench's frames.
const TTL: u8 = 64;

/// The headers of `frames` frames of a trial, numbered from 0.
pub(super) fn headers(layout: &FrameLayout, trial: TrialId, stream: StreamId, frames: u32) -> Value {
    let mut source = layout.source;
    source.0[STREAM_AT] = source.0[STREAM_AT].wrapping_add(stream.0);
    let (network_type, protocol) = (
        match layout.network {
            Network::V4 => 0x0800,
            Network::V6 => 0x86dd,
        },
        match layout.transport {
            Transport::Udp => 17,
            Transport::Tcp => 6,
        },
    );
    let outer = if layout.vlan.is_some() { VlanTag::TPID } else { network_type };
    let mut all = vec![header(
        "ethernet",
        json!({
            "dst": value(mac(layout.destination)),
            "src": value(mac(source)),
            "ether_type": value(outer),
        }),
    )];
    if let Some(VlanTag { tci }) = layout.vlan {
        let (priority, cfi, id) = (tci >> 13, tci >> 12 & 1, tci & 0xfff);
        let fields = json!({
            "priority": value(priority), "cfi": value(cfi), "id": value(id), "tpid": value(network_type),
        });
        all.push(header("vlan", fields));
    }
    let flows = layout.flows.get();
    all.push(match layout.network {
        Network::V4 => header(
            "ipv4",
            json!({
                "dont_fragment": value(1),
                "time_to_live": value(TTL),
                "protocol": value(protocol),
                "src": counting(FIRST_SOURCE_V4, Ipv4Addr::from_bits(1), flows),
                "dst": value(DESTINATION_V4),
            }),
        ),
        Network::V6 => header(
            "ipv6",
            json!({
                "hop_limit": value(TTL),
                "next_header": value(protocol),
                "src": counting(FIRST_SOURCE_V6, Ipv6Addr::from_bits(1), flows),
                "dst": value(DESTINATION_V6),
            }),
        ),
    });
    let source_port = counting(FIRST_SOURCE_PORT, 1, flows);
    let [high, low] = trial.0.to_be_bytes();
    match layout.transport {
        Transport::Udp => all.extend([
            header("udp", json!({ "src_port": source_port, "dst_port": value(DESTINATION_PORT) })),
            header(
                "igmpv1",
                json!({
                    "version": value(high >> 4),
                    "type": value(high & 0xf),
                    "unused": value(low),
                    "checksum": { "choice": "custom", "custom": u16::from(stream.0) << 8 },
                    "group_address": counting(Ipv4Addr::from_bits(0), Ipv4Addr::from_bits(1), frames),
                }),
            ),
        ]),
        Transport::Tcp => all.push(header(
            "tcp",
            json!({
                "src_port": source_port,
                "dst_port": value(DESTINATION_PORT),
                "seq_num": value(u32::from(trial.0) << 16 | u32::from(stream.0) << 8),
                "ack_num": counting(0, 1, frames),
                "data_offset": value(5),
                "ctl_ack": value(1),
                "ctl_psh": value(1),
                "window": value(u16::MAX),
            }),
        )),
    }
    Value::Array(all)
}

/// Frame sizes. The order of several is the generator's.
pub(super) fn size(asked: &Sizes, sequence: &SizeSequence) -> Value {
    let (least, largest) = (sequence.least().octets(), sequence.largest().octets());
    if least == largest {
        return json!({ "choice": "fixed", "fixed": least });
    }
    match asked {
        Sizes::Incremental { step, .. } => {
            json!({ "choice": "increment", "increment": { "start": least, "end": largest, "step": step } })
        }
        Sizes::Random { .. } => json!({ "choice": "random", "random": { "min": least, "max": largest } }),
        Sizes::Fixed(_) | Sizes::List(_) | Sizes::Imix(_) => {
            let mut weights: Vec<(u16, u32)> = Vec::new();
            for size in sequence.sizes() {
                match weights.iter_mut().find(|(octets, _)| *octets == size.octets()) {
                    Some((_, weight)) => *weight += 1,
                    None => weights.push((size.octets(), 1)),
                }
            }
            let pairs: Vec<_> =
                weights.iter().map(|(size, weight)| json!({ "size": size, "weight": weight })).collect();
            json!({ "choice": "weight_pairs", "weight_pairs": { "choice": "custom", "custom": pairs } })
        }
    }
}

fn header(protocol: &str, fields: Value) -> Value {
    json!({ "choice": protocol, protocol: fields })
}

fn value(value: impl serde::Serialize) -> Value {
    json!({ "choice": "value", "value": value })
}

/// A field with this many values.
fn counting<T: serde::Serialize>(start: T, step: T, count: u32) -> Value {
    if count == 1 {
        return value(start);
    }
    json!({ "choice": "increment", "increment": { "start": start, "step": step, "count": count } })
}

fn mac(address: MacAddress) -> String {
    address.0.map(|octet| format!("{octet:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use capbench_frames::stack::{Payload, StackPlan};
    use capbench_frames::units::{FrameSize, Mtu};
    use capbench_frames::{Classifier, Flows, FrameClass, HeaderStack, Stamp, TagMetadata, TrialId};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What a generator makes of the headers is what capbench itself would send, so the receiver accepts it.
        #[test]
        fn a_generators_frames_are_capbenchs_frames(
            tci in prop::option::of(any::<u16>()), v6: bool, tcp: bool, flows in 1_u32..40, trial: u16, stream: u8,
            more in 0_u16..200,
        ) {
            let layout = FrameLayout {
                vlan: tci.map(|tci| VlanTag { tci }),
                network: if v6 { Network::V6 } else { Network::V4 },
                transport: if tcp { Transport::Tcp } else { Transport::Udp },
                flows: Flows::new(flows).unwrap(),
                ..FrameLayout::default()
            };
            let size = layout.minimum_size().max(FrameSize::LEAST).octets() + more;
            let sizes = Sizes::Fixed(FrameSize::new(size.into()).unwrap());
            let headers = headers(&layout, TrialId(trial), StreamId(stream), 1000);
            let stack = HeaderStack::from_value(&headers).unwrap();
            let plan = StackPlan::new(stack, sizes, &Payload::default(), None, Mtu(1500)).unwrap();
            let classifier = Classifier::new(TrialId(trial), &layout, None).unwrap();
            let (mut frames, mut slot) = (plan.frames(), [0; 1600]);
            for sequence in 0..300 {
                let stamp = Stamp { trial: TrialId(trial), stream: StreamId(stream), sequence, planned_ns: 0 };
                let octets = frames.write_next(&mut slot, stamp).captured();
                let class = classifier.look(&slot[..octets], octets as u32, TagMetadata::Absent);
                prop_assert_eq!(class, FrameClass::Own(stamp));
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_model() {
        let of = |text: &str| {
            let sizes: Sizes = text.parse().unwrap();
            size(&sizes, &sizes.sequence(&FrameLayout::default()).unwrap())
        };
        assert_eq!(of("128")["fixed"], 128);
        assert_eq!(of("64-1518/100")["increment"], json!({ "start": 64, "end": 1464, "step": 100 }));
        assert_eq!(of("random:64-1518")["random"], json!({ "min": 64, "max": 1518 }));
        let imix = of("imix");
        let pairs =
            json!([{"size": 64, "weight": 7}, {"size": 570, "weight": 4}, {"size": 1518, "weight": 1}]);
        assert_eq!(imix["weight_pairs"]["choice"], "custom");
        let mut found = imix["weight_pairs"]["custom"].as_array().unwrap().clone();
        found.sort_by_key(|pair| pair["size"].as_u64());
        assert_eq!(Value::Array(found), pairs);
    }
}
