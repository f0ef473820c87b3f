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
use capbench_lab::subject::{self, PATH_SETTINGS, Subject};
use capbench_model::mark::Tally;
use capbench_model::method_spec::MethodSpec;
use capbench_model::units::SnapLength;
use capbench_sys::host::clock;
use clap::Args;

use self::lines::{Lines, Told, Totals};
use crate::exit::{self, Exit, Usage};
use crate::flags::{CaptureFlags, LayoutFlags};
use crate::privileges;
use crate::signals::{Signals, Stop};
use crate::values::positive_duration;

/// What to count, and for how long.
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

/// Runs the command.
pub fn run(flags: &CountFlags) -> Result<Exit> {
    let method = method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let mut options = flags.capture.options();
    options.mark = match flags.verify {
        Some(trial) => Some(mark(TrialId(trial), &flags.layout.layout()?)),
        None => None,
    };
    let recogniser = recogniser(flags, options.snap_length)?;
    let side = Side::existing(&flags.interface)?;
    if let Some(cpu) = flags.cpu {
        super::send::pin(cpu)?;
    }
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let interface = Interface { name: side.name().into(), index: side.index(), mtu: side.mtu() };
    let counter = Counter {
        flags,
        recogniser,
        method: &method,
        stop: stop.clone(),
        signals,
        interface: interface.clone(),
    };
    open_with(&method, &interface, &options, counter)??;
    Ok(exit::of_watching(stop.signal(), flags.count.is_some() || flags.duration.is_some()))
}

/// Parses the method. It must be built into capbench and run on an unmodified interface.
fn method(text: &str) -> Result<MethodSpec> {
    let spec: MethodSpec = text.parse().map_err(Usage)?;
    let named = subject::find(&spec, &Programs::default())?;
    if matches!(named.subject, Subject::Program(_)) {
        return Err(
            Usage(format!("--method {text}: count captures by itself; bench measures programs")).into()
        );
    }
    if let Some(setting) =
        spec.settings().iter().find(|given| PATH_SETTINGS.iter().any(|known| known.name == given.name))
    {
        let reason =
            format!("--method {text}: +{} changes the link, which only bench does, on its own", setting.name);
        return Err(Usage(reason).into());
    }
    Ok(spec)
}

fn recogniser(flags: &CountFlags, snap: SnapLength) -> Result<Option<Classifier>> {
    let Some(trial) = flags.verify else {
        if flags.layout.is_given() {
            return Err(
                Usage("flags about headers say what --verify expects; give --verify, too".into()).into()
            );
        }
        return Ok(None);
    };
    let layout = flags.layout.layout()?;
    Ok(Some(Classifier::new(TrialId(trial), &layout, snap.cuts().then(|| snap.octets()))?))
}

/// Counts with any method.
struct Counter<'f> {
    flags: &'f CountFlags,
    recogniser: Option<Classifier>,
    method: &'f MethodSpec,
    stop: Stop,
    signals: Signals,
    interface: Interface,
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
        let mut verifier =
            self.recogniser.clone().map(|known| Verifier::new(known, u8::MAX, running.vlan_metadata));
        let start = Instant::now();
        let cpu_start = clock::thread_cpu_ns();
        let mut lines = Lines::new(self.flags.json);
        let (mut packets, mut octets) = (0u64, 0u64);
        let limit = self.flags.count.unwrap_or(u64::MAX);
        let (mut next_line, mut next_look) = (SECOND, Duration::ZERO);
        let (mut failure, mut counted) = (None, None);
        let mut totals = Totals::default();
        let interface = self.interface;
        let told = |verifier: Option<&Verifier>, counted: Option<Tally>| {
            verifier
                .map(|verifier| counted.map_or_else(|| Told::Verified(verifier.arrivals()), Told::Counted))
        };
        loop {
            let taken = capture.for_each(TICK, |frame| {
                // Frames after the limit in the same batch are not counted.
                if packets < limit {
                    packets += 1;
                    octets += u64::from(frame.wire_length);
                    if let Some(verifier) = &mut verifier {
                        verifier.note(frame);
                    }
                }
            });
            // First count and report what the method still holds, then return the error.
            if let Err(error) = taken {
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
                lines.tell(&totals, told(verifier.as_ref(), counted).as_ref());
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
        lines.close(&end, told(verifier.as_ref(), counted).as_ref())?;
        failure.map_or(Ok(()), |(error, _)| Err(interface.or_removed(error).into()))
    }
}
