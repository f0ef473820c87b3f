//! Findings of trials of any run: whether every packet is accounted for, the loss pattern, guards, noise.

mod guards;
mod loss;
mod tracer;
use std::collections::BTreeMap;

use crate::results::Finding;
use capbench_model::trial::{ProgramReport, TrialResult};

use super::{bench, finding, numbers};

/// All findings of trials.
pub(super) fn find(trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings = bench::of_set_ups(trials);
    dependence(trials, &mut findings);
    account(trials, &mut findings);
    loss::find(trials, &mut findings);
    tracer::find(trials, &mut findings);
    guards::find(trials, &mut findings);
    trust(trials, &mut findings);
    reports(trials, &mut findings);
    noise(trials, &mut findings);
    findings
}

/// Trials whose offered load depended on the receiver, and why.
fn dependence(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.profile.load_depends_because {
            reasons.entry((&trial.profile.placement, reason)).or_default().push(trial.number);
        }
    }
    for ((placement, reason), trials) in reasons {
        findings.push(Finding {
            scene: None,
            text: format!("Placement {placement}: loss figures are not those of a wire: {reason}."),
            trials,
        });
    }
}

/// Whether every packet is accounted for.
fn account(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    if trials.is_empty() {
        return;
    }
    let open: Vec<_> = trials.iter().filter(|trial| trial.unexplained != 0).collect();
    if open.is_empty() {
        let sent: u64 = trials.iter().map(|trial| trial.sent).sum();
        findings.push(Finding {
            scene: None,
            text: format!(
                "Every packet is accounted for: of {sent} sent in {} trial{}, unexplained is 0 in each.",
                trials.len(),
                if trials.len() == 1 { "" } else { "s" }
            ),
            trials: trials.iter().map(|trial| trial.number).collect(),
        });
    }
    for trial in open {
        findings.push(Finding {
            scene: None,
            text: format!(
                "Trial {} ({}): {} packets are not explained by any counter.",
                trial.number, trial.profile.method, trial.unexplained
            ),
            trials: vec![trial.number],
        });
    }
    let odd: Vec<_> = trials
        .iter()
        .filter(|t| t.foreign + t.duplicates + t.corrupt + t.truncated + t.reordered > 0)
        .collect();
    for trial in odd {
        findings.push(Finding { scene: None, text: format!(
                "Trial {} ({}): {} foreign, {} duplicate, {} reordered, {} cut short and {} damaged frames arrived.",
                trial.number,
                trial.profile.method,
                trial.foreign,
                trial.duplicates,
                trial.reordered,
                trial.truncated,
                trial.corrupt
            ),
            trials: vec![trial.number],
        });
    }
}

/// Frames that only the method itself has seen.
fn trust(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.unverified_because {
            reasons.entry((&trial.profile.method, reason)).or_default().push(trial.number);
        }
    }
    for ((method, reason), trials) in reasons {
        findings.push(Finding {
            scene: None,
            text: format!("Taken on trust from {method}: {reason}."),
            trials,
        });
    }
}

fn noise(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<&str, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials {
        for reason in &trial.noise {
            reasons.entry(reason).or_default().push(trial);
        }
    }
    for (reason, noisy) in reasons {
        let who = if noisy.len() == trials.len() {
            "all trials".into()
        } else {
            let mut names: Vec<&str> = Vec::new();
            for trial in &noisy {
                if !names.contains(&trial.profile.method.as_str()) {
                    names.push(&trial.profile.method);
                }
            }
            let trials = if noisy.len() == 1 { "1 trial".into() } else { format!("{} trials", noisy.len()) };
            format!("{trials} of {}", names.join(", "))
        };
        findings.push(finding(format!("Take {who} with care: {reason}."), numbers(&noisy)));
    }
}

/// The counts that programs report, compared with the measured ones. Agreement is evidence, too.
fn reports(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut methods: BTreeMap<&str, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.report.is_some()) {
        methods.entry(&trial.profile.method).or_default().push(trial);
    }
    for (method, group) in methods {
        let all: Vec<_> = group.iter().filter_map(|trial| trial.report).collect();
        // A sum without one part would be wrong.
        let sum = |of: fn(&ProgramReport) -> Option<u64>| all.iter().map(of).sum::<Option<u64>>();
        let counts = [
            ("captured", sum(|report| report.captured)),
            ("received", sum(|report| report.received)),
            ("dropped", sum(|report| report.dropped)),
        ];
        let said: Vec<_> =
            counts.iter().filter_map(|(name, count)| count.map(|count| format!("{count} {name}"))).collect();
        if said.is_empty() {
            continue;
        }
        let (trial, file) = match group.len() {
            1 => ("trial".to_string(), "file has"),
            several => (format!("{several} trials"), "files have"),
        };
        let of_trials: u64 = group.iter().map(|trial| trial.delivered).sum();
        let found = sum(|report| report.in_file).map_or(String::new(), |frames| match frames == of_trials {
            true => format!("; its {file} {frames} frames of the {trial}"),
            false => format!("; its {file} {frames} frames, {of_trials} of them intact and of the {trial}"),
        });
        let sent: u64 = group.iter().map(|trial| trial.sent).sum();
        findings.push(Finding {
            scene: None,
            text: format!("{method} reports {}{found}; {sent} were sent.", said.join(", ")),
            trials: numbers(&group),
        });
    }
}
