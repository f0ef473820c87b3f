//! `capbench sweep`: varies one thing and measures every method at every point.

use std::num::NonZeroU16;
use std::time::Duration;

use anyhow::Result;
use capbench_frames::StatedRate;
use capbench_frames::layout::Flows;
use capbench_judge::durations::Planned;
use capbench_judge::sweep::{Analysis, AxisKind, Named};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::members::Members;
use capbench_model::trial::Load;
use capbench_plan::cost::{Cost, Spread};
use capbench_plan::sweep::{Axis, BackToBackTest, Point, Probe, Request, Spacing, SweepPlan, presets};
use capbench_report::sentences::axes::axis_words;
use capbench_results::Kind;
use capbench_sys::host::affinity;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::recorder::Recorder;
use super::scene::{Defaults, Scene};
use super::scene_flags::{SceneFlags, otherwise};
use super::{Ended, Plan, seed, words};
use crate::exit::{Exit, Usage};
use crate::flag_values::positive_duration;

/// Default number of points of a range.
const STEPS: u16 = 12;
/// Default number of flows of a sweep of members: by their hashes, up to dozens of members get similar parts.
const FLOWS: u32 = 1024;

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Sweep",
    mut_arg("method", |arg| otherwise(arg, "default")),
    mut_arg("size", |arg| otherwise(arg, "64; of sweep size those of RFC 2544")),
    mut_arg("placement", |arg| otherwise(arg, "same; of sweep placement same,other")),
    mut_arg("flows", |arg| arg.help("Spread frames over this many flows [default: 1; of sweep members 1024]")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms; RFC 2544 waits 2s")),
)]
pub struct SweepFlags {
    /// What is varied
    #[arg(value_name = "AXIS", value_parser = axis_parser())]
    axis: AxisKind,
    /// The points, separated by commas: work models; rings as frames, or as RING or RING/BLOCK sizes; loads;
    /// microseconds (50 or 50us) or adaptive for coalesce; numbers of members. Sizes and placements are named by --size and
    /// --placement
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["from", "to"])]
    points: Vec<String>,
    /// The first point of a range: of work models (ns:0), frames in a ring, loads, or members
    #[arg(long, value_name = "POINT", requires = "to")]
    from: Option<String>,
    /// The last point of a range
    #[arg(long, value_name = "POINT", requires = "from")]
    to: Option<String>,
    /// Points of a range of work models, loads or members; rings are doubled [default: 12; of a preset 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1000))]
    steps: Option<u16>,
    /// Equal ratios between the points of a range instead of equal differences
    #[arg(long)]
    geometric: bool,
    /// Sweeps of a publication, with their loads, points and frames: dain-2004, which is dain-2004-45kpps and
    /// dain-2004-167kpps
    #[arg(long, value_name = "NAME", conflicts_with_all = ["points", "from", "to", "rate", "size", "work"])]
    preset: Option<String>,
    /// Loads, separated by commas, such as 100k, 500Mbit/s, 1GbpsL1 or 10% of the line; max is what the generator can do
    /// [default: max]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = stated)]
    rate: Vec<StatedLoad>,
    /// At every point of a ring sweep look for the longest burst without loss at each rate, as RFC 9004 does, and give the
    /// drain-corrected buffer time: corrected by the rate at which frames are received in that overload, not by the throughput
    #[arg(long)]
    bursts: bool,
    /// Length of a trial
    #[arg(long, value_name = "TIME", value_parser = positive_duration, default_value = "1s")]
    duration: Duration,
    /// How often every point is visited, in a new random order each time; from 6 visits on, intervals hold the median with
    /// a probability of at least 95 %
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1000))]
    visits: u16,
    /// Points that may be added where the curve bends
    #[arg(long, value_name = "N", default_value_t = 4)]
    refine: u16,
    /// Time limit: a sweep that cannot end within it is refused before it starts
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    time: Option<Duration>,
    /// Names the random order of the points; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    scene: SceneFlags,
}

/// A load as the user writes it.
#[derive(Clone, Copy, Debug)]
enum StatedLoad {
    Rate(StatedRate),
    Maximum,
}

/// Reads a load: a rate, or `max`.
fn stated(text: &str) -> Result<StatedLoad, String> {
    if text == "max" {
        return Ok(StatedLoad::Maximum);
    }
    text.parse().map(StatedLoad::Rate).map_err(|error| format!("{error}; or max, what the generator can do"))
}

impl StatedLoad {
    /// The load in frames per second. `flag` names it.
    fn of_frames(self, scene: &Scene, flag: &str) -> Result<Load> {
        Ok(match self {
            Self::Rate(rate) => Load::Rate(scene.rate(flag, rate)?),
            Self::Maximum => Load::Maximum,
        })
    }
}

struct Sweeps {
    /// One sweep, or those of a publication.
    plans: Vec<SweepPlan>,
    estimates: Vec<Spread>,
    /// The time limit may not be enough.
    hurry: Option<String>,
}

pub fn run(flags: &SweepFlags) -> Result<Exit> {
    let parts = flags.preset.as_deref().map(preset).transpose()?;
    let scene = Scene::new(&flags.scene, defaults(flags.axis))?;
    let plans: Vec<SweepPlan> = match &parts {
        Some(parts) => parts.iter().map(|part| plan(&scene, flags, Some(part))).collect::<Result<_>>()?,
        None => vec![plan(&scene, flags, None)?],
    };
    plans.iter().try_for_each(SweepPlan::check)?;
    let estimates = plans.iter().map(SweepPlan::estimate).collect::<Result<Vec<_>, _>>()?;
    let hurry = flags.time.map(|allowed| enough_time(allowed, &plans, &estimates)).transpose()?.flatten();
    if let Some(warning) = hurry.as_ref().filter(|_| !scene.run.dry_run) {
        tell!("capbench: {warning}");
    }
    super::run(scene, Sweeps { plans, estimates, hurry })
}

fn defaults(axis: AxisKind) -> Defaults {
    let defaults = Defaults { methods: "default", ..Defaults::default() };
    match axis.facts().named {
        Named::Sizes(sizes) => Defaults { sizes, ..defaults },
        Named::Placements(placements) => Defaults { placements, ..defaults },
        Named::Points if axis.shows(Analysis::Scaling) => Defaults {
            members: Some(NonZeroU16::MIN),
            flows: Flows::new(FLOWS).unwrap_or(Flows::ONE),
            ..defaults
        },
        Named::Points | Named::Loads => defaults,
    }
}

/// The sweep of this name, or all sweeps of the publication of this name.
fn preset(name: &str) -> Result<Vec<&'static presets::WorkPreset>, Usage> {
    let is_named = |preset: &&presets::WorkPreset| preset.name == name || preset.publication == name;
    let found: Vec<_> = presets::WORK.iter().filter(is_named).collect();
    if found.is_empty() {
        let mut known: Vec<_> =
            presets::WORK.iter().flat_map(|preset| [preset.publication, preset.name]).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Usage(format!("\"{name}\" is no preset; {} are", known.join(", "))));
    }
    Ok(found)
}

fn plan(scene: &Scene, flags: &SweepFlags, preset: Option<&presets::WorkPreset>) -> Result<SweepPlan> {
    let facts = flags.axis.facts();
    let refusals = [
        (
            flags.bursts && facts.shows != Some(Analysis::Buffers),
            "--bursts: bursts are searched for in a sweep of rings",
        ),
        (
            scene.sizes.len() > 1 && !matches!(facts.named, Named::Sizes(_)),
            "--size: one frame size, or sweep size",
        ),
        (
            flags.axis.shows(Analysis::Scaling) && flags.scene.names_members(),
            "--members: members are what is varied; name numbers by --points or --from and --to",
        ),
        (
            flags.axis.shows(Analysis::Scaling)
                && scene.methods.iter().any(|method| method.member_count().is_none()),
            "--method: a program (cmd:) has threads of its own; sweep members needs methods of capbench",
        ),
        (
            preset.is_some() && flags.axis != AxisKind::Work,
            "--preset: the sweeps of publications are sweeps of work",
        ),
    ];
    if let Some((_, why)) = refusals.iter().find(|(is_so, _)| *is_so) {
        return Err(Usage((*why).into()).into());
    }
    let Some(base) = scene.sizes.first().cloned() else { return Err(Usage("no frame size".into()).into()) };
    let given = rates(scene, flags)?;
    let (axis, base, loads) = match preset {
        Some(part) => {
            let steps = flags.steps.unwrap_or(presets::POINTS);
            (part.axis(steps.into())?, part.setup(&base), vec![part.load()])
        }
        None => (axis(scene, flags, &base, &given)?, base, given),
    };
    Ok(SweepPlan {
        axis,
        methods: scene.methods.clone(),
        base,
        placements: if flags.axis.replaces_placements() { Vec::new() } else { scene.placements.clone() },
        loads: match loads {
            _ if flags.axis.replaces_loads() => Vec::new(),
            none if none.is_empty() => vec![Load::Maximum],
            loads => loads,
        },
        probe: if flags.bursts { Probe::BackToBack(BackToBackTest::default()) } else { Probe::Trial },
        duration: flags.duration,
        repeats: flags.visits.into(),
        refinement: flags.refine.into(),
        seed: seed(flags.seed),
        left_out: Vec::new(),
    })
}

/// The loads of --rate.
fn rates(scene: &Scene, flags: &SweepFlags) -> Result<Vec<Load>> {
    flags.rate.iter().map(|load| load.of_frames(scene, "--rate")).collect()
}

fn axis(scene: &Scene, flags: &SweepFlags, base: &Setup, loads: &[Load]) -> Result<Axis> {
    let read_load = |flag: &str, text: &str| {
        let stated = stated(text).map_err(|error| format!("{flag}: {error}"))?;
        stated.of_frames(scene, flag).map_err(|error| error.to_string())
    };
    let axis = Axis::requested(
        flags.axis,
        &Request {
            points: &flags.points,
            ends: flags.from.as_deref().zip(flags.to.as_deref()),
            steps: flags.steps.unwrap_or(STEPS).into(),
            spacing: if flags.geometric { Spacing::Geometric } else { Spacing::Linear },
            base,
            sizes: scene.sizes.iter().map(|setup| setup.sizes.clone()).collect(),
            placements: &scene.placements,
            loads,
            // The host behind a network has CPUs of its own.
            cpus: scene.path.receives_here().then(affinity::allowed_cpus).transpose()?.map(|cpus| cpus.len()),
            read_load: &read_load,
        },
    )?;
    for point in axis.points() {
        // Memory must have room for every ring, which would otherwise fail in the middle of a sweep.
        let Setup { method, mut capture, .. } = point.apply(base, Load::Maximum).0;
        capture.ring.0 = capture.ring.0.saturating_mul(Members::count_of(&method).into());
        capbench_capture::ring_memory::checked_ring(&capture).map_err(|error| Usage(error.to_string()))?;
    }
    Ok(axis)
}

/// Reads the name of an axis.
fn axis_parser() -> impl TypedValueParser<Value = AxisKind> {
    let name = |axis: &AxisKind| PossibleValue::new(axis.key()).help(axis_words(*axis).summary);
    let named = |text: String| AxisKind::ALL.iter().find(|axis| axis.key() == text).copied();
    PossibleValuesParser::new(AxisKind::ALL.iter().map(name))
        .map(move |text| named(text).expect("the name of an axis"))
}

/// Checks that the time limit can be enough; warns if it may not be.
fn enough_time(
    allowed: Duration,
    plans: &[SweepPlan],
    estimates: &[Spread],
) -> Result<Option<String>, Usage> {
    let all = |of: fn(&Spread) -> Cost| -> Duration {
        plans.iter().zip(estimates).map(|(plan, spread)| of(spread).least_time(plan.base.quiet)).sum()
    };
    let (least, most) = (all(|spread| spread.least), all(|spread| spread.most));
    let time = humantime::format_duration(allowed);
    if least > allowed {
        return Err(Usage(format!(
            "--time {time} is too short: the sweep takes at least {}; give fewer points, methods or --visits, or a \
             shorter --duration",
            words::roughly(least)
        )));
    }
    Ok((most > allowed).then(|| {
        let most = words::roughly(most);
        format!("--time {time} may not suffice, and does not end the sweep: it can take {most}, or more on a noisy host")
    }))
}

impl Plan for Sweeps {
    const KIND: Kind = Kind::Sweep;

    fn describe(&self, scene: &Scene) -> Result<String> {
        let mut text = scene.describe();
        for (plan, spread) in self.plans.iter().zip(&self.estimates) {
            words::row(&mut text, "points", words::list(plan.axis.points()));
            if !plan.loads.is_empty() {
                words::row(&mut text, "loads", words::list(&plan.loads));
            }
            if plan.refinement > 0 {
                let words = format!("up to {} points where the curve bends", plan.refinement);
                words::row(&mut text, "refinement", words);
            }
            let visits = format!("{} of every point, in random order", plan.repeats);
            words::row(&mut text, "visits", visits);
            words::row(&mut text, "trials", format!("up to {} of {:?}", plan.trials(), plan.duration));
            words::row(&mut text, "time", words::time_of(*spread, plan.base.quiet, 1));
        }
        if let Some(hurry) = &self.hurry {
            words::row(&mut text, "note", hurry);
        }
        Ok(text)
    }

    fn fit(&mut self, scene: &Scene, _: &mut dyn Laboratory) -> Result<()> {
        for plan in &mut self.plans {
            plan.left_out.clone_from(&scene.left_out);
            if plan.placements.is_empty() {
                plan.axis = Axis::new(scene.placements.iter().copied().map(Point::Placement).collect())?;
            } else {
                plan.placements.clone_from(&scene.placements);
            }
        }
        if !scene.left_out.is_empty() {
            self.estimates = self.plans.iter().map(SweepPlan::estimate).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    fn planned(&self) -> Result<Planned> {
        let mut cost = Cost::default();
        for estimate in &self.estimates {
            cost = cost.and(estimate.median);
        }
        // The sweeps of a publication are equal in their times.
        let quiet = self.plans.first().map_or(Duration::ZERO, |plan| plan.base.quiet);
        Ok(cost.planned(quiet))
    }

    /// The sweeps of a publication are equal in their times.
    fn statements(&self, _: &Scene) -> Vec<String> {
        self.plans.first().map(|plan| words::shorter(plan.duration, plan.base.quiet)).into_iter().collect()
    }

    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        for plan in &self.plans {
            if plan.run(laboratory, recorder)?.outcome.stopped {
                return Ok(true.into());
            }
        }
        Ok(Ended::default())
    }
}
