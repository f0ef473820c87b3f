//! Trials of several members: how evenly they shared the frames, and whether flows stayed together.

use capbench_model::members::{FanoutMode, Member, Members, imbalance};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_statistics::by_key;
use serde::Serialize;

use super::{TrialFinding, found, numbers};
use crate::finding::Found;
use crate::thresholds::EQUAL_MEMBER_SHARES;

/// How evenly members shared the frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum SharesOfMembers {
    /// They got equal shares.
    Equal,
    /// They did not.
    Unequal {
        /// By which share of an equal share the busiest member got more.
        busiest_excess_ratio: f64,
        /// Why, if the frames show it.
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<UnequalBecause>,
    },
}

/// Why one member got more than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnequalBecause {
    /// All frames are of one flow.
    OneFlow,
    /// All frames came in one receive queue.
    OneQueue,
}

/// What trials of several members show, by method.
pub(super) fn find(trials: &[TrialResult]) -> Vec<Found> {
    let of_several = trials.iter().filter(|trial| trial.members.len() > 1);
    let mut all = Vec::new();
    for (method, trials) in by_key(of_several, |trial| &trial.profile.method) {
        let flow_sharings = trials.iter().filter_map(|trial| trial.flow_sharing);
        let fact = TrialFinding::MembersShared {
            method: method.clone(),
            members: trials.iter().map(|trial| trial.members.len()).max().unwrap_or(0) as u32,
            shares: shares(method, &trials),
            flow_sharing: flow_sharings.max_by_key(|sharing| sharing.split_frames),
        };
        all.push(found(fact, numbers(&trials)));
    }
    all
}

/// How evenly the members of a method shared the frames, in the most uneven of these trials.
fn shares(method: &SavedMethod, trials: &[&TrialResult]) -> SharesOfMembers {
    let excesses = trials.iter().filter_map(|trial| imbalance(&trial.members));
    let busiest_excess_ratio = excesses.fold(0.0, f64::max);
    if busiest_excess_ratio < EQUAL_MEMBER_SHARES {
        return SharesOfMembers::Equal;
    }
    SharesOfMembers::Unequal { busiest_excess_ratio, cause: cause(method, trials) }
}

/// Why one member got more; `None` if the trials do not show it.
fn cause(method: &SavedMethod, trials: &[&TrialResult]) -> Option<UnequalBecause> {
    if trials.iter().any(|trial| trial.flow_sharing.is_some_and(|sharing| sharing.flows == 1)) {
        return Some(UnequalBecause::OneFlow);
    }
    if shares_queues(method) && trials.iter().any(|trial| has_one_reader(&trial.members)) {
        return Some(UnequalBecause::OneQueue);
    }
    None
}

/// Whether the member for a frame is that of its receive queue.
fn shares_queues(method: &SavedMethod) -> bool {
    let members = method.known().and_then(|spec| Members::of_method(spec).ok().flatten());
    members.is_some_and(|members| members.mode == FanoutMode::Queue)
}

/// Whether one of several members got all frames.
fn has_one_reader(members: &[Member]) -> bool {
    members.iter().filter(|member| member.arrived() > 0).count() == 1
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::members::{FlowSharing, Member};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::{SharesOfMembers, UnequalBecause, find, shares};
    use crate::finding::Finding;
    use crate::finding::trials::TrialFinding;

    /// Every flow stayed with one member.
    const WHOLE: FlowSharing = FlowSharing { flows: 8, split: 0, split_frames: 0 };
    /// Frames of three flows went to several members.
    const SPLIT: FlowSharing = FlowSharing { flows: 8, split: 3, split_frames: 1200 };

    /// A trial whose members read so many frames each.
    fn trial(method: &str, read: &[u64], flow_sharing: Option<FlowSharing>) -> TrialResult {
        let profile = profile(method);
        let measured = measured(1000, 1000, 1000, 0);
        let mut trial = measured.result(1, Phase::FixedLoad, &profile, Load::Maximum, Duration::from_secs(1));
        trial.members = read.iter().map(|&read| Member { read, ..Member::default() }).collect();
        trial.flow_sharing = flow_sharing;
        trial
    }

    fn shares_of(method: &str, read: &[u64], sharing: FlowSharing) -> SharesOfMembers {
        let trial = trial(method, read, Some(sharing));
        shares(&trial.profile.method, &[&trial])
    }

    #[test]
    fn one_thread_is_no_fact() {
        assert!(find(&[trial("recv+members=2", &[1000], None)]).is_empty());
    }

    fn unequal(busiest_excess_ratio: f64, cause: Option<UnequalBecause>) -> SharesOfMembers {
        SharesOfMembers::Unequal { busiest_excess_ratio, cause }
    }

    #[test]
    fn the_excess_of_the_busiest_is_known_with_its_cause() {
        assert_eq!(shares_of("recv+members=2", &[500, 500], SPLIT), SharesOfMembers::Equal);
        // 504 frames are more than an equal share of 500 by 0.8 %, 506 by 1.2 %.
        assert_eq!(shares_of("recv+members=2", &[504, 496], SPLIT), SharesOfMembers::Equal);
        assert_ne!(shares_of("recv+members=2", &[506, 494], SPLIT), SharesOfMembers::Equal);
        assert_eq!(shares_of("recv+members=2", &[750, 250], WHOLE), unequal(0.5, None));
        assert_eq!(shares_of("recv+members=2", &[1000, 0], WHOLE), unequal(1.0, None));
        let one_flow = FlowSharing { flows: 1, ..WHOLE };
        assert_eq!(
            shares_of("recv+members=2", &[1000, 0], one_flow),
            unequal(1.0, Some(UnequalBecause::OneFlow))
        );
        // Each member of af-xdp has a receive queue. With one that reads nothing, all frames came in the queue of the other.
        assert_eq!(
            shares_of("af-xdp+members=2", &[1000, 0], WHOLE),
            unequal(1.0, Some(UnequalBecause::OneQueue))
        );
        assert_eq!(shares_of("af-xdp+members=2", &[900, 100], WHOLE), unequal(0.8, None));
    }

    #[test]
    fn the_trial_that_split_most_frames_of_flows_counts() {
        let method = "recv+members=2";
        let all = [trial(method, &[1, 1], Some(WHOLE)), trial(method, &[1, 1], Some(SPLIT))];
        let found = find(&all);
        let Finding::Trials(TrialFinding::MembersShared { members, flow_sharing, .. }) = found[0].fact else {
            panic!("{found:?}");
        };
        assert_eq!((members, flow_sharing), (2, Some(SPLIT)));
    }
}
