//! Why a place other than a socket loses frames, and what to change.

use crate::look::Look;
use capbench_model::places::Place;

/// Cause and change.
pub(super) fn of_place(look: &Look, place: Place) -> Option<(String, String)> {
    let interface = &look.interface;
    Some(match place {
        Place::LinkQueue => (
            "the queue in front of the veth's NAPI poll (256 frames) was full: the CPU that polls it was too late".into(),
            format!(
                "let a thread poll it on a CPU of its own (`echo 1 > /sys/class/net/{interface}/threaded`, then `taskset -p` \
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
            "what this host sends did not leave: a queueing discipline or the driver's queue was full, or the other end of \
             a veth did not take it"
                .into(),
            format!(
                "`tc -s qdisc show dev {interface}` shows the former; of a veth `why` at its other end tells the rest"
            ),
        ),
        Place::Stack => (
            "the driver had no memory or a full queue, or the frames were of a protocol that nothing here speaks; the \
             latter are no loss for a capture"
                .into(),
            format!(
                "`ethtool -S {interface}` tells the driver's part; the kernel's reasons are {}",
                if look.traced.is_some() { "in the list of drops" } else { "traced by `capbench why` as root" }
            ),
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
        _ => return None,
    })
}

fn of_nic(look: &Look) -> String {
    let interface = &look.interface;
    let lengthen = match look.nic_ring.map(|ring| (ring.descriptors, ring.most)) {
        Some((now, most)) if now < most => {
            format!(
                "lengthen the ring from {now} to at most {most} descriptors (`ethtool -G {interface} rx {most}`)"
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
