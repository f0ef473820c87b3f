//! Flows that lost frames, and receive queues that lost frames.

use capbench_frames::plan::FlowOrder;
use serde::{Deserialize, Serialize};

use super::LossRecord;
use super::spread::{Spread, Spreading};
use crate::members::FlowSharing;

/// Number of flows listed by name, those with the highest loss first.
const NAMED: usize = 8;
/// A burst of more frames than this is counted flow by flow, not frame by frame.
const LONG: u64 = 1 << 20;

/// Loss by flow. A flow's count is exact for received and lost frames: a frame's number determines its flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossByFlow {
    /// Number of flows with sent frames.
    pub flows: u32,
    /// Number of flows that lost frames.
    pub lossy_flows: u32,
    /// Distribution of the lost frames per lossy flow.
    pub lost: Spread,
    /// The flows that lost most, up to eight.
    pub worst: Vec<FlowLoss>,
}

/// The loss of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlowLoss {
    /// Its number.
    pub flow: u32,
    /// Frames sent in it.
    pub sent: u64,
    /// Sent frames that were lost.
    pub lost: u64,
}

/// Loss by receive queue, for methods that know the queue of a frame. A lost frame is assigned to the queue of its flow, if all
/// sampled frames of the flow (the last one of each batch) came through one queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossByQueue {
    /// The queues of received frames.
    pub queues: Vec<QueueLoss>,
    /// Lost frames of flows that were not sampled, or that came through several queues.
    pub lost_elsewhere: u64,
}

/// The loss of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueueLoss {
    /// Its number.
    pub queue: u32,
    /// Frames that came through it.
    pub delivered: u64,
    /// Lost frames of flows that come through it.
    pub lost: u64,
}

/// Whether the frames of a flow came to one member. Streams have flows of their own.
pub(super) fn sharing(members: &[LossRecord], order: FlowOrder) -> FlowSharing {
    let of_member = |member: &LossRecord| -> Vec<Vec<u64>> {
        let of_stream = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut counts = vec![0; order.flows() as usize];
            numbers.for_each(|number| counts[order.flow(number).number() as usize] += 1);
            counts
        };
        member.numbers().map(|mut numbers| of_stream(&mut numbers)).collect()
    };
    let counts: Vec<Vec<Vec<u64>>> = members.iter().map(of_member).collect();
    let mut sharing = FlowSharing::default();
    for stream in 0..counts.first().map_or(0, Vec::len) {
        for flow in 0..order.flows() as usize {
            let each = || counts.iter().map(|member| member[stream][flow]);
            let most = each().max().unwrap_or(0);
            let others = each().sum::<u64>() - most;
            sharing.flows += u32::from(most > 0);
            sharing.split += u32::from(others > 0);
            sharing.split_frames += others;
        }
    }
    sharing
}

/// Counts lost frames by flow.
#[derive(Clone, Debug)]
pub(super) struct FlowCounts {
    order: FlowOrder,
    lost: Vec<u64>,
}

impl FlowCounts {
    pub(super) fn new(order: FlowOrder) -> Self {
        Self { order, lost: vec![0; order.flows() as usize] }
    }

    /// Counts consecutive lost frames.
    pub(super) fn lose(&mut self, first: u64, frames: u64) {
        if let [only] = self.lost.as_mut_slice() {
            *only += frames;
        } else if frames > LONG {
            let (before, behind) =
                (self.order.frames_of_flows(first), self.order.frames_of_flows(first + frames));
            for (lost, (before, behind)) in self.lost.iter_mut().zip(before.iter().zip(behind)) {
                *lost += behind - before;
            }
        } else {
            for number in first..first + frames {
                self.lost[self.order.flow(number).number() as usize] += 1;
            }
        }
    }

    /// Loss by flow; absent if there is only one.
    pub(super) fn by_flow(&self, sent: u64) -> Option<LossByFlow> {
        if self.lost.len() == 1 {
            return None;
        }
        let sent = self.order.frames_of_flows(sent);
        let mut lost = Spreading::new();
        let mut worst = Vec::new();
        for (flow, (&sent, &count)) in sent.iter().zip(&self.lost).enumerate() {
            if count > 0 {
                lost.record(count);
                worst.push(FlowLoss { flow: flow as u32, sent, lost: count });
            }
        }
        worst.sort_by_key(|flow| (std::cmp::Reverse(flow.lost), flow.flow));
        let lossy_flows = worst.len() as u32;
        worst.truncate(NAMED);
        let flows = sent.iter().filter(|sent| **sent > 0).count() as u32;
        Some(LossByFlow { flows, lossy_flows, lost: lost.spread(), worst })
    }

    /// Loss by queue; absent if no batch had a queue.
    pub(super) fn by_queue(&self, seen: &QueueWatch) -> Option<LossByQueue> {
        let mut queues: Vec<_> = seen.delivered.clone();
        queues.sort_by_key(|queue| queue.queue);
        let mut lost_elsewhere = 0;
        for (flow, lost) in self.lost.iter().enumerate() {
            let of_flow = match seen.of_flow.get(flow) {
                Some(QueueOfFlow::One(queue)) => Some(*queue),
                _ => None,
            };
            match queues.iter_mut().find(|queue| Some(queue.queue) == of_flow) {
                Some(queue) => queue.lost += lost,
                None => lost_elsewhere += lost,
            }
        }
        (!queues.is_empty()).then_some(LossByQueue { queues, lost_elsewhere })
    }
}

/// Learns the queue of flows, once per batch.
#[derive(Clone, Debug)]
pub(super) struct QueueWatch {
    order: FlowOrder,
    of_flow: Vec<QueueOfFlow>,
    delivered: Vec<QueueLoss>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueOfFlow {
    Unseen,
    One(u32),
    Several,
}

impl QueueWatch {
    pub(super) fn new(order: FlowOrder) -> Self {
        Self { order, of_flow: vec![QueueOfFlow::Unseen; order.flows() as usize], delivered: Vec::new() }
    }

    /// A batch came through a queue: it had `frames` frames of the trial, the last with number `last`.
    pub(super) fn note(&mut self, queue: u32, frames: u64, last: u64) {
        match self.delivered.iter_mut().find(|known| known.queue == queue) {
            Some(known) => known.delivered += frames,
            None => self.delivered.push(QueueLoss { queue, delivered: frames, lost: 0 }),
        }
        let of_flow = &mut self.of_flow[self.order.flow(last).number() as usize];
        *of_flow = match *of_flow {
            QueueOfFlow::Unseen => QueueOfFlow::One(queue),
            QueueOfFlow::One(known) if known == queue => return,
            _ => QueueOfFlow::Several,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{FlowCounts, LONG, QueueWatch};
    use capbench_frames::{FrameLayout, FramePlan, Mtu, layout::Flows, plan::FlowOrder};

    fn order(flows: u32, sizes: &str) -> FlowOrder {
        let layout = FrameLayout { flows: Flows::new(flows).unwrap(), ..FrameLayout::default() };
        FramePlan::new(layout, sizes.parse().unwrap(), Mtu(1500)).unwrap().flow_order()
    }

    #[test]
    fn long_and_short_bursts_count_alike() {
        let order = order(7, "imix");
        let (mut long, mut short) = (FlowCounts::new(order), FlowCounts::new(order));
        long.lose(5, 3 * LONG);
        for part in 0..3 {
            short.lose(5 + part * LONG, LONG);
        }
        assert_eq!(long.lost, short.lost);
        assert_eq!(long.lost.iter().sum::<u64>(), 3 * LONG);
    }

    #[test]
    fn the_worst_flows_come_first_and_one_flow_is_no_spread() {
        let mut counts = FlowCounts::new(order(20, "64"));
        for (number, frames) in [(3, 1), (23, 1), (43, 1), (5, 4)] {
            counts.lose(number, frames);
        }
        let found = counts.by_flow(100).unwrap();
        assert_eq!((found.flows, found.lossy_flows, found.lost.total), (20, 5, 7));
        assert_eq!((found.worst[0].flow, found.worst[0].sent, found.worst[0].lost), (3, 5, 3));
        assert_eq!(FlowCounts::new(order(1, "64")).by_flow(100), None);
    }

    #[test]
    fn a_lost_frame_belongs_to_the_queue_of_its_flow() {
        let order = order(4, "64");
        let mut counts = FlowCounts::new(order);
        let mut watch = QueueWatch::new(order);
        assert_eq!(counts.by_queue(&watch), None, "no method reported a queue");
        for (queue, frames, last) in [(0, 10, 0), (1, 5, 1), (0, 10, 4), (0, 1, 2), (1, 1, 6)] {
            watch.note(queue, frames, last);
        }
        counts.lose(0, 8);
        let found = counts.by_queue(&watch).unwrap();
        let queues: Vec<_> = found.queues.iter().map(|one| (one.queue, one.delivered, one.lost)).collect();
        assert_eq!(queues, [(0, 21, 2), (1, 6, 2)]);
        assert_eq!(found.lost_elsewhere, 4, "flow 2 came through both, flow 3 through none");
    }
}
