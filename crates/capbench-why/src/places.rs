//! The places along a receive path where frames can be lost, as the kernel counts them for one interface.

use schemars::JsonSchema;
use serde::Serialize;

use crate::sockets::{Method, Sockets};
use crate::traced::Traced;
use capbench_host::accounts::softnet::SoftnetDelta;
use capbench_host::drivers::table::REDIRECT;
use capbench_host::drivers::{CounterDelta, Driver, Meaning, NicLoss, nic_losses};
use capbench_host::links::LinkDeltas;
use capbench_host::tracer::reasons::DropStage;
use capbench_model::places::Place;

/// The places of a receive path in its order. docs/why.md says what counts each.
pub const PLACES: [Place; 10] = [
    Place::LinkQueue,
    Place::Link,
    Place::Nic,
    Place::Driver,
    Place::Xdp,
    Place::Backlog,
    Place::Stack,
    Place::NoHandler,
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

/// Serializes a place as its key.
pub(super) fn by_key<S: serde::Serializer>(place: &Place, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(place.key())
}

/// An XDP program on the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The kernel's number of it; absent if there are several.
    pub(super) number: Option<u32>,
    /// Its name; absent if it could not be read.
    pub(super) name: Option<String>,
    /// The program as text, and where it runs.
    pub(super) words: String,
    /// Whether only the driver runs it: only then the driver's counters include its drops.
    pub(super) is_in_driver: bool,
    /// Whether only the stack runs it, so that the tracer sees all its drops.
    pub(super) is_generic: bool,
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
}

/// The queue of a veth: its peer fills and counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queue {
    /// Frames that the peer could not pass on (its tx_dropped); absent if the peer cannot be read.
    pub(super) refused: Option<u64>,
    /// Whether frames use the queue: GRO is on, or an XDP program is in the driver. Otherwise they go directly to a CPU's
    /// backlog, whose losses the peer also counts.
    pub(super) is_used: bool,
}

impl Queue {
    fn lost(&self) -> Lost {
        let (frames, source) = match (self.is_used, self.refused) {
            (false, _) => (Some(0), "frames go through no queue, straight to the backlog"),
            (true, Some(refused)) => (Some(refused), "link statistics tx_dropped of its peer"),
            (true, None) => (None, "tx_dropped of its peer, which needs CAP_NET_ADMIN there"),
        };
        Lost { place: Place::LinkQueue, frames, per_s: None, source: source.into() }
    }
}

/// The losses of each place; each loss is booked once. `xdp` is the program on the interface.
pub(super) fn losses(counted: Counted<'_>, xdp: Option<&Program>, seconds: f64) -> Vec<Lost> {
    let Counted { link, softnet, sockets, queue, traced, .. } = counted;
    let lost = |place, frames, source: &str| Lost { place, frames, per_s: None, source: source.into() };
    // A frame that the backlog refuses also counts in rx_dropped (net/core/dev.c, enqueue_to_backlog).
    let refused: u64 = softnet.iter().map(|cpu| cpu.dropped).sum();
    let ours = if refused == 0 { Some(0) } else { link.rx_dropped.map(|dropped| dropped.min(refused)) };
    let (of_card, booked) = of_card(counted, ours, xdp);
    let mut all: Vec<_> = queue.map(Queue::lost).into_iter().chain(of_card).collect();
    let cpus: Vec<_> =
        softnet.iter().filter(|cpu| cpu.dropped > 0).map(|cpu| cpu.cpu.number().to_string()).collect();
    let mut source = String::from("dropped of /proc/net/softnet_stat");
    if ours > Some(0) {
        source.push_str(&format!(", CPU {}", cpus.join(", ")));
    }
    if ours.is_some_and(|ours| refused > ours) {
        // How many of them belong to this interface is unknown; its rx_dropped is an upper bound.
        source.push_str(&format!("; at most, the whole host has {refused}"));
    }
    all.push(lost(Place::Backlog, ours, &source));
    let of_stack = link.rx_dropped.zip(ours).map(|(dropped, ours)| (dropped - ours).saturating_sub(booked));
    // Both count the same losses, but rx_dropped omits a few: the larger one counts.
    let frames_at = |stage| traced.map_or(0, |traced| traced.frames(stage));
    let reasons_at = |stage| traced.map_or(String::new(), |traced| traced.reasons(stage));
    let of_stack = of_stack.map(|frames| frames.max(frames_at(DropStage::Stack)));
    all.push(lost(Place::Stack, of_stack, &format!("rx_dropped{}", reasons_at(DropStage::Stack))));
    all.push(lost(Place::NoHandler, link.rx_nohandler, "rx_nohandler"));
    all.push(of_sockets(sockets));
    let sent = link.tx_dropped.map(|dropped| dropped + frames_at(DropStage::Transmit));
    all.push(lost(Place::Transmit, sent, &format!("tx_dropped{}", reasons_at(DropStage::Transmit))));
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

const NOT_COUNTED: &str = "; the driver does not count what it drops";

/// Drops of a program in the stack, and their source. Drops at an unknown place may belong to it.
fn of_generic(traced: &Traced) -> (Option<u64>, String) {
    let unplaced = traced.reasons(DropStage::Unknown);
    if unplaced.is_empty() {
        let reasons = traced.reasons(DropStage::Xdp);
        let reasons = if reasons.is_empty() { "; skb:kfree_skb: none".into() } else { reasons };
        (Some(traced.frames(DropStage::Xdp)), reasons)
    } else {
        (None, format!("{unplaced}, which may be its drops"))
    }
}

/// Link, NIC, driver and XDP program, by the driver's counters with known meaning. `backlog` frames of rx_dropped do not belong
/// to them. The number is how many of their frames may also count in rx_dropped.
fn of_card(counted: Counted<'_>, backlog: Option<u64>, xdp: Option<&Program>) -> (Vec<Lost>, u64) {
    use Meaning::{Checksum, Framing, Length};
    let rx_dropped = counted.link.rx_dropped.zip(backlog).map(|(dropped, backlog)| dropped - backlog);
    let link = LinkDeltas { rx_dropped, ..*counted.link };
    let mut found = nic_losses(counted.driver, Some(&link), counted.nic);
    // Drivers add their drops to rx_dropped, for example veth; some report only that.
    let booked = found.iter().filter(|loss| loss.in_rx_dropped).map(|loss| loss.count).sum();
    // A frame that an AF_XDP socket refuses counts at the socket and as a failed redirect.
    let sockets = counted.sockets;
    let open = sockets.here.iter().filter(|socket| socket.method == Method::AfXdp);
    let closed = sockets.closed_here().filter(|group| group.method == Method::AfXdp);
    let refused = open.filter_map(|socket| socket.dropped).sum::<u64>()
        + closed.map(|group| group.dropped).sum::<u64>();
    for loss in found.iter_mut().filter(|loss| loss.part == REDIRECT) {
        loss.count = loss.count.saturating_sub(refused);
    }
    let place_of = |loss: &NicLoss| match loss.meaning.place() {
        Some(Place::Link) if !matches!(loss.meaning, Checksum | Length | Framing) => Some(Place::Nic),
        other => other,
    };
    let mut all = Vec::new();
    for place in [Place::Link, Place::Nic, Place::Driver, Place::Xdp] {
        let its: Vec<_> = found.iter().filter(|loss| place_of(loss) == Some(place)).collect();
        let mut frames = Some(its.iter().map(|loss| loss.count).sum());
        // The counters with losses; all of them if none has any.
        let says = its.iter().filter(|loss| loss.count > 0 || frames == Some(0)).map(|loss| {
            let most = if loss.exact { "" } else { " (at most)" };
            format!("{}{most}", loss.source)
        });
        let mut source = says.collect::<Vec<_>>().join(", ");
        let is_counted = !its.is_empty() && (place != Place::Xdp || xdp.is_some_and(|xdp| xdp.is_in_driver));
        let failures = counted.traced.map(Traced::xdp_failures).unwrap_or_default();
        match (place, xdp) {
            (Place::Nic, _) if !is_counted => {
                source = counted
                    .driver
                    .and_then(|driver| driver.blind)
                    .unwrap_or("the driver has no counter for it")
                    .into();
            }
            (Place::Xdp, None) => continue,
            (Place::Xdp, Some(program)) if is_counted => {
                source = format!("{}; {source}{failures}", program.words)
            }
            (Place::Xdp, Some(program)) => {
                let traced = counted.traced.filter(|_| program.is_generic);
                let (dropped, of_xdp) = traced.map_or((None, NOT_COUNTED.into()), of_generic);
                (frames, source) = (dropped, format!("{}{of_xdp}{failures}", program.words));
                all.push(Lost { place, frames, per_s: None, source });
                continue;
            }
            _ if !is_counted => continue,
            _ => {}
        }
        all.push(Lost { place, frames: frames.filter(|_| is_counted), per_s: None, source });
    }
    (all, booked)
}

#[cfg(test)]
mod tests;
