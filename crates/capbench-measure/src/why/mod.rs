//! `capbench why`: where an interface loses packets now, and every socket that captures on it. It makes no traffic and
//! changes nothing, not even counters that reading would reset.
//!
//! | file | what |
//! |---|---|
//! | [`places`] | what the kernel counts along the receive path |
//! | [`sockets`] | the sockets that capture, here and elsewhere on the host |
//! | `advice`, `room` | the likely cause, what to change; how long a buffer lasts |
//! | `fidelity` | when what is captured is not what was on the wire |

mod advice;
mod fidelity;
pub mod places;
mod room;
pub mod sockets;

use std::path::Path;
use std::time::{Duration, Instant};

use capbench_sys::bpf::{AttachedMode, link_state};
use capbench_sys::host::ring_sizes::{self, RingSizes};
use capbench_sys::host::{InterfaceIndex, NetNamespace};
use serde::Serialize;

use crate::accounts::softnet::SoftnetSnapshot;
use crate::drivers::NicSnapshot;
use crate::links::{Link, LinkStats, Links};
use crate::{MeasureError, Result};
pub use advice::Advice;
pub use places::{Lost, Place};
pub use sockets::{Fanout, Method, Process, Ring, Scope, Socket, Sockets};

/// Version of [`Look`] as JSON.
const SCHEMA_VERSION: u32 = 1;

/// What was seen in an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Look {
    /// Raised when a reader of older documents would misunderstand newer ones.
    pub schema_version: u32,
    /// The interface.
    pub interface: String,
    /// End of the interval, in seconds since the watch began.
    pub time_s: f64,
    /// Length of the interval.
    pub seconds: f64,
    /// Whether the interface is up.
    pub up: bool,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Packets that it received (rx_packets).
    pub received: u64,
    /// The same for each second.
    pub received_per_s: f64,
    /// Their octets.
    pub octets: u64,
    /// Times that the receive softirq of any CPU ran out of budget with work left.
    pub time_squeeze: u64,
    /// `net.core.netdev_max_backlog`; absent where the namespace does not show it.
    pub max_backlog: Option<u64>,
    /// The receive rings of the NIC; absent where the driver does not tell.
    pub nic_ring: Option<NicRing>,
    /// The XDP program on it.
    pub xdp: Option<String>,
    /// What each place lost, in the order of the path.
    pub lost: Vec<Lost>,
    /// The sockets that capture on it, with what each counted in the interval.
    pub sockets: Sockets,
    /// When what is captured is not what was on the wire.
    pub notes: Vec<String>,
    /// The places that lose, most first, with cause and change.
    pub advice: Vec<Advice>,
    /// All of it in one sentence.
    pub verdict: String,
}

/// The receive rings of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NicRing {
    /// Descriptors in each.
    pub descriptors: u32,
    /// The most that each can have.
    pub most: u32,
}

/// Everything that is read at one moment.
#[derive(Debug, Clone)]
struct Moment {
    at: Instant,
    link: Link,
    stats: LinkStats,
    nic: NicSnapshot,
    rings: Option<RingSizes>,
    softnet: SoftnetSnapshot,
    xdp: Option<String>,
    max_backlog: Option<u64>,
    offloads: fidelity::Offloads,
    sockets: Sockets,
}

/// Looks at one interface of a network namespace again and again.
#[derive(Debug)]
pub struct Watch {
    links: Links,
    index: InterfaceIndex,
    name: String,
    source: sockets::Source,
    first: Moment,
    last: Moment,
}

impl Watch {
    /// Begins to watch an interface of the calling thread's network namespace; looks have to be made in it, too.
    ///
    /// # Errors
    /// [`MeasureError::NoInterface`] where there is none of that name.
    pub fn new(interface: &str) -> Result<Self> {
        Self::with_types(interface, Path::new(sockets::records::KERNEL_TYPES))
    }

    fn with_types(interface: &str, types: &Path) -> Result<Self> {
        let links = Links::of_current_namespace()?;
        let link = links.by_name(interface)?;
        let source = sockets::Source::new(types, NetNamespace::current()?.inode(), link.index);
        let first = read(&links, link.index, interface, &source)?;
        let last = first.clone();
        Ok(Self { links, index: link.index, name: interface.into(), source, first, last })
    }

    /// How long it has been watched.
    pub fn elapsed(&self) -> Duration {
        self.first.at.elapsed()
    }

    /// What was seen since the last look.
    ///
    /// # Errors
    /// Where the interface has gone.
    pub fn look(&mut self) -> Result<Look> {
        let now = match read(&self.links, self.index, &self.name, &self.source) {
            Ok(now) => now,
            Err(error) => return Err(self.gone().unwrap_or(error)),
        };
        let before = std::mem::replace(&mut self.last, now);
        Ok(compare(&before, &self.last, self.last.at - self.first.at))
    }

    /// That the interface has gone, where it has.
    fn gone(&self) -> Option<MeasureError> {
        let Err(MeasureError::NoInterface { .. }) = self.links.by_index(self.index) else { return None };
        Some(MeasureError::Interface {
            interface: self.name.clone(),
            reason: format!(
                "has gone after {:.1} s: deleted, or moved to another namespace; `ip link` lists those that are there",
                self.elapsed().as_secs_f64()
            ),
        })
    }

    /// What was seen from the beginning to the last look.
    pub fn overall(&self) -> Look {
        compare(&self.first, &self.last, self.last.at - self.first.at)
    }
}

fn read(links: &Links, index: InterfaceIndex, name: &str, source: &sockets::Source) -> Result<Moment> {
    // Reading a driver's counters brings the link statistics up to date with many drivers.
    let nic = NicSnapshot::take(name)?;
    let link = links.by_index(index)?;
    let stats = link.stats.ok_or_else(|| MeasureError::Interface {
        interface: link.name.clone(),
        reason: "the kernel tells none of its counters; nothing can be said about it".into(),
    })?;
    let attached = link_state(index).ok().and_then(|state| state.attached);
    let xdp = attached.map(|attached| {
        let by = match attached.mode {
            AttachedMode::Driver => "in the driver",
            AttachedMode::Generic => "generic",
            AttachedMode::Hardware => "in the hardware",
            AttachedMode::Several => "in several places",
        };
        format!("{attached}, {by}")
    });
    let backlog = std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog").ok();
    Ok(Moment {
        at: Instant::now(),
        stats,
        nic,
        rings: ring_sizes::read(&link.name).ok().flatten(),
        softnet: SoftnetSnapshot::read()?,
        xdp,
        max_backlog: backlog.and_then(|text| text.trim().parse().ok()),
        offloads: fidelity::Offloads::read(&link.name),
        sockets: source.read(),
        link,
    })
}

fn compare(before: &Moment, after: &Moment, time: Duration) -> Look {
    // Counters that went back: the driver was reset. What it has counted since is all that is known.
    let stats = after.stats.since(&before.stats).unwrap_or(after.stats);
    let softnet = after.softnet.since(&before.softnet);
    let sockets = after.sockets.since(&before.sockets);
    let seconds = (after.at - before.at).as_secs_f64().max(1e-3);
    let mut look = Look {
        schema_version: SCHEMA_VERSION,
        interface: after.link.name.clone(),
        time_s: time.as_secs_f64(),
        seconds,
        up: after.link.up,
        carrier: after.link.carrier,
        received: stats.rx_packets,
        received_per_s: stats.rx_packets as f64 / seconds,
        octets: stats.rx_bytes,
        time_squeeze: softnet.iter().map(|cpu| cpu.time_squeeze).sum(),
        max_backlog: after.max_backlog,
        xdp: after.xdp.clone(),
        lost: places::losses(
            places::Counted {
                link: &stats,
                driver: after.nic.driver(),
                nic: &after.nic.since(&before.nic),
                softnet: &softnet,
                sockets: &sockets,
            },
            after.xdp.as_deref(),
            seconds,
        ),
        nic_ring: after.rings.map(|rings| NicRing { descriptors: rings.receive, most: rings.most_receive }),
        sockets,
        notes: Vec::new(),
        advice: Vec::new(),
        verdict: String::new(),
    };
    look.notes = fidelity::notes(
        &look,
        after.offloads,
        after.link.mtu,
        !after.link.broadcast && after.link.name == "lo",
    );
    look.advice = advice::advise(&look);
    look.verdict = advice::verdict(&look);
    look
}

#[cfg(test)]
mod tests;
