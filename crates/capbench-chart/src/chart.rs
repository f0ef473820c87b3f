//! A chart as data, independent of its format. Each point has its trials.

use capbench_statistics::interval::IntervalMethod;
use serde::Serialize;

/// Numbers of the trials behind a statement: `trials[].number` of `results.json`.
pub type Trials = Vec<u32>;

/// What the interval around a median is, in words.
pub fn interval_words(method: IntervalMethod) -> &'static str {
    match method {
        IntervalMethod::OrderStatistics => {
            "median with the interval between two order statistics; its level is exact for any distribution the repeats have, and \
             at least 0.95 from 6 repeats on"
        }
    }
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
    /// A forest plot: one row for each name of the horizontal axis, whose points are read along the vertical axis. A row has a point with its
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

impl Chart {
    /// The name of each row of a chart that has rows.
    pub(crate) fn names(&self) -> &[String] {
        match &self.x.scale {
            Scale::Names(names) => names,
            Scale::Linear | Scale::Logarithmic => &[],
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    /// Whether something is drawn in it. Other charts are not shown.
    pub fn is_known(&self) -> bool {
        !self.series.is_empty()
    }

    /// The same with these notes under it.
    #[must_use]
    pub fn noting<N: Into<String>>(mut self, notes: impl IntoIterator<Item = N>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }

    /// The same with these lines across it.
    #[must_use]
    pub fn marking(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.marks.extend(marks);
        self
    }

    /// The same with a note on its intervals, if it has some.
    #[must_use]
    pub fn noting_repeats(self) -> Self {
        let words = match self.kind {
            Kind::StackedBars | Kind::Stacked => {
                "Layers add up to all repeats together; whiskers are intervals of the repeats"
            }
            Kind::Lines | Kind::Points | Kind::Bars | Kind::Ranked | Kind::Forest => {
                "Points are medians of the repeats, whiskers their intervals"
            }
        };
        if !self.points().any(|point| point.interval.is_some()) {
            return self;
        }
        let method = interval_words(IntervalMethod::OrderStatistics);
        self.noting([format!("{words} ({method}).")])
    }
}
