//! Losses that DPDK's devices report.

use std::ops::Range;

use capbench_sys::xdp::XdpStatistics;

use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;

use crate::backends::xdp_socket_losses::{self, at_fill_ring};

/// Counters of AF_XDP's sockets. The number of frames that reached them is unknown, because those in a ring are not counted.
pub(super) fn of_xdp(sum: &XdpStatistics) -> Counters {
    let no_buffer = || {
        at_fill_ring(
            Some(sum.rx_dropped),
            "XDP_STATISTICS: rx_dropped (no buffer, or a frame larger than one)",
        )
    };
    let raw = [
        ("rx_dropped", Some(sum.rx_dropped)),
        ("rx_ring_full", sum.rx_ring_full),
        ("rx_fill_ring_empty_descs", sum.rx_fill_ring_empty_descs),
    ];
    Counters {
        accepted: None,
        losses: xdp_socket_losses::losses(sum, no_buffer).into(),
        without: vec![Place::MethodQueue],
        raw: raw.into_iter().filter_map(|(name, count)| Some((name.to_string(), count?))).collect(),
    }
}

/// Losses by the counters of every driver (`rte_eth_stats`): frames received, frames without a hardware descriptor, and
/// frames with errors. The latter two are known of the port as a whole, so that of members only the one with the first queue
/// counts them.
pub(super) fn of_hardware(port: &[(String, u64)], own: &Range<u16>, all: u16) -> Counters {
    let value = |name: &str| port.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let lost = value("rx_missed_errors").zip(value("rx_errors")).map(|(missed, errors)| missed + errors);
    let received = value("rx_good_packets");
    let of =
        |queues: Range<u16>| queues.map(|queue| value(&format!("rx_q{queue}_packets"))).sum::<Option<u64>>();
    Counters {
        // Some drivers leave the counters of queues at 0.
        accepted: match usize::from(all) == own.len() {
            true => received,
            false => of(own.clone()).filter(|_| of(0..all) == received),
        },
        losses: vec![Loss {
            place: Place::Link,
            count: lost.map(|lost| if own.start == 0 { lost } else { 0 }),
            source: "rte_eth_stats: imissed + ierrors".into(),
        }],
        // Its rings are the card's. Their losses count as losses of the link.
        without: vec![Place::FillRing, Place::Ring, Place::MethodQueue],
        raw: Vec::new(),
    }
}

/// The counters of a port that are those of some queues, and with the first queue those of the port as a whole.
pub(super) fn of_queues(port: Vec<(String, u64)>, own: &Range<u16>) -> impl Iterator<Item = (String, u64)> {
    let queue = |name: &str| name.strip_prefix("rx_q")?.split_once('_')?.0.parse::<u16>().ok();
    port.into_iter().filter(move |(name, _)| own.contains(&queue(name).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters of a port with two queues.
    fn port(queues: [u64; 2]) -> Vec<(String, u64)> {
        let [first, second] = queues;
        let named = [
            ("rx_good_packets", 30),
            ("rx_missed_errors", 5),
            ("rx_errors", 2),
            ("rx_q0_packets", first),
            ("rx_q1_packets", second),
            ("tx_q1_packets", 4),
        ];
        named.map(|(name, value)| (name.into(), value)).into()
    }

    #[test]
    fn what_the_port_counts_is_counted_by_one_member() {
        let members = [0..1, 1..2].map(|own| {
            let mut counters = of_hardware(&port([10, 20]), &own, 2);
            counters.raw.extend(of_queues(port([10, 20]), &own));
            counters
        });
        assert_eq!(members.each_ref().map(|member| member.accepted), [Some(10), Some(20)]);
        let sum = Counters::sum(&members);
        assert_eq!((sum.accepted, sum.lost_at(Place::Link)), (Some(30), Some(7)));
        let alone = of_hardware(&port([10, 20]), &(0..2), 2);
        assert_eq!((alone.accepted, alone.losses), (Some(30), sum.losses));
        let sorted = |mut raw: Vec<_>| {
            raw.sort();
            raw
        };
        assert_eq!(sorted(sum.raw), sorted(port([10, 20])));
    }

    #[test]
    fn what_a_queue_received_is_unknown_where_its_counter_stays_at_zero() {
        assert_eq!(of_hardware(&port([0, 0]), &(0..1), 2).accepted, None);
        assert_eq!(of_hardware(&port([0, 0])[..3], &(1..2), 2).accepted, None);
        let nothing = of_hardware(&[], &(1..2), 2);
        assert_eq!((nothing.accepted, nothing.lost_at(Place::Link)), (None, None));
    }

    #[test]
    fn counters_missing_in_older_kernels_are_unknown_and_not_zero() {
        let counts = XdpStatistics { rx_dropped: 5, rx_ring_full: Some(2), ..XdpStatistics::OF_NONE };
        let new = of_xdp(&counts);
        assert_eq!([Place::FillRing, Place::Ring].map(|place| new.lost_at(place)), [Some(5), Some(2)]);
        let old = of_xdp(&XdpStatistics { rx_dropped: 7, ..XdpStatistics::default() });
        assert_eq!([Place::FillRing, Place::Ring].map(|place| old.lost_at(place)), [None, Some(7)]);
        assert_eq!((old.raw("rx_dropped"), old.raw("rx_ring_full")), (Some(7), None));
    }
}
