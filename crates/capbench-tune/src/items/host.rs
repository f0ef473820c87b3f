//! Settings of the kernel and of the CPUs.

use super::{Judgement, Stands, Wishes};
use crate::facts::{BACKLOG, BUFFER, Facts, GOVERNOR};
use crate::setting::{Proposal, Setting};

fn sysctl(name: &str, value: u64) -> Proposal {
    Proposal { setting: Setting::Sysctl(name.into()), value: value.to_string() }
}

/// Packets that a backlog should hold: some 20 ms at 500,000 packets/s.
const LONG_BACKLOG: u64 = 10_000;

pub(super) fn backlog(facts: &Facts, wishes: &Wishes) -> Judgement {
    let Some(now) = facts.sysctl(BACKLOG) else {
        return Judgement::unknown("the length of the backlog is unknown");
    };
    let is = format!("a CPU's backlog holds {now} packets");
    let is_used = facts.card.receive_queues.iter().flatten().any(|queue| queue.rps_cpus.as_deref().is_some_and(|cpus| !cpus.is_empty()))
        || super::queues::rps(facts, wishes).proposals.iter().any(|proposal| proposal.value != "0")
        // A virtual link without NAPI.
        || facts.card.driver.as_deref() == Some("veth");
    if !is_used {
        return Judgement::fine(format!("{is}; frames of this interface do not wait there"));
    }
    if now >= LONG_BACKLOG {
        return Judgement::fine(is);
    }
    let why =
        "with RPS and on a virtual link frames wait in the backlog of the CPU that does their receive work";
    Judgement::new(Stands::Against, is, why)
        .better(format!("{LONG_BACKLOG} packets"))
        .by(vec![sysctl(BACKLOG, LONG_BACKLOG)])
}

/// Twice the kernel's defaults: 300 packets, or two ticks of 2 ms.
const MORE_PACKETS: u64 = 600;
const LONGER_US: u64 = 8000;

pub(super) fn budget(facts: &Facts, _: &Wishes) -> Judgement {
    const PACKETS: &str = "net.core.netdev_budget";
    const TIME: &str = "net.core.netdev_budget_usecs";
    let Some(packets) = facts.sysctl(PACKETS) else {
        return Judgement::unknown("the budget of the receive softirq is unknown");
    };
    let time = facts.sysctl(TIME);
    let limits = match time {
        Some(time) => format!("{packets} packets or {time} µs"),
        None => format!("{packets} packets"),
    };
    let weight = facts
        .sysctl("net.core.dev_weight")
        .map_or_else(String::new, |weight| format!(", {weight} of a queue in turn"));
    let is = format!("the receive softirq ends after {limits}{weight}");
    match facts.squeezes {
        Some(times) if times > 0 && (packets < MORE_PACKETS || time.is_some_and(|time| time < LONGER_US)) => {
            let since = if facts.is_of_run { "during its trials" } else { "since the host started" };
            let is = format!("{is}; {since}, work was left {times} times");
            let why = "work that is left waits for the next softirq, and the ring fills meanwhile";
            let mut proposals = Vec::new();
            if packets < MORE_PACKETS {
                proposals.push(sysctl(PACKETS, MORE_PACKETS));
            }
            if time.is_some_and(|time| time < LONGER_US) {
                proposals.push(sysctl(TIME, LONGER_US));
            }
            Judgement::new(Stands::Against, is, why)
                .better(format!("{MORE_PACKETS} packets or {LONGER_US} µs"))
                .by(proposals)
        }
        Some(_) => Judgement::fine(is),
        None => Judgement::unknown(format!("{is}; how often with work left is unknown")),
    }
}

/// As capbench's rings.
const LARGE_BUFFER: u64 = 64 << 20;

pub(super) fn buffers(facts: &Facts, _: &Wishes) -> Judgement {
    let Some(now) = facts.sysctl(BUFFER) else { return Judgement::unknown("net.core.rmem_max is unknown") };
    let is = format!("a socket's receive buffer holds up to {now} bytes");
    if now >= LARGE_BUFFER {
        return Judgement::fine(is);
    }
    let why = "a program that captures with recv and without CAP_NET_ADMIN cannot have more; rings of packet sockets are not \
               limited by it";
    Judgement::new(Stands::Against, is, why)
        .better(format!("{LARGE_BUFFER} bytes"))
        .by(vec![sysctl(BUFFER, LARGE_BUFFER)])
}

pub(super) fn governor(facts: &Facts, wishes: &Wishes) -> Judgement {
    const BEST: &str = "performance";
    let of = |cpu: u32| {
        let setting = Setting::Cpu { cpu, file: GOVERNOR.into() };
        facts.settings.get(&setting).map(|governor| (setting, governor.clone()))
    };
    let all: Vec<(Setting, String)> = facts.capture_cpus(&wishes.cpus).into_iter().filter_map(of).collect();
    if all.is_empty() {
        let Some(cpu) = &facts.cpu else { return Judgement::unknown("the facts about the CPUs are unknown") };
        let governors = cpu.frequency.as_ref().map(|frequency| frequency.governors.join(" and "));
        return match governors.filter(|governors| !governors.is_empty()) {
            Some(governors) => Judgement::unknown(format!("{governors}; which CPUs have which is unknown")),
            None => Judgement::absent("the host does not control the frequencies of its CPUs"),
        };
    }
    let slow: Vec<&(Setting, String)> = all.iter().filter(|(_, governor)| governor != BEST).collect();
    let Some((_, governor)) = slow.first() else { return Judgement::fine(BEST) };
    let why = "a CPU that is idle between bursts lowers its clock, and is slow when the burst comes";
    Judgement::new(
        Stands::Against,
        format!("{governor} on {} of {} capture CPUs", slow.len(), all.len()),
        why,
    )
    .better(BEST)
    .by(slow.iter().map(|(setting, _)| Proposal { setting: setting.clone(), value: BEST.into() }).collect())
}

/// A CPU should be awake again before a ring of 256 descriptors is full at 10 million packets/s.
const LATENCY_US: u64 = 10;

pub(super) fn idle(facts: &Facts, wishes: &Wishes) -> Judgement {
    let Some(cpu) = &facts.cpu else { return Judgement::unknown("the facts about the CPUs are unknown") };
    let Some(idle) = cpu.idle.as_ref().filter(|idle| !idle.states.is_empty()) else {
        return Judgement::absent("the host does not control the idle states of its CPUs");
    };
    let deep = idle.states.iter().zip(0u32..).filter(|(state, _)| state.exit_latency_us > Some(LATENCY_US));
    let deep: Vec<(&str, u32, u64)> = deep
        .map(|(state, number)| (state.name.as_str(), number, state.exit_latency_us.unwrap_or_default()))
        .collect();
    let enabled = |cpu: u32, number: u32| {
        let setting = Setting::idle_state(cpu, number);
        (facts.settings.get(&setting)? == "0").then_some(Proposal { setting, value: "1".into() })
    };
    let cpus = facts.capture_cpus(&wishes.cpus);
    let proposals: Vec<Proposal> =
        deep.iter().flat_map(|(_, number, _)| cpus.iter().filter_map(|cpu| enabled(*cpu, *number))).collect();
    let slowest = deep.iter().max_by_key(|(.., latency)| *latency);
    let (name, latency) = match slowest {
        // A run saves of the first CPU only whether it uses a state.
        Some((name, _, latency)) if proposals.is_empty() && facts.is_of_run => {
            return Judgement::unknown(format!(
                "the host has {name}, {latency} µs to leave; whether the capture CPUs used it is unknown"
            ));
        }
        Some((name, _, latency)) if !proposals.is_empty() => (name, latency),
        _ => return Judgement::fine(format!("no idle state takes more than {LATENCY_US} µs to leave")),
    };
    let why = "an interrupt that wakes a CPU waits so long before the CPU reads the first frame";
    Judgement::new(
        Stands::Against,
        format!("capture CPUs sleep as deep as {name}, {latency} µs to leave"),
        why,
    )
    .better(format!("states of more than {LATENCY_US} µs disabled on these CPUs"))
    .by(proposals)
}

pub(super) fn threads(facts: &Facts, wishes: &Wishes) -> Judgement {
    let Some(cores) = facts.cpu.as_ref().and_then(|cpu| cpu.core_threads.as_ref()) else {
        return Judgement::unknown("which CPUs are threads of one core is unknown");
    };
    if cores.is_empty() {
        return Judgement::fine("each CPU is a core");
    }
    let together = |cpu: &u32| {
        let threads = facts.topology.threads_with(*cpu);
        let used: Vec<u32> = threads.into_iter().filter(|one| wishes.cpus.contains(one)).collect();
        (used.len() > 1).then_some(used)
    };
    let Some(pair) = wishes.cpus.iter().find_map(together) else {
        return Judgement::fine(match wishes.cpus.is_empty() {
            true => "CPUs are threads of cores; --cpus with one of each core avoids that captures share one",
            false => "no capture CPUs are threads of one core",
        });
    };
    let list = pair.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ");
    let why = "two threads of a core share its units and caches: together they do less than two cores";
    Judgement::new(Stands::Against, format!("CPU {list} are threads of one core"), why)
        .better("one CPU of each core in --cpus")
}

pub(super) fn irqbalance(facts: &Facts, _: &Wishes) -> Judgement {
    match facts.irqbalance {
        None => Judgement::unknown("whether irqbalance runs is unknown"),
        Some(false) => Judgement::fine("irqbalance does not run"),
        // Without interrupts there is nothing to move.
        Some(true) if facts.card.interrupts.is_none() => {
            Judgement::fine("irqbalance runs, and the interface has no interrupts")
        }
        Some(true) => {
            let why = "it moves the interrupts of queues to other CPUs while a capture runs, and away from where `apply` put them";
            Judgement::new(Stands::Against, "irqbalance runs", why)
                .better("systemctl stop irqbalance, or --banirq for each interrupt of the card")
        }
    }
}
