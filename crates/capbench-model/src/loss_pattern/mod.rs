//! The shape of loss: when frames were lost, how many in a row, in which flows, and whether the ring's marks agree.
//!
//! It is computed from the sequence numbers of received frames. A number that never arrived is lost. A late frame counts as
//! received while the tracker remembers its number (see `sequence`), and as a duplicate afterwards. The number of a damaged or
//! truncated frame is unreliable, so it counts as never received. Therefore the bursts sum up to the sent frames that were not
//! delivered, damaged ones included.
//!
//! | file | content |
//! |---|---|
//! | `sequence` | which numbers arrived, how often and in what order |
//! | `recorder` | bursts of lost frames, and the time of each frame |
//! | `in_time` | lost frames over the time of a trial |
//! | `windows` | the worst 100 ms; start, middle and end of a trial |
//! | `flows` | loss by flow and by receive queue |
//! | `watch` | compares the method's loss marks with the numbers |
//! | `spread` | the distribution of lengths |

mod flows;
mod in_time;
mod recorder;
mod sequence;
mod spread;
#[cfg(test)]
mod tests;
mod watch;
mod windows;

use capbench_frames::plan::FlowOrder;
use serde::{Deserialize, Serialize};

use crate::members::FlowSharing;

pub use flows::{FlowLoss, LossByFlow, LossByQueue, QueueLoss};
pub use in_time::LossInTime;
pub use sequence::{Arrival, SequenceTracker};
pub use spread::{Bucket, Spread};
pub use watch::Watch;
pub use windows::{Window, windows_in, windows_per_second};

use recorder::LostRun;
use windows::Windows;

/// When and how frames of a trial were lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossPattern {
    /// Meaning of the times.
    pub clock: Clock,
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Sent frames that never arrived, or arrived damaged.
    pub lost: u64,
    /// Damaged and truncated frames that arrived; they are among the lost ones.
    pub damaged: u64,
    /// Frames lost before the first received one.
    pub before_first: u64,
    /// Frames lost after the last received one.
    pub after_last: u64,
    /// Number of the last lost frame, from 0; absent if none was lost.
    #[serde(default)]
    pub last_lost: Option<u64>,
    /// Frames lost in the first 100 ms.
    pub lost_at_start: u64,
    /// Frames lost between start and end.
    pub lost_steadily: u64,
    /// Frames lost in the last 100 ms, if that is not also the start.
    pub lost_at_end: u64,
    /// Consecutive frames lost per burst.
    pub bursts: Spread,
    /// Frames received between two bursts.
    pub gaps: Spread,
    /// Time between two bursts in nanoseconds.
    pub gaps_ns: Spread,
    /// The longest bursts, up to eight, in descending order.
    pub longest: Vec<Burst>,
    /// The 100 ms window that lost most frames; absent if none was lost.
    pub worst_window: Option<Window>,
    /// Number of 100 ms windows from the beginning, including the last partial one.
    pub windows: u64,
    /// Number of windows with loss.
    pub lossy_windows: u64,
    /// Lost frames over time; absent if none was lost, and in results of versions that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_time: Option<LossInTime>,
    /// Loss by flow; absent if there was only one.
    pub flows: Option<LossByFlow>,
    /// Loss by receive queue; absent if the method does not know the queue of a frame.
    pub queues: Option<LossByQueue>,
    /// The method's own loss marks; absent if it has none.
    pub marks: Option<MarkedLoss>,
}

/// Meaning of a frame's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The planned send time.
    PlannedSendTime,
    /// At maximum load, which has no plan: when the generator began to write the frame's batch.
    GeneratorTime,
    /// Of a generator that writes no time into its frames: when the frame arrived, after the first one.
    ArrivalTime,
}

/// Consecutive lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Burst {
    /// Number of the first lost frame, from 0.
    pub first: u64,
    /// Number of lost frames.
    pub frames: u64,
    /// Time of the first lost frame.
    pub from_ns: u64,
    /// Time of the next received frame; the end of sending if there is none.
    pub to_ns: u64,
    /// The part of the trial in which it began.
    pub position: Position,
    /// Whether the method marked the place; absent if it has no marks, or if no received frame could have the mark.
    pub marked: Option<bool>,
}

/// A part of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Its first 100 ms.
    Start,
    /// Neither start nor end.
    Steady,
    /// Its last 100 ms.
    End,
}

/// Loss marks (`TP_STATUS_LOSING`) compared with the missing numbers.
///
/// A full ring marks what it delivers next, and everything after it until its counters are read. TPACKET_V3 loses frames only
/// between blocks, and marks blocks; V1 and V2 mark frames. So a burst that the ring lost ends at a mark, and a burst that ends
/// elsewhere was lost elsewhere. A mark without a burst proves nothing: the counters were read too late to clear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarkedLoss {
    /// Blocks read; absent if frames are marked.
    pub blocks: Option<u64>,
    /// Blocks with a mark.
    pub marked_blocks: Option<u64>,
    /// Bursts that end at a mark.
    pub bursts: u64,
    /// Frames of the bursts that end at a mark.
    pub frames: u64,
    /// Bursts among these whose mark was cleared by a counter read while the kernel was about to set it: up to one per read, if
    /// the counters cover it.
    pub cleared: u64,
    /// Bursts that end without a mark, except those at the end of the trial.
    pub bursts_elsewhere: u64,
    /// Frames of the bursts that end without a mark.
    pub frames_elsewhere: u64,
    /// Number of counter reads because of a mark.
    pub readings: u64,
    /// Frames lost in the ring, by its own counter.
    pub ring_drops: Option<u64>,
    /// Ring drops that are neither before a mark nor after the last received frame. Then marks and counter contradict each
    /// other, or the ring lost frames that did not belong to the trial.
    pub drops_without_mark: Option<u64>,
    /// Frames before marks that the ring did not count: they were lost elsewhere, next to frames that the ring counted.
    pub frames_beyond_drops: Option<u64>,
}

/// Records made while frames arrived, of each stream.
#[derive(Debug)]
pub struct LossRecord {
    trackers: Vec<SequenceTracker>,
    watch: Watch,
}

/// Facts about a trial that are known only after its end.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Frames sent.
    pub sent: u64,
    /// Planned time of the next frame after the last one, in nanoseconds since the trial started.
    pub at_ns: u64,
    /// Meaning of the frames' times.
    pub clock: Clock,
    /// Frames that arrived damaged or truncated.
    pub damaged: u64,
    /// Frames that the method's ring lost.
    pub ring_drops: Option<u64>,
}

impl LossRecord {
    /// The record of a trial whose streams `trackers` have followed, and `watch` if there is only one.
    pub fn new(trackers: Vec<SequenceTracker>, watch: Watch) -> Self {
        Self { trackers, watch }
    }

    /// What several members recorded of the same streams, as one record: how many frames of each stream came to two of them, and
    /// whether flows stayed together. `None` if a member does not remember all its numbers.
    pub fn joined(members: Vec<Self>, flows: FlowOrder) -> Option<(Self, Vec<u64>, FlowSharing)> {
        let sharing = flows::sharing(&members, flows);
        let mut members = members.into_iter();
        let mut joined = members.next()?;
        let mut twice = vec![0; joined.trackers.len()];
        for other in members {
            for ((tracker, other), twice) in joined.trackers.iter_mut().zip(&other.trackers).zip(&mut twice) {
                *twice += tracker.join(other)?;
            }
        }
        Some((joined, twice, sharing))
    }

    /// The numbers that came, of each stream.
    fn numbers(&self) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        self.trackers.iter().map(SequenceTracker::numbers)
    }

    /// The pattern of each stream's loss, with these ends; empty where nothing was recorded.
    pub fn patterns(self, end_of: impl Fn(usize) -> End) -> Vec<LossPattern> {
        let Self { trackers, watch } = self;
        let pattern = |(stream, tracker)| shape(tracker, &watch, &end_of(stream));
        trackers.into_iter().enumerate().filter_map(pattern).collect()
    }
}

/// The pattern of one stream's loss.
fn shape(tracker: SequenceTracker, watch: &Watch, end: &End) -> Option<LossPattern> {
    let recorded = tracker.finish(end.sent)?.finish(end.at_ns);
    let time = recorded.in_time();
    let has_marks = watch.marks.of_batches || watch.marks.of_frames;
    let burst = |run: &LostRun| Burst {
        first: run.first,
        frames: run.frames,
        from_ns: run.from_ns,
        to_ns: run.to_ns,
        position: position(run.from_ns, &recorded.windows),
        marked: (has_marks && run.first + run.frames < end.sent).then_some(run.is_marked),
    };
    let lost = recorded.tally.lost;
    Some(LossPattern {
        clock: end.clock,
        sent: end.sent,
        lost,
        damaged: end.damaged,
        before_first: recorded.tally.before_first,
        after_last: recorded.after_last,
        last_lost: recorded.tally.last_lost,
        lost_at_start: time.lost_at_start,
        lost_steadily: lost - time.lost_at_start - time.lost_at_end,
        lost_at_end: time.lost_at_end,
        longest: recorded.tally.longest.iter().map(burst).collect(),
        worst_window: time.worst,
        windows: time.windows,
        lossy_windows: time.lossy_windows,
        in_time: (lost > 0).then_some(time.stretches),
        flows: recorded.flows.by_flow(end.sent),
        queues: recorded.flows.by_queue(&watch.queues),
        marks: has_marks.then(|| marked(&recorded, watch, end)),
        bursts: recorded.bursts,
        gaps: recorded.gaps,
        gaps_ns: recorded.gap_times,
    })
}

fn position(from_ns: u64, windows: &Windows) -> Position {
    if Windows::is_start(from_ns) {
        Position::Start
    } else if windows.is_end(from_ns) {
        Position::End
    } else {
        Position::Steady
    }
}

fn marked(recorded: &recorder::Recorded, watch: &Watch, end: &End) -> MarkedLoss {
    let (marks, tally) = (&watch.marks, &recorded.tally);
    let open_bursts = u64::from(recorded.after_last > 0);
    let frames = tally.marked_frames;
    MarkedLoss {
        blocks: marks.of_batches.then_some(marks.batches),
        marked_blocks: marks.of_batches.then_some(marks.marked_batches),
        bursts: tally.marked_bursts,
        frames,
        cleared: marks.cleared,
        bursts_elsewhere: recorded.bursts.count - tally.marked_bursts - open_bursts,
        frames_elsewhere: tally.lost - frames - recorded.after_last,
        readings: marks.readings,
        ring_drops: end.ring_drops,
        drops_without_mark: end.ring_drops.map(|drops| drops.saturating_sub(frames + recorded.after_last)),
        frames_beyond_drops: end.ring_drops.map(|drops| frames.saturating_sub(drops)),
    }
}

impl LossPattern {
    /// Loss known only by 100 ms windows, because single frames are not visible: all of it counts as middle of the trial.
    pub fn in_windows(sent: u64, lost: u64, windows: u64, lossy_windows: u64) -> Self {
        Self {
            clock: Clock::PlannedSendTime,
            sent,
            lost,
            damaged: 0,
            before_first: 0,
            after_last: 0,
            last_lost: None,
            lost_at_start: 0,
            lost_steadily: lost,
            lost_at_end: 0,
            bursts: Spread::default(),
            gaps: Spread::default(),
            gaps_ns: Spread::default(),
            longest: Vec::new(),
            worst_window: None,
            windows,
            lossy_windows,
            in_time: None,
            flows: None,
            queues: None,
            marks: None,
        }
    }

    /// Share of the sent frames that was lost.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }

    /// Share of the worst 100 ms that was lost; 0 if nothing was lost.
    pub fn worst_ratio(&self) -> f64 {
        self.worst_window.map_or(0.0, |window| window.loss_ratio())
    }
}
