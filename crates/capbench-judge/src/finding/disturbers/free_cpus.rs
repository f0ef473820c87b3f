//! CPUs for the tasks of a trial that nothing else used.

use std::collections::BTreeSet;

use capbench_model::disturbers::Disturbers;
use capbench_model::trial::{Cpus, TrialResult};
use serde::Serialize;

use super::{CpuUse, Disturber};

/// A CPU for each task. The tasks that shared a CPU share one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FreeCpus {
    /// For the generator.
    pub generator: u32,
    /// For the kernel's receive work.
    pub kernel: u32,
    /// For the application.
    pub application: u32,
}

/// The CPUs of the first disturbed trial, with idle CPUs instead of those that others used. `None` if there are too few, and for
/// trials of more tasks or hosts than three flags can place.
pub(super) fn free_cpus(trials: &[&TrialResult], used: &[CpuUse]) -> Option<FreeCpus> {
    let mut disturbed = BTreeSet::new();
    for one in used {
        let can_be_avoided = !matches!(one.by, Disturber::Hypervisor | Disturber::Quota);
        if can_be_avoided && one.location.is_none() {
            disturbed.extend(&one.cpus);
        }
    }
    let mut idle = idle_in_all(trials)?.into_iter();
    let placed = trials.iter().find(|trial| is_disturbed(&trial.profile.cpus, &disturbed))?;
    if !placed.generators.is_empty() || !placed.members.is_empty() {
        return None;
    }
    let Cpus { generator, kernel: Some(kernel), application } = placed.profile.cpus else { return None };
    let mut free = FreeCpus { generator, kernel, application };
    for cpu in [generator, kernel, application] {
        if !disturbed.contains(&cpu) {
            continue;
        }
        disturbed.remove(&cpu);
        let instead = idle.next()?;
        for (task, before) in [
            (&mut free.generator, generator),
            (&mut free.kernel, kernel),
            (&mut free.application, application),
        ] {
            if before == cpu {
                *task = instead;
            }
        }
    }
    Some(free)
}

fn is_disturbed(cpus: &Cpus, disturbed: &BTreeSet<u32>) -> bool {
    let Cpus { generator, kernel, application } = cpus;
    let kernel = kernel.as_ref().unwrap_or(application);
    [generator, kernel, application].into_iter().any(|cpu| disturbed.contains(cpu))
}

/// The CPUs that were idle in all trials; `None` without a trial.
fn idle_in_all(trials: &[&TrialResult]) -> Option<BTreeSet<u32>> {
    let mut idle_in_all: Option<BTreeSet<u32>> = None;
    for trial in trials {
        let disturbers: &Disturbers = trial.disturbance.disturbers.as_ref()?;
        let idle: BTreeSet<u32> = disturbers.idle_cpus.iter().copied().collect();
        idle_in_all = Some(match idle_in_all {
            Some(before) => &before & &idle,
            None => idle,
        });
    }
    idle_in_all
}
