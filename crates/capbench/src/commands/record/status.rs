//! A line per second on a terminal, and warnings while the writer does not keep up.

use std::time::Instant;

use capbench_capture::recording::{Account, InterfaceAccount, Session};
use capbench_capture::writing::{Lag, WriterCounts};
use capbench_capture::{Fill, LossPlace};
use console::Term;

use crate::status::{Figures, InPlace, Losses, in_words};

/// Share of a ring that is in use from which on the operator is warned.
const NEARLY_FULL: f64 = 0.75;

/// What was told last.
pub struct Status {
    line: Option<InPlace>,
    before: Totals,
    at: Instant,
    writer: WriterCounts,
    /// Whether the operator knows that the output falls behind.
    was_behind: bool,
    downs: Vec<bool>,
    /// Whether the operator knows that the ring of an interface runs full.
    were_full: Vec<bool>,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    packets: u64,
    /// Absent where nobody looks at each packet.
    octets: Option<u64>,
}

impl Totals {
    fn of(account: &Account) -> Self {
        let interfaces = || account.interfaces.iter();
        Self {
            packets: interfaces().map(InterfaceAccount::captured).sum(),
            octets: interfaces().map(|interface| interface.octets).sum(),
        }
    }
}

impl Status {
    pub fn new(session: &Session) -> Self {
        Self {
            line: InPlace::on(Term::stderr()),
            before: Totals::default(),
            at: Instant::now(),
            writer: session.writer(),
            was_behind: false,
            downs: Vec::new(),
            were_full: Vec::new(),
        }
    }

    /// What is new since this was last called, about a second ago.
    pub fn show(&mut self, session: &Session) {
        let (account, writer) = (session.account(), session.writer());
        self.warn(&writer);
        self.tell_links(&account);
        self.tell_fills(&account);
        let seconds = self.at.elapsed().as_secs_f64().max(1e-9);
        let now = Totals::of(&account);
        if let Some(line) = &mut self.line {
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            let figures = Figures {
                packets: now.packets,
                packets_per_s: rate(now.packets, self.before.packets),
                bits_per_s: now.octets.map(|octets| 8.0 * rate(octets, self.before.octets.unwrap_or(0))),
                ring: Fill::fullest(account.interfaces.iter().map(|interface| interface.fill)),
                buffers: Some((account.buffers_in_use, account.buffers)),
                losses: losses(&account),
            };
            line.show(&figures.to_string());
        }
        (self.before, self.at, self.writer) = (now, Instant::now(), writer);
    }

    /// Makes room for other lines.
    pub fn clear(&mut self) {
        if let Some(line) = &mut self.line {
            line.clear();
        }
    }

    fn warn(&mut self, writer: &WriterCounts) {
        let lag = writer.lag_since(&self.writer);
        let is_behind = matches!(lag, Some(Lag::Behind { .. }));
        // Losing is said each second, falling behind when it begins.
        if let Some(lag) = lag
            && !(is_behind && self.was_behind)
        {
            self.clear();
            tell!("capbench: {lag}");
        }
        self.was_behind = is_behind;
    }

    /// A ring that runs full is what comes before packets are lost: frames are not taken out fast enough or, where
    /// they wait in it for the writer, not written.
    fn tell_fills(&mut self, account: &Account) {
        self.were_full.resize(account.interfaces.len(), false);
        for (at, interface) in account.interfaces.iter().enumerate() {
            let is_full = interface.fill.is_some_and(|fill| fill.share() >= NEARLY_FULL);
            if is_full && !std::mem::replace(&mut self.were_full[at], is_full) {
                self.clear();
                tell!(
                    "capbench: the ring of {} was {} full in the last second; --ring makes it larger",
                    interface.name,
                    in_words(interface.fill)
                );
            }
            self.were_full[at] = is_full;
        }
    }

    fn tell_links(&mut self, account: &Account) {
        self.downs.resize(account.interfaces.len(), false);
        for (at, interface) in account.interfaces.iter().enumerate() {
            if std::mem::replace(&mut self.downs[at], interface.is_down) == interface.is_down {
                continue;
            }
            self.clear();
            match interface.is_down {
                true => {
                    tell!("capbench: {} went down; recording goes on when it comes back", interface.name)
                }
                false => tell!("capbench: {} gives packets again", interface.name),
            }
        }
    }
}

/// Losses of all interfaces.
fn losses(account: &Account) -> Losses {
    let mut losses = Losses::default();
    for interface in &account.interfaces {
        for loss in interface.losses.iter().chain(&interface.queues) {
            losses.add(loss.place, loss.count);
        }
        losses.add(LossPlace::Writer, Some(interface.output.lost()));
    }
    losses
}
