//! Traces losses of a trial's interfaces and the cost of receiving, with BPF programs on kernel tracepoints.
//!
//! | file | what |
//! |---|---|
//! | `running` | loads the programs and reads their counts (feature `bpf`) |
//! | [`reasons`] | the kernel's names of drop reasons, and which of them are losses before the capture point |
//! | [`losses`] | the tracer's part of the ledger |
//! | [`cost`] | the tracer's own cost |
//! | `kernel_types` | the running kernel's types: BTF (feature `bpf`) |
//! | `symbols` | names of kernel functions, for drops without a reason |
//! | `drops.bpf.c` | `skb:kfree_skb`, `xdp:xdp_exception`, `xdp:xdp_redirect_err`, of the watched interfaces only |
//! | `nothing.bpf.c` | empty programs, to measure the cost of measuring |
//! | `softirq.bpf.c` | `irq:softirq_entry` and `irq:softirq_exit` of NET_RX, attached in trials that time softirqs only, and late
//! ticks (`timer:hrtimer_expire_entry`), per CPU |
//!
//! The number and the network namespace's inode identify an interface; events of other interfaces are not counted. The time in
//! the receive softirq is that of a CPU, for all its interfaces.

use std::fmt;

use capbench_sys::host::InterfaceIndex;
use serde::{Deserialize, Serialize};

#[cfg(not(feature = "bpf"))]
mod absent;
pub mod cost;
#[cfg(feature = "bpf")]
mod kernel_types;
pub mod losses;
pub mod reasons;
#[cfg(feature = "bpf")]
mod running;
#[cfg(feature = "bpf")]
mod symbols;

#[cfg(not(feature = "bpf"))]
pub use absent::Tracer;
#[cfg(feature = "bpf")]
pub use running::Tracer;

/// Limit of watched interfaces.
pub const MOST_WATCHED: usize = 4;

/// A watched interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Its number within its namespace.
    pub interface: InterfaceIndex,
    /// Inode of its network namespace (namespaces(7)).
    pub namespace: u64,
}

/// Why there is no tracer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// The missing requirement, and how to meet it.
    pub reason: String,
}

/// Drops of one kind on one interface.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DropKind {
    /// The kernel's name of the reason without `SKB_DROP_REASON_`, or its number if it has no name. `None` if the kernel
    /// reports no reason: before Linux 5.17, or with NOT_SPECIFIED.
    pub reason: Option<String>,
    /// The kernel function that dropped it; known only without a named reason.
    pub function: Option<String>,
}

impl fmt::Display for DropKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, &self.function) {
            (Some(reason), None) => f.write_str(reason),
            (Some(reason), Some(function)) => write!(f, "{reason} in {function}"),
            (None, Some(function)) => write!(f, "no reason, in {function}"),
            (None, None) => f.write_str("no reason"),
        }
    }
}

/// Counts of one interface: since the tracer started, or within a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterfaceTrace {
    /// Dropped frames (`skb:kfree_skb`). Most are the stack's copies of frames that were captured: see [`reasons::stage_of`].
    pub drops: Vec<(DropKind, u64)>,
    /// Frames for which an XDP program aborted, returned an invalid verdict, or whose verdict failed (`xdp:xdp_exception`).
    pub xdp_exceptions: u64,
    /// Frames that an XDP program could not redirect (`xdp:xdp_redirect_err`, `xdp:xdp_redirect_map_err`).
    pub xdp_redirect_errors: u64,
    /// Events of any host interface that were missed because one occurred while another was processed on the same CPU.
    pub missed: u64,
    /// Frames that tc consumed behind the capture point: no drops ([`crate::bed::Sink`]).
    #[serde(default)]
    pub consumed: u64,
}

impl InterfaceTrace {
    /// Counts since `before`, without kinds that are 0.
    pub fn since(&self, before: &Self) -> Self {
        let then =
            |kind: &DropKind| before.drops.iter().find(|(other, _)| other == kind).map_or(0, |(_, n)| *n);
        let drops = self.drops.iter().map(|(kind, now)| (kind.clone(), now.saturating_sub(then(kind))));
        Self {
            drops: drops.filter(|(_, count)| *count > 0).collect(),
            xdp_exceptions: self.xdp_exceptions.saturating_sub(before.xdp_exceptions),
            xdp_redirect_errors: self.xdp_redirect_errors.saturating_sub(before.xdp_redirect_errors),
            missed: self.missed.saturating_sub(before.missed),
            consumed: self.consumed.saturating_sub(before.consumed),
        }
    }

    /// The counts of two interfaces together.
    pub fn plus(mut self, other: &Self) -> Self {
        for (kind, count) in &other.drops {
            match self.drops.iter_mut().find(|(known, _)| known == kind) {
                Some((_, all)) => *all += count,
                None => self.drops.push((kind.clone(), *count)),
            }
        }
        self.xdp_exceptions += other.xdp_exceptions;
        self.xdp_redirect_errors += other.xdp_redirect_errors;
        self.missed += other.missed;
        self.consumed += other.consumed;
        self
    }
}

/// Time in the receive softirq (NET_RX) of CPUs, in ns of wall-clock time, including hard interrupts during it: since the tracer
/// started, or within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NetRxTime {
    /// All of it, as an interruption or in ksoftirqd.
    pub total_ns: u64,
    /// The part that interrupted threads of processes. They are charged for it unless the kernel accounts for interrupts.
    pub in_processes_ns: u64,
    /// The part of that which interrupted threads that capture; `None` if the tracer does not know them.
    #[serde(default)]
    pub in_capture_ns: Option<u64>,
    /// The part in polling threads; their run time also contains it.
    pub in_napi_ns: u64,
    /// Number of runs that ended.
    pub runs: u64,
    /// Error of `total_ns` in a window: a run can begin before the window or end after it. The mean time of a run on each CPU.
    #[serde(default)]
    pub resolution_ns: u64,
}

impl NetRxTime {
    /// The time since an earlier reading of the same CPU.
    pub fn since(&self, before: &Self) -> Self {
        let total_ns = self.total_ns.saturating_sub(before.total_ns);
        let runs = self.runs.saturating_sub(before.runs);
        Self {
            total_ns,
            in_processes_ns: self.in_processes_ns.saturating_sub(before.in_processes_ns),
            in_capture_ns: self
                .in_capture_ns
                .zip(before.in_capture_ns)
                .map(|(now, then)| now.saturating_sub(then)),
            in_napi_ns: self.in_napi_ns.saturating_sub(before.in_napi_ns),
            runs,
            resolution_ns: total_ns / runs.max(1),
        }
    }

    /// That of two CPUs.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            total_ns: self.total_ns + other.total_ns,
            in_processes_ns: self.in_processes_ns + other.in_processes_ns,
            in_capture_ns: self.in_capture_ns.zip(other.in_capture_ns).map(|(one, other)| one + other),
            in_napi_ns: self.in_napi_ns + other.in_napi_ns,
            runs: self.runs + other.runs,
            resolution_ns: self.resolution_ns + other.resolution_ns,
        }
    }
}

/// A CPU stall: the CPU served no interrupt although its timer tick was due. The hypervisor ran something else, or interrupts
/// were off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// End of the stall, in ns of CLOCK_MONOTONIC.
    pub until_ns: u64,
    /// Lower bound of its length in ns: since the tick was due, or since the CPU was last seen running after that.
    pub at_least_ns: u64,
    /// Upper bound of its length in ns: since the CPU was last seen running, by an earlier tick or a receive softirq.
    pub at_most_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_what_was_counted_in_it() {
        let kind = |reason: &str| DropKind { reason: Some(reason.into()), function: None };
        let before =
            InterfaceTrace { drops: vec![(kind("XDP"), 5)], xdp_exceptions: 2, ..Default::default() };
        let after = InterfaceTrace {
            drops: vec![(kind("XDP"), 5), (kind("OTHERHOST"), 7)],
            xdp_exceptions: 3,
            xdp_redirect_errors: 1,
            consumed: 4,
            ..Default::default()
        };
        let window = after.since(&before);
        assert_eq!(window.drops, [(kind("OTHERHOST"), 7)]);
        assert_eq!((window.xdp_exceptions, window.xdp_redirect_errors, window.consumed), (1, 1, 4));
    }

    #[test]
    fn a_window_of_softirqs_is_known_but_for_a_run_at_its_ends() {
        let time = |total_ns, runs| NetRxTime {
            total_ns,
            in_processes_ns: total_ns / 2,
            in_capture_ns: Some(total_ns / 4),
            in_napi_ns: total_ns / 10,
            runs,
            resolution_ns: 0,
        };
        let window = time(3000, 180).since(&time(1000, 100));
        assert_eq!(window, NetRxTime { resolution_ns: 2000 / 80, ..time(2000, 80) });
        assert_eq!(window.plus(&window).resolution_ns, 50, "one on each CPU");
        let nothing = NetRxTime { in_capture_ns: Some(0), ..NetRxTime::default() };
        assert_eq!(window.since(&window), nothing, "it did not run");
        let unknown = NetRxTime { in_capture_ns: None, ..window };
        assert_eq!((window.since(&unknown).in_capture_ns, window.plus(&unknown).in_capture_ns), (None, None));
    }

    #[test]
    fn kinds_have_words() {
        let kind = |reason: Option<&str>, function: Option<&str>| DropKind {
            reason: reason.map(Into::into),
            function: function.map(Into::into),
        };
        assert_eq!(kind(Some("XDP"), None).to_string(), "XDP");
        assert_eq!(kind(None, Some("veth_xmit")).to_string(), "no reason, in veth_xmit");
        assert_eq!(kind(None, None).to_string(), "no reason");
    }
}
