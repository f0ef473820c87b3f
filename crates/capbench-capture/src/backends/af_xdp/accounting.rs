//! The meaning of the method's counters.
//!
//! In copy mode (`__xsk_rcv` and `__xp_alloc` of net/xdp) a frame that finds the fill ring empty counts in `rx_dropped` *and*
//! in `rx_fill_ring_empty_descs`. A frame too long for a chunk counts in `rx_dropped` only. With zero-copy the driver counts `rx_fill_ring_empty_descs` whenever it finds nothing there. The NIC
//! loses the frames, and only the NIC knows how many.

use capbench_sys::xdp::XdpStatistics;

use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;

use crate::backends::xdp_socket_losses::{self, at_fill_ring};

/// The counters, summed over all queues and CPUs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// By the XDP program: frames redirected to a socket.
    pub(super) redirected: u64,
    /// By the XDP program: frames of queues without a socket, passed to the stack.
    pub(super) passed: u64,
    /// By the kernel.
    pub(super) sockets: XdpStatistics,
    /// Whether the kernel copies frames.
    pub(super) copies: bool,
}

impl Counted {
    /// The losses, each at one place.
    pub(super) fn counters(&self) -> Counters {
        let sockets = &self.sockets;
        let [fill, ring] = xdp_socket_losses::losses(sockets, || match sockets.rx_fill_ring_empty_descs {
            Some(empty) if self.copies => at_fill_ring(
                Some(empty.min(sockets.rx_dropped)),
                "XDP_STATISTICS: rx_fill_ring_empty_descs, as far as rx_dropped confirms it",
            ),
            _ => at_fill_ring(
                None,
                "unknown: with zero-copy the NIC loses them; rx_fill_ring_empty_descs counts looks, not frames",
            ),
        });
        let too_long = self.too_long();
        Counters {
            accepted: Some(self.redirected.saturating_sub(too_long)),
            losses: vec![
                Loss {
                    place: Place::Xdp,
                    count: Some(self.passed + too_long),
                    source: "XDP program: left to the stack; XDP_STATISTICS: rx_dropped beyond fill ring (too long)"
                        .into(),
                },
                fill,
                ring,
            ],
            without: vec![Place::MethodQueue],
            raw: self.raw(),
        }
    }

    /// Frames that did not fit into a chunk.
    fn too_long(&self) -> u64 {
        match self.sockets.rx_fill_ring_empty_descs {
            Some(empty) if self.copies => self.sockets.rx_dropped.saturating_sub(empty),
            _ => 0,
        }
    }

    fn raw(&self) -> Vec<(String, u64)> {
        let sockets = &self.sockets;
        [
            ("xdp.redirected", Some(self.redirected)),
            ("xdp.passed", Some(self.passed)),
            ("rx_dropped", Some(sockets.rx_dropped)),
            ("rx_invalid_descs", Some(sockets.rx_invalid_descs)),
            ("rx_ring_full", sockets.rx_ring_full),
            ("rx_fill_ring_empty_descs", sockets.rx_fill_ring_empty_descs),
        ]
        .into_iter()
        .filter_map(|(name, count)| Some((name.to_string(), count?)))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(dropped: u64, empty: Option<u64>, full: Option<u64>) -> Counters {
        let sockets = XdpStatistics {
            rx_dropped: dropped,
            rx_fill_ring_empty_descs: empty,
            rx_ring_full: full,
            ..XdpStatistics::default()
        };
        Counted { redirected: 1000, passed: 7, sockets, copies: true }.counters()
    }

    fn places(counters: &Counters) -> [Option<u64>; 4] {
        [Place::Xdp, Place::FillRing, Place::Ring]
            .map(|place| counters.lost_at(place))
            .into_iter()
            .chain([counters.accepted])
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    }

    #[test]
    fn a_starved_fill_ring_is_booked_once_though_two_counters_count_it() {
        assert_eq!(places(&copied(30, Some(30), Some(5))), [Some(7), Some(30), Some(5), Some(1000)]);
    }

    #[test]
    fn frames_too_long_for_a_chunk_do_not_count_as_a_starved_fill_ring() {
        assert_eq!(places(&copied(40, Some(30), Some(0))), [Some(17), Some(30), Some(0), Some(990)]);
    }

    #[test]
    fn facts_that_kernel_and_driver_do_not_report_are_absent() {
        let old = copied(40, None, None);
        assert_eq!(places(&old), [Some(7), None, Some(40), Some(1000)]);
        assert_eq!((old.dropped(), old.raw("rx_fill_ring_empty_descs")), (None, None));
        let sockets = XdpStatistics {
            rx_fill_ring_empty_descs: Some(9),
            rx_ring_full: Some(2),
            ..XdpStatistics::default()
        };
        let direct = Counted { redirected: 10, passed: 0, sockets, copies: false }.counters();
        assert_eq!(places(&direct), [Some(0), None, Some(2), Some(10)]);
        assert_eq!(direct.dropped(), None);
    }

    #[test]
    fn the_four_counters_stay_apart() {
        let counters = copied(30, Some(30), Some(5));
        let names: Vec<_> = counters.raw.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(
            names,
            [
                ("xdp.redirected", 1000),
                ("xdp.passed", 7),
                ("rx_dropped", 30),
                ("rx_invalid_descs", 0),
                ("rx_ring_full", 5),
                ("rx_fill_ring_empty_descs", 30)
            ]
        );
    }
}
