//! What follows from trials, in plain sentences with the trials that they rest on. A pure function of results.

mod costs;
mod visits;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figures::grouped;
use crate::trial::{Phase, ProgramReport, SizeLabel, TrialResult, Verdict};
use crate::{guards, loss_shape};

/// A sentence and its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// What it is about, where it concerns one frame size and placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    /// The sentence.
    pub text: String,
    /// Numbers of the trials that it rests on.
    pub trials: Vec<u32>,
}

/// Everything that the trials of a bench show.
pub fn find(trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (placement, size, group) in &scenes(trials) {
        let scene = format!("{size}-byte frames, placement {placement}");
        let first = findings.len();
        let standing = visits::representatives(group);
        best_effort(&standing, &mut findings);
        fixed_load(&standing, &mut findings);
        costs::common_load(&standing, &mut findings);
        visits::several(group, &mut findings);
        findings[first..].iter_mut().for_each(|finding| finding.scene = Some(scene.clone()));
    }
    dependence(trials, &mut findings);
    account(trials, &mut findings);
    loss_shape::findings::find(trials, &mut findings);
    crate::tracer::findings::find(trials, &mut findings);
    guards::findings::find(trials, &mut findings);
    trust(trials, &mut findings);
    reports(trials, &mut findings);
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

/// What a load that the user named shows of each method.
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

/// Where the load that was asked for was not reached, though nothing was lost.
fn limited_by_generator(limited: &[&TrialResult], findings: &mut Vec<Finding>) {
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

/// Which frames nobody but the method itself has seen.
fn trust(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut reasons: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.taken_on_trust {
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

/// A finding that is about no one frame size and placement, yet.
fn finding(text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: None, text, trials }
}

pub(crate) fn numbers(trials: &[&TrialResult]) -> Vec<u32> {
    trials.iter().map(|trial| trial.number).collect()
}

/// A share in percent, in as many digits as it takes to tell it from nothing.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share >= 10.0 => format!("{share:.0} %"),
        share if share >= 0.1 => format!("{share:.1} %"),
        share => format!("{share:.4} %"),
    }
}

/// A rate as people write it.
pub(crate) fn rate(pps: f64) -> String {
    if pps >= 1e6 {
        format!("{:.3} million packets/s", pps / 1e6)
    } else {
        format!("{} packets/s", grouped(pps))
    }
}

/// What programs say that they counted, beside what was found: agreement is evidence, too.
fn reports(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let mut methods: BTreeMap<&str, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.report.is_some()) {
        methods.entry(&trial.profile.method).or_default().push(trial);
    }
    for (method, group) in methods {
        let all: Vec<_> = group.iter().filter_map(|trial| trial.report).collect();
        // A sum that lacks a part would be none.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::find;
    use crate::trial::tests::{measured, profile};
    use crate::trial::{Load, Phase, ProgramReport, TrialResult};

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
        let expected = "recv delivered 280,000 packets/s of 1.000 million packets/s and lost 72 % in the ring or socket queue.";
        assert_eq!((found[0].text.as_str(), found[0].trials.as_slice()), (expected, &[1][..]));
        assert_eq!(found[0].scene.as_deref(), Some("64-byte frames, placement same"));
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
    fn what_programs_report_is_said_beside_what_was_found() {
        let with = |number, report| TrialResult { report: Some(report), ..trial(number, "cmd:x", 10, 9, 1) };
        let whole =
            ProgramReport { captured: Some(9), received: Some(10), dropped: Some(1), in_file: Some(9) };
        let said = |trials: &[TrialResult]| {
            let found = find(trials).into_iter().filter(|finding| finding.text.starts_with("cmd:x reports"));
            found.map(|finding| (finding.text, finding.trials)).collect::<Vec<_>>()
        };
        let text = "cmd:x reports 9 captured, 10 received, 1 dropped; its file has 9 frames of the trial; 10 were sent.";
        assert_eq!(said(&[with(1, whole)]), [(text.to_string(), vec![1])]);
        let other = ProgramReport { received: None, in_file: Some(11), ..whole };
        let text = "cmd:x reports 18 captured, 2 dropped; its files have 20 frames, 18 of them intact and of the 2 \
                    trials; 20 were sent.";
        assert_eq!(said(&[with(1, whole), with(2, other)]), [(text.to_string(), vec![1, 2])]);
        assert!(said(&[trial(1, "cmd:x", 10, 9, 1), with(2, ProgramReport::default())]).is_empty());
    }

    #[test]
    fn nothing_measured_nothing_found() {
        assert!(find(&[]).is_empty());
    }
}
