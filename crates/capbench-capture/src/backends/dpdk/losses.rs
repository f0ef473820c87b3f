//! What DPDK's devices say of frames that were lost.

use capbench_sys::dpdk::XdpStatistics;

use crate::counters::{Counters, Loss, LossPlace};

/// What AF_XDP's socket counted. How many frames reached it is not among that: those that wait in its ring are not.
pub(super) fn of_xdp(sum: XdpStatistics) -> Counters {
    let loss = |place, count, source: &'static str| Loss { place, count: Some(count), source: source.into() };
    Counters {
        accepted: None,
        losses: vec![
            loss(
                LossPlace::FillRing,
                sum.dropped,
                "XDP_STATISTICS: rx_dropped (no buffer, or a frame larger than one)",
            ),
            loss(LossPlace::Ring, sum.ring_full, "XDP_STATISTICS: rx_ring_full"),
        ],
        raw: vec![
            ("rx_dropped".into(), sum.dropped),
            ("rx_ring_full".into(), sum.ring_full),
            ("rx_fill_ring_empty_descs".into(), sum.fill_ring_empty),
        ],
    }
}

/// What the counters that every driver has say (`rte_eth_stats`): frames received, frames that the hardware had no
/// descriptor for, and frames that it found in error.
pub(super) fn of_hardware(port: &[(String, u64)]) -> Counters {
    let value = |name| port.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let lost = value("rx_missed_errors").zip(value("rx_errors")).map(|(missed, errors)| missed + errors);
    Counters {
        accepted: value("rx_good_packets"),
        losses: vec![Loss {
            place: LossPlace::Link,
            count: lost,
            source: "rte_eth_stats: imissed + ierrors".into(),
        }],
        raw: Vec::new(),
    }
}
