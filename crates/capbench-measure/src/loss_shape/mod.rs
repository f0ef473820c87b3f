//! The shape of loss: when frames were lost, how many at a time, in which flows, and whether the ring owns up to it.
//!
//! It is made from the sequence numbers of the frames that came. A number that never came is lost; a late one that the
//! tracker still remembers (see `sequence`) has come, and one that it has forgotten counts as a repetition. A
//! damaged or truncated frame says nothing of its number that could be believed, so its number is one that never came.
//! So the bursts sum up to what was sent and not delivered, damaged frames included.
//!
//! | file | what |
//! |---|---|
//! | `sequence` | which numbers came, how often and in what order |
//! | `recorder` | bursts of lost frames, and the time of each frame |
//! | `in_time` | lost frames over the time of a trial |
//! | `windows` | the worst 100 ms; start, middle and end of a trial |
//! | `flows` | loss by flow and by receive queue |
//! | `watch` | marks of loss that the method gives, against the numbers |
//! | `spread` | how lengths are spread |

mod flows;
mod in_time;
pub(crate) mod recorder;
mod sequence;
mod spread;
#[cfg(test)]
mod tests;
mod watch;
mod windows;

use serde::{Deserialize, Serialize};

pub use flows::{FlowLoss, LossByFlow, LossByQueue, QueueLoss};
pub use in_time::LossInTime;
pub use sequence::{Arrival, SequenceTracker};
pub use spread::{Bucket, Spread};
pub(crate) use watch::Watch;
pub use windows::Window;

use recorder::LostRun;
use windows::Windows;

/// When and how frames of a trial were lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossShape {
    /// What times are.
    pub clock: Clock,
    /// Frames handed to the kernel.
    pub sent: u64,
    /// Those of them that never came, or came damaged.
    pub lost: u64,
    /// Damaged and truncated frames that came; they are among the lost ones.
    pub damaged: u64,
    /// Frames lost before the first that came.
    pub before_first: u64,
    /// Frames lost after the last that came.
    pub after_last: u64,
    /// Number of the last frame lost, from 0; absent where none was.
    #[serde(default)]
    pub last_lost: Option<u64>,
    /// Frames lost in the first 100 ms.
    pub lost_at_start: u64,
    /// Frames lost in between.
    pub lost_steadily: u64,
    /// Frames lost in the last 100 ms, where that is not the start, too.
    pub lost_at_end: u64,
    /// How many frames were lost one after the other.
    pub bursts: Spread,
    /// How many came between two bursts.
    pub gaps: Spread,
    /// How much time lay between two bursts, in nanoseconds.
    pub gaps_ns: Spread,
    /// The longest bursts, at most eight, the longest first.
    pub longest: Vec<Burst>,
    /// The 100 ms that lost most frames; absent where none was lost.
    pub worst_window: Option<Window>,
    /// Number of times 100 ms from the beginning on, the last of them begun.
    pub windows: u64,
    /// Those of them that lost something.
    pub lossy_windows: u64,
    /// How many were lost when; absent where none was, and in results of versions before this was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_time: Option<LossInTime>,
    /// By flow; absent where there was but one.
    pub flows: Option<LossByFlow>,
    /// By receive queue; absent where the method does not know the queue of a frame.
    pub queues: Option<LossByQueue>,
    /// What the method said itself of where it lost frames; absent where it does not say.
    pub marks: Option<MarkedLoss>,
}

/// What the times of frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// When they were planned to be sent.
    PlannedSendTime,
    /// At maximum load, which has no plan: when the generator began to write the batch that they were sent in.
    GeneratorTime,
}

/// Frames lost one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Burst {
    /// Number of the first, from 0.
    pub first: u64,
    /// How many.
    pub frames: u64,
    /// Time of the first.
    pub from_ns: u64,
    /// Time of the first frame that came again; the end of sending where none did.
    pub to_ns: u64,
    /// In which part of the trial it began.
    pub position: Position,
    /// Whether the method marked the place; absent where it has no marks, or no frame came that could bear one.
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

/// Marks of loss (`TP_STATUS_LOSING`) against the numbers that never came.
///
/// A ring that is full marks what it hands over next, and everything after it until its counters are read. TPACKET_V3
/// loses between blocks only, and marks blocks; V1 and V2 mark frames. So a burst that the ring lost ends at a mark, and
/// one that ends elsewhere was lost elsewhere. A mark without a burst proves nothing: the counters were read too late to
/// take it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarkedLoss {
    /// Blocks taken; absent where frames are marked.
    pub blocks: Option<u64>,
    /// Those of them that bore a mark.
    pub marked_blocks: Option<u64>,
    /// Bursts that end at a mark.
    pub bursts: u64,
    /// Their frames.
    pub frames: u64,
    /// Of these bursts, those whose mark was taken off by a reading of the counters while the kernel was about to set it:
    /// one for a reading at most, where the counters cover it.
    pub cleared: u64,
    /// Bursts that end without a mark, those at the end of the trial aside.
    pub bursts_elsewhere: u64,
    /// Their frames.
    pub frames_elsewhere: u64,
    /// How often the counters were read because of a mark.
    pub readings: u64,
    /// Frames lost in the ring, by its own counter.
    pub ring_drops: Option<u64>,
    /// Of those, what is neither before a mark nor after the last frame that came: marks and counter contradict each
    /// other, or the ring lost frames that were not of the trial.
    pub drops_without_mark: Option<u64>,
    /// Frames before marks that the ring did not count: they were lost elsewhere, next to others that it did.
    pub frames_beyond_drops: Option<u64>,
}

/// What was noted while frames arrived.
#[derive(Debug)]
pub struct LossRecord {
    tracker: SequenceTracker,
    watch: Watch,
}

/// What is known of a trial only when it is over.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Frames sent.
    pub sent: u64,
    /// When the next frame would have been sent, nanoseconds since the trial started.
    pub at_ns: u64,
    /// What the times of its frames are.
    pub clock: Clock,
    /// Frames that came damaged or truncated.
    pub damaged: u64,
    /// Frames that the method's ring lost.
    pub ring_drops: Option<u64>,
}

impl LossRecord {
    pub(crate) fn new(tracker: SequenceTracker, watch: Watch) -> Self {
        Self { tracker, watch }
    }

    /// The shape of the loss; absent where nothing was recorded.
    pub fn shape(self, end: &End) -> Option<LossShape> {
        shape(self.tracker, &self.watch, end)
    }
}

/// The same for a tracker of any size.
fn shape<const N: usize>(tracker: SequenceTracker<N>, watch: &Watch, end: &End) -> Option<LossShape> {
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
    Some(LossShape {
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
        in_time: Some(time.stretches).filter(|_| lost > 0),
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

impl LossShape {
    /// Loss of which only the times of 100 ms are known, as where no single frame is seen: all of it lies in the middle of the trial.
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

    /// Share of the worst 100 ms that was lost; 0 where nothing was.
    pub fn worst_ratio(&self) -> f64 {
        self.worst_window.map_or(0.0, |window| window.loss_ratio())
    }
}
