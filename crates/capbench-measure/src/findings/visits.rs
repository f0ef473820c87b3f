//! Set-ups that were visited more than once: one trial of each stands for them.

use super::{Finding, finding, numbers};
use crate::trial::{Phase, TrialResult, Verdict};

/// A trial for each method and load: of loss the one that lost most, since a method that captures everything does it every
/// time; of costs the middle one.
pub(super) fn representatives<'t>(group: &[&'t TrialResult]) -> Vec<&'t TrialResult> {
    let mut visited: Vec<Vec<&TrialResult>> = Vec::new();
    for trial in group {
        let is_same = |visits: &&mut Vec<&TrialResult>| key(visits[0]) == key(trial);
        match visited.iter_mut().find(is_same) {
            Some(visits) => visits.push(trial),
            None => visited.push(vec![trial]),
        }
    }
    visited.iter().filter_map(|visits| representative(visits)).collect()
}

/// What tells visits of a set-up from those of another one. Loads of sweeps and searches are looked at elsewhere.
fn key(trial: &TrialResult) -> (&str, Phase, Option<u64>, Option<u32>) {
    let is_visited = matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad);
    let own = (!is_visited).then_some(trial.number);
    (&trial.profile.method, trial.phase, trial.intended_pps.map(f64::to_bits), own)
}

fn representative<'t>(visits: &[&'t TrialResult]) -> Option<&'t TrialResult> {
    let shows = |trial: &&&TrialResult| trial.verdict != Verdict::Invalid;
    let valid: Vec<&TrialResult> = visits.iter().filter(shows).copied().collect();
    let Some(first) = valid.first() else { return visits.first().copied() };
    let has_lost = valid.iter().any(|trial| !trial.held_load());
    if first.phase != Phase::CommonLoad || has_lost {
        let by_loss =
            |a: &&&TrialResult, b: &&&TrialResult| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio());
        return valid.iter().max_by(by_loss).copied();
    }
    let mut by_cost = valid;
    by_cost.sort_by(|a, b| {
        let cost = |trial: &TrialResult| trial.cpu.total_ns_per_packet.unwrap_or(0.0);
        cost(a).total_cmp(&cost(b))
    });
    by_cost.get(by_cost.len() / 2).copied()
}

/// That there were several visits, said once.
pub(super) fn several(group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let of = |trial: &TrialResult| group.iter().filter(|other| key(other) == key(trial)).count();
    let most = group.iter().map(|trial| of(trial)).max().unwrap_or(0);
    if most < 2 {
        return;
    }
    let again: Vec<&TrialResult> = group.iter().filter(|trial| of(trial) > 1).copied().collect();
    findings.push(finding(
        format!(
            "every method was visited up to {most} times: of loss the visit that lost most is named, of costs the middle one."
        ),
        numbers(&again),
    ));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trial::Load;
    use crate::trial::tests::{measured, profile};

    fn trial(number: u32, method: &str, lost: u64) -> TrialResult {
        let duration = Duration::from_secs(1);
        let measured = measured(1000, 1000, 1000 - lost, lost);
        measured.result(number, Phase::BestEffort, &profile(method), Load::Maximum, duration)
    }

    #[test]
    fn the_visit_that_lost_most_stands_for_a_method() {
        let trials =
            [trial(1, "recv", 3), trial(2, "packet-v3", 0), trial(3, "recv", 9), trial(4, "recv", 5)];
        let group: Vec<_> = trials.iter().collect();
        let stand: Vec<_> = representatives(&group).iter().map(|trial| trial.number).collect();
        assert_eq!(stand, [3, 2]);
        let mut findings = Vec::new();
        several(&group, &mut findings);
        assert_eq!(findings[0].trials, [1, 3, 4]);
        assert!(findings[0].text.starts_with("every method was visited up to 3 times"), "{findings:?}");
    }

    #[test]
    fn one_visit_stands_for_itself() {
        let trials = [trial(1, "recv", 3), trial(2, "packet-v3", 0)];
        let group: Vec<_> = trials.iter().collect();
        assert_eq!(representatives(&group), group);
        let mut findings = Vec::new();
        several(&group, &mut findings);
        assert!(findings.is_empty());
    }
}
