//! What to change: a pure function of what was seen.

use serde::Serialize;

use super::Look;
use super::places::Place;
use super::room::Room;
use super::sockets::{Method, Process, Socket};

/// A place that loses frames, why it most likely does, and what to change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Where.
    pub place: Place,
    /// Frames that it lost in the interval.
    pub lost: u64,
    /// The place in words, with whose it is.
    pub who: String,
    /// The likely cause.
    pub cause: String,
    /// What to change.
    pub change: String,
}

/// A process that uses at least this share of one CPU has no time left.
const BUSY: f64 = 0.9;

/// What to say of every place that lost, most first.
pub(super) fn advise(look: &Look) -> Vec<Advice> {
    let mut all: Vec<_> = look.sockets.here.iter().filter_map(|socket| of_socket(look, socket)).collect();
    for lost in &look.lost {
        let Some(frames) = lost.frames.filter(|frames| *frames > 0) else { continue };
        if let Some((cause, change)) = of_place(look, lost.place) {
            let who = format!("{} ({})", lost.place.word(), lost.source);
            all.push(Advice { place: lost.place, lost: frames, who, cause, change });
        }
    }
    all.sort_by_key(|advice| std::cmp::Reverse(advice.lost));
    all
}

/// Cause and change for the places that are not sockets.
fn of_place(look: &Look, place: Place) -> Option<(String, String)> {
    let interface = &look.interface;
    Some(match place {
        Place::Link => (
            "frames arrive damaged".into(),
            "check cable, transceiver and duplex; the other end's counters show whether it sent them so".into(),
        ),
        Place::Nic => {
            let lengthen = match look.nic_ring.map(|ring| (ring.descriptors, ring.most)) {
                Some((now, most)) if now < most => {
                    format!("lengthen the ring from {now} to at most {most} descriptors (`ethtool -G {interface} rx {most}`)")
                }
                Some((now, _)) => format!("the ring is as long as it can be ({now} descriptors)"),
                None => format!("lengthen the ring (`ethtool -g {interface}` shows the most)"),
            };
            let squeezed = if look.time_squeeze > 0 {
                format!(
                    "; the receive softirq ran out of budget {} times, so a higher net.core.netdev_budget can help",
                    look.time_squeeze
                )
            } else {
                String::new()
            };
            (
                "the NIC had no free receive descriptor: the CPU that serves its queue was too late".into(),
                format!(
                    "{lengthen}, \
                     spread the load over more queues (`ethtool -L`){squeezed}"
                ),
            )
        }
        Place::Backlog => {
            let now = look.max_backlog.map_or(String::new(), |length| format!(" (now {length})"));
            (
                "frames came faster than that CPU took them off its backlog".into(),
                format!(
                    "raise net.core.netdev_max_backlog{now} against bursts; against a steady overload spread the receive \
                     work over more CPUs (RPS, or more queues) or make it less"
                ),
            )
        }
        Place::Stack => (
            "the driver had no memory or a full queue, or the frames were of a protocol that nothing here speaks; the \
             latter are no loss for a capture"
                .into(),
            format!("`ethtool -S {interface}` tells the driver's part; perf or dropwatch name the kernel's reasons"),
        ),
        Place::NoHandler => (
            "the interface is an inactive member of a bond or team".into(),
            "capture on the bond, or make it the active member".into(),
        ),
        Place::Driver => (
            "the driver had no memory for them, or a redirect of an XDP program failed".into(),
            format!("`ethtool -S {interface}` shows which; give the host memory, or the program's target more room"),
        ),
        Place::Xdp => (
            "the XDP program on the interface dropped them, as it is made to or by a mistake in it".into(),
            format!("`ip link set {interface} xdp off` takes it away; `bpftool prog` shows what it is"),
        ),
        Place::Socket => return None,
    })
}

fn of_socket(look: &Look, socket: &Socket) -> Option<Advice> {
    let lost = socket.dropped.filter(|frames| *frames > 0)?;
    let who = format!("the {} of {}", socket.what(), socket.owner());
    // A process that is stopped gives no buffers back either.
    let is_stopped = socket.processes.iter().any(Process::is_stopped);
    let (cause, change) = if !is_stopped
        && socket.method == Method::AfXdp
        && socket.ring_full.unwrap_or(0) < lost.div_ceil(2)
    {
        of_fill_ring(socket)
    } else {
        of_reader(look, socket)
    };
    Some(Advice { place: Place::Socket, lost, who, cause, change })
}

/// An AF_XDP socket that lost frames for another reason than a full receive ring.
fn of_fill_ring(socket: &Socket) -> (String, String) {
    if socket.fill_empty.is_some_and(|times| times > 0) {
        return (
            "its fill ring was empty: the program did not give buffers back in time".into(),
            "give buffers back sooner and in batches, or give the socket more memory (UMEM) and a longer fill ring".into(),
        );
    }
    let chunk = socket.ring.map_or(0, |ring| ring.slot_octets);
    (
        format!(
            "frames did not fit: longer than a chunk of {chunk} octets without its headroom, or from another queue"
        ),
        "use larger chunks or lower the MTU; bind a socket to every receive queue".into(),
    )
}

/// A ring or queue that was full: its reader was stopped, too slow, or away for longer than it lasts.
fn of_reader(look: &Look, socket: &Socket) -> (String, String) {
    let room = Room::of(socket, look);
    let lasts = room.as_ref().map_or(String::new(), |room| format!("; {room} at this rate"));
    if let Some(process) = socket.processes.iter().find(|process| process.is_stopped()) {
        let state = process.state.unwrap_or('T');
        return (
            format!("{process} is stopped (state {state}), so that nobody takes frames out{lasts}"),
            if state == 't' {
                "let the debugger continue it".into()
            } else {
                format!("`kill -CONT {}` lets it continue", process.pid)
            },
        );
    }
    let busy: f64 = socket.processes.iter().filter_map(|process| process.cpu_s).sum::<f64>() / look.seconds;
    if busy >= BUSY {
        let share = match socket.method {
            Method::AfXdp => "receive queues with a socket on each (`ethtool -L`)",
            _ => "several sockets (fanout, one on each CPU)",
        };
        return (
            format!(
                "{} does not keep up: it is busy ({:.0} % of a CPU){lasts}",
                socket.owner(),
                100.0 * busy
            ),
            format!(
                "make it do less for each packet, filter in the kernel, or share the load between {share}; a longer ring \
                 only delays the loss"
            ),
        );
    }
    let change = room.map_or("give it a longer ring or queue".into(), |room| room.change());
    (
        format!(
            "{} was away for longer than its buffer lasts ({:.0} % of a CPU){lasts}",
            socket.owner(),
            100.0 * busy
        ),
        format!("{change}; `ps -o stat,wchan {}` shows what it waits for", first_pid(socket)),
    )
}

fn first_pid(socket: &Socket) -> String {
    socket.processes.first().map_or("PID".into(), |process| process.pid.to_string())
}

/// One sentence: whether something is lost now, and where most.
pub(super) fn verdict(look: &Look) -> String {
    let rate = |count: u64| rounded(count as f64 / look.seconds);
    let interface = &look.interface;
    if let Some(first) = look.advice.first() {
        let more = match look.advice.len() - 1 {
            0 => String::new(),
            others => format!("; {others} other place{} too", if others == 1 { " loses" } else { "s lose" }),
        };
        return format!(
            "{} loses {} packets/s ({} in {:.1} s){more}",
            first.who,
            rate(first.lost),
            first.lost,
            look.seconds
        );
    }
    let known = if look.sockets.unknown.is_some() || look.lost.iter().any(|lost| lost.frames.is_none()) {
        ", as far as can be told"
    } else {
        ""
    };
    let earlier = match look.sockets.here.iter().filter(|socket| socket.dropped_in_all > Some(0)).count() {
        0 => "",
        _ => "; what sockets lost earlier is in their list",
    };
    if !look.up {
        return format!("{interface} is down: nothing arrives; `ip link set {interface} up` sets it up");
    }
    if look.received == 0 {
        let carrier = if look.carrier { "" } else { " (it has no carrier)" };
        return format!("nothing arrives on {interface}{carrier} and nothing is lost{known}{earlier}");
    }
    format!("nothing is lost{known}: {} packets/s arrive on {interface}{earlier}", rate(look.received))
}

/// A rate without digits that mean nothing.
fn rounded(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}
