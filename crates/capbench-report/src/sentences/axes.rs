//! The words of the parameters that a sweep can vary.

use capbench_judge::sweep::AxisKind;

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
