//! The contents of a report, independent of its format: sentences, tables and charts. Each number has its unit and its trials.
//!
//! The model fixes order, words and numbers. A writer decides only how they look.

pub use capbench_chart::chart::{Axis, Chart, Kind, Mark, Place, Point, Role, Scale, Series, Trials, Unit};
use serde::Serialize;

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// What ran: `capbench bench`, or the names of several runs.
    pub title: String,
    /// Command line, time and host, in one line.
    pub subtitle: String,
    /// The answer to the run's question, in one sentence.
    pub verdict: Sentence,
    /// Damage of the files that were read: an incomplete run, unreadable fields.
    pub warnings: Vec<String>,
    /// The charts that show the verdict.
    pub picture: Vec<Chart>,
    /// The table directly after the verdict, best row first.
    pub summary: Option<Table>,
    /// What else the run found, the most important first.
    pub findings: Vec<Sentence>,
    /// The positions in `findings` of those that only give details of a caveat. The short text of a report leaves them out.
    #[serde(skip)]
    pub details: Vec<usize>,
    /// One line each: how noisy the trials are, and what could not be measured.
    pub caveats: Vec<Sentence>,
    /// The position in `caveats` of what used the CPUs of trials. The text of a report has it after the verdict.
    #[serde(skip)]
    pub disturbers: Option<usize>,
    /// Charts with their tables, in reading order.
    pub sections: Vec<Section>,
    /// The host and the settings.
    pub environment: Vec<Table>,
    /// Statements of the run about itself: how the bed was prepared, where it deviates from standards.
    pub statements: Vec<String>,
    /// Every trial, one row each. The trial numbers of all statements refer to it.
    pub trials: Table,
}

impl Report {
    /// Every chart, in reading order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.picture.iter().chain(self.sections.iter().flat_map(|section| &section.charts))
    }

    /// Every table, in reading order.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        let section_tables = self.sections.iter().flat_map(|section| &section.tables);
        self.summary.iter().chain(section_tables).chain(&self.environment).chain([&self.trials])
    }
}

/// A sentence and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// The trials behind it.
    pub trials: Trials,
}

/// Charts and tables of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Section {
    /// Name for links, of letters, digits and `-`; unique in the report.
    pub id: String,
    /// Heading.
    pub heading: String,
    /// What to look for here, and which caveats apply.
    pub text: Vec<Sentence>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Tables.
    pub tables: Vec<Table>,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Table {
    /// Name for links and file names, of letters, digits and `-`; unique in the report.
    pub id: String,
    /// What it shows, with its set-up.
    pub caption: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows; each has one cell per column.
    pub rows: Vec<Row>,
    /// Notes under it: known flaws, explanations of marks.
    pub notes: Vec<String>,
    /// Whether a terminal also shows it: it answers the run's question.
    #[serde(skip)]
    pub is_main: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Column {
    /// Name in tidy files, with the unit: `delivered_pps`.
    pub key: String,
    /// Heading for people, without the unit.
    pub heading: String,
    /// Unit of its numbers.
    pub unit: Unit,
    /// How a terminal shows it.
    #[serde(skip)]
    pub narrow: Narrow,
}

/// How a terminal shows a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Narrow {
    /// Without the intervals of its numbers if the table is too wide.
    #[default]
    Middle,
    /// Always, with intervals.
    Whole,
    /// Not at all if the table is too wide.
    Absent,
    /// Never: it is in pages and files only.
    FilesOnly,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Row {
    /// In the order of the columns.
    pub cells: Vec<Cell>,
    /// The trials behind its numbers, unless a cell says otherwise.
    pub trials: Trials,
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Not known. This is not zero.
    Unknown,
    /// Not applicable: shown empty.
    Empty,
    /// Words.
    Text(String),
    /// An exact count.
    Count(u64),
    /// An exact count that can be negative: `unexplained`.
    Signed(i64),
    /// A computed or measured number, in the unit of the column.
    Number(f64),
    /// A lower bound: the generator or the line rate was the limit.
    AtLeast(f64),
    /// An upper bound.
    AtMost(f64),
    /// A number of which only the range is known, in the unit of the column.
    Range {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// A measured number with its interval, in the unit of the column.
    Interval {
        /// The median.
        middle: f64,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
}
