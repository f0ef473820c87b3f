//! What a report says, before it has a format: sentences, tables and charts, each number with its unit and the trials it comes from.
//!
//! What is made here has its order, its words and its figures; a writer decides nothing but how they look.

use serde::Serialize;

/// Numbers of the trials that something rests on, as `trials[].number` of `results.json` has them.
pub type Trials = Vec<u32>;

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// What was run: `capbench bench`, and of several runs the names of all.
    pub title: String,
    /// Command line, time and host, in a line.
    pub subtitle: String,
    /// At most three sentences that answer what the run was for.
    pub verdict: Vec<Sentence>,
    /// What a reader must know before he believes it: a run that is not complete, fields that could not be read.
    pub warnings: Vec<String>,
    /// The table that comes right after the verdict.
    pub summary: Option<Table>,
    /// Charts and the tables that belong to them, in the order in which they are read.
    pub sections: Vec<Section>,
    /// What the run found, in words.
    pub findings: Vec<Sentence>,
    /// The host and the settings.
    pub environment: Vec<Table>,
    /// What the run says about itself: how the bed was made, where standards were not followed.
    pub statements: Vec<String>,
    /// Every trial, a row each; the place that every number's trials are looked up in.
    pub trials: Table,
}

/// A sentence and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// What it rests on.
    pub trials: Trials,
}

/// Charts and tables of one matter.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Section {
    /// Name for links, of letters, digits and `-`; unique in the report.
    pub id: String,
    /// Heading.
    pub heading: String,
    /// What is to be seen here, and what to take with care.
    pub text: Vec<Sentence>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Tables.
    pub tables: Vec<Table>,
}

/// What a number is measured in. A writer may scale it (`kpps`), and then says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// No unit: words, names.
    None,
    /// Things counted: packets, trials, slots.
    Count,
    /// Frames per second.
    PacketsPerSecond,
    /// Bits per second, of frames with FCS, preamble and gap (layer 1).
    BitsPerSecondL1,
    /// Bits per second, of frames with FCS (layer 2).
    BitsPerSecondL2,
    /// Nanoseconds.
    Nanoseconds,
    /// Nanoseconds of CPU time for each packet.
    NanosecondsPerPacket,
    /// Seconds.
    Seconds,
    /// Bytes; of a frame, with its FCS.
    Bytes,
    /// A share of 1, shown in percent.
    Ratio,
    /// CPUs kept busy.
    Cores,
    /// Iterations of a wait loop.
    Iterations,
    /// Things per second that are not packets: loss events.
    PerSecond,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Table {
    /// Name for links and file names, of letters, digits and `-`; unique in the report.
    pub id: String,
    /// What it shows, with the set-up it holds for.
    pub caption: String,
    /// Heads.
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Row>,
    /// What is to be said under it: known flaws, marks explained.
    pub notes: Vec<String>,
    /// Whether a terminal shows it, too: it answers what the run was for.
    #[serde(skip)]
    pub is_main: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Column {
    /// Name in tidy files, unit included: `delivered_pps`.
    pub key: String,
    /// Head for people, without the unit.
    pub heading: String,
    /// Unit of its numbers.
    pub unit: Unit,
    /// What becomes of it where a line has no room for all columns.
    #[serde(skip)]
    pub narrow: Narrow,
}

/// What a writer does with a column in a table that is too wide for its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Narrow {
    /// Shows it without intervals.
    #[default]
    Middle,
    /// Shows it whole.
    Whole,
    /// Leaves it out.
    Absent,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Row {
    /// In the order of the columns.
    pub cells: Vec<Cell>,
    /// What all of its numbers rest on, where a cell does not say otherwise.
    pub trials: Trials,
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Nothing here can tell. Not zero.
    Unknown,
    /// Has no meaning here: shown empty.
    Empty,
    /// Words.
    Text(String),
    /// A number that was counted, exact.
    Count(u64),
    /// The same where it can be below zero: `unexplained`.
    Signed(i64),
    /// A number that was computed or measured, in the unit of the column.
    Number(f64),
    /// At least this: the generator, or the line rate, was the limit.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// A measured number with its interval, in the unit of the column.
    Interval {
        /// In the middle.
        middle: f64,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
}

/// A chart. Its lines share the horizontal axis and may have points at different places of it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Chart {
    /// Name for links and file names, of letters, digits and `-`; unique in the report.
    pub id: String,
    /// What it shows, with the set-up it holds for.
    pub title: String,
    /// How it is drawn.
    pub kind: Kind,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn; stacked from the first upwards where `kind` says so.
    pub series: Vec<Series>,
    /// Lines across the chart: a line rate, a limit.
    pub marks: Vec<Mark>,
    /// What is to be said under it.
    pub notes: Vec<String>,
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Lines through points.
    Lines,
    /// Points, not joined: repeats.
    Points,
    /// Areas on top of each other.
    Stacked,
    /// A bar for each place of the horizontal axis and series, side by side.
    Bars,
    /// Bars on top of each other.
    StackedBars,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Axis {
    /// What is on it, without the unit.
    pub label: String,
    /// Unit.
    pub unit: Unit,
    /// How it is divided.
    pub scale: Scale,
}

/// How an axis is divided.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers.
    Logarithmic,
    /// By names: `x` of a point is the index of one.
    Names(Vec<String>),
}

/// One line, area or set of bars.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// What it is, for its colour: the same role and name have the same colour in every chart of a report.
    pub role: Role,
    /// By rising `x`.
    pub points: Vec<Point>,
}

/// What a series stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A method.
    Method,
    /// What was delivered.
    Delivered,
    /// What a place of the ledger lost.
    Place,
    /// What nothing explains.
    Unexplained,
    /// A published figure, drawn so that it is not taken for ours.
    Published,
    /// A fitted line.
    Fit,
    /// A part of another account than the ledger: CPU time of application and kernel.
    Account,
    /// The sum of the layers that it stands on, with the interval of its repeats: a point, and no layer.
    Total,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Point {
    /// In the unit of the horizontal axis.
    pub x: f64,
    /// In the unit of the vertical axis; `None` where it is unknown, which breaks a line.
    pub y: Option<f64>,
    /// Ends of its interval, where it has one.
    pub interval: Option<[f64; 2]>,
    /// What it rests on.
    pub trials: Trials,
}

/// A line across a chart.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Mark {
    /// What it is.
    pub label: String,
    /// Where.
    pub at: Place,
}

/// Where a mark is.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Upright, at this `x`.
    X(f64),
    /// Level, at this `y`.
    Y(f64),
    /// Through these points, by rising `x`: a line rate against the frame size.
    Curve(Vec<[f64; 2]>),
}
