//! The places along a receive path where frames can be lost, as the kernel counts them for one interface.
//!
//! | file | which frames of a counter are lost |
//! |---|---|
//! | `veth_queue` | those of a veth's queue, in tx_dropped of its peer |
//! | `backlog_and_stack` | those of backlog and stack, by the tracer, rx_dropped and a veth's peer |
//! | `transmit` | what this host sends, and what is only named of it |
//! | `no_loss` | none: captures have them, so they are named |

use schemars::JsonSchema;
use serde::Serialize;

use self::veth_queue::Queue;
use crate::sockets::{Method, Sockets};
use crate::traced::Traced;
use capbench_host::accounts::softnet::SoftnetDelta;
use capbench_host::drivers::table::REDIRECT;
use capbench_host::drivers::{CounterDelta, Driver, NicLoss, nic_losses};
use capbench_host::links::LinkDeltas;
use capbench_host::tracer::reasons::DropStage;
use capbench_host::xdp::XdpProgram;
use capbench_model::places::Place;
use capbench_sys::bpf::XdpAttachment;

mod backlog_and_stack;
pub(super) mod no_loss;
pub(super) mod transmit;
pub(super) mod veth_queue;

/// The places of a receive path in its order. docs/why.md says what counts each.
pub const PLACES: [Place; 9] = [
    Place::LinkQueue,
    Place::Link,
    Place::Nic,
    Place::Driver,
    Place::Xdp,
    Place::Backlog,
    Place::Stack,
    Place::Ring,
    Place::Transmit,
];

/// Frames that one place lost in an interval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    /// The place.
    #[serde(serialize_with = "by_key")]
    #[schemars(with = "String", extend("enum" = PLACES.map(Place::key)))]
    pub place: Place,
    /// Number of lost frames; absent if not counted.
    pub frames: Option<u64>,
    /// Lost frames per second.
    pub per_s: Option<f64>,
    /// The source of the count.
    pub source: String,
}

/// Frames that a counter has and captures have, too.
pub(super) struct Captured {
    /// Their number; absent if not counted.
    pub(super) frames: Option<u64>,
    /// What they are, behind their number.
    pub(super) note: &'static str,
}

/// Serializes a place as its key.
pub(super) fn by_key<S: serde::Serializer>(place: &Place, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(place.key())
}

/// The counters of an interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'c> {
    pub(super) link: &'c LinkDeltas,
    pub(super) driver: Option<&'static Driver>,
    pub(super) nic: &'c [CounterDelta],
    pub(super) softnet: &'c [SoftnetDelta],
    pub(super) sockets: &'c Sockets,
    pub(super) queue: Option<&'c Queue>,
    /// Absent without a tracer.
    pub(super) traced: Option<&'c Traced>,
    /// Whether the interface passes damaged frames on (`ethtool -K IF rx-all on`), so that captures have them.
    pub(super) keeps_damaged: bool,
}

/// The losses of each place; each loss is booked once. `xdp` is the program on the interface.
///
/// Each count is a sum of the kernel's counters, or a lower bound of such a sum, so that it never goes down while the counters go
/// up: what one place has once counted no other place counts later.
pub(super) fn losses(counted: Counted<'_>, xdp: Option<&XdpProgram>, seconds: f64) -> Vec<Lost> {
    let Counted { link, sockets, queue, traced, .. } = counted;
    let (of_card, of_driver) = of_card(counted, xdp);
    let others = link.rx_dropped.map(|all| all.saturating_sub(of_driver));
    let mut all: Vec<_> = queue.map(|queue| queue.lost(others, traced)).into_iter().chain(of_card).collect();
    all.extend(backlog_and_stack::losses(counted, of_driver));
    all.push(of_sockets(sockets));
    all.push(transmit::lost(counted));
    for lost in &mut all {
        lost.per_s = lost.frames.map(|frames| frames as f64 / seconds);
    }
    all
}

/// The sockets that are bound to the interface. For a socket on all interfaces it is unknown which of them filled it: its loss is
/// listed next to the sum.
fn of_sockets(sockets: &Sockets) -> Lost {
    let (of_all, bound): (Vec<_>, Vec<_>) = sockets.here.iter().partition(|socket| socket.every_interface);
    let (closed_of_all, closed): (Vec<_>, Vec<_>) =
        sockets.closed_here().partition(|group| group.every_interface);
    let counts = bound.iter().map(|socket| socket.dropped).chain(closed.iter().map(|group| group.dropped()));
    let frames = match sockets.unknown {
        Some(_) => None,
        None => counts.sum(),
    };
    let mut source = String::from("the sockets' own counters");
    let most = of_all.iter().filter_map(|socket| socket.dropped).sum::<u64>()
        + closed_of_all.iter().map(|group| group.dropped).sum::<u64>();
    if most > 0 {
        source.push_str(&format!("; up to {most} more, which sockets on all interfaces lost of all of them"));
    }
    Lost { place: Place::Ring, frames, per_s: None, source }
}

/// Link, NIC, driver and XDP program, by the driver's counters with known meaning. The number is how many of their frames also
/// count in rx_dropped.
fn of_card(counted: Counted<'_>, xdp: Option<&XdpProgram>) -> (Vec<Lost>, u64) {
    // Some drivers report a loss only in rx_dropped. What the tracer explains of that is not theirs.
    let traced = counted.traced;
    let rx_dropped = match traced {
        Some(traced) => traced.unexplained(counted.link.rx_dropped),
        None => counted.link.rx_dropped,
    };
    let link = LinkDeltas { rx_dropped, ..*counted.link };
    let mut found = nic_losses(counted.driver, Some(&link), counted.nic);
    for loss in found.iter_mut().filter(|loss| loss.in_rx_dropped) {
        loss.exact |= traced.is_some_and(|traced| traced.missed == 0);
    }
    // Drivers add their drops to rx_dropped, for example veth.
    let in_rx_dropped = found.iter().filter(|loss| loss.in_rx_dropped && loss.exact);
    let booked = in_rx_dropped.map(|loss| loss.count).sum();
    // A frame that an AF_XDP socket refuses counts at the socket and as a failed redirect.
    let sockets = counted.sockets;
    let open = sockets.here.iter().filter(|socket| socket.method == Method::AfXdp);
    let closed = sockets.closed_here().filter(|group| group.method == Method::AfXdp);
    let refused = open.filter_map(|socket| socket.dropped).sum::<u64>()
        + closed.map(|group| group.dropped).sum::<u64>();
    for loss in found.iter_mut().filter(|loss| loss.part == REDIRECT) {
        loss.count = loss.count.saturating_sub(refused);
    }
    let mut all = Vec::new();
    for place in [Place::Link, Place::Nic, Place::Driver, Place::Xdp] {
        let its: Vec<_> = found.iter().filter(|loss| loss.meaning.place_for_why() == Some(place)).collect();
        let lost = match place {
            Place::Xdp => of_xdp(&its, counted, xdp),
            Place::Link if counted.keeps_damaged && !its.is_empty() => Some(Lost {
                place,
                frames: None,
                per_s: None,
                source: "rx-all is on: captures have damaged frames, too".into(),
            }),
            Place::Nic if its.is_empty() => {
                let blind = counted.driver.and_then(|driver| driver.blind);
                let source = blind.unwrap_or("the driver has no counter for it").into();
                Some(Lost { place, frames: None, per_s: None, source })
            }
            _ => counted_by_driver(place, &its),
        };
        all.extend(lost);
    }
    (all, booked)
}

/// The sum of the driver's counters of one place; absent if it has none. A count that can include captured frames makes the sum
/// unknown, or leaves the sum of the others as a lower bound.
fn counted_by_driver(place: Place, its: &[&NicLoss]) -> Option<Lost> {
    if its.is_empty() {
        return None;
    }
    let exact: u64 = its.iter().filter(|loss| loss.exact).map(|loss| loss.count).sum();
    let at_most: u64 = its.iter().filter(|loss| !loss.exact).map(|loss| loss.count).sum();
    let frames = (exact > 0 || at_most == 0).then_some(exact);
    // The counters with losses; all of them if none has any.
    let says = its.iter().filter(|loss| loss.count > 0 || exact + at_most == 0).map(|loss| {
        let most =
            if loss.exact || loss.count == 0 { String::new() } else { format!(": at most {}", loss.count) };
        format!("{}{most}", loss.source)
    });
    Some(Lost { place, frames, per_s: None, source: says.collect::<Vec<_>>().join(", ") })
}

/// What XDP programs dropped: in the driver by its counter, in generic mode by the tracer. Absent without a program and drops.
fn of_xdp(its: &[&NicLoss], counted: Counted<'_>, xdp: Option<&XdpProgram>) -> Option<Lost> {
    let traced = counted.traced;
    let mode = xdp.map(|program| program.attached.mode);
    // Where several programs are attached, the driver counts only one, and the tracer sees only the other.
    let is_in_driver = mode == Some(XdpAttachment::Driver);
    let is_generic = mode == Some(XdpAttachment::Generic);
    let by_driver = counted_by_driver(Place::Xdp, its).filter(|_| {
        // A driver counts nothing of a generic program.
        xdp.is_none() || is_in_driver || its.iter().any(|loss| loss.count > 0)
    });
    let in_driver = by_driver.as_ref().and_then(|lost| lost.frames).unwrap_or(0);
    let generic = traced.map_or(0, |traced| traced.frames(DropStage::Xdp));
    let unplaced = traced.map(|traced| traced.reasons(DropStage::Unknown)).unwrap_or_default();
    if xdp.is_none() && in_driver + generic == 0 {
        return None;
    }
    let is_known = match xdp {
        None => true,
        Some(_) if is_in_driver => by_driver.as_ref().is_some_and(|lost| lost.frames.is_some()),
        Some(_) => is_generic && traced.is_some_and(|traced| traced.missed == 0) && unplaced.is_empty(),
    };
    let mut source = xdp.map_or("a program that was attached meanwhile".into(), XdpProgram::to_string);
    if let Some(lost) = &by_driver {
        source.push_str(&format!("; {}", lost.source));
    }
    if let Some(traced) = traced.filter(|_| xdp.is_none() || is_generic || generic > 0) {
        let reasons = traced.reasons(DropStage::Xdp);
        let reasons = if reasons.is_empty() { "none".into() } else { reasons };
        source.push_str(&format!("; skb:kfree_skb: {reasons}"));
        if !unplaced.is_empty() {
            source.push_str(&format!("; {unplaced}, which may be its drops"));
        }
    } else if !is_known && by_driver.is_none() {
        source.push_str("; the driver does not count what it drops");
    }
    source.push_str(&traced.map(Traced::xdp_failures).unwrap_or_default());
    let frames = in_driver + generic;
    if !is_known && frames > 0 {
        source.insert_str(0, "at least: ");
    }
    Some(Lost { place: Place::Xdp, frames: (is_known || frames > 0).then_some(frames), per_s: None, source })
}

#[cfg(test)]
mod tests;
