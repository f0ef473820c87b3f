//! The words of `TrialFinding`, facts about trials of any run: whether every packet is accounted for, what programs report of
//! themselves, livelock, noise, and what was repeated.
//!
//! | file | words |
//! |---|---|
//! | `generators` | trials of several generators |
//! | `members` | trials of several members |
//! | `loss` | the loss pattern of a trial, another fact |

mod generators;
pub(super) mod loss;
mod members;
#[cfg(test)]
mod tests;

use capbench_judge::finding::trials::{
    Account, Attempt, LivelockedTrial, LostMeanwhile, ReportSums, StalledCpu, TrialFinding,
};
use capbench_model::figures::count;
use capbench_model::ledger::LostAt;
use capbench_model::saved::SavedMethod;

use super::cpu_tasks::load_depends_words;
use super::{many, noise, odd_frames_words};
use crate::naming::rate;
use crate::sentences::places;

/// Up to this number of places of loss are named.
const NAMED_PLACES: usize = 3;

/// The text of a fact.
pub(super) fn words(fact: &TrialFinding) -> String {
    match fact {
        TrialFinding::Invalid { reason, invalid_trials, all_trials, methods } => {
            let are = if *invalid_trials == 1 { "is" } else { "are" };
            format!(
                "{invalid_trials} of {} {are} invalid ({}): {reason}.",
                number_of_trials(*all_trials),
                list_of_methods(methods)
            )
        }
        TrialFinding::SentUnverified { reason } => {
            format!("The number of sent frames, and so each loss, is unverified: {reason}.")
        }
        TrialFinding::AccountedFor(account) => accounted_for(account),
        TrialFinding::Unexplained { trial, method, packets } => {
            format!(
                "{}: {packets} packets are not explained by any counter.",
                trial_and_method(*trial, method)
            )
        }
        TrialFinding::GeneratorsTogether { generators, start_spread, losses } => {
            generators::words(*generators, *start_spread, losses)
        }
        TrialFinding::MembersShared { method, members, shares, flow_sharing } => {
            members::words(method, *members, shares, *flow_sharing)
        }
        TrialFinding::Livelock(livelocked) => livelock(livelocked),
        TrialFinding::LoadDepends { placement, because } => format!(
            "Placement {placement}: the offered load depends on the receiver ({}), so rates there are no limits of a method.",
            load_depends_words(because)
        ),
        TrialFinding::OddFrames { trial, method, frames } => {
            format!("{}: {}", trial_and_method(*trial, method), odd_frames_words(frames))
        }
        TrialFinding::ProgramReports(sums) => program_reports(sums),
        TrialFinding::MethodUnverified { method, reason } => {
            format!("The counts of {method} are unverified: {reason}.")
        }
        TrialFinding::Stalled(cpu) => stalled(cpu),
        TrialFinding::Retried { noise, attempts } => retried(&noise::words(noise), attempts),
        TrialFinding::TracerCost { ns_per_packet, cpu_ratio } => format!(
            "The tracer itself took up to {ns_per_packet:.0} ns per packet, and up to {:.1} % of the time of the CPU that \
             does the kernel's receive work.",
            cpu_ratio * 100.0
        ),
        TrialFinding::Noisy { noise, noisy_trials, all_trials, methods } => {
            let reason = noise::words(noise);
            if noisy_trials == all_trials {
                return format!("Noisy: all trials: {reason}.");
            }
            format!("Noisy: {} of {}: {reason}.", number_of_trials(*noisy_trials), list_of_methods(methods))
        }
    }
}

/// How a finding about one trial begins.
fn trial_and_method(number: u32, method: &SavedMethod) -> String {
    format!("Trial {number} ({method})")
}

fn number_of_trials(number: u32) -> String {
    many(number.into(), "trial", "trials")
}

fn list_of_methods(methods: &[SavedMethod]) -> String {
    let names: Vec<String> = methods.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// Says that every packet is accounted for, and where the lost ones are.
fn accounted_for(account: &Account) -> String {
    let packets = match account.is_sent_unverified {
        true => "Every packet that generators reported",
        false => "Every packet",
    };
    format!(
        "{packets} is accounted for: of {} sent in {}, {}.",
        count(account.sent_frames),
        number_of_trials(account.trials),
        lost_frames_words(&account.lost, account.buffered_frames)
    )
}

/// How many frames were lost, and where.
fn lost_frames_words(lost: &[LostAt], buffered_frames: u64) -> String {
    match lost {
        [] if buffered_frames == 0 => "none was lost".into(),
        [] => format!(
            "none was lost yet: {} waited in buffers when sending ended, as many as longer trials lose",
            count(buffered_frames)
        ),
        [LostAt { place, frames: 1 }] => format!("1 was lost {}", places::words(*place)),
        [LostAt { place, frames }] => format!("{} were lost {}", count(*frames), places::words(*place)),
        several => {
            let all: u64 = several.iter().map(|lost| lost.frames).sum();
            let (named, others) = several.split_at(several.len().min(NAMED_PLACES));
            let mut parts = Vec::new();
            for LostAt { place, frames } in named {
                parts.push(format!("{} {}", count(*frames), places::words(*place)));
            }
            if !others.is_empty() {
                let elsewhere: u64 = others.iter().map(|lost| lost.frames).sum();
                parts.push(format!("{} at other known places", count(elsewhere)));
            }
            format!("{} were lost: {}", count(all), parts.join("; "))
        }
    }
}

/// The trial in livelock, and the one of the same set-up that delivered most.
fn livelock(livelocked: &LivelockedTrial) -> String {
    let LivelockedTrial { trial, method, frame_size, placement, work, best, .. } = livelocked;
    format!(
        "Livelock: {method} delivered {} of {} (trial {trial}), but {} of only {} (trial {}; {frame_size}-byte frames, placement \
         {placement}, work {work}).",
        rate(livelocked.delivered_pps),
        rate(livelocked.offered_pps),
        rate(best.delivered_pps),
        rate(best.offered_pps),
        best.against
    )
}

/// What a program reports of its trials, next to what was sent.
fn program_reports(sums: &ReportSums) -> String {
    let mut counts = Vec::new();
    if let Some(frames) = sums.captured {
        counts.push(format!("{frames} captured"));
    }
    if let Some(frames) = sums.received {
        counts.push(format!("{frames} received"));
    }
    if let Some(frames) = sums.dropped {
        counts.push(format!("{frames} dropped"));
    }
    format!(
        "{} reports {}{}; {} were sent.",
        sums.method,
        counts.join(", "),
        frames_in_files(sums),
        sums.sent
    )
}

/// How many frames are in the files of a program; empty if it reports none.
fn frames_in_files(sums: &ReportSums) -> String {
    let Some(frames) = sums.in_files else { return String::new() };
    let files_have = if sums.trials == 1 { "file has" } else { "files have" };
    let trials = match sums.trials {
        1 => "trial".to_string(),
        several => format!("{several} trials"),
    };
    if frames == sums.delivered {
        return format!("; its {files_have} {frames} frames of the {trials}");
    }
    format!("; its {files_have} {frames} frames, {} of them intact and of the {trials}", sums.delivered)
}

/// For how long a CPU stalled, and what was lost meanwhile.
fn stalled(cpu: &StalledCpu) -> String {
    let times = match cpu.stalls {
        1 => "once".into(),
        times => format!("{times} times"),
    };
    let plural = if cpu.trials == 1 { "" } else { "s" };
    let mut text = format!(
        "CPU {} stalled {times} in {} trial{plural}, for up to {:.1} ms (at least {:.1} ms, by its timer tick): the \
         hypervisor ran something else, or interrupts were off.",
        cpu.cpu,
        cpu.trials,
        cpu.at_most_ns as f64 / 1e6,
        cpu.at_least_ns as f64 / 1e6
    );
    if let Some(LostMeanwhile { lost_frames, while_stalled_frames }) = cpu.lost_meanwhile {
        text += &format!(
            " Of {lost_frames} frames lost in them, most in the softirq backlog, at least {while_stalled_frames} were sent in \
             those moments."
        );
    }
    text
}

/// The attempts that were discarded for one reason.
fn retried(reason: &str, attempts: &[Attempt]) -> String {
    let plural = if attempts.len() == 1 { "" } else { "s" };
    let mut trials = Vec::new();
    for Attempt { trial, method } in attempts {
        trials.push(format!("{trial} ({method})"));
    }
    format!("Attempt{plural} {} discarded and repeated: {reason}.", trials.join(", "))
}
