//! Sends the frames of a source at the times of a schedule, and accounts for every frame.
//!
//! The pacer reads the clock, sends all due frames in one batch, and spins while none is due. It never sleeps: the shortest
//! sleep is longer than the interval of two frames.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use capbench_frames::flows::MergedFlows;
use capbench_frames::schedule::{Schedule, Turn};
use capbench_frames::stamp::{Stamp, StreamId, TrialId};
use capbench_frames::write::{GeneratedFrames, PlanFrames, Scheduled, WriteFrames};
use capbench_frames::{FrameError, FrameSource, Lateness, SentFrames};

use crate::transmission::{MOST_BATCH, SubmitCounts};
use crate::{Result, TrafficError, Transmit};

/// How long after the end a punctual sender may still send the frames that came due since its last clock read. Without it the
/// last frame of every phase would be missing. A sender that lags gets no such time.
const END_GRACE_NS: u64 = 100_000;

/// When a sending phase ends: at the first of these conditions.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// After this time.
    pub duration: Option<Duration>,
    /// After this many frames.
    pub frames: Option<u64>,
    /// When this becomes true.
    pub stop: &'a AtomicBool,
}

/// One sending phase.
#[derive(Debug, Clone, Copy)]
pub struct SendJob<'a> {
    /// The frames.
    pub frames: FrameSource<'a>,
    /// Their send times, if the frames have none of their own.
    pub schedule: &'a Schedule,
    /// Which frames of the schedule this sender has, or which flows.
    pub turn: Turn,
    /// The end of the whole schedule.
    pub limits: Limits<'a>,
    /// The trial that the stamps name.
    pub trial: TrialId,
    /// The stream that the stamps name.
    pub stream: StreamId,
    /// Where another thread reads the number of frames sent so far.
    pub progress: Option<&'a AtomicU64>,
    /// Time 0 of the schedule, on the monotonic clock. It can be in the future, so that several senders start together.
    pub start: Instant,
}

impl SendJob<'_> {
    /// Its part of the limit by frames.
    fn share(&self) -> Option<u64> {
        self.limits.frames.map(|frames| self.turn.share(frames))
    }
}

/// The counts of a sending phase.
#[derive(Debug)]
pub struct SendReport {
    /// Its frames.
    pub frames: SentFrames,
    /// Octets of the frames sent, FCS included.
    pub octets: u64,
    /// From the start until the last frame was sent.
    pub elapsed: Duration,
    /// Lateness of the frames relative to their plan. Empty if nothing was planned.
    pub lateness: Lateness,
    /// Why the phase ended early, for example because the interface went down.
    pub failure: Option<TrafficError>,
}

impl SendReport {
    /// The counts of two senders that had parts of one schedule.
    pub fn plus(mut self, other: Self) -> Self {
        self.lateness.add(&other.lateness);
        Self {
            frames: self.frames.plus(other.frames),
            octets: self.octets + other.octets,
            elapsed: self.elapsed.max(other.elapsed),
            lateness: self.lateness,
            failure: self.failure.or(other.failure),
        }
    }
}

/// Sends the frames of a job.
///
/// With a schedule, `intended` is the number of frames planned within the limits. Without one ([`Schedule::Maximum`],
/// [`Schedule::WaitLoop`]) it is the frame limit of the phase, or the sent frames if time is the limit.
///
/// The phase never exceeds its duration to catch up: frames not sent by then are `unsent`. A batch that was started before
/// the end is finished.
///
/// # Errors
/// A schedule that does not fit into the stamp. A failure of the transmit method other than a full queue ends the phase. The
/// report has it, together with the frames sent until then.
pub fn run<T: Transmit + ?Sized>(job: &SendJob<'_>, transmit: &mut T) -> Result<SendReport> {
    match job.frames {
        FrameSource::Generated(plan) => {
            job.schedule.check(job.limits.duration.unwrap_or_default())?;
            run_with(job, transmit, GeneratedFrames::new(plan))
        }
        FrameSource::Recorded(frames) => run_with(job, transmit, frames.frames(job.turn)),
        FrameSource::Flows(_) if job.limits.frames.is_some() => {
            Err(FrameError::Schedule("each flow has its own number of frames, and their sender has none")
                .into())
        }
        FrameSource::Flows(set) => {
            let (flows, job) =
                (MergedFlows::new(set, job.turn), &SendJob { schedule: &Schedule::Maximum, ..*job });
            if set.is_planned() { follow(job, transmit, flows) } else { go(job, transmit, flows) }
        }
    }
}

/// Sends frames whose times the job has.
fn run_with<T: Transmit + ?Sized>(
    job: &SendJob<'_>,
    transmit: &mut T,
    frames: impl WriteFrames,
) -> Result<SendReport> {
    match job.schedule.times(job.turn) {
        Some(times) => follow(job, transmit, Scheduled { frames, times }),
        None => go(job, transmit, frames),
    }
}

fn follow<T: Transmit + ?Sized>(
    job: &SendJob<'_>,
    transmit: &mut T,
    frames: impl PlanFrames,
) -> Result<SendReport> {
    let mut phase = Phase::new(job, transmit, frames);
    let failure = phase.follow().err();
    phase.report(failure)
}

fn go<T: Transmit + ?Sized>(
    job: &SendJob<'_>,
    transmit: &mut T,
    frames: impl WriteFrames,
) -> Result<SendReport> {
    let mut phase = Phase::new(job, transmit, frames);
    let failure = phase.go().err();
    phase.report(failure)
}

/// A running sending phase.
struct Phase<'a, T: ?Sized, W> {
    job: &'a SendJob<'a>,
    transmit: &'a mut T,
    frames: W,
    /// End of the phase, nanoseconds since the start.
    end_ns: u64,
    /// Maximum number of frames to send.
    most: u64,
    /// Frames submitted so far: the number of the next frame.
    submitted: u64,
    /// The same, with those of a batch that the method refused by an error.
    written: u64,
    counts: SubmitCounts,
    octets: u64,
    /// When the last batch was sent.
    last_ns: u64,
    lateness: Lateness,
    lengths: [u16; MOST_BATCH],
    planned_ns: [u64; MOST_BATCH],
}

impl<T: Transmit + ?Sized, W: PlanFrames> Phase<'_, T, W> {
    /// Sends according to a plan.
    fn follow(&mut self) -> Result<()> {
        let mut kept_up = true;
        while !self.is_stopped() && !self.is_planned_out_by(0) {
            let Some(now) = self.now_ns() else {
                spin_loop();
                continue;
            };
            let closing = now >= self.end_ns;
            if closing && !(kept_up && now - self.end_ns < END_GRACE_NS) {
                break;
            }
            self.frames.begin_batch(now);
            let room = if self.frames.next_ns() <= now { self.transmit.room().min(MOST_BATCH) } else { 0 };
            let mut count = 0;
            while count < room && self.frames.next_ns() <= now && !self.is_planned_out_by(count) {
                self.write(count, self.frames.next_ns());
                count += 1;
            }
            kept_up = self.frames.next_ns() > now || self.is_planned_out_by(count);
            if count > 0 {
                self.hand_over(count, true)?;
            } else {
                self.push_pending()?;
            }
            if closing {
                break;
            }
        }
        Ok(())
    }

    /// Whether every frame that the limits allow is submitted, or among `written` more frames.
    #[inline]
    fn is_planned_out_by(&self, written: usize) -> bool {
        self.submitted + written as u64 >= self.most || self.frames.is_over_at(self.end_ns)
    }
}

impl<'a, T: Transmit + ?Sized, W: WriteFrames> Phase<'a, T, W> {
    fn new(job: &'a SendJob<'a>, transmit: &'a mut T, frames: W) -> Self {
        let duration = job.limits.duration;
        let by_time = duration.and_then(|duration| job.schedule.intended(duration));
        let by_time = by_time.map(|frames| job.turn.share(frames));
        Self {
            job,
            transmit,
            frames,
            end_ns: duration.map_or(u64::MAX, |duration| duration.as_nanos() as u64),
            most: by_time.unwrap_or(u64::MAX).min(job.share().unwrap_or(u64::MAX)),
            submitted: 0,
            written: 0,
            counts: SubmitCounts::default(),
            octets: 0,
            last_ns: 0,
            lateness: Lateness::default(),
            lengths: [0; MOST_BATCH],
            planned_ns: [0; MOST_BATCH],
        }
    }

    /// Sends as fast as possible, or with a busy loop between frames.
    fn go(&mut self) -> Result<()> {
        let (batch, wait) = match *self.job.schedule {
            Schedule::WaitLoop { iterations } => (1, iterations),
            _ => (MOST_BATCH, 0),
        };
        while !self.is_stopped() && self.submitted < self.most && !self.frames.is_over() {
            let Some(now) = self.now_ns() else {
                spin_loop();
                continue;
            };
            if now >= self.end_ns {
                break;
            }
            self.frames.begin_batch(now);
            let left = usize::try_from(self.most - self.submitted).unwrap_or(usize::MAX);
            let room = self.transmit.room().min(batch).min(left);
            let mut count = 0;
            while count < room && self.frames.has_next() {
                self.write(count, now);
                count += 1;
            }
            if count == 0 {
                self.push_pending()?;
                continue;
            }
            self.hand_over(count, false)?;
            for iteration in 0..wait {
                black_box(iteration);
            }
        }
        Ok(())
    }

    /// Nanoseconds since the start; `None` before it.
    #[inline]
    fn now_ns(&self) -> Option<u64> {
        Instant::now().checked_duration_since(self.job.start).map(|since| since.as_nanos() as u64)
    }

    fn is_stopped(&self) -> bool {
        self.job.limits.stop.load(Ordering::Relaxed)
    }

    /// Writes the next frame into a slot.
    #[inline]
    fn write(&mut self, index: usize, planned_ns: u64) {
        let sequence = self.submitted + index as u64;
        let stamp = Stamp { trial: self.job.trial, stream: self.job.stream, sequence, planned_ns };
        let size = self.frames.write_next(self.transmit.slot(index), stamp);
        self.lengths[index] = size.captured() as u16;
        self.planned_ns[index] = planned_ns;
        self.octets += u64::from(size.octets());
    }

    fn hand_over(&mut self, count: usize, is_planned: bool) -> Result<()> {
        self.written += count as u64;
        self.counts += self.transmit.submit(&self.lengths[..count])?;
        self.submitted += count as u64;
        if let Some(progress) = self.job.progress {
            progress.store(self.counts.sent(), Ordering::Relaxed);
        }
        self.frames.note_sent(self.counts.sent());
        self.last_ns = self.now_ns().unwrap_or(self.last_ns);
        if is_planned {
            for planned in &self.planned_ns[..count] {
                self.lateness.record(self.last_ns.saturating_sub(*planned));
            }
        }
        Ok(())
    }

    /// Nothing is due, or the ring is full: offers frames again that the kernel left in the ring.
    fn push_pending(&mut self) -> Result<()> {
        if self.submitted > self.counts.sent() {
            self.counts += self.transmit.submit(&[])?;
            self.frames.note_sent(self.counts.sent());
        }
        spin_loop();
        Ok(())
    }

    /// Number of frames planned within the limits. `None` without a limit.
    fn planned(&self) -> Option<u64> {
        if self.most < u64::MAX && self.job.schedule.planned_ns(0).is_some() {
            return Some(self.most);
        }
        let most = if self.most == u64::MAX { u64::MAX } else { self.most - self.written };
        let left = self.frames.left(most, self.end_ns);
        left.map(|left| self.written + left)
    }

    fn report(mut self, failure: Option<TrafficError>) -> Result<SendReport> {
        let planned = self.planned();
        let finish = self.transmit.finish()?;
        if finish.counts.sent() > 0 {
            self.last_ns = self.now_ns().unwrap_or(self.last_ns);
        }
        self.counts += finish.counts;
        self.counts.accepted -= finish.dropped;
        self.counts.refused_lost += finish.dropped;
        let sent = self.counts.sent();
        self.frames.note_sent(sent);
        // Frames that were refused by an error or withdrawn from a ring are the last ones.
        let octets = self.octets - self.frames.octets_of_last(self.written - sent);
        let intended = planned.unwrap_or(self.submitted);
        Ok(SendReport {
            frames: SentFrames {
                intended,
                sent,
                unsent: intended - sent,
                accepted: self.counts.accepted,
                refused_lost: self.counts.refused_lost,
                refused_repeated: self.counts.refused_repeated,
                in_flight: finish.in_flight,
            },
            octets,
            elapsed: Duration::from_nanos(self.last_ns),
            lateness: self.lateness,
            failure,
        })
    }
}

#[cfg(test)]
mod tests;
