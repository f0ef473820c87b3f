//! Rules about caveats: how many trials noise may have changed, and which processes used their CPUs.

use super::trials_of;
use crate::imports::{Caveat, CpuUse, Disturber, Finding, NoiseCause, Results};

pub fn in_caveat(caveat: &Caveat, finding: &Finding, results: &Results) -> Vec<String> {
    match caveat {
        Caveat::NoisyTrials { cause, noisy_trials, with_cause, all_trials, .. } => {
            against_noise(cause, [*noisy_trials, *with_cause, *all_trials], finding, results)
        }
        Caveat::Disturbers(found) => {
            found.used.iter().filter_map(|used| against_process(used, results)).collect()
        }
        _ => Vec::new(),
    }
}

/// Each named trial has a reason, and as many as it says have the cause that it names.
fn against_noise(cause: &NoiseCause, said: [u32; 3], finding: &Finding, results: &Results) -> Vec<String> {
    let named = trials_of(results, &finding.trials);
    let mut with_cause = 0;
    let mut without_reason = 0;
    for trial in &named {
        let reasons = &trial.noise.reasons;
        with_cause += u32::from(reasons.iter().any(|reason| NoiseCause::from(reason) == *cause));
        without_reason += u32::from(reasons.is_empty());
    }
    let counted = [named.len() as u32, with_cause, results.trials.len() as u32];
    let mut wrong = Vec::new();
    if said != counted {
        wrong.push(format!("noisy, with the cause, and all are {counted:?}, not {said:?}"));
    }
    if without_reason > 0 {
        wrong.push(format!("{without_reason} of the named trials have no reason"));
    }
    wrong
}

/// The time of a process is that in the trials that list it.
fn against_process(used: &CpuUse, results: &Results) -> Option<String> {
    let Disturber::Process { pid, .. } = used.by else { return None };
    let (mut total_ns, mut trials) = (0, 0);
    for trial in &results.trials {
        let listed = match &used.location {
            None => trial.disturbance.disturbers.as_ref(),
            Some(location) => {
                let generator = trial.generators.iter().find(|generator| generator.location == *location);
                generator.and_then(|generator| generator.disturbers.as_ref())
            }
        };
        let Some(listed) = listed else { continue };
        let of_process = listed.processes.iter().filter(|process| process.pid == pid);
        let ns: u64 = of_process.map(|process| process.run_ns).sum();
        total_ns += ns;
        trials += u32::from(ns > 0);
    }
    let is_so = (total_ns, trials) == (used.total_ns, used.trials);
    (!is_so).then(|| format!("process {pid} used {total_ns} ns in {trials} trials"))
}
