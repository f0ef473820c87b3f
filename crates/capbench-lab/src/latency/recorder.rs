//! Records the times of frames while they arrive. It reads a clock once per batch; otherwise it needs only a few additions.

use std::sync::OnceLock;
use std::time::Instant;

use capbench_frames::stamp::StreamId;
use capbench_model::running::TimeSource;

use super::clocks::RealtimeReading;
use super::times::Times;
use capbench_model::latency::{DelayRecorder, Recording, Sample, Samples};

/// Records the times of a trial's frames. `()` records nothing and costs nothing.
pub trait Timekeeper {
    /// The next frame is the first of a batch.
    fn begin_batch(&mut self);

    /// Records the first arrival of a frame of the trial: its stream, its planned time in nanoseconds since the start, and its
    /// timestamp in nanoseconds since the epoch.
    fn note(&mut self, stream: StreamId, planned_ns: u64, stamp_ns: u64);
}

impl Timekeeper for () {
    #[inline]
    fn begin_batch(&mut self) {}

    #[inline]
    fn note(&mut self, _stream: StreamId, _planned_ns: u64, _stamp_ns: u64) {}
}

impl<T: Timekeeper> Timekeeper for &mut T {
    #[inline]
    fn begin_batch(&mut self) {
        T::begin_batch(self);
    }

    #[inline]
    fn note(&mut self, stream: StreamId, planned_ns: u64, stamp_ns: u64) {
        T::note(self, stream, planned_ns, stamp_ns);
    }
}

/// The times of a trial's frames.
#[derive(Debug)]
pub struct LatencyRecorder<'a> {
    /// When the trial begins, by this process's clock; `None`: the sender has no common clock with it.
    start: Option<&'a OnceLock<Instant>>,
    from_ns: u64,
    /// Both clocks before the trial.
    before: RealtimeReading,
    /// Start of the trial by the clock of timestamps; 0 until known.
    start_realtime_ns: u64,
    source: TimeSource,
    /// When the batch was delivered, in nanoseconds since the start, or since the epoch without a common clock; [`UNREAD`] until
    /// its first frame.
    delivered_ns: u64,
    /// Frames without a timestamp.
    unstamped: u64,
    /// Frames of batches that arrived before the start was known here.
    early: u64,
    to_kernel: DelayRecorder,
    to_application: DelayRecorder,
    total: DelayRecorder,
    /// One-way times if the sender has another clock.
    samples: Option<Samples>,
}

/// The clock was not read for this batch.
const UNREAD: u64 = u64::MAX;

impl<'a> LatencyRecorder<'a> {
    /// A recorder for a trial that begins at `start`, which is set before its first frame is sent, and for frames with timestamps
    /// from `source`. Without a common clock (`None`) it records the time from timestamp to application only.
    pub fn new(recording: Recording, start: Option<&'a OnceLock<Instant>>, source: TimeSource) -> Self {
        Self {
            start,
            from_ns: recording.from.as_nanos() as u64,
            before: RealtimeReading::now(),
            start_realtime_ns: 0,
            source,
            delivered_ns: UNREAD,
            unstamped: 0,
            early: 0,
            to_kernel: DelayRecorder::default(),
            to_application: DelayRecorder::default(),
            total: DelayRecorder::default(),
            samples: start.is_none().then(Samples::default),
        }
    }

    /// Reads the clock for a batch. Returns whether the trial's start is known.
    #[inline(never)]
    fn deliver(&mut self) -> bool {
        let now = Instant::now();
        let Some(shared) = self.start else {
            self.delivered_ns = self.before.realtime_at(now);
            return true;
        };
        let Some(start) = shared.get() else { return false };
        if self.start_realtime_ns == 0 {
            self.start_realtime_ns = self.before.realtime_at(*start);
        }
        self.delivered_ns = now.saturating_duration_since(*start).as_nanos() as u64;
        true
    }

    fn has_stamps(&self) -> bool {
        matches!(self.source, TimeSource::Kernel(_))
    }

    /// The recorded times of a trial that is over.
    pub fn times(self) -> Times {
        self.times_at(&RealtimeReading::now())
    }

    fn times_at(self, after: &RealtimeReading) -> Times {
        Times {
            from_ns: self.from_ns,
            has_common_clock: self.start.is_some(),
            origin_ns: self.before.realtime_ns(),
            errors_ns: [self.before.error_ns(), after.error_ns()],
            set_by: self.before.set_until(after),
            source: self.source,
            unstamped: self.unstamped,
            early: self.early,
            to_kernel: self.to_kernel,
            to_application: self.to_application,
            total: self.total,
            samples: self.samples,
        }
    }
}

impl Timekeeper for LatencyRecorder<'_> {
    #[inline]
    fn begin_batch(&mut self) {
        self.delivered_ns = UNREAD;
    }

    #[inline]
    fn note(&mut self, stream: StreamId, planned_ns: u64, stamp_ns: u64) {
        if self.delivered_ns == UNREAD && !self.deliver() {
            self.early += 1;
            return;
        }
        if planned_ns < self.from_ns {
            return;
        }
        let is_stamped = stamp_ns != 0 && self.has_stamps();
        if let Some(samples) = &mut self.samples {
            let since_origin = |ns: u64| ns.wrapping_sub(self.before.realtime_ns()) as i64;
            samples.note(Sample {
                stream: stream.0,
                planned_ns,
                kernel_ns: is_stamped.then(|| since_origin(stamp_ns)),
                delivered_ns: since_origin(self.delivered_ns),
            });
        } else {
            self.total.record(planned_ns, self.delivered_ns);
        }
        if !is_stamped {
            self.unstamped += 1;
            return;
        }
        if self.start.is_none() {
            self.to_application.record(stamp_ns, self.delivered_ns);
            return;
        }
        let (planned_ns, delivered_ns) =
            (self.start_realtime_ns + planned_ns, self.start_realtime_ns + self.delivered_ns);
        self.to_kernel.record(planned_ns, stamp_ns);
        self.to_application.record(stamp_ns, delivered_ns);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::latency::{Began, Legs};
    use capbench_model::loss_pattern::Clock;

    use super::*;
    use crate::latency::times::OneWayTimes;

    const KERNEL: TimeSource = TimeSource::kernel("software");

    /// A recorder, and the start of its trial by the clock of time stamps.
    fn recorder(start: &OnceLock<Instant>, from: Duration, source: TimeSource) -> (LatencyRecorder<'_>, u64) {
        let recorder = LatencyRecorder::new(Recording { from }, Some(start), source);
        // A while ago, so that whatever is stamped soon after it has come by now.
        let begun = *start.get_or_init(|| Instant::now() - Duration::from_millis(1));
        let realtime_ns = recorder.before.realtime_at(begun);
        (recorder, realtime_ns)
    }

    #[test]
    fn legs_add_up_and_a_batch_is_delivered_at_once() {
        let start = OnceLock::new();
        let (mut recorder, begun_ns) = recorder(&start, Duration::ZERO, KERNEL);
        recorder.note(StreamId(0), 100, begun_ns + 150);
        let delivered_ns = recorder.delivered_ns;
        recorder.note(StreamId(0), 200, begun_ns + 230);
        assert_eq!(recorder.delivered_ns, delivered_ns, "no clock is read within a batch");
        recorder.begin_batch();
        std::hint::black_box(Instant::now());
        recorder.note(StreamId(0), 300, begun_ns + 310);
        assert!(recorder.delivered_ns > delivered_ns);
        let (latency, _) = recorder.times().latency();
        let (to_kernel, to_application) = (latency.to_kernel.unwrap(), latency.to_application.unwrap());
        let total = latency.total.unwrap();
        assert_eq!((to_kernel.min_ns, to_kernel.max_ns, to_kernel.mean_ns), (10, 50, 30.0));
        assert_eq!((to_kernel.frames, to_application.frames, total.frames), (3, 3, 3));
        assert!((to_kernel.mean_ns + to_application.mean_ns - total.mean_ns).abs() < 1e-3);
        assert_eq!((latency.absent_because, latency.clock), (None, Clock::PlannedSendTime));
    }

    #[test]
    fn without_stamps_of_the_kernel_the_legs_are_absent_and_the_sum_is_not() {
        for source in [TimeSource::user_space("one clock read per burst"), TimeSource::None] {
            let start = OnceLock::new();
            let (mut recorder, begun_ns) = recorder(&start, Duration::ZERO, source);
            recorder.note(StreamId(0), 100, begun_ns + 150);
            let (latency, _) = recorder.times().latency();
            assert_eq!(
                (latency.to_kernel, latency.to_application, latency.clock_error_ns),
                (None, None, None)
            );
            assert_eq!(latency.total.unwrap().frames, 1);
            assert!(latency.absent_because.unwrap().contains("no time stamps of the kernel"));
        }
    }

    #[test]
    fn a_clock_that_is_set_during_the_trial_leaves_the_legs_out_and_says_so() {
        let start = OnceLock::new();
        let (mut recorder, begun_ns) = recorder(&start, Duration::ZERO, KERNEL);
        recorder.note(StreamId(0), 100, begun_ns + 150);
        let honest = recorder.before;
        recorder.before = honest.set_forward(Duration::from_millis(5));
        let (latency, _) = recorder.times_at(&honest).latency();
        assert_eq!((latency.to_kernel, latency.to_application), (None, None));
        assert_eq!(latency.total.unwrap().frames, 1);
        let reason = latency.absent_because.unwrap();
        assert!(reason.contains("was set during the trial") && reason.contains("5ms"), "{reason}");
    }

    #[test]
    fn frames_before_the_time_asked_for_are_left_out() {
        let start = OnceLock::new();
        let (mut recorder, begun_ns) = recorder(&start, Duration::from_nanos(200), KERNEL);
        for planned_ns in [0, 199, 200, 201] {
            recorder.note(StreamId(0), planned_ns, begun_ns + planned_ns);
        }
        let (latency, _) = recorder.times().latency();
        assert_eq!((latency.from_ns, latency.total.unwrap().frames), (200, 2));
    }

    #[test]
    fn without_a_common_clock_the_time_after_the_stamp_is_known_and_the_others_are_kept_as_samples() {
        let mut recorder = LatencyRecorder::new(Recording::default(), None, KERNEL);
        let origin_ns = recorder.before.realtime_ns();
        // Planned times of a clock a day ahead.
        let day = 86_400_000_000_000;
        recorder.note(StreamId(3), day, origin_ns + 1000);
        recorder.begin_batch();
        recorder.note(StreamId(3), day + 500, origin_ns + 1700);
        let (latency, one_way) = recorder.times().latency();
        assert_eq!((latency.to_kernel, latency.total, latency.absent_because), (None, None, None));
        assert_eq!(latency.to_application.unwrap().frames, 2);
        let one_way = one_way.unwrap();
        let began = Began { realtime_ns: origin_ns - day, error_ns: 7, set_by: None };
        let found = one_way.one_way(&[(3, began)]);
        let to_kernel = found.absolute.to_kernel.unwrap();
        assert_eq!((to_kernel.min_ns, to_kernel.max_ns), (1000, 1200));
        assert!(found.absolute.total.unwrap().frames == 2 && found.reading_error_ns >= 7);
        let set = OneWayTimes { set_by: Some(Duration::from_secs(1)), ..one_way }.one_way(&[(3, began)]);
        assert_eq!((set.absolute, set.relative.unwrap().to_kernel), (Legs::default(), None));
    }

    #[test]
    fn members_have_one_distribution_and_the_larger_error() {
        let start = OnceLock::new();
        let (mut first, begun_ns) = recorder(&start, Duration::ZERO, KERNEL);
        let (mut second, _) = recorder(&start, Duration::ZERO, KERNEL);
        for (recorder, planned_ns, delay_ns) in [(&mut first, 0, 30), (&mut second, 100, 50)] {
            let stamp_ns = recorder.before.realtime_at(*start.get().unwrap()) + planned_ns + delay_ns;
            recorder.note(StreamId(0), planned_ns, stamp_ns);
        }
        second.note(StreamId(0), 200, 0);
        let (first, second) = (first.times(), second.times());
        let error_ns = [&first, &second].map(|times| times.errors_ns).concat().into_iter().max();
        let (latency, _) = first.join(second).latency();
        let to_kernel = latency.to_kernel.unwrap();
        assert_eq!((to_kernel.frames, to_kernel.min_ns, to_kernel.max_ns), (2, 30, 50), "{begun_ns}");
        assert_eq!((latency.total.unwrap().frames, latency.clock_error_ns), (3, error_ns));
        assert!(latency.absent_because.unwrap().contains("1 frames came without a time stamp"));
    }

    #[test]
    fn one_way_times_of_members_count_from_one_moment() {
        let member = |stamp_ns: u64| {
            let mut recorder = LatencyRecorder::new(Recording::default(), None, KERNEL);
            recorder.note(StreamId(3), 0, stamp_ns);
            recorder.times()
        };
        let came_ns = RealtimeReading::now().realtime_ns();
        let times = member(came_ns).join(member(came_ns + 400));
        let began = Began { realtime_ns: came_ns - 1000, error_ns: 0, set_by: None };
        let to_kernel = times.latency().1.unwrap().one_way(&[(3, began)]).absolute.to_kernel.unwrap();
        assert_eq!((to_kernel.frames, to_kernel.min_ns, to_kernel.max_ns), (2, 1000, 1400));
    }

    #[test]
    fn frames_that_come_before_the_start_is_known_are_counted_and_said() {
        let start = OnceLock::new();
        let mut recorder = LatencyRecorder::new(Recording::default(), Some(&start), KERNEL);
        recorder.note(StreamId(0), 0, 1);
        let (latency, _) = recorder.times().latency();
        assert_eq!(latency.total, None);
        let reason = latency.absent_because.unwrap();
        assert!(
            reason.contains("1 frames came before") && reason.contains("no frame was recorded"),
            "{reason}"
        );
    }
}
