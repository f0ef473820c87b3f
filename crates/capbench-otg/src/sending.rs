//! Senders: a thread for each start of flows of a port sends them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use capbench_frames::TransmitSpec;
use capbench_frames::flows::{FlowCommand, FlowCounts, FlowSet, StackFlow};
use capbench_frames::{FrameSource, Schedule, StreamId, TrialId, Turn};
use capbench_lab::latency::RealtimeReading;
use capbench_traffic::transmit::{self, Opened, Refusal};
use capbench_traffic::{Limits, SendJob, TransmitConfig};

use crate::error::{OtgError, Result};
use crate::flows::FlowPlan;
use crate::messages::{Command, RunState, Sent};
use crate::ports::Port;
use crate::threads::spawn;

/// How frames are sent.
const METHOD: &str = "packet-tx";

/// Flows of a port that are open and not yet started.
pub struct Sending {
    port: String,
    opened: Opened,
    set: FlowSet,
    trial: TrialId,
    /// Their numbers in the configuration.
    numbers: Vec<usize>,
}

/// A start of flows of a port.
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
    trial: TrialId,
    /// Both clocks at the start, and the start.
    clocks: RealtimeReading,
    start: Instant,
    /// As the set has them.
    flows: Vec<RunFlow>,
    /// Returns why it ended early; `None`: it has ended.
    thread: Option<JoinHandle<Option<String>>>,
}

/// What the thread of a run shares.
#[derive(Debug)]
pub struct Shared {
    set: FlowSet,
    /// Ends all flows at once.
    stop: AtomicBool,
}

impl Shared {
    /// Whether no flow is sent any more.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || (0..self.set.flows().len()).all(|flow| self.set.counts(flow).is_over)
    }

    /// Ends flows with these names, or all. Any thread may do it.
    pub fn halt(&self, names: &[String]) {
        if names.is_empty() {
            return self.stop.store(true, Ordering::Relaxed);
        }
        for (index, flow) in self.set.flows().iter().enumerate() {
            if names.contains(&flow.name) {
                self.set.command(index, FlowCommand::Stop);
            }
        }
    }
}

/// A flow of a run.
#[derive(Debug)]
struct RunFlow {
    /// In the configuration.
    number: usize,
    is_paused: bool,
    /// When it was first seen that it was over.
    over_since: Option<Instant>,
    /// Whether a later start has it.
    is_replaced: bool,
}

impl std::fmt::Debug for Sending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sending").field("port", &self.port).field("numbers", &self.numbers).finish()
    }
}

impl Sending {
    /// Prepares these flows of a port, with their numbers and names. The trailers of their frames have this trial.
    pub fn open<'a>(
        port: &Port,
        flows: impl Iterator<Item = (usize, &'a str, &'a FlowPlan)>,
        trial: TrialId,
    ) -> Result<Self> {
        let failed = |source| OtgError::Traffic { path: port.name.clone(), source };
        let (numbers, flows) = flows
            .map(|(number, name, plan)| {
                let flow = StackFlow {
                    name: name.into(),
                    plan: Arc::clone(&plan.frames),
                    schedule: plan.schedule.clone(),
                    frames: plan.most,
                    duration: plan.duration,
                    delay: plan.delay,
                };
                (number, flow)
            })
            .unzip();
        let set = FlowSet::new(flows).map_err(|error| failed(error.into()))?;
        let config = TransmitConfig::for_frames(port.side.index(), FrameSource::Flows(&set), Refusal::Repeat);
        let open = transmit::method(&TransmitSpec::plain(METHOD))
            .and_then(|method| method.open(&config))
            .map_err(failed)?;
        let opened = open(0).map_err(failed)?;
        Ok(Self { port: port.name.clone(), opened, set, trial, numbers })
    }

    /// Sends from `start` on.
    pub fn start(self, start: Instant) -> Result<Run> {
        let Self { port, mut opened, set, trial, numbers } = self;
        Run::start(set, numbers, trial, start, move |shared| {
            let job = SendJob {
                frames: FrameSource::Flows(&shared.set),
                schedule: &Schedule::Maximum,
                turn: Turn::EVERY,
                limits: Limits { duration: None, frames: None, stop: &shared.stop },
                trial,
                stream: StreamId(0),
                progress: None,
                start,
            };
            let failure = match opened.sender.send(&job) {
                Ok(report) => report.failure,
                Err(error) => Some(error),
            };
            failure.map(|error| format!("{port}: {error}"))
        })
    }
}

impl Run {
    /// Starts the thread, which returns why it ended early.
    fn start(
        set: FlowSet,
        numbers: Vec<usize>,
        trial: TrialId,
        start: Instant,
        send: impl FnOnce(&Shared) -> Option<String> + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared { set, stop: AtomicBool::new(false) });
        let (its, clocks) = (Arc::clone(&shared), RealtimeReading::now());
        let thread = spawn("otg-send", move || send(&its))?;
        let flow = |number| RunFlow { number, is_paused: false, over_since: None, is_replaced: false };
        let flows = numbers.into_iter().map(flow).collect();
        Ok(Self { shared, trial, clocks, start, flows, thread: Some(thread) })
    }

    /// Notes which flows are over. Returns why the thread ended early and which flows it could not send in their time, once.
    pub fn look(&mut self) -> Vec<String> {
        let ended = self.thread.take_if(|thread| thread.is_finished());
        let failure = ended.and_then(|thread| self.failure_of(thread));
        let mut warnings: Vec<_> = failure.into_iter().collect();
        let now = Instant::now();
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let counts = self.shared.set.counts(index);
            if flow.over_since.is_none() && (self.thread.is_none() || counts.is_over) {
                flow.over_since = Some(now);
                warnings.extend(late(&self.shared.set.flows()[index].name, counts));
            }
        }
        warnings
    }

    fn failure_of(&self, thread: JoinHandle<Option<String>>) -> Option<String> {
        let failure = thread.join().unwrap_or_else(|_| {
            Some("the sender panicked; its process says more on standard error".to_string())
        })?;
        let names: Vec<_> = self.shared.set.flows().iter().map(|flow| flow.name.as_str()).collect();
        Some(format!("flow {}: {failure}", names.join(", ")))
    }

    /// Whether its thread runs.
    pub fn is_live(&self) -> bool {
        self.thread.is_some()
    }

    /// Whether it sends flows other than these.
    pub fn sends_others(&self, flows: &[usize]) -> bool {
        self.is_live()
            && self.flows.iter().any(|flow| flow.over_since.is_none() && !flows.contains(&flow.number))
    }

    /// The flows that are sent or paused.
    pub fn flows_sent(&self) -> impl Iterator<Item = usize> {
        let live = self.flows.iter().filter(|flow| self.is_live() && flow.over_since.is_none());
        live.map(|flow| flow.number)
    }

    /// Whether one of these flows is sent, or its thread runs for no other.
    pub fn awaits(&self, flows: &[usize]) -> bool {
        let is_sent = |flow: &RunFlow| flow.over_since.is_none() && flows.contains(&flow.number);
        self.flows.iter().any(is_sent) || (self.is_live() && !self.sends_others(flows))
    }

    /// Ends those of these flows that it has.
    pub fn end(&mut self, flows: &[usize]) {
        if !self.sends_others(flows) {
            self.stop();
        }
        for flow in flows {
            self.command(*flow, Command::Stop);
        }
    }

    /// Commands a flow; whether it is sent.
    pub fn command(&mut self, number: usize, command: Command) -> bool {
        let Some(index) = self.flows.iter().position(|flow| flow.number == number) else { return false };
        let flow = &mut self.flows[index];
        if flow.over_since.is_some() || flow.is_replaced {
            return false;
        }
        flow.is_paused = matches!(command, Command::Pause);
        let command = match command {
            Command::Stop => FlowCommand::Stop,
            Command::Pause => FlowCommand::Pause,
            Command::Resume => FlowCommand::Run,
        };
        self.shared.set.command(index, command);
        true
    }

    /// Forgets the counts of these flows; whether it has others.
    pub fn replace(&mut self, flows: &[usize]) -> bool {
        for flow in self.flows.iter_mut().filter(|flow| flows.contains(&flow.number)) {
            flow.is_replaced = true;
        }
        self.is_live() || self.flows.iter().any(|flow| !flow.is_replaced)
    }

    /// Adds what was sent of each flow.
    pub fn report(&self, sent: &mut BTreeMap<usize, Sent>) {
        let began_ns = self.clocks.set_until(&RealtimeReading::now()).is_none();
        let began_ns = began_ns.then(|| self.clocks.realtime_at(self.start));
        for (index, flow) in self.flows.iter().enumerate().filter(|(_, flow)| !flow.is_replaced) {
            let state = match flow.over_since {
                Some(since) => RunState::Over(since.elapsed()),
                None if flow.is_paused => RunState::Pauses,
                None => RunState::Sends,
            };
            // After the state: the counts of a flow that is over are the last ones.
            let counts = self.shared.set.counts(index);
            let (trial, frames, octets) = (self.trial, counts.sent, counts.octets);
            sent.insert(flow.number, Sent { trial, frames, octets, state, began_ns });
        }
    }

    /// Ends all flows.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// What other threads need to end it.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Waits until its frames have left. Returns the same as [`Self::look`].
    pub fn join(&mut self) -> Vec<String> {
        let failure = self.thread.take().and_then(|thread| self.failure_of(thread));
        failure.into_iter().chain(self.look()).collect()
    }
}

/// A flow whose time was over before its frames were sent.
fn late(name: &str, counts: FlowCounts) -> Option<String> {
    let FlowCounts { sent, late, .. } = counts;
    (late > 0).then(|| {
        format!(
            "flow {name}: its time is over, and {late} of {} frames are unsent: this host sends no faster; set a lower rate or \
             larger frames",
            sent + late
        )
    })
}

#[cfg(test)]
mod tests {
    use capbench_frames::{HeaderStack, Mtu, Payload, Pps, StackPlan};

    use super::*;

    fn set(names: &[&str]) -> FlowSet {
        let flow = |(stream, name): (usize, &&str)| {
            let stack = HeaderStack::from_value(&serde_json::json!([{}, {"ipv4": {}}, {"udp": {}}])).unwrap();
            let stream = Some(StreamId(stream as u8));
            let sizes = "128".parse().unwrap();
            let plan = StackPlan::new(stack, sizes, &Payload::default(), stream, Mtu(1500)).unwrap();
            let (schedule, duration) = (Schedule::Constant(Pps::new(1.0).unwrap()), None);
            let delay = std::time::Duration::ZERO;
            StackFlow { name: (*name).into(), plan: plan.into(), schedule, frames: None, duration, delay }
        };
        FlowSet::new(names.iter().enumerate().map(flow).collect()).unwrap()
    }

    fn looked(run: &mut Run) -> String {
        loop {
            if let Some(failure) = run.look().pop() {
                return failure;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_sender_that_panics_or_fails_ends_its_flows() {
        let panics: fn(&Shared) -> Option<String> = |_| panic!("on purpose");
        let fails: fn(&Shared) -> Option<String> = |_| Some("p: no room".into());
        for (send, words) in [(panics, "flow f, g: the sender panicked"), (fails, "flow f, g: p: no room")] {
            let mut run = Run::start(set(&["f", "g"]), vec![4, 9], TrialId(1), Instant::now(), send).unwrap();
            let failure = looked(&mut run);
            assert!(failure.starts_with(words), "{failure}");
            let mut sent = BTreeMap::new();
            run.report(&mut sent);
            assert!(sent.keys().eq(&[4, 9]));
            assert!(sent.values().all(|sent| matches!(sent.state, RunState::Over(_))), "{sent:?}");
            assert!(!run.command(4, Command::Resume), "it is not sent any more");
            assert!(run.look().is_empty(), "a failure is reported once");
            assert!(run.replace(&[4]) && !run.replace(&[9]));
        }
    }

    #[test]
    fn a_run_ends_at_once_if_it_has_no_other_flow() {
        let until_stopped = |shared: &Shared| {
            while !shared.stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            None
        };
        let mut run =
            Run::start(set(&["f", "g"]), vec![0, 1], TrialId(1), Instant::now(), until_stopped).unwrap();
        run.end(&[0]);
        assert!(run.sends_others(&[0]) && !run.shared.stop.load(Ordering::Relaxed));
        run.end(&[0, 1]);
        assert!(run.join().is_empty());
        assert!(!run.is_live() && !run.awaits(&[0, 1]));
    }
}
