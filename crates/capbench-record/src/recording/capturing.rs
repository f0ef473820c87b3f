//! The thread of a capture: opens it, reports its properties, and runs its loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use capbench_capture::capture::Capture;
use capbench_capture::filter::{Filter, FrameMetadata, SoftwareFilter, Tags};
use capbench_capture::methods::{self, Visitor, open_with};
use capbench_model::running::Running;
use capbench_model::units::SnapLength;
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::pin_current_thread;

use super::alone::Alone;
use super::board::{CaptureBoard, InterfaceBoard, Requests};
use super::capture_loop;
use super::capture_side::CaptureSide;
use super::dispatch::{Destination, Dispatch};
use super::file_recorder::FileRecorder;
use super::merging::{Port, batches_of, plan_of};
use super::plan::Source;
use crate::error::{RecordError, Result};
use crate::merge::PortPlan;

/// Properties of a running capture.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) running: Running,
    pub(super) plan: PortPlan,
    /// Batches that it can deliver before it needs one back.
    pub(super) batches: u32,
    pub(super) filter: Option<SoftwareFilter>,
}

/// The job of a capture's thread.
pub(super) enum Job {
    /// Record the frames in this thread.
    Alone {
        recorder: Box<FileRecorder>,
        board: Arc<InterfaceBoard>,
        port: Box<Port>,
        over: Arc<AtomicBool>,
        /// Whether to write blocks of a ring to the file unchanged.
        by_block: bool,
    },
    /// Pass the frames to other threads.
    Give { number: usize, destination: Destination },
}

pub(super) struct Left {
    pub(super) recorder: Option<FileRecorder>,
    pub(super) outcome: Result<()>,
}

/// An open capture in its thread, which waits for a job. It ends if dropped without one.
#[derive(Debug)]
pub(super) struct Capturing {
    thread: JoinHandle<Result<Option<Left>>>,
    job: Sender<Job>,
    pub(super) board: Arc<CaptureBoard>,
}

impl Capturing {
    /// Opens a capture in the namespace of the calling thread.
    pub(super) fn open(
        source: &Source,
        name: String,
        cpu: Option<CpuId>,
        requests: Arc<Requests>,
    ) -> Result<(Self, Ready)> {
        let board = Arc::new(CaptureBoard::default());
        let (job, jobs) = channel();
        let (opened, ready) = channel();
        let (source, its_board) = (source.clone(), Arc::clone(&board));
        let work = move || {
            if let Some(cpu) = cpu {
                pin_current_thread(cpu)
                    .map_err(|source| RecordError::Option { option: "--cpu", reason: source.to_string() })?;
            }
            let (options, software) = divided(&source)?;
            let visitor = Loop { source: &source, software, board: its_board, opened, jobs, requests };
            open_with(&source.method, &source.interface, &options, visitor)?
        };
        let thread = thread::Builder::new().name(name).spawn(work).map_err(no_thread)?;
        match ready.recv() {
            Ok(ready) => Ok((Self { thread, job, board }, ready)),
            Err(_) => match joined(thread) {
                Err(error) => Err(error),
                Ok(_) => unreachable!("a thread that opened no capture has failed"),
            },
        }
    }

    pub(super) fn start(&self, job: Job) {
        // The thread waits for the job.
        let _ = self.job.send(job);
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn end(self) -> Option<Left> {
        drop(self.job);
        joined(self.thread).unwrap_or_else(|error| Some(Left { recorder: None, outcome: Err(error) }))
    }
}

fn joined(thread: JoinHandle<Result<Option<Left>>>) -> Result<Option<Left>> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Splits the options: those for the method, and the filter that runs after it.
fn divided(source: &Source) -> Result<(capbench_model::options::CaptureOptions, Option<Filter>)> {
    let mut options = source.options.clone();
    if methods::find(&source.method)?.socket_filter || options.filter.is_none() {
        return Ok((options, None));
    }
    let software = options.filter.take();
    // A filter program may read any octet.
    options.snap_length = SnapLength::EVERYTHING;
    Ok((options, software))
}

struct Loop<'s> {
    source: &'s Source,
    software: Option<Filter>,
    board: Arc<CaptureBoard>,
    opened: Sender<Ready>,
    jobs: Receiver<Job>,
    requests: Arc<Requests>,
}

impl Visitor for Loop<'_> {
    type Output = Result<Option<Left>>;

    fn visit<C: Capture>(self, mut capture: C) -> Self::Output {
        let Self { source, software, board, opened, jobs, requests } = self;
        let running = capture.running().clone();
        let metadata = FrameMetadata {
            interface: Some(source.interface.index),
            ..FrameMetadata::tags(Tags::found(&running, &source.interface.name))
        };
        let filter = software
            .map(|filter| SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &metadata))
            .transpose()?;
        let side = CaptureSide::of(&mut capture, source, board)?;
        let plan = plan_of(&mut capture, methods::find(&source.method)?, &source.options);
        let batches = batches_of(&mut capture, &source.options);
        let _ = opened.send(Ready { running, plan, batches, filter });
        drop(opened);
        let Ok(job) = jobs.recv() else { return Ok(None) };
        Ok(Some(match job {
            Job::Alone { recorder, board, port, over, by_block } => {
                let mut alone = Alone::new(&mut capture, &side, *port, *recorder, board, by_block);
                let outcome = capture_loop::run(&mut capture, &side, &mut alone, &requests);
                let recorder = alone.finish();
                over.store(true, Relaxed);
                Left { recorder: Some(recorder), outcome: outcome.map_err(RecordError::from) }
            }
            Job::Give { number, destination } => {
                let mut dispatch = Dispatch::new(&side, number, &destination);
                let outcome = capture_loop::run(&mut capture, &side, &mut dispatch, &requests);
                let dispatched = dispatch.finish();
                Left { recorder: None, outcome: outcome.map_err(RecordError::from).and(dispatched) }
            }
        }))
    }
}

/// A thread could not be started.
pub(super) fn no_thread(source: std::io::Error) -> RecordError {
    RecordError::WorkerPool { reason: format!("the system starts no thread for it: {source}") }
}
