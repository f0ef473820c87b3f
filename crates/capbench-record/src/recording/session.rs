//! Opens, starts, queries and ends a recording.

pub mod accounting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use capbench_model::running::Running;
use capbench_sys::host::affinity::pin_current_thread;

use super::account::Account;
use super::board::{CaptureBoard, InterfaceBoard, Requests};
use super::capturing::{Capturing, Job, Ready, no_thread};
use super::dispatch::Destination;
use super::file_recorder::FileRecorder;
use super::merging::{self, MergeEvent, Port};
use super::plan::Plan;
use super::workers::{self, Workers};
use crate::error::{RecordError, Result};
use crate::file::FileFormat;
use crate::merge::MergeTally;
use crate::worker_pool;
use crate::writing::{Ending, WriterCounts, WriterGauge};

/// Capacity of the channel to the merge, in batches and reports. The captures' memory bounds batches anyway.
const EVENTS: usize = 4096;

/// A recording whose captures are open, but nothing is written yet. No privilege is needed from here on.
#[derive(Debug)]
pub struct Opened {
    plan: Plan,
    requests: Arc<Requests>,
    captures: Vec<Capture>,
    pool: Option<worker_pool::Plan>,
}

#[derive(Debug)]
struct Capture {
    /// The interface in the plan.
    source: usize,
    thread: Capturing,
    ready: Ready,
}

/// A running recording. Dropped without [`Session::finish`], it ends like after [`Session::stop`].
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    requests: Arc<Requests>,
    captures: Vec<(usize, Option<Capturing>)>,
    workers: Option<Arc<Workers>>,
    merge: Option<JoinHandle<(FileRecorder, MergeTally)>>,
    lanes: Vec<(Arc<InterfaceBoard>, Vec<Arc<CaptureBoard>>)>,
    filters_here: Vec<bool>,
    gauge: WriterGauge,
    over: Arc<AtomicBool>,
    start: Instant,
    /// When it began, ns since the epoch.
    began_ns: u64,
}

/// Result of a recording.
#[derive(Debug)]
pub struct Finished {
    /// Why it ended.
    pub end: End,
    /// What became of every packet.
    pub account: Account,
    /// Errors, in the order of captures; the output's error is last. Everything recorded before is in the files.
    pub failures: Vec<RecordError>,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The caller asked for it.
    Asked,
    /// The requested number of packets is recorded.
    Packets,
    /// The last requested file is complete.
    Files,
    /// The reader of the output pipe has closed it.
    ReaderGone,
    /// It failed.
    Failed,
}

impl Opened {
    /// Opens all captures, in the namespace of the calling thread. From here on they capture into their rings.
    ///
    /// # Errors
    /// The plan is invalid, or a capture cannot be opened.
    pub fn open(plan: Plan) -> Result<Self> {
        plan.check()?;
        let requests = Arc::new(Requests::default());
        let mut captures: Vec<Capture> = Vec::with_capacity(plan.captures());
        for (source, of) in plan.sources.iter().enumerate() {
            for _ in 0..of.members {
                let number = captures.len();
                let cpu = plan.cpu_of(number);
                let (thread, ready) =
                    Capturing::open(of, format!("capture{number}"), cpu, Arc::clone(&requests))?;
                captures.push(Capture { source, thread, ready });
            }
        }
        let batches = captures.iter().map(|capture| capture.ready.batches as usize).min().unwrap_or(0);
        let pool = plan.workers.map(|workers| workers.pool(batches)).transpose()?;
        Ok(Self { plan, requests, captures, pool })
    }

    /// Options of the recording.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan of the worker pool, if there are workers.
    pub fn worker_pool(&self) -> Option<worker_pool::Plan> {
        self.pool
    }

    /// The properties of each running capture, with the interface's index in the plan.
    pub fn running(&self) -> impl Iterator<Item = (usize, &Running)> {
        self.captures.iter().map(|capture| (capture.source, &capture.ready.running))
    }

    /// Opens the first file and starts the threads.
    ///
    /// # Errors
    /// If the file cannot be opened, or a thread cannot be started.
    pub fn start(self) -> Result<Session> {
        let Self { plan, requests, mut captures, pool } = self;
        let lanes: Vec<_> = (0..plan.sources.len())
            .map(|source| {
                let of_source = captures.iter().filter(|capture| capture.source == source);
                let boards: Vec<_> = of_source.map(|capture| Arc::clone(&capture.thread.board)).collect();
                (Arc::new(InterfaceBoard::default()), boards)
            })
            .collect();
        let mut descriptions: Vec<_> = plan.sources.iter().map(|source| source.description.clone()).collect();
        let mut filters_here = vec![false; plan.sources.len()];
        for capture in &captures {
            descriptions[capture.source].explain(&capture.ready.running);
            filters_here[capture.source] |= capture.ready.filter.is_some();
        }
        let recorder = FileRecorder::open(&plan, &descriptions, &lanes)?;
        let (gauge, over, start) = (recorder.gauge(), Arc::new(AtomicBool::new(false)), Instant::now());
        let began_ns = recorder.began_ns();
        let mut session = Session {
            requests,
            captures: Vec::with_capacity(captures.len()),
            workers: None,
            merge: None,
            lanes,
            filters_here,
            gauge,
            over: Arc::clone(&over),
            start,
            began_ns,
            plan,
        };
        if captures.len() == 1
            && pool.is_none()
            && let Some(port) = ports_of(&captures).pop()
            && let Some(Capture { source, thread, .. }) = captures.pop()
        {
            let board = Arc::clone(&session.lanes[source].0);
            let by_block = session.plan.format == FileFormat::Verbatim;
            let (recorder, port) = (Box::new(recorder), Box::new(port));
            thread.start(Job::Alone { recorder, board, port, over, by_block });
            session.captures.push((source, Some(thread)));
            return Ok(session);
        }
        let (merge, events) = sync_channel(EVENTS);
        let first = captures.len();
        if let Some(plan) = pool {
            let lane = |capture: &Capture| (capture.source as u32, capture.ready.filter.clone());
            let setup = workers::Setup {
                plan,
                encoder: recorder.encoder().clone(),
                lanes: captures.iter().map(lane).collect(),
                merge_holds: captures.iter().map(|capture| capture.ready.plan.batches as usize).sum(),
                cpus: (first..first + plan.workers).map(|thread| session.plan.cpu_of(thread)).collect(),
            };
            session.workers = Some(Arc::new(setup.start(merge.clone())?));
        }
        let number = first + pool.map_or(0, |plan| plan.workers);
        session.merge_in_thread(ports_of(&captures), events, recorder, number)?;
        for (number, Capture { source, thread, .. }) in captures.into_iter().enumerate() {
            let destination = Destination { merge: merge.clone(), workers: session.workers.clone() };
            thread.start(Job::Give { number, destination });
            session.captures.push((source, Some(thread)));
        }
        Ok(session)
    }
}

/// The merge's ports for these captures.
fn ports_of(captures: &[Capture]) -> Vec<Port> {
    let port = |Capture { source, thread, ready }: &Capture| {
        Port::new(*source as u32, ready.plan, ready.filter.clone(), Arc::clone(&thread.board))
    };
    captures.iter().map(port).collect()
}

impl Session {
    /// Starts the merging thread, which has this number.
    fn merge_in_thread(
        &mut self,
        ports: Vec<Port>,
        events: Receiver<MergeEvent>,
        recorder: FileRecorder,
        number: usize,
    ) -> Result<()> {
        let boards: Vec<_> = self.lanes.iter().map(|(board, _)| Arc::clone(board)).collect();
        let (requests, over) = (Arc::clone(&self.requests), Arc::clone(&self.over));
        let cpu = self.plan.cpu_of(number);
        let work = move || {
            if let Some(cpu) = cpu {
                // The captures' threads were pinned before. A CPU that went offline since then costs only the pinning.
                let _ = pin_current_thread(cpu);
            }
            let done = merging::merge(ports, &events, recorder, &boards, &requests);
            over.store(true, Relaxed);
            done
        };
        self.merge = Some(thread::Builder::new().name("merge".into()).spawn(work).map_err(no_thread)?);
        Ok(())
    }

    /// Asks the recording to drain the rings and end. Does not wait.
    pub fn stop(&self) {
        self.requests.stop();
    }

    /// Asks the recording to flush everything recorded so far to the file. Does not wait.
    pub fn flush(&self) {
        self.requests.flush();
    }

    /// Asks the recording to read counters and write them to the file. Does not wait. Call it once a second.
    pub fn statistics(&self) {
        for board in self.lanes.iter().flat_map(|(_, captures)| captures) {
            board.end_second();
        }
        self.requests.statistics();
    }

    /// Asks the captures to read their occupancy. Does not wait. Call it several times a second: [`Account`] has the highest
    /// value.
    pub fn look(&self) {
        self.requests.look();
    }

    /// Whether it has ended without [`Session::stop`], and the caller should finish it.
    pub fn is_over(&self) -> bool {
        let is_done = |thread: &Option<Capturing>| thread.as_ref().is_none_or(Capturing::is_finished);
        self.over.load(Relaxed) || self.captures.iter().all(|(_, thread)| is_done(thread))
    }

    /// Workers that panicked since the last call. The others continue.
    pub fn take_failures(&self) -> Vec<RecordError> {
        self.workers.as_ref().map(|workers| workers.take_failures()).unwrap_or_default()
    }

    /// Counters of the writer so far.
    pub fn writer(&self) -> WriterCounts {
        self.gauge.read()
    }

    /// Ends the recording, and waits until everything is written.
    pub fn finish(mut self) -> Finished {
        self.requests.stop();
        let mut failures = Vec::new();
        let mut recorder = None;
        for (_, thread) in &mut self.captures {
            let Some(left) = thread.take().and_then(Capturing::end) else { continue };
            recorder = recorder.or(left.recorder);
            failures.extend(left.outcome.err());
        }
        let mut merged = None;
        if let Some(thread) = self.merge.take() {
            let (its_recorder, tally) =
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (recorder, merged) = (Some(its_recorder), Some(tally));
        }
        let mut end = if failures.is_empty() { End::Asked } else { End::Failed };
        let counts = match recorder {
            Some(recorder) => {
                if end == End::Asked && recorder.is_full() {
                    end = End::Packets;
                }
                let recorded = recorder.finish();
                match recorded.ending {
                    Ending::Finished => {}
                    Ending::FileLimit => end = End::Files,
                    Ending::ReaderGone => end = End::ReaderGone,
                    Ending::Failed(error) => {
                        end = End::Failed;
                        failures.push(error);
                    }
                }
                recorded.counts
            }
            None => self.gauge.read(),
        };
        let account = self.account_of(&counts, merged);
        // The captures have dropped their references.
        if let Some(mut workers) = self.workers.take().and_then(Arc::into_inner) {
            let failed = workers.finish();
            if !failed.is_empty() {
                end = End::Failed;
            }
            failures.extend(failed);
        }
        Finished { end, account, failures }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.requests.stop();
    }
}
