//! Flags of every command that runs trials: what is measured, on which path, and where the results go.

use std::path::PathBuf;
use std::time::Duration;

use capbench_frames::Sizes;
use capbench_lab::subject::ReceiveBy;
use capbench_model::placement::PlacementChoice;
use capbench_model::work::WorkPlan;
use clap::{Arg, Args};

use super::capture::CaptureFlags;
use super::positive_duration;
use super::traffic::{LayoutFlags, transmit};

/// What is measured, and on which path. What a flag that was not given means is each command's own choice.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = None)]
pub struct SceneFlags {
    /// Capture methods as `capbench methods` lists them, separated by commas; default and all are sets of them
    #[arg(long, visible_alias = "methods", value_name = "LIST", value_delimiter = ',')]
    pub method: Vec<String>,
    /// File that defines programs for cmd:NAME; examples/programs.toml is one
    #[arg(long, value_name = "FILE")]
    pub programs: Option<PathBuf>,
    /// Frame sizes with FCS, separated by commas: octets, random:64-1518, 64-1518/100 or a mix such as imix
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub size: Vec<Sizes>,
    /// Where the kernel's receive work and the application run: same CPU, other CPUs
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
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
    /// Work per packet: none, loop:N, ns:N, touch, parse or copy; with +queue=N behind it, a second thread does it, on
    /// the same CPU, behind a queue of N packets
    #[arg(long, value_name = "MODEL", default_value = "none")]
    pub work: WorkPlan,
    /// How long nothing may come before a trial that misses frames is over
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub quiet: Option<Duration>,
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
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx or xdp-live; with +qdisc behind it, one of the first three goes
    /// through the queueing discipline
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    pub transmit: String,
    #[command(flatten)]
    pub layout: LayoutFlags,
    #[command(flatten)]
    pub capture: CaptureFlags,
    #[command(flatten)]
    pub run: RunFlags,
}

/// Says in a flag's help what the command at hand does without it.
pub fn otherwise(flag: Arg, default: &str) -> Arg {
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    flag.help(format!("{help} [default: {default}]"))
}

/// How a run is kept and watched.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Run")]
pub struct RunFlags {
    /// Directory for results.json and trials.csv [default: capbench-results/COMMAND-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do not trace drop reasons and softirq time in the kernel. Root's runs do, at about 10 ns a packet, which is measured
    /// and printed
    #[arg(long)]
    pub no_trace: bool,
    /// Repeat a trial that the host disturbed (steal, foreign load, clocks) so often at most; 0 only marks it
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub repeats: u32,
    /// Print the plan with its estimated time and stop
    #[arg(long)]
    pub dry_run: bool,
}
