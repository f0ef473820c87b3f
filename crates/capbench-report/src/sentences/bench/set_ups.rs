//! Findings of each set-up: which methods lose nothing, what the others lose and where, and which is cheapest.
use crate::results::Finding;
use capbench_model::trial::{Phase, TrialResult, Verdict};

use super::{costs, visits};
use crate::groups::grouped;
use crate::sentences::{finding, numbers, percent, rate};

/// Findings of each frame size and placement.
pub(crate) fn of_set_ups(trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let scene = |trial: &&TrialResult| (trial.profile.placement.clone(), trial.profile.frame_size.clone());
    for ((placement, size), group) in &grouped(trials, scene) {
        let scene = format!("{size}-byte frames, placement {placement}");
        let first = findings.len();
        let standing = visits::representatives(group);
        best_effort(&standing, &mut findings);
        fixed_load(&standing, &mut findings);
        costs::common_load(&standing, &mut findings);
        visits::several(group, &mut findings);
        findings[first..].iter_mut().for_each(|finding| finding.scene = Some(scene.clone()));
    }
    findings
}

/// Which methods are lossless at which rate, and what limited the others.
fn best_effort(group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let trials = || group.iter().filter(|trial| trial.phase == Phase::BestEffort);
    let clean: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::Lossless).copied().collect();
    if !clean.is_empty() {
        let list: Vec<_> = clean
            .iter()
            .map(|trial| format!("{} at {}", trial.profile.method, rate(trial.offered_pps)))
            .collect();
        findings.push(Finding {
            scene: None,
            text: format!(
                "lossless at maximum load: {}. {}",
                list.join(", "),
                if clean.iter().all(|trial| trial.profile.load_independent) {
                    "The generator was the limit, so each can hold at least that."
                } else {
                    "The receiver slowed the generator there, so this is no limit of a method."
                }
            ),
            trials: numbers(&clean),
        });
    }
    lossy(trials().copied(), findings);
}

/// Findings about each method at a load that the user named.
fn fixed_load(group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let trials = || group.iter().filter(|trial| trial.phase == Phase::FixedLoad).copied();
    let clean: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::Lossless).collect();
    if let Some(first) = clean.first() {
        let list: Vec<_> = clean.iter().map(|trial| trial.profile.method.as_str()).collect();
        findings.push(Finding {
            scene: None,
            text: format!("lossless at {}: {}.", rate(first.offered_pps), list.join(", ")),
            trials: numbers(&clean),
        });
    }
    let limited: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::GeneratorLimited).collect();
    limited_by_generator(&limited, findings);
    lossy(trials(), findings);
}

/// Trials without loss in which the requested load was not reached.
pub(super) fn limited_by_generator(limited: &[&TrialResult], findings: &mut Vec<Finding>) {
    if limited.is_empty() {
        return;
    }
    let list: Vec<_> = limited
        .iter()
        .map(|trial| format!("{} ({})", trial.profile.method, rate(trial.offered_pps)))
        .collect();
    findings.push(finding(
        format!(
            "the generator did not reach the load asked for with {}: nothing that was sent was lost, and nothing is \
             shown about that load.",
            list.join(", ")
        ),
        numbers(limited),
    ));
}

/// Which methods lost frames, and where.
fn lossy<'t>(trials: impl Iterator<Item = &'t TrialResult>, findings: &mut Vec<Finding>) {
    let lossy: Vec<_> = trials.filter(|trial| trial.verdict == Verdict::Lossy).collect();
    if lossy.is_empty() {
        return;
    }
    let list: Vec<_> = lossy
        .iter()
        .map(|trial| {
            let share = |count: u64| percent(count as f64 / trial.sent as f64);
            let mut places: Vec<_> = trial
                .losses()
                .iter()
                .map(|(place, count)| format!("{} {}", share(*count), place.words()))
                .collect();
            if trial.unexplained > 0 {
                places.push(format!("{} where nothing here counts", share(trial.unexplained as u64)));
            }
            format!(
                "{} delivered {} of {} and lost {}",
                trial.profile.method,
                rate(trial.delivered_pps),
                rate(trial.offered_pps),
                places.join(", ")
            )
        })
        .collect();
    findings.push(finding(format!("{}.", list.join("; ")), numbers(&lossy)));
}

pub(super) fn methods(trials: &[&TrialResult]) -> String {
    let names: Vec<_> = trials.iter().map(|trial| trial.profile.method.as_str()).collect();
    names.join(", ")
}
