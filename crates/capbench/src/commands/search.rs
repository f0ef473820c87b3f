//! `capbench search`: the highest load that a method holds, by goals.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use capbench_measure::findings;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::results::{Results, RunDirectory};
use capbench_measure::search::{self, Cost, End, Estimate, Goal, SearchOutcome, SearchPlan, Status, Stored};
use capbench_measure::trial::{Load, Profile};
use clap::Parser;

use super::measuring::{Ended, Ready, Run};
use super::scene::{Defaults, Scene};
use crate::cli::search::SearchFlags;
use crate::cli::{Cli, Command};
use crate::exit::{Exit, Usage, print};
use crate::{searches, summary};

const DEFAULT_GOALS: &str = "ndr,pdr";

/// What a trial takes beside sending, for the estimate: opening rings, draining, reading counters.
const BETWEEN: Duration = Duration::from_millis(250);

const DEFAULTS: Defaults = Defaults {
    methods: &["packet-v3"],
    sizes: &[64],
    placements: &[PlacementChoice::Same],
    quiet: Duration::from_millis(500),
};

/// Runs the command.
pub fn run(flags: &SearchFlags) -> Result<Exit> {
    if flags.list_goals {
        print(&searches::goals(&search::presets::list()))?;
        return Ok(Exit::Done);
    }
    match &flags.resume {
        Some(path) => resume(path, flags.time),
        None => begin(flags),
    }
}

fn begin(flags: &SearchFlags) -> Result<Exit> {
    let mut scene = Scene::new(&flags.scene, DEFAULTS)?;
    let plan = plan(flags)?;
    let warnings = plan.validate()?;
    let run_flags = &flags.scene.run;
    if run_flags.dry_run {
        print(&describe(&scene, &plan, &warnings)?)?;
        return Ok(Exit::Done);
    }
    let ready = Ready::find(&mut scene, run_flags)?;
    let setups = setups(&scene, &ready);
    let trials = setups.len() * plan.estimate()?.median.trials as usize;
    let run = ready.begin("search", run_flags, statements(&scene), trials)?;
    searched(run, &scene, &setups, &plan, &[])
}

/// Goes on with a run that was interrupted, by the flags that it was begun with, but for the time allowed.
fn resume(path: &Path, time: Option<Duration>) -> Result<Exit> {
    let (directory, results) = RunDirectory::resume(path)?;
    let refuse = |why: String| Usage(format!("--resume {}: {why}", path.display()));
    if results.complete {
        return Err(refuse("the run went through to its end; there is nothing to go on with".into()).into());
    }
    let command = Cli::try_parse_from(&results.command)
        .map_err(|error| refuse(format!("its command line is not understood by this version: {error}")))?;
    let Command::Search(flags) = command.command else {
        return Err(refuse("it is no run of capbench search".into()).into());
    };
    let is_used_up = results.searches.iter().any(|search| search.ended == End::TimeUp);
    if is_used_up && time.is_none() {
        return Err(refuse("its time was used up; allow more in all with --time".into()).into());
    }
    let mut scene = Scene::new(&flags.scene, DEFAULTS)?;
    let plan = plan(&SearchFlags { time: time.or(flags.time), ..flags.clone() })?;
    plan.validate()?;
    let ready = Ready::find(&mut scene, &flags.scene.run)?;
    let setups = setups(&scene, &ready);
    let trials = setups.len() * plan.estimate()?.median.trials as usize;
    let earlier = results.trials.clone();
    let run = ready.go_on(directory, results, trials)?;
    searched(run, &scene, &setups, &plan, &earlier)
}

/// A search for every set-up, each saved when it ends.
fn searched(
    mut run: Run,
    scene: &Scene,
    setups: &[Setup],
    plan: &SearchPlan,
    earlier: &[capbench_measure::trial::TrialResult],
) -> Result<Exit> {
    let mut stopped = false;
    for setup in setups {
        let stored = Stored::new(earlier, |profile| is_of(profile, setup)).map_err(Usage)?;
        let outcome = {
            let mut trial = match run.laboratory.prepare(setup) {
                Ok(trial) => trial,
                Err(error) => {
                    run.recorder.leave_out(setup, Load::Maximum, &error);
                    continue;
                }
            };
            run.recorder.about(format!("{}, {} B, {}", setup.method, setup.label, setup.placement));
            plan.run(trial.as_mut(), stored, &mut run.recorder)?.outcome
        };
        stopped = outcome.ended == End::Stopped;
        run.recorder.searched(outcome)?;
        if stopped {
            break;
        }
    }
    let ended = run.end(stopped, |results| {
        let of_searches = results.searches.iter().flat_map(SearchOutcome::findings);
        results.findings = of_searches.chain(findings::find(&results.trials)).collect();
    })?;
    print(&report(&ended))?;
    let searches = &ended.results.searches;
    Ok(match ended.exit(scene) {
        Exit::Done if !searches.iter().any(says_something) => Exit::Inconclusive,
        exit => exit,
    })
}

/// Whether a search has a result that is one of the method, and not of its generator or its time.
fn says_something(search: &SearchOutcome) -> bool {
    search.goals.iter().any(|goal| goal.status == Status::Regular)
}

fn plan(flags: &SearchFlags) -> Result<SearchPlan> {
    let mut goals: Vec<Goal> = Vec::new();
    for text in &flags.goal {
        goals.extend(search::parse(text)?);
    }
    if let Some(path) = &flags.goals {
        goals.extend(search::read(path)?);
    }
    if goals.is_empty() {
        goals = search::parse(DEFAULT_GOALS)?;
    }
    let plan = SearchPlan::new(goals);
    Ok(SearchPlan {
        least_pps: flags.min_rate.unwrap_or(plan.least_pps),
        maximum_pps: flags.max_rate,
        time_allowed: flags.time,
        ..plan
    })
}

/// Every set-up that can be had here.
fn setups(scene: &Scene, ready: &Ready) -> Vec<Setup> {
    let is_had = |setup: &Setup| !ready.left_out.contains(&(setup.placement, setup.method.clone()));
    scene.setups().filter(is_had).collect()
}

fn is_of(profile: &Profile, setup: &Setup) -> bool {
    profile.method == setup.method.to_string()
        && profile.frame_size == setup.label
        && profile.placement == setup.placement.to_string()
}

fn describe(scene: &Scene, plan: &SearchPlan, warnings: &[String]) -> Result<String> {
    let searches = scene.methods.len() * scene.sizes.len() * scene.placements.len();
    let mut text = scene.describe();
    for goal in &plan.goals {
        summary::wrapped(&mut text, "goal        ", "            ", &goal.to_string());
    }
    let maximum = match plan.maximum_pps {
        Some(given) => format!("{} packets/s", summary::thousands(given.get())),
        None => "what the generator reaches".into(),
    };
    let least = summary::thousands(plan.least_pps.get());
    text.push_str(&format!("loads       {least} packets/s to {maximum}\n"));
    let Estimate { at_maximum, least, median, most } =
        plan.estimate().context("cannot estimate the search")?;
    let seconds = |cost: Cost| (cost.with(BETWEEN) * searches as u32).as_secs_f64();
    let trials = median.trials as usize * searches;
    text.push_str(&format!("searches    {searches} of about {trials} trials in all\n"));
    let time = format!(
        "about {:.0} s: {:.0} to {:.0} s without noise, which adds to it; {:.0} s where the maximum load is held",
        seconds(median),
        seconds(least),
        seconds(most),
        seconds(at_maximum)
    );
    summary::wrapped(&mut text, "time        ", "            ", &time);
    for warning in warnings {
        summary::wrapped(&mut text, "note        ", "            ", warning);
    }
    Ok(text)
}

fn statements(scene: &Scene) -> Vec<String> {
    let quiet = scene.sizes.first().map_or(Duration::ZERO, |setup| setup.quiet);
    vec![format!(
        "between trials: up to {quiet:?} without a frame while some are missing, and no time to settle; RFC 2544 section \
         23 asks for 2 s and 5 s"
    )]
}

fn report(ended: &Ended) -> String {
    let results: &Results = &ended.results;
    let mut text = String::new();
    for search in &results.searches {
        text.push_str(&searches::search(search));
    }
    text.push_str(&summary::engines(&results.trials));
    text.push_str(&summary::not_measured(&results.not_measured));
    // What follows from the searches stands above, in tables.
    text.push_str(&summary::findings(&findings::find(&results.trials)));
    text.push_str(&ended.footer());
    text
}
