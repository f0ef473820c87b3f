//! Receivers: a thread for each receiving port counts the frames of each flow.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use capbench_capture::{Capture, CaptureError, Frame, Interface, Taker, Visitor, open_with};
use capbench_frames::trailer;
use capbench_frames::{Stamp, TrialId};
use capbench_model::counters::LossMark;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;

use crate::error::{OtgError, Result};
use crate::messages::Route;
use crate::ports::Port;
use crate::tally::Tally;
use crate::threads::spawn;

/// Longest wait for frames: the largest delay of a stop.
const TICK: Duration = Duration::from_millis(50);

/// After so many failed reads in a row, the receiver has failed. An interface that is set down fails one.
const MOST_FAILURES: u32 = 20;

/// How frames are received.
const METHOD: &str = "packet-v3";

/// Which flow a stream of a trial is.
#[derive(Debug, Default)]
pub struct Routes {
    /// How often they have changed.
    version: AtomicU32,
    table: Mutex<Arc<Table>>,
}

/// By trial, the number of the flow of each stream.
#[derive(Debug, Default)]
struct Table(Vec<(TrialId, Box<[Option<u16>]>)>);

impl Routes {
    /// Sets them all.
    pub fn set(&self, routes: &[Route]) {
        let mut table = Table::default();
        for Route { trial, stream, flow } in routes {
            let at = table.0.iter().position(|(known, _)| known == trial).unwrap_or_else(|| {
                table.0.push((*trial, vec![None; 1 << u8::BITS].into()));
                table.0.len() - 1
            });
            table.0[at].1[usize::from(stream.0)] = Some(*flow);
        }
        *self.table.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        // Who sees the new number gets the new table.
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl Table {
    /// The flow of a frame.
    #[inline]
    fn flow_of(&self, stamp: &Stamp) -> Option<usize> {
        let (_, streams) = self.0.iter().find(|(trial, _)| *trial == stamp.trial)?;
        streams[usize::from(stamp.stream.0)].map(usize::from)
    }
}

/// What a receiver and its readers share.
#[derive(Debug)]
struct Shared {
    routes: Arc<Routes>,
    board: Mutex<Board>,
    ends: AtomicBool,
}

/// What is known after the last batch.
#[derive(Debug)]
struct Board {
    /// Of each flow, with the time at which its last frame was read.
    tallies: Vec<(Tally, Option<Instant>)>,
    /// Frames that the capture lost since it was opened; `None`: unknown.
    lost: Option<u64>,
    failure: Option<String>,
}

/// The receiver of a port. It ends when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Frames that the capture had lost at the last start of flows.
    lost_before: Option<u64>,
}

impl Receiver {
    /// Opens the capture of a port, for so many flows.
    pub fn start(port: &Port, routes: &Arc<Routes>, flows: usize) -> Result<Self> {
        let board = Board { tallies: vec![<(Tally, _)>::default(); flows], lost: Some(0), failure: None };
        let shared = Arc::new(Shared {
            routes: Arc::clone(routes),
            board: board.into(),
            ends: AtomicBool::new(false),
        });
        let (opened, is_open) = mpsc::channel();
        let (interface, its) = (port.interface(), Arc::clone(&shared));
        let run = move || {
            let options = CaptureOptions { flow_hashes: false, ..CaptureOptions::default() };
            let counter = Counter { interface: &interface, shared: &its, flows, opened: opened.clone() };
            if let Err(error) = open_with(&MethodSpec::plain(METHOD), &interface, &options, counter) {
                // The other end waits for it.
                let _ = opened.send(Err(error));
            }
        };
        let thread = spawn("otg-receive", run)?;
        match is_open.recv() {
            Ok(Ok(())) => Ok(Self { shared, thread: Some(thread), lost_before: Some(0) }),
            Ok(Err(error)) => Err(OtgError::Capture { path: port.name.clone(), source: error.into() }),
            Err(_) => Err(OtgError::Conflict(format!("{}: the receiver ended at once", port.name))),
        }
    }

    /// Losses count from now on.
    pub fn clear(&mut self) {
        let lost = self.shared.board().lost;
        self.lost_before = lost;
    }

    /// What arrived of the last run of each flow, and when its last frame was read.
    pub fn tallies(&self) -> Vec<(usize, Tally, Instant)> {
        let board = self.shared.board();
        let known = board.tallies.iter().enumerate();
        known.filter_map(|(flow, (tally, read_at))| Some((flow, *tally, (*read_at)?))).collect()
    }

    /// Why its counts are not exact: frames that it lost itself, or a failure.
    pub fn flaw(&self) -> Option<String> {
        let board = self.shared.board();
        if let Some(failure) = &board.failure {
            return Some(failure.clone());
        }
        if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            return Some("the receiver panicked; its process says more on standard error".into());
        }
        match board.lost.zip(self.lost_before) {
            Some((lost, before)) if lost > before => {
                Some(format!("its capture lost {} frames in the ring", lost - before))
            }
            Some(_) => None,
            None => Some("what its capture lost is unknown".into()),
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by it.
            let _ = thread.join();
        }
    }
}

/// Counts with any method.
struct Counter<'c> {
    interface: &'c Interface,
    shared: &'c Shared,
    flows: usize,
    opened: mpsc::Sender<std::result::Result<(), CaptureError>>,
}

impl Visitor for Counter<'_> {
    type Output = ();

    fn visit<C: Capture>(self, mut capture: C) {
        let Self { interface, shared, flows, opened } = self;
        // Nobody waits if the server has ended meanwhile.
        let _ = opened.send(Ok(()));
        let mut taken = Taken {
            routes: &shared.routes,
            version: 0,
            table: Arc::default(),
            tallies: vec![Tally::default(); flows],
        };
        let mut failures = 0;
        while !shared.ends.load(Ordering::Relaxed) {
            let read = capture.take_with(TICK, &mut taken);
            // Also without a frame of a flow: all of them can be lost.
            shared.publish(&taken.tallies, capture.counters().ok().and_then(|counters| counters.dropped()));
            failures = if read.is_ok() { 0 } else { failures + 1 };
            if let Err(error) = read {
                if interface.is_gone() || failures == MOST_FAILURES {
                    shared.board().failure = Some(interface.or_removed(error).to_string());
                    return;
                }
                // An interface that is down receives nothing until it is up again.
                thread::sleep(TICK);
            }
        }
    }
}

/// Counts frames by their trailers.
struct Taken<'r> {
    routes: &'r Routes,
    version: u32,
    table: Arc<Table>,
    tallies: Vec<Tally>,
}

impl Taker for Taken<'_> {
    /// New routes are there before the first frame that needs them is sent.
    #[inline]
    fn begin(&mut self, _: LossMark, _: Option<u32>) {
        let version = self.routes.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            self.table = Arc::clone(&self.routes.table.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(stamp) = trailer::read(frame.data)
            && let Some(flow) = self.table.flow_of(&stamp)
        {
            self.tallies[flow].note(&stamp, frame);
        }
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, tallies: &[Tally], lost: Option<u64>) {
        let now = Instant::now();
        let mut board = self.board();
        for ((known, read_at), tally) in board.tallies.iter_mut().zip(tallies) {
            if (known.trial, known.frames) != (tally.trial, tally.frames) {
                (*known, *read_at) = (*tally, Some(now));
            }
        }
        board.lost = lost;
    }
}

#[cfg(test)]
mod tests {
    use capbench_capture::Batch;
    use capbench_model::counters::{Counters, WaitCounts};
    use capbench_model::running::{Engine, Running, TimeSource};
    use capbench_sys::host::InterfaceIndex;

    use super::*;

    /// Its first reads fail. With the last one of `reads` the receiver is to end.
    struct Failing<'s> {
        failures: u32,
        reads: u32,
        shared: &'s Shared,
        running: Running,
    }

    struct NoFrames;

    impl Batch for NoFrames {
        fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
            std::iter::empty()
        }
    }

    impl Capture for Failing<'_> {
        type Batch<'a>
            = NoFrames
        where
            Self: 'a;

        fn next_batch(&mut self, _: Duration) -> capbench_capture::Result<Option<NoFrames>> {
            self.reads -= 1;
            self.shared.ends.store(self.reads == 0, Ordering::Relaxed);
            if self.failures == 0 {
                return Ok(None);
            }
            self.failures -= 1;
            let (method, interface) = ("failing".into(), "lo".into());
            Err(CaptureError::Unsupported { method, interface, reason: "no read".into() })
        }

        fn counters(&mut self) -> capbench_capture::Result<Counters> {
            Ok(Counters::default())
        }

        fn waits(&self) -> WaitCounts {
            WaitCounts::default()
        }

        fn running(&self) -> &Running {
            &self.running
        }
    }

    #[test]
    fn a_receiver_whose_reads_fail_all_the_time_has_failed() {
        let failure_after = |failures: u32| {
            let board = Board { tallies: Vec::new(), lost: Some(0), failure: None };
            let (routes, ends) = (Arc::default(), AtomicBool::new(false));
            let shared = Shared { routes, board: board.into(), ends };
            // The loopback interface of every namespace.
            let index = InterfaceIndex::new(1).unwrap();
            let interface = Interface::new("lo", index, 65_536);
            let running = Running::described("failing", Engine::default(), String::new(), TimeSource::None);
            let capture = Failing { failures, reads: MOST_FAILURES + 1, shared: &shared, running };
            let (opened, _is_open) = mpsc::channel();
            Counter { interface: &interface, shared: &shared, flows: 0, opened }.visit(capture);
            shared.board().failure.clone()
        };
        assert_eq!(failure_after(1), None, "an interface was set down");
        assert_eq!(failure_after(MOST_FAILURES - 1), None);
        assert_eq!(failure_after(MOST_FAILURES).unwrap(), "failing on lo: no read");
    }
}
