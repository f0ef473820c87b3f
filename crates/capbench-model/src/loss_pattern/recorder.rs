//! Records the numbers of a stream that never arrived: in the order of their numbers, in bounded memory.

use capbench_frames::plan::FlowOrder;

use super::flows::FlowCounts;
use super::spread::{Spread, Spreading};
use super::windows::{InTime, Windows};

/// Bursts that are stored one by one, the longest of all.
const KEPT: usize = 8;
/// Largest number of runs between two anchors: one per bit of two words, plus the runs between the words.
const RUNS: usize = 132;

/// A frame with a known planned time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anchor {
    /// Its number.
    pub number: u64,
    /// Its planned time, nanoseconds since the trial started.
    pub time_ns: u64,
}

impl Anchor {
    /// Planned time of frame `number`, between this anchor and the next, by linear interpolation.
    fn time_of(&self, number: u64, next: &Self) -> u64 {
        let frames = next.number.saturating_sub(self.number);
        let time_ns = next.time_ns.saturating_sub(self.time_ns);
        self.time_ns + scale(number - self.number, time_ns, frames, 0)
    }

    /// The first number from here to the next anchor with at least this time, which is later than this anchor's.
    fn first_at(&self, time_ns: u64, next: &Self) -> u64 {
        let frames = next.number.saturating_sub(self.number);
        let all_ns = next.time_ns.saturating_sub(self.time_ns);
        self.number + scale(time_ns - self.time_ns, frames, all_ns, all_ns.saturating_sub(1))
    }
}

/// `(value * factor + more) / divisor`; 0 by 0.
fn scale(value: u64, factor: u64, divisor: u64, more: u64) -> u64 {
    match value.checked_mul(factor).and_then(|product| product.checked_add(more)) {
        Some(product) => product / divisor.max(1),
        None => {
            ((u128::from(value) * u128::from(factor) + u128::from(more)) / u128::from(divisor.max(1))) as u64
        }
    }
}

/// Consecutive frames that all arrived or all were lost.
#[derive(Clone, Copy, Debug)]
struct Run {
    frames: u64,
    is_lost: bool,
    /// Whether its first frame, a received one, has a mark that frames before it were lost.
    is_marked: bool,
}

/// Consecutive frames that never arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LostRun {
    pub(super) first: u64,
    pub(super) frames: u64,
    pub(super) from_ns: u64,
    /// Planned time of the next received frame; the end of the trial if there is none.
    pub(super) to_ns: u64,
    pub(super) is_marked: bool,
}

/// Receives the outcome of all numbers in order, word by word.
///
/// Times are those of anchors: the first received frame of each word. Between two anchors times are interpolated linearly, which
/// is exact for a constant load.
#[derive(Clone, Debug)]
pub struct LossRecorder {
    /// First number whose outcome is not known yet.
    at: u64,
    limit: u64,
    anchor: Anchor,
    /// Runs since the anchor.
    runs: Vec<Run>,
    open: Option<LostRun>,
    /// Frames received since the last burst, and the end of that burst; absent before the first burst.
    since_burst: Option<(u64, u64)>,
    pub(super) tally: Tally,
    pub(super) windows: Windows,
    pub(super) flows: FlowCounts,
}

/// Counts of bursts.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) before_first: u64,
    pub(super) last_lost: Option<u64>,
    pub(super) marked_bursts: u64,
    pub(super) marked_frames: u64,
    bursts: Spreading,
    gaps: Spreading,
    gap_times: Spreading,
    /// Longest first; of equally long ones, the earliest.
    pub(super) longest: Vec<LostRun>,
}

/// Everything that was recorded.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) tally: Tally,
    pub(super) after_last: u64,
    pub(super) bursts: Spread,
    pub(super) gaps: Spread,
    pub(super) gap_times: Spread,
    pub(super) windows: Windows,
    pub(super) flows: FlowCounts,
}

impl LossRecorder {
    /// A recorder for a stream with this order of flows. All memory is allocated here.
    pub fn new(flows: FlowOrder) -> Self {
        Self {
            at: 0,
            limit: u64::MAX,
            anchor: Anchor::default(),
            runs: Vec::with_capacity(RUNS),
            open: None,
            since_burst: None,
            tally: Tally {
                delivered: 0,
                lost: 0,
                before_first: 0,
                last_lost: None,
                marked_bursts: 0,
                marked_frames: 0,
                bursts: Spreading::new(),
                gaps: Spreading::new(),
                gap_times: Spreading::new(),
                longest: Vec::with_capacity(KEPT + 1),
            },
            windows: Windows::default(),
            flows: FlowCounts::new(flows),
        }
    }

    /// Whether the initially allocated memory was enough so far.
    #[cfg(test)]
    pub(super) fn is_within_its_memory(&self) -> bool {
        (self.runs.capacity(), self.tally.longest.capacity()) == (RUNS, KEPT + 1)
    }

    /// Ignores numbers from `sent` on: they were never sent.
    pub(crate) fn limit(&mut self, sent: u64) {
        self.limit = sent;
    }

    /// The next 64 numbers: which arrived, which of those have a mark of loss before them, and an anchor among them.
    pub(crate) fn word(&mut self, came: u64, marks: u64, anchor: Option<Anchor>) {
        let end = (self.at + 64).min(self.limit);
        let split = anchor.filter(|anchor| anchor.number >= self.at && anchor.number < end);
        if let Some(anchor) = split {
            let bits = anchor.number - self.at;
            self.bits(came, marks, 0, bits);
            self.settle(anchor);
            self.bits(came, marks, bits, end - self.at);
        } else {
            self.bits(came, marks, 0, end.saturating_sub(self.at));
        }
        self.at = end.max(self.at);
    }

    /// The next numbers, none of which arrived.
    pub(crate) fn skip(&mut self, frames: u64) {
        let frames = frames.min(self.limit.saturating_sub(self.at));
        self.push(Run { frames, is_lost: true, is_marked: false });
        self.at += frames;
    }

    /// Ends the stream, after the number of frames of [`Self::limit`], at this time.
    pub(super) fn finish(mut self, end_ns: u64) -> Recorded {
        self.skip(u64::MAX);
        let end = Anchor { number: self.limit.max(self.at), time_ns: end_ns.max(self.anchor.time_ns) };
        self.settle(end);
        let after_last = self.open.map_or(0, |open| open.frames);
        if let Some(open) = self.open.take() {
            self.close(LostRun { to_ns: end.time_ns, ..open });
        }
        let Self { tally, windows, flows, .. } = self;
        let (bursts, gaps, gap_times) =
            (tally.bursts.spread(), tally.gaps.spread(), tally.gap_times.spread());
        Recorded { tally, after_last, bursts, gaps, gap_times, windows, flows }
    }

    /// The numbers of some bits of a word.
    fn bits(&mut self, came: u64, marks: u64, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let rest = came >> at;
            let is_lost = rest & 1 == 0;
            let same = if is_lost { rest.trailing_zeros() } else { rest.trailing_ones() };
            let frames = u64::from(same).min(to - at);
            self.push(Run { frames, is_lost, is_marked: !is_lost && marks >> at & 1 == 1 });
            at += frames;
        }
    }

    #[inline]
    fn push(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last) if last.is_lost == run.is_lost => last.frames += run.frames,
            _ if run.frames > 0 => self.runs.push(run),
            _ => {}
        }
    }

    /// Counts the runs between the last anchor and this one.
    fn settle(&mut self, next: Anchor) {
        let anchor = std::mem::replace(&mut self.anchor, next);
        let (first_step, last_step) = (Windows::step_of(anchor.time_ns), Windows::step_of(next.time_ns));
        let mut at = anchor.number;
        for index in 0..self.runs.len() {
            let run = self.runs[index];
            if first_step == last_step {
                self.windows.add(first_step, run.frames, run.is_lost);
            } else {
                self.spread_over_steps(run, at, &anchor, &next);
            }
            if run.is_lost {
                self.lose(run.frames, at, &anchor, &next);
            } else {
                self.deliver(run, at, &anchor, &next);
            }
            at += run.frames;
        }
        self.runs.clear();
    }

    /// Counts a run in each of its steps of time.
    fn spread_over_steps(&mut self, run: Run, first: u64, anchor: &Anchor, next: &Anchor) {
        let (mut at, end) = (first, first + run.frames);
        while at < end {
            let step = Windows::step_of(anchor.time_of(at, next));
            let boundary = Windows::begin_of(step + 1);
            let until = if boundary >= next.time_ns { end } else { anchor.first_at(boundary, next).min(end) };
            self.windows.add(step, until - at, run.is_lost);
            at = until;
        }
    }

    fn lose(&mut self, frames: u64, first: u64, anchor: &Anchor, next: &Anchor) {
        self.tally.lost += frames;
        self.tally.last_lost = (first + frames).checked_sub(1);
        self.flows.lose(first, frames);
        match &mut self.open {
            Some(open) => open.frames += frames,
            None => {
                let from_ns = anchor.time_of(first, next);
                if let Some((came, ended_ns)) = self.since_burst {
                    self.tally.gaps.record(came);
                    self.tally.gap_times.record(from_ns.saturating_sub(ended_ns));
                }
                self.open = Some(LostRun { first, frames, from_ns, to_ns: from_ns, is_marked: false });
            }
        }
    }

    fn deliver(&mut self, run: Run, first: u64, anchor: &Anchor, next: &Anchor) {
        self.tally.delivered += run.frames;
        if let Some(open) = self.open.take() {
            let to_ns = anchor.time_of(first, next);
            self.since_burst = Some((0, to_ns));
            self.close(LostRun { to_ns, is_marked: run.is_marked, ..open });
        }
        if let Some((came, _)) = &mut self.since_burst {
            *came += run.frames;
        }
    }

    fn close(&mut self, burst: LostRun) {
        let tally = &mut self.tally;
        tally.bursts.record(burst.frames);
        if burst.first == 0 {
            tally.before_first = burst.frames;
        }
        if burst.is_marked {
            tally.marked_bursts += 1;
            tally.marked_frames += burst.frames;
        }
        let place = tally.longest.partition_point(|kept| kept.frames >= burst.frames);
        if place < KEPT {
            tally.longest.insert(place, burst);
            tally.longest.truncate(KEPT);
        }
    }
}

impl Recorded {
    /// The loss over time.
    pub(super) fn in_time(&self) -> InTime {
        self.windows.clone().finish()
    }
}
