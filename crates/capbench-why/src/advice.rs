//! What to change: a pure function of the results.

use capbench_model::figures::grouped;

use crate::judgement::Judgement;
use crate::look::{Advice, Look};
use crate::places::transmit;
use crate::reader;
use crate::remedy::{Remedy, quoted};
use crate::scheduling::{Polling, in_words};
use crate::sockets::{Method, Process, Socket};
use capbench_model::places::Place;

/// Advice for every place that lost frames, highest loss first, sockets on all interfaces last.
pub(crate) fn advise(look: &Look) -> Vec<Advice> {
    let mut all: Vec<_> = look.sockets.here.iter().filter_map(|socket| of_socket(look, socket)).collect();
    for lost in &look.lost {
        let Some(frames) = lost.frames.filter(|frames| *frames > 0) else { continue };
        if let Some(Judgement { cause, change, remedies }) = of_place(look, lost.place, frames) {
            let who = format!("{} ({})", lost.place.key(), lost.source);
            all.push(Advice {
                place: lost.place,
                lost: frames,
                at_most: false,
                who,
                cause,
                change,
                remedies,
            });
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
    let xdp = in_front_of_sockets(look);
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
        let xdp = xdp.map_or(String::new(), |xdp| format!("; {xdp}"));
        return format!(
            "{} loses {} packets/s ({} in {:.1} s{whose}){more}{xdp}",
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
        let up = Remedy::SetUp { interface: interface.clone() }.command().unwrap_or_default();
        return format!("{interface} is down: nothing arrives; `{up}` sets it up");
    }
    if let Some(xdp) = xdp {
        return format!("{xdp}; nothing else is lost{known}{earlier}");
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

/// What an XDP program takes, or may take, from packet sockets that capture here. `None` if it takes nothing but what it drops,
/// which has advice.
fn in_front_of_sockets(look: &Look) -> Option<String> {
    let program = look.xdp.as_ref()?;
    let is_behind =
        |socket: &&Socket| !matches!(socket.method, Method::AfXdp | Method::PfRing) && !socket.closed;
    let mut behind = look.sockets.here.iter().filter(is_behind);
    let first = behind.next()?;
    let more = match behind.count() {
        0 => String::new(),
        others => format!(" and of {others} more"),
    };
    let received = look.received.filter(|frames| *frames > 0)?;
    let per_s = |frames: u64| rounded(frames as f64 / look.seconds);
    let readers = format!("the {} of {}{more}", first.what(), first.owner());
    let lost = look.lost.iter().filter(|lost| lost.place == Place::Xdp).filter_map(|lost| lost.frames);
    let dropped: u64 = lost.sum();
    let Some(taken) = look.xdp_taken else {
        if dropped > 0 {
            return None;
        }
        return Some(format!(
            "XDP {program}, runs in front of {readers}, and no counter shows how many of {} packets/s it takes",
            per_s(received)
        ));
    };
    let diverted = taken.saturating_sub(dropped);
    (diverted > 0).then(|| {
        format!(
            "XDP {program}, takes {} of {} packets/s ({diverted} in {:.1} s) from {readers}",
            per_s(diverted),
            per_s(received),
            look.seconds
        )
    })
}

/// A rate without meaningless digits.
fn rounded(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}") } else { grouped(rate) }
}

/// Why a place other than a socket loses frames, and what to change.
fn of_place(look: &Look, place: Place, lost: u64) -> Option<Judgement> {
    let interface = quoted(&look.interface);
    Some(match place {
        Place::LinkQueue => of_link_queue(look),
        Place::Link => Judgement::words(
            "frames arrive damaged",
            "check cable, transceiver and duplex; the other end's counters show whether it sent them so",
        ),
        Place::Nic => of_nic(look),
        Place::Backlog => of_backlog(look, lost),
        Place::Transmit => transmit::judgement(&look.interface),
        Place::Stack => of_stack(look, lost),
        Place::Driver => Judgement::words(
            "the driver had no memory for them, or a redirect of an XDP program failed",
            format!(
                "`ethtool -S {interface}` shows which; give the host memory, or the program's target more room"
            ),
        ),
        Place::Xdp => of_xdp(look),
        _ => return None,
    })
}

/// The queue of a veth was full.
fn of_link_queue(look: &Look) -> Judgement {
    let threads = look.facts.scheduled.polling(&look.interface);
    // Interfaces of other namespaces can have this name, too.
    let is_its = !threads.is_empty() && threads.len() as u32 <= look.receive_queues.unwrap_or(0);
    let moves = |thread: &Polling| {
        let free = look.facts.least_used_cpu(&thread.cpus)?;
        Some(Remedy::MoveThread { pid: thread.thread, cpu: free })
    };
    let (change, remedies) = match is_its {
        true => (
            "let the threads that poll it run on CPUs that others use less, spread it over more queues (`ethtool -L`), or make \
             what is done with each frame there less",
            threads.iter().filter_map(moves).collect(),
        ),
        false => (
            "let a thread poll it, which the scheduler places on a free CPU, spread it over more queues (`ethtool -L`), or make \
             what is done with each frame there less",
            vec![Remedy::PollByThreads { interface: look.interface.clone() }],
        ),
    };
    Judgement {
        cause: "the queue in front of the veth's NAPI poll (256 frames) was full: the CPU that polls it was too late".into(),
        change: change.into(),
        remedies,
    }
}

/// The stack refused frames, or nothing wanted them.
fn of_stack(look: &Look, lost: u64) -> Judgement {
    let (mtu, facts) = (look.facts.mtu, &look.facts);
    // What a veth refuses because of its length its peer counts as dropped, too. What no protocol handles it does not.
    let is_refused = facts.refused_by_peer >= Some(lost);
    if let Some(longer) = facts.peer_mtu.filter(|peer| *peer > mtu && is_refused) {
        let interface = &look.interface;
        return Judgement {
            cause: format!(
                "frames are longer than {interface}'s MTU {mtu}: its peer sends up to {longer}, and the kernel drops what is longer \
                 than {mtu}"
            ),
            change: "give both ends the same MTU".into(),
            remedies: vec![Remedy::RaiseMtu { interface: interface.clone(), mtu: longer }],
        };
    }
    let reasons = match &look.traced {
        None => "the kernel's reasons are traced by `capbench why` as root",
        Some(traced) if traced.drops.is_empty() => "the kernel gave no reason for them",
        Some(_) => "the kernel's reasons are in the list of drops",
    };
    Judgement::words(
        "the network stack dropped them in front of the capture; of a veth also frames that did not fit its MTU, or that came \
         while it was down",
        format!("`ip link show {}` shows the MTU; {reasons}", quoted(&look.interface)),
    )
}

/// An XDP program dropped frames.
fn of_xdp(look: &Look) -> Judgement {
    let interface = &look.interface;
    let cause = "the XDP program on the interface dropped them, by design or by mistake";
    let show = "`bpftool prog` shows what it is";
    let Some(program) = &look.facts.program else { return Judgement::words(cause, show) };
    let (change, remedy) = match (program.link_holder(), program.detaching_word()) {
        (Some(holder), _) => (
            format!("end {} {}, which holds it there; {show}", holder.name, holder.pid),
            Remedy::EndHolder { pid: holder.pid },
        ),
        (None, Some(word)) => {
            (format!("take it away; {show}"), Remedy::DetachXdp { interface: interface.clone(), word })
        }
        (None, None) => {
            return Judgement::words(cause, format!("take one of them away; {show}"));
        }
    };
    Judgement { cause: cause.into(), change, remedies: vec![remedy] }
}

fn of_nic(look: &Look) -> Judgement {
    let interface = &look.interface;
    let mut remedies = Vec::new();
    let lengthen = match look.nic_ring.map(|ring| (ring.descriptors, ring.most)) {
        Some((now, most)) if now < most => {
            remedies.push(Remedy::LongerRing { interface: interface.clone(), descriptors: most });
            format!("lengthen the ring from {now} to up to {most} descriptors")
        }
        Some((now, _)) => format!("the ring is as long as it can be ({now} descriptors)"),
        None => format!("lengthen the ring (`ethtool -g {}` shows the most)", quoted(interface)),
    };
    let queues = look.receive_queues.map_or(String::new(), |queues| format!(", now {queues}"));
    let squeezed = match look.time_squeezes() {
        0 => String::new(),
        times => {
            /// The kernel's default (net/core/dev.c).
            const USUAL: u64 = 300;
            let packets = 2 * look.facts.budget.unwrap_or(USUAL);
            remedies.push(Remedy::LargerBudget { packets, elsewhere: look.facts.budget.is_none() });
            format!(
                "; the receive softirq ran out of budget {times} times: a higher net.core.netdev_budget can help"
            )
        }
    };
    Judgement {
        cause: "the NIC had no free receive descriptor: the CPU that serves its queue was too late".into(),
        change: format!("{lengthen}, spread the load over more queues (`ethtool -L`{queues}){squeezed}"),
        remedies,
    }
}

/// `lost` are the frames of this interface. The counters of the CPUs are those of all interfaces of the host.
fn of_backlog(look: &Look, lost: u64) -> Judgement {
    let mut refusals = Vec::new();
    let mut users = String::new();
    for full in look.softnet.iter().filter(|cpu| cpu.dropped > 0) {
        let cpu = full.cpu.number();
        let limited = match full.flow_limit.unwrap_or(0) {
            0 => String::new(),
            frames => {
                format!(", {frames} of them by the limit for one flow (net.core.flow_limit_cpu_bitmap)")
            }
        };
        refusals.push(format!("CPU {cpu} refused {}{limited}", full.dropped));
        if look.facts.scheduled.covers(look.seconds) {
            users.push_str(&users_of_cpu(look, cpu));
        }
    }
    let refusals = match refusals.is_empty() {
        true => String::new(),
        false => format!("; of the frames of all interfaces, {}", refusals.join(", ")),
    };
    let (change, remedies) = longer_backlog(look, lost);
    Judgement {
        cause: format!("frames came faster than a CPU took them off its backlog{refusals}{users}"),
        change,
        remedies,
    }
}

/// The programs that used a CPU, as the end of a sentence.
fn users_of_cpu(look: &Look, cpu: u32) -> String {
    let users = look.facts.scheduled.users_of(cpu, None);
    let share = users.iter().map(|user| user.share).sum::<f64>() * 100.0;
    in_words(&users).map_or(String::new(), |users| format!("; {users} {share:.0} % of CPU {cpu}"))
}

/// `lost` are the frames of this interface.
fn longer_backlog(look: &Look, lost: u64) -> (String, Vec<Remedy>) {
    /// Length of a burst that should fit, in seconds.
    const BURST_S: f64 = 0.01;
    /// The kernel's default (net/core/dev.c).
    const USUAL: u64 = 1000;
    let burst = ((look.received.unwrap_or(0) + lost) as f64 / look.seconds * BURST_S).ceil() as u64;
    let now = look
        .max_backlog
        .map_or("it is set in the host's first network namespace".into(), |length| format!("now {length}"));
    let packets = burst.max(USUAL).max(2 * look.max_backlog.unwrap_or(0));
    let mut remedies = vec![Remedy::LongerBacklog { packets, elsewhere: look.max_backlog.is_none() }];
    if look.facts.online.len() > 1 {
        remedies.push(Remedy::SpreadReceiveWork {
            interface: look.interface.clone(),
            cpus: look.facts.online.clone(),
        });
    }
    let change = format!(
        "raise net.core.netdev_max_backlog against bursts ({now}; 10 ms at this rate are {burst}); against a steady overload \
         spread the receive work over more CPUs (RPS: a mask of CPUs in rps_cpus of each queue, or more queues) or make it less"
    );
    (change, remedies)
}

/// Cause and change for a socket that lost frames.
fn of_socket(look: &Look, socket: &Socket) -> Option<Advice> {
    let lost = socket.dropped.filter(|frames| *frames > 0)?;
    let who = format!("the {} of {}", socket.what(), socket.owner());
    // A stopped process does not return buffers either.
    let is_stopped = socket.processes.iter().any(Process::is_stopped);
    let Judgement { mut cause, change, remedies } = if !is_stopped
        && socket.method == Method::AfXdp
        && socket.ring_full.unwrap_or(0) < lost.div_ceil(2)
    {
        of_fill_ring(socket)
    } else {
        reader::judge(look, socket)
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
    Some(Advice { place: Place::Ring, lost, at_most, who, cause, change, remedies })
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
fn of_fill_ring(socket: &Socket) -> Judgement {
    if socket.fill_empty.is_some_and(|times| times > 0) {
        return Judgement::words(
            "its fill ring was empty: the program did not return buffers in time",
            "return buffers sooner and in batches, or give the socket more memory (UMEM) and a longer fill ring",
        );
    }
    let chunk = socket.ring.map_or(0, |ring| ring.slot_octets);
    Judgement::words(
        format!(
            "frames did not fit: longer than a chunk of {chunk} octets without its headroom, or from another queue"
        ),
        "use larger chunks or lower the MTU; bind a socket to every receive queue",
    )
}
