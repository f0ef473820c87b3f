//! Flags of `capbench reproduce`.

use std::time::Duration;

use capbench_lab::subject::ReceiveBy;
use capbench_reproduce::Scale;
use clap::Args;

use super::positive_duration;
use super::scene::RunFlags;
use super::traffic::transmit;

/// Which publication, and how much of it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reproduce")]
pub struct ReproduceFlags {
    /// The publication: dain-2004, deri-2004, cesnet-2008, loke-2011 or libtrace-2012; or all
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Length of trials as a part of the published one; 1 is as published. All five take less than 15 minutes at the
    /// default, on two CPUs, and hours at 1
    #[arg(long, value_name = "X", default_value = "0.005", allow_negative_numbers = true)]
    pub scale: Scale,
    /// How often each point is visited, in a new random order each time; with one visit nothing is told apart [default: as
    /// the time for all five allows: 6 for deri-2004, 4 for dain-2004 and loke-2011, 2 for the others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub visits: Option<u32>,
    /// Names the random order of the points; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// How long nothing may come before a trial that misses frames is over; RFC 2544 waits 2s
    #[arg(long, value_name = "TIME", value_parser = positive_duration, default_value = "200ms")]
    pub quiet: Duration,
    /// Transmit method, as `capbench methods` lists them
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    pub transmit: String,
    /// How the virtual link's kernel work gets to its CPU: rps (softirq) or napi (a pinned NAPI thread; root only)
    #[arg(long, value_name = "WAY", default_value = "rps", conflicts_with_all = ["tx", "rx"])]
    pub receive_by: ReceiveBy,
    /// Send on this interface instead of a virtual link; the link must be isolated (RFC 6815)
    #[arg(long, value_name = "IF", requires = "rx")]
    pub tx: Option<String>,
    /// Capture on this interface instead of a virtual link
    #[arg(long, value_name = "IF", requires = "tx")]
    pub rx: Option<String>,
    /// Nothing but this test is on the link of --tx and --rx, though they have addresses or a default route
    #[arg(long, requires = "tx")]
    pub isolated: bool,
    #[command(flatten)]
    pub run: RunFlags,
}
