//! Senders: a thread for each transmitting port and start sends the flows of that start.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use capbench_frames::flows::{FlowCommand, FlowCounts, FlowSet, StackFlow};
use capbench_frames::{FrameSource, Schedule, StreamId, TrialId, Turn};
use capbench_lab::latency::RealtimeReading;
use capbench_traffic::transmit::{self, Opened, Refusal};
use capbench_traffic::{Limits, SendJob, TransmitConfig};

use crate::error::{OtgError, Result};
use crate::flows::FlowPlan;
use crate::ports::Port;

/// How frames are sent.
const METHOD: &str = "packet-tx";

/// Flows of a port that are open and not yet started.
pub struct Sending {
    port: String,
    opened: Opened,
    set: FlowSet,
    trial: TrialId,
}

/// What the thread of a start and its readers share.
#[derive(Debug)]
struct Run {
    set: FlowSet,
    trial: TrialId,
    /// Both clocks at the start, and the start.
    clocks: RealtimeReading,
    start: Instant,
    /// Ends all flows at once.
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    thread: Option<JoinHandle<()>>,
    has_ended: bool,
    failure: Option<String>,
    /// Which flows pause.
    paused: Vec<bool>,
    /// When it was first seen that a flow was over.
    over_since: Vec<Option<Instant>>,
}

/// A flow of a start.
#[derive(Clone, Debug)]
pub struct Started {
    run: Arc<Run>,
    /// Its number in the set.
    flow: usize,
}

impl Sending {
    /// Prepares these flows of a port. The trailers of their frames have this trial.
    pub fn open<'a>(
        port: &Port,
        flows: impl Iterator<Item = (&'a str, &'a FlowPlan)>,
        trial: TrialId,
    ) -> Result<Self> {
        let failed = |source| OtgError::Traffic { path: port.name.clone(), source };
        let flows = flows.map(|(name, plan)| StackFlow {
            name: name.into(),
            plan: Arc::clone(&plan.frames),
            schedule: plan.schedule.clone(),
            frames: plan.most,
            duration: plan.duration,
            delay: plan.delay,
        });
        let set = FlowSet::new(flows.collect()).map_err(|error| failed(error.into()))?;
        let config = TransmitConfig::for_frames(port.side.index(), FrameSource::Flows(&set), Refusal::Repeat);
        let open = transmit::method(METHOD).and_then(|method| method.open(&config)).map_err(failed)?;
        let opened = open(0).map_err(failed)?;
        Ok(Self { port: port.name.clone(), opened, set, trial })
    }

    /// The trial in the trailers of its frames.
    pub fn trial(&self) -> TrialId {
        self.trial
    }

    /// Sends from `start` on.
    pub fn start(self, start: Instant) -> Result<Vec<Started>> {
        let Self { port, mut opened, set, trial } = self;
        let flows = set.flows().len();
        let run = Arc::new(Run {
            set,
            trial,
            clocks: RealtimeReading::now(),
            start,
            stop: AtomicBool::new(false),
            state: Mutex::new(State {
                paused: vec![false; flows],
                over_since: vec![None; flows],
                ..State::default()
            }),
        });
        let its = Arc::clone(&run);
        let work = move || {
            let job = SendJob {
                frames: FrameSource::Flows(&its.set),
                schedule: &Schedule::Maximum,
                turn: Turn::EVERY,
                limits: Limits { duration: None, frames: None, stop: &its.stop },
                trial: its.trial,
                stream: StreamId(0),
                progress: None,
                start: its.start,
            };
            let failure = match opened.sender.send(&job) {
                Ok(report) => report.failure,
                Err(error) => Some(error),
            };
            let mut state = its.state();
            state.has_ended = true;
            state.failure = failure.map(|error| format!("{port}: {error}"));
        };
        let thread = thread::Builder::new().name("otg-send".into()).spawn(work);
        let thread = thread.map_err(|source| OtgError::System { what: "no thread for a port", source })?;
        run.state().thread = Some(thread);
        Ok((0..flows).map(|flow| Started { run: Arc::clone(&run), flow }).collect())
    }
}

impl Run {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Started {
    /// Frames and octets that were sent so far.
    pub fn counts(&self) -> FlowCounts {
        self.run.set.counts(self.flow)
    }

    /// The trial and the stream in its trailers.
    pub fn trial(&self) -> TrialId {
        self.run.trial
    }

    /// Whether nothing is sent any more.
    pub fn is_over(&self) -> bool {
        self.over_since().is_some()
    }

    /// When it was first seen that nothing is sent any more.
    pub fn over_since(&self) -> Option<Instant> {
        let mut state = self.run.state();
        if state.over_since[self.flow].is_none() && (state.has_ended || self.counts().is_over) {
            state.over_since[self.flow] = Some(Instant::now());
        }
        state.over_since[self.flow]
    }

    /// Whether it pauses.
    pub fn is_paused(&self) -> bool {
        self.run.state().paused[self.flow]
    }

    /// Ends it.
    pub fn stop(&self) {
        self.command(FlowCommand::Stop, false);
    }

    /// Sends nothing until it is resumed.
    pub fn pause(&self) {
        self.command(FlowCommand::Pause, true);
    }

    /// Goes on where it paused.
    pub fn resume(&self) {
        self.command(FlowCommand::Run, false);
    }

    fn command(&self, command: FlowCommand, pauses: bool) {
        self.run.set.command(self.flow, command);
        self.run.state().paused[self.flow] = pauses;
    }

    /// Ends all flows of its start, and waits until their frames have left.
    pub fn end(&self) {
        self.run.stop.store(true, Ordering::Relaxed);
        let thread = self.run.state().thread.take();
        if let Some(thread) = thread {
            // A panic of the thread was reported by it.
            let _ = thread.join();
        }
    }

    /// The start on the kernel's clock, in nanoseconds since 1970; absent if somebody has set the clock since then.
    pub fn began_ns(&self) -> Option<u64> {
        let Run { clocks, start, .. } = &*self.run;
        clocks.set_until(&RealtimeReading::now()).is_none().then(|| clocks.realtime_at(*start))
    }

    /// Why it ended early, once.
    pub fn take_failure(&self) -> Option<String> {
        self.run.state().failure.take()
    }
}
