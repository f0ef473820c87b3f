//! Flags of `capbench bench`.

use std::path::PathBuf;
use std::time::Duration;

use capbench_measure::live::ReceiveBy;
use capbench_measure::placement::PlacementChoice;
use capbench_measure::work::WorkModel;
use capbench_traffic::{Pps, Sizes};
use clap::Args;

use super::capture::CaptureFlags;
use super::positive_duration;
use super::traffic::{LayoutFlags, transmit};

/// What to compare.
#[derive(Args, Clone, Debug)]
pub struct BenchFlags {
    /// Capture methods as `capbench methods` lists them, separated by commas; default and all are sets of them
    #[arg(
        long,
        visible_alias = "methods",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "default"
    )]
    pub method: Vec<String>,
    /// File that defines programs for cmd:NAME; examples/programs.toml is one
    #[arg(long, value_name = "FILE")]
    pub programs: Option<PathBuf>,
    /// Frame sizes with FCS, separated by commas: octets, random:64-1518, 64-1518/100 or a mix such as imix
    /// [default: 64,512,1518; with --quick 64]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub size: Vec<Sizes>,
    /// Where the kernel's receive work and the application run: same CPU, other CPUs
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "same,other")]
    pub placement: Vec<PlacementChoice>,
    /// CPU of the generator; with --kernel-cpu and --app-cpu instead of --placement
    #[arg(long, value_name = "CPU", requires_all = ["kernel_cpu", "app_cpu"], conflicts_with = "placement")]
    pub gen_cpu: Option<u32>,
    /// CPU of the kernel's receive work
    #[arg(long, value_name = "CPU", requires = "gen_cpu")]
    pub kernel_cpu: Option<u32>,
    /// CPU of the application
    #[arg(long, value_name = "CPU", requires = "gen_cpu")]
    pub app_cpu: Option<u32>,
    /// Work per packet: none, loop:N, ns:N, touch, parse or copy
    #[arg(long, value_name = "MODEL", default_value = "none")]
    pub work: WorkModel,
    /// One load instead of maximum load and common load, such as 100000, 250k or 1.5Mpps
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Pps>,
    /// Length of a trial [default: 800ms; with --quick 400ms]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// How long nothing may come before a trial that misses frames is over [default: 500ms; with --quick 150ms; RFC 2544
    /// waits 2s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub quiet: Option<Duration>,
    /// Under 20 seconds: short trials of one frame size
    #[arg(long)]
    pub quick: bool,
    /// MTU of the virtual link
    #[arg(long, value_name = "OCTETS", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(68..=65535),
          conflicts_with_all = ["tx", "rx"])]
    pub mtu: u32,
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
    /// Directory for results.json and trials.csv [default: capbench-results/bench-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Trace drop reasons and softirq time in the kernel; takes root, and costs some time per packet
    #[arg(long)]
    pub trace: bool,
    /// Print the plan with its estimated time and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx or xdp-live
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    pub transmit: String,
    #[command(flatten)]
    pub layout: LayoutFlags,
    #[command(flatten)]
    pub capture: CaptureFlags,
}
