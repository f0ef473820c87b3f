//! Set-ups with several visits: one trial of each represents them.
use crate::results::Finding;
use capbench_model::trial::{Phase, TrialResult, Verdict};

use crate::groups::grouped;
use crate::sentences::{finding, numbers};

/// One trial per method and load. For loss the one that lost most, because a lossless method loses nothing every time; for cost
/// the median one.
pub(super) fn representatives<'t>(group: &[&'t TrialResult]) -> Vec<&'t TrialResult> {
    let visited = grouped(group.iter().copied(), |trial| key(trial));
    visited.iter().filter_map(|(_, visits)| representative(visits)).collect()
}

/// The key of visits of one set-up. Loads of sweeps and searches are covered elsewhere.
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

/// One statement that there were several visits.
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
