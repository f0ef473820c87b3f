//! Receivers: a thread for each receiving port counts the frames of each flow.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use capbench_capture::{Capture, CaptureError, Frame, Interface, Taker, Visitor, open_with};
use capbench_frames::trailer;
use capbench_frames::units::FCS_OCTETS;
use capbench_frames::{Stamp, TrialId};
use capbench_model::counters::LossMark;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;

use crate::error::{OtgError, Result};
use crate::ports::Port;

/// Longest wait for frames: the largest delay of a stop.
const TICK: Duration = Duration::from_millis(50);

/// How frames are received.
const METHOD: &str = "packet-v3";

/// Octets of a VLAN tag that the kernel removed.
const TAG_OCTETS: u32 = 4;

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
    /// Sets them to flows with their trial and stream.
    pub fn set(&self, flows: impl Iterator<Item = (u16, TrialId, u8)>) {
        let mut table = Table::default();
        for (flow, trial, stream) in flows {
            let at = table.0.iter().position(|(known, _)| *known == trial).unwrap_or_else(|| {
                table.0.push((trial, vec![None; 1 << u8::BITS].into()));
                table.0.len() - 1
            });
            table.0[at].1[usize::from(stream)] = Some(flow);
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

/// What arrived of a run of a flow at a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The run: the trial of its trailers.
    trial: Option<TrialId>,
    pub frames: u64,
    /// FCS included.
    pub octets: u64,
    /// Kernel's times of the first and the last frame, in nanoseconds since 1970.
    pub first_ns: u64,
    pub last_ns: u64,
    /// Sum, least and largest time since the planned send time, in nanoseconds; planned since the start of the run.
    delay_sum_ns: i128,
    delay_least_ns: i64,
    delay_most_ns: i64,
}

impl Tally {
    #[inline]
    fn note(&mut self, stamp: &Stamp, frame: &Frame<'_>) {
        let delay = frame.time_ns.wrapping_sub(stamp.planned_ns).cast_signed();
        if self.trial != Some(stamp.trial) {
            *self = Self {
                trial: Some(stamp.trial),
                first_ns: frame.time_ns,
                delay_least_ns: i64::MAX,
                delay_most_ns: i64::MIN,
                ..Self::default()
            };
        }
        self.frames += 1;
        let tag = if frame.vlan.is_some() { TAG_OCTETS } else { 0 };
        self.octets += u64::from(frame.wire_length + tag + u32::from(FCS_OCTETS));
        self.last_ns = frame.time_ns;
        self.delay_sum_ns += i128::from(delay);
        self.delay_least_ns = self.delay_least_ns.min(delay);
        self.delay_most_ns = self.delay_most_ns.max(delay);
    }

    /// Least, largest and mean delay in nanoseconds of a run that began at this time of the kernel's clock.
    pub fn delays(&self, began_ns: u64) -> Option<[f64; 3]> {
        let began = i128::from(began_ns);
        let frames = i128::from(self.frames);
        let mean = (self.delay_sum_ns - began * frames).checked_div(frames)?;
        let [least, most] = [self.delay_least_ns, self.delay_most_ns].map(|delay| i128::from(delay) - began);
        Some([least, most, mean].map(|delay| delay as f64))
    }

    /// Together with what another port received.
    pub fn plus(self, other: &Self) -> Self {
        match (self.frames, other.frames) {
            (0, _) => *other,
            (_, 0) => self,
            _ => Self {
                trial: self.trial,
                frames: self.frames + other.frames,
                octets: self.octets + other.octets,
                first_ns: self.first_ns.min(other.first_ns),
                last_ns: self.last_ns.max(other.last_ns),
                delay_sum_ns: self.delay_sum_ns + other.delay_sum_ns,
                delay_least_ns: self.delay_least_ns.min(other.delay_least_ns),
                delay_most_ns: self.delay_most_ns.max(other.delay_most_ns),
            },
        }
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
        let thread = thread::Builder::new().name("otg-receive".into()).spawn(run);
        let thread = thread.map_err(|source| OtgError::System { what: "no thread for a port", source })?;
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

    /// What arrived of a run of a flow, and when the last frame was read.
    pub fn tally(&self, flow: usize, trial: TrialId) -> (Tally, Option<Instant>) {
        let known = self.shared.board().tallies[flow];
        if known.0.trial == Some(trial) { known } else { Default::default() }
    }

    /// Why its counts are not exact: frames that it lost itself, or a failure.
    pub fn flaw(&self) -> Option<String> {
        let board = self.shared.board();
        if let Some(failure) = &board.failure {
            return Some(failure.clone());
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
        while !shared.ends.load(Ordering::Relaxed) {
            let read = capture.take_with(TICK, &mut taken);
            // Also without a frame of a flow: all of them can be lost.
            shared.publish(&taken.tallies, capture.counters().ok().and_then(|counters| counters.dropped()));
            if let Err(error) = read {
                if interface.is_gone() {
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
