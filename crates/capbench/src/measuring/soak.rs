//! `capbench soak`: one load for minutes to days.

use std::time::Duration;

use anyhow::Result;
use capbench_frames::StatedRate;
use capbench_judge::durations::Planned;
use capbench_model::figures::grouped;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_plan::soak::SoakPlan;
use capbench_results::Kind;
use clap::Args;
use humantime::format_duration;

use super::recorder::Recorder;
use super::scene::{Defaults, Scene};
use super::scene_flags::{SceneFlags, otherwise};
use super::{Ended, Plan, soak_progress, words};
use crate::exit::{Exit, Usage};
use crate::flag_values::{positive_duration, share};
use crate::metrics::MetricsFlags;

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Soak",
    mut_arg("method", |arg| otherwise(arg, "packet-v3")),
    mut_arg("size", |arg| otherwise(arg, "64")),
    mut_arg("placement", |arg| otherwise(arg, "same")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms")),
    mut_arg("repeats", |arg| arg.hide(true)),
)]
pub struct SoakFlags {
    /// Load, such as 100000, 250k, 1.5Mpps, 500Mbit/s, 1GbpsL1 or 10% of the line
    #[arg(long, value_name = "RATE")]
    rate: StatedRate,
    /// How long to send, such as 10m, 12h or 3d
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    length: Duration,
    /// Length of an interval; after each the generator pauses until every frame is accounted for
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval)]
    interval: Duration,
    /// Share of the sent frames that may be lost, such as 1e-6 or 0.1%; more ends with exit code 3
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    max_loss: f64,
    #[command(flatten)]
    scene: SceneFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
}

/// Reads the length of an interval: long compared with its pause, and planned times have to fit into the frames' stamps.
fn interval(text: &str) -> Result<Duration, String> {
    let length = positive_duration(text)?;
    let is_usable = (Duration::from_millis(500)..=Duration::from_secs(3600)).contains(&length);
    is_usable.then_some(length).ok_or_else(|| "an interval lasts between 500ms and 1h".into())
}

struct Soak {
    plan: SoakPlan,
    max_loss: f64,
}

pub fn run(flags: &SoakFlags) -> Result<Exit> {
    let scene = Scene::new(&flags.scene, Defaults::default())?;
    let plan = plan(&scene, flags)?;
    super::run_monitored(scene, Soak { plan, max_loss: flags.max_loss }, flags.metrics.clone().into())
}

fn plan(scene: &Scene, flags: &SoakFlags) -> Result<SoakPlan> {
    let one = |what: &str| Usage(format!("a soak runs one load on one set-up: name one {what}"));
    let [method] = &scene.methods[..] else { return Err(one("--method").into()) };
    let [size] = &scene.sizes[..] else { return Err(one("--size").into()) };
    let [placement] = scene.placements[..] else { return Err(one("--placement").into()) };
    let setup = Setup { method: method.clone(), placement, ..size.clone() };
    let interval = flags.interval.min(flags.length);
    let rate = scene.rate("--rate", flags.rate)?;
    if rate.get() * interval.as_secs_f64() < 1.0 {
        let interval = format_duration(interval);
        let why = format!(
            "--rate {rate}: an interval of {interval} has no frame of it; give a longer --interval or a higher rate"
        );
        return Err(Usage(why).into());
    }
    Ok(SoakPlan { setup, rate, length: flags.length, interval })
}

impl Plan for Soak {
    const KIND: Kind = Kind::Soak;

    fn describe(&self, scene: &Scene) -> Result<String> {
        let (SoakPlan { rate, length, interval, .. }, max_loss) = (&self.plan, self.max_loss);
        let mut text = scene.describe();
        let rate = grouped(rate.get());
        words::row(&mut text, "load", format!("{rate} packets/s, loss of up to {max_loss} allowed"));
        let segments = format!("{} of {}", self.plan.segments(), format_duration(*interval));
        words::row(&mut text, "segments", segments);
        let time = format!("{}, and a short pause after each segment", format_duration(*length));
        words::row(&mut text, "time", time);
        Ok(text)
    }

    /// Refuses what cannot be kept open.
    fn fit(&mut self, _: &Scene, laboratory: &mut dyn Laboratory) -> Result<()> {
        Ok(laboratory.prepare(&self.plan.setup)?.keep_open().map(drop)?)
    }

    fn planned(&self) -> Result<Planned> {
        Ok(Planned { trials: self.plan.segments() as usize, ..Planned::default() })
    }

    fn statements(&self, _: &Scene) -> Vec<String> {
        vec![format!(
            "a soak in segments of {} on one open capture: after each the generator pauses until every frame is accounted \
             for, or {:?} long when frames are missing",
            format_duration(self.plan.interval),
            self.plan.setup.quiet
        )]
    }

    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        recorder.print(&soak_progress::head(&self.plan))?;
        let outcome = self.plan.run(laboratory, recorder)?;
        recorder.print("\n")?;
        recorder.results.trials.clone_from(&outcome.record.kept);
        recorder.results.soak = Some(outcome.record);
        Ok(Ended { stopped: outcome.stopped, failure: outcome.failure })
    }

    fn max_loss(&self) -> f64 {
        self.max_loss
    }
}
