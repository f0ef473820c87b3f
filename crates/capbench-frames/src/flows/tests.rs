use serde_json::json;

use super::*;
use crate::write::{PlanFrames, WriteFrames};
use crate::{HeaderStack, Mtu, Payload, Pps, Stamp, StreamId, TrailerReader, TrialId, Turn};

fn flow(stream: u8, schedule: Schedule, frames: Option<u64>) -> StackFlow {
    let stack = HeaderStack::from_value(&json!([{}, {"ipv4": {}}, {"udp": {}}])).unwrap();
    let sizes = "64,128".parse().unwrap();
    let plan = StackPlan::new(stack, sizes, &Payload::default(), Some(StreamId(stream)), Mtu(1500)).unwrap();
    StackFlow {
        name: format!("f{stream}"),
        plan: plan.into(),
        schedule,
        frames,
        duration: None,
        delay: Duration::ZERO,
    }
}

fn constant(rate: f64) -> Schedule {
    Schedule::Constant(Pps::new(rate).unwrap())
}

/// Planned time, stream and sequence number of the next frames.
fn written(merged: &mut MergedFlows<'_>, count: usize) -> Vec<(u64, u8, u64)> {
    let frame = |_| {
        let mut slot = [0; 200];
        let planned_ns = merged.next_ns();
        let stamp = Stamp { trial: TrialId(1), stream: StreamId(0), sequence: 0, planned_ns };
        let length = merged.write_next(&mut slot, stamp).captured();
        let stamp = TrailerReader::new(TrialId(1)).read(&slot[..length]).unwrap();
        assert_eq!(stamp.planned_ns, planned_ns);
        (planned_ns, stamp.stream.0, stamp.sequence)
    };
    (0..count).map(frame).collect()
}

fn outcome(set: &FlowSet, flow: usize) -> (u64, u64, bool) {
    let counts = set.counts(flow);
    (counts.sent, counts.octets, counts.is_over)
}

fn seconds(seconds: u64) -> u64 {
    seconds * 1_000_000_000
}

#[test]
fn frames_are_in_the_order_of_time_and_then_of_flow() {
    let late = StackFlow { delay: Duration::from_secs(1), ..flow(7, constant(1.0), Some(2)) };
    let short = StackFlow { duration: Some(Duration::from_secs(2)), ..flow(8, constant(2.0), None) };
    let set = FlowSet::new(vec![late, short, flow(9, constant(0.5), Some(2))]).unwrap();
    let mut merged = MergedFlows::new(&set, Turn::EVERY);
    assert_eq!(set.counts(0).intended, None);
    assert_eq!(merged.left(u64::MAX, u64::MAX), Some(8));
    assert_eq!((0..3).map(|flow| set.counts(flow).intended.unwrap()).collect::<Vec<_>>(), [2, 4, 2]);
    assert_eq!(merged.left(u64::MAX, seconds(1)), Some(2 + 1));
    let half = seconds(1) / 2;
    assert_eq!(
        written(&mut merged, 8),
        [
            (0, 8, 0),
            (0, 9, 0),
            (half, 8, 1),
            (seconds(1), 7, 0),
            (seconds(1), 8, 2),
            (3 * half, 8, 3),
            (seconds(2), 7, 1),
            (seconds(2), 9, 1)
        ]
    );
    assert!(merged.is_over() && merged.is_over_at(u64::MAX));
    // Three frames stay in the ring.
    assert_eq!(merged.octets_of_last(3), 128 + 128 + 128);
    merged.note_sent(5);
    assert_eq!(outcome(&set, 0), (1, 64, false));
    assert_eq!(outcome(&set, 1), (3, 256, false));
    assert_eq!(outcome(&set, 2), (1, 64, false));
    merged.note_sent(8);
    assert_eq!((0..3).map(|flow| outcome(&set, flow).0).collect::<Vec<_>>(), [2, 4, 2]);
    assert!((0..3).all(|flow| outcome(&set, flow).2));
}

#[test]
fn a_paused_flow_sends_the_rest_later_and_a_stopped_one_nothing() {
    let set = FlowSet::new(vec![flow(0, constant(1.0), Some(4)), flow(1, constant(1.0), None)]).unwrap();
    set.command(1, FlowCommand::Pause);
    let mut merged = MergedFlows::new(&set, Turn::EVERY);
    assert_eq!(written(&mut merged, 2), [(0, 0, 0), (seconds(1), 0, 1)]);
    set.command(0, FlowCommand::Pause);
    merged.begin_batch(seconds(1));
    assert_eq!((merged.next_ns(), merged.is_over(), merged.is_over_at(u64::MAX)), (u64::MAX, false, false));
    set.command(1, FlowCommand::Run);
    merged.begin_batch(seconds(5));
    set.command(0, FlowCommand::Run);
    merged.begin_batch(seconds(6));
    // Flow 0 was to send at 2 s, and paused for 5 s.
    assert_eq!(
        written(&mut merged, 4),
        [(seconds(5), 1, 0), (seconds(6), 1, 1), (seconds(7), 0, 2), (seconds(7), 1, 2)]
    );
    assert_eq!(merged.left(u64::MAX, u64::MAX), Some(1));
    set.command(1, FlowCommand::Stop);
    merged.begin_batch(seconds(8));
    assert!(!set.counts(1).is_over, "its frames are not sent yet");
    merged.note_sent(6);
    assert_eq!(outcome(&set, 1), (3, 64 + 128 + 64, true));
    assert_eq!(written(&mut merged, 1), [(seconds(8), 0, 3)]);
    merged.note_sent(7);
    assert!(merged.is_over() && set.counts(0).is_over);
}

/// The log of all flows is never empty: frames of the other flow wait in the ring all the time.
#[test]
fn a_flow_with_a_duration_ends_by_the_clock_and_the_rest_is_unsent() {
    const MS: u64 = 1_000_000;
    let second =
        |stream| StackFlow { duration: Some(Duration::from_secs(1)), ..flow(stream, constant(1000.0), None) };
    let delayed = StackFlow { delay: Duration::from_secs(2), ..second(1) };
    let set = FlowSet::new(vec![second(0), delayed, flow(2, constant(1.0), Some(9))]).unwrap();
    let mut merged = MergedFlows::new(&set, Turn::EVERY);
    merged.begin_batch(0);
    // The first frame of flow 2 is the second one: 900 of flow 0 are planned before 0.9 s.
    written(&mut merged, 901);
    merged.note_sent(901);
    // Its last frame is 10 ms late at the end: a pause of the CPU.
    merged.begin_batch(seconds(1) - 90 * MS);
    written(&mut merged, 90);
    merged.begin_batch(seconds(1) + 9 * MS);
    assert_eq!(merged.next_ns(), 990 * MS, "it sends the rest");
    merged.begin_batch(seconds(1) + 11 * MS);
    assert_eq!(merged.next_ns(), seconds(1), "it is over, and flow 2 is next");
    assert!(!outcome(&set, 0).2, "frames of it are in the ring");
    merged.note_sent(991);
    assert!(outcome(&set, 0).2);
    assert_eq!((set.counts(0).sent, set.counts(0).late), (990, 10));
    // The delay of another one counts: frame 1 of flow 2, then flow 1 from 2 s on.
    written(&mut merged, 1);
    merged.begin_batch(seconds(2) + 500 * MS);
    assert_eq!(written(&mut merged, 1), [(seconds(2), 1, 0)]);
    merged.begin_batch(seconds(4));
    assert_eq!(set.counts(1).late, 999);
    // Of flow 0, of flow 1, and of flow 2, which ends with its number of frames.
    assert_eq!(merged.left(u64::MAX, u64::MAX), Some(10 + 999 + 7));
}

#[test]
fn a_flow_is_over_when_its_own_last_frame_is_sent() {
    let set = FlowSet::new(vec![flow(0, constant(1.0), Some(2)), flow(1, constant(1.0), None)]).unwrap();
    let mut merged = MergedFlows::new(&set, Turn::EVERY);
    assert_eq!(written(&mut merged, 6).iter().filter(|(_, stream, _)| *stream == 0).count(), 2);
    merged.note_sent(2);
    assert_eq!(outcome(&set, 0), (1, 64, false));
    merged.note_sent(3);
    assert_eq!(outcome(&set, 0), (2, 64 + 128, true));
    // A stopped flow is over when its frames in the ring are sent, and at once without any.
    set.command(1, FlowCommand::Stop);
    merged.begin_batch(seconds(4));
    merged.note_sent(5);
    assert!(!outcome(&set, 1).2);
    merged.note_sent(6);
    assert_eq!((outcome(&set, 1).0, outcome(&set, 1).2), (4, true));
}

#[test]
fn flows_without_times_take_turns_and_senders_take_flows() {
    let maximum = |stream| flow(stream, Schedule::Maximum, Some(u64::from(stream)));
    let set = FlowSet::new((1..=4).map(maximum).collect()).unwrap();
    let mut turns = Turn::of_each(2.try_into().unwrap()).map(|turn| MergedFlows::new(&set, turn));
    let (mut first, mut second) = (turns.next().unwrap(), turns.next().unwrap());
    let flows = |merged: &mut MergedFlows<'_>, count| {
        written(merged, count).into_iter().map(|(_, stream, _)| stream).collect::<Vec<_>>()
    };
    assert_eq!(flows(&mut first, 4), [1, 3, 3, 3]);
    assert!(!first.has_next() && first.is_over());
    assert_eq!(flows(&mut second, 3), [2, 4, 2]);
    set.command(3, FlowCommand::Pause);
    second.begin_batch(1);
    assert!(!second.has_next() && !second.is_over());
    set.command(3, FlowCommand::Run);
    second.begin_batch(2);
    assert_eq!(flows(&mut second, 3), [4, 4, 4]);
    assert_eq!(second.left(u64::MAX, u64::MAX), Some(0));
}

/// More frames than the log has places, with some always in the ring.
#[test]
fn counts_stay_exact_while_frames_are_in_a_ring() {
    let set = FlowSet::new(vec![flow(0, constant(3.0), None), flow(1, constant(2.0), None)]).unwrap();
    let mut merged = MergedFlows::new(&set, Turn::EVERY);
    let mut slot = [0; 200];
    let stamp = Stamp { trial: TrialId(1), stream: StreamId(0), sequence: 0, planned_ns: 0 };
    for number in 1..=500_000_u64 {
        merged.write_next(&mut slot, stamp);
        if number % 250 == 0 {
            merged.note_sent(number.saturating_sub(60_000));
            assert_eq!(set.counts(0).sent + set.counts(1).sent, number.saturating_sub(60_000));
        }
    }
    assert_eq!((set.counts(0).sent, set.counts(1).sent), (264_000, 176_000));
    assert_eq!(set.counts(0).octets, 264_000 * 96);
}

#[test]
fn sets_that_mean_nothing_are_refused() {
    let refusal = |flows| FlowSet::new(flows).unwrap_err().to_string();
    assert!(refusal(vec![]).contains("0 flows"));
    let timed = || flow(0, constant(1.0), None);
    assert_eq!(
        refusal(vec![timed(), timed()]),
        "flow f0: its stream is that of another flow; give each its own"
    );
    assert_eq!(
        refusal(vec![timed(), flow(1, Schedule::Maximum, None)]),
        "flow f1: state a rate for every flow of a sender, or for none"
    );
    let bounded = StackFlow { duration: Some(Duration::from_secs(1)), ..flow(1, Schedule::Maximum, None) };
    assert_eq!(refusal(vec![bounded]), "flow f1: a duration or a delay needs a rate; state one");
    assert!(refusal(vec![flow(1, Schedule::WaitLoop { iterations: 1 }, None)]).contains("needs a mean rate"));
}
