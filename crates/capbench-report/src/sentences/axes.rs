//! The words of the parameters that a sweep can vary, and the units of their points.

use capbench_judge::sweep::{AxisKind, PointUnit};

use crate::model::Unit;

/// What a parameter is called, by the text that names it.
#[derive(Clone, Copy, Debug)]
pub struct AxisWords {
    /// Heading of the axis of a chart.
    pub heading: &'static str,
    /// The parameter in a sentence.
    pub noun: &'static str,
    /// What the axis varies, for a list of all axes.
    pub summary: &'static str,
}

/// The words of an axis.
pub const fn axis_words(axis: AxisKind) -> AxisWords {
    match axis {
        AxisKind::Work => AxisWords {
            heading: "Work per packet",
            noun: "the work per packet",
            summary: "Work of the application per packet.",
        },
        AxisKind::Size => {
            AxisWords { heading: "Frame size", noun: "the frame size", summary: "Frame sizes." }
        }
        AxisKind::Ring => AxisWords {
            heading: "Ring",
            noun: "the ring",
            summary: "Memory for the ring, and its block size.",
        },
        AxisKind::Placement => {
            AxisWords { heading: "Placement", noun: "the placement", summary: "The CPUs of each task." }
        }
        AxisKind::Load => {
            AxisWords { heading: "Intended load", noun: "the load", summary: "The offered load." }
        }
        AxisKind::Coalesce => AxisWords {
            heading: "Interrupts delayed by",
            noun: "the delay of interrupts",
            summary: "Interrupt moderation of the receiving interface.",
        },
        AxisKind::Members => AxisWords {
            heading: "Members",
            noun: "the number of members",
            summary: "Number of threads of a method that share the frames.",
        },
    }
}

/// The unit in which charts and tables show the points of a sweep, and the factor that converts them to it.
pub(crate) fn shown_unit(points: PointUnit) -> (Unit, f64) {
    match points {
        PointUnit::Nanoseconds => (Unit::Nanoseconds, 1.0),
        PointUnit::Microseconds => (Unit::Nanoseconds, 1000.0),
        PointUnit::Iterations => (Unit::Iterations, 1.0),
        PointUnit::Octets | PointUnit::Bytes => (Unit::Bytes, 1.0),
        PointUnit::PacketsPerSecond => (Unit::PacketsPerSecond, 1.0),
        PointUnit::Members => (Unit::Count, 1.0),
    }
}
