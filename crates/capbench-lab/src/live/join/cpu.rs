//! The CPU account of a trial.

use capbench_host::accounts::kernel_work::{
    ApplicationTime, Exactness, KernelReceive, application_time, foreign_ns,
};
use capbench_model::noise::Noise;
use capbench_model::thresholds::{FOREIGN_WORK_IN_ACCOUNT, TICKS_IN_TOTAL};
use capbench_model::trial::{CpuAccount, KernelClock, KernelTimeSource};

use super::Halves;
use super::disturbance::wakeups;
use crate::receiver::Received;

impl Halves<'_> {
    pub(super) fn cpu(&self, noise: &mut Vec<Noise>) -> CpuAccount {
        let (received, cpus) = (&self.receive.received, &self.receive.cpus);
        let kernel = cpus.kernel.as_ref();
        if kernel.and_then(|kernel| kernel.unseen_runs()).is_some() {
            noise.push(Noise::MissedByTracer);
        }
        let (kernels, application) = (&cpus.placement.kernels, cpus.placement.application);
        // All of the application and all of the receive work on one CPU: what keeps it busy is both.
        let is_shared = matches!(kernels[..], [kernel] if received.is_only_on(kernel, application));
        let is_interrupted = kernels.iter().any(|cpu| received.cpu_ns_on(*cpu, application).is_some());
        let own =
            application_time(received.cpu_ns, kernel.filter(|_| is_interrupted), cpus.interrupts_excluded);
        let is_sampled =
            |kernel: &KernelReceive| kernel.traced.is_none() && cpus.interrupts_excluded != Some(true);
        let is_in_step = self.is_in_step && kernel.is_some_and(is_sampled);
        // Of a shared CPU's time, only that of verified frames is then certain to be the application's.
        let unknown = |time: ApplicationTime| ApplicationTime { own_ns: 0, ..time };
        let own = if is_in_step && is_interrupted { own.map(unknown) } else { own };
        let known = kernel.filter(|_| !is_in_step);
        if own.is_none() {
            noise.push(Noise::KernelWorkInApplicationTime);
        }
        // The generator's CPU is always busy: if it also does the kernel's work, only the kind of work distinguishes the two.
        let is_busy_with_both = is_shared && !cpus.placement.generators.contains(&application);
        let is_foreign = is_busy_with_both && self.is_foreign(cpus.kernel_busy_ns.unwrap_or_default());
        let is_with_generator = kernels.iter().any(|cpu| cpus.placement.generators.contains(cpu));
        let is_exact = own.is_some_and(|time| match time.exact {
            Exactness::Exact => true,
            Exactness::ExactIfAlone => !is_foreign && !is_with_generator,
            Exactness::Sampled => false,
        });
        let resolution_ns = kernel.map_or(0, |kernel| kernel.resolution_ns);
        // The busy time of a short trial is a few ticks; the sum of exact parts is nearer the truth, though it lacks what no clock counts.
        let is_fine = |busy_ns: u64| 2.0 * resolution_ns as f64 <= TICKS_IN_TOTAL * busy_ns as f64;
        let is_by_parts = is_exact && (is_foreign || !cpus.kernel_busy_ns.is_some_and(is_fine));
        let total_ns = if is_busy_with_both && !is_foreign && !is_by_parts {
            cpus.kernel_busy_ns
        } else if is_foreign && !is_exact {
            noise.push(Noise::ForeignLoadOnSharedCpu);
            None
        } else {
            // Interrupts are charged to the threads that they interrupt: the application's, unless a generator runs there.
            let of_application = own.filter(|_| is_exact || !is_with_generator);
            let interrupted_ns = of_application.map_or(0, |time| time.interrupted_ns);
            known.map(|kernel| received.cpu_ns + kernel.total_ns().saturating_sub(interrupted_ns))
        };
        let certain_ns = certain_ns(received);
        let own_ns = own.map_or(received.cpu_ns, |time| time.own_ns.max(certain_ns.min(time.charged_ns)));
        // A method that counts in the kernel does no work per packet: its thread reads a map from time to time.
        let per_packet = !(received.unverified_because.is_some() && received.verify_ns > 0.0);
        CpuAccount {
            app_ns: per_packet.then_some(own_ns),
            app_charged_ns: per_packet.then_some(received.cpu_ns),
            total_ns,
            // Softirqs also interrupt other work: the application was not charged for that part.
            split_is_sampled: !is_exact,
            kernel_ns: known.map(KernelReceive::total_ns),
            kernel_source_fact: match is_in_step {
                true => Some(KernelTimeSource { clock: KernelClock::TicksInStep, napi_threads: false }),
                false => kernel.map(|kernel| kernel.source(cpus.interrupts_excluded)),
            },
            // The certain part of both together on a shared CPU comes in ticks, traced or not.
            kernel_resolution_ns: kernel.map(|kernel| match is_shared && !is_by_parts {
                true => kernel.resolution_ns,
                false => kernel.total_resolution_ns(),
            }),
            softirqs_timed: cpus.softirqs_timed,
            tracer_ns: self.tracer_ns(),
            busy_cores: cpus.sending.busy_cores(),
            verify_ns_per_packet: received.verify_ns,
            wait_ns_per_iteration: received.iteration_ns,
            voluntary_switches: received.switches.and_then(|times| times.voluntary_switches),
            involuntary_switches: received.switches.and_then(|times| times.involuntary_switches),
            waits: received.waits.waits,
            empty_waits: received.waits.empty,
            batches: received.batches,
            steal_ratio: self.steal_ratio(),
            ..CpuAccount::default()
        }
    }

    /// Time of the tracer's own programs.
    fn tracer_ns(&self) -> Option<u64> {
        let softirqs = self.receive.cpus.kernel.as_ref()?.traced?.runs;
        let drops = self.traced.as_ref().map_or(0, |traced| traced.drops);
        Some(self.receive.tracer_cost?.of(drops, softirqs))
    }

    /// The largest share of stolen time among the trial's CPUs while frames were sent.
    fn steal_ratio(&self) -> Option<f64> {
        let cpus = &self.receive.cpus;
        let of_receiver = [&cpus.placement.kernels[..], &[cpus.placement.application]].concat();
        let of_receiver = cpus.sending.largest_steal_share(&of_receiver);
        let of_generators =
            self.each.iter().flat_map(|half| &half.cpus).filter_map(|cpu| cpu.times?.steal_share());
        of_receiver.into_iter().chain(of_generators).reduce(f64::max)
    }

    /// Whether foreign work kept the application's CPU busy, on which the kernel also receives.
    fn is_foreign(&self, busy_ns: u64) -> bool {
        let (received, cpus) = (&self.receive.received, &self.receive.cpus);
        let times = cpus.receiving.of(cpus.placement.application);
        let (Some(times), Some(kernel)) = (times, &cpus.kernel) else { return false };
        let own_ns = received.cpu_ns + kernel.napi_threads_ns + 2 * kernel.resolution_ns;
        foreign_ns(&times, cpus.receiving_ns, own_ns, wakeups(received), Some(kernel)) as f64
            > busy_ns as f64 * FOREIGN_WORK_IN_ACCOUNT
    }
}

/// The application's least time, by no sample of the timer tick: every frame was verified unless a queue refused it, and a method
/// that reads by system calls made at least one for each batch.
fn certain_ns(received: &Received) -> u64 {
    let unverified = received.queue.map_or(0, |queue| queue.refused + queue.left);
    let verified = received.arrivals.read.saturating_sub(unverified);
    let verifying_ns = verified as f64 * received.verify_ns;
    let calling_ns = received.batches as f64 * received.call_ns.unwrap_or(0.0);
    (verifying_ns + calling_ns) as u64
}
