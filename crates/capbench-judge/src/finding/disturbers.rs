//! What used the CPUs of a run's trials besides the trials: processes by name, what cannot be seen, the hypervisor, and a CPU
//! quota. The largest is first.

mod free_cpus;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use capbench_model::disturbance::Disturbance;
use capbench_model::disturbers::{CpuUser, Disturbers, Hidden};
use capbench_model::thresholds::{SPOILING_FOREIGN_TICKS, SPOILING_FOREIGN_WORK, SPOILING_STEAL_TICKS};
use capbench_model::trial::TrialResult;
use serde::Serialize;

pub use self::free_cpus::FreeCpus;
use self::free_cpus::free_cpus;
use crate::thresholds::{
    DISTURBERS_BY_NUMBER, SMALL_PART_OF_DISTURBER, SMALLEST_DISTURBER, SMALLEST_PART_OF_RUN,
};

/// What used the CPUs of trials besides them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DisturbersOfRun {
    /// Each with its share, the largest time first.
    pub used: Vec<CpuUse>,
    /// Trials of the run whose hosts were read.
    pub all_trials: u32,
    /// CPUs for the tasks of a trial that nothing else used; absent if there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_cpus: Option<FreeCpus>,
}

/// What one disturber used.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CpuUse {
    /// What it is.
    pub by: Disturber,
    /// The generator on whose host it ran; absent on the receiver's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The CPUs of trials that it used.
    pub cpus: Vec<u32>,
    /// Its CPU time divided by the time from the first to the last trial in which it was seen, without the time between trials. 1 is
    /// a whole CPU.
    pub share: f64,
    /// Its CPU time in these trials.
    pub total_ns: u64,
    /// Trials in which it was seen.
    pub trials: u32,
}

/// Something that uses CPU time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Disturber {
    /// A process.
    Process {
        /// Its name (comm), which it chose.
        comm: String,
        /// Its number.
        pid: u32,
    },
    /// Several processes of one name, which are counted for each CPU.
    Processes {
        /// Their name.
        comm: String,
        /// How many, on all CPUs.
        processes: u32,
    },
    /// A thread of the kernel.
    KernelThread {
        /// Its name.
        comm: String,
    },
    /// No process that capbench saw. It started and ended within a trial, or it is hidden.
    Unnamed {
        /// Why processes may be hidden; empty if all can be seen.
        hidden: Vec<Hidden>,
    },
    /// The hypervisor, which ran something else.
    Hypervisor,
    /// The CPU quota of a control group, which stopped capbench.
    Quota,
}

/// What used the CPUs of trials, and the numbers of these trials.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDisturbers {
    /// What used them.
    pub fact: DisturbersOfRun,
    /// The trials.
    pub trials: BTreeSet<u32>,
}

/// What used CPUs of one trial.
#[derive(Clone)]
struct UseInTrial<'r> {
    trial: u32,
    window_ns: u64,
    location: Option<&'r str>,
    by: Disturber,
    /// `None`: of no certain CPU.
    cpu: Option<u32>,
    ns: u64,
}

/// The largest first; `None` if nothing used more than a trial tolerates, but for moments of the run, and for files of versions that did not
/// read processes.
pub fn find(trials: &[TrialResult]) -> Option<FoundDisturbers> {
    let used_by_unlisted = used_by_unlisted(trials);
    let mut uses = Vec::new();
    let mut read = Vec::new();
    for trial in trials {
        let Some(disturbers) = &trial.disturbance.disturbers else { continue };
        read.push(trial);
        add_uses_at_receiver(&mut uses, trial, disturbers, &used_by_unlisted);
        for generator in &trial.generators {
            if let Some(disturbers) = &generator.disturbers {
                add_processes(&mut uses, trial.number, Some(&generator.location), disturbers);
            }
        }
    }
    by_name_if_many(&mut uses);
    let run_ns: u64 = read.iter().map(|trial| window_of(trial)).sum();
    let mut seen_in = BTreeSet::new();
    let mut used = Vec::new();
    for uses_of_one in by_disturber(uses).into_values() {
        let summed = summed(&uses_of_one, &read);
        let is_of_run = summed.total_ns as f64 >= SMALLEST_PART_OF_RUN * run_ns as f64;
        if summed.share >= SMALLEST_DISTURBER && is_of_run {
            seen_in.extend(uses_of_one.iter().map(|one| one.trial));
            used.push(summed);
        }
    }
    if !used.iter().any(|one: &CpuUse| one.share >= SPOILING_FOREIGN_WORK) {
        return None;
    }
    used.sort_by_key(|one| std::cmp::Reverse(one.total_ns));
    let free_cpus = free_cpus(&read, &used);
    let all_trials = read.len() as u32;
    Some(FoundDisturbers { fact: DisturbersOfRun { used, all_trials, free_cpus }, trials: seen_in })
}

/// The CPUs that others than the listed processes used, by all trials together. Short trials hide in the error of ticks what is a large
/// share of their time; the error of a sum grows with the root of their number only.
fn used_by_unlisted(trials: &[TrialResult]) -> BTreeSet<u32> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for trial in trials {
        let Some(disturbers) = &trial.disturbance.disturbers else { continue };
        let error_ns = (SPOILING_FOREIGN_TICKS * trial.disturbance.tick_ns) as f64;
        for cpu in &trial.disturbance.cpus {
            let (unlisted_ns, squared_error) = sums.entry(cpu.cpu).or_default();
            *unlisted_ns += cpu.foreign_ns as f64 - disturbers.listed_share(cpu.cpu) * cpu.window_ns as f64;
            *squared_error += error_ns.powi(2);
        }
    }
    sums.retain(|_, (unlisted_ns, squared_error)| *unlisted_ns >= squared_error.sqrt());
    sums.into_keys().collect()
}

/// What used the CPUs of the receiver's host.
fn add_uses_at_receiver(
    uses: &mut Vec<UseInTrial<'_>>,
    trial: &TrialResult,
    disturbers: &Disturbers,
    used_by_unlisted: &BTreeSet<u32>,
) {
    let (trial, disturbance) = (trial.number, &trial.disturbance);
    add_processes(uses, trial, None, disturbers);
    let hypervisor = UseInTrial {
        trial,
        window_ns: disturbers.window_ns,
        location: None,
        by: Disturber::Hypervisor,
        cpu: None,
        ns: 0,
    };
    for (cpu, share) in unnamed_shares(disturbance, disturbers, used_by_unlisted) {
        let by = Disturber::Unnamed { hidden: disturbers.hidden.clone() };
        let ns = (share * disturbers.window_ns as f64) as u64;
        uses.push(UseInTrial { by, cpu: Some(cpu), ns, ..hypervisor.clone() });
    }
    for cpu in &disturbance.cpus {
        if cpu.steal_ns > 0 && cpu.steal_ns >= SPOILING_STEAL_TICKS * disturbance.tick_ns {
            // How long the generator of others sent may be unknown. Ticks can be longer than a short trial.
            let counted_ns =
                if disturbance.sending_ns == 0 { disturbers.window_ns } else { disturbance.sending_ns };
            let share = (cpu.steal_ns as f64 / counted_ns.max(1) as f64).min(1.0);
            let ns = (share * disturbers.window_ns as f64) as u64;
            uses.push(UseInTrial { cpu: Some(cpu.cpu), ns, ..hypervisor.clone() });
        }
    }
    if let Some(throttled) = disturbers.throttled.filter(|throttled| throttled.periods > 0) {
        uses.push(UseInTrial { by: Disturber::Quota, ns: throttled.stopped_ns, ..hypervisor });
    }
}

fn add_processes<'r>(
    uses: &mut Vec<UseInTrial<'r>>,
    trial: u32,
    location: Option<&'r str>,
    disturbers: &Disturbers,
) {
    for process in &disturbers.processes {
        uses.push(UseInTrial {
            trial,
            window_ns: disturbers.window_ns,
            location,
            by: named(process),
            cpu: Some(process.cpu),
            ns: process.run_ns,
        });
    }
}

fn named(process: &CpuUser) -> Disturber {
    let comm = process.comm.clone();
    if process.is_kernel_thread {
        return Disturber::KernelThread { comm };
    }
    Disturber::Process { comm, pid: process.pid }
}

/// The shares of CPUs that others than the listed processes used. A listed process can have moved between the CPUs, so all of them
/// together bound that of each.
fn unnamed_shares(
    disturbance: &Disturbance,
    disturbers: &Disturbers,
    used_by_unlisted: &BTreeSet<u32>,
) -> Vec<(u32, f64)> {
    let mut together = 0.0;
    let mut shares = Vec::new();
    for cpu in &disturbance.cpus {
        // Else the error of ticks can be all of it.
        let is_shown = used_by_unlisted.contains(&cpu.cpu)
            || cpu.foreign_ns >= SPOILING_FOREIGN_TICKS * disturbance.tick_ns;
        let foreign = if is_shown { cpu.foreign_ns as f64 / cpu.window_ns.max(1) as f64 } else { 0.0 };
        let unnamed = foreign - disturbers.listed_share(cpu.cpu);
        together += unnamed;
        if unnamed >= SPOILING_FOREIGN_WORK {
            shares.push((cpu.cpu, unnamed));
        }
    }
    for (_, share) in &mut shares {
        *share = share.min(together);
    }
    shares.retain(|(_, share)| *share >= SPOILING_FOREIGN_WORK);
    shares
}

/// Makes one disturber of many processes of one name, such as those of a compiler.
fn by_name_if_many(uses: &mut [UseInTrial<'_>]) {
    let mut pids_of_name: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for one in uses.iter() {
        if let Disturber::Process { comm, pid } = &one.by {
            pids_of_name.entry(comm.clone()).or_default().insert(*pid);
        }
    }
    for one in uses {
        let Disturber::Process { comm, .. } = &one.by else { continue };
        let processes = pids_of_name[comm].len();
        if processes > DISTURBERS_BY_NUMBER {
            one.by = Disturber::Processes { comm: comm.clone(), processes: processes as u32 };
        }
    }
}

/// What distinguishes disturbers. A process or a thread of the kernel is one, on all CPUs on which it ran; others are one on each.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'r> {
    by: Disturber,
    location: Option<&'r str>,
    cpu: Option<u32>,
}

fn by_disturber(uses: Vec<UseInTrial<'_>>) -> BTreeMap<Key<'_>, Vec<UseInTrial<'_>>> {
    let mut all: BTreeMap<Key<'_>, Vec<UseInTrial<'_>>> = BTreeMap::new();
    for one in uses {
        let may_move = matches!(one.by, Disturber::Process { .. } | Disturber::KernelThread { .. });
        let cpu = one.cpu.filter(|_| !may_move);
        let key = Key { by: one.by.clone(), location: one.location, cpu };
        all.entry(key).or_default().push(one);
    }
    all
}

/// The sum of one disturber's uses: at least one.
fn summed(uses: &[UseInTrial<'_>], read: &[&TrialResult]) -> CpuUse {
    let total_ns: u64 = uses.iter().map(|one| one.ns).sum();
    let trials: BTreeSet<u32> = uses.iter().map(|one| one.trial).collect();
    let (first, last) = (trials.first().copied(), trials.last().copied());
    let mut span_ns = 0;
    for trial in read {
        let number = Some(trial.number);
        if first <= number && number <= last {
            span_ns += window_ns(uses, trial.number).unwrap_or(window_of(trial));
        }
    }
    CpuUse {
        by: uses[0].by.clone(),
        location: uses[0].location.map(String::from),
        cpus: main_cpus(uses, total_ns),
        share: total_ns as f64 / span_ns.max(1) as f64,
        total_ns,
        trials: trials.len() as u32,
    }
}

/// The time between the readings of a trial's processes; 0 if they were not read.
fn window_of(trial: &TrialResult) -> u64 {
    trial.disturbance.disturbers.as_ref().map_or(0, |disturbers| disturbers.window_ns)
}

/// The window of the readings that found it in a trial; `None` if none did.
fn window_ns(uses: &[UseInTrial<'_>], trial: u32) -> Option<u64> {
    uses.iter().find(|one| one.trial == trial).map(|one| one.window_ns)
}

/// The CPUs that a disturber used for more than a small part of its time.
fn main_cpus(uses: &[UseInTrial<'_>], total_ns: u64) -> Vec<u32> {
    let mut ns_of_cpu: BTreeMap<u32, u64> = BTreeMap::new();
    for one in uses {
        if let Some(cpu) = one.cpu {
            *ns_of_cpu.entry(cpu).or_default() += one.ns;
        }
    }
    ns_of_cpu.retain(|_, ns| *ns as f64 >= SMALL_PART_OF_DISTURBER * total_ns as f64);
    ns_of_cpu.into_keys().collect()
}
