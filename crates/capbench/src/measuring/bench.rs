//! `capbench bench`: compares capture methods, the main job.

use std::time::Duration;

use anyhow::Result;
use capbench_frames::StatedRate;
use capbench_judge::comparison::{Thresholds, of_pairs};
use capbench_judge::durations::Planned;
use capbench_judge::recommendation::recommend;
use capbench_model::figures::grouped;
use capbench_model::laboratory::Laboratory;
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_model::requirement::Requirement;
use capbench_model::statement::Statement;
use capbench_plan::bench::{BenchPlan, Pace};
use capbench_results::{Kind, Results};
use capbench_sys::host::affinity;
use clap::Args;

use super::recorder::Recorder;
use super::scene::{Defaults, Scene};
use super::scene_flags::{SceneFlags, otherwise};
use super::{Ended, Plan, seed, words};
use crate::exit::{Exit, Unsupported, Usage};
use crate::flag_values::{positive_duration, share};
use crate::flags::ThresholdFlags;
use crate::metrics::TextfileFlags;

/// Visits of a comparison without `--visits`: 12 pairs are enough to detect a change of one figure among 40.
const PAIRS: u32 = 12;

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Trials",
    mut_arg("method", |arg| otherwise(arg, "default; with --quick quick")),
    mut_arg("size", |arg| otherwise(arg, "64,512,1518; with --quick 64")),
    mut_arg("placement", |arg| otherwise(arg, "same,other; same if two CPUs do all of it")),
    mut_arg("threshold", |arg| arg.requires("against")),
    mut_arg("loss_threshold", |arg| arg.requires("against")),
    mut_arg("quiet", |arg| otherwise(arg, "150ms; RFC 2544 waits 2s")),
)]
pub struct BenchFlags {
    /// One load instead of maximum load, turns and searches, such as 100000, 250k, 1.5Mpps, 500Mbit/s, 1GbpsL1 or 10% of the
    /// line: which of the methods that sustain it is cheapest?
    #[arg(long, value_name = "RATE")]
    rate: Option<StatedRate>,
    /// Length of a trial; longer ones lengthen searches and the whole bench in proportion [default: 400ms; with --quick 300ms]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Under 20 seconds instead of 90: one frame size, five methods, sustained rates to 10 % instead of 5 %
    #[arg(long)]
    quick: bool,
    /// How often every method is measured at every load, in random order and with the methods in turn. Comparisons of
    /// runs need several [default: 1; with --against 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    visits: Option<u16>,
    /// Compare each method with this one in pairs of trials that run side by side, A B, then B A, as often as --visits says
    #[arg(long, value_name = "METHOD")]
    against: Option<String>,
    /// Exit with code 3 unless METHOD sustains RATE in every set-up, such as packet-v3:500k or, as for --rate,
    /// packet-v3:500Mbit/s; several with commas
    #[arg(long, value_name = "METHOD:RATE", value_delimiter = ',')]
    require: Vec<Requirement<StatedRate>>,
    /// Share of the frames that --require allows to be lost, such as 0.1%; with --rate alone, exit with code 3 if a method loses
    /// more
    #[arg(long, value_name = "RATIO", value_parser = share)]
    max_loss: Option<f64>,
    /// Names the random order of visits; the same seed gives the same order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    thresholds: ThresholdFlags,
    #[command(flatten)]
    scene: SceneFlags,
    #[command(flatten)]
    textfile: TextfileFlags,
}

struct Bench {
    plan: BenchPlan,
    /// Whether the default placements are without `other`: the CPUs do not suffice for it.
    leaves_out_other: bool,
    requirements: Vec<Requirement>,
    max_loss: f64,
    thresholds: Thresholds,
}

pub fn run(flags: &BenchFlags) -> Result<Exit> {
    let mut scene_flags = flags.scene.clone();
    if let Some(against) = &flags.against {
        if scene_flags.method.is_empty() {
            scene_flags.method.push(default_methods(flags.quick).into());
        }
        scene_flags.method.push(against.clone());
    }
    let defaults = Defaults {
        methods: default_methods(flags.quick),
        sizes: if flags.quick { &[64] } else { &[64, 512, 1518] },
        placements: &[PlacementChoice::Same, PlacementChoice::Other],
        quiet_ms: 150,
        ..Defaults::default()
    };
    let mut scene = Scene::new(&scene_flags, defaults)?;
    // The CPUs of other hosts are not known yet.
    let leaves_out_other =
        !scene_flags.names_placement() && scene.path.is_on_this_host() && !has_three_cpus()?;
    if leaves_out_other {
        scene.placements = vec![PlacementChoice::Same];
    }
    let plan = plan(&scene, flags)?;
    let requirements = requirements(flags, &scene, &plan)?;
    let max_loss = flags.max_loss.unwrap_or(0.0);
    let thresholds = flags.thresholds.thresholds_or(Thresholds::default());
    super::run_monitored(
        scene,
        Bench { plan, leaves_out_other, requirements, max_loss, thresholds },
        flags.textfile.clone().into(),
    )
}

/// What the user requires of methods: named loads, or with a largest loss alone, the load of the run from every method.
fn requirements(flags: &BenchFlags, scene: &Scene, plan: &BenchPlan) -> Result<Vec<Requirement>> {
    if let Some(other) = flags.require.iter().find(|require| !plan.methods.contains(&require.method)) {
        return Err(Usage(format!(
            "--require {}: the method is not measured; name it with --method",
            other.method
        ))
        .into());
    }
    match (&flags.require[..], plan.rate, flags.max_loss) {
        ([], Some(rate), Some(_)) => {
            let of = |method: &MethodSpec| Requirement { method: method.clone(), rate };
            Ok(plan.methods.iter().map(of).collect())
        }
        ([], None, Some(_)) => {
            let why = "--max-loss: of which load? Add --rate RATE for all methods, or --require METHOD:RATE for some";
            Err(Usage(why.into()).into())
        }
        (named, ..) => {
            let of = |Requirement { method, rate }: &Requirement<StatedRate>| {
                Ok(Requirement { method: method.clone(), rate: scene.rate("--require", *rate)? })
            };
            named.iter().map(of).collect()
        }
    }
}

fn plan(scene: &Scene, flags: &BenchFlags) -> Result<BenchPlan> {
    let against = flags.against.as_deref().map(str::parse::<MethodSpec>).transpose();
    let against = against.map_err(|why| Usage(format!("--against: {why}")))?;
    let is_other = |method: &&MethodSpec| against.as_ref() != Some(*method);
    let methods: Vec<MethodSpec> = scene.methods.iter().filter(is_other).cloned().collect();
    if methods.is_empty() {
        return Err(Usage("--against: name another --method to compare with it".into()).into());
    }
    let pace = Pace::new(flags.quick);
    let takes_turns = methods.len() > 1 && against.is_none() && flags.visits.is_none();
    let turns = pace.turns(flags.rate.is_some());
    Ok(BenchPlan {
        methods,
        sizes: scene.sizes.clone(),
        placements: scene.placements.clone(),
        duration: flags.duration.unwrap_or(pace.trial),
        rate: flags.rate.map(|rate| scene.rate("--rate", rate)).transpose()?,
        visits: flags.visits.map_or(if against.is_some() { PAIRS } else { 1 }, u32::from),
        seed: seed(flags.seed),
        searching: (flags.rate.is_none() && against.is_none())
            .then(|| pace.searching(flags.duration, scene.quiet())),
        turns: takes_turns.then_some(turns),
        against,
        left_out: Vec::new(),
    })
}

/// The set of methods of a bench: a quick one has more time for each of fewer.
fn default_methods(is_quick: bool) -> &'static str {
    if is_quick { "quick" } else { "default" }
}

/// Whether generator, kernel and application can have a CPU each.
fn has_three_cpus() -> Result<bool> {
    Ok(affinity::allowed_cpus()?.len() > 2)
}

/// Why placement `other` is not measured by default on a small host.
const TWO_CPUS: &str = "placement other is left out: on two CPUs the generator's CPU would do the kernel's receive work; name --placement same,other to measure it";

impl Bench {
    /// The deviation from what a user may expect that is known before the first trial.
    fn deviation(&self) -> Option<String> {
        self.leaves_out_other.then(|| TWO_CPUS.to_string())
    }
}

impl Plan for Bench {
    const KIND: Kind = Kind::Bench;

    fn describe(&self, scene: &Scene) -> Result<String> {
        let BenchPlan { rate, against, visits, duration, .. } = &self.plan;
        let mut text = scene.describe();
        let load = match rate {
            Some(rate) => format!("{} packets/s", grouped(rate.get())),
            None if self.plan.searching.is_none() => "maximum load, then one that all sustain".into(),
            None if self.plan.turns.is_some() => {
                "maximum load, one that the best method just misses, one that all sustain, the highest that each sustains"
                    .into()
            }
            None => "maximum load, the highest that each method sustains, then one that all sustain".into(),
        };
        words::row(&mut text, "load", load);
        if let Some(searching) = &self.plan.searching {
            let words = format!(
                "to {} if the time suffices, in trials of {:?}",
                searching.precision, searching.trial
            );
            words::row(&mut text, "precision", words);
        }
        if let Some(against) = against {
            let words = format!("{visits} pairs of {against} and each other method, at every load");
            words::row(&mut text, "visits", words);
        } else if *visits > 1 {
            let words = format!("{visits} of every method at every load, in random order");
            words::row(&mut text, "visits", words);
        }
        words::row(&mut text, "trials", format!("{} of {duration:?}", self.plan.trials()));
        let most = if self.plan.searching.is_some() || self.plan.turns.is_some() { "up to" } else { "about" };
        words::row(&mut text, "time", format!("{most} {:.0} s", self.plan.estimate().as_secs_f64()));
        if let Some(statement) = self.deviation() {
            words::row(&mut text, "note", statement);
        }
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

    fn planned(&self) -> Result<Planned> {
        Ok(Planned { trials: self.plan.trials(), ..Planned::default() })
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
        if self.plan.turns.is_some() {
            statements.push(format!(
                "in rounds of short trials at one load, each method that was not yet known to be worse ran once, in random order \
                 (xoshiro256++ with seed {seed})"
            ));
        }
        statements.extend(self.deviation());
        statements
    }

    fn max_loss(&self) -> f64 {
        self.max_loss
    }

    fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Searches whose time was up show what they found: a bench has no more time than it was given.
    fn is_whole(&self, _: &Results) -> bool {
        true
    }

    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        let outcome = self.plan.run(laboratory, recorder)?;
        let results = &mut recorder.results;
        results.statement_facts.extend(outcome.left_out.into_iter().map(Statement::NotMeasured));
        results.recommended = recommend(&results.trials, &results.searches);
        results.comparisons = of_pairs(&results.trials, &outcome.pairs, self.thresholds);
        Ok(outcome.stopped.into())
    }
}
