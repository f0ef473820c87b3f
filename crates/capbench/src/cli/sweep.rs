//! Flags of `capbench sweep`.

use std::time::Duration;

use capbench_model::trial::Load;
use clap::{Args, ValueEnum};

use super::positive_duration;
use super::scene::{SceneFlags, otherwise};

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AxisName {
    /// Work per packet
    Work,
    /// Frame sizes
    Size,
    /// Memory for the ring and its blocks
    Ring,
    /// Which CPUs do what
    Placement,
    /// The offered load
    Load,
    /// Interrupt moderation of the receiving interface, where its driver has it
    Coalesce,
}

/// What to vary, and over what.
#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Sweep",
    mut_arg("method", |arg| otherwise(arg, "default")),
    mut_arg("size", |arg| otherwise(arg, "64; of sweep size those of RFC 2544")),
    mut_arg("placement", |arg| otherwise(arg, "same; of sweep placement same,other")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms; RFC 2544 waits 2s")),
)]
pub struct SweepFlags {
    /// What is varied
    #[arg(value_name = "AXIS")]
    pub axis: AxisName,
    /// The points, separated by commas: work models; rings as frames, or as RING or RING/BLOCK sizes; loads;
    /// microseconds (50 or 50us) or adaptive for coalesce. Sizes and placements are named by --size and --placement
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["from", "to"])]
    pub points: Vec<String>,
    /// The first point of a range: of work models (ns:0), frames in a ring, or loads
    #[arg(long, value_name = "POINT", requires = "to")]
    pub from: Option<String>,
    /// The last point of a range
    #[arg(long, value_name = "POINT", requires = "from")]
    pub to: Option<String>,
    /// Points of a range of work models or loads; rings are doubled [default: 12; of a preset 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub steps: Option<u16>,
    /// Equal ratios between the points of a range instead of equal differences
    #[arg(long)]
    pub geometric: bool,
    /// Sweeps of a publication, with their loads, points and frames: dain-2004, which is dain-2004-45kpps and
    /// dain-2004-167kpps
    #[arg(long, value_name = "NAME", conflicts_with_all = ["points", "from", "to", "rate", "size"])]
    pub preset: Option<String>,
    /// Loads, separated by commas; max is what the generator can do [default: max]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = load)]
    pub rate: Vec<Load>,
    /// At every point of a ring sweep look for the longest burst without loss at each rate, as RFC 9004 does, and give the
    /// drain-corrected buffer time: corrected by the rate at which frames are taken in that overload, not by the throughput
    #[arg(long)]
    pub bursts: bool,
    /// Length of a trial
    #[arg(long, value_name = "TIME", value_parser = positive_duration, default_value = "1s")]
    pub duration: Duration,
    /// How often every point is visited, in a new random order each time; from 6 visits on, intervals hold the median with
    /// a probability of at least 95 %
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub visits: u16,
    /// Points that may be added where the curve bends
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub refine: u16,
    /// Time that there is: a sweep that takes longer even where it takes least is refused before it starts
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub time: Option<Duration>,
    /// Names the random order of the points; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub scene: SceneFlags,
}

/// Reads a load: a rate, or `max`.
fn load(text: &str) -> Result<Load, String> {
    if text == "max" {
        return Ok(Load::Maximum);
    }
    text.parse().map(Load::Rate).map_err(|error| format!("{error}; or max, what the generator can do"))
}
