//! What follows from trials, in plain sentences with the trials that they rest on. A pure function of results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trial::{Phase, SizeLabel, TrialResult, Verdict};

/// A sentence and its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// Numbers of the trials that it rests on.
    pub trials: Vec<u32>,
}

/// Differences below this share between the costs of two methods are not called a difference: the clock that kernel
/// time is read from is coarser.
const NOTABLE: f64 = 0.05;

/// Everything that the trials of a bench show.
pub fn find(trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (placement, size, group) in &scenes(trials) {
        let scene = format!("{size}-byte frames, placement {placement}");
        best_effort(&scene, group, &mut findings);
        fixed_load(&scene, group, &mut findings);
        common_load(&scene, group, &mut findings);
    }
    dependence(trials, &mut findings);
    account(trials, &mut findings);
    trust(trials, &mut findings);
    noise(trials, &mut findings);
    findings
}

/// Trials of one placement and frame size, in the order in which they ran.
fn scenes(trials: &[TrialResult]) -> Vec<(&str, &SizeLabel, Vec<&TrialResult>)> {
    let mut scenes: Vec<(&str, &SizeLabel, Vec<&TrialResult>)> = Vec::new();
    for trial in trials {
        let (placement, size) = (trial.profile.placement.as_str(), &trial.profile.frame_size);
        match scenes.iter_mut().find(|scene| (scene.0, scene.1) == (placement, size)) {
            Some(scene) => scene.2.push(trial),
            None => scenes.push((placement, size, vec![trial])),
        }
    }
    scenes
}

/// Who is lossless at what rate, and what limited the others.
fn best_effort(scene: &str, group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let trials = || group.iter().filter(|trial| trial.phase == Phase::BestEffort);
    let clean: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::Lossless).copied().collect();
    if !clean.is_empty() {
        let list: Vec<_> = clean
            .iter()
            .map(|trial| format!("{} at {}", trial.profile.method, rate(trial.offered_pps)))
            .collect();
        findings.push(Finding {
            text: format!(
                "{scene}: lossless at maximum load: {}. {}",
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
    let invalid: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::Invalid).copied().collect();
    if !invalid.is_empty() {
        findings.push(Finding {
            text: format!(
                "{scene}: the account of {} contradicts itself; it shows nothing.",
                methods(&invalid)
            ),
            trials: numbers(&invalid),
        });
    }
    lossy(scene, trials().copied(), findings);
}

/// What a load that the user named shows of each method.
fn fixed_load(scene: &str, group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let trials = || group.iter().filter(|trial| trial.phase == Phase::FixedLoad).copied();
    let clean: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::Lossless).collect();
    if let Some(first) = clean.first() {
        let list: Vec<_> = clean.iter().map(|trial| trial.profile.method.as_str()).collect();
        findings.push(Finding {
            text: format!("{scene}: lossless at {}: {}.", rate(first.offered_pps), list.join(", ")),
            trials: numbers(&clean),
        });
    }
    let limited: Vec<_> = trials().filter(|trial| trial.verdict == Verdict::GeneratorLimited).collect();
    if let Some(first) = limited.first() {
        findings.push(Finding {
            text: format!(
                "{scene}: the generator reached {} only; nothing sent was lost, and nothing is shown about the load \
                 asked for.",
                rate(first.offered_pps)
            ),
            trials: numbers(&limited),
        });
    }
    lossy(scene, trials(), findings);
}

/// Which methods lost frames, and where.
fn lossy<'t>(scene: &str, trials: impl Iterator<Item = &'t TrialResult>, findings: &mut Vec<Finding>) {
    for trial in trials.filter(|trial| trial.verdict == Verdict::Lossy) {
        let losses = trial.losses();
        let places: Vec<_> = losses
            .iter()
            .map(|(place, count)| format!("{} {}", percent(*count as f64 / trial.sent as f64), place.words()))
            .collect();
        let places = if places.is_empty() { "nowhere that is known".to_string() } else { places.join(", ") };
        findings.push(Finding {
            text: format!(
                "{scene}: {} delivered {} of {} offered; it lost {places}.",
                trial.profile.method,
                rate(trial.delivered_pps),
                rate(trial.offered_pps)
            ),
            trials: vec![trial.number],
        });
    }
}

/// Who is cheapest at equal work.
fn common_load(scene: &str, group: &[&TrialResult], findings: &mut Vec<Finding>) {
    let all: Vec<_> = group.iter().filter(|trial| trial.phase == Phase::CommonLoad).copied().collect();
    let Some(pps) = all.iter().filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp) else { return };
    let last: Vec<_> = all.into_iter().filter(|trial| trial.intended_pps == Some(pps)).collect();
    let missed: Vec<_> = last.iter().filter(|trial| !trial.held_load()).copied().collect();
    if !missed.is_empty() {
        findings.push(Finding {
            text: format!("{scene}: at {} not held by {}.", rate(pps), methods(&missed)),
            trials: numbers(&missed),
        });
    }
    let mut costs: Vec<_> = last
        .iter()
        .filter(|trial| trial.held_load())
        .filter_map(|trial| trial.cpu.total_ns_per_packet.map(|cost| (cost, *trial)))
        .collect();
    costs.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let compared: Vec<_> = costs.iter().map(|(_, trial)| *trial).collect();
    let (Some((least, cheapest)), Some((most, dearest))) = (costs.first(), costs.last()) else { return };
    if costs.len() < 2 {
        return;
    }
    let doubt = cheapest.cpu_uncertainty_ns() + dearest.cpu_uncertainty_ns();
    let who =
        if compared.len() == last.len() && missed.is_empty() { "all".into() } else { methods(&compared) };
    let text = if most - least < (most * NOTABLE).max(doubt) {
        format!("{scene}: at {}, held by {who}, no method is notably cheaper than another.", rate(pps))
    } else {
        format!(
            "{scene}: at {}, held by {who}, {} costs least per packet ({}) and {} most ({}).",
            rate(pps),
            cheapest.profile.method,
            cost(cheapest),
            dearest.profile.method,
            cost(dearest)
        )
    };
    findings.push(Finding { text, trials: numbers(&compared) });
}

/// The CPU time per packet of a trial in words, with what its clocks leave open.
fn cost(trial: &TrialResult) -> String {
    let total = trial.cpu.total_ns_per_packet.unwrap_or_default();
    let own = trial.cpu.app_ns_per_packet.unwrap_or_default();
    let doubt = trial.cpu_uncertainty_ns();
    let total = if doubt >= 1.0 { format!("{total:.0} ± {doubt:.0}") } else { format!("{total:.0}") };
    match trial.cpu.app_ns_per_packet_at_most.filter(|_| trial.cpu.split_is_sampled) {
        Some(most) => format!("{total} ns of CPU time, {own:.0} to {most:.0} of them in the application"),
        None => format!("{total} ns of CPU time, {own:.0} of them in the application"),
    }
}

fn methods(trials: &[&TrialResult]) -> String {
    let names: Vec<_> = trials.iter().map(|trial| trial.profile.method.as_str()).collect();
    names.join(", ")
}

/// Where the offered load depended on the receiver, and why.
fn dependence(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.profile.load_depends_because {
            reasons.entry((&trial.profile.placement, reason)).or_default().push(trial.number);
        }
    }
    for ((placement, reason), trials) in reasons {
        findings.push(Finding {
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
        findings.push(Finding {
            text: format!(
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

/// Which frames nobody but the method itself has seen.
fn trust(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.taken_on_trust {
            reasons.entry((&trial.profile.method, reason)).or_default().push(trial.number);
        }
    }
    for ((method, reason), trials) in reasons {
        findings.push(Finding { text: format!("Taken on trust from {method}: {reason}."), trials });
    }
}

fn noise(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let noisy: Vec<_> = trials.iter().filter(|trial| !trial.noise.is_empty()).collect();
    let mut reasons: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for trial in &noisy {
        for reason in &trial.noise {
            reasons.entry(reason).or_default().push(trial.number);
        }
    }
    for (reason, trials) in reasons {
        let list: Vec<_> = trials.iter().map(u32::to_string).collect();
        findings
            .push(Finding { text: format!("Take trial {} with care: {reason}.", list.join(", ")), trials });
    }
}

fn numbers(trials: &[&TrialResult]) -> Vec<u32> {
    trials.iter().map(|trial| trial.number).collect()
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share >= 10.0 => format!("{share:.0} %"),
        share if share >= 0.1 => format!("{share:.1} %"),
        share => format!("{share:.4} %"),
    }
}

/// A rate as people write it.
fn rate(pps: f64) -> String {
    if pps >= 1e6 { format!("{:.3} million packets/s", pps / 1e6) } else { format!("{pps:.0} packets/s") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::find;
    use crate::trial::tests::{measured, profile};
    use crate::trial::{Load, Phase, TrialResult};

    fn trial(number: u32, method: &str, sent: u64, delivered: u64, drops: u64) -> TrialResult {
        measured(sent, sent, delivered, drops).result(
            number,
            Phase::BestEffort,
            &profile(method),
            Load::Maximum,
            Duration::from_secs(1),
        )
    }

    #[test]
    fn loss_is_named_with_its_place_and_its_trial() {
        let found = find(&[trial(1, "recv", 1_000_000, 280_000, 720_000)]);
        let expected = "64-byte frames, placement same: recv delivered 280000 packets/s of 1.000 million packets/s \
                        offered; it lost 72 % in the ring or socket queue.";
        assert_eq!((found[0].text.as_str(), found[0].trials.as_slice()), (expected, &[1][..]));
        assert!(found[1].text.starts_with("Every packet is accounted for"));
    }

    #[test]
    fn an_unexplained_packet_is_never_called_accounted_for() {
        let texts: Vec<_> =
            find(&[trial(1, "recv", 1000, 990, 9)]).into_iter().map(|finding| finding.text).collect();
        assert!(
            texts.iter().any(|text| text == "Trial 1 (recv): 1 packets are not explained by any counter.")
        );
        assert!(!texts.iter().any(|text| text.contains("accounted for")));
    }

    #[test]
    fn nothing_measured_nothing_found() {
        assert!(find(&[]).is_empty());
    }
}
