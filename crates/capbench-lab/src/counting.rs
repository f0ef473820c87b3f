//! Counts the frames of a capture outside of trials, for as long as a [`Watcher`] wants: in one thread, or in several that share
//! them.

mod limit;
mod members;
mod tallies;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capbench_capture::filter::{FrameMetadata, Tags};
use capbench_capture::{Capture, CaptureError, Interface, Occupancy, Visitor, open_with};
use capbench_frames::Classifier;
use capbench_model::counters::Counters;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;
use capbench_sys::host::{CpuId, affinity, clock};

use self::limit::Limit;
use self::tallies::Tallies;
pub use self::tallies::{Filters, Seen, Sum};

/// Longest wait for frames: the largest delay of a look at the count.
const TICK: Duration = Duration::from_millis(50);

/// How long frames are still read after the method failed, for example because its interface went down.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// What to count.
#[derive(Debug, Default)]
pub struct Counting {
    /// Which packets.
    pub filters: Filters,
    /// Tells the frames of a trial; they are verified. One thread can do that.
    pub classifier: Option<Classifier>,
    /// Frames after this many are not counted.
    pub limit: Option<u64>,
    /// The CPUs of the threads, which take turns if there are fewer. If empty, the scheduler chooses.
    pub cpus: Vec<CpuId>,
}

/// Where to count, and how.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// The method.
    pub method: &'s MethodSpec,
    /// The interface, in the namespace of the calling thread.
    pub interface: &'s Interface,
    /// Its options. A thread for each member of [`CaptureOptions::fanout`] counts.
    pub options: &'s CaptureOptions,
}

/// Looks at a running count.
pub trait Watcher {
    /// The captures run, and no frame was read yet. The count ends at once on [`ControlFlow::Break`].
    fn begin(&mut self, running: &Running) -> ControlFlow<()>;

    /// Called often: by a count in one thread after each batch of frames, and after a short wait without any. `is_over` with the
    /// last frames. The count ends on [`ControlFlow::Break`].
    fn look(&mut self, is_over: bool, gauges: &mut dyn Gauges) -> ControlFlow<()>;
}

/// What a running count tells of itself.
pub trait Gauges {
    /// How full the memory of its captures is, of the fullest; `None` where that cannot be read.
    fn fill(&mut self) -> Option<Occupancy>;

    /// What each thread has counted so far.
    ///
    /// # Errors
    /// The kernel refuses to report counters.
    fn parts(&mut self) -> Result<Vec<Part>, CaptureError>;

    /// What is known of the trial; `None` if the user asked for none.
    fn seen(&self) -> Option<Seen>;
}

/// What a thread has counted up to one moment, or several threads together.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// All packets.
    pub all: Sum,
    /// Those of each filter, and behind them those of none.
    pub each: Vec<Sum>,
    /// Packets that the filter left out, where capbench itself runs it.
    pub filtered: Option<u64>,
    /// Counters of the method.
    pub counters: Counters,
    /// CPU time of the counting in ns.
    pub cpu_ns: u64,
}

impl Part {
    /// What came since an earlier moment of the same threads.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        // At the start nothing of each filter is there.
        let each_before = before.each.iter().copied().chain(std::iter::repeat(Sum::default()));
        Self {
            all: self.all.since(before.all),
            each: self.each.iter().zip(each_before).map(|(now, before)| now.since(before)).collect(),
            filtered: self.filtered.map(|now| now - before.filtered.unwrap_or(0)),
            counters: self.counters.since(&before.counters),
            cpu_ns: self.cpu_ns - before.cpu_ns,
        }
    }

    /// What several threads have counted.
    pub fn sum(parts: &[Self]) -> Self {
        let plus = |one: Self, other: &Self| Self {
            all: one.all.plus(other.all),
            each: one.each.iter().zip(&other.each).map(|(one, other)| one.plus(*other)).collect(),
            filtered: one.filtered.zip(other.filtered).map(|(one, other)| one + other),
            counters: Counters::sum([&one.counters, &other.counters]),
            cpu_ns: one.cpu_ns + other.cpu_ns,
        };
        let Some((first, others)) = parts.split_first() else { return Self::default() };
        others.iter().fold(first.clone(), plus)
    }
}

/// A count that is over.
#[derive(Debug)]
pub struct Counted {
    /// What each thread counted, with the method's counters after it.
    pub parts: Vec<Part>,
    /// What is known of the trial; `None` if the user asked for none.
    pub seen: Option<Seen>,
    /// Why the method failed, if it did. What it still had was counted.
    pub failure: Option<CaptureError>,
}

/// Opens captures in the calling thread's namespace and counts their frames: one in this thread, several in a thread each.
///
/// # Errors
/// The method cannot be opened, or its counters not read; or a filter asks for metadata that frames here do not have.
pub fn count(
    source: Source<'_>,
    counting: &Counting,
    watcher: &mut dyn Watcher,
) -> Result<Counted, CaptureError> {
    let members = source.options.fanout.as_ref().and_then(|fanout| fanout.members());
    let threads = members.map_or(1, |members| members.get().into());
    let limit = counting.limit.map(|frames| Limit::new(frames, threads));
    if threads > 1 {
        return members::count(source, counting, threads, limit, watcher);
    }
    count_here(source, counting, 0, limit, watcher)
}

/// Counts in this thread, the nth of the count.
fn count_here(
    source: Source<'_>,
    counting: &Counting,
    nth: usize,
    limit: Option<Arc<Limit>>,
    watcher: &mut dyn Watcher,
) -> Result<Counted, CaptureError> {
    if let Some(cpu) = counting.cpus.get(nth % counting.cpus.len().max(1)) {
        affinity::pin_current_thread(*cpu)
            .map_err(|error| CaptureError::Option { option: "--cpu", reason: error.to_string() })?;
    }
    let Source { method, interface, options } = source;
    open_with(method, interface, options, Counter { counting, interface, limit, watcher })?
}

/// Counts with any method.
struct Counter<'c> {
    counting: &'c Counting,
    interface: &'c Interface,
    limit: Option<Arc<Limit>>,
    watcher: &'c mut dyn Watcher,
}

impl Visitor for Counter<'_> {
    type Output = Result<Counted, CaptureError>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<Counted, CaptureError> {
        let Self { counting, interface, limit, watcher } = self;
        let running = capture.running().clone();
        let metadata = FrameMetadata {
            interface: Some(interface.index),
            ..FrameMetadata::tags(Tags::found(&running, &interface.name))
        };
        let tallies = Tallies::new(counting, limit, &metadata)?;
        let begun = watcher.begin(&running);
        let mut here = Here { capture: &mut capture, tallies, cpu_start: clock::thread_cpu_ns() };
        let failure = match begun {
            ControlFlow::Continue(()) => here.read(watcher)?,
            ControlFlow::Break(()) => None,
        };
        let (parts, seen) = (here.parts()?, here.seen());
        Ok(Counted { parts, seen, failure: failure.map(|error| interface.or_removed(error)) })
    }
}

/// A count in this thread.
struct Here<'c, C> {
    capture: &'c mut C,
    tallies: Tallies,
    /// CPU time of the thread at the start in ns.
    cpu_start: u64,
}

impl<C: Capture> Gauges for Here<'_, C> {
    fn fill(&mut self) -> Option<Occupancy> {
        self.capture.fill()
    }

    fn parts(&mut self) -> Result<Vec<Part>, CaptureError> {
        let cpu_ns = clock::thread_cpu_ns() - self.cpu_start;
        Ok(vec![self.tallies.part(self.capture.counters()?, cpu_ns)])
    }

    fn seen(&self) -> Option<Seen> {
        self.tallies.seen()
    }
}

impl<C: Capture> Here<'_, C> {
    /// Counts until the end. Returns the method's failure after what it still had was counted.
    fn read(&mut self, watcher: &mut dyn Watcher) -> Result<Option<CaptureError>, CaptureError> {
        let mut failure: Option<(CaptureError, Instant)> = None;
        loop {
            let tallies = &mut self.tallies;
            if let Err(error) = self.capture.for_each(TICK, |frame| tallies.note(frame)) {
                match failure {
                    None => failure = Some((error, Instant::now())),
                    Some(_) => break,
                }
            }
            if let Some(tally) = self.capture.tally()? {
                self.tallies.adopt(tally);
            }
            let is_drained = failure.as_ref().is_some_and(|(_, since)| since.elapsed() >= LAST_LOOK);
            let is_over = self.tallies.end_batch() || is_drained;
            if watcher.look(is_over, self).is_break() || is_over {
                break;
            }
        }
        Ok(failure.map(|(error, _)| error))
    }
}
