//! Opening, starting, asking and ending a recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::pin_current_thread;

use super::account::{Account, InterfaceAccount};
use super::board::{CaptureBoard, LaneBoard, Wishes};
use super::capturing::{Capturing, Job, Ready};
use super::link::LinkCounts;
use super::merging::{self, News, Port};
use super::plan::Plan;
use super::scribe::Scribe;
use crate::capture::Running;
use crate::counters::{Counters, Loss, LossPlace};
use crate::error::{CaptureError, Result};
use crate::file::FileFormat;
use crate::fill::Fill;
use crate::merge::{MergeTally, PortTally};
use crate::writing::{Ending, WriterCounts, WriterGauge};

/// Batches and reports on their way to the merge. Batches are bounded by the memory of their captures anyway.
const NEWS: usize = 4096;

/// A recording whose captures are open, and that has written nothing. From here on no privilege is needed any more.
#[derive(Debug)]
pub struct Opened {
    plan: Plan,
    wishes: Arc<Wishes>,
    captures: Vec<Capture>,
}

#[derive(Debug)]
struct Capture {
    /// The interface in the plan.
    source: usize,
    thread: Capturing,
    ready: Ready,
}

/// A recording that runs. Dropped without [`Session::finish`], it ends as if it were asked to.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    wishes: Arc<Wishes>,
    captures: Vec<(usize, Option<Capturing>)>,
    merge: Option<JoinHandle<(Scribe, MergeTally)>>,
    lanes: Vec<(Arc<LaneBoard>, Vec<Arc<CaptureBoard>>)>,
    filters_here: Vec<bool>,
    gauge: WriterGauge,
    over: Arc<AtomicBool>,
    start: Instant,
}

/// How a recording ended.
#[derive(Debug)]
pub struct Finished {
    /// Why.
    pub end: End,
    /// What became of every packet.
    pub account: Account,
    /// What went wrong, in the order of captures, the output last. Everything up to there is in the files.
    pub failures: Vec<CaptureError>,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Whoever records wanted no more.
    Asked,
    /// It has as many packets as were asked for.
    Packets,
    /// The last file that was asked for is complete.
    Files,
    /// Nobody reads the pipe any more.
    ReaderGone,
    /// It could not go on.
    Failed,
}

impl Opened {
    /// Opens all captures, in the namespace of the calling thread. They capture from here on, into their rings.
    ///
    /// # Errors
    /// A plan that cannot be, or a capture that cannot be opened.
    pub fn open(plan: Plan) -> Result<Self> {
        plan.check()?;
        let wishes = Arc::new(Wishes::default());
        let mut captures: Vec<Capture> = Vec::with_capacity(plan.captures());
        for (source, of) in plan.sources.iter().enumerate() {
            for _ in 0..of.members {
                let number = captures.len();
                let cpu = cpu_of(&plan.cpus, number);
                let (thread, ready) =
                    Capturing::open(of, format!("capture{number}"), cpu, Arc::clone(&wishes))?;
                captures.push(Capture { source, thread, ready });
            }
        }
        Ok(Self { plan, wishes, captures })
    }

    /// What each capture turned out to be, with the interface's number in the plan.
    pub fn running(&self) -> impl Iterator<Item = (usize, &Running)> {
        self.captures.iter().map(|capture| (capture.source, &capture.ready.running))
    }

    /// Opens the first file and starts.
    ///
    /// # Errors
    /// When the file cannot be opened, or no thread is to be had.
    pub fn start(self) -> Result<Session> {
        let Self { plan, wishes, mut captures } = self;
        let lanes: Vec<_> = (0..plan.sources.len())
            .map(|source| {
                let of_source = captures.iter().filter(|capture| capture.source == source);
                let boards: Vec<_> = of_source.map(|capture| Arc::clone(&capture.thread.board)).collect();
                (Arc::new(LaneBoard::default()), boards)
            })
            .collect();
        let mut descriptions: Vec<_> = plan.sources.iter().map(|source| source.description.clone()).collect();
        let mut filters_here = vec![false; plan.sources.len()];
        for capture in &captures {
            descriptions[capture.source].explain(&capture.ready.running);
            filters_here[capture.source] |= capture.ready.filter.is_some();
        }
        let scribe = Scribe::open(&plan, &descriptions, &lanes)?;
        let (gauge, over, start) = (scribe.gauge(), Arc::new(AtomicBool::new(false)), Instant::now());
        let mut session = Session {
            wishes,
            captures: Vec::with_capacity(captures.len()),
            merge: None,
            lanes,
            filters_here,
            gauge,
            over: Arc::clone(&over),
            start,
            plan,
        };
        if captures.len() == 1
            && let Some(Capture { source, thread, ready }) = captures.pop()
        {
            let lane = Arc::clone(&session.lanes[source].0);
            let by_block = session.plan.format == FileFormat::Verbatim;
            let filter = ready.filter;
            thread.start(Job::Alone { scribe: Box::new(scribe), lane, filter, over, by_block });
            session.captures.push((source, Some(thread)));
            return Ok(session);
        }
        let (merge, news) = sync_channel::<News>(NEWS);
        let mut ports = Vec::with_capacity(captures.len());
        let mut threads = Vec::with_capacity(captures.len());
        for Capture { source, thread, ready } in captures {
            ports.push(Port::new(source as u32, ready.plan, ready.filter));
            threads.push((source, thread));
        }
        let lanes: Vec<_> = session.lanes.iter().map(|(lane, _)| Arc::clone(lane)).collect();
        let (cpu, wishes) = (cpu_of(&session.plan.cpus, threads.len()), Arc::clone(&session.wishes));
        let work = move || {
            if let Some(cpu) = cpu {
                // The captures' threads have shown that the CPUs can be had; one that went away since then costs nothing
                // but its place.
                let _ = pin_current_thread(cpu);
            }
            let done = merging::merge(ports, &news, scribe, &lanes, &wishes);
            over.store(true, Relaxed);
            done
        };
        session.merge = Some(thread::Builder::new().name("merge".into()).spawn(work).map_err(no_thread)?);
        for (number, (source, thread)) in threads.into_iter().enumerate() {
            thread.start(Job::Give { number, merge: merge.clone() });
            session.captures.push((source, Some(thread)));
        }
        Ok(session)
    }
}

impl Session {
    /// Asks it to take what is in the rings, and to end. Does not wait.
    pub fn stop(&self) {
        self.wishes.stop();
    }

    /// Asks for all that is recorded so far to be in the file. Does not wait.
    pub fn flush(&self) {
        self.wishes.flush();
    }

    /// Asks for counters to be read and put into the file. Does not wait. To be called once a second.
    pub fn statistics(&self) {
        for board in self.lanes.iter().flat_map(|(_, captures)| captures) {
            board.end_second();
        }
        self.wishes.statistics();
    }

    /// Asks for a look at how full the captures are. Does not wait. To be called several times in a second:
    /// [`Account`] has the fullest that was seen.
    pub fn look(&self) {
        self.wishes.look();
    }

    /// Whether it has ended by itself, and is to be finished.
    pub fn is_over(&self) -> bool {
        let is_done = |thread: &Option<Capturing>| thread.as_ref().is_none_or(Capturing::is_finished);
        self.over.load(Relaxed) || self.captures.iter().all(|(_, thread)| is_done(thread))
    }

    /// What the writer did so far.
    pub fn writer(&self) -> WriterCounts {
        self.gauge.read()
    }

    /// What became of the packets so far. Each number is true for a moment of its own, those of the kernel for when they
    /// were last read.
    pub fn account(&self) -> Account {
        account(self, &self.gauge.read(), None)
    }

    /// Ends it, and waits until everything is written.
    pub fn finish(mut self) -> Finished {
        self.wishes.stop();
        let mut failures = Vec::new();
        let mut scribe = None;
        for (_, thread) in &mut self.captures {
            let Some(left) = thread.take().and_then(Capturing::end) else { continue };
            scribe = scribe.or(left.scribe);
            failures.extend(left.outcome.err());
        }
        let mut merged = None;
        if let Some(thread) = self.merge.take() {
            let (its_scribe, tally) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (scribe, merged) = (Some(its_scribe), Some(tally));
        }
        let mut end = if failures.is_empty() { End::Asked } else { End::Failed };
        let counts = match scribe {
            Some(scribe) => {
                if end == End::Asked && scribe.is_full() {
                    end = End::Packets;
                }
                let recorded = scribe.finish();
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
        let account = account(&self, &counts, merged);
        Finished { end, account, failures }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.wishes.stop();
    }
}

fn cpu_of(cpus: &[CpuId], number: usize) -> Option<CpuId> {
    cpus.get(number % cpus.len().max(1)).copied()
}

/// No thread to be had.
pub(super) fn no_thread(source: std::io::Error) -> CaptureError {
    CaptureError::HandOff { reason: format!("the system starts no thread for it: {source}") }
}

fn account(session: &Session, written: &WriterCounts, merge: Option<MergeTally>) -> Account {
    let interfaces = session.plan.sources.iter().enumerate().map(|(number, source)| {
        let (lane, captures) = &session.lanes[number];
        let counters: Vec<_> = captures.iter().map(|capture| capture.counters()).collect();
        let counters = Counters::sum(&counters);
        let link = captures.first().map_or_else(LinkCounts::default, |capture| capture.link());
        let mut losses = counters.losses;
        if !losses.iter().any(|loss| loss.place == LossPlace::Link) {
            let source = LinkCounts::MISSED.into();
            losses.insert(0, Loss { place: LossPlace::Link, count: link.missed, source });
        }
        InterfaceAccount {
            name: source.interface.name.clone(),
            method: source.method.to_string(),
            members: source.members,
            received: link.received,
            accepted: counters.accepted,
            losses,
            taken: captures.iter().map(|capture| capture.taken.load(Relaxed)).sum(),
            filtered: session.filters_here[number].then(|| lane.filtered.load(Relaxed)),
            past_end: lane.past.load(Relaxed),
            output: written.interfaces.get(number).copied().unwrap_or_default(),
            octets: (session.plan.format != FileFormat::Verbatim).then(|| lane.octets.load(Relaxed)),
            fill: Fill::fullest(captures.iter().map(|capture| capture.fills().lately())),
            fullest: Fill::fullest(captures.iter().map(|capture| capture.fills().ever())),
            told: (session.plan.format != FileFormat::Pcap).then(|| lane.told.load(Relaxed)),
            behind_last: lane.untold.load(Relaxed),
            merged: merge.as_ref().map(|tally| together(session, tally, number)),
            went_down: captures.iter().map(|capture| capture.went_down.load(Relaxed)).max().unwrap_or(0),
            is_down: captures.iter().any(|capture| capture.is_down()),
        }
    });
    Account {
        interfaces: interfaces.collect(),
        time: session.start.elapsed(),
        files: written.files,
        bytes: written.bytes,
        stored_bytes: written.stored_bytes,
        buffers: written.pool,
        buffers_in_use: written.in_use,
        most_buffers_in_use: written.most_in_use,
        longest_write: written.longest_write,
        merge,
    }
}

/// What the merge counted of the captures of an interface.
fn together(session: &Session, tally: &MergeTally, number: usize) -> PortTally {
    let of_interface = session.captures.iter().zip(&tally.ports).filter(|((source, _), _)| *source == number);
    of_interface.fold(PortTally::default(), |sum, (_, port)| PortTally {
        frames: sum.frames + port.frames,
        late: sum.late + port.late,
        latest_ns: sum.latest_ns.max(port.latest_ns),
        unsorted_batches: sum.unsorted_batches + port.unsorted_batches,
    })
}
