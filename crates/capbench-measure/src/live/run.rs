//! One trial: a generator thread and an application thread, each on its CPU and in its namespace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use capbench_capture::{Interface, LossPlace, open_with};
use capbench_sys::host::{affinity, clock};
use capbench_traffic::plan::FramePlan;
use capbench_traffic::rates::Pps;
use capbench_traffic::recognise::Recogniser;
use capbench_traffic::report::SendReport;
use capbench_traffic::schedule::Schedule;
use capbench_traffic::stamp::{Stamp, StreamId, TrialId};
use capbench_traffic::transmit::{self, Refusal, TransmitConfig};
use capbench_traffic::{Limits, SendJob};

use super::account::{Account, Snapshot};
use super::calibration::Calibration;
use super::far_end::FarEnd;
use super::line_rate;
use super::numbering::Numbering;
use super::tracing::Tracing;
use super::worker::Worker;
use crate::accounts::irqtime::IrqAccounting;
use crate::accounts::kernel_work::KernelWorkProbe;
use crate::bed::{Bed, Placement, Side};
use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::latency::Latency;
use crate::links::coalescing::Moderated;
use crate::loss_shape::{Clock, End};
use crate::mark::mark;
use crate::programs;
use crate::receiver::{Application, Order, Outcome, Progress, QueueSize, verification_cost};
use crate::subject::Subject;
use crate::tracer::Tracer;
use crate::trial::{Departed, Load, Measured, Phase, Profile, Trial, TrialResult};

/// From the moment when both sides are ready to the first frame: the threads' way to their loops.
const HEAD_START: Duration = Duration::from_millis(2);

/// How long frames are sent to measure what the tracer costs, and how many at least where that does not take too long.
const TRACER_LOAD: Duration = Duration::from_millis(50);
const TRACER_FRAMES: f64 = 250.0;
const LONGEST_TRACER_LOAD: Duration = Duration::from_secs(1);

/// One set-up on the path.
pub(super) struct LiveTrial<'l> {
    pub(super) numbering: &'l mut Numbering,
    /// Trial id of the run's first trial.
    pub(super) base: TrialId,
    pub(super) bed: Arc<Bed>,
    pub(super) placement: Placement,
    pub(super) plan: Arc<FramePlan>,
    pub(super) profile: Profile,
    pub(super) line_rate: Option<Pps>,
    pub(super) subject: Subject,
    pub(super) setup: Setup,
    pub(super) irq: IrqAccounting,
    pub(super) tracing: Tracing,
    pub(super) calibration: Calibration,
    /// The receiving interface, with interrupts held back as the set-up has it.
    pub(super) moderated: Option<Moderated>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Trial for LiveTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let stop = Arc::clone(&self.stop);
        Held::open(self, stop, false)?.run(load, duration)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.line_rate
    }

    fn hold(&mut self) -> Result<Box<dyn Trial + '_>> {
        if let Subject::Program(program) = &self.subject {
            return Err(MeasureError::Unsupported {
                what: "a soak".into(),
                reason: format!("{} would be started anew for every part of it", program.name),
            });
        }
        // What was sent when the user stops is still received: only the generator stops early.
        Ok(Box::new(Held::open(self, Arc::new(AtomicBool::new(false)), true)?))
    }
}

/// Capture and generator, open, for trials one after the other.
struct Held<'t, 'l> {
    trial: &'t mut LiveTrial<'l>,
    probe: KernelWorkProbe,
    /// What the receiving thread heeds.
    stop: Arc<AtomicBool>,
    sides: Option<Sides>,
    /// Whether they stay open after a trial.
    keeps: bool,
    _far_end: FarEnd,
}

/// The two threads.
struct Sides {
    receiver: Worker<Order, Outcome>,
    sender: Worker<SendOrder, Sent>,
}

impl<'t, 'l> Held<'t, 'l> {
    fn open(trial: &'t mut LiveTrial<'l>, stop: Arc<AtomicBool>, keeps: bool) -> Result<Self> {
        let napi = trial.bed.polls_by_thread().then(|| trial.bed.receive_side().name());
        let probe = KernelWorkProbe::new(trial.placement.kernel, napi).traced_by(trial.tracing.tracer());
        let far_end = FarEnd::set_up(&trial.bed, &trial.setup.transmit)?;
        Ok(Self { trial, probe, stop, sides: None, keeps, _far_end: far_end })
    }
}

impl Trial for Held<'_, '_> {
    /// In the order of RFC 2544 section 23: snapshot, open, barrier, send on schedule, drain, read every counter once.
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let Self { trial, probe, .. } = self;
        let schedule = trial.schedule(load);
        trial.measure_tracer(load, &schedule)?;
        let is_first = trial.numbering.advance();
        let tracer = trial.tracing.tracer().map(AsRef::as_ref);
        let mut before = Snapshot::take(&trial.bed, tracer)?;
        if is_first && !trial.bed.is_virtual() && !before.settling().is_zero() {
            // What the link carried before the run must not be counted during it.
            std::thread::sleep(before.settling());
            before = Snapshot::take(&trial.bed, tracer)?;
        }
        let progress = Arc::new(Progress::default());
        let (ready, is_ready) = sync_channel(1);
        let snap = trial.setup.capture.snap_length;
        let recogniser =
            Recogniser::new(trial.id(), trial.plan.layout(), snap.cuts().then(|| snap.octets()))?;
        let order = Order { recogniser: recogniser.clone(), progress: Arc::clone(&progress), ready };
        let mut sides = match self.sides.take() {
            Some(sides) => {
                sides.receiver.order(order);
                if is_ready.recv().is_err() {
                    return Err(sides.receiver.failure());
                }
                sides
            }
            None => {
                let octets = trial.plan.sizes().mean_octets();
                let expected = programs::Expected::of(load, duration, octets);
                let receiver = trial.start_receiver(
                    Arc::clone(&self.stop),
                    probe.clone(),
                    expected,
                    recogniser,
                    self.keeps,
                );
                receiver.order(order);
                if is_ready.recv().is_err() {
                    return Err(receiver.failure());
                }
                match trial.start_sender() {
                    Ok(sender) => Sides { receiver, sender },
                    Err(error) => {
                        // Nothing will come, and the receiver is not to wait for it.
                        progress.finished.store(true, Ordering::Release);
                        return Err(error);
                    }
                }
            }
        };
        let start = probe.snapshot();
        let begin = *progress.start.get_or_init(soon);
        let began_ns = monotonic_ns_at(begin);
        sides.sender.order(SendOrder {
            schedule,
            limits: load.limits(duration),
            trial: trial.id(),
            start: begin,
        });
        let sent = sides.sender.done();
        let sending_over = probe.snapshot();
        // A sender that failed has sent nothing that the receiver should wait for.
        progress.sent.store(sent.as_ref().map_or(0, |sent| sent.report.sent), Ordering::Relaxed);
        // Release: pairs with the receiver's Acquire; the count above is visible with the flag.
        progress.finished.store(true, Ordering::Release);
        let outcome = sides.receiver.done();
        // Else both are closed before the counters are read for the last time.
        self.sides = Some(sides).filter(|_| self.keeps && sent.is_ok() && outcome.is_ok());
        if !trial.bed.is_virtual() && is_missing_frames(&sent, &outcome) {
            // Some drivers bring their counters up to date once in a while only, and those have to say where.
            std::thread::sleep(before.settling());
        }
        let after = Snapshot::take(&trial.bed, tracer)?;
        let (sent, mut outcome) = (sent?, outcome?);
        let account = Account {
            bed: &trial.bed,
            placement: &trial.placement,
            capture: &trial.setup.capture,
            transmit: &trial.setup.transmit,
            past_backlog: trial.bed.polls_by_thread() || trial.subject.takes_in_driver(),
            own_xdp: trial.subject.takes_in_driver(),
            irq: trial.irq,
            untraced: trial.tracing.why_not(),
            tracer,
            tracer_cost: tracer.and_then(Tracer::cost),
            before,
            began_ns,
            start: start?,
            sending_over: sending_over?,
            generator_ns: sent.cpu_ns,
            line_rate_pps: trial.line_rate.map(Pps::get),
            departed: sent.departed,
            after,
        };
        let record = outcome.received.record.take();
        let mut measured = account.join(&sent.report, &outcome)?;
        if schedule.intended(duration).is_some() && !trial.stop.load(Ordering::Relaxed) {
            // A phase with a plan lasts as long as its plan, also when its last frame is gone a period before the end.
            measured.sending = measured.sending.max(duration);
        }
        measured.loss_shape =
            record.and_then(|record| record.shape(&end(&sent.report, &schedule, &measured)));
        measured.latency =
            outcome.received.latency.take().map(|latency| Latency { clock: clock_of(&schedule), ..latency });
        measured.generator = sent.generator.clone();
        if let Some(moderated) = &trial.moderated {
            measured.running = format!("{}, {}", measured.running, moderated.running());
        }
        let profile = trial.profile_after(&sent);
        Ok(measured.result(trial.numbering.last, Phase::FixedLoad, &profile, load, duration))
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate
    }
}

impl LiveTrial<'_> {
    /// Before the first trial: what the tracer costs under its load, with nobody capturing. Its frames carry an id that no
    /// later trial has.
    fn measure_tracer(&self, load: Load, schedule: &Schedule) -> Result<()> {
        let Some(tracer) = self.tracing.tracer() else { return Ok(()) };
        let enough = load.pps().map_or(TRACER_LOAD, |pps| Duration::from_secs_f64(TRACER_FRAMES / pps));
        let duration = enough.clamp(TRACER_LOAD, LONGEST_TRACER_LOAD);
        tracer.measure_cost(|| {
            let _far_end = FarEnd::set_up(&self.bed, &self.setup.transmit)?;
            let mut sender = self.start_sender()?;
            sender.order(SendOrder {
                schedule: *schedule,
                limits: (Some(duration), None),
                trial: self.id(),
                start: soon(),
            });
            sender.done().map(drop)
        })
    }

    /// When the frames of a load are to be sent.
    fn schedule(&self, load: Load) -> Schedule {
        match (load, self.setup.burst) {
            (Load::Rate(rate), Some(frames)) => Schedule::Bursts { frames, rate },
            _ => load.schedule(),
        }
    }

    /// The id that this trial's frames carry. It differs from that of every other trial nearby, also of other runs.
    fn id(&self) -> TrialId {
        TrialId(self.base.0.wrapping_add(self.numbering.last as u16))
    }

    /// The profile, with what became known about the generator.
    fn profile_after(&self, sent: &Sent) -> Profile {
        let mut profile = self.profile.clone();
        if self.bed.is_virtual() && profile.load_independent && !sent.outruns {
            profile.load_independent = false;
            profile.load_depends_because = Some(
                "the generator's send buffer and ring hold fewer frames than the receiver's backlog, or its size \
                 (net.core.netdev_max_backlog) is unknown, so a slow receiver may slow it; a larger net.core.wmem_max \
                 or root may help"
                    .into(),
            );
        }
        profile
    }

    /// Starts the application's thread on its CPU in the receiving namespace.
    fn start_receiver(
        &self,
        stop: Arc<AtomicBool>,
        probe: KernelWorkProbe,
        expected: programs::Expected,
        recogniser: Recogniser,
        is_held: bool,
    ) -> Worker<Order, Outcome> {
        let side = self.bed.receive_side();
        let interface = Interface { name: side.name().into(), index: side.index(), mtu: side.mtu() };
        let cpu = self.placement.application;
        let mut setup = self.setup.clone();
        setup.capture.mark = Some(mark(self.id(), self.plan.layout()));
        let subject = self.subject.clone();
        let calibration = self.calibration.clone();
        let flows = self.plan.flow_order();
        let samples = sample_frames(&self.plan, self.id());
        let of_side = side.clone();
        Worker::start(side, "capbench-app", move |orders: Receiver<Order>, done| {
            affinity::pin_current_thread(cpu)?;
            let queue = queue_size(&setup, &of_side)?;
            let spec = match &subject {
                Subject::Capture { spec, .. } => spec,
                Subject::Program(program) => {
                    let Ok(Order { recogniser, progress, ready }) = orders.recv() else { return Ok(()) };
                    let job = programs::Job {
                        interface: &interface,
                        capture: &setup.capture,
                        recogniser,
                        flows,
                        expected,
                        progress: &progress,
                        stop: &stop,
                        ready,
                        probe,
                        quiet: quiet(&setup),
                        latency: setup.latency,
                    };
                    let received = programs::run(program, job)?;
                    let _ = done.send(Outcome { received, verify_ns: 0.0, iteration_ns: None });
                    return Ok(());
                }
            };
            let application = Application {
                flows,
                work: calibration.ready_work(setup.work.model, cpu),
                verify_ns: verification_cost(&recogniser, &samples),
                orders,
                is_held,
                done: &done,
                queue,
                stop: &stop,
                probe,
                quiet: quiet(&setup),
                latency: setup.latency,
            };
            open_with(spec, &interface, &setup.capture, application)?
        })
    }

    /// Opens the transmit side on its own thread and CPU, and waits until it could send.
    fn start_sender(&self) -> Result<Worker<SendOrder, Sent>> {
        let side = self.bed.transmit_side();
        let method = transmit::method(&self.setup.transmit)?;
        let refusal = if self.bed.is_virtual() { Refusal::Lose } else { Refusal::Repeat };
        let config = TransmitConfig::for_plan(side.index(), &self.plan, refusal);
        let (plan, stop) = (Arc::clone(&self.plan), Arc::clone(&self.stop));
        let cpu = self.placement.generator;
        let (ready, is_ready) = sync_channel(1);
        let sender = Worker::start(side, "capbench-gen", move |orders: Receiver<SendOrder>, done| {
            affinity::pin_current_thread(cpu)?;
            let mut opened = method.open(&config)?;
            // The other end lives until this thread is joined; if it does not, neither does the trial.
            let _ = ready.send(());
            let (generator, outruns) = (opened.facts.to_string(), opened.facts.outruns(&config));
            while let Ok(SendOrder { schedule, limits: (duration, frames), trial, start }) = orders.recv() {
                let job = SendJob {
                    plan: &plan,
                    schedule: &schedule,
                    limits: Limits { duration, frames, stop: &stop },
                    trial,
                    stream: StreamId(0),
                    start,
                };
                let cpu_start = clock::thread_cpu_ns();
                let mut report = opened.sender.send(&job)?;
                let cpu_ns = clock::thread_cpu_ns() - cpu_start;
                let over = start.elapsed();
                let departed = line_rate::departed(&opened.facts, report.in_flight, report.elapsed, over);
                report.failure.take().map_or(Ok(()), Err)?;
                let _ = done.send(Sent { report, generator: generator.clone(), outruns, departed, cpu_ns });
            }
            Ok(())
        });
        match is_ready.recv() {
            Ok(()) => Ok(sender),
            Err(_) => Err(sender.failure()),
        }
    }
}

/// A phase to send.
struct SendOrder {
    schedule: Schedule,
    /// How long, and how many frames at most.
    limits: (Option<Duration>, Option<u64>),
    trial: TrialId,
    start: Instant,
}

/// The generator's account, what it is, and whether a slow receiver cannot have slowed it.
struct Sent {
    report: SendReport,
    generator: String,
    outruns: bool,
    /// When its frames had left for the link.
    departed: Option<Departed>,
    /// CPU time of its thread while it sent.
    cpu_ns: u64,
}

/// When a sender that is let go now can begin.
fn soon() -> Instant {
    Instant::now() + HEAD_START
}

/// A moment by CLOCK_MONOTONIC, which the kernel's clock is for tracing, too.
fn monotonic_ns_at(moment: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), clock::monotonic_ns());
    let (ahead, behind) = (moment.saturating_duration_since(now), now.saturating_duration_since(moment));
    now_ns + ahead.as_nanos() as u64 - behind.as_nanos() as u64
}

/// How long nothing may come. A partly filled V3 block comes up to its retire timeout late.
fn quiet(setup: &Setup) -> Duration {
    setup.quiet.max(2 * setup.capture.retire_timeout + Duration::from_millis(20))
}

/// What the record of a trial's frames cannot know.
fn end(sent: &SendReport, schedule: &Schedule, measured: &Measured) -> End {
    let planned = schedule.planned_ns(sent.sent);
    End {
        sent: sent.sent,
        at_ns: planned.unwrap_or(sent.elapsed.as_nanos() as u64),
        clock: clock_of(schedule),
        damaged: measured.arrivals.corrupt + measured.arrivals.truncated,
        ring_drops: measured.evidence.method.lost_at(LossPlace::Ring),
    }
}

/// What the times in the frames of a schedule are.
fn clock_of(schedule: &Schedule) -> Clock {
    schedule.planned_ns(0).map_or(Clock::GeneratorTime, |_| Clock::PlannedSendTime)
}

fn is_missing_frames(sent: &Result<Sent>, outcome: &Result<Outcome>) -> bool {
    match (sent, outcome) {
        (Ok(sent), Ok(outcome)) => outcome.received.arrivals.delivered < sent.report.sent,
        _ => false,
    }
}

/// The application's queue, where it has one: with room for the interface's largest frame, as far as it is captured.
pub(super) fn queue_size(setup: &Setup, side: &Side) -> Result<Option<QueueSize>> {
    /// An Ethernet header and two VLAN tags.
    const HEADER: u32 = 14 + 2 * 4;
    let octets = setup.capture.snap_length.octets().min(side.mtu().saturating_add(HEADER));
    setup.work.queue.map(|length| QueueSize::new(length, octets as usize)).transpose()
}

/// Frames of the plan, as many as a batch holds, to measure the verification with.
fn sample_frames(plan: &FramePlan, trial: TrialId) -> Vec<Vec<u8>> {
    let mut frames = plan.frames();
    (0..256)
        .map(|sequence| {
            let (size, flow) = frames.next_frame();
            let mut slot = vec![0; size.captured().max(128)];
            let stamp = Stamp { trial, stream: StreamId(0), sequence, planned_ns: 0 };
            let octets = plan.writer().write(&mut slot, size, flow, stamp);
            slot.truncate(octets);
            slot
        })
        .collect()
}
