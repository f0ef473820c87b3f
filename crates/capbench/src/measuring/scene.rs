//! What every measuring command needs: methods, frame sizes and placements, the path, and how the run is saved.

use std::num::NonZeroU16;
use std::time::Duration;

use anyhow::Result;
use capbench_agent::laboratory::Route;
use capbench_agent::location::{Location, Locations};
use capbench_frames::layout::Flows;
use capbench_frames::units::WIRE_OVERHEAD_OCTETS;
use capbench_frames::{Classifier, FrameLayout, FramePlan, FrameSize, Mtu, Pps, Sizes, StatedRate, TrialId};
use capbench_host::bed::Placement;
use capbench_lab::live;
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::direction::Direction;
use capbench_model::laboratory::Setup;
use capbench_model::members::Members;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::softirqs::SoftirqTiming;
use capbench_model::work::WorkModel;
use capbench_sys::host::CpuId;

use super::path::{AgentPath, Path};
use super::scene_flags::{GivenMembers, PathFlags, RunFlags, SceneFlags, once};
use super::words;
use crate::exit::Usage;
use crate::flags::transmit_by;

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
        softirqs: SoftirqTiming::default(),
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
    use super::*;

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
