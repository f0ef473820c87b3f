//! At which places AF_XDP's sockets lose frames, by `XDP_STATISTICS` (if_xdp.h): for the method with that name and for DPDK's
//! device of such sockets. A frame that finds the receive ring full is lost there, and one that finds no buffer at the fill ring.
//! Before Linux 5.9 `rx_dropped` counts both.

use capbench_sys::xdp::XdpStatistics;

use capbench_model::counters::Loss;
use capbench_model::places::Place;

/// The losses at both places. `no_buffer` counts those at the fill ring if the kernel counts a full ring apart.
pub(super) fn losses(sockets: &XdpStatistics, no_buffer: impl FnOnce() -> Loss) -> [Loss; 2] {
    let loss = |place, count, source: &'static str| Loss { place, count, source: source.into() };
    match sockets.rx_ring_full {
        Some(full) => [no_buffer(), loss(Place::Ring, Some(full), "XDP_STATISTICS: rx_ring_full")],
        // Only their sum is known, so it is recorded at one place. The share of the other place is unknown.
        None => [
            loss(
                Place::FillRing,
                None,
                "unknown: before Linux 5.9 rx_dropped counts them with those of the full receive ring",
            ),
            loss(
                Place::Ring,
                Some(sockets.rx_dropped),
                "XDP_STATISTICS: rx_dropped, before Linux 5.9 also frames without a buffer and frames that are too long",
            ),
        ],
    }
}

/// Frames that found no buffer.
pub(super) fn at_fill_ring(count: Option<u64>, source: &'static str) -> Loss {
    Loss { place: Place::FillRing, count, source: source.into() }
}
