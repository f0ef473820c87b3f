//! What to change: a pure function of the results.

use capbench_model::figures::grouped;

use crate::look::{Advice, Look};
use crate::sockets::{Method, Process, Socket};
use capbench_model::places::Place;

/// Advice for every place that lost frames, highest loss first, sockets on all interfaces last.
pub(crate) fn advise(look: &Look) -> Vec<Advice> {
    let mut all: Vec<_> = look.sockets.here.iter().filter_map(|socket| of_socket(look, socket)).collect();
    for lost in &look.lost {
        let Some(frames) = lost.frames.filter(|frames| *frames > 0) else { continue };
        if let Some((cause, change)) = of_place(look, lost.place) {
            let who = format!("{} ({})", lost.place.key(), lost.source);
            all.push(Advice { place: lost.place, lost: frames, at_most: false, who, cause, change });
        }
    }
    // Losses that may belong to another interface come after losses of this one.
    all.sort_by_key(|advice| (advice.at_most, std::cmp::Reverse(advice.lost)));
    all
}

/// One sentence: whether frames are lost now, and the place with the highest loss.
pub(crate) fn verdict(look: &Look) -> String {
    let rate = |count: u64| rounded(count as f64 / look.seconds);
    let interface = &look.interface;
    if let Some(first) = look.advice.first() {
        let more = match look.advice.len() - 1 {
            0 => String::new(),
            others => format!("; {others} other place{} too", if others == 1 { " loses" } else { "s lose" }),
        };
        let whose = if first.at_most {
            format!(", of all interfaces: up to that many of {interface}")
        } else {
            String::new()
        };
        return format!(
            "{} loses {} packets/s ({} in {:.1} s{whose}){more}",
            first.who,
            rate(first.lost),
            first.lost,
            look.seconds
        );
    }
    let known = if look.sockets.unknown.is_some() || look.lost.iter().any(|lost| lost.frames.is_none()) {
        ", as far as known"
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
    let Some(received) = look.received else {
        return format!(
            "nothing is lost, as far as known; how much arrives on {interface} is unknown{earlier}"
        );
    };
    if received == 0 {
        let carrier = if look.carrier { "" } else { " (it has no carrier)" };
        return format!("nothing arrives on {interface}{carrier} and nothing is lost{known}{earlier}");
    }
    format!("nothing is lost{known}: {} packets/s arrive on {interface}{earlier}", rate(received))
}

/// A rate without meaningless digits.
fn rounded(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}") } else { grouped(rate) }
}

/// Why a place other than a socket loses frames, and what to change.
fn of_place(look: &Look, place: Place) -> Option<(String, String)> {
    let interface = &look.interface;
    Some(match place {
        Place::LinkQueue => (
            "the queue in front of the veth's NAPI poll (256 frames) was full: the CPU that polls it was too late".into(),
            format!(
                "let a thread poll it on a dedicated CPU (`echo 1 > /sys/class/net/{interface}/threaded`, then `taskset -p` \
                 its napi/{interface} threads), spread it over more queues (`ethtool -L`), or make what is done with each \
                 frame there less"
            ),
        ),
        Place::Link => (
            "frames arrive damaged".into(),
            "check cable, transceiver and duplex; the other end's counters show whether it sent them so".into(),
        ),
        Place::Nic => (
            "the NIC had no free receive descriptor: the CPU that serves its queue was too late".into(),
            of_nic(look),
        ),
        Place::Backlog => (of_backlog(look), longer_backlog(look)),
        Place::Transmit => (
            "a queueing discipline or a filter of tc dropped what this host sends".into(),
            format!("`tc -s qdisc show dev {interface}` shows which"),
        ),
        Place::Stack => (
            "the network stack dropped them in front of the capture; of a veth also frames that did not fit its MTU, or that \
             came while it was down"
                .into(),
            format!(
                "`ip link show {interface}` shows the MTU; the kernel's reasons are {}",
                if look.traced.is_some() { "in the list of drops" } else { "traced by `capbench why` as root" }
            ),
        ),
        Place::Driver => (
            "the driver had no memory for them, or a redirect of an XDP program failed".into(),
            format!("`ethtool -S {interface}` shows which; give the host memory, or the program's target more room"),
        ),
        Place::Xdp => (
            "the XDP program on the interface dropped them, by design or by mistake".into(),
            format!("`ip link set {interface} xdp off` takes it away; `bpftool prog` shows what it is"),
        ),
        _ => return None,
    })
}

fn of_nic(look: &Look) -> String {
    let interface = &look.interface;
    let lengthen = match look.nic_ring.map(|ring| (ring.descriptors, ring.most)) {
        Some((now, most)) if now < most => {
            format!(
                "lengthen the ring from {now} to up to {most} descriptors (`ethtool -G {interface} rx {most}`)"
            )
        }
        Some((now, _)) => format!("the ring is as long as it can be ({now} descriptors)"),
        None => format!("lengthen the ring (`ethtool -g {interface}` shows the most)"),
    };
    let queues = look.receive_queues.map_or(String::new(), |queues| format!(", now {queues}"));
    let squeezed = match look.time_squeezes() {
        0 => String::new(),
        times => format!(
            "; the receive softirq ran out of budget {times} times, so a higher net.core.netdev_budget can help"
        ),
    };
    format!("{lengthen}, spread the load over more queues (`ethtool -L`{queues}){squeezed}")
}

fn of_backlog(look: &Look) -> String {
    let full: Vec<_> = look.softnet.iter().filter(|cpu| cpu.dropped > 0).collect();
    let cpus = full.iter().map(|cpu| cpu.cpu.number().to_string()).collect::<Vec<_>>().join(", ");
    let limited: u64 = full.iter().filter_map(|cpu| cpu.flow_limit).sum();
    let limit = match limited {
        0 => String::new(),
        frames => format!("; {frames} of them by the limit for one flow (net.core.flow_limit_cpu_bitmap)"),
    };
    format!("frames came faster than CPU {cpus} took them off its backlog{limit}")
}

fn longer_backlog(look: &Look) -> String {
    /// Length of a burst that should fit, in seconds.
    const BURST_S: f64 = 0.01;
    let lost: u64 = look.softnet.iter().map(|cpu| cpu.dropped).sum();
    let burst = (look.received.unwrap_or(0) + lost) as f64 / look.seconds * BURST_S;
    let now = look
        .max_backlog
        .map_or("it is set in the host's first network namespace".into(), |length| format!("now {length}"));
    format!(
        "raise net.core.netdev_max_backlog against bursts ({now}; 10 ms at this rate are {burst:.0}); against a steady \
         overload spread the receive work over more CPUs (RPS: a mask of CPUs in /sys/class/net/{}/queues/rx-*/rps_cpus, \
         or more queues) or make it less",
        look.interface
    )
}

/// Share of one CPU from which a process has no time left.
const BUSY: f64 = 0.9;

/// Cause and change for a socket that lost frames.
fn of_socket(look: &Look, socket: &Socket) -> Option<Advice> {
    let lost = socket.dropped.filter(|frames| *frames > 0)?;
    let who = format!("the {} of {}", socket.what(), socket.owner());
    // A stopped process does not return buffers either.
    let is_stopped = socket.processes.iter().any(Process::is_stopped);
    let (mut cause, change) = if !is_stopped
        && socket.method == Method::AfXdp
        && socket.ring_full.unwrap_or(0) < lost.div_ceil(2)
    {
        of_fill_ring(socket)
    } else {
        of_reader(look, socket)
    };
    if let Some(others) = others_of_group(look, socket) {
        cause.push_str(&others);
    }
    let at_most = socket.every_interface;
    if at_most {
        cause.push_str(
            "; it captures on all interfaces, and its counter does not show which of them lost frames",
        );
    }
    Some(Advice { place: Place::Ring, lost, at_most, who, cause, change })
}

/// The losses of the other members of its fanout group, if there are any.
fn others_of_group(look: &Look, socket: &Socket) -> Option<String> {
    let group = socket.fanout.as_ref()?;
    let is_other = |other: &&Socket| {
        other.inode != socket.inode && other.fanout.as_ref().is_some_and(|its| its.id == group.id)
    };
    let others: Vec<_> = look.sockets.here.iter().filter(is_other).collect();
    let losing = others.iter().filter(|other| other.dropped > Some(0)).count();
    let (id, kind) = (group.id, &group.kind);
    match (others.len(), losing) {
        (0, _) => None,
        (_, 0) => Some(format!(
            "; the other members of its fanout group {id} ({kind}) lose nothing: the load is shared unevenly, or this member is slower (PACKET_FANOUT_FLAG_ROLLOVER lets the others help)"
        )),
        (all, losing) => {
            Some(format!("; of {all} other members of its fanout group {id} ({kind}) {losing} lose, too"))
        }
    }
}

/// An AF_XDP socket that lost frames for another reason than a full receive ring.
fn of_fill_ring(socket: &Socket) -> (String, String) {
    if socket.fill_empty.is_some_and(|times| times > 0) {
        return (
            "its fill ring was empty: the program did not return buffers in time".into(),
            "return buffers sooner and in batches, or give the socket more memory (UMEM) and a longer fill ring".into(),
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

/// A full ring or queue: its reader was stopped, too slow, or absent for longer than the buffer lasts.
fn of_reader(look: &Look, socket: &Socket) -> (String, String) {
    let room = Room::of(socket, look);
    let lasts = room.as_ref().map_or(String::new(), |room| format!("; {room} at this rate"));
    if let Some(process) = socket.processes.iter().find(|process| process.is_stopped()) {
        let state = process.state.unwrap_or('T');
        return (
            format!("{process} is stopped (state {state}), so it reads no frames{lasts}"),
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
            Method::PfRing => "several rings (a PF_RING cluster)",
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

/// How long a reader should be able to pause, in seconds: longer than a scheduler usually makes it wait.
const ENOUGH_S: f64 = 0.1;

/// A socket's buffer and the rate that fills it.
#[derive(Debug, Clone, PartialEq)]
struct Room {
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
    fn of(socket: &Socket, look: &Look) -> Option<Self> {
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
    fn seconds(&self) -> f64 {
        self.frames / self.rate
    }

    /// The recommended change.
    fn change(&self) -> String {
        if self.seconds() >= ENOUGH_S {
            return "see why its reader is away for so long: give it a dedicated CPU or a higher priority"
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
