//! Findings of guards, in sentences with their trials.
use std::collections::BTreeMap;

use crate::results::Finding;
use capbench_model::disturbance::Standstill;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;

use crate::sentences::{numbers, rate};

/// Adds the findings of guards.
pub(super) fn find(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    invalid(trials, findings);
    livelock(trials, findings);
    set_aside(trials, findings);
    standstills(trials, findings);
}

/// Inconclusive trials, and why.
fn invalid(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    for trial in trials {
        let Some(reason) = &trial.invalid_because else { continue };
        findings.push(Finding {
            scene: None,
            text: format!("Trial {} ({}) shows nothing: {reason}.", trial.number, trial.profile.method),
            trials: vec![trial.number],
        });
    }
}

/// Set-ups that deliver less at higher load: the worst trial against the best.
fn livelock(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut worst: BTreeMap<u32, &TrialResult> = BTreeMap::new();
    for trial in trials {
        let Some(mark) = &trial.livelock else { continue };
        let known = worst.entry(mark.against).or_insert(trial);
        if trial.delivered_pps < known.delivered_pps {
            *known = trial;
        }
    }
    for trial in worst.into_values() {
        let Some(best) = trial.livelock else { continue };
        findings.push(Finding {
            scene: None,
            text: format!(
                "Livelock: {} delivered {} of {} (trial {}), and more of less: {} of {} (trial {}; {}-byte frames, \
                 placement {}, work {}).",
                trial.profile.method,
                rate(trial.delivered_pps),
                rate(trial.offered_pps),
                trial.number,
                rate(best.delivered_pps),
                rate(best.offered_pps),
                best.against,
                trial.profile.frame_size,
                trial.profile.placement,
                trial.profile.work
            ),
            trials: vec![best.against, trial.number],
        });
    }
}

/// Discarded attempts, by reason.
fn set_aside(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<&str, Vec<&TrialResult>> = BTreeMap::new();
    for attempt in
        trials.iter().filter_map(|trial| trial.guarding.as_ref()).flat_map(|guard| &guard.set_aside)
    {
        for reason in &attempt.because {
            reasons.entry(reason).or_default().push(&attempt.trial);
        }
    }
    for (reason, attempts) in reasons {
        let list: Vec<_> =
            attempts.iter().map(|trial| format!("{} ({})", trial.number, trial.profile.method)).collect();
        let number = if attempts.len() == 1 { "Attempt" } else { "Attempts" };
        findings.push(Finding {
            scene: None,
            text: format!("{number} {} set aside and repeated: {reason}.", list.join(", ")),
            trials: numbers(&attempts),
        });
    }
}

/// Stalled CPUs, and frames of the longest loss bursts that were sent meanwhile.
fn standstills(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut cpus: BTreeMap<u32, Vec<(&TrialResult, &[Standstill])>> = BTreeMap::new();
    for trial in trials {
        for cpu in &trial.disturbance.cpus {
            if let Some(stalls) = cpu.stalls.as_deref().filter(|stalls| !stalls.is_empty()) {
                cpus.entry(cpu.cpu).or_default().push((trial, stalls));
            }
        }
    }
    for (cpu, affected) in cpus {
        let all = || affected.iter().flat_map(|(_, stalls)| *stalls);
        let longest_ms = |of: fn(&Standstill) -> u64| all().map(of).max().unwrap_or(0) as f64 / 1e6;
        let times = match all().count() {
            1 => "once".into(),
            times => format!("{times} times"),
        };
        let plural = if affected.len() == 1 { "" } else { "s" };
        let mut text = format!(
            "CPU {cpu} stood still {times} in {} trial{plural}, for up to {:.1} ms (at least {:.1} ms, by its timer tick): the \
             hypervisor ran something else, or interrupts were off.",
            affected.len(),
            longest_ms(|stall| stall.at_most_ns),
            longest_ms(|stall| stall.at_least_ns)
        );
        let overflowed = affected.iter().filter(|(trial, _)| is_lost_in_backlog(trial));
        let (lost, then) = overflowed.fold((0, 0), |(lost, then), (trial, stalls)| {
            (lost + trial.lost(), then + lost_meanwhile(trial, stalls))
        });
        if then > 0 {
            text += &format!(
                " Of {lost} frames lost in them, most in the softirq backlog, at least {then} were sent in those moments."
            );
        }
        findings.push(Finding {
            scene: None,
            text,
            trials: affected.iter().map(|(trial, _)| trial.number).collect(),
        });
    }
}

/// Whether the softirq backlog lost most of the trial's losses.
fn is_lost_in_backlog(trial: &TrialResult) -> bool {
    let losses = trial.losses();
    let backlog =
        losses.iter().filter(|(place, _)| *place == Place::Backlog).map(|(_, count)| count).sum::<u64>();
    backlog > 0 && backlog * 2 >= trial.lost()
}

/// Frames of the trial's longest loss bursts that were sent while the CPU stalled.
fn lost_meanwhile(trial: &TrialResult, stalls: &[Standstill]) -> u64 {
    let bursts = trial.loss_shape.iter().flat_map(|shape| &shape.longest);
    let meanwhile =
        bursts.filter(|burst| stalls.iter().any(|stall| stall.overlaps(burst.from_ns, burst.to_ns)));
    meanwhile.map(|burst| burst.frames).sum()
}
