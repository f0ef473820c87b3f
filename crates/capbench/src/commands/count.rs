//! `capbench count`: counts what arrives, a line per second, totals at the end.

pub mod documents;
mod lines;
mod tallies;

use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_capture::filter::{FrameMetadata, Tags};
use capbench_capture::{Capture, CaptureError, Interface, Occupancy, Visitor, methods, open_with};
use capbench_frames::{Classifier, TrialId};
use capbench_host::bed::Side;
use capbench_lab::mark::mark;
use capbench_lab::programs::Programs;
use capbench_model::counters::Counters;
use capbench_model::direction::Direction;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::host::{CpuId, affinity, clock};
use clap::Args;

use self::lines::{Lines, Totals};
use self::tallies::{Filters, Tallies};
use crate::exit::{self, Exit, Usage};
use crate::flag_values::positive_duration;
use crate::flags::{CaptureFlags, FilterFlags, LayoutFlags, cpus, own_method};
use crate::metrics::{Exporter, MetricsFlags};
use crate::privileges;
use crate::recording::{interface, left_out};
use crate::signals::{Signals, Stop};

#[derive(Args, Clone, Debug)]
pub struct CountFlags {
    /// Interface to count on
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    /// Capture method
    #[arg(long, value_name = "METHOD", default_value = "packet-v3")]
    method: String,
    /// Stop after this many packets
    #[arg(short = 'c', long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this time [default: when interrupted]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Count what passes this filter, too: packets, bytes and rates; may be given again
    #[arg(long, value_name = "FILTER")]
    each: Vec<String>,
    /// Verify frames that `capbench send` made with this --trial: delivered once, lost, duplicate, reordered, damaged
    #[arg(long, value_name = "TRIAL", conflicts_with_all = ["filter", "filter_file"])]
    verify: Option<u16>,
    /// How many frames were sent with --trial, so that those lost at the end are known
    #[arg(long, value_name = "FRAMES", requires = "verify")]
    frames: Option<u64>,
    /// CPU to count on
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// One JSON object a line instead of text
    #[arg(long, visible_alias = "ndjson")]
    json: bool,
    #[command(flatten)]
    filter: FilterFlags,
    /// Headers of the frames to verify
    #[command(flatten)]
    layout: LayoutFlags,
    #[command(flatten)]
    capture: CaptureFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
}

/// Longest wait for frames: the largest delay of a line or of the end.
const TICK: Duration = Duration::from_millis(50);

/// Octets that are captured of each frame if nothing reads them: the least for which libpcap puts a tag back.
const HEADER: SnapLength = SnapLength::ETHERNET_HEADER;

/// Memory of a ring that packs such frames: 170,000 of them. The kernel zeroes all of it at the start.
const RING: ByteCount = ByteCount(16 << 20);

/// Time after which a partly filled block of such a ring is delivered: blocks of 1 MiB are full before, down to 100,000 packets/s.
const RETIRE_TIMEOUT: Duration = Duration::from_millis(100);

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);

/// Length of the windows of --metrics.
const WINDOW: Duration = Duration::from_millis(100);

/// How often the fill level of the capture is read.
const LOOK: Duration = Duration::from_millis(20);

/// How long frames are still read after the method failed, for example because its interface went down.
const LAST_LOOK: Duration = Duration::from_millis(200);

pub fn run(flags: &CountFlags) -> Result<Exit> {
    let method = own_method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let row = methods::find(&method)?;
    let mut options = flags.capture.options();
    options.flow_hashes = false;
    options.mark = flags.verify.map(|trial| mark(TrialId(trial), &flags.layout.layout()));
    let classifier = classifier(flags, options.snap_length)?;
    let side = Side::existing(&flags.interface)?;
    // Its server keeps the CPUs that are allowed now.
    let exporter = Exporter::open(&flags.metrics, "count", &flags.interface)?;
    if let Some(cpu) = flags.cpu {
        cpus(&cpu.to_string())?.into_iter().try_for_each(affinity::pin_current_thread)?;
    }
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let interface = interface(&side);
    let filters = Filters::of(&flags.filter, &flags.each, &method, &interface, &mut options)?;
    if classifier.is_none() && filters.need_no_octets() && row.options.contains(&"--snaplen") {
        options.snap_length = options.snap_length.min(HEADER);
        options.ring = flags.capture.options_with_packed_ring(row, RING).ring;
        options.retire_timeout = flags.capture.retire_timeout.unwrap_or(RETIRE_TIMEOUT);
    }
    let counter = Counter {
        flags,
        classifier,
        filters,
        stop: stop.clone(),
        signals,
        interface: &interface,
        direction: options.direction,
        exporter,
    };
    open_with(&method, &interface, &options, counter)??;
    Ok(exit::of_watching(stop.signal(), flags.count.is_some() || flags.duration.is_some()))
}

fn classifier(flags: &CountFlags, snap: SnapLength) -> Result<Option<Classifier>> {
    let Some(trial) = flags.verify else {
        let why = "flags about headers say what --verify expects; give --verify, too";
        return if flags.layout.is_given() { Err(Usage(why.into()).into()) } else { Ok(None) };
    };
    let layout = flags.layout.layout();
    Ok(Some(Classifier::new(TrialId(trial), &layout, snap.cuts().then(|| snap.octets()))?))
}

/// Counts with any method.
struct Counter<'f> {
    flags: &'f CountFlags,
    classifier: Option<Classifier>,
    filters: Filters,
    stop: Stop,
    signals: Signals,
    interface: &'f Interface,
    direction: Direction,
    exporter: Option<Exporter>,
}

impl Visitor for Counter<'_> {
    type Output = Result<()>;

    fn visit<C: Capture>(mut self, mut capture: C) -> Result<()> {
        let files = self.exporter.as_ref().map(Exporter::files).unwrap_or_default();
        let unconfined = privileges::keep_for_counting(&own_method(&self.flags.method)?, &files)?;
        let running = capture.running().clone();
        let CountFlags { method, interface, .. } = self.flags;
        tell!("capbench: {method} on {interface}: {}; {}", running.engine, running.ring);
        if let Some(note) = left_out(interface, self.direction) {
            tell!("capbench: {note}");
        }
        if let Some(reason) = unconfined {
            tell!("capbench: not confined to reading files: {reason}");
        }
        if let Some(exporter) = &mut self.exporter {
            exporter.serve(&self.flags.cpu.map(CpuId::new).into_iter().collect::<Vec<_>>())?;
        }
        let metadata = FrameMetadata {
            interface: Some(self.interface.index),
            ..FrameMetadata::tags(Tags::found(&running, &self.interface.name))
        };
        let lines = Lines::new(self.flags.json, self.filters.names(), self.flags.frames);
        let tallies = Tallies::new(&self.filters, self.classifier.clone(), self.flags.count, &metadata)?;
        let mut watch = Watch {
            lines,
            start: Instant::now(),
            cpu_start: clock::thread_cpu_ns(),
            last: Totals::default(),
            next_look: Duration::ZERO,
            next_line: SECOND,
            fill: None,
            next_window: WINDOW,
        };
        let (tallies, failure) = self.count(&mut capture, tallies, &mut watch)?;
        watch.close(&tallies, capture.counters()?)?;
        failure.map_or(Ok(()), |error| Err(self.interface.or_removed(error).into()))
    }
}

impl Counter<'_> {
    /// Counts until the end. Returns the method's failure after what it still had was counted.
    fn count<C: Capture>(
        &mut self,
        capture: &mut C,
        mut tallies: Tallies,
        watch: &mut Watch,
    ) -> Result<(Tallies, Option<CaptureError>)> {
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
            let elapsed = watch.start.elapsed();
            let is_drained = failure.as_ref().is_some_and(|(_, since)| since.elapsed() >= LAST_LOOK);
            let is_over = is_drained
                || tallies.is_full()
                || self.stop.is_wanted()
                || self.flags.duration.is_some_and(|duration| elapsed >= duration);
            watch.look(elapsed, || capture.fill());
            if elapsed >= watch.next_window
                && let Some(exporter) = &mut self.exporter
            {
                watch.note_window(exporter, &self.interface.name, &capture.counters()?, elapsed);
            }
            let is_asked = self.signals.is_print_wanted();
            if is_over || is_asked || elapsed >= watch.next_line {
                watch.note(&tallies, capture.counters()?, elapsed);
            }
            if is_asked {
                watch.lines.tell(&watch.last, tallies.seen().as_ref());
            }
            if is_over || elapsed >= watch.next_line {
                watch.lines.print(watch.last.clone())?;
                watch.next_line = elapsed + SECOND;
            }
            if is_over {
                break;
            }
        }
        Ok((tallies, failure.map(|(error, _)| error)))
    }
}

/// What is printed of a running count.
struct Watch {
    lines: Lines,
    start: Instant,
    /// CPU time of the counting thread at the start in ns.
    cpu_start: u64,
    last: Totals,
    /// When to read the fill level next, and when to print a line, since the start.
    next_look: Duration,
    next_line: Duration,
    /// Highest fill level of the window, and when the window ends.
    fill: Option<Occupancy>,
    next_window: Duration,
}

impl Watch {
    /// Reads the fill level of the capture if it is time to.
    fn look(&mut self, elapsed: Duration, fill: impl FnOnce() -> Option<Occupancy>) {
        if elapsed >= self.next_look {
            let fill = fill();
            self.lines.note(fill);
            self.fill = Occupancy::fullest([self.fill, fill]);
            self.next_look = elapsed + LOOK;
        }
    }

    /// Exports the counts so far.
    fn note_window(
        &mut self,
        exporter: &mut Exporter,
        interface: &str,
        counters: &Counters,
        elapsed: Duration,
    ) {
        let lost = counters.losses.iter().map(|loss| (loss.place, loss.count)).collect();
        exporter.note_capture(interface, counters.accepted, lost, self.fill.take());
        self.next_window = elapsed + WINDOW;
    }

    /// Notes what is counted so far.
    fn note(&mut self, tallies: &Tallies, counters: Counters, elapsed: Duration) {
        self.lines.note_full(&self.last.counters, &counters);
        let (all, each) = tallies.sums();
        self.last = Totals {
            all,
            each,
            filtered: tallies.filtered(),
            seconds: elapsed.as_secs_f64(),
            counters,
            cpu_ns: clock::thread_cpu_ns() - self.cpu_start,
        };
    }

    /// Prints the totals.
    fn close(mut self, tallies: &Tallies, counters: Counters) -> Result<()> {
        let elapsed = Duration::from_secs_f64(self.last.seconds);
        self.note(tallies, counters, elapsed);
        self.lines.close(&self.last, tallies.seen().as_ref())
    }
}
