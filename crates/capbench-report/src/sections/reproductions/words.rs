//! The words of published and measured columns: headings, keys and units.

use capbench_judge::reproduction::{Column as SavedColumn, Quantity, Side};

use crate::model::Unit;

/// The unit of a quantity, and its words.
pub(super) struct QuantityWords {
    pub(super) unit: Unit,
    /// Its words in a heading; empty if the column says what it is.
    pub(super) heading: &'static str,
    /// The suffix of its keys.
    pub(super) suffix: &'static str,
}

/// How a quantity is shown.
pub(super) const fn words_of(quantity: Quantity) -> QuantityWords {
    let (unit, heading, suffix) = match quantity {
        Quantity::Name => (Unit::None, "", "name"),
        Quantity::Captured => (Unit::Ratio, "captured", "captured_ratio"),
        Quantity::Load => (Unit::Ratio, "load of a CPU", "load_cpus"),
        Quantity::PacketsPerSecond => (Unit::PacketsPerSecond, "rate", "pps"),
        Quantity::BitsPerSecond => (Unit::BitsPerSecondL1, "rate", "bps_l1"),
        Quantity::NanosecondsPerPacket => (Unit::NanosecondsPerPacket, "CPU time", "ns_per_packet"),
        Quantity::Count => (Unit::Count, "", "count"),
        Quantity::Slots => (Unit::Count, "", "slots"),
        Quantity::FrameBytes => (Unit::Bytes, "frame size", "bytes"),
        Quantity::Iterations => (Unit::Iterations, "", "iterations"),
        Quantity::Nanoseconds => (Unit::Nanoseconds, "work", "ns"),
    };
    QuantityWords { unit, heading, suffix }
}

pub(super) const fn unit(quantity: Quantity) -> Unit {
    words_of(quantity).unit
}

/// The words that are not empty.
pub(super) fn joined(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Whether a column was published, measured here, or set by the plan.
const fn side(column: &SavedColumn) -> &'static str {
    match column.side {
        Side::Published => "published",
        Side::Here => "here",
        Side::Given => "set",
    }
}

/// The heading of a column: `published libpcap rate`. What the plan set needs no side.
pub(super) fn heading(column: &SavedColumn) -> String {
    let side = if column.side == Side::Given { "" } else { side(column) };
    joined(&[side, &column.method, &column.what, words_of(column.quantity).heading])
}

/// A name of lower-case letters, digits and `_`, ending with its unit.
pub(super) fn key(column: &SavedColumn) -> String {
    let suffix = words_of(column.quantity).suffix;
    let text = format!("{} {} {} {suffix}", side(column), column.method, column.what).to_lowercase();
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    Vec::from_iter(parts).join("_")
}
