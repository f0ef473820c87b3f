//! The order in which one sender writes the frames of its flows: by planned time, then by the number of the flow.
//!
//! A heap has one entry a flow. The entry on top is the next frame, for the pacer and for the writer. Flows without planned times
//! take turns: their "time" is the number of their frames.
//!
//! A flow with a duration ends by the clock. What it has not written by then is unsent, but for the frames of a sender that is up to
//! [`GRACE_NS`] behind its plan: a pause of its CPU at the end must not cost frames.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::atomic::Ordering;

use super::{FlowCommand, FlowSet, StackFlow};
use crate::schedule::PlannedTimes;
use crate::stack::StackFrames;
use crate::write::{PlanFrames, WriteFrames};
use crate::{FrameSize, Schedule, Stamp, Turn};

/// Frames that can be written before it is known which of them were sent: more than any ring has slots.
const LOG: usize = 1 << 18;

/// How far behind its plan a flow may be at its end, and still send the rest.
const GRACE_NS: u64 = 20_000_000;

/// The frames of several flows, in the order of one sender.
#[derive(Debug)]
pub struct MergedFlows<'a> {
    set: &'a FlowSet,
    flows: Box<[Running<'a>]>,
    /// Planned time and number in `flows` of the next frame of each flow that is to send.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    paused: usize,
    /// The number of commands that were carried out.
    commands: u32,
    /// When the first flow ends by the clock; [`u64::MAX`]: none does.
    first_end_ns: u64,
    /// Flow and size of each frame that is written and not yet known to be sent.
    log: Box<[(u32, u16)]>,
    log_begin: usize,
    log_end: usize,
    settled: u64,
}

/// A flow that this sender sends.
#[derive(Debug)]
struct Running<'a> {
    number: usize,
    frames: StackFrames<'a>,
    times: Times,
    /// Number of its next frame.
    sequence: u64,
    /// How many frames it has written when it is over; [`u64::MAX`] before.
    written: u64,
    /// It ends with this number.
    most: u64,
    /// It ends with frames planned at this time.
    end_ns: u64,
    /// From the times of its schedule to those of the phase: its delay and its pauses.
    offset_ns: u64,
    /// Frames that were planned before its end by the clock and not written.
    unsent: u64,
    state: State,
}

#[derive(Debug, Clone)]
enum Times {
    Planned(PlannedTimes),
    Turns(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    Paused { since_ns: u64 },
    Over,
}

impl<'a> MergedFlows<'a> {
    /// The flows of a turn: several senders take flows in turn. Their counts begin at 0.
    pub fn new(set: &'a FlowSet, turn: Turn) -> Self {
        let of_turn = set.flows.iter().enumerate().filter(|(number, _)| turn.has(*number as u64));
        let flows: Box<[_]> = of_turn.map(|(number, flow)| Running::new(number, flow)).collect();
        flows.iter().for_each(|flow| set.shared[flow.number].begin());
        let commands = set.commands.load(Ordering::Acquire);
        let due = BinaryHeap::with_capacity(flows.len());
        let log = vec![(0, 0); LOG].into();
        let mut merged = Self {
            set,
            flows,
            due,
            paused: 0,
            commands,
            first_end_ns: u64::MAX,
            log,
            log_begin: 0,
            log_end: 0,
            settled: 0,
        };
        merged.carry_out(0);
        merged
    }

    /// Carries out the commands of other threads, and ends flows by the clock.
    #[cold]
    fn carry_out(&mut self, now_ns: u64) {
        self.due.clear();
        (self.paused, self.first_end_ns) = (0, u64::MAX);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let command = FlowCommand::of(self.set.shared[flow.number].command.load(Ordering::Relaxed));
            flow.state = match (flow.state, command) {
                (State::Over, _) | (_, FlowCommand::Stop) => State::Over,
                (State::Runs, FlowCommand::Pause) => State::Paused { since_ns: now_ns },
                (State::Paused { since_ns }, FlowCommand::Run) => {
                    flow.offset_ns += now_ns - since_ns;
                    State::Runs
                }
                (state, _) => state,
            };
            // A flow that paused must not make up for its turns.
            if let Times::Turns(turn) = &mut flow.times {
                *turn = 0;
            }
            if flow.is_late(now_ns) {
                flow.unsent = flow.left(&self.set.flows[flow.number].schedule, u64::MAX);
                self.set.shared[flow.number].late.store(flow.unsent, Ordering::Relaxed);
                flow.end();
            }
            match (flow.state, flow.next_ns()) {
                (State::Runs, Some(next_ns)) => {
                    self.due.push(Reverse((next_ns, index as u32)));
                    self.first_end_ns = self.first_end_ns.min(flow.clock_end_ns());
                }
                (State::Paused { .. }, Some(_)) => self.paused += 1,
                _ => {
                    flow.end();
                    // Otherwise its last frame shows it.
                    let shared = &self.set.shared[flow.number];
                    if shared.sent.load(Ordering::Relaxed) == flow.written {
                        shared.is_over.store(true, Ordering::Release);
                    }
                }
            }
        }
    }
}

impl<'a> Running<'a> {
    fn new(number: usize, flow: &'a StackFlow) -> Self {
        let times = flow.schedule.times(Turn::EVERY);
        Self {
            number,
            frames: flow.plan.frames(),
            times: times.map_or(Times::Turns(0), Times::Planned),
            sequence: 0,
            written: u64::MAX,
            most: flow.frames.unwrap_or(u64::MAX),
            end_ns: flow.duration.map_or(u64::MAX, |duration| duration.as_nanos() as u64),
            offset_ns: flow.delay.as_nanos() as u64,
            unsent: 0,
            state: State::Runs,
        }
    }

    /// When it ends by the clock; [`u64::MAX`]: it does not.
    fn clock_end_ns(&self) -> u64 {
        self.end_ns.saturating_add(self.offset_ns)
    }

    /// Whether its time is over, and it is too far behind its plan to send the rest.
    fn is_late(&self, now_ns: u64) -> bool {
        let is_behind = || self.next_ns().is_some_and(|next_ns| now_ns - next_ns > GRACE_NS);
        self.state == State::Runs && now_ns >= self.clock_end_ns() && is_behind()
    }

    /// When its next frame is due; `None` if it has no more.
    #[inline]
    fn next_ns(&self) -> Option<u64> {
        let time = match &self.times {
            Times::Planned(times) => times.next_ns(),
            Times::Turns(turn) => *turn,
        };
        (self.sequence < self.most && time < self.end_ns).then(|| time.saturating_add(self.offset_ns))
    }

    /// It writes no more frames.
    fn end(&mut self) {
        self.state = State::Over;
        self.written = self.sequence;
    }

    #[inline]
    fn advance(&mut self) {
        self.sequence += 1;
        match &mut self.times {
            Times::Planned(times) => times.advance(),
            Times::Turns(turn) => *turn += 1,
        }
    }

    /// Frames planned before this time that are not written; 0 if no number and no planned time limits them.
    fn left(&self, schedule: &Schedule, end_ns: u64) -> u64 {
        let most = self.most - self.sequence;
        let end_ns = if end_ns == u64::MAX { end_ns } else { end_ns.saturating_sub(self.offset_ns) };
        let end_ns = end_ns.min(self.end_ns);
        match &self.times {
            _ if self.state == State::Over => self.unsent,
            _ if end_ns == u64::MAX => {
                if self.most == u64::MAX {
                    0
                } else {
                    most
                }
            }
            Times::Planned(times) => match schedule.planned_before(end_ns, self.most) {
                Some(planned) => planned.saturating_sub(self.sequence),
                None => times.before(end_ns, most),
            },
            Times::Turns(_) => 0,
        }
    }
}

impl WriteFrames for MergedFlows<'_> {
    #[inline]
    fn write_next(&mut self, slot: &mut [u8], stamp: Stamp) -> FrameSize {
        let mut due = self.due.peek_mut().expect("no frame is written after the last one");
        let Reverse((_, index)) = *due;
        let flow = &mut self.flows[index as usize];
        let size = flow.frames.write_next(slot, Stamp { sequence: flow.sequence, ..stamp });
        self.log[self.log_end] = (index, size.octets());
        self.log_end += 1;
        flow.advance();
        match flow.next_ns() {
            Some(next_ns) => *due = Reverse((next_ns, index)),
            None => {
                flow.end();
                PeekMut::pop(due);
            }
        }
        size
    }

    #[inline]
    fn begin_batch(&mut self, now_ns: u64) {
        let commands = self.set.commands.load(Ordering::Acquire);
        if commands != self.commands || now_ns >= self.first_end_ns {
            self.commands = commands;
            self.carry_out(now_ns);
        }
    }

    #[inline]
    fn note_sent(&mut self, sent: u64) {
        let count = (sent - self.settled) as usize;
        self.settled = sent;
        for (index, octets) in &self.log[self.log_begin..self.log_begin + count] {
            let flow = &self.flows[*index as usize];
            let shared = &self.set.shared[flow.number];
            // Only this thread writes them.
            let sent = shared.sent.load(Ordering::Relaxed) + 1;
            shared.sent.store(sent, Ordering::Relaxed);
            let octets = shared.octets.load(Ordering::Relaxed) + u64::from(*octets);
            shared.octets.store(octets, Ordering::Relaxed);
            if sent == flow.written {
                shared.is_over.store(true, Ordering::Release);
            }
        }
        self.log_begin += count;
        if self.log_begin == self.log_end {
            (self.log_begin, self.log_end) = (0, 0);
        } else if self.log_end > LOG / 2 {
            self.log.copy_within(self.log_begin..self.log_end, 0);
            (self.log_begin, self.log_end) = (0, self.log_end - self.log_begin);
        }
    }

    fn octets_of_last(&self, frames: u64) -> u64 {
        let begin = self.log_end - frames as usize;
        self.log[begin..self.log_end].iter().map(|(_, octets)| u64::from(*octets)).sum()
    }

    #[inline]
    fn has_next(&self) -> bool {
        !self.due.is_empty()
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.due.is_empty() && self.paused == 0
    }

    fn left(&self, _: u64, end_ns: u64) -> Option<u64> {
        let left = |flow: &Running<'_>| {
            let left = flow.left(&self.set.flows[flow.number].schedule, end_ns);
            self.set.shared[flow.number].intended.store(flow.sequence + left, Ordering::Relaxed);
            left
        };
        Some(self.flows.iter().map(left).sum())
    }
}

impl PlanFrames for MergedFlows<'_> {
    #[inline]
    fn next_ns(&self) -> u64 {
        self.due.peek().map_or(u64::MAX, |Reverse((next_ns, _))| *next_ns)
    }

    #[inline]
    fn is_over_at(&self, end_ns: u64) -> bool {
        self.paused == 0 && self.next_ns() >= end_ns
    }
}
