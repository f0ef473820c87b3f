//! What every measuring command needs: methods, frame sizes and placements, the path, and how the run is saved.

use std::fmt::Display;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use capbench_agent::laboratory::Route;
use capbench_agent::location::{Location, Locations};
use capbench_capture::fanout_choice::FanoutChoice;
use capbench_frames::TransmitSpec;
use capbench_frames::layout::Flows;
use capbench_frames::units::WIRE_OVERHEAD_OCTETS;
use capbench_frames::{Classifier, FrameLayout, FramePlan, FrameSize, Mtu, Pps, Sizes, StatedRate, TrialId};
use capbench_host::bed::Placement;
use capbench_judge::thresholds::DISTURBED_TRIAL_REPEATS;
use capbench_lab::live;
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, ReceiveBy};
use capbench_model::direction::Direction;
use capbench_model::laboratory::Setup;
use capbench_model::members::{FanoutMode, Members};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::work::{WorkModel, WorkPlan};
use capbench_report::formats::text::Extent;
use capbench_sys::host::CpuId;
use clap::{Arg, Args};

use super::path::{AgentPath, Path, Trace};
use super::words;
use crate::exit::Usage;
use crate::flag_values::positive_duration;
use crate::flags::{CaptureFlags, FANOUT_OF_ONE, LayoutFlags, MembersFlags, threads, transmit, transmit_by};

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
    sharing: MembersFlags,
    /// File that defines programs for cmd:NAME; examples/programs.toml is one
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
    /// Frame sizes with FCS, separated by commas: octets, random:64-1518, 64-1518/100 or a mix such as imix
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    size: Vec<Sizes>,
    /// Where the kernel's receive work and the application run: same CPU, other CPUs
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    placement: Vec<PlacementChoice>,
    /// CPU of the generator; with --kernel-cpu and --app-cpu instead of --placement
    #[arg(long, value_name = "CPU", requires_all = ["kernel_cpu", "app_cpu"], conflicts_with = "placement")]
    gen_cpu: Option<u32>,
    /// CPU of the kernel's receive work
    #[arg(long, value_name = "CPU", requires = "gen_cpu")]
    kernel_cpu: Option<u32>,
    /// CPU of the application
    #[arg(long, value_name = "CPU", requires = "gen_cpu")]
    app_cpu: Option<u32>,
    /// Work per packet: none, loop:N, ns:N, touch, parse or copy; with +queue=N behind it, a second thread does it, on
    /// the same CPU, behind a queue of N packets
    #[arg(long, value_name = "MODEL", default_value = "none")]
    pub work: WorkPlan,
    /// How long a trial waits for missing frames after the last one that arrives
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    quiet: Option<Duration>,
    /// MTU of the virtual link
    #[arg(long, value_name = "OCTETS", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(68..=65535),
          conflicts_with_all = ["tx", "rx"])]
    mtu: u32,
    #[command(flatten)]
    path: PathFlags,
    #[command(flatten)]
    layout: LayoutFlags,
    #[command(flatten)]
    capture: CaptureFlags,
    #[command(flatten)]
    run: RunFlags,
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
    fn members(&self, default: Option<NonZeroU16>) -> Result<Option<GivenMembers>, Usage> {
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
type GivenMembers = (NonZeroU16, Option<FanoutMode>);

/// The path that is measured on.
#[derive(Args, Clone, Debug)]
pub struct PathFlags {
    /// How the virtual link's kernel work gets to its CPU: rps (softirq) or napi (a pinned NAPI thread; root only)
    #[arg(long, value_name = "WAY", default_value = "rps", conflicts_with_all = ["tx", "rx"])]
    receive_by: ReceiveBy,
    /// Queues of the virtual link. Its receive work is then spread over as many CPUs by flow, as by a card with RSS
    #[arg(long, value_name = "N", default_value = "1", value_parser = queues, conflicts_with_all = ["tx", "rx"])]
    queues: NonZeroU16,
    /// Send on this interface instead of a virtual link; the link must be isolated (RFC 6815). On another host it is
    /// ssh:[USER@]HOST/IF, in another network namespace netns:NAME/IF; exec:COMMAND,IF starts any agent; otg:URL,PORT is a
    /// generator with the Open Traffic Generator API. Several, separated by commas, share the load
    #[arg(long, value_name = "IF", requires = "rx")]
    tx: Vec<Locations>,
    /// Capture on this interface instead of a virtual link; it is named as for --tx, without otg:
    #[arg(long, value_name = "IF", requires = "tx", value_parser = receiver)]
    rx: Option<Location>,
    /// Nothing but this test is on the link of --tx and --rx, though they have addresses or a default route
    #[arg(long, requires = "tx")]
    isolated: bool,
    /// Largest error of the two hosts' clocks with which one-way latency is reported [default: a tenth of its median]
    #[arg(long, value_name = "TIME", requires = "tx", value_parser = positive_duration)]
    clock_error: Option<Duration>,
    /// TLS and password for otg: of --tx: an HTTP configuration file of Prometheus
    #[arg(long, value_name = "FILE", requires = "tx")]
    http_config: Option<PathBuf>,
    /// How the interfaces of --tx share the load, one number each, as 3,1 [default: evenly]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "tx")]
    weights: Vec<NonZeroU32>,
    /// Go on when up to this many of the generators of --tx end or are out of reach
    #[arg(long, value_name = "N", default_value_t = 0, requires = "tx")]
    tolerate: usize,
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx or xdp-live; with +qdisc behind it, one of the first three goes
    /// through the queueing discipline
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    transmit: TransmitSpec,
    /// Send from this many threads, each on a CPU of its own; they take the frames of one schedule in turn. The same as
    /// +threads=N behind the transmit method
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroU16>,
}

fn receiver(text: &str) -> Result<Location, String> {
    match text.parse()? {
        Location::Otg { .. } => Err("an OTG generator cannot be the receiver under test".into()),
        location => Ok(location),
    }
}

impl PathFlags {
    /// The generators, each with its weight.
    fn weighted(&self, generators: Vec<Location>) -> Result<Vec<(Location, NonZeroU32)>, Usage> {
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

/// Methods, frame sizes and placements, the path, and how the run is saved.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Methods, each once, in the order of the command line. Empty if the command tests methods itself.
    pub methods: Vec<MethodSpec>,
    /// The methods that the user named, not only as part of a set.
    named: Vec<MethodSpec>,
    /// One set-up per frame size, without method and placement.
    pub sizes: Vec<Setup>,
    pub placements: Vec<PlacementChoice>,
    /// What does not run here, once that is tested.
    pub left_out: Vec<(PlacementChoice, MethodSpec)>,
    pub path: Path,
    /// Programs that can be methods.
    pub programs: Programs,
    pub run: RunFlags,
}

/// Defaults of a command.
pub struct Defaults {
    /// Names of methods and sets of methods.
    pub methods: &'static str,
    /// Frame sizes in octets, FCS included.
    pub sizes: &'static [u32],
    pub placements: &'static [PlacementChoice],
    /// Members of each method; `None`: it has one thread.
    pub members: Option<NonZeroU16>,
    /// Number of flows.
    pub flows: Flows,
    /// How long no frame may arrive before a trial with missing frames ends, in ms.
    pub quiet_ms: u64,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            methods: "packet-v3",
            sizes: &[64],
            placements: &[PlacementChoice::Same],
            members: None,
            flows: Flows::ONE,
            quiet_ms: 500,
        }
    }
}

impl Scene {
    /// Reads the flags, without looking at the host. Fails if they name what does not exist, or contradict each other.
    pub fn new(flags: &SceneFlags, defaults: Defaults) -> Result<Self> {
        let mut programs = Programs::with_file(flags.programs.as_deref())?;
        let list = if flags.method.is_empty() { vec![defaults.methods.into()] } else { flags.method.clone() };
        let Methods { methods, named } = methods(&list, flags.members(defaults.members)?, &mut programs)?;
        if flags.sharing.members.is_some() {
            check_members(&methods)?;
        }
        flags.capture.check_used(&methods, &programs)?;
        let mut sizes = flags.size.clone();
        if sizes.is_empty() {
            let fixed = |&octets| FrameSize::new(octets).map(Sizes::Fixed);
            sizes = defaults.sizes.iter().map(fixed).collect::<Result<_, _>>()?;
        }
        let quiet = flags.quiet.unwrap_or(Duration::from_millis(defaults.quiet_ms));
        let sizes = setups(flags, sizes, defaults.flows, quiet)?;
        let placements = placements(flags, defaults.placements)?;
        once("--size", &sizes.iter().map(Setup::label).collect::<Vec<_>>())?;
        once("--placement", &placements)?;
        Ok(Self {
            methods,
            named,
            sizes,
            placements,
            programs,
            ..Self::of_path(&flags.path, flags.mtu, &flags.run)?
        })
    }

    /// CPUs that this process measures on, as far as they are chosen before the laboratory is open.
    pub fn cpus(&self) -> Vec<CpuId> {
        let of = |placement: &PlacementChoice| match *placement {
            PlacementChoice::Same => Placement::same().ok(),
            PlacementChoice::Other => Placement::other().ok(),
            PlacementChoice::Custom { generator, kernel, application } => {
                Placement::custom(generator, kernel, application).ok()
            }
        };
        let placements = self.placements.iter().filter_map(of);
        placements.flat_map(|found| [found.generator, found.kernel, found.application]).collect()
    }

    /// A path without methods, for a command that tests them itself.
    pub fn of_path(flags: &PathFlags, mtu: u32, run: &RunFlags) -> Result<Self, Usage> {
        let transmit: Vec<Location> = flags.tx.iter().flat_map(|Locations(all)| all).cloned().collect();
        if let Some(receive) = flags.rx.as_ref().filter(|receive| transmit.contains(receive)) {
            return Err(Usage(format!("--tx and --rx: both name {receive}; name the two ends of a link")));
        }
        let path = match (&transmit[..], &flags.rx) {
            ([Location::Here { interface: transmit }], Some(Location::Here { interface: receive })) => {
                let (transmit, receive) = (transmit.clone(), receive.clone());
                Path::Here(live::Path::Interfaces { transmit, receive, isolated: flags.isolated })
            }
            ([_, ..], Some(receive)) => Path::Agents(AgentPath::new(Route {
                transmit: flags.weighted(transmit)?,
                receive: receive.clone(),
                isolated: flags.isolated,
                clock_error: flags.clock_error,
                tolerated: flags.tolerate,
                http_config: flags.http_config.clone(),
            })),
            _ => Path::Here(live::Path::Virtual {
                mtu: Mtu(mtu),
                receive_by: flags.receive_by,
                queues: flags.queues,
            }),
        };
        Ok(Self {
            methods: Vec::new(),
            named: Vec::new(),
            sizes: Vec::new(),
            placements: Vec::new(),
            left_out: Vec::new(),
            path,
            programs: Programs::default(),
            run: run.clone(),
        })
    }

    /// Whether the user named this method, not only a set that contains it.
    pub fn is_named(&self, method: &MethodSpec) -> bool {
        self.named.contains(method)
    }

    /// Every set-up, methods x frame sizes x placements, that is not known to be impossible here.
    pub fn setups(&self) -> impl Iterator<Item = Setup> {
        let scenes =
            self.placements.iter().flat_map(|place| self.sizes.iter().map(move |size| (*place, size)));
        let all = scenes.flat_map(|(placement, size)| {
            self.methods.iter().map(move |method| Setup { method: method.clone(), placement, ..size.clone() })
        });
        all.filter(|setup| !self.left_out.contains(&(setup.placement, setup.method.clone())))
    }

    /// How long trials wait for missing frames.
    pub fn quiet(&self) -> Duration {
        self.sizes.first().map_or(Duration::ZERO, |setup| setup.quiet)
    }

    /// Frames per second of a rate that `flag` states. Bits per second and shares of the line need one frame size.
    pub fn rate(&self, flag: &str, rate: StatedRate) -> Result<Pps> {
        if let StatedRate::Frames(rate) = rate {
            return Ok(rate);
        }
        let [setup] = &self.sizes[..] else {
            let why = "bits per second and shares of the line are of one frame size; name one --size";
            return Err(Usage(format!("{flag}: {why}")).into());
        };
        let mean_octets = setup.sizes.sequence(&setup.layout)?.mean_octets();
        let line = match rate {
            StatedRate::OfLine(_) => self.path.line_rate(setup)?,
            _ => None,
        };
        let line = line.map(|most| most.get() * 8.0 * (mean_octets + WIRE_OVERHEAD_OCTETS));
        Ok(rate.of_frames(mean_octets, line).map_err(|error| Usage(format!("{flag}: {error}")))?)
    }

    /// The first rows of a plan.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        words::row(&mut text, "methods", words::list(&self.methods));
        words::row(&mut text, "frame sizes", words::list(self.sizes.iter().map(Setup::label)));
        words::row(&mut text, "placements", words::list(&self.placements));
        if let Some(first) = self.sizes.first() {
            words::row(&mut text, "work", first.work);
            words::row(&mut text, "transmit", &first.transmit);
        }
        words::row(&mut text, "path", self.path.describe());
        text
    }
}

/// Refuses duplicates: a user who names a thing twice does not mean to measure it twice.
pub fn once<T: PartialEq + Display>(flag: &str, named: &[T]) -> Result<(), Usage> {
    match named.iter().enumerate().find(|(place, thing)| named[..*place].contains(thing)) {
        Some((_, twice)) => Err(Usage(format!("{flag}: {twice} is named twice; name it once"))),
        None => Ok(()),
    }
}

/// Methods of the command line.
#[derive(Debug)]
struct Methods {
    methods: Vec<MethodSpec>,
    /// Those that are not only part of a set.
    named: Vec<MethodSpec>,
}

/// The methods of a list, each once, sets expanded, with these members unless they have their own. A program has its own threads.
fn methods(list: &[String], members: Option<GivenMembers>, programs: &mut Programs) -> Result<Methods> {
    let (mut methods, mut named): (Vec<MethodSpec>, Vec<MethodSpec>) = (Vec::new(), Vec::new());
    for name in list {
        let (names, is_set) = match name.as_str() {
            "quick" => (subject::quick_methods(), true),
            "default" => (subject::default_methods(), true),
            "all" => (subject::all_methods(programs), true),
            _ => (vec![name.clone()], false),
        };
        for name in names {
            let mut spec: MethodSpec = name.parse().map_err(Usage)?;
            if let Some((count, mode)) = members.filter(|_| spec.delivery().is_some()) {
                spec = Members::given_to(&spec, count, mode);
            }
            programs.define(&spec)?;
            subject::find(&spec, programs)?;
            if !is_set {
                named.push(spec.clone());
            }
            if !methods.contains(&spec) {
                methods.push(spec);
            }
        }
    }
    Ok(Methods { methods, named })
}

/// Refuses --members for programs alone, and names the programs that it does not change.
fn check_members(methods: &[MethodSpec]) -> Result<(), Usage> {
    let programs: Vec<_> =
        methods.iter().filter(|spec| spec.delivery().is_none()).map(ToString::to_string).collect();
    let why = "has no effect on programs, whose own settings choose their threads; these run on the application's CPU unless the \
               program chooses others";
    match (programs.len(), methods.len()) {
        (0, _) => {}
        (some, all) if some < all => tell!("capbench: --members {why}: {}", programs.join(", ")),
        _ => return Err(Usage(format!("--members {why}; leave it out"))),
    }
    Ok(())
}

/// One set-up per size. Checks first that headers and stamp fit into the frame, the frame into the MTU, and the stamp into the
/// snap length.
fn setups(flags: &SceneFlags, sizes: Vec<Sizes>, flows: Flows, quiet: Duration) -> Result<Vec<Setup>> {
    let layout = flags.layout.layout_of(flows);
    let capture = flags.capture.options();
    if capture.direction == Direction::Out {
        return Err(
            Usage("--direction out: nothing is sent on the interface that is captured on".into()).into()
        );
    }
    let snap = capture.snap_length;
    Classifier::new(TrialId(0), &layout, snap.cuts().then(|| snap.octets()))?;
    // The MTU of real interfaces is read later.
    let mtu = if !flags.path.tx.is_empty() { u16::MAX.into() } else { flags.mtu };
    let setup = |sizes: Sizes| {
        FramePlan::new(layout, sizes.clone(), Mtu(mtu))?;
        let base = plain_setup(sizes, &flags.path, quiet)?;
        Ok(Setup { layout, work: flags.work, capture: capture.clone(), ..base })
    };
    sizes.into_iter().map(setup).collect()
}

/// Reads a number of queues.
fn queues(text: &str) -> Result<NonZeroU16, String> {
    /// As many as a veth can have (`veth_get_num_queues` of drivers/net/veth.c).
    const MOST: u16 = 4096;
    let number = text.parse().ok().filter(|number: &NonZeroU16| number.get() <= MOST);
    number.ok_or_else(|| format!("\"{text}\" queues: a virtual link has 1 to {MOST}"))
}

/// A set-up without method and work, in no particular placement.
pub fn plain_setup(sizes: Sizes, path: &PathFlags, quiet: Duration) -> Result<Setup, Usage> {
    Ok(Setup {
        method: MethodSpec::plain(""),
        sizes,
        layout: FrameLayout::default(),
        placement: PlacementChoice::Same,
        work: WorkModel::None.into(),
        capture: CaptureOptions::default(),
        moderation: None,
        transmit: transmit_by(&path.transmit, path.threads)?.spec(),
        burst: None,
        quiet,
        latency: None,
    })
}

fn placements(flags: &SceneFlags, default: &[PlacementChoice]) -> Result<Vec<PlacementChoice>> {
    if let (Some(generator), Some(kernel), Some(application)) =
        (flags.gen_cpu, flags.kernel_cpu, flags.app_cpu)
    {
        let [generator, kernel, application] = [generator, kernel, application].map(CpuId::new);
        Placement::custom(generator, kernel, application)?;
        return Ok(vec![PlacementChoice::Custom { generator, kernel, application }]);
    }
    Ok(if flags.placement.is_empty() { default.to_vec() } else { flags.placement.clone() })
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

    #[test]
    fn a_method_is_named_with_the_members_that_it_gets() {
        let list = ["quick".to_string(), "recv".to_string()];
        let two: GivenMembers = (NonZeroU16::new(2).unwrap(), None);
        let Methods { methods, named } = methods(&list, Some(two), &mut Programs::default()).unwrap();
        assert_eq!(named, ["recv+members=2".parse().unwrap()]);
        assert!(
            methods.len() > 1 && methods.iter().all(|method| method.member_count() == NonZeroU16::new(2))
        );
    }
}
