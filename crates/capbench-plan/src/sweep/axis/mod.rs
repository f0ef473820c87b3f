//! The parameter that a sweep varies, and its points. An axis is a file with a `Setting`, and its line in `axes!` below.

mod coalesce;
mod load;
mod members;
mod placement;
mod ring;
mod size;
mod work;

use std::cmp::Ordering;
use std::fmt;

use capbench_frames::sizes::Sizes;

pub use self::members::MemberCount;
pub use self::ring::RingSize;
use crate::{PlanError, Result};
use capbench_judge::sweep::{AxisKind, PointUnit};
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::moderation::Moderation;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Load;
use capbench_model::work::WorkModel;

/// Reads a load from the name of a flag and the text behind it.
pub type ReadLoad<'r> = dyn Fn(&str, &str) -> std::result::Result<Load, String> + 'r;

/// The points that a user asks for, as written.
pub struct Request<'r> {
    /// A list of points.
    pub points: &'r [String],
    /// The ends of a range.
    pub ends: Option<(&'r str, &'r str)>,
    /// Number of points of a range.
    pub steps: usize,
    /// How these are spread.
    pub spacing: Spacing,
    /// What points replace a part of.
    pub base: &'r Setup,
    /// Chosen frame sizes.
    pub sizes: Vec<Sizes>,
    /// Chosen placements.
    pub placements: &'r [PlacementChoice],
    /// Chosen loads; empty for the default.
    pub loads: &'r [Load],
    /// Number of CPUs that the capture may use; `None` if it is on another host.
    pub cpus: Option<usize>,
    /// Reads a load from the name of a flag and the text behind it. An error names the flag.
    pub read_load: &'r ReadLoad<'r>,
}

impl Request<'_> {
    /// The points of the list.
    fn listed<T>(&self, read: impl Fn(&str) -> std::result::Result<T, String>) -> Result<Vec<T>> {
        let mut points = Vec::new();
        for text in self.points {
            points.push(read(text).map_err(|why| contradiction(format!("--points: {why}")))?);
        }
        Ok(points)
    }

    /// Refuses a range of points that have no order, called `what`.
    fn refuse_range(&self, what: &str) -> Result<()> {
        match self.ends {
            Some(_) => Err(contradiction(format!("--from: {what} are no range; name points"))),
            None => Ok(()),
        }
    }

    /// Refuses a list of points that another flag names.
    fn refuse_list(&self, flag: &str) -> Result<()> {
        match self.points {
            [] => Ok(()),
            [..] => Err(contradiction(format!("--points: name them by {flag}"))),
        }
    }
}

/// Whether the points of a range have equal differences or equal ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Geometric,
}

impl Spacing {
    /// Whole numbers of a range. Steps too narrow for whole numbers are merged.
    fn steps(self, from: f64, to: f64, count: usize) -> Result<Vec<f64>> {
        if from >= to || count < 2 {
            return Err(contradiction(format!(
                "{count} points from {from} to {to} are no range; choose a --from below --to"
            )));
        }
        // Ratios begin at 1 where the range begins at 0; the range has its 0 all the same.
        let low = if self == Self::Geometric { from.max(1.0) } else { from };
        let mut steps = vec![from.round()];
        for nth in 1..count {
            let part = nth as f64 / (count - 1) as f64;
            let step = match self {
                Self::Linear => low + (to - low) * part,
                Self::Geometric => low * (to / low).powf(part),
            };
            steps.push(step.round());
        }
        steps.dedup();
        Ok(steps)
    }
}

/// A point of an axis.
trait Setting: Sized {
    /// Its name in reports.
    fn label(&self) -> String;

    /// The points of a request. Fails if they are none, or written wrongly.
    fn requested(request: &Request<'_>) -> Result<Vec<Self>>;

    /// Sets it.
    fn apply(&self, setup: &mut Setup, load: &mut Load);

    /// A method without the setting that the axis replaces.
    fn of_series(method: &MethodSpec) -> MethodSpec {
        method.clone()
    }

    /// Its coordinate and unit; absent if it is a name.
    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        None
    }

    /// The point at this whole coordinate, in the same unit; absent if there is none.
    fn at(&self, _: f64) -> Option<Self> {
        None
    }

    /// The possible point nearest to a coordinate between this point and another one, in the unit of both; absent if there is none.
    fn nearest(&self, _other: &Self, coordinate: f64) -> Option<Self> {
        self.at(coordinate.floor())
    }
}

macro_rules! axes {
    ($(#[doc = $summary:literal] $name:ident($setting:ty),)*) => {
        /// A point on an axis.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Point {
            $(#[doc = $summary] $name($setting),)*
        }

        /// A method as its series is named: without the setting that the points replace.
        pub fn method_of_series(axis: AxisKind, method: &MethodSpec) -> MethodSpec {
            match axis { $(AxisKind::$name => <$setting>::of_series(method),)* }
        }

        impl Axis {
            /// The requested axis. Fails if no point is requested, or one is written wrongly.
            pub fn requested(axis: AxisKind, request: &Request<'_>) -> Result<Self> {
                Self::new(match axis {
                    $(AxisKind::$name => <$setting>::requested(request)?.into_iter().map(Point::$name).collect(),)*
                })
            }
        }

        impl Point {
            /// Its kind.
            pub fn kind(&self) -> AxisKind {
                match self { $(Self::$name(_) => AxisKind::$name,)* }
            }

            /// Its coordinate and unit; absent if points of its kind are names.
            pub fn coordinate(&self) -> Option<(f64, PointUnit)> {
                match self { $(Self::$name(point) => point.coordinate(),)* }
            }

            /// The possible point nearest to a coordinate between this point and another one of the same kind and unit; absent if there
            /// is none.
            pub(super) fn nearest(&self, other: &Self, coordinate: f64) -> Option<Self> {
                match (self, other) {
                    $((Self::$name(from), Self::$name(to)) => from.nearest(to, coordinate).map(Self::$name),)*
                    _ => None,
                }
            }

            /// The set-up and load of a trial at this point.
            pub fn apply(&self, setup: &Setup, mut load: Load) -> (Setup, Load) {
                let mut setup = setup.clone();
                match self { $(Self::$name(point) => point.apply(&mut setup, &mut load),)* }
                (setup, load)
            }
        }

        impl fmt::Display for Point {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&match self { $(Self::$name(point) => point.label(),)* })
            }
        }
    };
}

axes! {
    /// Work of the application per packet.
    Work(WorkModel),
    /// Frame sizes.
    Size(Sizes),
    /// Memory for the ring, and its block size.
    Ring(RingSize),
    /// The CPUs of each task.
    Placement(PlacementChoice),
    /// The offered load.
    Load(Load),
    /// Interrupt moderation of the receiving interface.
    Coalesce(Moderation),
    /// Number of threads of a method that share the frames.
    Members(MemberCount),
}

impl Point {
    /// The unit of its coordinate; absent if it is a name.
    fn unit(&self) -> Option<PointUnit> {
        self.coordinate().map(|(_, unit)| unit)
    }

    /// Its coordinate, if it has this unit.
    fn position(&self, unit: PointUnit) -> Option<f64> {
        self.coordinate().filter(|(_, of_point)| *of_point == unit).map(|(at, _)| at)
    }
}

/// Points of one kind, each once.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    kind: AxisKind,
    points: Vec<Point>,
}

impl Axis {
    /// An axis of these points, in ascending order if all have a coordinate in one unit, else as they are given. Fails for none, repeated
    /// ones, and different kinds.
    pub fn new(mut points: Vec<Point>) -> Result<Self> {
        let Some(first) = points.first() else { return Err(contradiction("no point was given; name one")) };
        let kind = first.kind();
        let unit = first.unit();
        for (position, point) in points.iter().enumerate() {
            if point.kind() != kind {
                return Err(contradiction(format!("{point} is of another axis than {first}; name one axis")));
            }
            if points[..position].contains(point) {
                return Err(contradiction(format!("{point} was named twice; name it once")));
            }
        }
        if let Some(unit) = unit
            && points.iter().all(|point| point.unit() == Some(unit))
        {
            points.sort_by(|one, other| {
                one.position(unit).partial_cmp(&other.position(unit)).unwrap_or(Ordering::Equal)
            });
        }
        Ok(Self { kind, points })
    }

    /// The kind of its points.
    pub fn kind(&self) -> AxisKind {
        self.kind
    }

    /// Its points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

/// The error of a requested sweep that is impossible.
pub(super) fn contradiction(reason: impl Into<String>) -> PlanError {
    PlanError::Sweep { reason: reason.into() }
}
