//! What limited the members of a method in a trial, from the figures that the trial saved.

use crate::thresholds::{BUSY_CPU_SHARE, MEMBER_LIMIT_LOSS, UNEQUAL_MEMBER_EXCESS};

use serde::{Deserialize, Serialize};

use capbench_model::members::Member;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;

/// What limited the members of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MembersLimit {
    /// The load: members and kernel read all that was sent.
    Load,
    /// The kernel's receive work: it lost frames, or took a member's CPU, while other members had time left.
    Kernel,
    /// The sharing of the frames: one member could not read its part, while others had time left.
    Sharing,
    /// All members, on a CPU each.
    Members,
    /// All members, several of which share a CPU.
    SharedCpus,
    /// The figures of the trial do not decide it.
    Unknown,
}

impl MembersLimit {
    /// The limit in a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Kernel => "kernel's CPU",
            Self::Sharing => "sharing",
            Self::Members => "members",
            Self::SharedCpus => "shared CPUs",
            Self::Unknown => "unknown",
        }
    }

    /// What limited the members of a trial.
    pub fn from_trial(trial: &TrialResult) -> Self {
        let members = &trial.members;
        let (limited, free): (Vec<&Member>, Vec<&Member>) =
            members.iter().partition(|member| is_at_its_limit(trial, member));
        let lost_at = |at: &dyn Fn(Place) -> bool| -> f64 {
            let lost: u64 =
                trial.losses().iter().filter(|(place, _)| at(*place)).map(|(_, frames)| frames).sum();
            lost as f64 / trial.sent.max(1) as f64
        };
        // A card loses frames that a kernel without time left does not take from it.
        let is_full = trial.kernel_cpu_busy().is_some_and(|busy| busy >= BUSY_CPU_SHARE);
        let in_kernel = lost_at(&|place| match place {
            Place::LinkQueue | Place::Backlog => true,
            Place::Link | Place::Driver => is_full,
            _ => false,
        });
        let at_members = lost_at(&|place| place.is_before_application());
        if members.is_empty() {
            return Self::Unknown;
        }
        if free.is_empty() {
            let mut cpus: Vec<u32> = members.iter().map(|member| member.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            return if cpus.len() == members.len() { Self::Members } else { Self::SharedCpus };
        }
        if in_kernel > MEMBER_LIMIT_LOSS.max(at_members) {
            return Self::Kernel;
        }
        if limited.is_empty() {
            // Where the sender does the receive work, a kernel without time left slows the sender instead of losing frames.
            let is_slowed = !trial.profile.load_independent
                && trial.kernel_cpu_busy().is_none_or(|busy| busy >= BUSY_CPU_SHARE);
            let is_lost = lost_at(&|place| place != Place::Unsent) > MEMBER_LIMIT_LOSS;
            return if is_slowed || is_lost { Self::Unknown } else { Self::Load };
        }
        let equal = members.iter().map(Member::arrived).sum::<u64>() as f64 / members.len() as f64;
        let is_unequal =
            limited.iter().any(|member| member.arrived() as f64 > equal * (1.0 + UNEQUAL_MEMBER_EXCESS));
        let is_on_the_kernels = |member: &&Member| Some(member.cpu) == trial.profile.cpus.kernel;
        match is_unequal {
            true => Self::Sharing,
            false if limited.iter().all(is_on_the_kernels) => Self::Kernel,
            false => Self::Unknown,
        }
    }
}

/// Whether a member could not read its frames: its socket lost some, or frames waited and its CPU had no time left for them while
/// they were sent. When the last of them was read is known of the slowest member only.
fn is_at_its_limit(trial: &TrialResult, member: &Member) -> bool {
    let loses = member.lost().is_some_and(|lost| lost as f64 > MEMBER_LIMIT_LOSS * member.arrived() as f64);
    let is_behind = member.lost().is_none() || trial.buffered_frames(1) > 0;
    loses || is_behind && member.cpu_ns as f64 * 1e-9 >= BUSY_CPU_SHARE * trial.sending_s
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::members::MemberLoss;
    use capbench_model::trial::{CpuAccount, Emptying, Load, Phase, Profile};

    /// A member on this CPU, of which a share is busy, with these frames of a trial of a second.
    fn member(cpu: u32, busy: f64, read: u64, lost: u64) -> Member {
        let lost = vec![MemberLoss { place: Place::Ring, frames: Some(lost) }];
        Member { cpu, lost, read, delivered: read, cpu_ns: (busy * 1e9) as u64, ..Member::default() }
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

    fn limit(members: &[Member]) -> MembersLimit {
        MembersLimit::from_trial(&trial(members.to_vec()))
    }

    #[test]
    fn members_that_all_lose_are_the_limit_each_on_its_cpu() {
        let busy = |cpu| member(cpu, 1.0, 50_000, 20_000);
        assert_eq!(limit(&[busy(2), busy(3)]), MembersLimit::Members);
        assert_eq!(limit(&[busy(2), busy(2)]), MembersLimit::SharedCpus);
        assert_eq!(limit(&[busy(2)]), MembersLimit::Members, "one of one");
        assert_eq!(limit(&[]), MembersLimit::Unknown);
    }

    #[test]
    fn what_was_only_buffered_counts_by_the_cpu_of_its_member() {
        let behind = |busy: [f64; 2]| {
            let members = vec![member(2, busy[0], 50_000, 0), member(3, busy[1], 50_000, 0)];
            let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
            MembersLimit::from_trial(&TrialResult { emptying, ..trial(members) })
        };
        assert_eq!(behind([2.0, 2.0]), MembersLimit::Members);
        assert_eq!(behind([1.7, 1.9]), MembersLimit::Members, "one was ready before the other");
        assert_eq!(behind([0.5, 0.5]), MembersLimit::Load, "neither was busy");
        assert_eq!(behind([2.0, 0.5]), MembersLimit::Unknown, "equal parts, and only one was slow");
    }

    #[test]
    fn a_free_member_next_to_one_that_loses_has_too_small_a_part() {
        assert_eq!(
            limit(&[member(2, 1.0, 50_000, 50_000), member(3, 0.3, 20_000, 0)]),
            MembersLimit::Sharing
        );
        // The kernel works on the first one's CPU.
        assert_eq!(limit(&[member(1, 0.5, 20_000, 5000), member(3, 0.5, 25_000, 0)]), MembersLimit::Kernel);
        assert_eq!(limit(&[member(2, 0.5, 20_000, 5000), member(3, 0.5, 25_000, 0)]), MembersLimit::Unknown);
    }

    #[test]
    fn where_all_members_have_time_left_load_or_kernel_is_the_limit() {
        let free = || vec![member(2, 0.5, 50_000, 0), member(3, 0.5, 50_000, 0)];
        assert_eq!(limit(&free()), MembersLimit::Load);
        let mut refused = trial(free());
        refused.sent += 20_000;
        refused.ledger.iter_mut().filter(|entry| entry.place == Place::Backlog).for_each(|entry| {
            entry.count = Some(20_000);
        });
        assert_eq!(MembersLimit::from_trial(&refused), MembersLimit::Kernel);
        let profile = Profile { load_independent: false, ..profile("packet-v3+members=2") };
        let slowed = TrialResult { profile, ..trial(free()) };
        assert_eq!(
            MembersLimit::from_trial(&slowed),
            MembersLimit::Unknown,
            "the kernel may slow the sender"
        );
        let idle = CpuAccount { kernel_ns: Some(1000), ..CpuAccount::default() };
        assert_eq!(MembersLimit::from_trial(&TrialResult { cpu: idle, ..slowed }), MembersLimit::Load);
    }

    #[test]
    fn a_member_is_at_its_limit_by_its_losses_or_by_its_cpu() {
        let loses =
            |lost| limit(&[member(2, 1.0, 100_000 - lost, lost), member(3, 1.0, 100_000 - lost, lost)]);
        assert_eq!(loses(800), MembersLimit::Load);
        assert_eq!(loses(1250), MembersLimit::Members);
        for (busy, found) in [(0.8, MembersLimit::Load), (1.2, MembersLimit::Members)] {
            let members = vec![member(2, busy, 50_000, 0), member(3, busy, 50_000, 0)];
            let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
            let trial = TrialResult { emptying, sending_s: 1.0, ..trial(members) };
            assert_eq!(MembersLimit::from_trial(&trial), found, "{busy} s of CPU");
        }
    }

    #[test]
    fn members_are_unequal_from_a_tenth_more() {
        for (more, found) in [(8000, MembersLimit::Unknown), (12_500, MembersLimit::Sharing)] {
            let members = [member(2, 1.0, 80_000 + more, 20_000), member(3, 0.3, 100_000 - more, 0)];
            assert_eq!(limit(&members), found, "{more} frames more than an equal share");
        }
    }
}
