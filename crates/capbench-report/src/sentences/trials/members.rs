//! Trials of several members: how evenly they shared the frames, and whether flows stayed together.

use capbench_model::figures::{grouped as thousands, percent};
use capbench_model::members::{FanoutMode, Member, Members, imbalance};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;

use super::super::{finding, many, numbers};
use crate::groups::grouped;
use capbench_results::Finding;

/// Shares that differ by less are equal.
const EVEN: f64 = 0.01;

pub(super) fn find(trials: &[TrialResult]) -> Vec<Finding> {
    let of_several = trials.iter().filter(|trial| trial.members.len() > 1);
    let by_method = grouped(of_several, |trial| &trial.profile.method);
    by_method.into_iter().map(|(method, own)| of_method(method, &own)).collect()
}

fn of_method(method: &SavedMethod, trials: &[&TrialResult]) -> Finding {
    let count = trials.iter().map(|trial| trial.members.len()).max().unwrap_or(0);
    let most = trials.iter().filter_map(|trial| imbalance(&trial.members)).fold(0.0, f64::max);
    let of_one_flow = trials.iter().any(|trial| trial.flow_sharing.is_some_and(|sharing| sharing.flows == 1));
    let why = match most > 0.0 {
        true if of_one_flow => " (all frames are of one flow; --flows N makes N)",
        true if shares_queues(method) && trials.iter().any(|trial| got_all(&trial.members)) => {
            " (all frames came in one receive queue; each thread of af-xdp-tx and xdp-live fills one)"
        }
        _ => "",
    };
    let members = many(count as u64, "member", "members");
    let shared = match most {
        most if most < EVEN => format!("{method}: its {members} got equal shares of the frames."),
        _ => format!(
            "{method}: of {members} the busiest got up to {} more than an equal share{why}.",
            percent(most)
        ),
    };
    finding(shared + &flows(trials), numbers(trials))
}

/// Whether the member for a frame is that of its receive queue.
fn shares_queues(method: &SavedMethod) -> bool {
    let members = method.known().and_then(|spec| Members::of_method(spec).ok().flatten());
    members.is_some_and(|members| members.mode == FanoutMode::Queue)
}

/// Whether one of several members got all frames.
fn got_all(members: &[Member]) -> bool {
    members.iter().filter(|member| member.arrived() > 0).count() == 1
}

/// Whether the frames of a flow came to one member.
fn flows(trials: &[&TrialResult]) -> String {
    let known = trials.iter().filter_map(|trial| trial.flow_sharing);
    let Some(worst) = known.max_by_key(|sharing| sharing.split_frames) else {
        return " Whether flows stayed together is unknown: the frames were not examined one by one.".into();
    };
    let all = many(worst.flows.into(), "flow", "flows");
    match worst.split {
        0 => format!(" The frames of each of {all} came to one member."),
        split => format!(
            " Frames of {} of {all} came to several members: {} of them not to the one with most of the flow.",
            split,
            thousands(worst.split_frames as f64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::members::FlowSharing;
    use capbench_model::trial::{Load, Phase};

    use super::*;

    fn text(read: &[u64], sharing: Option<FlowSharing>) -> Vec<String> {
        text_of("recv+members=2", read, sharing)
    }

    fn text_of(method: &str, read: &[u64], sharing: Option<FlowSharing>) -> Vec<String> {
        let trial = measured(1000, 1000, 1000, 0).result(
            1,
            Phase::FixedLoad,
            &profile(method),
            Load::Maximum,
            Duration::from_secs(1),
        );
        let members = read.iter().map(|&read| Member { read, ..Member::default() }).collect();
        let trial = TrialResult { members, flow_sharing: sharing, ..trial };
        find(&[trial]).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn the_share_of_the_busiest_and_split_flows_are_said() {
        assert!(text(&[1000], None).is_empty(), "one thread");
        let whole = FlowSharing { flows: 8, split: 0, split_frames: 0 };
        assert_eq!(
            text(&[600, 400], Some(whole)),
            [
                "recv+members=2: of 2 members the busiest got up to 20 % more than an equal share. The frames of each of 8 flows \
              came to one member."
            ]
        );
        let split = FlowSharing { flows: 8, split: 3, split_frames: 1200 };
        assert!(
            text(&[500, 500], Some(split))[0]
                .starts_with("recv+members=2: its 2 members got equal shares of the frames.")
        );
        assert!(text(&[500, 500], Some(split))[0].ends_with(
            "Frames of 3 of 8 flows came to several members: 1,200 of them not to the one with most of the flow."
        ));
        assert!(
            text(&[1000, 0], Some(FlowSharing { flows: 1, ..whole }))[0]
                .contains("(all frames are of one flow; --flows N makes N)")
        );
        assert!(text(&[500, 500], None)[0].contains("unknown"));
        let of_one_queue = text_of("af-xdp+members=2", &[1000, 0], Some(whole)).concat();
        assert!(
            of_one_queue.contains("equal share (all frames came in one receive queue;"),
            "{of_one_queue}"
        );
        assert!(!text(&[1000, 0], Some(whole)).concat().contains("queue"));
    }
}
