//! Flags of `capbench count`.

use std::time::Duration;

use clap::Args;

use super::capture::CaptureFlags;
use super::positive_duration;

/// What to count, and for how long.
#[derive(Args, Clone, Debug)]
pub struct CountFlags {
    /// Interface to count on
    #[arg(short = 'i', long, value_name = "IF")]
    pub interface: String,
    /// Capture method
    #[arg(long, value_name = "METHOD", default_value = "packet-v3")]
    pub method: String,
    /// Stop after so many packets
    #[arg(short = 'c', long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this time [default: when interrupted]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// Verify frames that `capbench send` made with this --trial: delivered once, duplicate, reordered, damaged
    #[arg(long, value_name = "TRIAL")]
    pub verify: Option<u16>,
    /// CPU to count on
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    /// One JSON object a line instead of text
    #[arg(long)]
    pub json: bool,
    /// Headers of the frames to verify
    #[command(flatten)]
    pub layout: super::traffic::LayoutFlags,
    #[command(flatten)]
    pub capture: CaptureFlags,
}
