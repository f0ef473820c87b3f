//! Disturbances of a trial's CPUs and clocks that the trial did not cause.

use capbench_sys::host::CpuId;
use capbench_traffic::SendReport;

use super::account::Account;
use crate::Result;
use crate::receiver::Received;
use capbench_host::accounts::cpu::{CpuTimes, CpuWindow, tick_ns};
use capbench_host::accounts::kernel_work::foreign_ns;
use capbench_host::accounts::softnet::longest_backlog;
use capbench_model::disturbance::{CpuDisturbance, Disturbance, Stall};

impl Account<'_> {
    /// The disturbance of the trial; `sending` is where CPUs spent their time while frames were sent.
    pub(super) fn disturbance(
        &self,
        sending: &CpuWindow,
        sent: &SendReport,
        received: &Received,
    ) -> Result<Disturbance> {
        let kernel = received.kernel.since(&self.start)?;
        let receiving = received.kernel.cpus_since(&self.start);
        let napi_ns = kernel.as_ref().map_or(0, |kernel| kernel.napi_threads_ns);
        let placement = self.placement;
        let sending_ns = self.sending_over.monotonic_ns().saturating_sub(self.start.monotonic_ns());
        let receiving_ns = received.kernel.monotonic_ns().saturating_sub(self.start.monotonic_ns());
        // The generator's thread ends before the receiver has drained: its CPU is examined during sending only.
        let load = |cpu: CpuId| {
            let sends_only = cpu == placement.generator && cpu != placement.application;
            let (seen, window_ns) =
                if sends_only { (sending, sending_ns) } else { (&receiving, receiving_ns) };
            let own_ns = [
                (placement.generator, self.generator_ns),
                (placement.application, received.cpu_ns),
                (placement.kernel, napi_ns),
            ];
            let own_ns = own_ns.iter().filter(|(place, _)| *place == cpu).map(|(_, ns)| ns).sum::<u64>();
            let times = seen.of(cpu)?;
            // If the application also runs there, the CPU's remaining time belongs to neither.
            let traced = kernel.as_ref().filter(|kernel| kernel.cpu == cpu && cpu == placement.application);
            Some(CpuDisturbance {
                cpu: cpu.number(),
                window_ns,
                unaccounted_ns: unaccounted_ns(&times, window_ns),
                steal_ns: sending.of(cpu)?.steal_ns,
                foreign_ns: foreign_ns(&times, window_ns, own_ns, wakeups(received), traced),
                stalls: self.stalls(cpu),
                core_speed: None,
            })
        };
        let mut cpus = self.cpus().to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Disturbance {
            cpus: cpus.into_iter().filter_map(load).collect(),
            tick_ns: tick_ns()?,
            clocks: self.after.clocks.since(&self.before.clocks),
            sending_ns,
            backlog_lasts_ns: self.backlog_lasts_ns(sent),
        })
    }

    /// The stalls of a CPU while frames were sent.
    fn stalls(&self, cpu: CpuId) -> Option<Vec<Stall>> {
        let stalls = self.tracer?.stalls(cpu, self.began_ns, self.sending_over.monotonic_ns())?;
        let since_began = |stall: capbench_host::tracer::Stall| Stall {
            until_ns: stall.until_ns - self.began_ns,
            at_least_ns: stall.at_least_ns,
            at_most_ns: stall.at_most_ns,
        };
        Some(stalls.into_iter().map(since_began).collect())
    }

    /// How long the backlog can buffer the offered load. Maximum load has no plan and always overflows it.
    fn backlog_lasts_ns(&self, sent: &SendReport) -> Option<u64> {
        sent.lateness.summary().filter(|_| !self.past_backlog)?;
        let frames = longest_backlog()? as f64;
        let offered = sent.sent as f64 / sent.elapsed.as_secs_f64();
        (offered > 0.0).then(|| (frames / offered * 1e9) as u64)
    }
}

/// Number of times that the application slept and was woken; `None` if unknown.
pub(super) fn wakeups(received: &Received) -> Option<u64> {
    received.switches?.voluntary_switches
}

/// The part of a window that a CPU's times do not cover: they are sampled while it is busy, and come in ticks.
fn unaccounted_ns(times: &CpuTimes, window_ns: u64) -> u64 {
    window_ns.saturating_sub(times.total_ns())
}
