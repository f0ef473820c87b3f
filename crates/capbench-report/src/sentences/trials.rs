//! Findings of trials of any run: whether every packet is accounted for, guards, the tracer, noise.

mod generators;
pub(super) mod loss;
mod members;

use std::collections::BTreeMap;

use crate::groups::grouped;
use crate::naming::{self, rate};
use capbench_judge::finding::loss_pattern;
use capbench_model::disturbance::Stall;
use capbench_model::figures::count;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{ProgramReport, TrialResult};
use capbench_results::Finding;

use super::{finding, many, numbers, odd_frames, said};

/// Findings, the most important first. Those on settings of the host come after what makes figures doubtful.
pub(super) fn find(trials: &[TrialResult], settings: Vec<Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = invalid(trials).collect();
    findings.extend(unverified_senders(trials));
    findings.extend(account(trials));
    findings.extend(generators::find(trials));
    findings.extend(members::find(trials));
    findings.extend(livelock(trials));
    findings.extend(dependence(trials));
    findings.extend(settings);
    findings.extend(odd(trials));
    findings.extend(reports(trials));
    findings.extend(unverified(trials));
    findings.extend(stalls(trials));
    findings.extend(loss_pattern::find(trials).into_iter().map(said));
    findings.extend(retried(trials));
    findings.extend(tracer(trials));
    findings.extend(noise(trials));
    findings
}

/// How findings begin whose sum is in the line on noise. The short text of a run leaves them out.
const IN_DETAIL: [&str; 5] =
    ["Attempt ", "Attempts ", "Further reasons of noise ", "Noisy: ", "The tracer itself took "];

/// Whether a finding only gives details of the line on noise.
pub(crate) fn is_detail(text: &str) -> bool {
    IN_DETAIL.iter().any(|beginning| text.starts_with(beginning))
}

/// How a finding about one trial begins.
fn of_trial(number: u32, method: &SavedMethod) -> String {
    format!("Trial {number} ({method})")
}

fn about(trial: &TrialResult, text: &str) -> Finding {
    finding(format!("Trial {} ({}){text}", trial.number, trial.profile.method), [trial.number])
}

/// Trials by a key, such as a reason.
fn by<K: Ord, T>(pairs: impl IntoIterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for (key, trial) in pairs {
        groups.entry(key).or_default().push(trial);
    }
    groups
}

/// The methods of these trials, each once.
fn methods(trials: &[&TrialResult]) -> String {
    let by_method = grouped(trials, |trial| &trial.profile.method);
    by_method.into_iter().map(|(method, _)| method.to_string()).collect::<Vec<_>>().join(", ")
}

/// Trials whose offered load depended on the receiver, and why.
fn dependence(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let reasons = trials.iter().filter_map(|trial| {
        let reason = trial.profile.load_depends_because.as_ref()?;
        Some(((&trial.profile.placement, reason), trial))
    });
    by(reasons).into_iter().map(|((placement, reason), trials)| {
        let text = format!("Placement {placement}: the offered load depends on the receiver ({reason}), so rates there are no limits of a method.");
        finding(text, numbers(&trials))
    })
}

/// Whether every packet is accounted for.
fn account(trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !trials.is_empty() && trials.iter().all(|trial| trial.unexplained == 0) {
        let sum = |of: fn(&TrialResult) -> u64| count(trials.iter().map(of).sum());
        let (sent, all) = (sum(|trial| trial.sent), many(trials.len() as u64, "trial", "trials"));
        let buffered = sum(|trial| trial.buffered_frames(1));
        let lost = match (naming::losses(trials).as_slice(), buffered.as_str()) {
            ([], "0") => "none was lost".into(),
            ([], _) => format!(
                "none was lost yet: {buffered} waited in buffers when sending ended, as many as longer trials lose"
            ),
            ([(place, 1)], _) => format!("1 was lost {}", place.words()),
            ([(place, frames)], _) => format!("{} were lost {}", count(*frames), place.words()),
            ([(place, frames), rest @ ..], _) => {
                let elsewhere: u64 = rest.iter().map(|(_, frames)| frames).sum();
                format!(
                    "{} were lost: {} {}; {} at other known places",
                    count(frames + elsewhere),
                    count(*frames),
                    place.words(),
                    count(elsewhere)
                )
            }
        };
        let is_unverified = trials.iter().any(|trial| unverified_counts(trial).next().is_some());
        let what = if is_unverified { "Every packet that generators reported is" } else { "Every packet is" };
        findings.push(finding(
            format!("{what} accounted for: of {sent} sent in {all}, {lost}."),
            trials.iter().map(|trial| trial.number),
        ));
    }
    let open = trials.iter().filter(|trial| trial.unexplained != 0);
    findings.extend(open.map(|trial| {
        about(trial, &format!(": {} packets are not explained by any counter.", trial.unexplained))
    }));
    findings
}

/// Frames that are no delivered ones of the trial, or out of order.
fn odd(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let is_odd = |trial: &&TrialResult| {
        trial.foreign + trial.duplicates + trial.corrupt + trial.truncated + trial.reordered > 0
    };
    trials.iter().filter(is_odd).map(|trial| {
        let TrialResult { foreign, duplicates, reordered, truncated, corrupt, .. } = trial;
        let odd = [foreign, duplicates, reordered, truncated, corrupt].map(|frames| *frames);
        about(trial, &format!(": {}", odd_frames(odd)))
    })
}

fn tracer(trials: &[TrialResult]) -> Option<Finding> {
    let traced = || trials.iter().filter_map(|trial| Some((trial, trial.cpu.tracer_ns_per_packet?)));
    let most = traced().map(|(_, cost)| cost).max_by(f64::total_cmp)?;
    // The programs run on the CPU of the kernel's receive work while frames are sent.
    let share =
        |trial: &TrialResult| trial.cpu.tracer_ns.unwrap_or(0) as f64 / (trial.sending_s * 1e9).max(1.0);
    let largest = traced().map(|(trial, _)| share(trial)).fold(0.0, f64::max) * 100.0;
    Some(finding(
        format!(
            "The tracer itself took up to {most:.0} ns per packet, and up to {largest:.1} % of the time of the CPU that \
             does the kernel's receive work."
        ),
        traced().map(|(trial, _)| trial.number),
    ))
}

/// Invalid trials, by reason.
fn invalid(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let reasons = trials.iter().filter_map(|trial| Some((trial.invalid_because.as_ref()?, trial)));
    by(reasons).into_iter().map(|(reason, own)| {
        let are = if own.len() == 1 { "is" } else { "are" };
        let (all, who) = (many(trials.len() as u64, "trial", "trials"), methods(&own));
        finding(format!("{} of {all} {are} invalid ({who}): {reason}.", own.len()), numbers(&own))
    })
}

/// Set-ups that deliver less at higher load: the worst trial against the best.
fn livelock(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let marked = trials.iter().filter_map(|trial| Some((trial.livelock?.against, (trial, trial.livelock?))));
    by(marked).into_values().filter_map(|marked| {
        let worst = marked.into_iter().reduce(|worst, one| {
            if one.0.delivered_pps < worst.0.delivered_pps { one } else { worst }
        });
        let (trial, best) = worst?;
        let text = format!(
            "Livelock: {} delivered {} of {} (trial {}), but {} of only {} (trial {}; {}-byte frames, placement {}, work {}).",
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
        );
        Some(finding(text, [best.against, trial.number]))
    })
}

fn retried(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let guards = trials.iter().filter_map(|trial| trial.guarding.as_ref());
    let attempts = guards.flat_map(|guard| &guard.discarded);
    let reasons =
        attempts.flat_map(|attempt| attempt.because.iter().map(move |reason| (reason, &attempt.trial)));
    by(reasons).into_iter().map(|(reason, attempts)| {
        let list: Vec<_> =
            attempts.iter().map(|trial| format!("{} ({})", trial.number, trial.profile.method)).collect();
        let plural = if attempts.len() == 1 { "" } else { "s" };
        let text = format!("Attempt{plural} {} discarded and repeated: {reason}.", list.join(", "));
        finding(text, numbers(&attempts))
    })
}

/// Stalled CPUs, and frames of the longest loss bursts that were sent meanwhile.
fn stalls(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let stalled = trials.iter().flat_map(|trial| {
        let cpus = trial.disturbance.cpus.iter();
        cpus.filter_map(move |cpu| {
            Some((cpu.cpu, (trial, cpu.stalls.as_deref().filter(|stalls| !stalls.is_empty())?)))
        })
    });
    by(stalled).into_iter().map(|(cpu, affected)| {
        let all = || affected.iter().flat_map(|(_, stalls)| *stalls);
        let longest_ms = |of: fn(&Stall) -> u64| all().map(of).max().unwrap_or(0) as f64 / 1e6;
        let times = match all().count() {
            1 => "once".into(),
            times => format!("{times} times"),
        };
        let plural = if affected.len() == 1 { "" } else { "s" };
        let mut text = format!(
            "CPU {cpu} stalled {times} in {} trial{plural}, for up to {:.1} ms (at least {:.1} ms, by its timer tick): the \
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
        finding(text, affected.iter().map(|(trial, _)| trial.number))
    })
}

/// Whether the softirq backlog lost most of the trial's losses.
fn is_lost_in_backlog(trial: &TrialResult) -> bool {
    let losses = trial.losses().into_iter();
    let backlog: u64 = losses.filter(|(place, _)| *place == Place::Backlog).map(|(_, count)| count).sum();
    backlog > 0 && backlog * 2 >= trial.lost()
}

/// Frames of the trial's longest loss bursts that were sent while the CPU stalled.
fn lost_meanwhile(trial: &TrialResult, stalls: &[Stall]) -> u64 {
    let bursts = trial.loss_pattern.iter().flat_map(|shape| &shape.longest);
    let meanwhile =
        bursts.filter(|burst| stalls.iter().any(|stall| stall.overlaps(burst.from_ns, burst.to_ns)));
    meanwhile.map(|burst| burst.frames).sum()
}

/// Why counts of sent frames are unverified.
fn unverified_counts(trial: &TrialResult) -> impl Iterator<Item = &String> {
    trial.generators.iter().filter_map(|generator| generator.unverified_because.as_ref())
}

/// Counts of sent frames that only the generator has.
fn unverified_senders(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let of = |trial| unverified_counts(trial).map(move |reason| (reason, trial));
    by(trials.iter().flat_map(of)).into_iter().map(|(reason, trials)| {
        let what = "The number of sent frames, and so each loss, is unverified";
        finding(format!("{what}: {reason}."), numbers(&trials))
    })
}

/// Frames that only the method itself has seen.
fn unverified(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let reasons = trials
        .iter()
        .filter_map(|trial| Some(((&trial.profile.method, trial.unverified_because.as_ref()?), trial)));
    by(reasons).into_iter().map(|((method, reason), trials)| {
        finding(format!("The counts of {method} are unverified: {reason}."), numbers(&trials))
    })
}

fn noise(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let reasons = trials.iter().flat_map(|trial| trial.noise.iter().map(move |reason| (reason, trial)));
    by(reasons).into_iter().map(|(reason, noisy)| {
        let who = match noisy.len() as u64 {
            all if all == trials.len() as u64 => "all trials".into(),
            some => format!("{} of {}", many(some, "trial", "trials"), methods(&noisy)),
        };
        finding(format!("Noisy: {who}: {reason}."), numbers(&noisy))
    })
}

/// The counts that programs report, compared with the measured ones. Agreement is evidence, too.
fn reports(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let reporting = trials.iter().filter(|trial| trial.report.is_some());
    by(reporting.map(|trial| (&trial.profile.method, trial))).into_iter().filter_map(|(method, group)| {
        // A sum without one part would be wrong.
        let sum = |of: fn(&ProgramReport) -> Option<u64>| -> Option<u64> {
            group.iter().filter_map(|trial| trial.report.as_ref()).map(of).sum()
        };
        let counts = [
            ("captured", sum(|report| report.captured)),
            ("received", sum(|report| report.received)),
            ("dropped", sum(|report| report.dropped)),
        ];
        let said: Vec<_> =
            counts.iter().filter_map(|(name, count)| count.map(|count| format!("{count} {name}"))).collect();
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
        let text = format!("{method} reports {}{found}; {sent} were sent.", said.join(", "));
        (!said.is_empty()).then(|| finding(text, numbers(&group)))
    })
}
