//! Flags of `capbench rfc2544`.

use std::time::Duration;

use capbench_frames::Pps;
use capbench_plan::rfc2544::frame_loss::COARSEST;
use capbench_plan::rfc2544::{self, Percent};
use clap::{Args, ValueEnum};

use super::positive_duration;
use super::scene::{SceneFlags, otherwise};

/// A test of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Test {
    /// 26.1: the highest load without loss
    Throughput,
    /// 26.2, RFC 8219: median, 99.9th percentile and variation of the delay at the throughput
    Latency,
    /// 26.3: loss against load, from the maximum rate down
    FrameLoss,
    /// 26.4, RFC 9004: the longest burst without loss, and the time that buffers hold
    BackToBack,
    /// 26.5: how long after an overload frames are still lost
    Recovery,
}

impl Test {
    /// The test, where it is one beside throughput.
    pub fn in_terms_of_throughput(self) -> Option<rfc2544::Test> {
        match self {
            Self::Throughput => None,
            Self::Latency => Some(rfc2544::Test::Latency),
            Self::FrameLoss => Some(rfc2544::Test::FrameLoss),
            Self::BackToBack => Some(rfc2544::Test::BackToBack),
            Self::Recovery => Some(rfc2544::Test::Recovery),
        }
    }
}

/// The finest step: a thousand loads.
const FINEST: f64 = 0.1;

/// Reads a step: percent, with the sign or without.
fn step(text: &str) -> Result<Percent, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent =
        number.parse().map_err(|_| format!("\"{text}\" is no number of percent, for example 5%"))?;
    let step = Percent::new(percent).map_err(|error| error.to_string())?;
    if step > COARSEST {
        return Err(format!("RFC 2544 26.3 allows {COARSEST} at most"));
    }
    if percent < FINEST {
        return Err(format!("give {FINEST} % at least, which is a thousand loads"));
    }
    Ok(step)
}

/// What to test.
#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Tests",
    mut_arg("method", |arg| otherwise(arg, "packet-v3")),
    mut_arg("size", |arg| otherwise(arg, "64")),
    mut_arg("placement", |arg| otherwise(arg, "same")),
    mut_arg("quiet", |arg| otherwise(arg, "2s; with --quick 500ms")),
)]
pub struct Rfc2544Flags {
    /// Tests, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub test: Vec<Test>,
    /// The throughput, where it is known; else it is searched for. All tests but latency need --max-rate, too
    #[arg(long, value_name = "RATE")]
    pub throughput: Option<Pps>,
    /// The maximum rate [default: the line rate, or what the generator reaches in a test of itself]
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<Pps>,
    /// Length of a trial, and of the overload before recovery; latency takes twice that [default: 60s; with --quick 1s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// By how much of the maximum rate each load of the frame loss test is below the one before; RFC 2544 allows 10 % and
    /// encourages less
    #[arg(long, value_name = "PERCENT", value_parser = step, default_value = "10%")]
    pub step: Percent,
    /// Repetitions [default: 20 of latency, 50 of back-to-back, 1 of recovery; with --quick 3 of each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repetitions: Option<u32>,
    /// Longest burst, as the time that it takes [default: 30s; with --quick 2s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub longest_burst: Option<Duration>,
    /// A first look: much shorter than the document asks for, and said so
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub scene: SceneFlags,
}
