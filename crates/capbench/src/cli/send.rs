//! Flags of `capbench send`.

use std::num::NonZeroU32;
use std::time::Duration;

use capbench_frames::{Pps, Sizes};
use clap::Args;

use super::positive_duration;
use super::traffic::{LayoutFlags, transmit};

/// What to send, where and when.
#[derive(Args, Clone, Debug)]
pub struct SendFlags {
    /// Interface to send on; the link must be isolated (RFC 6815)
    #[arg(short = 'i', long, value_name = "IF")]
    pub interface: String,
    /// Constant rate in frames per second, such as 100000, 250k or 1.5Mpps [default: as fast as it goes]
    #[arg(long, value_name = "RATE", conflicts_with = "wait_loop")]
    pub rate: Option<Pps>,
    /// Send bursts of so many frames back to back; --rate is then the mean
    #[arg(long, value_name = "FRAMES", requires = "rate", conflicts_with = "poisson")]
    pub burst: Option<NonZeroU32>,
    /// Exponentially distributed gaps from this seed; --rate is then the mean
    #[arg(long, value_name = "SEED", requires = "rate")]
    pub poisson: Option<u64>,
    /// Dain's schedule: a loop of N iterations between frames
    #[arg(long, value_name = "N")]
    pub wait_loop: Option<u32>,
    /// Stop after so many frames
    #[arg(short = 'c', long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = positive_duration, required_unless_present = "count")]
    pub duration: Option<Duration>,
    /// Frame sizes with FCS: octets, a list 64,570,1518, random:64-1518, 64-1518/100, or a mix such as imix
    #[arg(long, value_name = "SIZES", default_value = "64", conflicts_with = "dain_2004")]
    pub size: Sizes,
    /// The packets of Dain's measurement of 2004: TCP with 4 octets of payload, 58 octets without FCS
    #[arg(long, conflicts_with_all = ["flows", "vlan", "ipv6", "tcp", "dst_mac"])]
    pub dain_2004: bool,
    /// CPU to send from
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    /// Number that the stamps of the frames carry
    #[arg(long, value_name = "ID", default_value_t = 1)]
    pub trial: u16,
    /// Nothing but this test is on the interface's link, though it has addresses or a default route
    #[arg(long)]
    pub isolated: bool,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx or xdp-live; with +qdisc behind it, one of the first three goes
    /// through the queueing discipline
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    pub transmit: String,
    #[command(flatten)]
    pub layout: LayoutFlags,
}
