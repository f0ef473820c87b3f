//! What the numbers of a publication are, and how they are printed.

use capbench_model::figures::{grouped, shortest};
use serde::{Deserialize, Serialize};

/// The quantity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A name.
    Name,
    /// Share of the sent frames that was captured, shown in percent.
    Captured,
    /// Frames per second.
    PacketsPerSecond,
    /// Bits per second on a link, including preamble and gap, shown in Gbit/s.
    BitsPerSecond,
    /// CPU time, as a share of one CPU, shown in percent.
    Load,
    /// CPU time per packet in nanoseconds.
    NanosecondsPerPacket,
    /// Frames, or other counted objects.
    Count,
    /// Octets of a frame, including FCS.
    FrameBytes,
    /// Iterations of a wait loop.
    Iterations,
    /// Work per packet, nanoseconds.
    Nanoseconds,
    /// Ring slots: capacity in frames.
    Slots,
}

impl Quantity {
    /// A number of this quantity, formatted without a unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Captured => percent(value),
            Self::Load => shortest(value * 100.0, 1),
            Self::BitsPerSecond => shortest(value / 1e9, 3),
            Self::PacketsPerSecond | Self::Count | Self::NanosecondsPerPacket | Self::Nanoseconds => {
                grouped(value)
            }
            Self::Name | Self::FrameBytes | Self::Iterations | Self::Slots => shortest(value, 0),
        }
    }

    /// The unit, as used in a column heading.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Name | Self::Count => "",
            Self::Captured => "captured %",
            Self::PacketsPerSecond => "packets/s",
            Self::BitsPerSecond => "Gbit/s",
            Self::Load => "%",
            Self::NanosecondsPerPacket => "ns/packet",
            Self::FrameBytes => "bytes",
            Self::Iterations => "loops",
            Self::Nanoseconds => "ns",
            Self::Slots => "slots",
        }
    }
}

/// A share in percent with two decimals, truncated: never 100 unless nothing is lost, never 0 unless everything is.
fn percent(share: f64) -> String {
    // Truncation must not remove what binary fractions subtract from 0.98.
    let hundredths = (share * 1e4 + 1e-6).floor();
    if share > 0.0 && hundredths == 0.0 { "<0.01".into() } else { shortest(hundredths / 100.0, 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_only_where_they_are() {
        for (share, text) in [
            (1.0, "100"),
            (0.999_999, "99.99"),
            (0.98, "98"),
            (0.29, "29"),
            (0.002, "0.2"),
            (0.000_001, "<0.01"),
            (0.0, "0"),
        ] {
            assert_eq!(Quantity::Captured.text(share), text, "{share}");
        }
    }

    #[test]
    fn numbers_are_printed_as_published() {
        assert_eq!(Quantity::Load.text(0.115), "11.5");
        assert_eq!(Quantity::Load.text(0.999), "99.9");
        assert_eq!(Quantity::BitsPerSecond.text(0.757e9), "0.757");
        assert_eq!(Quantity::BitsPerSecond.text(1e9), "1");
        assert_eq!(Quantity::PacketsPerSecond.text(1_488_095.2), "1,488,095");
    }
}
