//! One trial: its two threads (`sides.rs`) in step, and the counters around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use capbench_frames::classify::Classifier;
use capbench_frames::plan::FramePlan;
use capbench_frames::rates::Pps;
use capbench_frames::schedule::Schedule;
use capbench_frames::stamp::TrialId;
use capbench_model::places::Place;
use capbench_sys::host::{CpuId, clock};
use capbench_traffic::SendReport;

use super::account::{Account, Snapshot};
use super::calibration::Calibration;
use super::far_end::FarEnd;
use super::numbering::Numbering;
use super::pace::Paces;
use super::sides::{SendOrder, Sent, Sides};
use super::tracing::Tracing;
use crate::Result;
use crate::programs;
use crate::receiver::{Order, Outcome, Progress};
use crate::subject::Subject;
use capbench_host::accounts::irqtime::IrqAccounting;
use capbench_host::accounts::kernel_work::KernelWorkProbe;
use capbench_host::bed::Moderated;
use capbench_host::bed::{Bed, Placement};
use capbench_host::tracer::Tracer;
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;
use capbench_model::latency::Latency;
use capbench_model::loss_pattern::{Clock, End};
use capbench_model::trial::{Load, Measured, Phase, Profile, Trial, TrialResult};

/// Time from both sides being ready to the first frame: the threads need it to reach their loops.
const HEAD_START: Duration = Duration::from_millis(2);

/// Duration of the load that measures the tracer's cost, and its smallest number of frames unless that takes too long.
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
    pub(super) paces: Paces,
    /// The receiving interface with the set-up's interrupt moderation.
    pub(super) moderated: Option<Moderated>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Trial for LiveTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
        let stop = Arc::clone(&self.stop);
        Ok(Held::open(self, stop, false)?.measure(load, duration)?)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.line_rate
    }

    fn keep_open(&mut self) -> capbench_model::Result<Box<dyn Trial + '_>> {
        if let Subject::Program(program) = &self.subject {
            return Err(TrialError::Unsupported {
                what: "a soak".into(),
                reason: format!("{} would be started anew for every part of it", program.name),
            });
        }
        // When the user stops, frames already sent are still received: only the generator stops early.
        Ok(Box::new(Held::open(self, Arc::new(AtomicBool::new(false)), true)?))
    }
}

/// Capture and generator, open for several trials.
struct Held<'t, 'l> {
    trial: &'t mut LiveTrial<'l>,
    probe: KernelWorkProbe,
    /// The receiving thread's stop flag.
    stop: Arc<AtomicBool>,
    sides: Option<Sides>,
    /// Whether they stay open after a trial.
    keeps: bool,
    _far_end: FarEnd,
}

impl<'t, 'l> Held<'t, 'l> {
    fn open(trial: &'t mut LiveTrial<'l>, stop: Arc<AtomicBool>, keeps: bool) -> Result<Self> {
        let napi = trial.bed.polls_by_thread().then(|| trial.bed.receive_side().name());
        let probe = KernelWorkProbe::new(trial.placement.kernel, napi).traced_by(trial.tracing.tracer());
        let far_end = FarEnd::set_up(&trial.bed, &trial.setup.transmit)?;
        Ok(Self { trial, probe, stop, sides: None, keeps, _far_end: far_end })
    }
}

impl Held<'_, '_> {
    /// In the order of RFC 2544 section 23: snapshot, open, barrier, send on schedule, drain, read every counter once.
    fn measure(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let Self { trial, probe, .. } = self;
        let schedule = trial.schedule(load);
        // Between the segments of a soak the application waits on its CPU; a speed measurement must not block it.
        let pace = if self.keeps { None } else { Some(trial.paces.before(trial.cpus().to_vec())?) };
        trial.measure_tracer(load, &schedule)?;
        let is_first = trial.numbering.advance();
        let tracer = trial.tracing.tracer().map(AsRef::as_ref);
        let mut before = Snapshot::take(&trial.bed, tracer)?;
        if is_first && !trial.bed.is_virtual() && !before.settling().is_zero() {
            // Traffic from before the run must not be counted in it.
            std::thread::sleep(before.settling());
            before = Snapshot::take(&trial.bed, tracer)?;
        }
        let progress = Arc::new(Progress::default());
        let (ready, is_ready) = sync_channel(1);
        let snap = trial.setup.capture.snap_length;
        let recogniser =
            Classifier::new(trial.id(), trial.plan.layout(), snap.cuts().then(|| snap.octets()))?;
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
                        // No frame will come: the receiver must not wait.
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
        // After a failed send the receiver must not wait for frames.
        progress.sent.store(sent.as_ref().map_or(0, |sent| sent.report.sent), Ordering::Relaxed);
        // Release: pairs with the receiver's Acquire; the count above is visible with the flag.
        progress.finished.store(true, Ordering::Release);
        let outcome = sides.receiver.done();
        // Otherwise both are closed before the counters are read for the last time.
        self.sides = Some(sides).filter(|_| self.keeps && sent.is_ok() && outcome.is_ok());
        if !trial.bed.is_virtual() && is_missing_frames(&sent, &outcome) {
            // Some drivers update their counters only at intervals, and those drivers decide where a loss is booked.
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
            // A phase with a plan lasts as long as its plan, even if its last frame leaves one period before the end.
            measured.sending = measured.sending.max(duration);
        }
        if let Some(pace) = pace {
            pace.after(&mut measured.disturbance.cpus)?;
        }
        measured.loss_pattern =
            record.and_then(|record| record.shape(&end(&sent.report, &schedule, &measured)));
        measured.latency =
            outcome.received.latency.take().map(|latency| Latency { clock: clock_of(&schedule), ..latency });
        measured.generator = sent.generator.clone();
        if let Some(facts) = &mut measured.capture {
            facts.moderation = trial.moderated.as_ref().map(Moderated::granted);
        }
        let profile = trial.profile_after(&sent);
        Ok(measured.result(trial.numbering.last, Phase::FixedLoad, &profile, load, duration))
    }
}

impl Trial for Held<'_, '_> {
    fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
        Ok(self.measure(load, duration)?)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate
    }
}

impl LiveTrial<'_> {
    /// Before the first trial: measures the tracer's cost under the trial's load, without a capture. No later trial uses the id
    /// of these frames.
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

    /// CPUs of generator, kernel and application.
    fn cpus(&self) -> [CpuId; 3] {
        let Placement { generator, kernel, application, .. } = self.placement;
        [generator, kernel, application]
    }

    /// When the generator should send the frames of a load.
    fn schedule(&self, load: Load) -> Schedule {
        match (load, self.setup.burst) {
            (Load::Rate(rate), Some(frames)) => Schedule::Bursts { frames, rate },
            _ => load.schedule(),
        }
    }

    /// The id in this trial's frames. It differs from those of all nearby trials, also of other runs.
    pub(super) fn id(&self) -> TrialId {
        TrialId(self.base.0.wrapping_add(self.numbering.last as u16))
    }

    /// The profile, with the properties of the generator found during the trial.
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
}

/// Earliest start for a sender that is released now.
fn soon() -> Instant {
    Instant::now() + HEAD_START
}

/// A moment by CLOCK_MONOTONIC, which is also the kernel's tracing clock.
fn monotonic_ns_at(moment: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), clock::monotonic_ns());
    let (ahead, behind) = (moment.saturating_duration_since(now), now.saturating_duration_since(moment));
    now_ns + ahead.as_nanos() as u64 - behind.as_nanos() as u64
}

/// Facts about the trial's end that the record of its frames lacks.
fn end(sent: &SendReport, schedule: &Schedule, measured: &Measured) -> End {
    let planned = schedule.planned_ns(sent.sent);
    End {
        sent: sent.sent,
        at_ns: planned.unwrap_or(sent.elapsed.as_nanos() as u64),
        clock: clock_of(schedule),
        damaged: measured.arrivals.corrupt + measured.arrivals.truncated,
        ring_drops: measured.evidence.method.lost_at(Place::Ring),
    }
}

/// The clock of the timestamps in a schedule's frames.
fn clock_of(schedule: &Schedule) -> Clock {
    schedule.planned_ns(0).map_or(Clock::GeneratorTime, |_| Clock::PlannedSendTime)
}

fn is_missing_frames(sent: &Result<Sent>, outcome: &Result<Outcome>) -> bool {
    match (sent, outcome) {
        (Ok(sent), Ok(outcome)) => outcome.received.arrivals.delivered < sent.report.sent,
        _ => false,
    }
}
