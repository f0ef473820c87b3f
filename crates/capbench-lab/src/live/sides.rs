//! The two threads of a trial: the application's and the generator's, each on its CPU and in its namespace.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use capbench_capture::{Interface, open_with};
use capbench_frames::classify::Classifier;
use capbench_frames::plan::FramePlan;
use capbench_frames::schedule::Schedule;
use capbench_frames::stamp::{Stamp, StreamId, TrialId};
use capbench_sys::host::{affinity, clock};
use capbench_traffic::SendReport;
use capbench_traffic::transmit::{self, Refusal, TransmitConfig};
use capbench_traffic::{Limits, SendJob};

use super::line_rate;
use super::run::LiveTrial;
use super::worker::Worker;
use crate::Result;
use crate::mark::mark;
use crate::programs;
use crate::receiver::{Application, Order, Outcome, QueueSize, verification_cost};
use crate::subject::Subject;
use capbench_host::accounts::kernel_work::KernelWorkProbe;
use capbench_host::bed::Side;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Departed;

/// The two threads.
pub(super) struct Sides {
    pub(super) receiver: Worker<Order, Outcome>,
    pub(super) sender: Worker<SendOrder, Sent>,
}

impl LiveTrial<'_> {
    /// Starts the application's thread on its CPU in the receiving namespace.
    pub(super) fn start_receiver(
        &self,
        stop: Arc<AtomicBool>,
        probe: KernelWorkProbe,
        expected: programs::Expected,
        recogniser: Classifier,
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

    /// Opens the transmit side on a separate thread and CPU, and waits until it could send.
    pub(super) fn start_sender(&self) -> Result<Worker<SendOrder, Sent>> {
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
            // The other end lives until this thread is joined; otherwise the trial has ended, too.
            let _ = ready.send(());
            let (generator, outruns) = (opened.facts.to_string(), opened.facts.outruns(&config));
            while let Ok(SendOrder { schedule, limits: (duration, frames), trial, start }) = orders.recv() {
                let job = SendJob {
                    plan: &plan,
                    schedule: &schedule,
                    limits: Limits { duration, frames, stop: &stop },
                    trial,
                    stream: StreamId(0),
                    progress: None,
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
pub(super) struct SendOrder {
    pub(super) schedule: Schedule,
    /// Limits of time and of the number of frames.
    pub(super) limits: (Option<Duration>, Option<u64>),
    pub(super) trial: TrialId,
    pub(super) start: Instant,
}

/// The generator's account, its properties, and whether it was independent of a slow receiver.
pub(super) struct Sent {
    pub(super) report: SendReport,
    pub(super) generator: String,
    pub(super) outruns: bool,
    /// When its frames had left for the link.
    pub(super) departed: Option<Departed>,
    /// CPU time of its thread while it sent.
    pub(super) cpu_ns: u64,
}

/// How long no frame may arrive. A partly filled V3 block arrives up to its retire timeout late.
fn quiet(setup: &Setup) -> Duration {
    setup.quiet.max(2 * setup.capture.retire_timeout + Duration::from_millis(20))
}

/// The application's queue, if it has one: with room for the captured part of the interface's largest frame.
pub(super) fn queue_size(setup: &Setup, side: &Side) -> Result<Option<QueueSize>> {
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
