//! `capbench sweep`: varies one thing and measures every method at every point.

use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use capbench_capture::{ByteCount, CaptureOptions};
use capbench_frames::Pps;
use capbench_measure::cost::{Cost, Spread};
use capbench_measure::laboratory::Setup;
use capbench_measure::sweep::{Axis, BackToBackTest, Point, Probe, RingSize, Spacing, SweepPlan, presets};
use capbench_measure::trial::Load;
use capbench_measure::work::WorkModel;
use capbench_model::moderation::Moderation;
use capbench_model::placement::PlacementChoice;
use capbench_report::formats::text::wrapped;

use super::measuring::Ready;
use super::scene::{Defaults, Scene};
use crate::cli::sweep::{AxisName, SweepFlags};
use crate::estimate;
use crate::exit::{Exit, Usage, print};

/// Default range of rings, in frames.
const RINGS: (&str, &str) = ("8", "32768");

/// Default number of points of a range.
const STEPS: u16 = 12;

/// Runs the command.
pub fn run(flags: &SweepFlags) -> Result<Exit> {
    let parts = flags.preset.as_deref().map(preset).transpose()?;
    let mut scene = Scene::new(&flags.scene, defaults(flags.axis))?;
    let run_flags = &flags.scene.run;
    let mut plans: Vec<SweepPlan> = match &parts {
        Some(parts) => parts.iter().map(|part| plan(&scene, flags, Some(part))).collect::<Result<_>>()?,
        None => vec![plan(&scene, flags, None)?],
    };
    plans.iter().try_for_each(SweepPlan::check)?;
    let estimates: Vec<Spread> =
        plans.iter().map(SweepPlan::estimate).collect::<capbench_measure::Result<_>>()?;
    let hurry = flags.time.map(|allowed| enough_time(allowed, &plans, &estimates)).transpose()?.flatten();
    if run_flags.dry_run {
        print(&describe(&scene, &plans, &estimates, hurry.as_deref()))?;
        return Ok(Exit::Done);
    }
    if let Some(warning) = hurry {
        tell!("capbench: {warning}");
    }
    let ready = Ready::find(&mut scene, run_flags)?;
    for plan in &mut plans {
        plan.left_out.clone_from(&ready.left_out);
        if flags.axis == AxisName::Placement {
            plan.axis = placements(&scene)?;
        } else {
            plan.placements.clone_from(&scene.placements);
        }
    }
    let trials = plans.iter().map(SweepPlan::trials).sum();
    let mut run = ready.begin("sweep", run_flags, statements(&plans), trials)?;
    let mut stopped = false;
    for plan in &plans {
        stopped = plan.run(&mut run.laboratory, &mut run.recorder)?.outcome.stopped;
        if stopped {
            break;
        }
    }
    let ended = run.end(stopped, |_| {})?;
    print(&ended.text())?;
    Ok(ended.exit(&scene))
}

fn defaults(axis: AxisName) -> Defaults {
    Defaults {
        methods: &["default"],
        sizes: if axis == AxisName::Size { &[64, 128, 256, 512, 1024, 1280, 1518] } else { &[64] },
        placements: if axis == AxisName::Placement {
            &[PlacementChoice::Same, PlacementChoice::Other]
        } else {
            &[PlacementChoice::Same]
        },
        quiet: Duration::from_millis(500),
    }
}

/// The sweep of this name, or all sweeps of the publication of this name.
fn preset(name: &str) -> Result<Vec<&'static presets::WorkPreset>> {
    let found: Vec<_> =
        presets::WORK.iter().filter(|preset| preset.name == name || preset.publication == name).collect();
    if found.is_empty() {
        let mut known: Vec<_> =
            presets::WORK.iter().flat_map(|preset| [preset.publication, preset.name]).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Usage(format!("\"{name}\" is no preset; {} are", known.join(", "))).into());
    }
    Ok(found)
}

fn plan(scene: &Scene, flags: &SweepFlags, preset: Option<&presets::WorkPreset>) -> Result<SweepPlan> {
    contradictions(flags)?;
    let [base, others @ ..] = &scene.sizes[..] else { return Err(Usage("no frame size".into()).into()) };
    if !others.is_empty() && flags.axis != AxisName::Size {
        return Err(Usage("--size: one frame size, or sweep size".into()).into());
    }
    let mut base = base.clone();
    let mut loads = if flags.rate.is_empty() { vec![Load::Maximum] } else { flags.rate.clone() };
    let axis = match preset {
        Some(part) => {
            if flags.axis != AxisName::Work {
                return Err(Usage("--preset: the sweeps of publications are sweeps of work".into()).into());
            }
            (base, loads) = (part.setup(&base), vec![part.load()]);
            part.axis(flags.steps.unwrap_or(presets::POINTS).into())?
        }
        None => axis(scene, flags, &base)?,
    };
    let on_axis = |kind| flags.axis == kind;
    Ok(SweepPlan {
        axis,
        methods: scene.methods.clone(),
        base,
        placements: if on_axis(AxisName::Placement) { Vec::new() } else { scene.placements.clone() },
        loads: if on_axis(AxisName::Load) { Vec::new() } else { loads },
        probe: if flags.bursts { Probe::BackToBack(BackToBackTest::default()) } else { Probe::Trial },
        duration: flags.duration,
        repeats: flags.visits.into(),
        refinement: flags.refine.into(),
        seed: flags.seed.unwrap_or_else(super::measuring::seed),
        left_out: Vec::new(),
    })
}

/// Checks flags that have no effect with the axis.
fn contradictions(flags: &SweepFlags) -> Result<()> {
    let on = |axis| flags.axis == axis;
    let refusals = [
        (flags.bursts && !on(AxisName::Ring), "--bursts: bursts are searched for in a sweep of rings"),
        (
            on(AxisName::Load) && flags.from.is_some() && !flags.rate.is_empty(),
            "--rate: the loads are those from --from to --to; give one of the two",
        ),
        (
            on(AxisName::Work) && flags.scene.work.model != WorkModel::None,
            "--work: work is what is varied; name it by --points or --from and --to",
        ),
    ];
    match refusals.iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(Usage((*why).into()).into()),
        None => Ok(()),
    }
}

/// Checks that memory has room for a ring, which would otherwise fail in the middle of a sweep.
fn room(ring: RingSize, base: &Setup) -> Result<(), String> {
    let capture = CaptureOptions { ring: ring.ring, ..base.capture.clone() };
    capbench_capture::ring_memory::checked_ring(&capture).map(drop).map_err(|error| error.to_string())
}

fn axis(scene: &Scene, flags: &SweepFlags, base: &Setup) -> Result<Axis> {
    let spacing = if flags.geometric { Spacing::Geometric } else { Spacing::Linear };
    let steps = flags.steps.unwrap_or(STEPS);
    let ends = flags.from.as_deref().zip(flags.to.as_deref());
    let no_range = |what: &str| match ends {
        Some(_) => Err(Usage(format!("--from: {what} are no range; name points"))),
        None => Ok(()),
    };
    let points = |make: &dyn Fn(&str) -> Result<Point, String>| -> Result<Axis> {
        let points: Result<Vec<_>, String> = flags.points.iter().map(|text| make(text)).collect();
        Ok(Axis::new(points.map_err(|why| Usage(format!("--points: {why}")))?)?)
    };
    let named_elsewhere = |flag: &str| {
        if flags.points.is_empty() { Ok(()) } else { Err(Usage(format!("--points: name them by {flag}"))) }
    };
    Ok(match flags.axis {
        AxisName::Work => match ends {
            Some((from, to)) => {
                let end = |text| WorkModel::from_str(text).map_err(Usage);
                Axis::work(end(from)?, end(to)?, steps.into(), spacing)?
            }
            None if flags.points.is_empty() => {
                Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(10_000), steps.into(), spacing)?
            }
            None => points(&|text| text.parse().map(Point::Work))?,
        },
        AxisName::Size => {
            no_range("frame sizes")?;
            named_elsewhere("--size")?;
            let point = |setup: &Setup| Point::Size(setup.label.clone(), setup.sizes.clone());
            Axis::new(scene.sizes.iter().map(point).collect())?
        }
        AxisName::Ring => {
            let slot = base.capture.frame.unwrap_or(SLOT);
            let rings = |(from, to): (&str, &str)| -> Result<Axis> {
                Ok(Axis::rings(frames(from).map_err(Usage)?, frames(to).map_err(Usage)?, slot)?)
            };
            let axis = match ends {
                Some(ends) => rings(ends)?,
                None if flags.points.is_empty() => rings(RINGS)?,
                None => points(&|text| ring(text, slot).map(Point::Ring))?,
            };
            for point in axis.points() {
                if let Point::Ring(ring) = point {
                    room(*ring, base).map_err(Usage)?;
                }
            }
            axis
        }
        AxisName::Placement => {
            no_range("placements")?;
            named_elsewhere("--placement")?;
            placements(scene)?
        }
        AxisName::Load => loads(flags, ends, spacing)?,
        AxisName::Coalesce => {
            no_range("settings")?;
            if flags.points.is_empty() {
                return Err(Usage(
                    "--points: name settings, for example 0us,10us,50us,200us,adaptive".into(),
                )
                .into());
            }
            points(&|text| text.parse::<Moderation>().map(Point::Coalesce))?
        }
    })
}

/// The size of a slot for a frame of MTU 1500 with its header.
const SLOT: ByteCount = ByteCount(2048);

fn frames(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no number of frames"))
}

/// Parses a ring: a number of frames, or RING or RING/BLOCK sizes.
fn ring(text: &str, slot: ByteCount) -> Result<RingSize, String> {
    if let Ok(frames) = text.parse::<u32>() {
        return RingSize::of_frames(frames, slot).map_err(|error| error.to_string());
    }
    let size = |text: &str| ByteCount::from_str(text).map_err(|error| error.to_string());
    let (ring, block) = match text.split_once('/') {
        Some((ring, block)) => (size(ring)?, size(block)?),
        None => {
            let ring = size(text)?;
            (ring, ByteCount(ring.0.min(1 << 20)))
        }
    };
    RingSize::new(ring, block).map_err(|error| error.to_string())
}

fn placements(scene: &Scene) -> Result<Axis> {
    Ok(Axis::new(scene.placements.iter().copied().map(Point::Placement).collect())?)
}

fn loads(flags: &SweepFlags, ends: Option<(&str, &str)>, spacing: Spacing) -> Result<Axis> {
    let point = |text: &str| match text {
        "max" => Ok(Point::Load(Load::Maximum)),
        rate => rate
            .parse()
            .map(|rate| Point::Load(Load::Rate(rate)))
            .map_err(|error: capbench_frames::FrameError| error.to_string()),
    };
    let points: Vec<Point> = match ends {
        Some((from, to)) => {
            let end = |text: &str| Pps::from_str(text).map_err(|error| Usage(error.to_string()));
            let (from, to) = (end(from)?.get(), end(to)?.get());
            if from >= to {
                return Err(Usage(format!("--from {from}: the range is empty; begin below --to")).into());
            }
            let steps = flags.steps.unwrap_or(STEPS);
            let last = f64::from(steps - 1);
            let at = |step: u16| {
                let part = f64::from(step) / last;
                match spacing {
                    Spacing::Linear => from + (to - from) * part,
                    Spacing::Geometric => from * (to / from).powf(part),
                }
            };
            let rate = |step| Ok(Point::Load(Load::Rate(Pps::new(at(step).round())?)));
            let mut points: Vec<Point> = (0..steps).map(rate).collect::<Result<_>>()?;
            // Steps smaller than one whole rate coincide.
            points.dedup();
            points
        }
        None => {
            let named: Result<Vec<_>, String> = flags.points.iter().map(|text| point(text)).collect();
            let rates = flags.rate.iter().map(|load| Point::Load(*load));
            named.map_err(|why| Usage(format!("--points: {why}")))?.into_iter().chain(rates).collect()
        }
    };
    if points.is_empty() {
        return Err(Usage(
            "a sweep of load needs loads: --rate 100k,200k,400k or --from 100k --to 1M".into(),
        )
        .into());
    }
    Ok(Axis::new(points)?)
}

/// Checks that the time limit can be enough; warns if it may not be.
fn enough_time(
    allowed: Duration,
    plans: &[SweepPlan],
    estimates: &[Spread],
) -> Result<Option<String>, Usage> {
    let all = |of: fn(&Spread) -> Cost| -> Duration {
        plans.iter().zip(estimates).map(|(plan, spread)| of(spread).time(plan.base.quiet)).sum()
    };
    let (least, most) = (all(|spread| spread.least), all(|spread| spread.most));
    if least > allowed {
        return Err(Usage(format!(
            "--time {}: it cannot suffice: the sweep takes at least {}; give fewer points, methods or --visits, or a shorter \
             --duration",
            humantime::format_duration(allowed),
            estimate::roughly(least)
        )));
    }
    Ok((most > allowed).then(|| {
        format!(
            "--time {} may not suffice, and does not end the sweep: it can take {}, or more on a noisy host",
            humantime::format_duration(allowed),
            estimate::roughly(most)
        )
    }))
}

fn describe(scene: &Scene, plans: &[SweepPlan], estimates: &[Spread], hurry: Option<&str>) -> String {
    let mut text = scene.describe();
    let list = |words: Vec<String>| words.join(", ");
    for (plan, spread) in plans.iter().zip(estimates) {
        let points = list(plan.axis.points().iter().map(ToString::to_string).collect());
        wrapped(&mut text, "points      ", "            ", &points);
        if !plan.loads.is_empty() {
            let loads = list(plan.loads.iter().map(ToString::to_string).collect());
            wrapped(&mut text, "loads       ", "            ", &loads);
        }
        if plan.refinement > 0 {
            text.push_str(&format!("refinement  up to {} points where the curve bends\n", plan.refinement));
        }
        text.push_str(&format!(
            "visits      {} of every point, in random order\ntrials      at most {} of {:?}\n",
            plan.repeats,
            plan.trials(),
            plan.duration
        ));
        let time = estimate::time_of(*spread, plan.base.quiet, 1);
        wrapped(&mut text, "time        ", "            ", &time);
        text.push_str(estimate::NOISE);
    }
    if let Some(hurry) = hurry {
        wrapped(&mut text, "note        ", "            ", hurry);
    }
    text
}

fn statements(plans: &[SweepPlan]) -> Vec<String> {
    let of = |plan: &SweepPlan| {
        format!(
            "trials send for {:?} and wait {:?} for missing frames, where RFC 2544 asks for 60 s and 2 s",
            plan.duration, plan.base.quiet
        )
    };
    // The sweeps of a publication are equal in both.
    plans.first().map(of).into_iter().collect()
}
