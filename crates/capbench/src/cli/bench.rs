//! Flags of `capbench bench`.

use std::time::Duration;

use capbench_frames::Pps;
use clap::Args;

use super::compare::ThresholdFlags;
use super::positive_duration;
use super::scene::{SceneFlags, otherwise};

/// What to compare.
#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Trials",
    mut_arg("method", |arg| otherwise(arg, "default")),
    mut_arg("size", |arg| otherwise(arg, "64,512,1518; with --quick 64")),
    mut_arg("placement", |arg| otherwise(arg, "same,other")),
    mut_arg("threshold", |arg| arg.requires("against")),
    mut_arg("loss_threshold", |arg| arg.requires("against")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms; with --quick 150ms; RFC 2544 waits 2s")),
)]
pub struct BenchFlags {
    /// One load instead of maximum load and common load, such as 100000, 250k or 1.5Mpps
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Pps>,
    /// Length of a trial [default: 800ms; with --quick 400ms]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// Under 20 seconds: short trials of one frame size
    #[arg(long)]
    pub quick: bool,
    /// How often every method is measured at every load, in random order and with the methods in turn. Comparisons of
    /// runs need several [default: 1; with --against 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub visits: Option<u16>,
    /// Compare each method with this one in pairs of trials that run side by side, A B, then B A, as often as --visits says
    #[arg(long, value_name = "METHOD")]
    pub against: Option<String>,
    /// Names the random order of visits; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub thresholds: ThresholdFlags,
    #[command(flatten)]
    pub scene: SceneFlags,
}
