//! Flags of every measuring command: what is measured, on which path, and how the run is saved.

use std::fmt::Display;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;
use std::time::Duration;

use capbench_agent::location::{Location, Locations};
use capbench_capture::fanout_choice::FanoutChoice;
use capbench_frames::{Sizes, TransmitSpec};
use capbench_judge::thresholds::DISTURBED_TRIAL_REPEATS;
use capbench_lab::subject::ReceiveBy;
use capbench_model::members::FanoutMode;
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_model::work::WorkPlan;
use capbench_report::formats::text::Extent;
use clap::{Arg, Args};

use super::path::Trace;
use crate::exit::Usage;
use crate::flag_values::positive_duration;
use crate::flags::{CaptureFlags, FANOUT_OF_ONE, LayoutFlags, MembersFlags, threads, transmit};

/// `--members` of a measurement, which has several methods.
const MEMBERS: &str =
    "Threads of each method that share the frames, with a socket each; for one method: METHOD+members=N";

/// `--fanout` of a measurement.
const FANOUT: &str = "Which of them gets a frame: hash or bpf (by flow), cpu, queue, lb (each in turn) or rollover; for one method: \
                      +fanout=MODE [default: hash; of af-xdp and dpdk queue]";

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = None,
    mut_arg("members", |arg| arg.help(MEMBERS)),
    mut_arg("fanout", |arg| arg.help(FANOUT)),
)]
pub struct SceneFlags {
    /// Capture methods as `capbench methods` lists them, separated by commas; quick, default and all are sets of them; a program of
    /// yours is 'cmd:./program -i {interface}'
    #[arg(long, visible_alias = "methods", value_name = "LIST", value_delimiter = ',')]
    pub method: Vec<String>,
    #[command(flatten)]
    pub(super) sharing: MembersFlags,
    /// File that defines programs for cmd:NAME; examples/programs.toml is one
    #[arg(long, value_name = "FILE")]
    pub(super) programs: Option<PathBuf>,
    /// Frame sizes with FCS, separated by commas: octets, random:64-1518, 64-1518/100 or a mix such as imix
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) size: Vec<Sizes>,
    /// Where the kernel's receive work and the application run: same CPU, other CPUs
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) placement: Vec<PlacementChoice>,
    /// CPU of the generator; with --kernel-cpu and --app-cpu instead of --placement
    #[arg(long, value_name = "CPU", requires_all = ["kernel_cpu", "app_cpu"], conflicts_with = "placement")]
    pub(super) gen_cpu: Option<u32>,
    /// CPU of the kernel's receive work
    #[arg(long, value_name = "CPU", requires = "gen_cpu")]
    pub(super) kernel_cpu: Option<u32>,
    /// CPU of the application
    #[arg(long, value_name = "CPU", requires = "gen_cpu")]
    pub(super) app_cpu: Option<u32>,
    /// Work per packet: none, loop:N, ns:N, touch, parse or copy; with +queue=N behind it, a second thread does it, on
    /// the same CPU, behind a queue of N packets
    #[arg(long, value_name = "MODEL", default_value = "none")]
    pub work: WorkPlan,
    /// How long a trial waits for missing frames after the last one that arrives
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(super) quiet: Option<Duration>,
    /// MTU of the virtual link
    #[arg(long, value_name = "OCTETS", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(68..=65535),
          conflicts_with_all = ["tx", "rx"])]
    pub(super) mtu: u32,
    #[command(flatten)]
    pub(super) path: PathFlags,
    #[command(flatten)]
    pub(super) layout: LayoutFlags,
    #[command(flatten)]
    pub(super) capture: CaptureFlags,
    #[command(flatten)]
    pub(super) run: RunFlags,
}

/// Whether the user set a number of members in a method's name.
fn has_own_members(text: &str) -> bool {
    text.parse::<MethodSpec>().is_ok_and(|spec| spec.member_count().is_some())
}

impl SceneFlags {
    /// Whether the user chose the placements.
    pub fn names_placement(&self) -> bool {
        !self.placement.is_empty() || self.gen_cpu.is_some()
    }

    /// Whether the user chose a number of members.
    pub fn names_members(&self) -> bool {
        self.sharing.members.is_some() || self.method.iter().any(|text| has_own_members(text))
    }

    /// The members that the flags give to methods without members of their own.
    pub(super) fn members(&self, default: Option<NonZeroU16>) -> Result<Option<GivenMembers>, Usage> {
        let mode = match &self.sharing.fanout {
            None => None,
            Some(FanoutChoice::Mode(mode)) => Some(*mode),
            Some(FanoutChoice::File(_) | FanoutChoice::Pinned(_)) => {
                let why =
                    "a measurement shares frames by a mode, and only count and record by a program of yours";
                return Err(Usage(format!("--fanout: {why}; give hash, bpf, cpu, queue, lb or rollover")));
            }
        };
        match (self.sharing.members.or(default), mode) {
            (Some(count), mode) => Ok(Some((count, mode))),
            (None, Some(_)) => Err(Usage(FANOUT_OF_ONE.into())),
            (None, None) => Ok(None),
        }
    }
}

/// How many members a method gets, and how they share frames if not in its usual way.
pub(super) type GivenMembers = (NonZeroU16, Option<FanoutMode>);

/// The path that is measured on.
#[derive(Args, Clone, Debug)]
pub struct PathFlags {
    /// How the virtual link's kernel work gets to its CPU: rps (softirq) or napi (a pinned NAPI thread; root only)
    #[arg(long, value_name = "WAY", default_value = "rps", conflicts_with_all = ["tx", "rx"])]
    pub(super) receive_by: ReceiveBy,
    /// Queues of the virtual link. Its receive work is then spread over as many CPUs by flow, as by a card with RSS
    #[arg(long, value_name = "N", default_value = "1", value_parser = queues, conflicts_with_all = ["tx", "rx"])]
    pub(super) queues: NonZeroU16,
    /// Send on this interface instead of a virtual link; the link must be isolated (RFC 6815). On another host it is
    /// ssh:[USER@]HOST/IF, in another network namespace netns:NAME/IF; exec:COMMAND,IF starts any agent; otg:URL,PORT is a
    /// generator with the Open Traffic Generator API. Several, separated by commas, share the load
    #[arg(long, value_name = "IF", requires = "rx")]
    pub(super) tx: Vec<Locations>,
    /// Capture on this interface instead of a virtual link; it is named as for --tx, without otg:
    #[arg(long, value_name = "IF", requires = "tx", value_parser = receiver)]
    pub(super) rx: Option<Location>,
    /// Nothing but this test is on the link of --tx and --rx, though they have addresses or a default route
    #[arg(long, requires = "tx")]
    pub(super) isolated: bool,
    /// Largest error of the two hosts' clocks with which one-way latency is reported [default: a tenth of its median]
    #[arg(long, value_name = "TIME", requires = "tx", value_parser = positive_duration)]
    pub(super) clock_error: Option<Duration>,
    /// TLS and password for otg: of --tx: an HTTP configuration file of Prometheus
    #[arg(long, value_name = "FILE", requires = "tx")]
    pub(super) http_config: Option<PathBuf>,
    /// How the interfaces of --tx share the load, one number each, as 3,1 [default: evenly]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "tx")]
    pub(super) weights: Vec<NonZeroU32>,
    /// Go on when up to this many of the generators of --tx end or are out of reach
    #[arg(long, value_name = "N", default_value_t = 0, requires = "tx")]
    pub(super) tolerate: usize,
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx or xdp-live; with +qdisc behind it, one of the first three goes
    /// through the queueing discipline
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    pub(super) transmit: TransmitSpec,
    /// Send from this many threads, each on a CPU of its own; they take the frames of one schedule in turn. The same as
    /// +threads=N behind the transmit method
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<NonZeroU16>,
}

fn receiver(text: &str) -> Result<Location, String> {
    match text.parse()? {
        Location::Otg { .. } => Err("an OTG generator cannot be the receiver under test".into()),
        location => Ok(location),
    }
}

impl PathFlags {
    /// The generators, each with its weight.
    pub(super) fn weighted(&self, generators: Vec<Location>) -> Result<Vec<(Location, NonZeroU32)>, Usage> {
        const MOST: usize = 256;
        once("--tx", &generators)?;
        let count = generators.len();
        if count > MOST {
            return Err(Usage(format!("--tx: {count} generators; up to {MOST} can send to one receiver")));
        }
        if self.tolerate >= count {
            return Err(Usage(format!(
                "--tolerate {}: of {count} generators one must be left",
                self.tolerate
            )));
        }
        let weights = match self.weights.len() {
            0 => vec![NonZeroU32::MIN; count],
            named if named == count => self.weights.clone(),
            named => {
                return Err(Usage(format!("--weights: {named} for {count} generators; name one for each")));
            }
        };
        Ok(generators.into_iter().zip(weights).collect())
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Run")]
pub struct RunFlags {
    /// Directory for results.json and trials.csv [default: capbench-results/COMMAND-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do not trace drop reasons and softirq time in the kernel. Root's runs do; the cost is measured and reported
    #[arg(long)]
    pub no_trace: bool,
    /// Trace drop reasons even where that takes more than 2 % of the kernel's receive work
    #[arg(long, conflicts_with = "no_trace")]
    pub trace: bool,
    /// Repeat a trial that the host disturbed (steal, foreign load, clocks) up to this many times; 0 only marks it
    #[arg(long, value_name = "N", default_value_t = DISTURBED_TRIAL_REPEATS)]
    pub repeats: u32,
    /// Print the plan with its estimated time and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Print every finding and the main tables, too
    #[arg(long)]
    pub details: bool,
}

impl RunFlags {
    /// Whether to trace the kernel.
    pub fn tracing(&self) -> Trace {
        match (self.no_trace, self.trace) {
            (true, _) => Trace::Never,
            (false, true) => Trace::Always,
            (false, false) => Trace::WithinLimit,
        }
    }

    /// How much of the report is printed at the end.
    pub fn extent(&self) -> Extent {
        Extent::with(self.details)
    }
}

/// Adds a command's default to a flag's help.
pub fn otherwise(flag: Arg, default: &str) -> Arg {
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    flag.help(format!("{help} [default: {default}]"))
}

/// Refuses duplicates: a user who names a thing twice does not mean to measure it twice.
pub fn once<T: PartialEq + Display>(flag: &str, named: &[T]) -> Result<(), Usage> {
    match named.iter().enumerate().find(|(place, thing)| named[..*place].contains(thing)) {
        Some((_, twice)) => Err(Usage(format!("{flag}: {twice} is named twice; name it once"))),
        None => Ok(()),
    }
}

/// Reads a number of queues.
fn queues(text: &str) -> Result<NonZeroU16, String> {
    /// As many as a veth can have (`veth_get_num_queues` of drivers/net/veth.c).
    const MOST: u16 = 4096;
    let number = text.parse().ok().filter(|number: &NonZeroU16| number.get() <= MOST);
    number.ok_or_else(|| format!("\"{text}\" queues: a virtual link has 1 to {MOST}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        scene: SceneFlags,
    }

    #[test]
    fn a_measurement_shares_frames_by_a_mode_alone() {
        let members = |text: &str| {
            let words = ["bench"].into_iter().chain(text.split(' '));
            CommandLine::parse_from(words).scene.members(None).map_err(|error| error.to_string())
        };
        assert_eq!(
            members("--members 2 --fanout lb"),
            Ok(Some((NonZeroU16::new(2).unwrap(), Some(FanoutMode::InTurn))))
        );
        for (text, error) in
            [("--fanout lb", FANOUT_OF_ONE), ("--members 2 --fanout ebpf:/x", "give hash, bpf")]
        {
            assert!(members(text).unwrap_err().contains(error), "{text}");
        }
    }
}
