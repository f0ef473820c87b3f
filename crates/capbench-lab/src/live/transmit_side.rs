//! The transmit side of a trial: the threads of its generator on their CPUs in their namespace, and the counters around them.
//!
//! Threads take the frames of one schedule in turn. Each sends a stream of its own.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use capbench_frames::plan::FramePlan;
use capbench_frames::schedule::Turn;
use capbench_frames::stamp::StreamId;
use capbench_host::accounts::cpu::{CpuSnapshot, CpuTimes};
use capbench_host::accounts::processes::ProcessReading;
use capbench_host::bed::Side;
use capbench_model::generator::GeneratorFacts;
use capbench_model::latency::Began;
use capbench_model::trial::Departed;
use capbench_sys::host::{CpuId, affinity, clock};
use capbench_traffic::transmit::{self, Chosen, Opener, Refusal, TransmitConfig, TransmitFacts};
use capbench_traffic::{Limits, SendJob, SendReport};

use super::ends::TransmitEnd;
use super::far_end;
use super::halves::{GeneratorCpu, TransmitHalf};
use super::host::Host;
use super::interface_counts::InterfaceSnapshot;
use super::join::departed_together;
use super::line_rate;
use super::messages::{Arm, FinishSending, Go, PrepareSending, Sent, not_armed};
use super::nic;
use super::tracing::End;
use super::worker::Worker;
use crate::latency::RealtimeReading;
use crate::receiver::SharedStart;
use crate::{LabError, Result};

/// Time from the generator's thread being ready to the first frame: the threads need it to reach their loops.
const HEAD_START: Duration = Duration::from_millis(2);

/// The transmit side.
pub struct TransmitSide {
    host: Host,
    side: Side,
    asked: PrepareSending,
    method: Chosen,
    plan: Arc<FramePlan>,
    /// The generator's threads, while it is open.
    threads: Vec<Worker<SendOrder, Sending>>,
    armed: Option<Armed>,
    /// Where each thread says that its last frame was sent, once it sends.
    are_sent: Vec<Receiver<Sent>>,
}

/// What distinguishes a thread of the generator.
#[derive(Clone, Copy)]
struct Part {
    number: u16,
    stream: StreamId,
    cpu: CpuId,
    turn: Turn,
}

/// A trial that can begin, or has begun.
struct Armed {
    arm: Arm,
    start: SharedStart,
    before: InterfaceSnapshot,
    /// The host's processes; absent if the receiver is in this process, which reads them.
    processes: Option<ProcessReading>,
    /// The clock by which a receiver on another host learns of the start; absent if the receiver shares `start`.
    clock: Option<RealtimeReading>,
}

/// A phase to send.
struct SendOrder {
    arm: Arm,
    start: SharedStart,
    /// Receives a message as soon as the last frame was sent.
    sent: SyncSender<Sent>,
}

/// A phase that is over, of one thread.
struct Sending {
    cpu: CpuId,
    report: SendReport,
    generator: GeneratorFacts,
    outruns: bool,
    departed: Option<Departed>,
    /// CPU time of the thread while it sent.
    own_ns: u64,
    start: Instant,
    over: Instant,
    /// The reading of the CPUs' times after it, by CLOCK_MONOTONIC.
    read_ns: u64,
    window_ns: u64,
    times: Option<CpuTimes>,
}

impl TransmitSide {
    /// Checks that the set-up can run here. Opens nothing.
    ///
    /// # Errors
    /// A method that cannot run here, or frames that do not fit.
    pub fn prepare(asked: PrepareSending, side: &Side, host: &Host) -> Result<Self> {
        let method = transmit::method(&asked.transmit)?;
        let unsupported =
            |reason| LabError::Unsupported { what: format!("transmit method {method}"), reason };
        side.run(method.method.supported)?.map_err(unsupported)?;
        if asked.cpus.is_empty()
            || usize::from(asked.stream.0) + asked.cpus.len() > usize::from(StreamId::COUNT)
        {
            return Err(unsupported(format!(
                "{} threads from stream {} on; there are {} streams",
                asked.cpus.len(),
                asked.stream.0,
                StreamId::COUNT
            )));
        }
        let plan = Arc::new(FramePlan::new(asked.layout, asked.sizes.clone(), asked.mtu)?);
        Ok(Self {
            host: host.clone(),
            side: side.clone(),
            asked,
            method,
            plan,
            threads: Vec::new(),
            armed: None,
            are_sent: Vec::new(),
        })
    }

    /// How many frames the interface has dropped since the trial was armed, if the receiver can use it: a veth counts them at once.
    fn dropped(&self) -> Result<Option<u64>> {
        let Some(armed) = self.armed.as_ref().filter(|armed| armed.arm.in_turns && self.asked.is_virtual)
        else {
            return Ok(None);
        };
        let now = self.side.links().by_index(self.side.index())?;
        Ok(armed.before.transmit_drops_until(&now))
    }

    /// The generator's threads.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let PrepareSending { stream: StreamId(first), ref cpus, .. } = self.asked;
        let count = NonZeroU32::new(cpus.len() as u32).unwrap_or(NonZeroU32::MIN);
        (0..)
            .zip(first..=u8::MAX)
            .zip(cpus)
            .zip(Turn::of_each(count))
            .map(|(((number, stream), cpu), turn)| Part { number, stream: StreamId(stream), cpu: *cpu, turn })
    }

    fn half(
        &self,
        arm: Arm,
        sendings: Vec<Sending>,
        before: &InterfaceSnapshot,
        after: &InterfaceSnapshot,
    ) -> TransmitHalf {
        let nic::TransmitCounts { counters, notes, counts_each } =
            nic::transmit(&before.nic, &after.nic, after.pause_since(before));
        let departed = sendings.iter().map(|sending| sending.departed);
        let cpus = sendings.iter().map(|sending| GeneratorCpu {
            cpu: sending.cpu,
            own_ns: sending.own_ns,
            window_ns: sending.window_ns,
            times: sending.times,
            stalls: self.host.tracing.stalls(sending.cpu, sending.start, sending.read_ns),
        });
        let cpus = cpus.collect();
        let departed = departed.reduce(departed_together).flatten();
        let outruns = sendings.iter().all(|sending| sending.outruns);
        let generator = sendings.first().map(|sending| sending.generator.clone()).into_iter().collect();
        let reports = sendings.into_iter().map(|sending| sending.report);
        let report = reports.reduce(SendReport::plus).expect("a generator has one thread or more");
        // A phase with a plan lasts as long as its plan, even if its last frame leaves one period before the end.
        let is_whole = arm.schedule().intended(arm.duration).is_some() && !self.host.is_stopped();
        TransmitHalf {
            stream: self.asked.stream,
            frames: report.frames,
            unverified_because: None,
            elapsed: report.elapsed,
            sending: if is_whole { report.elapsed.max(arm.duration) } else { report.elapsed },
            lateness: report.lateness.summary(),
            departed,
            cpus,
            outruns,
            generator,
            needs_far_napi: far_end::is_queued(&self.asked.transmit),
            interface: after.since(before),
            counts_each_frame: counts_each,
            driver_counters: counters,
            notes,
            interruption: None,
            disturbers: None,
            clock: None,
        }
    }

    /// Opens the generator on separate threads and CPUs, and waits until each could send.
    fn open(&self) -> Result<Vec<Worker<SendOrder, Sending>>> {
        let refusal = if self.asked.is_virtual { Refusal::Lose } else { Refusal::Repeat };
        let config = TransmitConfig::for_frames(self.side.index(), &*self.plan, refusal);
        let method = self.method;
        let open = self.side.run(|| method.open(&config))??;
        let opening: Vec<_> =
            self.parts().map(|part| self.open_part(part, config, Arc::clone(&open))).collect();
        let ready = |(mut thread, is_ready): (Worker<SendOrder, Sending>, Receiver<()>)| {
            is_ready.recv().map_err(|_| thread.failure())?;
            Ok(thread)
        };
        opening.into_iter().map(ready).collect()
    }

    /// Starts a thread, which says when it could send.
    fn open_part(
        &self,
        part: Part,
        config: TransmitConfig,
        open: Opener,
    ) -> (Worker<SendOrder, Sending>, Receiver<()>) {
        let (plan, stop) = (Arc::clone(&self.plan), Arc::clone(&self.host.stop));
        let Part { number, stream, cpu, turn } = part;
        let (ready, is_ready) = sync_channel(1);
        let thread = Worker::start(&self.side, "capbench-gen", move |orders: Receiver<SendOrder>, done| {
            affinity::pin_current_thread(cpu)?;
            let mut opened = open(number)?;
            drop(open);
            // The other end lives until this thread is joined; otherwise the trial has ended, too.
            let _ = ready.send(());
            let generator = generator_facts(&opened.facts);
            let outruns = opened.facts.outruns(&config);
            while let Ok(SendOrder { arm, start, sent }) = orders.recv() {
                let schedule = arm.schedule();
                let (duration, frames) = arm.load.limits(arm.duration);
                let (before_ns, before) = (clock::monotonic_ns(), CpuSnapshot::read()?);
                let start = *start.get_or_init(|| Instant::now() + HEAD_START);
                let job = SendJob {
                    frames: (&*plan).into(),
                    schedule: &schedule,
                    turn,
                    limits: Limits { duration, frames, stop: &stop },
                    trial: arm.trial,
                    stream,
                    progress: None,
                    start,
                };
                let cpu_start = clock::thread_cpu_ns();
                let mut report = opened.sender.send(&job)?;
                let (own_ns, over) = (clock::thread_cpu_ns() - cpu_start, Instant::now());
                report.failure.take().map_or(Ok(()), Err)?;
                // First of all: the receive side waits for it.
                let _ = sent.send(sent_frames(part, &arm, &report));
                let (read_ns, after) = (clock::monotonic_ns(), CpuSnapshot::read()?);
                let departed =
                    line_rate::departed(&opened.facts, report.frames.in_flight, report.elapsed, over - start);
                let _ = done.send(Sending {
                    cpu,
                    report,
                    generator: generator.clone(),
                    outruns,
                    departed,
                    own_ns,
                    start,
                    over,
                    read_ns,
                    window_ns: read_ns - before_ns,
                    times: after.since(&before).of(cpu),
                });
            }
            Ok(())
        });
        (thread, is_ready)
    }
}

impl TransmitEnd for TransmitSide {
    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()> {
        let settles = arm.is_first && !self.asked.is_virtual;
        let before = InterfaceSnapshot::before_trial(&self.side, End::Transmit, &self.host.tracing, settles)?;
        let processes = start.is_none().then(ProcessReading::now);
        if self.threads.is_empty() {
            self.threads = self.open()?;
        }
        let clock = start.is_none().then(RealtimeReading::now);
        self.armed = Some(Armed { arm, start: start.unwrap_or_default(), before, processes, clock });
        Ok(())
    }

    fn go(&mut self, go: Go) -> Result<()> {
        let armed = self.armed.as_ref().filter(|armed| armed.arm.trial == go.trial);
        let Some(Armed { arm, start, .. }) = armed else { return Err(not_armed(go.trial)) };
        let order = |thread: &Worker<SendOrder, Sending>| {
            let (sent, is_sent) = sync_channel(1);
            thread.order(SendOrder { arm: *arm, start: Arc::clone(start), sent });
            is_sent
        };
        self.are_sent = self.threads.iter().map(order).collect();
        Ok(())
    }

    fn sent(&mut self) -> Result<Vec<Sent>> {
        let mut all = Vec::new();
        for (is_sent, thread) in self.are_sent.drain(..).zip(&mut self.threads) {
            all.push(is_sent.recv().map_err(|_| thread.failure())?);
        }
        let began = self.armed.as_ref().and_then(Armed::began);
        all.iter_mut().for_each(|sent| sent.began = began);
        if let Some(first) = all.first_mut() {
            first.dropped = self.dropped()?;
        }
        if all.is_empty() { Err(not_begun()) } else { Ok(all) }
    }

    fn finish(&mut self, finish: FinishSending) -> Result<TransmitHalf> {
        let armed = self.armed.take().filter(|armed| armed.arm.trial == finish.trial);
        let Some(Armed { arm, before, processes, .. }) = armed else { return Err(not_armed(finish.trial)) };
        let sendings = self.threads.iter_mut().map(Worker::done).collect::<Result<Vec<_>>>()?;
        let disturbers = processes.map(|before| ProcessReading::now().since(&before, &self.asked.cpus));
        if !arm.stays_open && !arm.in_turns {
            self.threads.clear();
        }
        let sent: u64 = sendings.iter().map(|sending| sending.report.frames.sent).sum();
        if !self.asked.is_virtual
            && finish.delivered < sent
            && let Some(over) = sendings.iter().map(|sending| sending.over).max()
        {
            // Some drivers update their counters only at intervals, and those drivers decide where a loss is booked.
            std::thread::sleep(before.settling().saturating_sub(over.elapsed()));
        }
        let after = InterfaceSnapshot::take(&self.side, End::Transmit, &self.host.tracing)?;
        Ok(TransmitHalf { disturbers, ..self.half(arm, sendings, &before, &after) })
    }

    fn release(&mut self) {
        self.armed = None;
        self.are_sent.clear();
        self.threads.clear();
    }
}

impl Armed {
    /// The start by CLOCK_REALTIME, which was read before the trial and is now read again; `None`: the receiver shares the start.
    fn began(&self) -> Option<Began> {
        let (start, clock) = (self.start.get()?, self.clock?);
        Some(Began {
            realtime_ns: clock.realtime_at(*start),
            error_ns: clock.error_ns(),
            set_by: clock.set_until(&RealtimeReading::now()),
        })
    }
}

/// The error of waiting for the end of a trial that did not begin.
fn not_begun() -> LabError {
    LabError::Unsupported { what: "the trial".into(), reason: "it has not begun".into() }
}

fn sent_frames(part: Part, arm: &Arm, report: &SendReport) -> Sent {
    let planned_ns = arm.schedule().planned_ns(part.turn.number(report.frames.sent));
    let end_ns = planned_ns.unwrap_or(report.elapsed.as_nanos() as u64);
    Sent { stream: part.stream, frames: report.frames.sent, end_ns, began: None, dropped: None }
}

/// How a transmit method runs.
fn generator_facts(facts: &TransmitFacts) -> GeneratorFacts {
    GeneratorFacts::Method {
        batch: facts.batch as u32,
        send_buffer_bytes: facts.send_buffer_bytes,
        ring_slots: facts.ring_slots,
        in_flight: Some(facts.in_flight).filter(|frames| *frames != u32::MAX),
        qdisc_bypass: facts.qdisc_bypass,
    }
}
