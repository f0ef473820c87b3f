//! The words of `TrialFinding::MembersShared`: how evenly several members shared the frames, and whether flows stayed together.

use capbench_judge::finding::trials::members::{SharesOfMembers, UnequalBecause};
use capbench_model::figures::{grouped, percent};
use capbench_model::members::FlowSharing;
use capbench_model::saved::SavedMethod;

use crate::naming::many;

/// The sentences about trials of several members.
pub(super) fn words(
    method: &SavedMethod,
    members: u32,
    shares: &SharesOfMembers,
    flow_sharing: Option<FlowSharing>,
) -> String {
    let members = many(members.into(), "member", "members");
    let flows = flows_sentence(flow_sharing);
    match shares {
        SharesOfMembers::Equal => format!("{method}: its {members} got equal shares of the frames.{flows}"),
        SharesOfMembers::Unequal { busiest_excess_ratio, cause } => format!(
            "{method}: of {members} the busiest got up to {} more than an equal share{}.{flows}",
            percent(*busiest_excess_ratio),
            cause.map_or("", cause_words)
        ),
    }
}

/// Why the shares are unequal, in brackets.
fn cause_words(cause: UnequalBecause) -> &'static str {
    match cause {
        UnequalBecause::OneFlow => " (all frames are of one flow; --flows N makes N)",
        UnequalBecause::OneQueue => {
            " (all frames came in one receive queue; each thread of af-xdp-tx and xdp-live fills one)"
        }
    }
}

/// Whether the frames of a flow came to one member.
fn flows_sentence(sharing: Option<FlowSharing>) -> String {
    let Some(FlowSharing { flows, split, split_frames }) = sharing else {
        return " Whether flows stayed together is unknown: the frames were not examined one by one.".into();
    };
    let flows = many(flows.into(), "flow", "flows");
    match split {
        0 => format!(" The frames of each of {flows} came to one member."),
        _ => format!(
            " Frames of {split} of {flows} came to several members: {} of them not to the one with most of the flow.",
            grouped(split_frames as f64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{FlowSharing, SharesOfMembers, UnequalBecause, words};

    /// The frames of each flow came to one member.
    const WHOLE: FlowSharing = FlowSharing { flows: 8, split: 0, split_frames: 0 };
    /// The frames of three flows came to several members.
    const SPLIT: FlowSharing = FlowSharing { flows: 8, split: 3, split_frames: 1200 };

    fn text(shares: SharesOfMembers, sharing: Option<FlowSharing>) -> String {
        words(&"recv+members=2".into(), 2, &shares, sharing)
    }

    #[test]
    fn the_share_of_the_busiest_and_split_flows_are_said() {
        let unequal = |cause| SharesOfMembers::Unequal { busiest_excess_ratio: 0.2, cause };
        assert_eq!(
            text(unequal(None), Some(WHOLE)),
            "recv+members=2: of 2 members the busiest got up to 20 % more than an equal share. The frames of each of 8 flows \
             came to one member."
        );
        assert_eq!(
            text(SharesOfMembers::Equal, Some(SPLIT)),
            "recv+members=2: its 2 members got equal shares of the frames. Frames of 3 of 8 flows came to several members: \
             1,200 of them not to the one with most of the flow."
        );
        let one_flow = text(unequal(Some(UnequalBecause::OneFlow)), None);
        assert!(one_flow.contains("equal share (all frames are of one flow; --flows N makes N). Whether"));
        let one_queue = text(unequal(Some(UnequalBecause::OneQueue)), None);
        assert!(one_queue.contains("equal share (all frames came in one receive queue;"), "{one_queue}");
        assert!(text(SharesOfMembers::Equal, None).contains("unknown"));
    }
}
