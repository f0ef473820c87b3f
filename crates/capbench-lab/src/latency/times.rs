//! The recorded times of a trial's frames: of one thread, or of several members together.

use std::time::Duration;

use capbench_model::latency::{Began, DelayRecorder, Latency, Legs, OneWay, Samples};
use capbench_model::loss_pattern::Clock;
use capbench_model::reasons::NoDelays;
use capbench_model::running::TimeSource;

/// The times of a trial's frames, after it.
#[derive(Debug)]
pub struct Times {
    pub(super) from_ns: u64,
    /// Whether the sender has this process's clock.
    pub(super) has_common_clock: bool,
    /// CLOCK_REALTIME before the trial, to which the receiver's times in `samples` count from.
    pub(super) origin_ns: u64,
    /// Largest error of reading both clocks, before and after the trial.
    pub(super) errors_ns: [u64; 2],
    /// By how much CLOCK_REALTIME was set during the trial; absent if it was not set.
    pub(super) set_by: Option<Duration>,
    pub(super) source: TimeSource,
    /// Frames without a timestamp.
    pub(super) unstamped: u64,
    /// Frames of batches that arrived before the start was known here.
    pub(super) early: u64,
    pub(super) to_kernel: DelayRecorder,
    pub(super) to_application: DelayRecorder,
    pub(super) total: DelayRecorder,
    /// One-way times if the sender has another clock.
    pub(super) samples: Option<Samples>,
}

impl Times {
    /// The times of two members of one trial. A frame of which both got a copy counts twice.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        for (own, others) in [
            (&mut self.to_kernel, &other.to_kernel),
            (&mut self.to_application, &other.to_application),
            (&mut self.total, &other.total),
        ] {
            own.add(others);
        }
        if let Some((own, others)) = self.samples.as_mut().zip(other.samples) {
            own.join(others, other.origin_ns.wrapping_sub(self.origin_ns).cast_signed());
        }
        for (own, others) in self.errors_ns.iter_mut().zip(other.errors_ns) {
            *own = others.max(*own);
        }
        self.set_by = self.set_by.max(other.set_by);
        self.unstamped += other.unstamped;
        self.early += other.early;
        self
    }

    /// The latency, and the one-way times if the sender has another clock.
    pub fn latency(self) -> (Latency, Option<OneWayTimes>) {
        let Self { origin_ns, errors_ns: [before_ns, after_ns], set_by, .. } = self;
        let one_way =
            self.samples.map(|samples| OneWayTimes { samples, origin_ns, error_ns: before_ns, set_by });
        let mut reasons = Vec::new();
        let has_stamps = matches!(self.source, TimeSource::Kernel(_));
        if !has_stamps {
            reasons.push(NoDelays::NoKernelStamps(self.source.to_string()));
        }
        let set_by = set_by.filter(|_| has_stamps);
        if let Some(by) = set_by {
            reasons.push(NoDelays::StampClockSet(by));
        }
        if has_stamps && self.unstamped > 0 {
            reasons.push(NoDelays::Unstamped(self.unstamped));
        }
        if self.early > 0 {
            reasons.push(NoDelays::BeforeStart(self.early));
        }
        let has_legs = has_stamps && set_by.is_none();
        let leg = |delaying: DelayRecorder| delaying.delays().filter(|_| has_legs);
        let total = self.total.delays();
        if self.has_common_clock && total.is_none() {
            reasons.push(NoDelays::NothingRecorded);
        }
        let latency = Latency {
            clock: Clock::PlannedSendTime,
            from_ns: self.from_ns,
            to_kernel: leg(self.to_kernel),
            to_application: leg(self.to_application),
            total,
            relative: None,
            absent_because: joined(&reasons),
            clock_error_ns: has_legs.then_some(before_ns.max(after_ns)),
        };
        (latency, one_way)
    }
}

/// The messages of all reasons; `None` without one.
fn joined(reasons: &[NoDelays]) -> Option<String> {
    if reasons.is_empty() {
        return None;
    }
    let messages: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    Some(messages.join("; "))
}

/// One-way times of a trial by two clocks, of which the other one is not known here.
#[derive(Debug)]
pub struct OneWayTimes {
    pub(super) samples: Samples,
    /// CLOCK_REALTIME to which the receiver's times count from.
    pub(super) origin_ns: u64,
    /// Largest error of reading it.
    pub(super) error_ns: u64,
    /// By how much it was set during the trial; absent if it was not set.
    pub(super) set_by: Option<Duration>,
}

impl OneWayTimes {
    /// The delays, if generators began at these times.
    pub fn one_way(&self, began: &[(u8, Began)]) -> OneWay {
        let mut found = OneWay::of(&self.samples, self.origin_ns, began);
        found.reading_error_ns += self.error_ns;
        if let Some(by) = self.set_by {
            found.absolute = Legs::default();
            found.unusable_because = Some(NoDelays::ReceiverClockSet(by).to_string());
            // The kernel's timestamps belong to two clocks; deliveries are read from one that nobody sets.
            if let Some(relative) = &mut found.relative {
                relative.to_kernel = None;
            }
            found.above_minimum.to_kernel = None;
        }
        found
    }
}
