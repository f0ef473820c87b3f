//! Flags of `capbench bench`.

use std::time::Duration;

use capbench_traffic::Pps;
use clap::Args;

use super::positive_duration;
use super::scene::{SceneFlags, otherwise};

/// What to compare.
#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Trials",
    mut_arg("method", |arg| otherwise(arg, "default")),
    mut_arg("size", |arg| otherwise(arg, "64,512,1518; with --quick 64")),
    mut_arg("placement", |arg| otherwise(arg, "same,other")),
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
    #[command(flatten)]
    pub scene: SceneFlags,
}
