//! CPU time that the kernel spent on receiving, and the application's CPU time without interrupts.

use std::sync::Arc;

use capbench_model::thresholds::{MISSED_RUNS_AT_ENDS, MISSED_RUNS_SHARE};
use capbench_model::trial::{KernelClock, KernelTimeSource};
use capbench_sys::host::{CpuId, ThreadId, clock};
use serde::{Deserialize, Serialize};

use super::cpu::{CpuSnapshot, CpuTimes, CpuWindow, net_rx_runs, tick_ns};
use super::threads::{ReceiveThread, ThreadTimes, receive_threads};
use crate::Result;
use crate::tracer::{NetRxReading, NetRxTime, Tracer};

/// The threads that do the kernel's receive work on some CPUs. Found once, because a scan of all processes would disturb a window
/// for too long.
#[derive(Debug, Clone)]
pub struct KernelWorkProbe {
    /// Each CPU with its ksoftirqd, if that is visible.
    cpus: Vec<(CpuId, Option<ThreadId>)>,
    /// `None` if a NAPI thread must exist but is not visible.
    napi: Option<Vec<ThreadId>>,
    tracer: Option<Arc<Tracer>>,
}

/// One reading of the probe.
#[derive(Debug, Clone)]
pub struct KernelWorkSnapshot {
    cpus: Vec<CpuId>,
    monotonic_ns: u64,
    times: CpuSnapshot,
    ksoftirqd: Option<Vec<ThreadTimes>>,
    napi: Option<Vec<ThreadTimes>>,
    /// Of each CPU.
    net_rx: Option<Vec<NetRxReading>>,
    /// Runs of the receive softirq; read only with a tracer.
    net_rx_runs: Option<u64>,
}

/// The kernel's receive work on its CPUs within a window, in ns of CPU time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelReceive {
    /// The CPUs.
    pub cpus: Vec<CpuId>,
    /// Soft interrupts on the CPUs, including those run by ksoftirqd (`/proc/stat`).
    pub softirq_ns: u64,
    /// Hardware interrupts on the CPUs (`/proc/stat`).
    pub irq_ns: u64,
    /// The part of `softirq_ns` that ran in ksoftirqd; `None` if a thread is not visible.
    pub ksoftirqd_ns: Option<u64>,
    /// Run time of the NAPI threads of the interface and of the CPUs' backlogs; 0 if the bed uses none.
    pub napi_threads_ns: u64,
    /// Resolution of `softirq_ns` and `irq_ns`: one tick of USER_HZ for each CPU. If the kernel samples at the timer tick, bursts in phase
    /// with the tick can be missed completely (rezolus PR 462).
    pub resolution_ns: u64,
    /// Time in the receive softirq, measured at its start and end, one run in eight; `None` without a tracer.
    pub traced: Option<NetRxTime>,
    /// Runs of the receive softirq counted by the kernel, including those that the tracer missed; `None` without a tracer.
    pub net_rx_runs: Option<u64>,
}

/// CPU time of an application that shares its CPU with the kernel's receive work, in ns.
///
/// The sum of the application's and the kernel's time is certain. Their split is not, if the kernel samples soft interrupts at
/// the timer tick. A tick that is due while interrupts are off is served right after the soft interrupt starts, and counts as
/// soft interrupt. Measured on Linux 6.18 in a virtual machine, with a loop of known cost under RPS load: 1.98 s were charged
/// and 1.86 s of them sampled as soft interrupts. That leaves 0.12 s, but the loop's progress needed 0.52 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationTime {
    /// Time that the scheduler charged to its threads: an upper bound.
    pub charged_ns: u64,
    /// Soft interrupts that were charged to the threads although the kernel did the work. This is an upper bound, for the
    /// reason above and because some may have run while the CPU was idle.
    pub interrupted_ns: u64,
    /// `charged_ns` minus `interrupted_ns`: a lower bound.
    pub own_ns: u64,
    /// Whether `own_ns` is exact: the threads were charged for no receive work of the kernel, or a tracer measured it.
    pub exact: bool,
}

impl KernelWorkProbe {
    /// A probe for `cpus`. `napi_interface` is the interface that a NAPI thread polls, if the bed uses threaded NAPI.
    pub fn new(cpus: &[CpuId], napi_interface: Option<&str>) -> Self {
        let threads = receive_threads();
        let all = |wanted: &dyn Fn(&ReceiveThread) -> bool| -> Vec<ThreadId> {
            threads.iter().filter(|(_, kind)| wanted(kind)).map(|(thread, _)| *thread).collect()
        };
        let mut napi = all(&|kind| napi_interface.is_some_and(|interface| kind.polls(interface)));
        let unseen = napi_interface.is_some() && napi.is_empty();
        let is_backlog =
            |kind: &ReceiveThread| cpus.iter().any(|cpu| *kind == ReceiveThread::BacklogNapi(*cpu));
        napi.extend(all(&is_backlog));
        let ksoftirqd = |cpu| all(&|kind| *kind == ReceiveThread::Ksoftirqd(cpu)).first().copied();
        let cpus = cpus.iter().map(|cpu| (*cpu, ksoftirqd(*cpu))).collect();
        Self { cpus, napi: (!unseen).then_some(napi), tracer: None }
    }

    /// The same, plus the tracer's measurement of the softirq.
    pub fn traced_by(mut self, tracer: Option<&Arc<Tracer>>) -> Self {
        self.tracer = tracer.map(Arc::clone);
        self
    }

    /// Reads the current values.
    ///
    /// # Errors
    /// `/proc/stat`, or with a tracer `/proc/softirqs`, cannot be read or parsed.
    pub fn snapshot(&self) -> Result<KernelWorkSnapshot> {
        let read_all =
            |threads: &Vec<ThreadId>| threads.iter().map(|thread| ThreadTimes::read(*thread)).collect();
        let ksoftirqd = self.cpus.iter().map(|(_, thread)| *thread).collect::<Option<Vec<_>>>();
        let cpus: Vec<CpuId> = self.cpus.iter().map(|(cpu, _)| *cpu).collect();
        let tracer = self.tracer.as_ref();
        let net_rx = |tracer: &Arc<Tracer>| cpus.iter().map(|cpu| tracer.net_rx(*cpu)).collect();
        let runs = |_| cpus.iter().map(|cpu| net_rx_runs(*cpu)).sum::<Result<Option<u64>>>();
        Ok(KernelWorkSnapshot {
            monotonic_ns: clock::monotonic_ns(),
            times: CpuSnapshot::read()?,
            ksoftirqd: ksoftirqd.as_ref().and_then(read_all),
            napi: self.napi.as_ref().and_then(read_all),
            net_rx: tracer.and_then(net_rx),
            net_rx_runs: tracer.map_or(Ok(None), runs)?,
            cpus,
        })
    }
}

impl KernelWorkSnapshot {
    /// The times of every CPU since `before`.
    pub fn cpus_since(&self, before: &Self) -> CpuWindow {
        self.times.since(&before.times)
    }

    /// Time of the reading, in nanoseconds of CLOCK_MONOTONIC.
    pub const fn monotonic_ns(&self) -> u64 {
        self.monotonic_ns
    }

    /// Time since `before` in which the CPUs were neither idle nor stolen. If the timer tick stops on idle CPUs
    /// (CONFIG_NO_HZ_IDLE, NO_HZ_FULL), idle time is measured at its ends, not sampled.
    pub fn busy_ns_since(&self, before: &Self) -> Option<u64> {
        let window = self.cpus_since(before);
        let elapsed = self.monotonic_ns.checked_sub(before.monotonic_ns)?;
        let busy = |cpu: &CpuId| {
            let times = window.of(*cpu)?;
            Some(elapsed.saturating_sub(times.idle_ns + times.iowait_ns + times.steal_ns))
        };
        self.cpus.iter().map(busy).sum()
    }

    /// The kernel's receive work since `before`, a snapshot of the same probe; `None` if the times of a CPU or of a NAPI
    /// thread are unknown.
    pub fn since(&self, before: &Self) -> Result<Option<KernelReceive>> {
        let resolution_ns = tick_ns()?;
        let run_ns = |(now, then): (&ThreadTimes, &ThreadTimes)| now.since(then).run_ns;
        let all_run_ns = |now: &Option<Vec<_>>, then: &Option<Vec<_>>| {
            now.as_ref()?.iter().zip(then.as_ref()?).map(run_ns).sum::<Option<u64>>()
        };
        let napi_threads_ns = all_run_ns(&self.napi, &before.napi);
        let ksoftirqd_ns = all_run_ns(&self.ksoftirqd, &before.ksoftirqd);
        let window = self.cpus_since(before);
        let times = self.cpus.iter().map(|cpu| window.of(*cpu)).collect::<Option<Vec<_>>>();
        let sum = |of: fn(&CpuTimes) -> u64| times.as_ref().map(|times| times.iter().map(of).sum());
        let interrupts = sum(|times| times.softirq_ns).zip(sum(|times| times.irq_ns));
        let net_rx = self.net_rx.as_ref().zip(before.net_rx.as_ref()).and_then(|(now, then)| {
            now.iter().zip(then).map(|(now, then)| now.since(then)).collect::<Option<Vec<_>>>()
        });
        let traced = net_rx.and_then(|each| each.into_iter().reduce(|one, other| one.plus(&other)));
        let net_rx_runs =
            self.net_rx_runs.zip(before.net_rx_runs).and_then(|(now, then)| now.checked_sub(then));
        Ok(interrupts.zip(napi_threads_ns).map(|((softirq_ns, irq_ns), napi_threads_ns)| KernelReceive {
            cpus: self.cpus.clone(),
            softirq_ns,
            irq_ns,
            ksoftirqd_ns,
            napi_threads_ns,
            resolution_ns: resolution_ns * self.cpus.len() as u64,
            traced,
            net_rx_runs,
        }))
    }
}

impl KernelReceive {
    /// All of the kernel's receive work. With a tracer: the receive softirq, including hard interrupts during it. Without: all
    /// soft and hard interrupts.
    pub const fn total_ns(&self) -> u64 {
        let interrupts_ns = match &self.traced {
            Some(traced) => traced.total_ns.saturating_sub(traced.in_napi_ns),
            None => self.softirq_ns + self.irq_ns,
        };
        interrupts_ns + self.napi_threads_ns
    }

    /// The source of [`Self::total_ns`].
    pub fn source(&self) -> KernelTimeSource {
        let clock = if self.traced.is_some() { KernelClock::TracedSoftirqs } else { KernelClock::Ticks };
        KernelTimeSource { clock, napi_threads: self.napi_threads_ns > 0 }
    }

    /// Runs of the receive softirq that the tracer missed, if they are more than can run between two readings. The traced time
    /// is then too small.
    pub fn unseen_runs(&self) -> Option<u64> {
        let runs = self.net_rx_runs?;
        let unseen = runs.saturating_sub(self.traced?.runs);
        let is_notable = unseen > MISSED_RUNS_AT_ENDS && unseen as f64 >= MISSED_RUNS_SHARE * runs as f64;
        is_notable.then_some(unseen)
    }

    /// Resolution of [`Self::total_ns`] in ns. With a tracer: what a run that it timed stands for. The kernel updates a thread's run time at least at every timer tick.
    pub const fn total_resolution_ns(&self) -> u64 {
        match self.traced {
            Some(traced) if self.napi_threads_ns == 0 => traced.resolution_ns,
            _ => self.resolution_ns,
        }
    }

    /// Soft interrupts charged to interrupted tasks; `None` if ksoftirqd is not visible.
    pub fn interrupting_ns(&self) -> Option<u64> {
        match self.traced {
            Some(traced) => Some(traced.in_processes_ns),
            None => self.ksoftirqd_ns.map(|ksoftirqd| self.softirq_ns.saturating_sub(ksoftirqd)),
        }
    }
}

/// The own time of an application's threads; the scheduler charged them `charged_ns`.
///
/// `kernel` is the receive work on the application's CPU if the two share it. `None` means that they do not, so the threads are
/// charged for no receive work. `excluded` says whether the scheduler excludes interrupts
/// ([`super::irqtime::IrqAccounting::excluded_from_threads`]). The result is `None` if they share a CPU and `excluded` or the
/// run time of ksoftirqd is unknown: then only the charged time is known.
pub fn application_time(
    charged_ns: u64,
    kernel: Option<&KernelReceive>,
    excluded: Option<bool>,
) -> Option<ApplicationTime> {
    let (interrupted_ns, exact) = match (kernel, excluded) {
        (None, _) | (_, Some(true)) => (0, true),
        (Some(_), None) => return None,
        (Some(kernel), Some(false)) => (kernel.interrupting_ns()?.min(charged_ns), kernel.traced.is_some()),
    };
    Some(ApplicationTime { charged_ns, interrupted_ns, own_ns: charged_ns - interrupted_ns, exact })
}

/// CPU time of foreign tasks on a CPU within `window_ns`. The trial's own threads ran `own_ns` and were woken `wakeups` times;
/// `kernel` is the receive work on the CPU, if any.
///
/// Sampled thread time is not enough: packets in phase with the tick (100,000/s, for example) turn all of it into soft
/// interrupts. But a CPU without a tick while idle knows its idle time exactly. So with traced receive work, the result is the
/// rest of the busy time, minus the receive work once more (interrupts around it), minus 8 microseconds per wake-up. Without a
/// known number of wake-ups this method is not used.
pub fn foreign_ns(
    times: &CpuTimes,
    window_ns: u64,
    own_ns: u64,
    wakeups: Option<u64>,
    kernel: Option<&KernelReceive>,
) -> u64 {
    let sampled_ns = (times.user_ns + times.nice_ns + times.system_ns).saturating_sub(own_ns);
    let busy_ns = window_ns.saturating_sub(times.idle_ns + times.iowait_ns + times.steal_ns);
    let traced = kernel.filter(|kernel| kernel.traced.is_some());
    let left_ns = traced.zip(wakeups).map_or(0, |(kernel, wakeups)| {
        busy_ns.saturating_sub(own_ns + 2 * kernel.total_ns() + wakeups.saturating_mul(A_WAKEUP_NS))
    });
    sampled_ns.max(left_ns)
}

/// Upper bound of the cost to wake an idle CPU, besides the time charged to the woken thread. On a virtual machine it is 3 to
/// 5 microseconds, because it calls the hypervisor.
const A_WAKEUP_NS: u64 = 8000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_others_is_found_in_busy_time_though_the_tick_samples_soft_interrupts_only() {
        let times = CpuTimes { softirq_ns: 200, idle_ns: 0, ..CpuTimes::default() };
        let traced = NetRxTime { total_ns: 20, ..NetRxTime::default() };
        let kernel = KernelReceive { traced: Some(traced), napi_threads_ns: 0, ..kernel(200, None) };
        assert_eq!(foreign_ns(&times, 200, 50, Some(0), Some(&kernel)), 110);
        assert_eq!(
            foreign_ns(&times, 200, 50, None, Some(&kernel)),
            0,
            "nobody knows how often it was woken"
        );
        let idle = CpuTimes { idle_ns: 110, ..times };
        assert_eq!(foreign_ns(&idle, 200, 50, Some(0), Some(&kernel)), 0, "interrupts around it");
        assert_eq!(foreign_ns(&times, 20_000, 50, Some(2), Some(&kernel)), 20_000 - 90 - 16_000, "wake-ups");
        let untraced = KernelReceive { traced: None, ..kernel };
        assert_eq!(foreign_ns(&times, 200, 50, Some(0), Some(&untraced)), 0, "nobody knows");
        let threads = CpuTimes { user_ns: 90, idle_ns: 110, ..CpuTimes::default() };
        assert_eq!(foreign_ns(&threads, 200, 50, Some(0), None), 40);
    }

    fn kernel(softirq_ns: u64, ksoftirqd_ns: Option<u64>) -> KernelReceive {
        KernelReceive {
            cpus: vec![CpuId::new(1)],
            softirq_ns,
            irq_ns: 5,
            ksoftirqd_ns,
            napi_threads_ns: 7,
            resolution_ns: 10,
            traced: None,
            net_rx_runs: None,
        }
    }

    #[test]
    fn softirqs_that_the_tracer_did_not_see_are_counted_by_the_kernel() {
        let unseen = |runs: Option<u64>, net_rx_runs| {
            let traced = runs.map(|runs| NetRxTime { runs, ..NetRxTime::default() });
            KernelReceive { traced, net_rx_runs, ..kernel(100, None) }.unseen_runs()
        };
        assert_eq!(unseen(Some(900), Some(1000)), Some(100));
        assert_eq!((unseen(Some(1000), Some(1000)), unseen(Some(1001), Some(1000))), (None, None));
        assert_eq!(
            (unseen(Some(7), Some(10)), unseen(Some(9_996), Some(10_000))),
            (None, None),
            "at the ends"
        );
        assert_eq!((unseen(None, Some(9)), unseen(Some(9), None)), (None, None));
    }

    #[test]
    fn the_tracer_missed_runs_from_one_per_cent_and_four_runs_on() {
        let cases = [(100, 3, None), (100, 4, Some(4)), (10_000, 99, None), (10_000, 100, Some(100))];
        for (runs, missed, expected) in cases {
            let traced = NetRxTime { runs: runs - missed, ..NetRxTime::default() };
            let work = KernelReceive { traced: Some(traced), net_rx_runs: Some(runs), ..kernel(100, None) };
            assert_eq!(work.unseen_runs(), expected, "{missed} of {runs}");
        }
    }

    #[test]
    fn traced_time_takes_the_place_of_sampled_time() {
        let traced =
            NetRxTime { total_ns: 90, in_processes_ns: 50, in_napi_ns: 10, runs: 3, resolution_ns: 30 };
        let work = KernelReceive { traced: Some(traced), ..kernel(100, None) };
        let alone = KernelReceive { napi_threads_ns: 0, ..work.clone() };
        assert_eq!((work.total_resolution_ns(), alone.total_resolution_ns()), (10, 30));
        assert_eq!((work.total_ns(), work.interrupting_ns()), (90 - 10 + 7, Some(50)));
        let time = application_time(200, Some(&work), Some(false)).unwrap();
        assert_eq!((time.own_ns, time.exact), (150, true));
        // Time that the scheduler does not charge is not subtracted.
        assert_eq!(application_time(200, Some(&work), Some(true)).unwrap().own_ns, 200);
    }

    #[test]
    fn the_total_counts_ksoftirqd_once() {
        assert_eq!(kernel(100, Some(40)).total_ns(), 112);
        assert_eq!(kernel(100, Some(40)).interrupting_ns(), Some(60));
        // Two accounts of different resolution: the difference cannot be below zero.
        assert_eq!(kernel(100, Some(103)).interrupting_ns(), Some(0));
    }

    #[test]
    fn interruptions_are_subtracted_where_the_scheduler_charged_them() {
        let time = application_time(200, Some(&kernel(100, Some(40))), Some(false)).unwrap();
        assert_eq!((time.charged_ns, time.interrupted_ns, time.own_ns, time.exact), (200, 60, 140, false));
        let time = application_time(30, Some(&kernel(100, Some(40))), Some(false)).unwrap();
        assert_eq!((time.interrupted_ns, time.own_ns), (30, 0));
    }

    #[test]
    fn nothing_is_subtracted_where_nothing_was_charged() {
        assert_eq!(application_time(200, Some(&kernel(100, Some(0))), Some(true)).unwrap().own_ns, 200);
        let time = application_time(200, None, None).unwrap();
        assert_eq!((time.own_ns, time.exact), (200, true));
    }

    #[test]
    fn unknown_counts_stay_unknown() {
        assert_eq!(application_time(200, Some(&kernel(100, Some(0))), None), None);
        assert_eq!(application_time(200, Some(&kernel(100, None)), Some(false)), None);
    }

    #[test]
    fn a_napi_thread_that_cannot_be_seen_makes_the_work_unknown() {
        let cpu = capbench_sys::host::affinity::allowed_cpus().unwrap()[0];
        let probe = KernelWorkProbe::new(&[cpu], Some("no-such-if"));
        let snapshot = probe.snapshot().unwrap();
        assert_eq!(snapshot.since(&snapshot.clone()).unwrap(), None);
    }

    #[test]
    fn this_host_can_be_accounted_for() {
        let cpu = capbench_sys::host::affinity::allowed_cpus().unwrap()[0];
        let probe = KernelWorkProbe::new(&[cpu], None);
        let (before, after) = (probe.snapshot().unwrap(), probe.snapshot().unwrap());
        let work = after.since(&before).unwrap().unwrap();
        assert_eq!((work.cpus, work.resolution_ns), (vec![cpu], 10_000_000));
    }
}
