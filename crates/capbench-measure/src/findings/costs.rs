//! What packets cost at a load that all methods were given.

use super::{Finding, finding, limited_by_generator, methods, numbers, rate};
use crate::trial::{Phase, TrialResult, Verdict};

/// Differences below this share between the costs of two methods are not called a difference: the clock that kernel
/// time is read from is coarser.
const NOTABLE: f64 = 0.05;

/// Who is cheapest at equal work.
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

/// The CPU time per packet of a trial in words, with what its clocks leave open. Where nothing is known of an
/// application's share, as of methods that count in the kernel, nothing is said of it.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_traffic::rates::Pps;

    use super::*;
    use crate::trial::tests::{measured, profile};
    use crate::trial::{CpuAccount, Load, Measured};

    /// 1000 frames of a method that cost so many nanoseconds each, by clocks of this resolution.
    fn trial(method: &str, total_ns: u64, resolution_ns: u64, app_ns: Option<[u64; 2]>) -> TrialResult {
        let cpu = CpuAccount {
            total_ns: Some(total_ns * 1000),
            app_ns: app_ns.map(|[least, _]| least * 1000),
            app_charged_ns: app_ns.map(|[_, most]| most * 1000),
            split_is_sampled: true,
            kernel_resolution_ns: Some(resolution_ns * 1000),
            ..CpuAccount::default()
        };
        Measured { cpu, ..measured(1000, 1000, 1000, 0) }.result(
            1,
            Phase::CommonLoad,
            &profile(method),
            Load::Rate(Pps::new(1000.0).unwrap()),
            Duration::from_secs(1),
        )
    }

    fn said(trials: &[TrialResult]) -> Vec<String> {
        let mut findings = Vec::new();
        common_load(&trials.iter().collect::<Vec<_>>(), &mut findings);
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn an_unknown_share_of_the_application_is_not_called_none() {
        let counting = trial("xdp-count", 100, 0, None);
        let reading = trial("recv", 2000, 0, Some([600, 700]));
        assert_eq!(
            said(&[reading, counting]),
            [
                "at 1,000 packets/s, held by all, xdp-count costs least per packet (100 ns of CPU time) and recv most \
              (2000 ns of CPU time, 600 to 700 of them in the application)."
            ]
        );
    }

    #[test]
    fn a_range_of_one_number_is_a_number() {
        let found = said(&[
            trial("recv", 20_000, 0, Some([14_874, 14_874])),
            trial("packet-v3", 700, 0, Some([60, 60])),
        ]);
        assert!(found[0].contains("20000 ns of CPU time, 14874 of them"), "{found:?}");
    }

    #[test]
    fn those_that_cannot_be_told_from_the_cheapest_are_named() {
        let trials = [
            trial("libpcap", 140, 800, Some([60, 60])),
            trial("packet-v3", 900, 800, Some([60, 60])),
            trial("packet-v2", 1900, 800, Some([60, 60])),
            trial("recv", 9000, 800, Some([500, 500])),
        ];
        assert_eq!(
            said(&trials),
            [
                "at 1,000 packets/s, held by all, libpcap costs least per packet (140 ± 1600 ns of CPU time, 60 of them in \
              the application), from which the clocks cannot tell packet-v3, packet-v2, and recv most (9000 ± 1600 ns \
              of CPU time, 500 of them in the application)."
            ]
        );
        let alike = "at 1,000 packets/s, held by all, no method is notably cheaper than another.";
        assert_eq!(said(&trials[..2]), [alike]);
    }

    #[test]
    fn a_doubtful_cost_is_not_the_dearest() {
        let trials = [
            trial("a", 100, 0, Some([60, 60])),
            trial("b", 900, 0, Some([60, 60])),
            trial("c", 1000, 5000, Some([60, 60])),
        ];
        let found = said(&trials);
        assert!(found[0].contains("cannot tell c, and b most (900 ns"), "{found:?}");
    }
}
