//! The transmit side of a trial: the generator's thread on its CPU in its namespace, and the counters around it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use capbench_frames::plan::FramePlan;
use capbench_frames::stamp::StreamId;
use capbench_host::accounts::cpu::{CpuSnapshot, CpuTimes};
use capbench_host::bed::Side;
use capbench_model::latency::Began;
use capbench_model::trial::Departed;
use capbench_sys::host::{affinity, clock};
use capbench_traffic::transmit::{self, Refusal, TransmitConfig};
use capbench_traffic::{Limits, SendJob, SendReport};

use super::ends::TransmitEnd;
use super::far_end;
use super::halves::{GeneratorCpu, SentFrames, TransmitHalf};
use super::host::Host;
use super::interface_counts::InterfaceSnapshot;
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
    plan: Arc<FramePlan>,
    generator: Option<Worker<SendOrder, Sending>>,
    armed: Option<Armed>,
    /// Where the generator says that the last frame was sent, once it sends.
    is_sent: Option<Receiver<Sent>>,
}

/// A trial that can begin, or has begun.
struct Armed {
    arm: Arm,
    start: SharedStart,
    before: InterfaceSnapshot,
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

/// A phase that is over.
struct Sending {
    report: SendReport,
    generator: String,
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
        let transmit = transmit::method(&asked.transmit)?;
        side.run(transmit.method.supported)?.map_err(|reason| LabError::Unsupported {
            what: format!("transmit method {transmit}"),
            reason,
        })?;
        let plan = Arc::new(FramePlan::new(asked.layout, asked.sizes.clone(), asked.mtu)?);
        Ok(Self {
            host: host.clone(),
            side: side.clone(),
            asked,
            plan,
            generator: None,
            armed: None,
            is_sent: None,
        })
    }

    fn half(
        &self,
        arm: Arm,
        sending: Sending,
        before: &InterfaceSnapshot,
        after: &InterfaceSnapshot,
    ) -> TransmitHalf {
        let Sending { report, .. } = sending;
        let nic::TransmitCounts { counters, notes, counts_each } =
            nic::transmit(&before.nic, &after.nic, after.pause_since(before));
        // A phase with a plan lasts as long as its plan, even if its last frame leaves one period before the end.
        let is_whole = arm.schedule().intended(arm.duration).is_some() && !self.host.is_stopped();
        TransmitHalf {
            stream: self.asked.stream,
            frames: SentFrames {
                intended: report.intended,
                sent: report.sent,
                unsent: report.unsent,
                accepted: report.accepted,
                refused_lost: report.refused_lost,
                refused_repeated: report.refused_repeated,
                in_flight: report.in_flight,
            },
            elapsed: report.elapsed,
            sending: if is_whole { report.elapsed.max(arm.duration) } else { report.elapsed },
            lateness: report.lateness.summary(),
            departed: sending.departed,
            generator: sending.generator,
            outruns: sending.outruns,
            needs_far_napi: far_end::is_queued(&self.asked.transmit),
            cpu: GeneratorCpu {
                cpu: self.asked.cpu,
                own_ns: sending.own_ns,
                window_ns: sending.window_ns,
                times: sending.times,
                stalls: self.host.tracing.stalls(self.asked.cpu, sending.start, sending.read_ns),
            },
            interface: after.since(before),
            counts_each_frame: counts_each,
            driver_counters: counters,
            notes,
            interruption: None,
            clock: None,
        }
    }

    /// Opens the generator on a separate thread and CPU, and waits until it could send.
    fn open(&self) -> Result<Worker<SendOrder, Sending>> {
        let method = transmit::method(&self.asked.transmit)?;
        let refusal = if self.asked.is_virtual { Refusal::Lose } else { Refusal::Repeat };
        let config = TransmitConfig::for_plan(self.side.index(), &self.plan, refusal);
        let (plan, stop) = (Arc::clone(&self.plan), Arc::clone(&self.host.stop));
        let PrepareSending { stream, cpu, .. } = self.asked;
        let (ready, is_ready) = sync_channel(1);
        let mut generator =
            Worker::start(&self.side, "capbench-gen", move |orders: Receiver<SendOrder>, done| {
                affinity::pin_current_thread(cpu)?;
                let mut opened = method.open(&config)?;
                // The other end lives until this thread is joined; otherwise the trial has ended, too.
                let _ = ready.send(());
                let (generator, outruns) = (opened.facts.to_string(), opened.facts.outruns(&config));
                while let Ok(SendOrder { arm, start, sent }) = orders.recv() {
                    let schedule = arm.schedule();
                    let (duration, frames) = arm.load.limits(arm.duration);
                    let (before_ns, before) = (clock::monotonic_ns(), CpuSnapshot::read()?);
                    let start = *start.get_or_init(|| Instant::now() + HEAD_START);
                    let job = SendJob {
                        plan: &plan,
                        schedule: &schedule,
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
                    let _ = sent.send(sent_frames(stream, &arm, &report));
                    let (read_ns, after) = (clock::monotonic_ns(), CpuSnapshot::read()?);
                    let departed =
                        line_rate::departed(&opened.facts, report.in_flight, report.elapsed, over - start);
                    let _ = done.send(Sending {
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
        is_ready.recv().map_err(|_| generator.failure())?;
        Ok(generator)
    }
}

impl TransmitEnd for TransmitSide {
    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()> {
        let settles = arm.is_first && !self.asked.is_virtual;
        let before = InterfaceSnapshot::before_trial(&self.side, End::Transmit, &self.host.tracing, settles)?;
        if self.generator.is_none() {
            self.generator = Some(self.open()?);
        }
        let clock = start.is_none().then(RealtimeReading::now);
        self.armed = Some(Armed { arm, start: start.unwrap_or_default(), before, clock });
        Ok(())
    }

    fn go(&mut self, go: Go) -> Result<()> {
        let armed = self.armed.as_ref().filter(|armed| armed.arm.trial == go.trial);
        let (Some(Armed { arm, start, .. }), Some(generator)) = (armed, &mut self.generator) else {
            return Err(not_armed(go.trial));
        };
        let (sent, is_sent) = sync_channel(1);
        generator.order(SendOrder { arm: *arm, start: Arc::clone(start), sent });
        self.is_sent = Some(is_sent);
        Ok(())
    }

    fn sent(&mut self) -> Result<Sent> {
        let is_sent = self.is_sent.take().and_then(|is_sent| is_sent.recv().ok());
        match (is_sent, &mut self.generator) {
            (Some(sent), _) => Ok(Sent { began: self.armed.as_ref().and_then(Armed::began), ..sent }),
            (None, Some(generator)) => Err(generator.failure()),
            (None, None) => Err(not_begun()),
        }
    }

    fn finish(&mut self, finish: FinishSending) -> Result<TransmitHalf> {
        let armed = self.armed.take().filter(|armed| armed.arm.trial == finish.trial);
        let (Some(Armed { arm, before, .. }), Some(generator)) = (armed, &mut self.generator) else {
            return Err(not_armed(finish.trial));
        };
        let sending = generator.done()?;
        if !arm.stays_open {
            self.generator = None;
        }
        if !self.asked.is_virtual && finish.delivered < sending.report.sent {
            // Some drivers update their counters only at intervals, and those drivers decide where a loss is booked.
            std::thread::sleep(before.settling().saturating_sub(sending.over.elapsed()));
        }
        let after = InterfaceSnapshot::take(&self.side, End::Transmit, &self.host.tracing)?;
        Ok(self.half(arm, sending, &before, &after))
    }

    fn release(&mut self) {
        self.armed = None;
        self.is_sent = None;
        self.generator = None;
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

fn sent_frames(stream: StreamId, arm: &Arm, report: &SendReport) -> Sent {
    let planned_ns = arm.schedule().planned_ns(report.sent);
    let end_ns = planned_ns.unwrap_or(report.elapsed.as_nanos() as u64);
    Sent { stream, frames: report.sent, end_ns, began: None }
}
