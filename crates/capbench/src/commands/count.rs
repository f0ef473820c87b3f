//! `capbench count`: counts what arrives, a line per second, totals at the end.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use capbench_capture::{Capture, Counters, Interface, MethodSpec, SnapLength, Tally, Visitor, open_with};
use capbench_measure::bed::Side;
use capbench_measure::mark::mark;
use capbench_measure::programs::Programs;
use capbench_measure::receiver::Verifier;
use capbench_measure::subject::{self, PATH_SETTINGS, Subject};
use capbench_measure::trial::Arrivals;
use capbench_sys::host::clock;
use capbench_traffic::{Recogniser, TrialId};
use serde_json::json;

use crate::cli::count::CountFlags;
use crate::exit::{Exit, Usage};
use crate::stop::Stop;

/// How long one wait for frames lasts; bounds how late a line or the end comes.
const TICK: Duration = Duration::from_millis(50);

/// How long frames are looked for after the method failed, as it does when its interface goes down.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// Runs the command.
pub fn run(flags: &CountFlags) -> Result<Exit> {
    let method = method(&flags.method)?;
    flags.capture.check_heeded(std::slice::from_ref(&method), &Programs::default())?;
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
    let interface = Interface { name: side.name().into(), index: side.index(), mtu: side.mtu() };
    let counter = Counter { flags, recogniser, stop: stop.clone() };
    open_with(&method, &interface, &options, counter)??;
    Ok(match stop.signal() {
        // Being interrupted is how counting without a limit ends.
        signal if signal != 0 && (flags.count.is_some() || flags.duration.is_some()) => Exit::Stopped(signal),
        _ => Exit::Done,
    })
}

/// The method, which has to be one of capbench's own on the interface as it is.
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

fn recogniser(flags: &CountFlags, snap: SnapLength) -> Result<Option<Recogniser>> {
    let Some(trial) = flags.verify else {
        if flags.layout.is_given() {
            return Err(
                Usage("flags about headers say what --verify expects; give --verify, too".into()).into()
            );
        }
        return Ok(None);
    };
    let layout = flags.layout.layout()?;
    Ok(Some(Recogniser::new(TrialId(trial), &layout, snap.cuts().then(|| snap.octets()))?))
}

/// Counts on whichever method it is given.
struct Counter<'f> {
    flags: &'f CountFlags,
    recogniser: Option<Recogniser>,
    stop: Stop,
}

/// What was counted up to a moment.
#[derive(Clone, Copy, Default)]
struct Totals {
    packets: u64,
    octets: u64,
    dropped: Option<u64>,
    seconds: f64,
}

impl Visitor for Counter<'_> {
    type Output = Result<()>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<()> {
        let running = capture.running().clone();
        eprintln!(
            "capbench: {} on {}: {}; {}",
            self.flags.method, self.flags.interface, running.engine, running.geometry
        );
        let mut verifier =
            self.recogniser.clone().map(|known| Verifier::new(known, u8::MAX, running.vlan_metadata));
        let start = Instant::now();
        let cpu_start = clock::thread_cpu_ns();
        let mut lines = Lines::new(self.flags.json);
        let (mut packets, mut octets) = (0u64, 0u64);
        let limit = self.flags.count.unwrap_or(u64::MAX);
        let mut next_line = Duration::from_secs(1);
        let (mut failure, mut counted) = (None, None);
        loop {
            let taken = capture.for_each(TICK, |frame| {
                // What comes with the last frame that was asked for is no longer counted.
                if packets < limit {
                    packets += 1;
                    octets += u64::from(frame.wire_length);
                    if let Some(verifier) = &mut verifier {
                        verifier.note(frame);
                    }
                }
            });
            // What the method still holds is counted, and told, before the error is.
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
            if elapsed >= next_line || over {
                let dropped = capture.counters()?.dropped();
                lines.print(Totals { packets, octets, dropped, seconds: elapsed.as_secs_f64() })?;
                next_line = elapsed + Duration::from_secs(1);
            }
            if over {
                break;
            }
        }
        let cpu_ns = clock::thread_cpu_ns() - cpu_start;
        let told =
            verifier.map(|verifier| counted.map_or(Told::Verified(verifier.arrivals()), Told::Counted));
        lines.close(packets, octets, capture.counters()?, cpu_ns, told)?;
        failure.map_or(Ok(()), |(error, _)| Err(error.into()))
    }
}

/// What is known of a trial's frames.
enum Told {
    /// Each was verified.
    Verified(Arrivals),
    /// The method counted them where they arrived.
    Counted(Tally),
}

/// Prints a line per second, as text or as JSON objects.
struct Lines {
    json: bool,
    last: Totals,
}

impl Lines {
    fn new(json: bool) -> Self {
        Self { json, last: Totals { dropped: Some(0), ..Totals::default() } }
    }

    fn print(&mut self, now: Totals) -> Result<()> {
        let seconds = (now.seconds - self.last.seconds).max(1e-9);
        let packets = now.packets - self.last.packets;
        let pps = packets as f64 / seconds;
        let dropped = now.dropped.zip(self.last.dropped).map(|(now, last)| now - last);
        let mut out = std::io::stdout().lock();
        let written = if self.json {
            let line = json!({
                "time_s": now.seconds,
                "packets": packets,
                "octets": now.octets - self.last.octets,
                "packets_per_s": pps,
                "dropped": dropped,
            });
            writeln!(out, "{line}")
        } else {
            let dropped = dropped.map_or("unknown".into(), |dropped| dropped.to_string());
            writeln!(
                out,
                "{:8.3} s  {packets:>10} packets  {pps:>12.0} packets/s  {dropped:>8} dropped",
                now.seconds
            )
        };
        self.last = now;
        written.and_then(|()| out.flush()).context("cannot write to standard output")
    }

    /// tcpdump's three lines first, since scripts read them, then the rest.
    fn close(
        &self,
        packets: u64,
        octets: u64,
        counters: Counters,
        cpu_ns: u64,
        told: Option<Told>,
    ) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            let (arrivals, tally) = match &told {
                Some(Told::Verified(arrivals)) => (Some(arrivals), None),
                Some(Told::Counted(tally)) => (None, Some(tally)),
                None => (None, None),
            };
            let total = json!({
                "schema_version": 1,
                "total": true,
                "packets": packets,
                "octets": octets,
                "accepted": counters.accepted,
                "dropped": counters.dropped(),
                "cpu_s": cpu_ns as f64 / 1e9,
                "verified": arrivals.map(|seen| json!({
                    "delivered": seen.delivered, "duplicates": seen.duplicates, "reordered": seen.reordered,
                    "foreign": seen.foreign, "truncated": seen.truncated, "corrupt": seen.corrupt,
                })),
                "counted_in_kernel": tally.map(|tally| json!({
                    "delivered": tally.marked, "duplicates": tally.duplicates, "foreign": tally.other,
                })),
            });
            return writeln!(out, "{total}").context("cannot write to standard output");
        }
        let text = |count: Option<u64>| count.map_or("unknown".to_string(), |count| count.to_string());
        let per_packet = if packets == 0 { 0.0 } else { cpu_ns as f64 / packets as f64 };
        let mut lines = format!(
            "{packets} packets captured\n{} packets received by filter\n{} packets dropped by kernel\n\
             {octets} octets without FCS; {:.3} s of CPU time, {per_packet:.0} ns per packet\n",
            text(counters.accepted),
            text(counters.dropped()),
            cpu_ns as f64 / 1e9,
        );
        match told {
            Some(Told::Verified(seen)) => lines.push_str(&format!(
                "verified: {} delivered once, {} duplicate, {} reordered, {} foreign, {} cut short, {} damaged\n",
                seen.delivered, seen.duplicates, seen.reordered, seen.foreign, seen.truncated, seen.corrupt
            )),
            Some(Told::Counted(tally)) => lines.push_str(&format!(
                "counted in the kernel, not verified: {} delivered once, {} duplicate, {} foreign\n",
                tally.marked,
                text(tally.duplicates),
                tally.other
            )),
            None => {}
        }
        out.write_all(lines.as_bytes()).context("cannot write to standard output")
    }
}
