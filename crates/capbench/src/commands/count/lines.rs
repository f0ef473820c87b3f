//! What `count` prints: a line per second, and totals.

use anyhow::Result;
use capbench_capture::Occupancy;
use capbench_host::xdp::XdpTakes;
use capbench_lab::counting::{Part, Seen, Sum};
use capbench_model::counters::Counters;
use capbench_sys::host::LinkLayer;
use capbench_sys::host::clock;
use console::Term;

use super::documents::{
    self, Document, Interval, LostAt, OfFilter, OfMember, SCHEMA_VERSION, TakenByXdp, Verified,
};
use super::plan::CountPlan;
use crate::output::{print, print_json_line};
use crate::status::{BitRates, Figures, InPlace, Losses, OtherTrial, lost, other_trials, word};

/// Totals up to one moment.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// What all threads counted.
    pub whole: Part,
    /// What each thread counted.
    pub members: Vec<Part>,
    pub seconds: f64,
}

/// Prints lines. On a terminal each line replaces the one before; elsewhere text or JSON objects follow each other.
#[derive(Debug)]
pub struct Lines {
    json: bool,
    in_place: Option<InPlace>,
    /// The filters of --each, and behind them what names packets of none.
    each: Vec<String>,
    /// Frames that were sent, if the user knows.
    sent: Option<u64>,
    /// What the packets begin with.
    layer: LinkLayer,
    last: Totals,
    /// Highest fill level since the last line.
    fill: Option<Occupancy>,
    /// Highest fill level since the start.
    fullest: Option<Occupancy>,
}

impl Lines {
    pub fn new(plan: &CountPlan) -> Self {
        let CountPlan { json, sent, .. } = *plan;
        let in_place = if json { None } else { InPlace::on(Term::stdout()) };
        let mut each = plan.counting.filters.names();
        if !each.is_empty() {
            each.push("none of these".into());
        }
        Self {
            json,
            in_place,
            each,
            sent,
            layer: plan.interface.layer,
            last: Totals::default(),
            fill: None,
            fullest: None,
        }
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
        let new = now.whole.since(&self.last.whole);
        let before = self.last.members.iter().cloned().chain(std::iter::repeat(Part::default()));
        let members: Vec<_> =
            now.members.iter().zip(before).map(|(now, before)| now.since(&before)).collect();
        let fill = self.fill.take();
        let rates = self.rates(new.all, seconds);
        let written = if self.json {
            print_json_line(&self.line_document(now.seconds, &new, members, seconds, fill))
        } else if let Some(line) = &mut self.in_place {
            let figures = Figures {
                packets: now.whole.all.packets,
                packets_per_s: new.all.packets as f64 / seconds,
                bits_per_s: Some(rates),
                ring: fill,
                buffers: None,
                losses: Losses::of(&now.whole.counters),
            };
            line.show(&figures.to_string());
            Ok(())
        } else {
            let places = match Losses::of(&new.counters).to_string() {
                none if none == "none" => String::new(),
                some => format!("  by place: {some}"),
            };
            let mut text = format!(
                "{:8.3} s  {}  {:>8} dropped  ring {}{places}\n",
                now.seconds,
                sum_in_words(self.layer, new.all, seconds),
                word(new.counters.dropped()),
                word(fill),
            );
            for (name, sum) in self.each.iter().zip(&new.each) {
                text += &format!("{:10}  {}  {name}\n", "", sum_in_words(self.layer, *sum, seconds));
            }
            print(&(text + &members_in_words(self.layer, &members, seconds)))
        };
        self.last = now;
        written
    }

    fn line_document(
        &self,
        time_s: f64,
        new: &Part,
        members: Vec<Part>,
        seconds: f64,
        fill: Option<Occupancy>,
    ) -> Document {
        let Part { all, each, counters, .. } = new;
        let rates = self.rates(*all, seconds);
        Document::Interval(Interval {
            schema_version: SCHEMA_VERSION,
            time_s,
            unix_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            packets: all.packets,
            octets: all.octets,
            packets_per_s: all.packets as f64 / seconds,
            bits_per_s_layer_2: rates.layer_2(),
            bits_per_s_layer_1: rates.layer_1(),
            each: self.of_each(each, seconds),
            members: OfMember::list(&members),
            dropped: counters.dropped(),
            losses: LostAt::list(&Losses::of(counters)),
            ring_fill: fill.map(Occupancy::share),
        })
    }

    fn of_each(&self, each: &[Sum], seconds: f64) -> Vec<OfFilter> {
        let filters = self.each.len().saturating_sub(1);
        let mut all = Vec::new();
        for (place, sum) in each.iter().enumerate() {
            // The last sum is of packets that pass none of the filters.
            let filter = self.each.get(place).filter(|_| place < filters).cloned();
            all.push(OfFilter::new(filter, *sum, self.rates(*sum, seconds), seconds));
        }
        all
    }

    /// Prints the totals so far on standard error when a signal asks for them.
    pub fn tell(&mut self, now: &Totals, seen: Option<&Seen>, xdp: Option<&XdpTakes>) {
        if let Some(line) = &mut self.in_place {
            line.clear();
        }
        crate::output::tell(&self.totals(now, seen, xdp));
    }

    /// Prints everything at the end.
    pub fn close(mut self, end: &Totals, seen: Option<&Seen>, xdp: Option<&XdpTakes>) -> Result<()> {
        if let Some(line) = &mut self.in_place {
            line.clear();
        }
        if self.json {
            print_json_line(&self.document(end, seen, xdp))
        } else {
            print(&self.totals(end, seen, xdp))
        }
    }

    fn document(&self, end: &Totals, seen: Option<&Seen>, xdp: Option<&XdpTakes>) -> Document {
        let (verified, counted_in_kernel) = match seen {
            Some(seen @ Seen::Verified { arrivals, others, .. }) => {
                let lost = Some(self.lost(seen)).filter(|(_, of)| *of > 0);
                (Some(Verified::new(arrivals, lost, OtherTrial::list(others))), None)
            }
            Some(Seen::Counted(tally)) => (None, Some(tally.into())),
            None => (None, None),
        };
        let Part { all, each, filtered, counters, cpu_ns } = &end.whole;
        Document::Totals(documents::Totals {
            schema_version: SCHEMA_VERSION,
            total: true,
            time_s: end.seconds,
            unix_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            packets: all.packets,
            octets: all.octets,
            each: self.of_each(each, end.seconds.max(1e-9)),
            members: OfMember::list(&end.members),
            accepted: counters.accepted,
            dropped: counters.dropped(),
            losses: LostAt::list(&Losses::of(counters)),
            left_out_by_filter: *filtered,
            ring_fullest: self.fullest.map(Occupancy::share),
            cpu_s: *cpu_ns as f64 / 1e9,
            xdp: xdp.and_then(TakenByXdp::of),
            verified,
            counted_in_kernel,
        })
    }

    /// Frames of the trial that did not arrive, and of how many: those that the user says were sent, else those up to the last
    /// one that arrived. Of 0 if that is unknown.
    fn lost(&self, seen: &Seen) -> (u64, u64) {
        let (delivered, reached) = match seen {
            Seen::Verified { arrivals, reached, .. } => (arrivals.delivered, *reached),
            Seen::Counted(tally) => (tally.marked, 0),
        };
        let of = self.sent.unwrap_or(0).max(reached);
        (of.saturating_sub(delivered), of)
    }

    fn rates(&self, sum: Sum, seconds: f64) -> BitRates {
        BitRates::of(self.layer, sum.packets as f64 / seconds, sum.octets as f64 / seconds)
    }

    /// tcpdump's three lines first, because scripts read them, then the rest.
    fn totals(&self, end: &Totals, seen: Option<&Seen>, xdp: Option<&XdpTakes>) -> String {
        let Totals { whole: Part { all, each, filtered, counters, cpu_ns }, members, seconds } = end;
        let per_packet = if all.packets == 0 { 0.0 } else { *cpu_ns as f64 / all.packets as f64 };
        let seconds = seconds.max(1e-9);
        let mut lines = format!(
            "{} packets captured\n{} packets received by filter\n{} packets dropped by kernel\n\
             {} bytes without FCS in {seconds:.3} s: {}\n\
             {:.3} s of CPU time, {per_packet:.0} ns per packet\n\
             dropped by place: {}; highest ring fill: {}\n",
            all.packets,
            word(counters.accepted),
            word(counters.dropped()),
            all.octets,
            self.rates(*all, seconds),
            *cpu_ns as f64 / 1e9,
            Losses::of(counters),
            word(self.fullest),
        );
        if let Some(TakenByXdp { program, packets }) = xdp.and_then(TakenByXdp::of) {
            lines += &format!("{} packets taken by XDP {program}, in front of the capture\n", word(packets));
        }
        if let Some(filtered) = filtered {
            lines += &format!("{filtered} packets left out by the filter\n");
        }
        for (name, sum) in self.each.iter().zip(each) {
            lines += &format!("{}  {name}\n", sum_in_words(self.layer, *sum, seconds));
        }
        lines += &members_in_words(self.layer, members, seconds);
        lines + &seen.map_or_else(String::new, |seen| self.verified(seen))
    }

    /// What is known of the trial.
    fn verified(&self, seen: &Seen) -> String {
        let (counts, others) = match seen {
            Seen::Verified { arrivals: all, others, .. } => {
                let counts = format!(
                    "verified: {} delivered once, {} duplicate, {} reordered, {} foreign, {} cut short, {} damaged\n",
                    all.delivered, all.duplicates, all.reordered, all.foreign, all.truncated, all.corrupt
                );
                (counts, other_trials(others, "--verify"))
            }
            Seen::Counted(tally) => {
                let counts = format!(
                    "counted in the kernel, not verified: {} delivered once, {} duplicate, {} foreign\n",
                    tally.marked,
                    word(tally.duplicates),
                    tally.other
                );
                (counts, String::new())
            }
        };
        let (missing, of) = self.lost(seen);
        let until = if self.sent.is_none() && of > 0 { ", up to the last one that arrived" } else { "" };
        format!("{counts}{}{until}\n{others}", lost(missing, of))
    }
}

/// A line for each of several threads.
fn members_in_words(layer: LinkLayer, members: &[Part], seconds: f64) -> String {
    let mut lines = String::new();
    if members.len() > 1 {
        for (number, Part { all, counters, .. }) in members.iter().enumerate() {
            let dropped = word(counters.dropped());
            let sum = sum_in_words(layer, *all, seconds);
            lines += &format!("{:10}  {sum}  {dropped:>8} dropped  member {number}\n", "");
        }
    }
    lines
}

/// Packets with their bytes and rates, in columns.
fn sum_in_words(layer: LinkLayer, sum: Sum, seconds: f64) -> String {
    let per_second = sum.packets as f64 / seconds;
    let rates = BitRates::of(layer, per_second, sum.octets as f64 / seconds).to_string();
    format!(
        "{:>10} packets  {per_second:>12.0} packets/s  {:>12} bytes  {rates:>32}",
        sum.packets, sum.octets
    )
}
