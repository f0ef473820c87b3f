//! Collects the frames of a method into owned batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capbench_sys::packet::Frame;

use super::{OwnedBatch, Packed};
use crate::pool::{BUFFER_FRAMES, BUFFER_OCTETS, Buffer, Pool};
use crate::{Batch, Capture, CaptureError, Result, Taker};
use capbench_model::counters::LossMark;
use capbench_model::options::CaptureOptions;

/// How long a read waits for more frames while some are already collected. One value for all reads: `recv` needs a system
/// call to change it.
const MORE: Duration = Duration::from_millis(1);

/// Copies the frames of a method into owned batches. A method has one in addition to its ring. It allocates on the first call
/// of [`Capture::next_owned`].
#[derive(Debug)]
pub struct Packing {
    /// `None` while frames are being read with it: the capture that it reads also contains it.
    gathering: Option<Box<Gathering>>,
}

impl Packing {
    /// For a method that returns up to `at_once` frames per read, of up to `largest` octets each.
    pub(crate) fn new(options: &CaptureOptions, at_once: usize, largest: usize) -> Self {
        let largest = largest.clamp(1, options.snap_length.octets() as usize);
        // Every buffer of a read but the last is filled to within one frame of its end.
        let octets = (at_once * largest).div_ceil(BUFFER_OCTETS - largest);
        let reserve = octets.max(at_once.div_ceil(BUFFER_FRAMES)) + 1;
        let buffers = usize::try_from(options.ring.0).unwrap_or(usize::MAX) / BUFFER_OCTETS;
        let gathering = Gathering {
            pool: Arc::new(Pool::new(buffers.max(2 * reserve))),
            reserve,
            available: 0,
            hold: options.retire_timeout,
            single: at_once == 1,
            open: Vec::new(),
            current: 0,
            since: None,
            full: VecDeque::new(),
            too_large: None,
            failure: None,
            did_not_look: false,
        };
        Self { gathering: Some(Box::new(gathering)) }
    }

    /// Whether the last read was skipped because there was no memory. The state of the method's ring is then unknown.
    pub fn did_not_look(&self) -> bool {
        self.gathering.as_ref().is_some_and(|gathering| gathering.did_not_look)
    }

    /// The next batch of the frames that `take` reads from `capture`.
    pub(crate) fn next<C: Capture + ?Sized>(
        capture: &mut C,
        timeout: Duration,
        mut take: impl FnMut(&mut C, Duration, &mut Gathering) -> Result<bool>,
    ) -> Result<Option<OwnedBatch>> {
        let Some(mut gathering) = capture.packing().and_then(|packing| packing.gathering.take()) else {
            let running = capture.running();
            return Err(CaptureError::Batches {
                method: running.method,
                reason: "it returns no frames that could be kept".into(),
            });
        };
        let outcome = gathering.next(timeout, |timeout, taker| take(capture, timeout, taker));
        let outcome = outcome.map_err(|failure| match failure {
            Failure::Capture(error) => error,
            Failure::TooLarge(octets) => CaptureError::Batches {
                method: capture.running().method,
                reason: format!(
                    "it returned a frame of {octets} octets, more than it announced; set a snap length (--snaplen)"
                ),
            },
        });
        if let Some(packing) = capture.packing() {
            packing.gathering = Some(gathering);
        }
        Ok(outcome?.map(OwnedBatch::Packed))
    }
}

/// Batches that are being filled.
#[derive(Debug)]
pub(crate) struct Gathering {
    pool: Arc<Pool<Buffer>>,
    /// Buffers that one read can fill. So many must be free before it.
    reserve: usize,
    /// A lower bound of the free buffers. The pool is asked only when it is too small.
    available: usize,
    /// How long frames may wait for more.
    hold: Duration,
    /// Whether the method returns single frames. Their times, where they have any, then show how long the first has waited,
    /// without a clock read per frame.
    single: bool,
    /// One for each receive queue that has delivered frames.
    open: Vec<Packed>,
    /// Index of the batch for the next frames.
    current: usize,
    /// When the first frame was stored in one of them.
    since: Option<Instant>,
    /// Full batches, in the order of delivery.
    full: VecDeque<Packed>,
    /// Octets of a frame that did not fit, against expectation.
    too_large: Option<usize>,
    /// The error that ended the capture while frames were still to be delivered.
    failure: Option<CaptureError>,
    /// Whether the read was skipped because there was no memory.
    did_not_look: bool,
}

/// Why there is no batch.
#[derive(Debug)]
enum Failure {
    Capture(CaptureError),
    TooLarge(usize),
}

impl Gathering {
    fn next(
        &mut self,
        timeout: Duration,
        mut take: impl FnMut(Duration, &mut Self) -> Result<bool>,
    ) -> std::result::Result<Option<Packed>, Failure> {
        self.did_not_look = false;
        while self.full.is_empty() && self.failure.is_none() && self.too_large.is_none() {
            let waits = if self.since.is_none() { timeout } else { MORE };
            if self.available < self.reserve {
                self.available = self.pool.wait_for(self.reserve, waits);
            }
            if self.available < self.reserve {
                self.did_not_look = true;
                self.close_all();
                break;
            }
            match take(waits, self) {
                Ok(true) if !self.is_over() => {}
                Ok(_) => {
                    self.close_all();
                    break;
                }
                Err(error) => {
                    self.failure = Some(error);
                    self.close_all();
                }
            }
        }
        if let Some(packed) = self.full.pop_front() {
            return Ok(Some(packed));
        }
        match (self.too_large.take(), self.failure.take()) {
            (Some(octets), _) => Err(Failure::TooLarge(octets)),
            (None, Some(error)) => Err(Failure::Capture(error)),
            (None, None) => Ok(None),
        }
    }

    /// Whether frames have waited long enough for others.
    #[inline]
    fn is_over(&mut self) -> bool {
        if self.single
            && let Some(span) = self.open.get(self.current).and_then(|open| open.span)
            && span.least_ns > 0
        {
            // A clock that is set back also ends the wait.
            self.since.get_or_insert_with(Instant::now);
            return u128::from(span.greatest_ns - span.least_ns) >= self.hold.as_nanos();
        }
        self.since.get_or_insert_with(Instant::now).elapsed() >= self.hold
    }

    fn close_all(&mut self) {
        let filled = self.open.drain(..).filter(|packed| packed.frame_count() > 0);
        self.full.extend(filled);
        self.since = None;
    }

    /// Delivers a batch and starts another one of its kind. A receive queue's batches stay in order.
    fn renew(&mut self, index: usize, mark: LossMark, queue: Option<u32>) -> Option<usize> {
        let buffer = self.pool.take()?;
        self.available = self.available.saturating_sub(1);
        let fresh = Packed { buffer, span: None, mark, queue, pool: Arc::clone(&self.pool) };
        match self.open.get_mut(index) {
            Some(old) => self.full.push_back(std::mem::replace(old, fresh)),
            None => self.open.push(fresh),
        }
        Some(index.min(self.open.len() - 1))
    }

    #[cold]
    fn renew_for(&mut self, octets: usize) -> bool {
        let (mark, queue) = self.open.get(self.current).map_or((LossMark::Unknown, None), |full| {
            // Frames lost before the first part of a batch were not lost before the second.
            let mark = if full.mark == LossMark::Batch(true) { LossMark::Batch(false) } else { full.mark };
            (mark, full.queue)
        });
        let renewed = if octets <= BUFFER_OCTETS { self.renew(self.current, mark, queue) } else { None };
        match renewed {
            Some(current) => self.current = current,
            None => self.too_large = Some(octets),
        }
        renewed.is_some()
    }
}

impl Taker for Gathering {
    #[inline]
    fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        let known = self.open.iter().position(|packed| packed.queue == queue);
        self.current = known.unwrap_or(self.open.len());
        match self.open.get_mut(self.current) {
            Some(open) if open.frame_count() == 0 => open.mark = mark,
            // No frame may precede the mark.
            Some(_) if mark != LossMark::Batch(true) => {}
            _ => {
                self.renew(self.current, mark, queue);
            }
        }
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        let has_room = self.open.get(self.current).is_some_and(|open| open.buffer.has_room(frame.data.len()));
        if has_room || self.renew_for(frame.data.len()) {
            self.open[self.current].push(frame);
        }
    }
}

#[cfg(test)]
mod tests;
