//! Losses that DPDK's devices report.

use capbench_sys::xdp::XdpStatistics;

use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;

/// Counters of AF_XDP's sockets. The number of frames that reached them is unknown, because those in a ring are not counted.
pub(super) fn of_xdp(sum: &XdpStatistics) -> Counters {
    let loss = |place, count, source: &'static str| Loss { place, count, source: source.into() };
    let losses = match sum.rx_ring_full {
        Some(full) => vec![
            loss(
                Place::FillRing,
                Some(sum.rx_dropped),
                "XDP_STATISTICS: rx_dropped (no buffer, or a frame larger than one)",
            ),
            loss(Place::Ring, Some(full), "XDP_STATISTICS: rx_ring_full"),
        ],
        // Only their sum is known, so it is recorded at one place.
        None => vec![
            loss(
                Place::FillRing,
                None,
                "unknown: before Linux 5.9 rx_dropped counts them with those of the full receive ring",
            ),
            loss(
                Place::Ring,
                Some(sum.rx_dropped),
                "XDP_STATISTICS: rx_dropped, before Linux 5.9 also frames without a buffer",
            ),
        ],
    };
    let raw = [
        ("rx_dropped", Some(sum.rx_dropped)),
        ("rx_ring_full", sum.rx_ring_full),
        ("rx_fill_ring_empty_descs", sum.rx_fill_ring_empty_descs),
    ];
    Counters {
        accepted: None,
        losses,
        without: vec![Place::MethodQueue],
        raw: raw.into_iter().filter_map(|(name, count)| Some((name.to_string(), count?))).collect(),
    }
}

/// Losses by the counters of every driver (`rte_eth_stats`): frames received, frames without a hardware descriptor, and
/// frames with errors.
pub(super) fn of_hardware(port: &[(String, u64)]) -> Counters {
    let value = |name| port.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let lost = value("rx_missed_errors").zip(value("rx_errors")).map(|(missed, errors)| missed + errors);
    Counters {
        accepted: value("rx_good_packets"),
        losses: vec![Loss {
            place: Place::Link,
            count: lost,
            source: "rte_eth_stats: imissed + ierrors".into(),
        }],
        // Its rings are the card's. Their losses count as losses of the link.
        without: vec![Place::FillRing, Place::Ring, Place::MethodQueue],
        raw: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
