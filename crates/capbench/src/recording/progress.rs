//! A line per second on a terminal, and warnings while the writer does not keep up.

use std::time::Instant;

use capbench_capture::Occupancy;
use capbench_model::counters::Loss;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use capbench_record::recording::{Account, InterfaceAccount, Session};
use capbench_record::writing::{Lag, WriterCounts};
use capbench_sys::host::LinkLayer;
use console::Term;

use crate::status::{BitRates, Figures, InPlace, Losses, word};

/// Share of a ring in use (0 to 1) from which on a warning is printed.
const NEARLY_FULL: f64 = 0.75;

/// What makes room for longer packets; `None` for methods whose buffers capbench does not choose.
fn cut_remedy(method: &SavedMethod) -> Option<&'static str> {
    match method.known()?.name() {
        "packet-v1" | "packet-v2" => Some("; a larger --frame holds them"),
        "packet-v3" => Some("; a larger --block holds them"),
        _ => None,
    }
}

/// What was reported last.
pub struct Status {
    line: Option<InPlace>,
    /// What the packets of all interfaces begin with; `None` if they differ.
    layer: Option<LinkLayer>,
    before: Totals,
    at: Instant,
    writer: WriterCounts,
    /// Whether "the output falls behind" was reported.
    was_behind: bool,
    /// How often each interface went down, and whether it was down.
    downs: Vec<(u64, bool)>,
    /// Whether a nearly full ring of the interface was reported.
    were_full: Vec<bool>,
    /// Whether cut packets of the interface were reported.
    were_cut: Vec<bool>,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    packets: u64,
    /// `None` if no code looks at each packet.
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
    /// `layers` are those of the recorded interfaces.
    pub fn new(session: &Session, layers: &[LinkLayer]) -> Self {
        Self {
            line: InPlace::on(Term::stderr()),
            layer: layers.first().copied().filter(|first| layers.iter().all(|layer| layer == first)),
            before: Totals::default(),
            at: Instant::now(),
            // A retention failure of the start is still to be reported.
            writer: WriterCounts { retention_failure: None, ..session.writer() },
            was_behind: false,
            downs: Vec::new(),
            were_full: Vec::new(),
            were_cut: Vec::new(),
        }
    }

    /// Prints what is new since the last call, about a second ago.
    pub fn show(&mut self, session: &Session) {
        let (account, writer) = (session.account(), session.writer());
        self.warn(&writer);
        self.show_deleted(&writer);
        self.show_links(&account);
        self.warn_of_fills(&account);
        self.warn_of_cuts(&account);
        let seconds = self.at.elapsed().as_secs_f64().max(1e-9);
        let now = Totals::of(&account);
        if let Some(line) = &mut self.line {
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            let figures = Figures {
                packets: now.packets,
                packets_per_s: rate(now.packets, self.before.packets),
                bits_per_s: now.octets.zip(self.layer).map(|(octets, layer)| {
                    let octets_per_s = rate(octets, self.before.octets.unwrap_or(0));
                    BitRates::of(layer, rate(now.packets, self.before.packets), octets_per_s)
                }),
                ring: Occupancy::fullest(account.interfaces.iter().map(|interface| interface.fill)),
                buffers: Some((account.writer.in_use, account.writer.pool)),
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

    /// Prints a separate line.
    fn tell(&mut self, words: &str) {
        self.clear();
        tell!("capbench: {words}");
    }

    /// Loss of the writer is reported every second, falling behind only when it begins.
    fn warn(&mut self, writer: &WriterCounts) {
        let lag = writer.lag_since(&self.writer);
        let is_behind = matches!(lag, Some(Lag::Behind { .. }));
        if let Some(lag) = lag.filter(|_| !(is_behind && self.was_behind)) {
            self.tell(&lag.to_string());
        }
        self.was_behind = is_behind;
    }

    /// Reports old files removed in the last second, those that could not be removed, and a folder that cannot be synced.
    fn show_deleted(&mut self, writer: &WriterCounts) {
        let files = writer.deleted_files - self.writer.deleted_files;
        if files > 0 {
            let bytes = writer.deleted_bytes - self.writer.deleted_bytes;
            self.tell(&format!("old files of this recording removed: {files}, {bytes} bytes on the disk"));
        }
        if writer.is_folder_unsynced && !self.writer.is_folder_unsynced {
            self.tell(
                "the folder of -w cannot be synced, because its user may not read it: whether its files are on the disk is \
                 not known",
            );
        }
        if let Some(failure) = &writer.retention_failure
            && writer.retention_failure != self.writer.retention_failure
        {
            self.tell(&format!("old files cannot be removed (--keep-files, --keep-free): {failure}"));
        }
    }

    /// Warns of a nearly full ring, which precedes loss: frames are not read fast enough or, where the writer uses them in the
    /// ring, not written fast enough.
    fn warn_of_fills(&mut self, account: &Account) {
        self.were_full.resize(account.interfaces.len(), false);
        for (at, InterfaceAccount { name, fill, .. }) in account.interfaces.iter().enumerate() {
            let is_full = fill.is_some_and(|fill| fill.share() >= NEARLY_FULL);
            if is_full && !self.were_full[at] {
                let fill = word(*fill);
                self.tell(&format!(
                    "the ring of {name} was {fill} full in the last second; --ring makes it larger"
                ));
            }
            self.were_full[at] = is_full;
        }
    }

    /// Warns once of packets that are longer than the method can deliver.
    fn warn_of_cuts(&mut self, account: &Account) {
        self.were_cut.resize(account.interfaces.len(), false);
        for (at, InterfaceAccount { name, method, cut, cut_octets, .. }) in
            account.interfaces.iter().enumerate()
        {
            if *cut > 0 && !self.were_cut[at] {
                self.were_cut[at] = true;
                self.tell(&format!(
                    "{cut} packets of {name} are cut: {method} had no room for {cut_octets} octets of them{}",
                    cut_remedy(method).unwrap_or_default()
                ));
            }
        }
    }

    fn show_links(&mut self, account: &Account) {
        self.downs.resize(account.interfaces.len(), (0, false));
        for (at, interface) in account.interfaces.iter().enumerate() {
            let (times, was_down) = self.downs[at];
            let now = (interface.went_down.max(times), interface.is_down);
            let Some(change) = change(now.0 > times, was_down, now.1) else { continue };
            self.downs[at] = now;
            self.tell(&format!("{} {change}", interface.name));
        }
    }
}

/// The message if an interface went down or came up since the last look.
fn change(went_down: bool, was_down: bool, is_down: bool) -> Option<&'static str> {
    match (went_down, was_down, is_down) {
        (_, false, true) => Some("went down; recording goes on when it comes back"),
        (_, true, false) => Some("is up again"),
        (true, false, false) => Some("went down and is up again"),
        (true, true, true) => Some("was up for a moment, and is down again"),
        (false, ..) => None,
    }
}

/// Losses of all interfaces.
fn losses(account: &Account) -> Losses {
    let mut losses = Losses::default();
    for interface in &account.interfaces {
        // Packets that cannot be compared are not reported as loss.
        let is_shown = |loss: &&Loss| loss.place != Place::Stack || loss.count.is_some();
        for loss in interface.losses.iter().chain(&interface.queues).filter(is_shown) {
            losses.add(loss.place, loss.count);
        }
        losses.add(Place::Writer, Some(interface.output.lost()));
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn each_change_of_a_link_is_said_once() {
        assert_eq!(change(false, false, false), None);
        assert!(change(true, false, true).is_some_and(|text| text.starts_with("went down;")));
        assert_eq!((change(false, true, true), change(false, true, false)), (None, Some("is up again")));
        assert_eq!(change(true, false, false), Some("went down and is up again"));
    }
}
