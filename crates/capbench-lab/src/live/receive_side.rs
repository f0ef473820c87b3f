//! The receive side of a trial: the application's thread on its CPU in its namespace, and the counters around it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use capbench_capture::{CaptureError, Interface, open_with};
use capbench_frames::classify::Classifier;
use capbench_frames::plan::FramePlan;
use capbench_frames::stamp::{Stamp, StreamId, TrialId};
use capbench_host::accounts::clocks::ClockSnapshot;
use capbench_host::accounts::cpu::tick_ns;
use capbench_host::accounts::kernel_work::{KernelWorkProbe, KernelWorkSnapshot};
use capbench_host::accounts::processes::ProcessReading;
use capbench_host::accounts::softnet::{SoftnetSnapshot, longest_backlog};
use capbench_host::bed::{Guarded, Moderated, Side, SpareCpus};
use capbench_host::largest_frame::LargestFrame;
use capbench_model::direction::Direction;
use capbench_model::disturbers::Disturbers;
use capbench_model::fanout::Fanout;
use capbench_model::laboratory::Setup;
use capbench_model::latency::Latency;
use capbench_model::loss_pattern::{Clock, End, LossPattern, LossRecord};
use capbench_model::members::Members;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_sys::host::ethtool::receive_queues;
use capbench_sys::host::{CpuId, affinity};

use super::ends::ReceiveEnd;
use super::far_end;
use super::halves::{ReceiveHalf, ReceiverCpus};
use super::host::Host;
use super::interface_counts::InterfaceSnapshot;
use super::messages::{Arm, FinishReceiving, PrepareReceiving, not_armed};
use super::nic::{Circumstances, NicAccount};
use super::worker::Worker;
use super::{pace, tracing};
use crate::latency::Times;
use crate::mark::mark;
use crate::programs;
use crate::receiver::{
    Application, MemberOf, Order, Outcome, Progress, QueueSize, Received, SharedStart, Streams,
    least_call_ns, together, verification_cost,
};
use crate::subject::Subject;
use crate::{LabError, Result};

/// The group of a method's members, before it has one.
fn group_of(members: Option<Members>) -> Option<Fanout> {
    members.map(|members| Fanout::new(members.mode).with_members(members.count))
}

/// The receive side.
pub struct ReceiveSide {
    host: Host,
    side: Side,
    /// As captures need it.
    interface: Interface,
    asked: PrepareReceiving,
    subject: Subject,
    plan: FramePlan,
    /// The CPU of each of its threads.
    cpus: Vec<CpuId>,
    /// CPUs that would be free for another placement.
    spare_cpus: SpareCpus,
    /// Receive queues of the interface; `None` if unknown.
    queues: Option<u32>,
    /// The interface with the set-up's interrupt moderation.
    moderated: Option<Moderated>,
    _far_end: Option<Guarded>,
    open: Option<OpenCapture>,
    /// The capture of the last trial while its threads close it.
    closing: Option<OpenCapture>,
    armed: Option<Armed>,
}

/// The application's threads with their open captures. Dropping it ends a trial that waits for frames.
struct OpenCapture {
    /// One thread, or that of each member.
    workers: Vec<Worker<Order, Outcome>>,
    probe: KernelWorkProbe,
    progress: Arc<Progress>,
}

/// A trial that can begin, or has begun.
struct Armed {
    arm: Arm,
    pace: Option<pace::Before>,
    before: Snapshot,
    processes: ProcessReading,
    /// When everything was ready.
    ready: KernelWorkSnapshot,
}

/// Counters of this side at one moment.
struct Snapshot {
    interface: InterfaceSnapshot,
    softnet: SoftnetSnapshot,
    clocks: ClockSnapshot,
}

impl ReceiveSide {
    /// Checks that the set-up can run here, and makes the settings of the interface. They are restored on drop.
    ///
    /// # Errors
    /// What the method or the interface does not support.
    pub fn prepare(asked: PrepareReceiving, subject: Subject, side: &Side, host: &Host) -> Result<Self> {
        let setup = &asked.setup;
        let unsupported = |reason| LabError::Unsupported { what: setup.method.to_string(), reason };
        let interface = side.run(|| interface(side, asked.is_virtual, &setup.capture))??;
        // Where it will run: an ordinary user has the privilege in the bed's namespaces only.
        match &subject {
            Subject::Capture { spec, method, members } => {
                side.run(|| (method.supported)(spec))?.map_err(unsupported)?;
                let options = CaptureOptions { fanout: group_of(*members), ..setup.capture.clone() };
                side.run(|| method.accepts(spec, &interface, &options))?.map_err(|error| match error {
                    CaptureError::Unsupported { reason, .. } => unsupported(reason),
                    other => other.into(),
                })?;
            }
            Subject::Program(program) => side.run(|| program.supported())?.map_err(unsupported)?,
        }
        // Checked before anything runs: whether there is enough memory.
        queue_size(setup, side)?;
        let moderated = setup.moderation.map(|wanted| Moderated::set(side, wanted)).transpose()?;
        let plan = FramePlan::new(setup.layout, setup.sizes.clone(), asked.mtu)?;
        let cpus = match subject.members() {
            None => vec![asked.cpus.application],
            Some(members) => asked.cpus.of_members(members.count, &affinity::allowed_cpus()?),
        };
        let far_end = match asked.is_virtual {
            true => far_end::set_up(side, &setup.transmit)?,
            false => None,
        };
        let mut trial_cpus = asked.cpus.all();
        trial_cpus.extend(&cpus);
        Ok(Self {
            spare_cpus: SpareCpus::besides(&trial_cpus, &affinity::allowed_cpus()?),
            host: host.clone(),
            side: side.clone(),
            interface,
            subject,
            plan,
            cpus,
            queues: side.run(|| receive_queues(side.name()))?.ok(),
            moderated,
            _far_end: far_end,
            open: None,
            closing: None,
            armed: None,
            asked,
        })
    }

    fn half(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        received: Received,
        loss_patterns: Vec<LossPattern>,
        cpus: ReceiverCpus,
    ) -> ReceiveHalf {
        let own_xdp = self.subject.takes_in_driver();
        let counts = after.interface.since(&before.interface);
        let softnet = after.softnet.since(&before.softnet);
        let circumstances = Circumstances {
            foreign: received.arrivals.foreign,
            method: &received.counters,
            foreign_program: !own_xdp && counts.kept_native_xdp(),
            failed_redirects: counts.traced.as_ref().map_or(0, |traced| traced.xdp_redirect_errors),
        };
        let backlog = softnet.iter().map(|cpu| cpu.dropped).sum();
        let nic =
            NicAccount::new(&before.interface.nic, &after.interface.nic, &counts, backlog, &circumstances);
        let options = &self.asked.setup.capture;
        ReceiveHalf {
            filters: received.filtered && (options.filter.is_some() || options.direction == Direction::Out),
            received,
            loss_patterns,
            interface: counts,
            nic,
            softnet,
            longest_backlog: longest_backlog(),
            past_backlog: self.asked.polls_by_thread || own_xdp,
            queues: self.queues,
            own_xdp,
            cpus,
            clocks: after.clocks.since(&before.clocks),
            tracer_cost: self.host.tracing.tracer().and_then(|tracer| tracer.cost()),
            untraced: self.host.tracing.why_not(),
            one_way: None,
            clock: None,
        }
    }

    fn snapshot(&self, settles: bool) -> Result<Snapshot> {
        let interface =
            InterfaceSnapshot::before_trial(&self.side, tracing::End::Receive, &self.host.tracing, settles)?;
        let (softnet, clocks) = (SoftnetSnapshot::read()?, ClockSnapshot::read());
        Ok(Snapshot { interface, softnet, clocks })
    }

    /// Starts the application's threads, which open the captures, and gives each its first trial. A thread starts when the one
    /// before it is ready: members of a group are numbered in the order in which they join it.
    fn open(&self, arm: &Arm, recogniser: &Classifier, progress: &Arc<Progress>) -> Result<OpenCapture> {
        let napi = self.asked.polls_by_thread.then(|| self.side.name());
        let mut probe =
            KernelWorkProbe::new(&self.asked.cpus.kernels, napi).traced_by(self.host.tracing.tracer());
        if let Subject::Program(_) = self.subject {
            probe = probe.of_program();
        }
        let members = self.subject.members();
        let mut setup = self.asked.setup.clone();
        setup.capture.mark = Some(mark(arm.trial, self.plan.layout()));
        setup.capture.fanout = group_of(members);
        let mut open = OpenCapture { workers: Vec::new(), probe, progress: Arc::clone(progress) };
        for (nth, cpu) in self.cpus.iter().enumerate() {
            let member = members.map(|_| MemberOf { nth, frames: most_frames(arm) });
            let mut worker =
                self.thread(arm, setup.clone(), member, *cpu, recogniser.clone(), open.probe.clone());
            begin(&mut worker, recogniser, progress)?;
            open.workers.push(worker);
        }
        Ok(open)
    }

    /// Starts one of the application's threads, on this CPU.
    fn thread(
        &self,
        arm: &Arm,
        setup: Setup,
        member: Option<MemberOf>,
        cpu: CpuId,
        recogniser: Classifier,
        probe: KernelWorkProbe,
    ) -> Worker<Order, Outcome> {
        // When the user stops a soak, frames already sent are still received: only the generator stops early.
        let stop = if arm.stays_open { Arc::default() } else { Arc::clone(&self.host.stop) };
        let (subject, side, interface) = (self.subject.clone(), self.side.clone(), self.interface.clone());
        let streams = self.streams();
        let samples = sample_frames(&self.plan, arm.trial);
        let expected = programs::Expected::of(arm.load, arm.duration, self.plan.sizes().mean_octets());
        let (calibration, is_held) = (self.host.calibration.clone(), arm.stays_open);
        let ends_when_counted = arm.in_turns;
        let work = move |orders: Receiver<Order>, done: SyncSender<Outcome>| {
            affinity::pin_current_thread(cpu)?;
            let queue = queue_size(&setup, &side)?;
            let (spec, method) = match &subject {
                Subject::Capture { spec, method, .. } => (spec, method),
                Subject::Program(program) => {
                    let Ok(Order { recogniser, progress, ready }) = orders.recv() else { return Ok(()) };
                    let job = programs::Job {
                        interface: &interface,
                        capture: &setup.capture,
                        recogniser,
                        streams,
                        expected,
                        progress: &progress,
                        stop: &stop,
                        ready,
                        probe,
                        quiet: quiet(&setup),
                        latency: setup.latency,
                    };
                    let _ = done.send(programs::run(program, job)?);
                    return Ok(());
                }
            };
            let visitor = Application {
                streams,
                work: calibration.ready_work(spec.own_work().unwrap_or(setup.work.model), cpu),
                verify_ns: verification_cost(&recogniser, &samples),
                call_ns: if method.reads_by_calls { least_call_ns() } else { None },
                orders,
                is_held,
                done: &done,
                queue,
                stop: &stop,
                probe,
                quiet: quiet(&setup),
                latency: setup.latency,
                member,
                ends_when_counted,
            };
            open_with(spec, &interface, &setup.capture, visitor)?
        };
        Worker::start(&self.side, "capbench-app", work)
    }

    /// Waits until the threads of the last trial have closed their captures.
    pub(super) fn wait_until_closed(&mut self) {
        self.closing = None;
    }

    /// The CPUs of the receive side.
    fn receiving_cpus(&self) -> Vec<CpuId> {
        let mut all = self.cpus.clone();
        all.extend(&self.asked.cpus.kernels);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// All CPUs of the trial on this host; one can be named twice.
    fn cpus_of_host(&self) -> Vec<CpuId> {
        self.asked.cpus.generators.iter().copied().chain(self.receiving_cpus()).collect()
    }

    fn streams(&self) -> Streams {
        let untimed = self.asked.untimed.iter().copied().collect();
        Streams { count: self.asked.streams.into(), flows: self.plan.flow_order(), untimed }
    }
}

impl ReceiveEnd for ReceiveSide {
    fn can_stay_open(&self) -> Result<()> {
        match &self.subject {
            Subject::Capture { .. } => Ok(()),
            Subject::Program(program) => Err(LabError::Unsupported {
                what: "a soak".into(),
                reason: format!("{} would be started anew for every part of it", program.name),
            }),
        }
    }

    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()> {
        self.wait_until_closed();
        // Between the segments of a soak the application waits on its CPU; a speed measurement must not block it.
        let pace = (!arm.stays_open).then(|| self.host.paces.before(self.cpus_of_host())).transpose()?;
        self.host.tracing.time_softirqs(self.asked.setup.softirqs.is_for(arm.load))?;
        let before = self.snapshot(arm.is_first && !self.asked.is_virtual)?;
        let processes = ProcessReading::now();
        let snap = self.asked.setup.capture.snap_length;
        let recogniser = Classifier::new(arm.trial, self.plan.layout(), snap.cuts().then(|| snap.octets()))?;
        let progress = Arc::new(Progress::new(start, self.cpus.len()));
        let open = match self.open.take() {
            Some(mut open) => {
                open.progress = Arc::clone(&progress);
                for worker in &mut open.workers {
                    begin(worker, &recogniser, &progress)?;
                }
                open
            }
            None => self.open(&arm, &recogniser, &progress)?,
        };
        let ready = open.probe.snapshot()?;
        self.open = Some(open);
        self.armed = Some(Armed { arm, pace, before, processes, ready });
        Ok(())
    }

    fn finish(&mut self, finish: FinishReceiving) -> Result<ReceiveHalf> {
        let armed = self.armed.take().filter(|armed| armed.arm.trial == finish.trial);
        let (Some(armed), Some(mut open)) = (armed, self.open.take()) else {
            return Err(not_armed(finish.trial));
        };
        let sending_over = open.probe.snapshot()?;
        let has_all = finish.sent.len() == usize::from(self.asked.streams);
        // An agent that lost its controller finishes before the planned end.
        let end_ns = finish.sent.iter().map(|sent| sent.end_ns).max().unwrap_or_default();
        let since_ready_ns = sending_over.monotonic_ns().saturating_sub(armed.ready.monotonic_ns());
        let frames = if has_all { finish.frames() } else { Progress::UNKNOWN };
        open.progress.finish_with_drops(frames, end_ns.saturating_sub(since_ready_ns), finish.dropped());
        let outcome = match (self.subject.members(), &mut open.workers[..]) {
            (None, [only]) => only.done()?,
            (_, workers) => {
                let outcomes: Result<Vec<Outcome>> = workers.iter_mut().map(Worker::done).collect();
                together(outcomes?, &self.cpus, self.plan.flow_order())?
            }
        };
        let processes = ProcessReading::now().since(&armed.processes, &self.cpus_of_host());
        let start = open.progress.start.as_ref().and_then(|start| start.get().copied());
        if armed.arm.stays_open {
            self.open = Some(open);
        } else if armed.arm.in_turns && !self.subject.takes_in_driver() {
            // The kernel waits before it frees a ring, and passes no more frames to it. The interface's counters can be read meanwhile.
            open.workers.iter_mut().for_each(Worker::close);
            self.closing = Some(open);
        } else {
            drop(open);
        }
        if !self.asked.is_virtual && outcome.received.arrivals.delivered < finish.frames() {
            // Some drivers update their counters only at intervals, and those drivers decide where a loss is booked.
            std::thread::sleep(armed.before.interface.settling());
        }
        let after = self.snapshot(false)?;
        let paces = armed.pace.map_or(Ok(Vec::new()), pace::Before::after)?;
        let stalls = |cpu| Some((cpu, self.host.tracing.stalls(cpu, start?, sending_over.monotonic_ns())?));
        let placement = self.asked.cpus.clone();
        let Outcome { mut received, kernel, record, times } = outcome;
        let receiving = kernel.cpus_since(&armed.ready);
        let idle_cpus = self.spare_cpus.idle_in(&receiving);
        let cpus = ReceiverCpus {
            placement,
            sending: sending_over.cpus_since(&armed.ready),
            receiving,
            receiving_ns: kernel.monotonic_ns().saturating_sub(armed.ready.monotonic_ns()),
            kernel: kernel.since(&armed.ready)?,
            kernel_busy_ns: kernel.busy_ns_since(&armed.ready),
            interrupts_excluded: self.host.irq.excluded_from_threads,
            softirqs_timed: self.host.tracing.times_softirqs(),
            tick_ns: tick_ns()?,
            stalls: self.receiving_cpus().into_iter().filter_map(stalls).collect(),
            paces,
            disturbers: Some(Disturbers { idle_cpus, ..processes }),
        };
        received.capture.moderation = self.moderated.as_ref().map(Moderated::granted);
        let (latency, one_way) = times.map(Times::latency).unzip();
        received.latency =
            latency.or(received.latency).map(|latency| Latency { clock: armed.arm.clock(), ..latency });
        let loss_patterns = record
            .map_or(Vec::new(), |record| patterns(record, &armed.arm, &self.streams(), &finish, &received));
        let began: Vec<_> =
            finish.sent.iter().filter_map(|sent| Some((sent.stream.0, sent.began?))).collect();
        let one_way = one_way.flatten().map(|times| times.one_way(&began));
        let half = self.half(&armed.before, &after, received, loss_patterns, cpus);
        Ok(ReceiveHalf { one_way, ..half })
    }

    fn release(&mut self) {
        self.armed = None;
        self.open = None;
    }
}

/// Gives a thread its next trial, and waits until it can receive.
fn begin(
    worker: &mut Worker<Order, Outcome>,
    recogniser: &Classifier,
    progress: &Arc<Progress>,
) -> Result<()> {
    let (ready, is_ready) = sync_channel(1);
    worker.order(Order { recogniser: recogniser.clone(), progress: Arc::clone(progress), ready });
    is_ready.recv().map_err(|_| worker.failure())
}

/// Most frames of a trial whose members remember which of them came.
fn most_frames(arm: &Arm) -> u64 {
    /// No card of today receives more.
    const MOST_PPS: f64 = 200e6;
    /// For so many a member needs 64 MiB of bits and 128 MiB of notes, which the kernel provides as frames come.
    const MOST: u64 = 1 << 29;
    let at_most = || (MOST_PPS * arm.duration.as_secs_f64()) as u64;
    arm.load.intended(arm.duration).unwrap_or_else(at_most).clamp(1, MOST)
}

impl Drop for OpenCapture {
    fn drop(&mut self) {
        // No frame will come: the application must not wait.
        self.progress.finish(0, 0);
    }
}

/// The interface as captures need it, in the calling thread's namespace. On capbench's own link all frames are its own, and no
/// longer than the MTU.
fn interface(side: &Side, is_virtual: bool, options: &CaptureOptions) -> Result<Interface> {
    let interface = Interface::new(side.name(), side.index(), side.mtu());
    if is_virtual {
        return Ok(interface);
    }
    let largest = LargestFrame::of_interface(side, options.direction)?;
    Ok(interface.with_largest_frame(largest.octets))
}

/// The pattern of each stream's loss, with the facts about the trial's end that the record of its frames lacks. A stream whose
/// generator reported nothing ends with its last frame that came.
fn patterns(
    record: LossRecord,
    arm: &Arm,
    streams: &Streams,
    finish: &FinishReceiving,
    received: &Received,
) -> Vec<LossPattern> {
    record.patterns(|stream| {
        let reached = received.streams.get(stream).map_or(0, |arrivals| arrivals.reached);
        let (sent, at_ns) = finish.of(stream).map_or((reached, 0), |sent| (sent.frames, sent.end_ns));
        End {
            sent,
            at_ns,
            clock: if streams.untimed.has(stream) { Clock::ArrivalTime } else { arm.clock() },
            damaged: received.arrivals.corrupt + received.arrivals.truncated,
            ring_drops: received.counters.lost_at(Place::Ring),
        }
    })
}

/// How long no frame may arrive. A partly filled V3 block arrives up to its retire timeout late.
fn quiet(setup: &Setup) -> Duration {
    setup.quiet.max(2 * setup.capture.retire_timeout + Duration::from_millis(20))
}

/// The application's queue, if it has one: with room for the captured part of the interface's largest frame.
fn queue_size(setup: &Setup, side: &Side) -> Result<Option<QueueSize>> {
    /// An Ethernet header and two VLAN tags.
    const HEADER: u32 = 14 + 2 * 4;
    let octets = setup.capture.snap_length.octets().min(side.mtu().saturating_add(HEADER));
    setup.work.queue.map(|length| QueueSize::new(length, octets as usize)).transpose()
}

/// Frames of the plan for measuring the verification cost, as many as a batch contains.
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
