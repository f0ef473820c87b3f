//! `capbench count`: counts what arrives, a line per second, totals at the end.

mod lines;

use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_capture::{Capture, Interface, Visitor, open_with};
use capbench_frames::{Classifier, TrialId};
use capbench_host::bed::Side;
use capbench_lab::mark::mark;
use capbench_lab::programs::Programs;
use capbench_lab::receiver::Verifier;
use capbench_model::mark::Tally;
use capbench_model::method_spec::MethodSpec;
use capbench_model::units::SnapLength;
use capbench_sys::host::clock;
use clap::Args;

use self::lines::{Lines, Seen, Totals};
use crate::exit::{self, Exit, Usage};
use crate::flags::{CaptureFlags, LayoutFlags, own_method};
use crate::privileges;
use crate::recording::interface;
use crate::signals::{Signals, Stop};
use crate::values::positive_duration;

#[derive(Args, Clone, Debug)]
pub struct CountFlags {
    /// Interface to count on
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    /// Capture method
    #[arg(long, value_name = "METHOD", default_value = "packet-v3")]
    method: String,
    /// Stop after so many packets
    #[arg(short = 'c', long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this time [default: when interrupted]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Verify frames that `capbench send` made with this --trial: delivered once, duplicate, reordered, damaged
    #[arg(long, value_name = "TRIAL")]
    verify: Option<u16>,
    /// CPU to count on
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// One JSON object a line instead of text
    #[arg(long)]
    json: bool,
    /// Headers of the frames to verify
    #[command(flatten)]
    layout: LayoutFlags,
    #[command(flatten)]
    capture: CaptureFlags,
}

/// Longest wait for frames: the largest delay of a line or of the end.
const TICK: Duration = Duration::from_millis(50);

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);

/// How often the fill level of the capture is read.
const LOOK: Duration = Duration::from_millis(20);

/// How long frames are still read after the method failed, for example because its interface went down.
const LAST_LOOK: Duration = Duration::from_millis(200);

pub fn run(flags: &CountFlags) -> Result<Exit> {
    let method = own_method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let mut options = flags.capture.options();
    options.mark = match flags.verify {
        Some(trial) => Some(mark(TrialId(trial), &flags.layout.layout()?)),
        None => None,
    };
    let classifier = classifier(flags, options.snap_length)?;
    let side = Side::existing(&flags.interface)?;
    if let Some(cpu) = flags.cpu {
        super::send::pin(cpu)?;
    }
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let interface = interface(&side);
    let counter =
        Counter { flags, classifier, method: &method, stop: stop.clone(), signals, interface: &interface };
    open_with(&method, &interface, &options, counter)??;
    Ok(exit::of_watching(stop.signal(), flags.count.is_some() || flags.duration.is_some()))
}

fn classifier(flags: &CountFlags, snap: SnapLength) -> Result<Option<Classifier>> {
    let Some(trial) = flags.verify else {
        let why = "flags about headers say what --verify expects; give --verify, too";
        return if flags.layout.is_given() { Err(Usage(why.into()).into()) } else { Ok(None) };
    };
    let layout = flags.layout.layout()?;
    Ok(Some(Classifier::new(TrialId(trial), &layout, snap.cuts().then(|| snap.octets()))?))
}

/// Counts with any method.
struct Counter<'f> {
    flags: &'f CountFlags,
    classifier: Option<Classifier>,
    method: &'f MethodSpec,
    stop: Stop,
    signals: Signals,
    interface: &'f Interface,
}

impl Visitor for Counter<'_> {
    type Output = Result<()>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<()> {
        let unconfined = privileges::keep_for_counting(self.method)?;
        let running = capture.running().clone();
        tell!(
            "capbench: {} on {}: {}; {}",
            self.flags.method,
            self.flags.interface,
            running.engine,
            running.ring
        );
        if let Some(reason) = unconfined {
            tell!("capbench: not confined to reading files: {reason}");
        }
        let mut verifier = self.classifier.map(|known| Verifier::new(known, u8::MAX, running.vlan_metadata));
        let start = Instant::now();
        let cpu_start = clock::thread_cpu_ns();
        let mut lines = Lines::new(self.flags.json);
        let (mut packets, mut octets) = (0u64, 0u64);
        let limit = self.flags.count.unwrap_or(u64::MAX);
        let (mut next_line, mut next_look) = (SECOND, Duration::ZERO);
        let (mut failure, mut counted) = (None, None);
        let mut totals = Totals::default();
        let seen = |verifier: Option<&Verifier>, counted: Option<Tally>| {
            verifier
                .map(|verifier| counted.map_or_else(|| Seen::Verified(verifier.arrivals()), Seen::Counted))
        };
        loop {
            let read = capture.for_each(TICK, |frame| {
                // Frames after the limit in the same batch are not counted.
                if packets < limit {
                    packets += 1;
                    octets += u64::from(frame.wire_length);
                    if let Some(verifier) = &mut verifier {
                        verifier.note(frame);
                    }
                }
            });
            // First count and report what the method still has, then return the error.
            if let Err(error) = read {
                match failure {
                    None => failure = Some((error, Instant::now())),
                    Some(_) => break,
                }
            }
            if let Some(tally) = capture.tally()? {
                packets = tally.marked + tally.duplicates.unwrap_or(0) + tally.other;
                octets = tally.octets;
                counted = Some(tally);
            }
            let elapsed = start.elapsed();
            let drained =
                failure.as_ref().is_some_and(|(_, since): &(_, Instant)| since.elapsed() >= LAST_LOOK);
            let over = drained
                || packets >= limit
                || self.stop.is_wanted()
                || self.flags.duration.is_some_and(|duration| elapsed >= duration);
            if elapsed >= next_look {
                lines.note(capture.fill());
                next_look = elapsed + LOOK;
            }
            let is_asked = self.signals.is_print_wanted();
            let is_due = elapsed >= next_line || over;
            if is_due || is_asked {
                let counters = capture.counters()?;
                lines.note_full(&totals.counters, &counters);
                totals = Totals {
                    packets,
                    octets,
                    seconds: elapsed.as_secs_f64(),
                    counters,
                    cpu_ns: clock::thread_cpu_ns() - cpu_start,
                };
            }
            if is_asked {
                lines.tell(&totals, seen(verifier.as_ref(), counted).as_ref());
            }
            if is_due {
                lines.print(totals.clone())?;
                next_line = elapsed + SECOND;
            }
            if over {
                break;
            }
        }
        let counters = capture.counters()?;
        lines.note_full(&totals.counters, &counters);
        let end = Totals { packets, octets, counters, cpu_ns: clock::thread_cpu_ns() - cpu_start, ..totals };
        lines.close(&end, seen(verifier.as_ref(), counted).as_ref())?;
        failure.map_or(Ok(()), |(error, _)| Err(self.interface.or_removed(error).into()))
    }
}
