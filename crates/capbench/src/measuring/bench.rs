//! `capbench bench`: compares capture methods, the main job.

use std::time::Duration;

use anyhow::Result;
use capbench_frames::Pps;
use capbench_model::figures::grouped;
use capbench_model::laboratory::Laboratory;
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_plan::bench::BenchPlan;
use capbench_plan::comparison::{Thresholds, of_pairs};
use clap::Args;

use super::recorder::Recorder;
use super::scene::{Defaults, Scene, SceneFlags, otherwise};
use super::{Ended, Plan, seed, words};
use crate::exit::{Exit, Unsupported, Usage};
use crate::flags::ThresholdFlags;
use crate::values::positive_duration;

/// Visits of a comparison without `--visits`: 12 pairs are enough to detect a change of one figure among 40.
const PAIRS: u32 = 12;

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Trials",
    mut_arg("method", |arg| otherwise(arg, "default")),
    mut_arg("size", |arg| otherwise(arg, "64,512,1518; with --quick 64")),
    mut_arg("placement", |arg| otherwise(arg, "same,other")),
    mut_arg("threshold", |arg| arg.requires("against")),
    mut_arg("loss_threshold", |arg| arg.requires("against")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms; with --quick 150ms; RFC 2544 waits 2s")),
)]
pub struct BenchFlags {
    /// One load instead of maximum load and common load, such as 100000, 250k or 1.5Mpps
    #[arg(long, value_name = "RATE")]
    rate: Option<Pps>,
    /// Length of a trial [default: 800ms; with --quick 400ms]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Under 20 seconds: short trials of one frame size
    #[arg(long)]
    quick: bool,
    /// How often every method is measured at every load, in random order and with the methods in turn. Comparisons of
    /// runs need several [default: 1; with --against 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    visits: Option<u16>,
    /// Compare each method with this one in pairs of trials that run side by side, A B, then B A, as often as --visits says
    #[arg(long, value_name = "METHOD")]
    against: Option<String>,
    /// Names the random order of visits; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    thresholds: ThresholdFlags,
    #[command(flatten)]
    scene: SceneFlags,
}

struct Bench {
    plan: BenchPlan,
    thresholds: Thresholds,
}

pub fn run(flags: &BenchFlags) -> Result<Exit> {
    let mut scene_flags = flags.scene.clone();
    if let Some(against) = &flags.against {
        if scene_flags.method.is_empty() {
            scene_flags.method.push("default".into());
        }
        scene_flags.method.push(against.clone());
    }
    let defaults = Defaults {
        methods: "default",
        sizes: if flags.quick { &[64] } else { &[64, 512, 1518] },
        placements: &[PlacementChoice::Same, PlacementChoice::Other],
        quiet_ms: if flags.quick { 150 } else { 500 },
    };
    let scene = Scene::new(&scene_flags, defaults)?;
    let plan = plan(&scene, flags)?;
    super::run(scene, Bench { plan, thresholds: flags.thresholds.thresholds() })
}

fn plan(scene: &Scene, flags: &BenchFlags) -> Result<BenchPlan> {
    let against = flags.against.as_deref().map(str::parse::<MethodSpec>).transpose();
    let against = against.map_err(|why| Usage(format!("--against: {why}")))?;
    let is_other = |method: &&MethodSpec| against.as_ref() != Some(*method);
    let methods: Vec<MethodSpec> = scene.methods.iter().filter(is_other).cloned().collect();
    if methods.is_empty() {
        return Err(Usage("--against: name another --method to compare with it".into()).into());
    }
    Ok(BenchPlan {
        methods,
        sizes: scene.sizes.clone(),
        placements: scene.placements.clone(),
        duration: flags.duration.unwrap_or(Duration::from_millis(if flags.quick { 400 } else { 800 })),
        rate: flags.rate,
        visits: flags.visits.map_or(if against.is_some() { PAIRS } else { 1 }, u32::from),
        seed: seed(flags.seed),
        against,
        left_out: Vec::new(),
    })
}

impl Plan for Bench {
    const COMMAND: &'static str = "bench";

    fn describe(&self, scene: &Scene) -> Result<String> {
        let BenchPlan { rate, against, visits, duration, .. } = &self.plan;
        let mut text = scene.describe();
        let load = match rate {
            Some(rate) => format!("{} packets/s", grouped(rate.get())),
            None => "maximum load, then one load that all methods can sustain".into(),
        };
        words::row(&mut text, "load", load);
        if let Some(against) = against {
            let words = format!("{visits} pairs of {against} and each other method, at every load");
            words::row(&mut text, "visits", words);
        } else if *visits > 1 {
            let words = format!("{visits} of every method at every load, in random order");
            words::row(&mut text, "visits", words);
        }
        words::row(&mut text, "trials", format!("{} of {duration:?}", self.plan.trials()));
        words::row(&mut text, "time", format!("about {:.0} s", self.plan.estimate().as_secs_f64()));
        Ok(text)
    }

    fn fit(&mut self, scene: &Scene, _: &mut dyn Laboratory) -> Result<()> {
        self.plan.placements.clone_from(&scene.placements);
        self.plan.left_out.clone_from(&scene.left_out);
        let Some(against) = &self.plan.against else { return Ok(()) };
        let is_out = |placement: &PlacementChoice| scene.left_out.contains(&(*placement, against.clone()));
        if scene.placements.iter().all(is_out) {
            let why = format!("--against {against}: it cannot run here, so nothing can be compared with it");
            return Err(Unsupported(why).into());
        }
        Ok(())
    }

    fn trials(&self) -> Result<usize> {
        Ok(self.plan.trials())
    }

    fn statements(&self, scene: &Scene) -> Vec<String> {
        let BenchPlan { against, visits, seed, duration, .. } = &self.plan;
        let mut statements = vec![words::shorter(*duration, scene.quiet())];
        if *visits > 1 || against.is_some() {
            let how = match against {
                None => "every method was visited at every load, the methods in turn".to_string(),
                Some(against) => {
                    format!("every method took turns with {against} at every load, A B, then B A")
                }
            };
            statements.push(format!("{how}, {visits} times in random order (xoshiro256++ with seed {seed})"));
        }
        statements
    }

    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        let outcome = self.plan.run(laboratory, recorder)?;
        let results = &mut recorder.results;
        results.comparisons = of_pairs(&results.trials, &outcome.pairs, self.thresholds);
        Ok(outcome.stopped.into())
    }
}
