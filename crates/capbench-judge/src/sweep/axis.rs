//! The parameters that a sweep can vary, and what is known of each without its points.

use std::fmt;

use serde::{Deserialize, Serialize};

use capbench_model::placement::PlacementChoice;

/// Frame sizes of Ethernet with FCS, in octets (RFC 2544 9.1).
const RFC_2544_FRAME_SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// What is known of an axis without its points.
#[derive(Debug)]
pub struct Facts {
    /// Who names the points.
    pub named: Named,
    /// What readings over the axis show in addition to loss and cost.
    pub shows: Option<Analysis>,
    /// Whether a trial's saved set-up contains the point.
    pub in_trials: bool,
}

/// Who names the points of an axis. A choice that every sweep has is replaced by the points where it is the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A list or a range of points.
    Points,
    /// The choice of frame sizes; here the default, in octets.
    Sizes(&'static [u32]),
    /// The choice of placements; here the default.
    Placements(&'static [PlacementChoice]),
    /// The choice of loads.
    Loads,
}

/// What readings over an axis show in addition to loss and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Points are work: what a packet costs in addition to it.
    CostRegimes,
    /// Points have different line rates.
    LineRates,
    /// Points are memory, which the user chooses: the least that is enough. Points are compared by ratio.
    Buffers,
    /// Points are loads: whether more load delivers fewer packets.
    Livelock,
    /// Points are numbers of members: how their rate grows, and what stops it.
    Scaling,
}

/// The unit of the points of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum PointUnit {
    /// Work per packet in nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Work per packet in iterations of a loop.
    #[serde(rename = "iterations")]
    Iterations,
    /// Octets of a frame with FCS.
    #[serde(rename = "octets")]
    Octets,
    /// Bytes of a ring.
    #[serde(rename = "bytes")]
    Bytes,
    /// Offered packets per second.
    #[serde(rename = "packets/s")]
    PacketsPerSecond,
    /// Delay of interrupts in microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Members that share the frames.
    #[serde(rename = "members")]
    Members,
}

macro_rules! axes {
    ($(#[doc = $summary:literal] $name:ident = $key:literal: $facts:expr,)*) => {
        /// The varied parameter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum AxisKind {
            $(#[doc = $summary] #[serde(rename = $key)] $name,)*
        }

        impl AxisKind {
            /// Every axis.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name.
            pub fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
            }

            /// What is known of it without its points.
            pub fn facts(self) -> &'static Facts {
                match self { $(Self::$name => const { &$facts },)* }
            }
        }
    };
}

axes! {
    /// Work of the application per packet.
    Work = "work": Facts {
        named: Named::Points,
        shows: Some(Analysis::CostRegimes),
        in_trials: true,
    },
    /// Frame sizes.
    Size = "size": Facts {
        named: Named::Sizes(&RFC_2544_FRAME_SIZES),
        shows: Some(Analysis::LineRates),
        in_trials: true,
    },
    /// Memory for the ring, and its block size.
    Ring = "ring": Facts {
        named: Named::Points,
        shows: Some(Analysis::Buffers),
        in_trials: false,
    },
    /// The CPUs of each task.
    Placement = "placement": Facts {
        named: Named::Placements(&[PlacementChoice::Same, PlacementChoice::Other]),
        shows: None,
        in_trials: true,
    },
    /// The offered load.
    Load = "load": Facts {
        named: Named::Loads,
        shows: Some(Analysis::Livelock),
        in_trials: true,
    },
    /// Interrupt moderation of the receiving interface.
    Coalesce = "coalesce": Facts {
        named: Named::Points,
        shows: None,
        in_trials: false,
    },
    /// Number of threads of a method that share the frames.
    Members = "members": Facts {
        named: Named::Points,
        shows: Some(Analysis::Scaling),
        in_trials: true,
    },
}

impl AxisKind {
    /// Whether its readings show this.
    pub fn shows(self, analysis: Analysis) -> bool {
        self.facts().shows == Some(analysis)
    }

    /// Whether its points replace the placements of a plan.
    pub fn replaces_placements(self) -> bool {
        matches!(self.facts().named, Named::Placements(_))
    }

    /// Whether each point asks more of a method than the one before.
    pub(crate) fn demands_more(self) -> bool {
        matches!(self, Self::Load | Self::Work)
    }

    /// Whether its points replace the loads of a plan.
    pub fn replaces_loads(self) -> bool {
        self.facts().named == Named::Loads
    }
}

impl fmt::Display for AxisKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}
