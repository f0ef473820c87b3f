//! Flags of `capbench search`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use capbench_frames::Pps;
use clap::{Arg, Args, value_parser};

use super::positive_duration;
use super::scene::{SceneFlags, otherwise};

/// Searches of a set-up at most: more tell nothing that these do not.
const MOST_SEARCHES: i64 = 1000;

/// What to search for.
#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Search",
    mut_arg("method", |arg| otherwise(arg, "packet-v3")),
    mut_arg("size", |arg| otherwise(arg, "64")),
    mut_arg("placement", |arg| otherwise(arg, "same")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms; RFC 2544 waits 2s")),
    mut_args(with_resume),
)]
pub struct SearchFlags {
    /// A preset of --list-goals, several with commas, or a goal such as mine:loss=0.1%,duration=2s,sum=10s,width=1%;
    /// may be given again; all goals share their trials [default: ndr,pdr]
    #[arg(long, value_name = "GOALS")]
    pub goal: Vec<String>,
    /// File with further goals: tables [goals.NAME] with the same keys
    #[arg(long, value_name = "FILE")]
    pub goals: Option<PathBuf>,
    /// List the goals that have a name, with their attributes, and stop
    #[arg(long)]
    pub list_goals: bool,
    /// The least load that is looked at [default: 1000]
    #[arg(long, value_name = "RATE")]
    pub min_rate: Option<Pps>,
    /// The highest load that is looked at [default: what the generator reaches in a test of itself]
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<Pps>,
    /// Send so many frames at once, at the load as their mean rate, rather than evenly spaced ones (RFC 2544 section 21: 16,
    /// 64, 256 and 1024)
    #[arg(long, value_name = "FRAMES")]
    pub burst: Option<NonZeroU32>,
    /// Trial time that each search may use; what it has shown by then is its result
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub time: Option<Duration>,
    /// Traffic that each search may send, drains and all else not counted; otherwise as --time
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub traffic: Option<Duration>,
    /// Search every set-up so many times, in turn with the others, each time anew: how far the results lie apart is what
    /// they are good for
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u32).range(1..=MOST_SEARCHES))]
    pub searches: u32,
    /// Go on with the run of this directory that was interrupted, or whose time was used up; its own flags hold, but for
    /// --time and --traffic
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub scene: SceneFlags,
}

/// A run is gone on with by its own flags, but for the time and traffic allowed.
fn with_resume(flag: Arg) -> Arg {
    match flag.get_id().as_str() {
        "resume" | "time" | "traffic" => flag,
        _ => flag.conflicts_with("resume"),
    }
}
