//! What limited the members of a method in a trial, from the figures that the trial saved, and what stops more members. Reports of a sweep
//! ask [`Limit::of_stop`].
//!
//! A member is at its limit if it could not read its frames. These questions are asked in order, and the first yes decides:
//!
//! | question | the limit is | why in this order |
//! |---|---|---|
//! | Are all members at their limits? | the members, or the CPUs that they share | more members would have read more, however many frames were lost elsewhere |
//! | Did the kernel lose more than the members? | the kernel's receive work | frames that it loses reach no member |
//! | Is no member at its limit? | the load; unknown if frames were lost, or if the kernel slowed the sender | nothing else is left |
//! | Did one at its limit get more than its part? | how frames are shared | the others had time left |
//! | Do those at their limits run on the kernel's CPU? | the kernel's receive work | it takes their time; otherwise nothing is known |

use super::{Limit, is_of_most, is_receive_work};
use crate::sustained::buffered_frames;
use crate::thresholds::{BUSY_CPU_SHARE, BUSY_MEMBER_SHARE, LASTING_LOSS, UNEQUAL_MEMBER_EXCESS};

use capbench_model::members::Member;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;
use capbench_statistics::by_key;
use capbench_statistics::scalability::ScalabilityFit;

impl Limit {
    /// What limited the members of a method in most of these trials.
    pub fn of_members(trials: &[&TrialResult]) -> Self {
        for (limit, limited_trials) in by_key(trials, |trial| Self::of_members_of_trial(trial)) {
            if is_of_most(limited_trials.len(), trials.len()) {
                return limit;
            }
        }
        Self::Unknown
    }

    /// The first answer of the table above.
    fn of_members_of_trial(trial: &TrialResult) -> Self {
        let members = &trial.members;
        if members.is_empty() {
            return Self::Unknown;
        }
        let (limited, free): (Vec<&Member>, Vec<&Member>) =
            members.iter().partition(|member| is_at_its_limit(trial, member));
        // A card loses frames that a kernel without time left does not take from it.
        let is_full = trial.kernel_cpu_busy().is_some_and(|busy| busy >= BUSY_CPU_SHARE);
        let mut in_kernel = 0;
        let mut at_members = 0;
        let mut lost = 0;
        for (place, frames) in trial.losses() {
            match place {
                Place::Unsent => continue,
                place if is_receive_work(place) => in_kernel += frames,
                Place::Link | Place::Driver if is_full => in_kernel += frames,
                place if place.holds_frames_for_application() => at_members += frames,
                _ => {}
            }
            lost += frames;
        }
        let few = LASTING_LOSS * trial.sent.max(1) as f64;
        if free.is_empty() {
            let mut cpus: Vec<u32> = members.iter().map(|member| member.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            return if cpus.len() == members.len() { Self::Members } else { Self::SharedCpus };
        }
        if in_kernel as f64 > few && in_kernel > at_members {
            return Self::Backlog;
        }
        if limited.is_empty() {
            // Where the sender does the receive work, a kernel without time left slows the sender instead of losing frames.
            let is_slowed = !trial.profile.load_independent
                && trial.kernel_cpu_busy().is_none_or(|busy| busy >= BUSY_CPU_SHARE);
            return if is_slowed || lost as f64 > few { Self::Unknown } else { Self::Load };
        }
        let equal = members.iter().map(Member::arrived).sum::<u64>() as f64 / members.len() as f64;
        let is_unequal =
            limited.iter().any(|member| member.arrived() as f64 > equal * (1.0 + UNEQUAL_MEMBER_EXCESS));
        if is_unequal {
            return Self::Sharing;
        }
        let are_on_the_kernels = limited.iter().all(|member| Some(member.cpu) == trial.profile.cpus.kernel);
        if are_on_the_kernels { Self::Backlog } else { Self::Unknown }
    }
}

impl Limit {
    /// What stops more members from bringing more, by the trials of the first number that brings no more.
    pub fn of_more_members(
        next_trials: &[&TrialResult],
        is_load_read: bool,
        law: Option<&ScalabilityFit>,
        members: f64,
    ) -> Self {
        match (Self::of_members(next_trials), law) {
            (Self::Load, _) if !is_load_read => Self::Generator,
            (Self::Members, Some(law)) => among_members(law, members),
            (limit, _) => limit,
        }
    }

    /// What stops more members from bringing more, by the saved answer of [`Self::of_more_members`] and the trials of the first number
    /// that brings no more. Where some of these lost few frames, nothing limited their members, and the losses show the cause.
    pub(crate) fn of_stop(saved: Self, next_trials: &[&TrialResult], are_all_lossless: bool) -> Self {
        if are_all_lossless || !matches!(saved, Self::Load | Self::Generator) {
            return saved;
        }
        Self::at_load(next_trials, 1).unwrap_or(Self::Unknown)
    }

    /// A limit besides the members, by the saved answer of [`Self::of_more_members`]. The law of their rates does not know it: it is
    /// fitted to rates that only the members limit. `None` if the rate stops to grow for a reason that the law has, or because nothing
    /// more was sent.
    pub(crate) fn besides_members(saved: Self) -> Option<Self> {
        match saved {
            Self::Load | Self::Generator | Self::Contention | Self::Coherence | Self::Members => None,
            _ => Some(saved),
        }
    }
}

/// Which of the law's two terms is larger with this many members. A constant whose interval reaches 0 is no cause.
fn among_members(fit: &ScalabilityFit, members: f64) -> Limit {
    let [sigma, kappa] = [fit.sigma, fit.kappa].map(|found| match found.low {
        Some(low) if low <= 0.0 => 0.0,
        _ => found.value,
    });
    if kappa * members > sigma {
        return Limit::Coherence;
    }
    if sigma > 0.0 { Limit::Contention } else { Limit::Members }
}

/// Whether a member could not read its frames: its socket lost some, or frames waited and it was busy all the time while they were
/// sent. Frames count as waiting, too, where the losses of its socket are unknown. Its CPU time includes that of reading the rest
/// after sending ended, so it can be longer than sending. When the last frame was read is known of the slowest member only.
fn is_at_its_limit(trial: &TrialResult, member: &Member) -> bool {
    let loses = member.lost().is_some_and(|lost| lost as f64 > LASTING_LOSS * member.arrived() as f64);
    let is_behind = member.lost().is_none() || buffered_frames(trial, 1) > 0;
    loses || is_behind && member.cpu_ns as f64 * 1e-9 >= BUSY_MEMBER_SHARE * trial.sending_s
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::members::MemberLoss;
    use capbench_model::trial::{CpuAccount, Emptying, Load, Phase, Profile};

    /// A member on this CPU with these seconds of CPU time and these frames, in a trial that sends for a second.
    fn member(cpu: u32, cpu_s: f64, read: u64, lost: u64) -> Member {
        let lost = vec![MemberLoss { place: Place::Ring, frames: Some(lost) }];
        Member { cpu, lost, read, delivered: read, cpu_ns: (cpu_s * 1e9) as u64, ..Member::default() }
    }

    fn trial(members: Vec<Member>) -> TrialResult {
        let read = members.iter().map(|member| member.read).sum();
        let lost: u64 = members.iter().filter_map(Member::lost).sum();
        let measured = measured(read + lost, read + lost, read, lost);
        let profile = profile("packet-v3+members=2");
        let trial = measured.result(1, Phase::Sweep, &profile, Load::Maximum, Duration::from_secs(1));
        let cpu = CpuAccount { kernel_ns: Some(980_000_000), ..trial.cpu };
        TrialResult { members, cpu, ..trial }
    }

    fn limit(members: &[Member]) -> Limit {
        Limit::of_members(&[&trial(members.to_vec())])
    }

    #[test]
    fn members_that_all_lose_are_the_limit_each_on_its_cpu() {
        let busy = |cpu| member(cpu, 1.0, 50_000, 20_000);
        assert_eq!(limit(&[busy(2), busy(3)]), Limit::Members);
        assert_eq!(limit(&[busy(2), busy(2)]), Limit::SharedCpus);
        assert_eq!(limit(&[busy(2)]), Limit::Members, "one of one");
        assert_eq!(limit(&[]), Limit::Unknown);
    }

    #[test]
    fn what_was_only_buffered_counts_by_the_cpu_of_its_member() {
        let behind = |cpu_s: [f64; 2]| {
            let members = vec![member(2, cpu_s[0], 50_000, 0), member(3, cpu_s[1], 50_000, 0)];
            let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
            Limit::of_members(&[&TrialResult { emptying, ..trial(members) }])
        };
        assert_eq!(behind([2.0, 2.0]), Limit::Members);
        assert_eq!(behind([1.7, 1.9]), Limit::Members, "one was ready before the other");
        assert_eq!(behind([0.5, 0.5]), Limit::Load, "neither was busy");
        assert_eq!(behind([2.0, 0.5]), Limit::Unknown, "equal parts, and only one was slow");
    }

    #[test]
    fn a_free_member_next_to_one_that_loses_has_too_small_a_part() {
        assert_eq!(limit(&[member(2, 1.0, 50_000, 50_000), member(3, 0.3, 20_000, 0)]), Limit::Sharing);
        // The kernel works on the first one's CPU.
        assert_eq!(limit(&[member(1, 0.5, 20_000, 5000), member(3, 0.5, 25_000, 0)]), Limit::Backlog);
        assert_eq!(limit(&[member(2, 0.5, 20_000, 5000), member(3, 0.5, 25_000, 0)]), Limit::Unknown);
    }

    #[test]
    fn where_all_members_have_time_left_load_or_kernel_is_the_limit() {
        let free = || vec![member(2, 0.5, 50_000, 0), member(3, 0.5, 50_000, 0)];
        assert_eq!(limit(&free()), Limit::Load);
        let mut refused = trial(free());
        refused.sent += 20_000;
        refused.ledger.iter_mut().filter(|entry| entry.place == Place::Backlog).for_each(|entry| {
            entry.count = Some(20_000);
        });
        assert_eq!(Limit::of_members(&[&refused]), Limit::Backlog);
        let profile = Profile { load_independent: false, ..profile("packet-v3+members=2") };
        let slowed = TrialResult { profile, ..trial(free()) };
        assert_eq!(Limit::of_members(&[&slowed]), Limit::Unknown, "the kernel may slow the sender");
        for kernel_ns in [1000, 800_000_000] {
            let has_time = CpuAccount { kernel_ns: Some(kernel_ns), ..CpuAccount::default() };
            let trial = TrialResult { cpu: has_time, ..slowed.clone() };
            assert_eq!(Limit::of_members(&[&trial]), Limit::Load);
        }
    }

    #[test]
    fn a_member_is_at_its_limit_by_its_losses_or_by_its_cpu() {
        let loses =
            |lost| limit(&[member(2, 1.0, 100_000 - lost, lost), member(3, 1.0, 100_000 - lost, lost)]);
        assert_eq!(loses(800), Limit::Load);
        assert_eq!(loses(1250), Limit::Members);
        for (cpu_s, found) in [(0.8, Limit::Load), (1.2, Limit::Members)] {
            let members = vec![member(2, cpu_s, 50_000, 0), member(3, cpu_s, 50_000, 0)];
            let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
            let trial = TrialResult { emptying, sending_s: 1.0, ..trial(members) };
            assert_eq!(Limit::of_members(&[&trial]), found, "{cpu_s} s of CPU");
        }
    }

    #[test]
    fn members_are_unequal_from_a_tenth_more() {
        for (more, found) in [(8000, Limit::Unknown), (12_500, Limit::Sharing)] {
            let members = [member(2, 1.0, 80_000 + more, 20_000), member(3, 0.3, 100_000 - more, 0)];
            assert_eq!(limit(&members), found, "{more} frames more than an equal share");
        }
    }
}
