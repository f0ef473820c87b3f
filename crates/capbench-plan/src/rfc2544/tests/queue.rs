//! A path computed frame by frame: a queue of limited size, and one server with a constant time per frame. The tracker of real
//! trials records its losses.

use std::collections::VecDeque;
use std::time::Duration;

use capbench_frames::plan::FlowOrder;
use capbench_frames::rates::Pps;
use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;
use capbench_model::statement::Statement;

use capbench_model::Result;
use capbench_model::arrivals::Arrivals;
use capbench_model::evidence::Evidence;
use capbench_model::for_tests::profile;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::{Delays, Latency};
use capbench_model::loss_pattern::SequenceTracker;
use capbench_model::loss_pattern::{Clock, End, LossRecord, Watch};
use capbench_model::trial::{Load, Measured, Phase, Trial, TrialResult};

/// The path.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Distance of two frames of a burst.
    pub(super) gap_ns: u64,
    /// How long the server takes for a frame.
    pub(super) service_ns: u64,
    /// Frames that may wait.
    pub(super) room: usize,
    /// How long after a frame found no room all others are lost, too.
    pub(super) stunned: Duration,
    /// Frames that the generator leaves out at the end.
    pub(super) unsent: u64,
    /// Planned time of the last frame lost in the last trial.
    pub(super) last_lost_ns: Option<u64>,
    /// Trials so far.
    pub(super) trials: u32,
}

impl Queue {
    pub(super) fn new(service_ns: u64, room: usize) -> Self {
        Self {
            gap_ns: 100,
            service_ns,
            room,
            stunned: Duration::ZERO,
            unsent: 0,
            last_lost_ns: None,
            trials: 0,
        }
    }
}

impl Laboratory for Queue {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        Ok(Box::new(QueueTrial { path: self, setup: setup.clone() }))
    }

    fn rest(&mut self, _while_idle: Duration) {}

    fn number_after(&mut self, last: u32) {
        self.trials = last;
    }

    fn statements(&self) -> Vec<Statement> {
        Vec::new()
    }
}

struct QueueTrial<'q> {
    path: &'q mut Queue,
    setup: Setup,
}

impl Trial for QueueTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let path = &mut *self.path;
        path.trials += 1;
        path.last_lost_ns = None;
        let schedule = load.schedule();
        let intended = load.intended(duration).expect("a load that plans its frames");
        let sent = intended - path.unsent;
        let time_of = |number: u64| schedule.planned_ns(number).unwrap_or(number * path.gap_ns);
        let mut tracker = SequenceTracker::recording(FlowOrder::default());
        let mut leaving: VecDeque<u64> = VecDeque::new();
        let (mut free_ns, mut stunned_until_ns) = (0, 0);
        let mut delays = Vec::new();
        for number in 0..sent {
            let now_ns = time_of(number);
            while leaving.front().is_some_and(|time| *time <= now_ns) {
                leaving.pop_front();
            }
            // One of them is being served.
            let is_full = leaving.len() > path.room;
            if is_full {
                stunned_until_ns = now_ns + path.stunned.as_nanos() as u64;
            }
            if is_full || now_ns < stunned_until_ns {
                path.last_lost_ns = Some(now_ns);
                continue;
            }
            free_ns = free_ns.max(now_ns) + path.service_ns;
            leaving.push_back(free_ns);
            tracker.note(number, || now_ns);
            let from_ns = self.setup.latency.map(|recording| recording.from.as_nanos() as u64);
            if from_ns.is_none_or(|from_ns| now_ns >= from_ns) {
                delays.push(free_ns - now_ns);
            }
        }
        let delivered = sent - lost_of(&tracker, sent);
        let end = End {
            sent,
            at_ns: time_of(sent),
            clock: Clock::PlannedSendTime,
            damaged: 0,
            ring_drops: Some(sent - delivered),
        };
        let record = LossRecord::new(vec![tracker], Watch::new(FlowOrder::default()));
        let losses =
            vec![Loss { place: Place::Ring, count: Some(sent - delivered), source: "the queue".into() }];
        let measured = Measured {
            evidence: Evidence {
                sent,
                unsent: intended - sent,
                method: Counters { accepted: Some(sent), losses, ..Counters::default() },
                read: delivered,
                delivered,
                ..Evidence::default()
            },
            arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
            sending: duration,
            trial: TrialResult {
                intended,
                loss_pattern: record.patterns(|_| end).pop(),
                latency: self.setup.latency.map(|recording| Latency {
                    total: Delays::of(&delays),
                    ..Latency::unknown(recording, "a queue stamps no frames")
                }),
                ..TrialResult::default()
            },
            ..Measured::default()
        };
        Ok(measured.result(path.trials, Phase::FixedLoad, &profile("queue"), load, duration))
    }

    fn line_rate(&self) -> Option<Pps> {
        None
    }
}

/// Frames that the tracker never saw; it forgets nothing of so short a trial.
fn lost_of(tracker: &SequenceTracker, sent: u64) -> u64 {
    (0..sent).filter(|number| !tracker.has_seen(*number)).count() as u64
}
