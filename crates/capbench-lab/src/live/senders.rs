//! The generators of a trial, which send its load together.
//!
//! A generator whose process ends while it sends spoils the trial, and its frames are no longer awaited; the others send on. One
//! that cannot be made ready for a trial takes part in no later one of the set-up. An error of a generator that can still be reached is the trial's.

use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use capbench_frames::stamp::{StreamId, TrialId};
use capbench_model::noise::Noise;
use capbench_model::trial::Share;

use super::ends::TransmitEnd;
use super::halves::{ReceiveHalf, TransmitHalf};
use super::messages::{Arm, FinishSending, Go, Sent};
use crate::receiver::SharedStart;
use crate::{LabError, Result};

/// One generator.
#[allow(missing_debug_implementations)]
pub struct Sender<'l> {
    end: Box<dyn TransmitEnd + 'l>,
    /// The first of its streams.
    stream: StreamId,
    /// How many it has: one of each thread.
    streams: NonZeroU16,
    weight: NonZeroU32,
    location: Option<String>,
    is_on_its_host: bool,
    /// Its part of the current trial; `None` if it does not take part.
    part: Option<Arm>,
    /// Why it takes part in no further trial.
    failure: Option<String>,
}

/// All generators of a set-up's trials.
#[allow(missing_debug_implementations)]
pub struct Senders<'l> {
    each: Vec<Sender<'l>>,
    /// How many streams the receiver follows.
    streams: u16,
    /// Why generators take no part at all.
    absent: Vec<String>,
    /// How many more may end.
    tolerated: usize,
}

/// Errors of generators during a trial.
#[derive(Default)]
struct Errors {
    /// The first of those whose process ended.
    lost: Option<LabError>,
    /// The first of the others.
    other: Option<LabError>,
}

impl<'l> Sender<'l> {
    /// The generator of this many streams from `stream` on, which sends this weight's share of the load. A generator in another
    /// process has a location, which is saved with its account; `None`: the receiver shares its clock.
    pub fn new(
        end: Box<dyn TransmitEnd + 'l>,
        stream: StreamId,
        streams: NonZeroU16,
        weight: NonZeroU32,
        location: Option<String>,
        is_on_its_host: bool,
    ) -> Self {
        Self { end, stream, streams, weight, location, is_on_its_host, part: None, failure: None }
    }

    /// The first of its streams.
    pub(super) fn stream(&self) -> StreamId {
        self.stream
    }

    /// All its streams.
    pub(super) fn streams(&self) -> impl Iterator<Item = StreamId> + use<> {
        (self.stream.0..=u8::MAX).take(self.streams.get().into()).map(StreamId)
    }

    /// Whether it runs on the receiver's host.
    pub(super) fn is_on_its_host(&self) -> bool {
        self.is_on_its_host
    }

    /// Where it is, if it is in another process.
    pub(super) fn location(&self) -> Option<&str> {
        self.location.as_deref()
    }

    /// Its part of the current trial; `None` if it does not take part.
    pub(super) fn part(&self) -> Option<&Arm> {
        self.part.as_ref()
    }

    /// Why it ended, if it did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether it still takes part in the current trial.
    fn sends(&self) -> bool {
        self.part.is_some() && self.failure.is_none()
    }
}

impl Errors {
    /// The value, if there is no error.
    fn note<T>(&mut self, sender: &mut Sender<'_>, result: Result<T>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        if sender.end.is_lost() {
            self.end(sender, error);
        } else {
            self.other.get_or_insert(error);
        }
        None
    }

    /// Its process ended.
    fn end(&mut self, sender: &mut Sender<'_>, error: LabError) {
        sender.failure = Some(error.to_string());
        self.lost.get_or_insert(error);
    }

    /// What some generators returned, unless an error is the trial's: one of a generator that is still there, or all ended.
    fn or<T>(self, values: Vec<T>) -> Result<Vec<T>> {
        match self.other.or(self.lost.filter(|_| values.is_empty())) {
            Some(error) => Err(error),
            None => Ok(values),
        }
    }
}

impl<'l> Senders<'l> {
    /// These generators, of which `tolerated` may end before the trials are over. `absent` says why others of the `streams` take
    /// no part.
    pub fn new(each: Vec<Sender<'l>>, streams: u16, absent: Vec<String>, tolerated: usize) -> Self {
        Self { each, streams, absent, tolerated }
    }

    /// The only generator, in this process.
    pub fn one(end: Box<dyn TransmitEnd + 'l>, streams: NonZeroU16) -> Self {
        let sender = Sender::new(end, StreamId(0), streams, NonZeroU32::MIN, None, true);
        Self::new(vec![sender], streams.get(), Vec::new(), 0)
    }

    pub(super) fn each(&self) -> &[Sender<'l>] {
        &self.each
    }

    /// Whether all of them share this process's clock.
    pub(super) fn are_here(&self) -> bool {
        self.each.iter().all(|sender| sender.location.is_none())
    }

    /// Whether the process of one ended in the current trial.
    pub(super) fn are_lost(&self) -> bool {
        self.each.iter().any(|sender| sender.part.is_some() && sender.end.is_lost())
    }

    /// Which generators do not take part in the current trial, and why; `None` if all do.
    pub(super) fn absence(&self) -> Option<Noise> {
        let mut reasons = self.absent.clone();
        for sender in &self.each {
            if sender.part.is_none() {
                reasons.extend(sender.failure.clone());
            }
        }
        if reasons.is_empty() {
            return None;
        }
        let all = self.each.len() + self.absent.len();
        Some(Noise::GeneratorsAbsent { absent: reasons.len() as u32, all: all as u32, reasons })
    }

    /// Makes them ready, each for its part of the load. If one ends meanwhile that may, the others get its part.
    ///
    /// # Errors
    /// Why one cannot send, or the failure of more than may end.
    pub(super) fn arm(&mut self, arm: Arm, start: Option<&SharedStart>) -> Result<()> {
        // One that ended in the trial before may have been started again.
        for sender in self.each.iter_mut().filter(|sender| sender.part.is_some()) {
            sender.failure = None;
        }
        loop {
            let before = self.failures().count();
            if before > self.tolerated || before == self.each.len() {
                let failure = self.failures().next().unwrap_or_default();
                return Err(LabError::Remote(failure.into()));
            }
            match self.arm_each(arm, start) {
                Err(error) if self.failures().count() == before => return Err(error),
                Err(_) => self.release(),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn arm_each(&mut self, arm: Arm, start: Option<&SharedStart>) -> Result<()> {
        self.each.iter_mut().for_each(|sender| sender.part = None);
        let left = self.each.iter_mut().filter(|sender| sender.failure.is_none());
        let left: Vec<&mut Sender<'l>> = left.collect();
        let weights: Vec<_> = left.iter().map(|sender| sender.weight).collect();
        let mut errors = Errors::default();
        for (sender, share) in left.into_iter().zip(Share::of_each(&weights)) {
            let load = arm.load.part(share).ok_or_else(|| LabError::Unsupported {
                what: arm.load.to_string(),
                reason: format!("it is too little for {} generators", weights.len()),
            })?;
            let part = Arm { load, ..arm };
            let armed = sender.end.arm(part, start.cloned());
            if errors.note(sender, armed).is_none() {
                break;
            }
            sender.part = Some(part);
        }
        errors.other.or(errors.lost).map_or(Ok(()), Err)
    }

    /// Sends the trial's frames. What was sent in each stream; of a generator that ended there is nothing.
    ///
    /// # Errors
    /// Why one could not send, or all ended.
    pub(super) fn send(&mut self, trial: TrialId) -> Result<Vec<Sent>> {
        let mut errors = Errors::default();
        let go = Go { trial, head_start: Duration::ZERO, with_others: self.sending().count() > 1 };
        for sender in self.sending() {
            let begun = sender.end.go(go);
            errors.note(sender, begun);
        }
        let (mut all, mut lost) = (Vec::new(), Vec::new());
        // Also after an error: no message may reach a generator that sends.
        for sender in self.sending() {
            match sender.end.sent() {
                Err(error) if sender.end.is_lost() => lost.push((sender.stream, error)),
                sent => all.extend(errors.note(sender, sent).into_iter().flatten()),
            }
        }
        // Nobody sends any more: there is time to ask again.
        for (stream, error) in lost {
            let Some(sender) = self.each.iter_mut().find(|sender| sender.stream == stream) else { continue };
            match sender.end.reported() {
                Some(sent) => all.extend(sent),
                None => errors.end(sender, error),
            }
        }
        let mut all = errors.or(all)?;
        let takes_part = |sender: &&Sender<'_>| sender.part.is_some();
        let taken: Vec<StreamId> =
            self.each.iter().filter(takes_part).flat_map(|sender| sender.streams()).collect();
        // A stream without a generator has no frame to wait for.
        let streams = (0..self.streams).filter_map(|stream| u8::try_from(stream).ok()).map(StreamId);
        let empty = streams.filter(|stream| !taken.contains(stream));
        all.extend(empty.map(|stream| Sent { stream, frames: 0, end_ns: 0, began: None, dropped: None }));
        Ok(all)
    }

    /// Ends the trial; the halves of the account.
    ///
    /// # Errors
    /// Why one could not read its counters, or all ended.
    pub(super) fn finish(&mut self, trial: TrialId, receive: &ReceiveHalf) -> Result<Vec<TransmitHalf>> {
        let mut errors = Errors::default();
        let mut halves = Vec::new();
        for sender in self.sending() {
            let delivered = match &receive.received.streams[..] {
                // Nobody knows whose the frames are. Without a loss, all are delivered.
                [] => receive.received.arrivals.delivered,
                streams => sender
                    .streams()
                    .filter_map(|stream| streams.get(usize::from(stream.0)))
                    .map(|stream| stream.delivered)
                    .sum(),
            };
            let half = sender.end.finish(FinishSending { trial, delivered });
            halves.extend(errors.note(sender, half));
        }
        errors.or(halves)
    }

    /// Gives up the armed trial on all of them, and closes the generators.
    pub(super) fn release(&mut self) {
        self.each.iter_mut().for_each(|sender| sender.end.release());
    }

    fn sending(&mut self) -> impl Iterator<Item = &mut Sender<'l>> {
        self.each.iter_mut().filter(|sender| sender.sends())
    }

    fn failures(&self) -> impl Iterator<Item = String> {
        self.each.iter().filter_map(|sender| sender.failure.clone())
    }
}

#[cfg(test)]
mod tests;
