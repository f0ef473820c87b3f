//! `capbench soak`: one load for minutes to days.

use std::time::Duration;

use anyhow::Result;
use capbench_model::figures::grouped;
use capbench_model::laboratory::Laboratory;
use capbench_model::placement::PlacementChoice;
use capbench_plan::soak::SoakPlan;
use capbench_plan::soak::record::SoakRecord;

use super::measuring::{Ended, Ready};
use super::scene::{Defaults, Scene};
use crate::cli::soak::SoakFlags;
use crate::exit::{Exit, Usage, print};

/// Defaults of a soak.
const DEFAULTS: Defaults = Defaults {
    methods: &["packet-v3"],
    sizes: &[64],
    placements: &[PlacementChoice::Same],
    quiet: Duration::from_millis(500),
};

/// Share of the frames that may be unsent, or delivered only because the generator paused. Above it a soak shows nothing about
/// the load. One clock read at the end of a segment, or a stall at the end of one segment in hundreds, leaves far less.
const BESIDE: f64 = 1e-3;

/// Runs the command.
pub fn run(flags: &SoakFlags) -> Result<Exit> {
    let mut scene = Scene::new(&flags.scene, DEFAULTS)?;
    let run_flags = &flags.scene.run;
    let plan = plan(&scene, flags)?;
    if run_flags.dry_run {
        print(&describe(&scene, &plan, flags))?;
        return Ok(Exit::Done);
    }
    let mut ready = Ready::find(&mut scene, run_flags)?;
    // Refuse what cannot be kept open before anything is saved.
    ready.laboratory.prepare(&plan.setup)?.keep_open().map(drop)?;
    let mut run = ready.begin("soak", run_flags, statements(&plan), plan.segments() as usize)?;
    print(&head(&plan))?;
    let outcome = plan.run(&mut run.laboratory, &mut run.recorder)?;
    let ended = run.end(outcome.stopped, |results| {
        results.trials.clone_from(&outcome.record.kept);
        results.complete &= outcome.failure.is_none();
        results.soak = Some(outcome.record);
    })?;
    print(&format!("\n{}", ended.text()))?;
    match outcome.failure {
        Some(failure) => Err(failure.into()),
        None => Ok(exit(&ended, &scene, flags.max_loss)),
    }
}

fn plan(scene: &Scene, flags: &SoakFlags) -> Result<SoakPlan> {
    let one = |what: &str| Usage(format!("a soak holds one load on one set-up: name one {what}"));
    let [method] = &scene.methods[..] else { return Err(one("--method").into()) };
    let [size] = &scene.sizes[..] else { return Err(one("--size").into()) };
    let [placement] = scene.placements[..] else { return Err(one("--placement").into()) };
    let mut setup = size.clone();
    setup.method = method.clone();
    setup.placement = placement;
    let interval = flags.interval.min(flags.length);
    let frames = flags.rate.get() * interval.as_secs_f64();
    if frames < 1.0 {
        let interval = humantime::format_duration(interval);
        let why = format!(
            "--rate {}: an interval of {interval} has no frame of it; give a longer --interval or a higher rate",
            flags.rate
        );
        return Err(Usage(why).into());
    }
    Ok(SoakPlan { setup, rate: flags.rate, length: flags.length, interval })
}

fn describe(scene: &Scene, plan: &SoakPlan, flags: &SoakFlags) -> String {
    format!(
        "{}load        {} packets/s, loss of up to {} allowed\nsegments    {} of {}\ntime        {}, and a short pause \
         after each segment\n",
        scene.describe(),
        grouped(plan.rate.get()),
        flags.max_loss,
        plan.segments(),
        humantime::format_duration(plan.interval),
        humantime::format_duration(plan.length)
    )
}

fn statements(plan: &SoakPlan) -> Vec<String> {
    vec![format!(
        "a soak in segments of {} on one open capture: after each the generator pauses until every frame is accounted \
         for, or {:?} long when frames are missing",
        humantime::format_duration(plan.interval),
        plan.setup.quiet
    )]
}

fn head(plan: &SoakPlan) -> String {
    format!(
        "{}, {}-byte frames, placement {}, {} packets/s for {}\n{:>10} {:>12} {:>12} {:>12}  where\n",
        plan.setup.method,
        plan.setup.label,
        plan.setup.placement,
        grouped(plan.rate.get()),
        humantime::format_duration(plan.length),
        "sent for",
        "offered/s",
        "delivered",
        "lost"
    )
}

/// Stopped or partly done like other runs; else by the loss, if the load was reached.
fn exit(ended: &Ended, scene: &Scene, max_loss: f64) -> Exit {
    let record = ended.results.soak.as_ref();
    let over = |of: fn(&SoakRecord) -> f64, limit: f64| record.is_some_and(|record| of(record) > limit);
    let contradicts = record.and_then(|record| record.whole.as_ref()).is_some_and(|whole| whole.invalid > 0);
    let limit = max_loss.max(BESIDE);
    match ended.exit(scene) {
        Exit::Stopped(signal) => Exit::Stopped(signal),
        _ if over(SoakRecord::loss_ratio, max_loss) => {
            if let Some(whole) = record.and_then(|record| record.whole.as_ref()) {
                let (lost, sent) = (whole.lost(), whole.counts.sent);
                tell!("capbench: --max-loss {max_loss}: {lost} of {sent} frames that were sent were lost");
            }
            Exit::LossOverLimit
        }
        _ if contradicts
            || over(SoakRecord::unsent_ratio, limit)
            || over(SoakRecord::untaken_ratio, limit) =>
        {
            Exit::Inconclusive
        }
        _ => Exit::Done,
    }
}
