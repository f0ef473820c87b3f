//! `capbench count`: counts what arrives, a line per second, totals at the end.

pub mod documents;
mod lines;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use capbench_capture::filter::FilterText;
use capbench_capture::{CaptureError, Interface, Occupancy, methods};
use capbench_frames::{Classifier, TrialId};
use capbench_host::bed::Side;
use capbench_host::xdp::XdpTakes;
use capbench_lab::counting::{self, Counted, Counting, Filters, Gauges, Part, Source, Watcher};
use capbench_lab::mark::mark;
use capbench_lab::programs::Programs;
use capbench_model::counters::Counters;
use capbench_model::direction::Direction;
use capbench_model::method_spec::{Delivery, MethodSpec};
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_model::running::Running;
use capbench_model::units::SnapLength;
use capbench_sys::host::{CpuId, LinkLayer};
use clap::Args;

use self::lines::{Lines, Totals};
use crate::exit::{self, Exit, Unsupported, Usage};
use crate::flag_values::positive_duration;
use crate::flags::{CaptureFlags, FULL_BLOCKS, FilterFlags, LayoutFlags, MembersFlags, cpus, own_method};
use crate::metrics::{Exporter, MetricsFlags};
use crate::privileges;
use crate::recording::{behind_xdp, interface, is_packet_socket, left_out};
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
    /// CPUs to count on: one for each capture, for example 2 or 4-7
    #[arg(long, value_name = "LIST")]
    cpu: Option<String>,
    /// One JSON object a line instead of text
    #[arg(long, visible_alias = "ndjson")]
    json: bool,
    #[command(flatten)]
    members: MembersFlags,
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

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);

/// Length of the windows of --metrics.
const WINDOW: Duration = Duration::from_millis(100);

/// How often the fill level of the capture is read.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(flags: &CountFlags) -> Result<Exit> {
    let method = own_method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let row = methods::find(&method)?;
    let mut options = flags.capture.options();
    options.flow_hashes = false;
    options.fanout = flags.members.fanout(&method)?;
    options.mark = flags.verify.map(|trial| mark(TrialId(trial), &flags.layout.layout()));
    let classifier = classifier(flags, options.snap_length)?;
    let side = Side::existing(&flags.interface)?;
    // Its server keeps the CPUs that are allowed now.
    let exporter = Exporter::open(flags.metrics.clone().into(), "count", &flags.interface)?;
    let cpus = cpus_of(flags)?;
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let interface = interface(&side)?;
    if flags.verify.is_some() && interface.layer == LinkLayer::Ip {
        let why = "has IP packets without an Ethernet header, and the frames of `send` that --verify expects have one";
        return Err(Unsupported(format!("--verify: {} {why}", interface.name)).into());
    }
    let filters = filters(flags, &method, &interface, &mut options)?;
    if classifier.is_none() && filters.need_no_octets() && row.options.contains(&"--snaplen") {
        let packed = flags.capture.options_of_packed_ring(row, Some(FULL_BLOCKS));
        (options.ring, options.retire_timeout) = (packed.ring, packed.retire_timeout);
        // Nothing reads more. It is the least for which libpcap puts a tag back.
        options.snap_length = options.snap_length.min(SnapLength::ETHERNET_HEADER);
    }
    let counting = Counting { filters, classifier, limit: flags.count, cpus };
    let mut watch = Watch {
        flags,
        method: &method,
        interface: &interface,
        cpus: &counting.cpus,
        direction: options.direction,
        exporter,
        stop: stop.clone(),
        signals,
        lines: Lines::new(flags, counting.filters.names(), interface.layer),
        start: Instant::now(),
        last: Totals::default(),
        next_look: Duration::ZERO,
        next_line: SECOND,
        fill: None,
        next_window: WINDOW,
        xdp: None,
        trouble: Ok(()),
    };
    let source = Source { method: &method, interface: &interface, options: &options };
    let counted = counting::count(source, &counting, &mut watch);
    watch.close(counted)?.map_or(Ok(()), Err)?;
    Ok(exit::of_watching(stop.signal(), flags.count.is_some() || flags.duration.is_some()))
}

/// The CPUs of the threads that count.
fn cpus_of(flags: &CountFlags) -> Result<Vec<CpuId>> {
    let Some(list) = &flags.cpu else { return Ok(Vec::new()) };
    let (cpus, threads) = (cpus(list)?, flags.members.count());
    let why = format!("{} CPUs for {threads} that count; --members N has more captures", cpus.len());
    ensure!(cpus.len() <= threads, Usage(format!("--cpu {list}: {why}")));
    Ok(cpus)
}

fn classifier(flags: &CountFlags, snap: SnapLength) -> Result<Option<Classifier>> {
    let Some(trial) = flags.verify else {
        let why = "flags about headers say what --verify expects; give --verify, too";
        return if flags.layout.is_given() { Err(Usage(why.into()).into()) } else { Ok(None) };
    };
    let why = "one capture alone sees which frames came twice or late; leave out --members, or measure with bench --members, \
                   which verifies frames, too";
    ensure!(flags.members.count() == 1, Usage(format!("--verify: {why}")));
    let layout = flags.layout.layout();
    Ok(Some(Classifier::new(TrialId(trial), &layout, snap.cuts().then(|| snap.octets()))?))
}

/// Compiles the filters. The one of all packets becomes the socket's filter where the method has one.
///
/// # Errors
/// A wrong filter; a method that returns no frames; a snap length that cuts octets off that a filter may read.
fn filters(
    flags: &CountFlags,
    method: &MethodSpec,
    interface: &Interface,
    options: &mut CaptureOptions,
) -> Result<Filters> {
    let CountFlags { filter: all, each, .. } = flags;
    let text = all.text()?;
    if text.is_none() && each.is_empty() {
        return Ok(Filters::default());
    }
    if method.delivery() == Some(Delivery::Counted) {
        let why = "counts in the kernel and returns no packets that a filter could look at";
        return Err(Usage(format!("--method {method}: it {why}; leave out FILTER and --each")).into());
    }
    if !each.is_empty() && options.snap_length.cuts() {
        return Err(Usage("--each: a filter may read any octet; leave out --snaplen".into()).into());
    }
    let compile = |text: &FilterText, snap| text.compile(interface, snap, all.optimise());
    let filter = text.map(|text| compile(&text, options.snap_length)).transpose()?;
    let each = each.iter().map(|text| {
        let parsed = FilterText::of_expression(text)?;
        Ok((text.clone(), compile(&parsed, SnapLength::EVERYTHING)?))
    });
    let each = each.collect::<Result<_>>()?;
    if filter.is_none() || methods::find(method)?.socket_filter {
        options.filter = filter;
        return Ok(Filters { all: None, each });
    }
    options.snap_length = SnapLength::EVERYTHING;
    Ok(Filters { all: filter, each })
}

/// What is printed and exported of a running count, and when it ends.
struct Watch<'f> {
    flags: &'f CountFlags,
    method: &'f MethodSpec,
    interface: &'f Interface,
    cpus: &'f [CpuId],
    direction: Direction,
    exporter: Option<Exporter>,
    stop: Stop,
    signals: Signals,
    lines: Lines,
    start: Instant,
    last: Totals,
    /// When to read the fill level next, and when to print a line, since the start.
    next_look: Duration,
    next_line: Duration,
    /// Highest fill level of the window, and when the window ends.
    fill: Option<Occupancy>,
    next_window: Duration,
    /// What XDP programs take in front of the capture; absent for methods that are no packet sockets.
    xdp: Option<XdpTakes>,
    /// Why it ended the count, if because of an error.
    trouble: Result<()>,
}

impl Watcher for Watch<'_> {
    fn begin(&mut self, running: &Running) -> ControlFlow<()> {
        let begun = self.try_begin(running);
        self.start = Instant::now();
        self.or_break(begun)
    }

    fn look(&mut self, is_over: bool, gauges: &mut dyn Gauges) -> ControlFlow<()> {
        let looked = self.try_look(is_over, gauges);
        self.or_break(looked)
    }
}

impl Watch<'_> {
    fn or_break(&mut self, outcome: Result<ControlFlow<()>>) -> ControlFlow<()> {
        outcome.unwrap_or_else(|error| {
            self.trouble = Err(error);
            ControlFlow::Break(())
        })
    }

    fn try_begin(&mut self, running: &Running) -> Result<ControlFlow<()>> {
        let files = self.exporter.as_ref().map(Exporter::files).unwrap_or_default();
        // Later the name and the holders of a program can no longer be read.
        let interface = self.interface;
        self.xdp = is_packet_socket(self.method).then(|| XdpTakes::new(&interface.name, interface.index));
        let unconfined = privileges::keep_for_counting(self.method, &files)?;
        let Self { method, interface, .. } = self;
        tell!("capbench: {method} on {}: {}; {}", interface.name, running.engine, running.ring);
        if let Some(note) = left_out(&interface.name, self.direction) {
            tell!("capbench: {note}");
        }
        if let Some(program) = self.xdp.as_ref().and_then(XdpTakes::program) {
            tell!("capbench: {}", behind_xdp(&interface.name, program));
        }
        if let Some(reason) = unconfined {
            tell!("capbench: not confined to reading files: {reason}");
        }
        if let Some(exporter) = &mut self.exporter {
            exporter.serve(self.cpus)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn try_look(&mut self, is_over: bool, gauges: &mut dyn Gauges) -> Result<ControlFlow<()>> {
        let elapsed = self.start.elapsed();
        let is_over = is_over
            || self.stop.is_wanted()
            || self.flags.duration.is_some_and(|duration| elapsed >= duration);
        if elapsed >= self.next_look {
            let fill = gauges.fill();
            self.lines.note(fill);
            self.fill = Occupancy::fullest([self.fill, fill]);
            self.next_look = elapsed + LOOK;
        }
        let is_asked = self.signals.is_print_wanted();
        let is_noted = is_over || is_asked || elapsed >= self.next_line;
        if let Some(xdp) = self.xdp.as_mut().filter(|_| is_noted) {
            xdp.read();
        }
        if (is_over || elapsed >= self.next_window) && self.exporter.is_some() {
            self.note_window(&Part::sum(&gauges.parts()?).counters, elapsed);
        }
        if is_noted {
            self.note(gauges.parts()?, elapsed);
        }
        if is_asked {
            self.lines.tell(&self.last, gauges.seen().as_ref(), self.xdp.as_ref());
        }
        // The last line is printed at the end: captures of several threads count until then.
        if !is_over && elapsed >= self.next_line {
            self.lines.print(self.last.clone())?;
            self.next_line = elapsed + SECOND;
        }
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Exports the counts so far. Those of XDP programs are read once a second: some drivers take long to read their counters.
    fn note_window(&mut self, counters: &Counters, elapsed: Duration) {
        let mut lost: Vec<_> = counters.losses.iter().map(|loss| (loss.place, loss.count)).collect();
        if let Some(xdp) = self.xdp.as_ref().filter(|xdp| xdp.program().is_some()) {
            lost.push((Place::Xdp, xdp.taken()));
        }
        if let Some(exporter) = &mut self.exporter {
            exporter.note_capture(&self.interface.name, counters.accepted, lost, self.fill.take());
        }
        self.next_window = elapsed + WINDOW;
    }

    /// Notes what is counted so far.
    fn note(&mut self, members: Vec<Part>, elapsed: Duration) {
        let whole = Part::sum(&members);
        self.lines.note_full(&self.last.whole.counters, &whole.counters);
        self.last = Totals { whole, members, seconds: elapsed.as_secs_f64() };
    }

    /// Prints the last line and the totals. Returns why the count failed.
    fn close(mut self, counted: Result<Counted, CaptureError>) -> Result<Option<CaptureError>> {
        std::mem::replace(&mut self.trouble, Ok(()))?;
        let Counted { parts, seen, failure } = counted?;
        self.note(parts, Duration::from_secs_f64(self.last.seconds));
        self.lines.print(self.last.clone())?;
        self.lines.close(&self.last, seen.as_ref(), self.xdp.as_ref())?;
        Ok(failure)
    }
}
