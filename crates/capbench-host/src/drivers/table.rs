//! The drivers and the meanings of their counters: one row per name, one file per maker.
//!
//! Meanings come from the driver's source, which each row names by its path in the kernel (6.12, compared with 6.1), or from
//! the named documentation. Unverified meanings are marked and never counted as losses.

mod broadcom;
mod cloud;
mod intel;
mod nvidia;
mod others;
mod realtek;

use std::time::Duration;

use crate::links::LinkDeltas;
use capbench_model::places::Place;

/// Declares the meanings, each with the place of such frames in `capbench why` and its words.
macro_rules! meanings {
    ($($name:ident $place:expr, $words:literal;)+) => {
        /// The meaning of a counter, independent of its name in the driver.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Meaning {
            $(#[doc = $words] $name,)+
        }

        impl Meaning {
            /// The place in `capbench why`, which distinguishes the NIC from the link; `None` if nothing is lost.
            pub fn place_for_why(self) -> Option<Place> {
                match self {
                    $(Self::$name => $place,)+
                }
            }

            /// The place in the ledger of a trial, which counts losses of the NIC as those of the link; `None` if nothing is lost.
            pub fn place(self) -> Option<Place> {
                match self.place_for_why() {
                    Some(Place::Nic) => Some(Place::Link),
                    other => other,
                }
            }

            /// In words.
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)+
                }
            }
        }
    };
}

meanings! {
    Missed Some(Place::Nic), "missed: the NIC had no buffer from the host";
    Overrun Some(Place::Nic), "overrun of the NIC's own packet memory";
    Discarded Some(Place::Nic), "discarded by the NIC";
    Checksum Some(Place::Link), "bad FCS";
    Length Some(Place::Link), "bad length";
    Framing Some(Place::Link), "garbled on the medium";
    Allowance Some(Place::Nic), "above what the hypervisor allows";
    NoMemory Some(Place::Driver), "no memory in the driver";
    Driver Some(Place::Driver), "dropped by the driver";
    Xdp Some(Place::Xdp), "dropped in XDP";
    Shortage None, "shortage, not a count of lost frames";
    Filtered None, "filtered by the NIC on purpose";
    Pause None, "pause frames";
    Offload None, "changed by the NIC before capture";
    Diverted None, "redirected or sent back by an XDP program";
    Transmit None, "a matter of sending";
    Part None, "a sum or a part of other counters";
}

/// What a counter says about lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossBound {
    /// Each count is a lost frame.
    Loss,
    /// An upper bound of lost frames: it counts others, too.
    AtMost,
    /// Nothing about loss.
    Nothing,
}

/// The scope of a counter.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// The whole interface.
    Total,
    /// One queue; the sum over all queues is the interface's count.
    PerQueue,
    /// No counter of the driver, but a field of `struct rtnl_link_stats64`.
    Link(fn(&LinkDeltas) -> Option<u64>),
}

/// A counter name, or pattern of names, of one driver. Rows with equal meaning and part report the same losses: the largest is
/// used. Rows with different parts are different losses.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name; `{n}` is a number, `|` separates names whose counts are added.
    pub pattern: &'static str,
    /// Names of counters that this one contains and that have separate rows: their counts are subtracted.
    pub less: &'static str,
    /// What it means.
    pub meaning: Meaning,
    /// Distinguishes losses of the same meaning.
    pub part: &'static str,
    /// What it says about loss.
    pub loss_bound: LossBound,
    /// Its scope.
    pub scope: Scope,
    /// The source of the meaning: a path in the kernel's source, with the function.
    pub source: &'static str,
    /// Whether the meaning is verified; if not, it is shown but not counted as loss.
    pub verified: bool,
    /// Whether rx_dropped of the link statistics also contains these frames: it contains what a driver drops itself.
    pub in_rx_dropped: bool,
    /// Whether the counted frames went through the interface's NAPI poll.
    pub polled: bool,
}

/// A driver, or several that have the same counters.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    /// Names that `ethtool -i` prints.
    pub names: &'static [&'static str],
    /// Its counters.
    pub rows: &'static [&'static [Row]],
    /// The period in which they are updated, in milliseconds; 0 if at each reading.
    pub refresh_ms: u64,
    /// Losses that it cannot report.
    pub blind: Option<&'static str>,
    /// What its `tx_packets` and `rx_packets` count.
    pub frame_counts: FrameCounts,
    /// Whether a counter may add up a register that the driver expects to be cleared by reading but that an emulated card does
    /// not clear. Such a counter grows by its whole value at each reading.
    pub adds_registers: bool,
}

/// What `tx_packets` and `rx_packets` of a driver count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameCounts {
    /// Not verified: possibly not each frame, or not at once.
    Unverified,
    /// Each frame once, when the card has sent it and when the driver has it. The source is a path in the kernel's source, with
    /// the function.
    Each(&'static str),
    /// The same, but no frame that the backlog behind the driver refuses.
    EachNotRefused(&'static str),
}

impl Driver {
    const fn new(names: &'static [&'static str], rows: &'static [&'static [Row]]) -> Self {
        Self {
            names,
            rows,
            refresh_ms: 0,
            blind: None,
            frame_counts: FrameCounts::Unverified,
            adds_registers: false,
        }
    }

    const fn refreshed_every(mut self, milliseconds: u64) -> Self {
        self.refresh_ms = milliseconds;
        self
    }

    const fn blind_to(mut self, what: &'static str) -> Self {
        self.blind = Some(what);
        self
    }

    const fn counting(mut self, frame_counts: FrameCounts) -> Self {
        self.frame_counts = frame_counts;
        self
    }

    const fn adding_registers(mut self) -> Self {
        self.adds_registers = true;
        self
    }

    /// All its rows.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().flat_map(|rows| rows.iter())
    }

    /// The row of a counter of this driver; `None` for an unknown name.
    pub fn row_of(&self, name: &str) -> Option<&'static Row> {
        self.rows().find(|row| !matches!(row.scope, Scope::Link(_)) && matches(row.pattern, name))
    }

    /// How long to wait until all past events are counted.
    pub fn settling(&self) -> Duration {
        // A tenth more, for a late timer.
        Duration::from_millis(self.refresh_ms + self.refresh_ms / 10)
    }
}

/// Whether `pattern` matches the whole `name`. Patterns are literal text, `{n}` for a number, and alternatives separated by `|`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    pattern.split('|').any(|alternative| matches_one(alternative, name))
}

fn matches_one(pattern: &str, name: &str) -> bool {
    let Some((literal, rest)) = pattern.split_once("{n}") else { return pattern == name };
    let Some(after) = name.strip_prefix(literal) else { return false };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && matches_one(rest, &after[digits..])
}

/// The driver with this kernel name.
pub fn known(name: &str) -> Option<&'static Driver> {
    all().find(|driver| driver.names.contains(&name))
}

/// Every driver of the table.
pub fn all() -> impl Iterator<Item = &'static Driver> {
    [intel::DRIVERS, nvidia::DRIVERS, broadcom::DRIVERS, cloud::DRIVERS, realtek::DRIVERS, others::DRIVERS]
        .into_iter()
        .flatten()
}

/// The fields of `struct rtnl_link_stats64` as linux/if_link.h defines them, for unknown drivers. Drivers report one lack of
/// room as missed, FIFO or overrun error, and some as two of these: the largest is used.
pub static UNKNOWN: Driver = Driver::new(
    &[],
    &[&[
        link("rx_missed_errors", |stats| stats.rx_missed_errors, Meaning::Missed, IF_LINK),
        link("rx_fifo_errors", |stats| stats.rx_fifo_errors, Meaning::Missed, IF_LINK),
        link("rx_over_errors", |stats| stats.rx_over_errors, Meaning::Missed, IF_LINK),
        link("rx_crc_errors", |stats| stats.rx_crc_errors, Meaning::Checksum, IF_LINK),
        link("rx_length_errors", |stats| stats.rx_length_errors, Meaning::Length, IF_LINK),
        link("rx_frame_errors", |stats| stats.rx_frame_errors, Meaning::Framing, IF_LINK),
    ]],
)
.refreshed_every(2000);

const IF_LINK: &str = "include/uapi/linux/if_link.h: struct rtnl_link_stats64";

/// The part of losses by failed redirects. Methods that redirect frames to themselves count them, too.
pub const REDIRECT: &str = "redirect";

const fn row(
    pattern: &'static str,
    scope: Scope,
    meaning: Meaning,
    loss_bound: LossBound,
    source: &'static str,
) -> Row {
    let in_rx_dropped = matches!(meaning, Meaning::NoMemory | Meaning::Driver);
    Row {
        pattern,
        less: "",
        meaning,
        part: "",
        loss_bound,
        scope,
        source,
        verified: true,
        in_rx_dropped,
        polled: false,
    }
}

/// A counter of lost frames of the whole interface.
const fn total(pattern: &'static str, meaning: Meaning, source: &'static str) -> Row {
    row(pattern, Scope::Total, meaning, LossBound::Loss, source)
}

/// A counter of lost frames of one queue.
const fn queue(pattern: &'static str, meaning: Meaning, source: &'static str) -> Row {
    row(pattern, Scope::PerQueue, meaning, LossBound::Loss, source)
}

/// Lost frames that a field of the link statistics reports.
const fn link(
    field: &'static str,
    read: fn(&LinkDeltas) -> Option<u64>,
    meaning: Meaning,
    source: &'static str,
) -> Row {
    row(field, Scope::Link(read), meaning, LossBound::Loss, source)
}

/// A counter that says nothing about loss.
const fn info(pattern: &'static str, meaning: Meaning, source: &'static str) -> Row {
    row(pattern, Scope::Total, meaning, LossBound::Nothing, source)
}

impl Row {
    const fn part(mut self, part: &'static str) -> Self {
        self.part = part;
        self
    }

    const fn less(mut self, names: &'static str) -> Self {
        self.less = names;
        self
    }

    const fn at_most(mut self) -> Self {
        self.loss_bound = LossBound::AtMost;
        self
    }

    const fn in_rx_dropped(mut self) -> Self {
        self.in_rx_dropped = true;
        self
    }

    const fn polled(mut self) -> Self {
        self.polled = true;
        self
    }

    const fn unverified(mut self) -> Self {
        self.verified = false;
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_driver_is_there_once_and_every_row_has_a_source() {
        let mut names = BTreeSet::new();
        for driver in all() {
            for name in driver.names {
                assert!(names.insert(name), "{name} twice");
                assert_eq!(known(name).unwrap().names, driver.names);
            }
            for row in driver.rows() {
                assert!(
                    row.source.contains(".c: ")
                        || row.source.contains(".h: ")
                        || row.source.contains(".rst: "),
                    "{row:?}"
                );
                assert!(
                    !row.pattern.is_empty()
                        && row.pattern.split('|').all(|name| !name.is_empty() && name.len() < 40)
                );
                assert_eq!(
                    row.loss_bound != LossBound::Nothing,
                    row.meaning.place().is_some() || !row.verified,
                    "{row:?}"
                );
            }
        }
        assert!(known("no-such-driver").is_none() && known("").is_none());
    }

    #[test]
    fn values_from_rx_dropped_are_marked_so() {
        let dropped = LinkDeltas { rx_dropped: Some(7), ..LinkDeltas::default() };
        for row in all().flat_map(Driver::rows) {
            if let Scope::Link(read) = row.scope {
                assert!(read(&dropped).is_none() || row.in_rx_dropped, "{row:?}");
            }
            assert!(row.meaning.place() != Some(Place::Driver) || row.in_rx_dropped, "{row:?}");
        }
    }

    /// The row of a name must not depend on the order of rows.
    #[test]
    fn a_name_has_one_row() {
        for driver in all() {
            for row in driver.rows().filter(|row| !matches!(row.scope, Scope::Link(_))) {
                for name in row.pattern.split('|').map(|name| name.replace("{n}", "3")) {
                    let found = driver
                        .rows()
                        .filter(|row| !matches!(row.scope, Scope::Link(_)) && matches(row.pattern, &name))
                        .count();
                    assert_eq!(found, 1, "{name} of {:?}", driver.names);
                }
            }
        }
    }

    #[test]
    fn a_number_matches_any_queue() {
        assert!(matches("rx_queue_{n}_drops", "rx_queue_0_drops"));
        assert!(matches("rx_queue_{n}_drops", "rx_queue_127_drops"));
        assert!(matches("[{n}]: rx_discards", "[3]: rx_discards"));
        assert!(matches("rx{n}_drops|rx_queue_{n}_drops", "rx_queue_1_drops"));
        for name in ["rx_queue__drops", "rx_queue_x_drops", "rx_queue_1_drops_", " rx_queue_1_drops", ""] {
            assert!(!matches("rx_queue_{n}_drops", name), "{name:?}");
        }
        assert!(!matches("rx_missed_errors", "port.rx_missed_errors"), "the whole name");
    }

    proptest! {
        #[test]
        fn any_name_is_looked_at_without_a_panic(pattern in "\\PC{0,20}", name in "\\PC{0,40}") {
            matches(&pattern, &name);
            matches("rx{n}_{n}é{n}", &name);
            prop_assert!(matches("rx{n}|x", "rx7"), "for any question before");
        }
    }
}
