//! What `count` prints: a line per second, and totals.

use anyhow::Result;
use capbench_capture::Occupancy;
use capbench_model::arrivals::Arrivals;
use capbench_model::counters::Counters;
use capbench_model::mark::Tally;
use console::Term;
use serde_json::{Value, json};

use crate::output::print;
use crate::status::{Figures, InPlace, Losses, word};

/// Totals up to one moment.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub packets: u64,
    /// Octets without the FCS.
    pub octets: u64,
    pub seconds: f64,
    /// Counters of the method.
    pub counters: Counters,
    /// CPU time of the counting thread in ns.
    pub cpu_ns: u64,
}

/// What is known of a trial's frames.
#[derive(Debug)]
pub enum Seen {
    /// capbench verified each frame.
    Verified(Arrivals),
    /// The method counted the frames where they arrived.
    Counted(Tally),
}

/// Prints lines. On a terminal each line replaces the one before; elsewhere text or JSON objects follow each other.
#[derive(Debug)]
pub struct Lines {
    json: bool,
    in_place: Option<InPlace>,
    last: Totals,
    /// Highest fill level since the last line.
    fill: Option<Occupancy>,
    /// Highest fill level since the start.
    fullest: Option<Occupancy>,
}

impl Lines {
    pub fn new(json: bool) -> Self {
        let in_place = if json { None } else { InPlace::on(Term::stdout()) };
        Self { json, in_place, last: Totals::default(), fill: None, fullest: None }
    }

    /// Notes a fill level.
    pub fn note(&mut self, fill: Option<Occupancy>) {
        self.fill = Occupancy::fullest([self.fill, fill]);
        self.fullest = Occupancy::fullest([self.fullest, fill]);
    }

    /// Notes a full capture when the counters changed since `before` in a way that shows one.
    pub fn note_full(&mut self, before: &Counters, now: &Counters) {
        if now.shows_full_ring_since(before) {
            self.note(Some(Occupancy::FULL));
        }
    }

    /// Prints what is new since the last line.
    pub fn print(&mut self, now: Totals) -> Result<()> {
        let seconds = (now.seconds - self.last.seconds).max(1e-9);
        let (packets, octets) = (now.packets - self.last.packets, now.octets - self.last.octets);
        let per_second = packets as f64 / seconds;
        let since = now.counters.since(&self.last.counters);
        let (fill, losses) = (self.fill.take(), Losses::of(&since));
        let written = if self.json {
            print(&format!(
                "{}\n",
                json!({
                    "time_s": now.seconds,
                    "packets": packets,
                    "octets": octets,
                    "packets_per_s": per_second,
                    "dropped": since.dropped(),
                    "losses": by_place(&losses),
                    "ring_fill": fill.map(Occupancy::share),
                })
            ))
        } else if let Some(line) = &mut self.in_place {
            let figures = Figures {
                packets: now.packets,
                packets_per_s: per_second,
                bits_per_s: Some(8.0 * octets as f64 / seconds),
                ring: fill,
                buffers: None,
                losses: Losses::of(&now.counters),
            };
            line.show(&figures.to_string());
            Ok(())
        } else {
            let dropped = word(since.dropped());
            let places = match losses.to_string() {
                none if none == "none" => String::new(),
                some => format!("  by place: {some}"),
            };
            print(&format!(
                "{:8.3} s  {packets:>10} packets  {per_second:>12.0} packets/s  {dropped:>8} dropped  ring {}{places}\n",
                now.seconds,
                word(fill),
            ))
        };
        self.last = now;
        written
    }

    /// Prints the totals so far on standard error when a signal asks for them.
    pub fn tell(&mut self, now: &Totals, seen: Option<&Seen>) {
        if let Some(line) = &mut self.in_place {
            line.clear();
        }
        crate::output::tell(&self.totals(now, seen));
    }

    /// Prints everything at the end.
    pub fn close(mut self, end: &Totals, seen: Option<&Seen>) -> Result<()> {
        if let Some(line) = &mut self.in_place {
            line.clear();
        }
        if self.json {
            print(&format!("{}\n", self.document(end, seen)))
        } else {
            print(&self.totals(end, seen))
        }
    }

    fn document(&self, end: &Totals, seen: Option<&Seen>) -> Value {
        let (arrivals, tally) = match seen {
            Some(Seen::Verified(arrivals)) => (Some(arrivals), None),
            Some(Seen::Counted(tally)) => (None, Some(tally)),
            None => (None, None),
        };
        json!({
            "schema_version": 1,
            "total": true,
            "packets": end.packets,
            "octets": end.octets,
            "accepted": end.counters.accepted,
            "dropped": end.counters.dropped(),
            "losses": by_place(&Losses::of(&end.counters)),
            "ring_fullest": self.fullest.map(Occupancy::share),
            "cpu_s": end.cpu_ns as f64 / 1e9,
            "verified": arrivals.map(|seen| json!({
                "delivered": seen.delivered, "duplicates": seen.duplicates, "reordered": seen.reordered,
                "foreign": seen.foreign, "truncated": seen.truncated, "corrupt": seen.corrupt,
            })),
            "counted_in_kernel": tally.map(|tally| json!({
                "delivered": tally.marked, "duplicates": tally.duplicates, "foreign": tally.other,
            })),
        })
    }

    /// tcpdump's three lines first, because scripts read them, then the rest.
    fn totals(&self, end: &Totals, seen: Option<&Seen>) -> String {
        let Totals { packets, octets, counters, cpu_ns, .. } = end;
        let per_packet = if *packets == 0 { 0.0 } else { *cpu_ns as f64 / *packets as f64 };
        let mut lines = format!(
            "{packets} packets captured\n{} packets received by filter\n{} packets dropped by kernel\n\
             {octets} octets without FCS; {:.3} s of CPU time, {per_packet:.0} ns per packet\n\
             dropped by place: {}; how full the ring was at most: {}\n",
            word(counters.accepted),
            word(counters.dropped()),
            *cpu_ns as f64 / 1e9,
            Losses::of(counters),
            word(self.fullest),
        );
        match seen {
            Some(Seen::Verified(all)) => lines.push_str(&format!(
                "verified: {} delivered once, {} duplicate, {} reordered, {} foreign, {} cut short, {} damaged\n",
                all.delivered, all.duplicates, all.reordered, all.foreign, all.truncated, all.corrupt
            )),
            Some(Seen::Counted(tally)) => lines.push_str(&format!(
                "counted in the kernel, not verified: {} delivered once, {} duplicate, {} foreign\n",
                tally.marked,
                word(tally.duplicates),
                tally.other
            )),
            None => {}
        }
        lines
    }
}

fn by_place(losses: &Losses) -> Vec<Value> {
    losses.iter().map(|(place, count)| json!({ "place": place, "count": count })).collect()
}
