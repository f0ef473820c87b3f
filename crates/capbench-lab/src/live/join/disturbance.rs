//! Disturbances of a trial's CPUs and clocks that the trial did not cause.

use capbench_host::accounts::cpu::CpuTimes;
use capbench_host::accounts::kernel_work::foreign_ns;
use capbench_model::arrivals::start_spread_ns;
use capbench_model::disturbance::{CpuDisturbance, Disturbance};
use capbench_model::disturbers::Disturbers;
use capbench_sys::host::CpuId;

use super::Halves;
use crate::receiver::Received;

impl Halves<'_> {
    pub(super) fn disturbance(&self) -> Disturbance {
        let cpus = &self.receive.cpus;
        let mut all = cpus.placement.all();
        all.extend(self.receive.received.members.iter().map(|member| CpuId::new(member.cpu)));
        all.sort_unstable();
        all.dedup();
        Disturbance {
            cpus: all.into_iter().filter_map(|cpu| self.of_cpu(cpu)).collect(),
            tick_ns: cpus.tick_ns,
            clocks: self.receive.clocks,
            sending_ns: self.sending_ns(),
            backlog_lasts_ns: self.backlog_lasts_ns(),
            start_spread_ns: start_spread_ns(&self.receive.received.streams),
            disturbers: self.disturbers(),
        }
    }

    /// The processes that used the CPUs of the receive side's host. Its generators in other processes belong to the trial.
    fn disturbers(&self) -> Option<Disturbers> {
        let mut disturbers = self.receive.cpus.disturbers.clone()?;
        for half in self.each {
            if self.on_its_host.contains(&half.stream)
                && let Some(generator) = &half.disturbers
            {
                disturbers = disturbers.without(generator.reader_pid);
            }
        }
        Some(disturbers)
    }

    /// The longest window of a generator's CPU.
    fn sending_ns(&self) -> u64 {
        self.transmit.cpus.iter().map(|cpu| cpu.window_ns).max().unwrap_or_default()
    }

    /// The disturbance of a CPU of the receive side's host; `None` if its times are unknown.
    fn of_cpu(&self, cpu: CpuId) -> Option<CpuDisturbance> {
        let (received, cpus) = (&self.receive.received, &self.receive.cpus);
        let placement = &cpus.placement;
        let generator = self.transmit.cpus.iter().find(|generator| generator.cpu == cpu);
        let generator = generator.filter(|_| placement.generators.contains(&cpu));
        // The generator's thread ends before the receiver has drained: its CPU is examined during sending only.
        let app_ns = received.cpu_ns_on(cpu, placement.application);
        let sends_only = generator.filter(|_| app_ns.is_none());
        let (times, window_ns) = match sends_only {
            Some(generator) => (generator.times?, generator.window_ns),
            None => (cpus.receiving.of(cpu)?, cpus.receiving_ns),
        };
        let of_threads = [
            (true, generator.map_or(0, |generator| generator.own_ns)),
            (true, app_ns.unwrap_or_default()),
            (placement.kernels == [cpu], cpus.kernel.as_ref().map_or(0, |kernel| kernel.napi_threads_ns)),
        ];
        let own_ns = of_threads.iter().filter(|(runs_here, _)| *runs_here).map(|(_, ns)| ns).sum();
        // If the application also runs there, the CPU's remaining time belongs to neither.
        let traced = cpus.kernel.as_ref().filter(|kernel| kernel.cpus == [cpu] && app_ns.is_some());
        let mut stalls = match sends_only {
            Some(generator) => generator.stalls.clone(),
            None => of(cpu, &cpus.stalls),
        };
        // The receive side learns later that sending is over.
        let sending_ns = self.sending_ns();
        stalls.iter_mut().for_each(|stalls| stalls.retain(|stall| stall.until_ns <= sending_ns));
        Some(CpuDisturbance {
            cpu: cpu.number(),
            window_ns,
            unaccounted_ns: unaccounted_ns(&times, window_ns),
            steal_ns: if sends_only.is_some() { times.steal_ns } else { cpus.sending.of(cpu)?.steal_ns },
            foreign_ns: foreign_ns(&times, window_ns, own_ns, wakeups(received), traced),
            stalls,
            core_speed: of(cpu, &cpus.paces),
        })
    }

    /// How long the backlog can buffer the offered load. Maximum load has no plan and always overflows it.
    fn backlog_lasts_ns(&self) -> Option<u64> {
        self.transmit.lateness.filter(|_| !self.receive.past_backlog)?;
        let frames = self.receive.longest_backlog? as f64;
        let offered = self.transmit.frames.sent as f64 / self.transmit.elapsed.as_secs_f64();
        (offered > 0.0).then(|| (frames / offered * 1e9) as u64)
    }
}

/// What is known of a CPU.
fn of<T: Clone>(cpu: CpuId, known: &[(CpuId, T)]) -> Option<T> {
    known.iter().find(|(of, _)| *of == cpu).map(|(_, fact)| fact.clone())
}

/// Number of times that the application slept and was woken; `None` if unknown.
pub(super) fn wakeups(received: &Received) -> Option<u64> {
    received.switches?.voluntary_switches
}

/// The part of a window that a CPU's times do not cover: they are sampled while it is busy, and come in ticks.
fn unaccounted_ns(times: &CpuTimes, window_ns: u64) -> u64 {
    window_ns.saturating_sub(times.total_ns())
}
