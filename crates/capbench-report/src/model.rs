//! The contents of a report, independent of its format: sentences, tables and charts. Each number has its unit and its trials.
//!
//! The model fixes order, words and numbers. A writer decides only how they look.

use serde::Serialize;

/// Numbers of the trials behind a statement: `trials[].number` of `results.json`.
pub type Trials = Vec<u32>;

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
    /// One line each: how noisy the trials are, and what could not be measured.
    pub caveats: Vec<Sentence>,
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
        let of_sections = self.sections.iter().flat_map(|section| &section.tables);
        self.summary.iter().chain(of_sections).chain(&self.environment).chain([&self.trials])
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

/// The unit of a number. A writer may scale it (`kpps`) and then states the scaled unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// No unit: words, names.
    None,
    /// Counts: packets, trials, slots.
    Count,
    /// Frames per second.
    PacketsPerSecond,
    /// Bits per second of frames with FCS, preamble and gap (layer 1).
    BitsPerSecondL1,
    /// Bits per second of frames with FCS (layer 2).
    BitsPerSecondL2,
    /// Nanoseconds.
    Nanoseconds,
    /// Nanoseconds of CPU time per packet.
    NanosecondsPerPacket,
    /// Seconds.
    Seconds,
    /// Bytes. A frame's bytes include its FCS.
    Bytes,
    /// A share of 1, shown in percent.
    Ratio,
    /// Number of busy CPUs.
    Cores,
    /// Iterations of a wait loop.
    Iterations,
    /// Events per second other than packets: loss events.
    PerSecond,
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
    /// Without intervals if the table is too wide.
    #[default]
    Middle,
    /// With intervals.
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

/// A chart. Its series share the horizontal axis but may have points at different places.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Chart {
    /// Name for links and file names, of letters, digits and `-`; unique in the report.
    pub id: String,
    /// What it shows, with its set-up.
    pub title: String,
    /// How it is drawn.
    pub kind: Kind,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The series; stacked from the first upwards if `kind` says so.
    pub series: Vec<Series>,
    /// Lines across the chart: a line rate, a limit.
    pub marks: Vec<Mark>,
    /// Notes under it.
    pub notes: Vec<String>,
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Lines through points.
    Lines,
    /// Separate points: repeats.
    Points,
    /// Areas on top of each other.
    Stacked,
    /// Bars side by side, one per series at each place of the horizontal axis.
    Bars,
    /// Bars on top of each other.
    StackedBars,
    /// Lying bars, one row for each name of the horizontal axis. The bars of a row overlap: each series is a part of the next
    /// one.
    Ranked,
    /// A forest plot: one row for each name of the horizontal axis, in which the vertical axis lies. A row has a point with its
    /// interval.
    Forest,
}

impl Kind {
    /// Whether it has a row for each name instead of two axes.
    pub const fn has_rows(self) -> bool {
        matches!(self, Self::Ranked | Self::Forest)
    }
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Axis {
    /// What it shows, without the unit.
    pub label: String,
    /// Unit.
    pub unit: Unit,
    /// Its scale.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic.
    Logarithmic,
    /// Names: `x` of a point is the index of one.
    Names(Vec<String>),
}

/// One line, area or set of bars.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Its role, which sets its colour: the same role and name have the same colour in every chart of a report.
    pub role: Role,
    /// Points by rising `x`.
    pub points: Vec<Point>,
}

/// The role of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A method.
    Method,
    /// Delivered frames.
    Delivered,
    /// Losses at a place of the ledger.
    Place,
    /// Unexplained frames.
    Unexplained,
    /// A published figure, drawn differently from measured ones.
    Published,
    /// A fitted line.
    Fit,
    /// A part of another account than the ledger: CPU time of application and kernel.
    Account,
    /// The sum of the layers below it, with the interval of its repeats. It is a point, not a layer.
    Total,
    /// Changes with one judgement, which is the name of the series.
    Judgement,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Point {
    /// In the unit of the horizontal axis.
    pub x: f64,
    /// In the unit of the vertical axis; `None` if unknown, which interrupts a line.
    pub y: Option<f64>,
    /// Ends of its interval, if it has one. An interval of an unknown value is all that is known of it.
    pub interval: Option<[f64; 2]>,
    /// Whether the value is a lower bound, without a known upper one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_at_least: bool,
    /// The trials behind it.
    pub trials: Trials,
}

/// A line across a chart.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Mark {
    /// Its label.
    pub label: String,
    /// Its position.
    pub at: Place,
}

/// The position of a mark.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Vertical, at this `x`.
    X(f64),
    /// Horizontal, at this `y`.
    Y(f64),
    /// Through these points, by rising `x`: a line rate against the frame size.
    Curve(Vec<[f64; 2]>),
}
