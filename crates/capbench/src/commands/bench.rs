//! `capbench bench`: the main job.

use std::time::Duration;

use anyhow::Result;
use capbench_model::figures::grouped;
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_plan::bench::BenchPlan;
use capbench_plan::comparison::of_pairs;

use super::measuring::Ready;
use super::scene::{Defaults, Scene};
use crate::cli::bench::BenchFlags;
use crate::cli::scene::SceneFlags;
use crate::exit::{Exit, Unsupported, Usage, print};

/// Visits of a comparison without `--visits`: 12 pairs are enough to detect a change of one figure among 40.
const PAIRS: u32 = 12;

/// Runs the command.
pub fn run(flags: &BenchFlags) -> Result<Exit> {
    let mut scene = Scene::new(&scene_flags(flags), defaults(flags))?;
    let run_flags = &flags.scene.run;
    let planned = plan(&scene, flags)?;
    if run_flags.dry_run {
        print(&describe(&scene, &planned))?;
        return Ok(Exit::Done);
    }
    let ready = Ready::find(&mut scene, run_flags)?;
    let placements = scene.placements.clone();
    let plan = BenchPlan { left_out: ready.left_out.clone(), placements, ..planned };
    can_compare(&plan)?;
    let mut run = ready.begin("bench", run_flags, statements(&plan), plan.trials())?;
    let outcome = plan.run(&mut run.laboratory, &mut run.recorder)?;
    let ended = run.end(outcome.stopped, |results| {
        results.comparisons = of_pairs(&results.trials, &outcome.pairs, flags.thresholds.thresholds());
    })?;
    print(&ended.text())?;
    Ok(ended.exit(&scene))
}

/// The flags, with the baseline method added to the methods.
fn scene_flags(flags: &BenchFlags) -> SceneFlags {
    let mut scene = flags.scene.clone();
    if let Some(against) = &flags.against {
        if scene.method.is_empty() {
            scene.method.push("default".into());
        }
        scene.method.push(against.clone());
    }
    scene
}

/// Checks that the baseline method runs in at least one placement.
fn can_compare(plan: &BenchPlan) -> Result<()> {
    let Some(against) = &plan.against else { return Ok(()) };
    let is_out = |placement: &PlacementChoice| plan.left_out.contains(&(*placement, against.clone()));
    if plan.placements.iter().all(is_out) {
        return Err(Unsupported(format!(
            "--against {against}: it cannot run here, so nothing can be compared with it"
        ))
        .into());
    }
    Ok(())
}

fn defaults(flags: &BenchFlags) -> Defaults {
    Defaults {
        methods: &["default"],
        sizes: if flags.quick { &[64] } else { &[64, 512, 1518] },
        placements: &[PlacementChoice::Same, PlacementChoice::Other],
        quiet: Duration::from_millis(if flags.quick { 150 } else { 500 }),
    }
}

fn plan(scene: &Scene, flags: &BenchFlags) -> Result<BenchPlan> {
    let against: Option<MethodSpec> = flags
        .against
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|why| Usage(format!("--against: {why}")))?;
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
        seed: flags.seed.unwrap_or_else(super::measuring::seed),
        against,
        left_out: Vec::new(),
    })
}

fn describe(scene: &Scene, plan: &BenchPlan) -> String {
    let load = match plan.rate {
        Some(rate) => format!("{} packets/s", grouped(rate.get())),
        None => "maximum load, then one load that all methods can hold".into(),
    };
    let visits = match (&plan.against, plan.visits) {
        (None, 1) => String::new(),
        (None, visits) => format!("visits      {visits} of every method at every load, in random order\n"),
        (Some(against), visits) => {
            format!("visits      {visits} pairs of {against} and each other method, at every load\n")
        }
    };
    format!(
        "{}load        {load}\n{visits}trials      {} of {:?}\ntime        about {:.0} s\n",
        scene.describe(),
        plan.trials(),
        plan.duration,
        plan.estimate().as_secs_f64()
    )
}

fn statements(plan: &BenchPlan) -> Vec<String> {
    let quiet = plan.sizes.first().map_or(Duration::ZERO, |setup| setup.quiet);
    let mut statements = vec![format!(
        "trials send for {:?} and wait {quiet:?} for missing frames, where RFC 2544 asks for 60 s and 2 s",
        plan.duration
    )];
    if plan.visits > 1 || plan.against.is_some() {
        let how = match &plan.against {
            None => "every method was visited at every load, the methods in turn".to_string(),
            Some(against) => format!("every method took turns with {against} at every load, A B, then B A"),
        };
        statements.push(format!(
            "{how}, {} times in random order (xoshiro256++ with seed {})",
            plan.visits, plan.seed
        ));
    }
    statements
}
