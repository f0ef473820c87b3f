//! `capbench count`: counts what arrives, a line per second, totals at the end.

pub mod documents;
mod lines;
mod plan;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_capture::{CaptureError, Occupancy};
use capbench_host::xdp::XdpTakes;
use capbench_lab::counting::{self, Counted, Gauges, Part, Watcher};
use capbench_model::counters::Counters;
use capbench_model::places::Place;
use capbench_model::running::Running;

use self::lines::{Lines, Totals};
pub use self::plan::CountFlags;
use self::plan::CountPlan;
use crate::exit::{self, Exit};
use crate::metrics::Exporter;
use crate::privileges;
use crate::recording::{behind_xdp, is_packet_socket, left_out};
use crate::signals::{Signals, Stop};

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);

/// Length of the windows of --metrics.
const WINDOW: Duration = Duration::from_millis(100);

/// How often the fill level of the capture is read.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(flags: CountFlags) -> Result<Exit> {
    let plan = CountPlan::new(flags)?;
    // Its server keeps the CPUs that are allowed now.
    let exporter = Exporter::open(&plan.metrics, "count", &plan.interface.name)?;
    let stop = Stop::install()?;
    let mut watch = Watch {
        plan: &plan,
        exporter,
        stop: stop.clone(),
        signals: Signals::install()?,
        lines: Lines::new(&plan),
        start: Instant::now(),
        last: Totals::default(),
        next_look: Duration::ZERO,
        next_line: SECOND,
        fill: None,
        next_window: WINDOW,
        xdp: None,
        trouble: Ok(()),
    };
    let counted = counting::count(plan.source(), &plan.counting, &mut watch);
    watch.close(counted)?.map_or(Ok(()), Err)?;
    Ok(exit::of_watching(stop.signal(), plan.has_end()))
}

/// What is printed and exported of a running count, and when it ends.
struct Watch<'p> {
    plan: &'p CountPlan,
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
        let CountPlan { method, interface, options, counting, .. } = self.plan;
        self.xdp = is_packet_socket(method).then(|| XdpTakes::new(&interface.name, interface.index));
        let unconfined = privileges::keep_for_counting(method, &files)?;
        tell!("capbench: {method} on {}: {}; {}", interface.name, running.engine, running.ring);
        if let Some(note) = left_out(&interface.name, options.direction) {
            tell!("capbench: {note}");
        }
        if let Some(program) = self.xdp.as_ref().and_then(XdpTakes::program) {
            tell!("capbench: {}", behind_xdp(&interface.name, program));
        }
        if let Some(reason) = unconfined {
            tell!("capbench: not confined to reading files: {reason}");
        }
        if let Some(exporter) = &mut self.exporter {
            exporter.serve(&counting.cpus)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn try_look(&mut self, is_over: bool, gauges: &mut dyn Gauges) -> Result<ControlFlow<()>> {
        let elapsed = self.start.elapsed();
        let is_over = is_over
            || self.stop.is_wanted()
            || self.plan.duration.is_some_and(|duration| elapsed >= duration);
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
            exporter.note_capture(&self.plan.interface.name, counters.accepted, lost, self.fill.take());
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
