//! How long a socket's buffer lasts at the offered rate.

use crate::look::Look;
use crate::sockets::{Method, Socket};

/// How long a reader should be able to pause, in seconds: longer than a scheduler usually makes it wait.
const ENOUGH_S: f64 = 0.1;

/// A socket's buffer and the rate that fills it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Room {
    /// Octets of the whole buffer.
    octets: f64,
    /// Frames of the current length that fit.
    frames: f64,
    /// Offered frames per second.
    rate: f64,
    method: Method,
}

impl Room {
    /// The buffer of a socket; `None` if its size is unknown or no frames are offered.
    pub(super) fn of(socket: &Socket, look: &Look) -> Option<Self> {
        let length = match look.octets.zip(look.received) {
            Some((octets, received)) if received > 0 => octets as f64 / received as f64,
            _ => 64.0,
        };
        let offered = socket.accepted.or(look.received)? + socket.dropped.unwrap_or(0);
        let rate = offered as f64 / look.seconds;
        let (octets, frames) = match (socket.method, socket.ring) {
            (Method::PacketV3, Some(ring)) => {
                // Each frame is preceded by its header and the sender's address, 82 octets.
                let octets = f64::from(ring.blocks) * ring.block_octets as f64;
                (octets, octets / (length + 82.0))
            }
            (Method::PfRing, Some(ring)) => {
                // Each frame is preceded by the module's header, with padding about 56 octets.
                let octets = ring.block_octets as f64;
                (octets, octets / (length + 56.0))
            }
            (_, Some(ring)) => (f64::from(ring.slots) * f64::from(ring.slot_octets), f64::from(ring.slots)),
            (_, None) => {
                // The kernel's charge for a frame: its data in a block of 2^n octets, and 256 octets of overhead.
                let charged = ((length as u64 + 384).next_power_of_two() + 256) as f64;
                let octets = f64::from(socket.receive_buffer?);
                (octets, octets / charged)
            }
        };
        (rate > 0.0 && frames > 0.0).then_some(Self { octets, frames, rate, method: socket.method })
    }

    /// How long the buffer lasts in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.frames / self.rate
    }

    /// The recommended change.
    pub(super) fn change(&self) -> String {
        if self.seconds() >= ENOUGH_S {
            return "see why its reader is away for so long: give it a CPU of its own or a higher priority"
                .into();
        }
        let mebibytes = (self.octets * ENOUGH_S / self.seconds() / f64::from(1 << 20)).ceil().max(1.0);
        let how = match self.method {
            Method::Recv => "SO_RCVBUF, below net.core.rmem_max",
            Method::AfXdp => "a longer receive ring and as many more chunks",
            Method::PfRing => "min_num_slots of the module pf_ring, before the program opens its ring",
            _ => "tcpdump -B, dumpcap -B, or the program's own setting",
        };
        format!("make its buffer larger: 100 ms at this rate take {mebibytes:.0} MiB ({how})")
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.seconds() * 1e3;
        let digits = if ms < 10.0 { 1 } else { 0 };
        write!(f, "its buffer of {:.0} KiB lasts about {ms:.digits$} ms", self.octets / 1024.0)
    }
}
