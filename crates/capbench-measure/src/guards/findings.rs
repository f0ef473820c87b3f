//! What guards have to say, in sentences with their trials.

use std::collections::BTreeMap;

use crate::findings::{Finding, numbers, rate};
use crate::trial::TrialResult;

/// Adds what guards found.
pub(crate) fn find(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    invalid(trials, findings);
    livelock(trials, findings);
    set_aside(trials, findings);
}

/// Trials that show nothing, and why.
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

/// Set-ups that deliver less of more: the worst trial against the best.
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

/// Attempts that do not stand, by reason.
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
