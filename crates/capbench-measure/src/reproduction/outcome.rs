//! What is saved of a reproduction: its tables, published cells beside measured ones, and what has become of its claims.

use capbench_model::figures::grouped;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An experiment that was run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reproduction {
    /// The publication.
    pub key: String,
    /// Who wrote it and what it is about.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// How it was done then.
    pub then: String,
    /// What was done here.
    pub here: Vec<String>,
    /// Whether it went to its end.
    pub complete: bool,
    /// Tables.
    pub tables: Vec<Comparison>,
    /// What holds, what has changed, what cannot be told or tested.
    pub findings: Vec<Judgement>,
    /// Its trials.
    pub trials: Vec<u32>,
}

/// A published table beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Name, unique in its run, of letters, digits and `-`.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// What the rows are.
    pub rows_are: RowHeader,
    /// Columns, published and measured ones.
    pub columns: Vec<Column>,
    /// Rows, as many cells each as there are columns.
    pub rows: Vec<Row>,
    /// What is to be said under it: known flaws, marks explained.
    pub notes: Vec<String>,
    /// What its curves show, where it has some: columns of this quantity over the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curves: Option<Quantity>,
}

/// What the rows of a table are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RowHeader {
    /// For people.
    pub heading: String,
    /// What it is measured in.
    pub quantity: Quantity,
}

/// What a column counts or measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A name.
    Name,
    /// Share of the sent frames that was captured, shown in percent.
    Captured,
    /// Frames per second.
    PacketsPerSecond,
    /// Bits per second on a link, preamble and gap included, shown in Gbit/s.
    BitsPerSecond,
    /// CPU time, as a part of one CPU, shown in percent.
    Load,
    /// CPU time of a packet in nanoseconds.
    NanosecondsPerPacket,
    /// Frames, or other things that are counted.
    Count,
    /// Octets of a frame, FCS included.
    FrameBytes,
    /// Iterations of a wait loop.
    Iterations,
    /// Work for each packet, nanoseconds.
    Nanoseconds,
    /// Frames that a ring holds.
    Slots,
}

/// Whose numbers a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The publication's.
    Published,
    /// Ours.
    Here,
    /// Given by the plan: neither measured nor published.
    Given,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Column {
    /// Whose it is.
    pub side: Side,
    /// The method, as it was called there, or here.
    pub method: String,
    /// What is told of it.
    pub what: String,
    /// What it counts or measures.
    pub quantity: Quantity,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Row {
    /// What it is about.
    pub label: String,
    /// Where that lies on an axis; absent for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// In the order of the columns.
    pub cells: Vec<Cell>,
}

/// A field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cell {
    /// The number, published or the median of what was measured; absent where there is none.
    pub value: Option<f64>,
    /// Lower end of the interval of several visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Whether it is at least that: the load, or the generator, was the limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// A letter that a note of the table explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<char>,
    /// Trials that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<u32>,
}

/// What has become of a claim.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is so here, too.
    Holds,
    /// It is not so here.
    Changed,
    /// What was measured cannot decide it.
    #[serde(rename = "cannot_be_told")]
    Inconclusive,
    /// This host, or this bed, cannot show it.
    NotTestable,
}

impl Answer {
    /// All of them, in the order in which reports have them.
    pub const ALL: [Self; 4] = [Self::Holds, Self::Changed, Self::Inconclusive, Self::NotTestable];
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "Still holds",
            Self::Changed => "Has changed",
            Self::Inconclusive => "Cannot be told",
            Self::NotTestable => "Cannot be tested here",
        })
    }
}

/// A claim of the publication, and what has become of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judgement {
    /// The claim.
    pub claim: String,
    /// The answer.
    pub answer: Answer,
    /// What it rests on, in words.
    pub text: String,
    /// Trials that it rests on.
    pub trials: Vec<u32>,
    /// Visits of each point that it rests on, where these differ the fewest; absent where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<u32>,
    /// How likely chance alone puts so many visits all on one side, of things that do not differ; absent where there is no
    /// answer, and where the answer does not follow from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
}

impl Cell {
    /// A published number.
    pub(super) fn published(value: Option<f64>) -> Self {
        Self { value, ..Self::default() }
    }

    /// How it is printed; `-` where there is no number.
    pub fn text(&self, quantity: Quantity) -> String {
        let Some(value) = self.value else { return "-".into() };
        let mark = self.mark.map(String::from).unwrap_or_default();
        let at_least = if self.at_least { ">=" } else { "" };
        format!("{at_least}{}{mark}", quantity.text(value))
    }
}

impl Quantity {
    /// A number of this kind as people read it, without a unit.
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

    /// The unit, as a head has it.
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

/// A share in percent, to two decimals, cut and not rounded: never 100 unless nothing is lost, never 0 unless all is.
fn percent(share: f64) -> String {
    // What binary fractions take from 0.98 is not to be cut.
    let hundredths = (share * 1e4 + 1e-6).floor();
    if share > 0.0 && hundredths == 0.0 { "<0.01".into() } else { shortest(hundredths / 100.0, 2) }
}

/// So many decimals at most, without zeros at their end.
fn shortest(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
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
        assert_eq!(
            Cell { value: Some(0.5), at_least: true, mark: Some('g'), ..Cell::default() }
                .text(Quantity::Captured),
            ">=50g"
        );
        assert_eq!(Cell::default().text(Quantity::Count), "-");
    }
}
