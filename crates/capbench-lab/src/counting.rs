//! Counts the frames of a capture outside of trials, for as long as a [`Watcher`] wants.

mod tallies;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use capbench_capture::filter::{FrameMetadata, Tags};
use capbench_capture::{Capture, CaptureError, Interface, Occupancy, Visitor, open_with};
use capbench_frames::Classifier;
use capbench_model::counters::Counters;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;

pub use tallies::{Filters, Seen, Sum, Tallies};

/// Longest wait for frames: the largest delay of a look at the count.
const TICK: Duration = Duration::from_millis(50);

/// How long frames are still read after the method failed, for example because its interface went down.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// What to count.
#[derive(Debug, Default)]
pub struct Counting {
    /// Which packets.
    pub filters: Filters,
    /// Tells the frames of a trial; they are verified.
    pub classifier: Option<Classifier>,
    /// Frames after this many are not counted.
    pub limit: Option<u64>,
}

/// Looks at a running count, in the thread that counts.
pub trait Watcher {
    /// The capture runs, and no frame was read yet. The count ends at once on [`ControlFlow::Break`].
    fn begin(&mut self, running: &Running) -> ControlFlow<()>;

    /// Called after each batch of frames, and after a short wait without any; `is_over` with the last frames. The count ends on
    /// [`ControlFlow::Break`].
    fn look(&mut self, tallies: &Tallies, is_over: bool, gauges: &mut dyn Gauges) -> ControlFlow<()>;
}

/// What a running capture tells of itself.
pub trait Gauges {
    /// How full its memory is; `None` where that cannot be read.
    fn fill(&mut self) -> Option<Occupancy>;

    /// Its counters so far.
    ///
    /// # Errors
    /// The kernel refuses.
    fn counters(&mut self) -> Result<Counters, CaptureError>;
}

impl<C: Capture> Gauges for C {
    fn fill(&mut self) -> Option<Occupancy> {
        Capture::fill(self)
    }

    fn counters(&mut self) -> Result<Counters, CaptureError> {
        Capture::counters(self)
    }
}

/// A count that is over.
#[derive(Debug)]
pub struct Counted {
    /// What was counted.
    pub tallies: Tallies,
    /// The method's counters after it.
    pub counters: Counters,
    /// Why the method failed, if it did. What it still had was counted.
    pub failure: Option<CaptureError>,
}

/// Opens a capture in the calling thread's namespace and counts its frames in this thread.
///
/// # Errors
/// The method cannot be opened, or its counters not read; or a filter asks for metadata that frames here do not have.
pub fn count(
    method: &MethodSpec,
    interface: &Interface,
    options: &CaptureOptions,
    counting: &Counting,
    watcher: &mut dyn Watcher,
) -> Result<Counted, CaptureError> {
    open_with(method, interface, options, Counter { counting, interface, watcher })?
}

/// Counts with any method.
struct Counter<'c> {
    counting: &'c Counting,
    interface: &'c Interface,
    watcher: &'c mut dyn Watcher,
}

impl Visitor for Counter<'_> {
    type Output = Result<Counted, CaptureError>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<Counted, CaptureError> {
        let Self { counting, interface, watcher } = self;
        let running = capture.running().clone();
        let metadata = FrameMetadata {
            interface: Some(interface.index),
            ..FrameMetadata::tags(Tags::found(&running, &interface.name))
        };
        let mut tallies = Tallies::new(counting, &metadata)?;
        let failure = match watcher.begin(&running) {
            ControlFlow::Continue(()) => read(&mut capture, &mut tallies, watcher)?,
            ControlFlow::Break(()) => None,
        };
        let counters = capture.counters()?;
        Ok(Counted { tallies, counters, failure: failure.map(|error| interface.or_removed(error)) })
    }
}

/// Counts until the end. Returns the method's failure after what it still had was counted.
fn read<C: Capture>(
    capture: &mut C,
    tallies: &mut Tallies,
    watcher: &mut dyn Watcher,
) -> Result<Option<CaptureError>, CaptureError> {
    let mut failure: Option<(CaptureError, Instant)> = None;
    loop {
        if let Err(error) = capture.for_each(TICK, |frame| tallies.note(frame)) {
            match failure {
                None => failure = Some((error, Instant::now())),
                Some(_) => break,
            }
        }
        if let Some(tally) = capture.tally()? {
            tallies.adopt(tally);
        }
        let is_drained = failure.as_ref().is_some_and(|(_, since)| since.elapsed() >= LAST_LOOK);
        let is_over = is_drained || tallies.is_full();
        if watcher.look(tallies, is_over, capture).is_break() || is_over {
            break;
        }
    }
    Ok(failure.map(|(error, _)| error))
}
