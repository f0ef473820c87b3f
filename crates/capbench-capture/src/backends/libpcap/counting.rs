//! libpcap's three counters: kept unchanged, and used only where their meaning is known.

use capbench_sys::pcap::{Engine, Pcap, Statistics};

use crate::Interface;
use capbench_model::counters::Counters;
use capbench_model::direction::Direction;
use capbench_model::options::CaptureOptions;

/// The engine whose counters libpcap passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// A packet socket of Linux (`pcap-linux.c`).
    PacketSocket,
    /// A ring of PF_RING (`pcap-linux.c` of its build): ps_recv counts read and lost packets of one direction.
    PfRing,
    /// Another engine, with unknown counters.
    Unknown,
}

impl Counted {
    fn by(engine: &Engine) -> Self {
        match engine {
            Engine::Packet { .. } => Self::PacketSocket,
            Engine::PfRing { .. } => Self::PfRing,
            _ => Self::Unknown,
        }
    }

    /// The meaning of ps_drop.
    fn dropped(self) -> &'static str {
        match self {
            Self::PfRing => "pcap_stats: ps_drop, which is drop of pfring_stats",
            _ => "pcap_stats: ps_drop, which is tp_drops of the packet socket",
        }
    }
}

/// Extends libpcap's 32-bit counters to 64 bits.
#[derive(Debug)]
pub(super) struct Counting {
    engine: Counted,
    interface: String,
    direction: Direction,
    /// Frames of the other direction when the capture was opened.
    others: Option<u64>,
    /// Whether libpcap itself discards frames that its socket has counted.
    filters_itself: bool,
    last: Statistics,
    totals: [u64; 3],
    went_backwards: bool,
}

impl Counting {
    pub(super) fn new(pcap: &Pcap, interface: &Interface, options: &CaptureOptions) -> Self {
        let direction = options.direction;
        Self {
            filters_itself: options.filter.is_some() && !has_kernel_filter(pcap),
            engine: Counted::by(pcap.engine()),
            interface: interface.name.clone(),
            direction,
            others: others(&interface.name, direction),
            last: Statistics { received: 0, dropped: 0, interface_dropped: 0 },
            totals: [0; 3],
            went_backwards: false,
        }
    }

    /// The counters, updated with libpcap's current ones.
    pub(super) fn counters(&mut self, now: Statistics) -> Counters {
        self.add(now);
        let [received, dropped, interface_dropped] = self.totals;
        let raw = vec![
            ("ps_recv".into(), received),
            ("ps_drop".into(), dropped),
            ("ps_ifdrop".into(), interface_dropped),
        ];
        let unknown = if self.went_backwards {
            Some("unknown: libpcap's counters went backwards")
        } else if self.engine == Counted::Unknown {
            Some("unknown: ps_drop means what the engine under this libpcap counts there")
        } else {
            None
        };
        if let Some(reason) = unknown {
            return Counters { without: Vec::new(), ..Counters::of_ring(None, None, reason, raw) };
        }
        if self.filters_itself {
            let source = format!(
                "{}; libpcap may filter what fills the ring, so that frames which are not wanted are among these",
                self.engine.dropped()
            );
            return Counters::of_ring(None, Some(dropped), source, raw);
        }
        // pcap_stats of libpcap on Linux (pcap-linux.c): ps_recv is tp_packets, which includes dropped frames. ps_drop is
        // tp_drops. libpcap itself discards frames of the other direction from the ring. If there were any, the number
        // of accepted frames of the requested direction is unknown.
        let is_mixed =
            self.engine == Counted::PacketSocket && self.others != others(&self.interface, self.direction);
        let source = if is_mixed {
            "pcap_stats: ps_drop, which is tp_drops of the packet socket; how many frames it accepted of the direction \
             that is captured is unknown, since ps_recv counts those of the other one too, and there were some"
        } else {
            self.engine.dropped()
        };
        Counters::of_ring((!is_mixed).then_some(received), Some(dropped), source, raw)
    }

    fn add(&mut self, now: Statistics) {
        let pairs = [
            (self.last.received, now.received),
            (self.last.dropped, now.dropped),
            (self.last.interface_dropped, now.interface_dropped),
        ];
        for (total, (last, now)) in self.totals.iter_mut().zip(pairs) {
            // They are read long before they could advance by half their range: such a step is a step back.
            let step = now.wrapping_sub(last);
            if step > u32::MAX / 2 {
                self.went_backwards = true;
            } else {
                *total += u64::from(step);
            }
        }
        self.last = now;
    }
}

/// Whether the kernel runs a filter before this capture.
pub(super) fn has_kernel_filter(pcap: &Pcap) -> bool {
    pcap.kernel_filter().is_some_and(|instructions| instructions > 0)
}

/// Frames of the other direction since the interface exists (/proc/net/dev of the thread's namespace). 0 if both directions
/// are captured.
fn others(interface: &str, direction: Direction) -> Option<u64> {
    let column = match direction {
        Direction::In => 9,
        Direction::Out => 1,
        Direction::Both => return Some(0),
    };
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Counted, Counting, Direction, Statistics};
    use capbench_model::places::Place;

    fn counting(engine: Counted) -> Counting {
        Counting {
            engine,
            interface: "none".into(),
            direction: Direction::Both,
            others: Some(0),
            filters_itself: false,
            last: Statistics { received: 0, dropped: 0, interface_dropped: 0 },
            totals: [0; 3],
            went_backwards: false,
        }
    }

    fn at(received: u32, dropped: u32) -> Statistics {
        Statistics { received, dropped, interface_dropped: 3 }
    }

    #[test]
    fn counters_pass_32_bits() {
        let mut counting = counting(Counted::PacketSocket);
        counting.counters(at(2_000_000_000, 5));
        counting.counters(at(4_000_000_000, 6));
        let counters = counting.counters(at(5, 7));
        assert_eq!((counters.accepted, counters.dropped()), (Some((1 << 32) + 5), Some(7)));
        assert_eq!(counters.raw("ps_ifdrop"), Some(3));
    }

    #[test]
    fn losses_of_pf_ring_are_booked() {
        // What frames passed the other way does not matter: the ring has a direction.
        let of_pf_ring = || Counting { others: None, direction: Direction::In, ..counting(Counted::PfRing) };
        let counters = of_pf_ring().counters(at(22_461, 13_210));
        assert_eq!((counters.accepted, counters.lost_at(Place::Ring)), (Some(22_461), Some(13_210)));
        assert!(counters.losses[0].source.counter().contains("pfring_stats"), "{counters:?}");
        let own = Counting { filters_itself: true, ..of_pf_ring() }.counters(at(10, 4));
        assert_eq!((own.accepted, own.dropped()), (None, Some(4)));
    }

    #[test]
    fn unknown_values_are_absent_and_read_values_are_kept() {
        let counters = counting(Counted::Unknown).counters(at(10, 4));
        assert_eq!(
            (counters.accepted, counters.dropped(), counters.lost_at(Place::Ring)),
            (None, None, None)
        );
        assert_eq!((counters.raw("ps_recv"), counters.raw("ps_drop")), (Some(10), Some(4)));
        let mixed = Counting { others: None, ..counting(Counted::PacketSocket) }.counters(at(10, 4));
        assert_eq!((mixed.accepted, mixed.dropped()), (None, Some(4)));
        assert!(mixed.losses[0].source.counter().contains("the other one"), "{mixed:?}");
        let own = Counting { filters_itself: true, ..counting(Counted::PacketSocket) }.counters(at(10, 4));
        assert_eq!((own.accepted, own.dropped()), (None, Some(4)));
        let mut resetting = counting(Counted::PacketSocket);
        resetting.counters(at(10, 4));
        let counters = resetting.counters(at(2, 0));
        assert_eq!((counters.accepted, counters.dropped()), (None, None));
        assert!(counters.losses[0].source.counter().contains("backwards"));
    }
}
