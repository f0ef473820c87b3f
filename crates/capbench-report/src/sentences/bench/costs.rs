//! CPU cost per packet at a load that all methods had.
use crate::results::Finding;
use capbench_model::trial::{Phase, TrialResult, Verdict};

use super::set_ups::{limited_by_generator, methods};
use crate::sentences::{finding, numbers, rate};

/// Costs that differ by less than this share are called equal: the clock of kernel time is coarser.
const NOTABLE: f64 = 0.05;

/// The cheapest method at equal work.
pub(super) fn common_load(group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let all: Vec<_> = group.iter().filter(|trial| trial.phase == Phase::CommonLoad).copied().collect();
    let Some(pps) = all.iter().filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp) else { return };
    let last: Vec<_> = all.into_iter().filter(|trial| trial.intended_pps == Some(pps)).collect();
    let missed: Vec<_> = last.iter().filter(|trial| !trial.held_load()).copied().collect();
    let lost: Vec<_> = missed.iter().filter(|trial| trial.verdict == Verdict::Lossy).copied().collect();
    if !lost.is_empty() {
        findings.push(finding(
            format!("at {} frames were lost by {}.", rate(pps), methods(&lost)),
            numbers(&lost),
        ));
    }
    let limited: Vec<_> =
        missed.iter().filter(|trial| trial.verdict == Verdict::GeneratorLimited).copied().collect();
    limited_by_generator(&limited, findings);
    let absent: Vec<_> = group
        .iter()
        .filter(|trial| trial.phase == Phase::BestEffort)
        .filter(|trial| !last.iter().any(|other| other.profile.method == trial.profile.method))
        .copied()
        .collect();
    if !absent.is_empty() {
        findings.push(finding(
            format!("too slow for a load at which costs can be compared: {}.", methods(&absent)),
            numbers(&absent),
        ));
    }
    let mut costs: Vec<_> = last
        .iter()
        .filter(|trial| trial.held_load())
        .filter_map(|trial| trial.cpu.total_ns_per_packet.map(|cost| (cost, *trial)))
        .collect();
    costs.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let compared: Vec<_> = costs.iter().map(|(_, trial)| *trial).collect();
    let Some(((least, cheapest), others)) = costs.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return;
    };
    let is_dearer = |(cost, trial): &&(f64, &TrialResult)| {
        let doubt = cheapest.cpu_uncertainty_ns() + trial.cpu_uncertainty_ns();
        cost - least >= (cost * NOTABLE).max(doubt)
    };
    let dearest = others.iter().rfind(is_dearer);
    let alike: Vec<_> = others.iter().filter(|other| !is_dearer(other)).map(|(_, trial)| *trial).collect();
    let who =
        if compared.len() == last.len() && missed.is_empty() { "all".into() } else { methods(&compared) };
    let text = match dearest {
        None => format!("at {}, held by {who}, no method is notably cheaper than another.", rate(pps)),
        Some((most, dearest)) => {
            let alike = match alike.len() {
                0 => String::new(),
                _ => format!(", from which the clocks cannot tell {},", methods(&alike)),
            };
            format!(
                "at {}, held by {who}, {} costs least per packet ({}){alike} and {} most ({}).",
                rate(pps),
                cheapest.profile.method,
                cost(*least, cheapest),
                dearest.profile.method,
                cost(*most, dearest)
            )
        }
    };
    findings.push(finding(text, numbers(&compared)));
}

/// The CPU time per packet of a trial in words, with the uncertainty of its clocks. The application's share is omitted if
/// unknown, as for methods that count in the kernel.
fn cost(total: f64, trial: &TrialResult) -> String {
    let doubt = trial.cpu_uncertainty_ns();
    let total = if doubt >= 1.0 { format!("{total:.0} ± {doubt:.0}") } else { format!("{total:.0}") };
    let Some(own) = trial.cpu.app_ns_per_packet else { return format!("{total} ns of CPU time") };
    let own = match trial.cpu.app_ns_per_packet_at_most.filter(|_| trial.cpu.split_is_sampled) {
        Some(most) if most.round() > own.round() => format!("{own:.0} to {most:.0}"),
        _ => format!("{own:.0}"),
    };
    format!("{total} ns of CPU time, {own} of them in the application")
}
