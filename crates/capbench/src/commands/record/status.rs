//! A line per second on a terminal, and warnings while the writer does not keep up.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use capbench_capture::LossPlace;
use capbench_capture::recording::{Account, InterfaceAccount, Session};
use capbench_capture::writing::{Lag, WriterCounts};

/// What was told last.
pub struct Status {
    is_terminal: bool,
    is_shown: bool,
    before: Totals,
    at: Instant,
    writer: WriterCounts,
    /// Whether the operator knows that the output falls behind.
    was_behind: bool,
    downs: Vec<bool>,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    packets: u64,
    octets: u64,
}

impl Totals {
    fn of(account: &Account) -> Self {
        let sum = |of: fn(&InterfaceAccount) -> u64| account.interfaces.iter().map(of).sum();
        Self { packets: sum(InterfaceAccount::captured), octets: sum(|interface| interface.octets) }
    }
}

impl Status {
    pub fn new(session: &Session) -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            is_shown: false,
            before: Totals::default(),
            at: Instant::now(),
            writer: session.writer(),
            was_behind: false,
            downs: Vec::new(),
        }
    }

    /// What is new since this was last called, about a second ago.
    pub fn show(&mut self, session: &Session) {
        let (account, writer) = (session.account(), session.writer());
        self.warn(&writer);
        self.tell_links(&account);
        let seconds = self.at.elapsed().as_secs_f64().max(1e-9);
        let now = Totals::of(&account);
        if self.is_terminal {
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            let line = format!(
                "{} packets  {}packets/s  {}bit/s  buffers {}/{}  dropped: {}",
                now.packets,
                short(rate(now.packets, self.before.packets)),
                short(8.0 * rate(now.octets, self.before.octets)),
                account.buffers_in_use,
                account.buffers,
                drops(&account)
            );
            // Back to the start of the line, and what is left of the old one away.
            eprint!("\r\x1b[K{line}");
            let _ = std::io::stderr().flush();
            self.is_shown = true;
        }
        (self.before, self.at, self.writer) = (now, Instant::now(), writer);
    }

    /// Makes room for other lines.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            eprint!("\r\x1b[K");
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
            eprintln!("capbench: {lag}");
        }
        self.was_behind = is_behind;
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
                    eprintln!("capbench: {} went down; recording goes on when it comes back", interface.name)
                }
                false => eprintln!("capbench: {} gives packets again", interface.name),
            }
        }
    }
}

/// Losses by place, those that are none left out.
fn drops(account: &Account) -> String {
    let mut places: Vec<(&str, u64)> = Vec::new();
    for interface in &account.interfaces {
        let counted = interface.losses.iter().chain(&interface.queues);
        let counted = counted.filter_map(|loss| Some((place(loss.place), loss.count?)));
        for (place, count) in counted.chain([("writer", interface.output.lost())]) {
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, sum)) => *sum += count,
                None => places.push((place, count)),
            }
        }
    }
    let lost: Vec<_> = places
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(place, count)| format!("{place} {count}"))
        .collect();
    if lost.is_empty() { "none".into() } else { lost.join(", ") }
}

/// A place in a word or two.
pub fn place(place: LossPlace) -> &'static str {
    match place {
        LossPlace::Link => "interface",
        LossPlace::Xdp => "XDP",
        LossPlace::Filter => "filter",
        LossPlace::FillRing => "fill ring",
        LossPlace::Ring => "ring",
        LossPlace::MethodQueue => "method queue",
        LossPlace::ApplicationQueue => "application queue",
        LossPlace::Writer => "writer",
    }
}

/// A number with a prefix of the SI, followed by nothing or that prefix.
fn short(number: f64) -> String {
    for (unit, prefix) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if number >= unit {
            return format!("{:.2} {prefix}", number / unit);
        }
    }
    format!("{number:.0} ")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 999.4, 1500.0, 2.5e6, 1e10].map(short),
            ["0 ", "999 ", "1.50 k", "2.50 M", "10.00 G"]
        );
    }
}
