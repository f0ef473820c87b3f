//! `capbench bench`: the main job.

use std::time::Duration;

use anyhow::Result;
use capbench_measure::bench::BenchPlan;
use capbench_measure::figures::grouped;
use capbench_measure::findings;
use capbench_measure::placement::PlacementChoice;

use super::measuring::{Ended, Ready};
use super::scene::{Defaults, Scene};
use crate::cli::bench::BenchFlags;
use crate::exit::{Exit, print};
use crate::summary;

/// Runs the command.
pub fn run(flags: &BenchFlags) -> Result<Exit> {
    let mut scene = Scene::new(&flags.scene, defaults(flags))?;
    let run_flags = &flags.scene.run;
    if run_flags.dry_run {
        print(&describe(&scene, &plan(&scene, flags)))?;
        return Ok(Exit::Done);
    }
    let ready = Ready::find(&mut scene, run_flags)?;
    let plan = BenchPlan { left_out: ready.left_out.clone(), ..plan(&scene, flags) };
    let mut run = ready.begin("bench", run_flags, statements(&plan), plan.trials())?;
    let outcome = plan.run(&mut run.laboratory, &mut run.recorder)?;
    let ended = run.end(outcome.stopped, |results| results.findings = findings::find(&results.trials))?;
    print(&report(&ended))?;
    Ok(ended.exit(&scene))
}

fn defaults(flags: &BenchFlags) -> Defaults {
    Defaults {
        methods: &["default"],
        sizes: if flags.quick { &[64] } else { &[64, 512, 1518] },
        placements: &[PlacementChoice::Same, PlacementChoice::Other],
        quiet: Duration::from_millis(if flags.quick { 150 } else { 500 }),
    }
}

fn plan(scene: &Scene, flags: &BenchFlags) -> BenchPlan {
    BenchPlan {
        methods: scene.methods.clone(),
        sizes: scene.sizes.clone(),
        placements: scene.placements.clone(),
        duration: flags.duration.unwrap_or(Duration::from_millis(if flags.quick { 400 } else { 800 })),
        rate: flags.rate,
        left_out: Vec::new(),
    }
}

fn describe(scene: &Scene, plan: &BenchPlan) -> String {
    let load = match plan.rate {
        Some(rate) => format!("{} packets/s", grouped(rate.get())),
        None => "maximum load, then one load that all methods can hold".into(),
    };
    format!(
        "{}load        {load}\ntrials      {} of {:?}\ntime        about {:.0} s\n",
        scene.describe(),
        plan.trials(),
        plan.duration,
        plan.estimate().as_secs_f64()
    )
}

fn statements(plan: &BenchPlan) -> Vec<String> {
    let quiet = plan.sizes.first().map_or(Duration::ZERO, |setup| setup.quiet);
    vec![format!(
        "trials send for {:?} and wait {quiet:?} for missing frames, where RFC 2544 asks for 60 s and 2 s",
        plan.duration
    )]
}

fn report(ended: &Ended) -> String {
    let results = &ended.results;
    let mut text = summary::tables(&results.trials);
    text.push_str(&summary::legend(&results.trials));
    text.push_str(&summary::engines(&results.trials));
    text.push_str(&summary::not_measured(&results.not_measured));
    text.push_str(&summary::findings(&results.findings));
    text.push_str(&ended.footer());
    text
}
