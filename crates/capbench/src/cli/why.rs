//! Flags of `capbench why`.

use std::time::Duration;

use clap::Args;

use super::positive_duration;

/// Which interface to watch, and for how long.
#[derive(Args, Clone, Debug)]
pub struct WhyFlags {
    /// Interface to watch
    #[arg(short = 'i', long, value_name = "IF")]
    pub interface: String,
    /// Stop after this time [default: when interrupted; with --once after 1s]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// Say everything once, about the whole time, instead of every second
    #[arg(long)]
    pub once: bool,
    /// Do not trace why the kernel drops frames: as root a BPF program runs for each frame that the host drops
    #[arg(long)]
    pub no_trace: bool,
    /// One JSON object a second instead of text
    #[arg(long)]
    pub json: bool,
}
