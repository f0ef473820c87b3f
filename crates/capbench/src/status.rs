//! The status line of a capture, every second: packets, rates, fill level of the ring, and losses by place.

use std::fmt;
use std::io::Write;

use capbench_capture::Occupancy;
use capbench_frames::units::{FCS_OCTETS, WIRE_OVERHEAD_OCTETS};
use capbench_frames::{OtherTrials, TrialId};
use capbench_model::counters::Counters;
use capbench_model::figures::percent;
use capbench_model::places::Place;
use capbench_record::recording::ledger::in_a_word;
use capbench_report::printable;
use capbench_sys::host::LinkLayer;
use console::Term;
use schemars::JsonSchema;
use serde::Serialize;

/// The status of one second.
#[derive(Debug)]
pub struct Figures {
    /// Packets since the start.
    pub packets: u64,
    /// Packets per second in this second.
    pub packets_per_s: f64,
    /// Bits per second in this second; `None` if no code looks at each packet, or links of several types have packets.
    pub bits_per_s: Option<BitRates>,
    /// Highest fill level of the ring in this second.
    pub ring: Option<Occupancy>,
    /// Buffers that wait for the disk, and how many exist; `None` if nothing is written.
    pub buffers: Option<(u64, u64)>,
    /// Losses since the start.
    pub losses: Losses,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A terminal may cut the end of the line, so losses come first.
        let (packets, per_s) = (self.packets, short(self.packets_per_s));
        write!(f, "{packets} packets  {per_s}packets/s  dropped: {}  ring {}", self.losses, word(self.ring))?;
        if let Some((in_use, of)) = self.buffers {
            write!(f, "  buffers {in_use}/{of}")?;
        }
        if let Some(bits_per_s) = self.bits_per_s {
            write!(f, "  {bits_per_s}")?;
        }
        Ok(())
    }
}

/// Bits per second of some packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BitRates {
    /// Of Ethernet frames.
    Frames {
        /// Of whole frames, FCS included.
        layer_2: f64,
        /// The same with preamble and gap, as the speed of a link is stated.
        layer_1: f64,
    },
    /// Of IP packets on a link without Ethernet.
    Packets {
        /// Of the packets.
        layer_3: f64,
    },
}

impl BitRates {
    /// From packets per second, and their octets per second without FCS.
    pub fn of(layer: LinkLayer, packets_per_s: f64, octets_per_s: f64) -> Self {
        match layer {
            LinkLayer::Ethernet => {
                let layer_2 = 8.0 * (octets_per_s + packets_per_s * f64::from(FCS_OCTETS));
                Self::Frames { layer_2, layer_1: layer_2 + 8.0 * packets_per_s * WIRE_OVERHEAD_OCTETS }
            }
            LinkLayer::Ip => Self::Packets { layer_3: 8.0 * octets_per_s },
        }
    }

    /// Of whole frames, FCS included; `None` on a link without Ethernet.
    pub fn layer_2(self) -> Option<f64> {
        if let Self::Frames { layer_2, .. } = self { Some(layer_2) } else { None }
    }

    /// The same with preamble and gap.
    pub fn layer_1(self) -> Option<f64> {
        if let Self::Frames { layer_1, .. } = self { Some(layer_1) } else { None }
    }
}

impl fmt::Display for BitRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frames { layer_2, layer_1 } => {
                write!(f, "{}bit/s L2, {}bit/s L1", short(*layer_2), short(*layer_1))
            }
            Self::Packets { layer_3 } => write!(f, "{}bit/s L3", short(*layer_3)),
        }
    }
}

/// Octets of FCS that the link adds to each frame.
pub fn fcs_octets(layer: LinkLayer) -> u16 {
    match layer {
        LinkLayer::Ethernet => FCS_OCTETS,
        LinkLayer::Ip => 0,
    }
}

/// How many frames of a trial were lost, of how many, in words. Of 0 none is known to have been sent.
pub fn lost(lost: u64, of: u64) -> String {
    match (lost, of) {
        (_, 0) => "lost unknown (--frames says how many were sent)".into(),
        (0, _) => format!("lost 0 of {of} (0 %)"),
        _ => format!("lost {lost} of {of} ({})", percent(lost as f64 / of as f64)),
    }
}

/// Foreign frames of a trial that the user did not ask for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OtherTrial {
    /// Number of the trial (`send --trial`).
    trial: u16,
    /// Its frames.
    frames: u64,
}

impl OtherTrial {
    /// Each such trial.
    pub fn list(others: &OtherTrials) -> Vec<Self> {
        others.iter().map(|(trial, frames)| Self { trial: trial.0, frames }).collect()
    }
}

/// The trials that frames are of although the user asked for others; empty if there are none.
pub fn other_trials(others: &OtherTrials, flag: &str) -> String {
    let words = |(trial, frames): (TrialId, u64)| {
        format!("{frames} foreign frames are of trial {} ({flag} {})\n", trial.0, trial.0)
    };
    others.iter().map(words).collect()
}

/// A count; `unknown` if there is none.
pub fn word<T: ToString>(count: Option<T>) -> String {
    count.map_or_else(|| "unknown".into(), |count| count.to_string())
}

/// Packets lost, by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<(&'static str, Option<u64>)>);

impl Losses {
    /// The losses that a method counts.
    pub fn of(counters: &Counters) -> Self {
        let mut losses = Self::default();
        for loss in &counters.losses {
            losses.add(loss.place, loss.count);
        }
        losses
    }

    /// Adds losses at a place; `None` if their number is unknown.
    pub fn add(&mut self, place: Place, count: Option<u64>) {
        let place = in_a_word(place);
        match self.0.iter_mut().find(|(known, _)| *known == place) {
            Some((_, sum)) => *sum = sum.zip(count).map(|(sum, more)| sum + more),
            None => self.0.push((place, count)),
        }
    }

    /// Each place with how many it lost.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> {
        self.0.iter().copied()
    }
}

/// Places that lost none are left out.
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self
            .iter()
            .filter(|(_, count)| *count != Some(0))
            .map(|(place, count)| format!("{place} {}", word(count)))
            .collect();
        f.pad(&if words.is_empty() { "none".into() } else { words.join(", ") })
    }
}

/// A number with an SI prefix, or without one.
fn short(number: f64) -> String {
    for (unit, prefix) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if number >= unit {
            return format!("{:.2} {prefix}", number / unit);
        }
    }
    format!("{number:.0} ")
}

/// One line of a terminal that replaces the one before.
#[derive(Debug)]
pub struct InPlace {
    terminal: Term,
    is_shown: bool,
}

impl InPlace {
    /// `None` if the line cannot be overwritten: in a file, in a pipe, or on a dumb terminal.
    pub fn on(terminal: Term) -> Option<Self> {
        let can_draw = terminal.is_term() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        can_draw.then_some(Self { terminal, is_shown: false })
    }

    /// Shows as much of a line as fits. Errors of a closed terminal are ignored.
    pub fn show(&mut self, line: &str) {
        let columns = self.terminal.size_checked().map_or(80, |(_, columns)| usize::from(columns));
        // After the last column some terminals start a new line.
        let line: String = printable::line(line).chars().take(columns.saturating_sub(1)).collect();
        // Back to the start of the line, then clear the rest of the old one (ECMA-48: CR, EL).
        let _ = write!(self.terminal, "\r\x1b[K{line}").and_then(|()| self.terminal.flush());
        self.is_shown = true;
    }

    /// Makes room for other lines.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(self.terminal, "\r\x1b[K").and_then(|()| self.terminal.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BitRates, Figures, LinkLayer, Losses, lost, other_trials, short};
    use capbench_capture::Occupancy;
    use capbench_model::places::Place;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 999.4, 1500.0, 2.5e6, 1e10].map(short),
            ["0 ", "999 ", "1.50 k", "2.50 M", "10.00 G"]
        );
    }

    #[test]
    fn lost_frames_have_a_share_and_foreign_ones_the_trial_that_they_are_of() {
        assert_eq!(lost(12, 1000), "lost 12 of 1000 (1.2 %)");
        assert_eq!(lost(0, 7), "lost 0 of 7 (0 %)");
        assert!(lost(0, 0).contains("--frames"));
        let mut others = capbench_frames::OtherTrials::default();
        assert_eq!(other_trials(&others, "--trial"), "");
        others.note(capbench_frames::TrialId(7));
        assert_eq!(other_trials(&others, "--trial"), "1 foreign frames are of trial 7 (--trial 7)\n");
    }

    #[test]
    fn losses_are_reported_by_place_and_the_unknown_is_not_none() {
        let mut losses = Losses::default();
        assert_eq!(losses.to_string(), "none");
        losses.add(Place::Link, None);
        losses.add(Place::Ring, Some(0));
        losses.add(Place::Writer, Some(3));
        assert_eq!(losses.to_string(), "interface unknown, writer 3");
        losses.add(Place::Ring, Some(2));
        losses.add(Place::Link, Some(1));
        losses.add(Place::Writer, Some(4));
        assert_eq!(losses.to_string(), "interface unknown, ring 2, writer 7");
    }

    #[test]
    fn a_line_says_where_packets_are_lost_and_how_near_the_ring_is_to_it() {
        let mut losses = Losses::default();
        losses.add(Place::Ring, Some(12));
        let mut figures = Figures {
            packets: 1_234_567,
            packets_per_s: 1.2e6,
            bits_per_s: Some(BitRates::of(LinkLayer::Ethernet, 1.2e6, 72e6)),
            ring: Occupancy::new(1u32, 8u32),
            buffers: Some((3, 64)),
            losses,
        };
        assert_eq!(
            figures.to_string(),
            "1234567 packets  1.20 Mpackets/s  dropped: ring 12  ring 12 %  buffers 3/64  614.40 Mbit/s L2, 806.40 Mbit/s L1"
        );
        (figures.ring, figures.buffers) = (None, None);
        assert!(
            figures.to_string().contains("dropped: ring 12  ring unknown  614.40 Mbit/s L2"),
            "{figures}"
        );
    }
}
