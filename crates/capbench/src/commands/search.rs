//! `capbench search`: the highest load that a method sustains, by goals.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use capbench_model::figures::grouped;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Profile, TrialResult};
use capbench_plan::search::Listed;
use capbench_plan::search::{self, End, Estimate, Goal, SearchOutcome, SearchPlan, Status, Stored};
use capbench_report::formats::text::wrapped;
use capbench_report::results::RunDirectory;
use clap::Parser;

use super::measuring::{Ready, Run};
use super::scene::{Defaults, Scene};
use crate::cli::search::SearchFlags;
use crate::cli::{Cli, Command};
use crate::estimate;
use crate::exit::{Exit, Usage, print};

const DEFAULT_GOALS: &str = "ndr,pdr";

const DEFAULTS: Defaults = Defaults {
    methods: &["packet-v3"],
    sizes: &[64],
    placements: &[PlacementChoice::Same],
    quiet: Duration::from_millis(500),
};

/// Runs the command.
pub fn run(flags: &SearchFlags) -> Result<Exit> {
    if flags.list_goals {
        print(&goals(&search::presets()))?;
        return Ok(Exit::Done);
    }
    match &flags.resume {
        Some(path) => resume(path, flags),
        None => begin(flags),
    }
}

/// The names of predefined goals.
fn goals(list: &[Listed]) -> String {
    let mut text = String::new();
    for Listed { preset, source, goal } in list {
        let name =
            if *preset == goal.name { preset.to_string() } else { format!("{preset} ({})", goal.name) };
        wrapped(&mut text, "", "    ", &format!("{name}: {source}"));
        wrapped(&mut text, "    ", "    ", &goal.to_string());
    }
    text
}

fn begin(flags: &SearchFlags) -> Result<Exit> {
    let mut scene = Scene::new(&flags.scene, DEFAULTS)?;
    let plan = plan(flags, &scene)?;
    let warnings = plan.validate()?;
    let run_flags = &flags.scene.run;
    if run_flags.dry_run {
        print(&describe(&scene, &plan, flags.searches, &warnings)?)?;
        return Ok(Exit::Done);
    }
    check_link(&scene, &plan)?;
    let ready = Ready::find(&mut scene, run_flags)?;
    let setups = setups(&scene, &ready, flags.burst);
    let searches = setups.len() * flags.searches as usize;
    let trials = searches * plan.estimate()?.below.median.trials as usize;
    let run = ready.begin("search", run_flags, statements(&scene), trials)?;
    searched(run, &scene, &setups, flags.searches, &plan, &[])
}

/// Resumes an interrupted run with the flags of its start, except those that may change.
fn resume(path: &Path, allowed: &SearchFlags) -> Result<Exit> {
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
    let is_used_up = |end: End| results.searches.iter().any(|search| search.ended == end);
    if is_used_up(End::TimeUp) && allowed.time.is_none() {
        return Err(refuse("its time was used up; allow more in all with --time".into()).into());
    }
    if is_used_up(End::TrafficUp) && allowed.traffic.is_none() {
        return Err(refuse("its traffic was used up; allow more in all with --traffic".into()).into());
    }
    let mut scene = Scene::new(&flags.scene, DEFAULTS)?;
    let (time, traffic) = (allowed.time.or(flags.time), allowed.traffic.or(flags.traffic));
    let plan = plan(&SearchFlags { time, traffic, ..flags.clone() }, &scene)?;
    plan.validate()?;
    check_link(&scene, &plan)?;
    let mut ready = Ready::find(&mut scene, &flags.scene.run)?;
    let setups = setups(&scene, &ready, flags.burst);
    let last = results.trials.iter().map(TrialResult::last_number).max();
    ready.laboratory.number_after(last.unwrap_or(0));
    let searches = setups.len() * flags.searches as usize;
    let trials = searches * plan.estimate()?.below.median.trials as usize;
    let earlier = results.trials.clone();
    let run = ready.go_on(directory, results, trials)?;
    searched(run, &scene, &setups, flags.searches, &plan, &earlier)
}

/// Checks that the link carries the plan's load at every frame size, before a frame is sent or anything is saved.
pub(super) fn check_link(scene: &Scene, plan: &SearchPlan) -> Result<()> {
    for setup in &scene.sizes {
        let plan = plan.on_link(scene.path.line_rate(setup)?);
        plan.validate().with_context(|| format!("{} B", setup.label))?;
    }
    Ok(())
}

/// Runs several searches per set-up, the set-ups in turn, and saves each search when it ends.
fn searched(
    mut run: Run,
    scene: &Scene,
    setups: &[Setup],
    searches: u32,
    plan: &SearchPlan,
    earlier: &[TrialResult],
) -> Result<Exit> {
    let mut stopped = false;
    let rounds = (1..=searches).map(|nth| (searches > 1).then_some(nth));
    for (nth, setup) in rounds.flat_map(|nth| setups.iter().map(move |setup| (nth, setup))) {
        // Searches of one set-up are independent: each resumes from its own trials only.
        let own: Vec<_> = earlier.iter().filter(|trial| trial.search == nth).cloned().collect();
        let stored = Stored::new(&own, |profile| is_of(profile, setup)).map_err(Usage)?;
        let outcome = {
            let mut trial = match run.laboratory.prepare(setup) {
                Ok(trial) => trial,
                Err(error) => {
                    run.recorder.leave_out(setup, Load::Maximum, &error);
                    continue;
                }
            };
            let which = nth.map_or_else(String::new, |nth| format!(", search {nth} of {searches}"));
            let what = format!("{}, {} B, {}{which}", setup.method, setup.label, setup.placement);
            plan.run_nth(nth, &what, trial.as_mut(), stored, &mut run.recorder)?.outcome
        };
        stopped = outcome.ended == End::Stopped;
        run.recorder.searched(outcome)?;
        if stopped {
            break;
        }
    }
    let ended = run.end(stopped, |_| {})?;
    print(&ended.text())?;
    let searches = &ended.results.searches;
    Ok(match ended.exit(scene) {
        Exit::Done if !searches.iter().any(says_something) => Exit::Inconclusive,
        exit => exit,
    })
}

/// Whether the result of a search is about the method, not about its generator or its time.
pub(super) fn says_something(search: &SearchOutcome) -> bool {
    search.goals.iter().any(|goal| goal.status == Status::Regular)
}

fn plan(flags: &SearchFlags, scene: &Scene) -> Result<SearchPlan> {
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
        traffic_allowed: flags.traffic,
        quiet: scene.quiet(),
        burst_frames: flags.burst.map_or(plan.burst_frames, NonZeroU32::get),
        ..plan
    })
}

/// Every set-up that works here.
fn setups(scene: &Scene, ready: &Ready, burst: Option<NonZeroU32>) -> Vec<Setup> {
    let is_had = |setup: &Setup| !ready.left_out.contains(&(setup.placement, setup.method.clone()));
    scene.setups().filter(is_had).map(|setup| Setup { burst, ..setup }).collect()
}

fn is_of(profile: &Profile, setup: &Setup) -> bool {
    profile.method == setup.method.to_string()
        && profile.frame_size == setup.label
        && profile.placement == setup.placement.to_string()
}

fn describe(scene: &Scene, plan: &SearchPlan, repeats: u32, warnings: &[String]) -> Result<String> {
    let searches = scene.methods.len() * scene.sizes.len() * scene.placements.len() * repeats as usize;
    let mut text = scene.describe();
    for goal in &plan.goals {
        wrapped(&mut text, "goal        ", "            ", &goal.to_string());
    }
    let maximum = match plan.maximum_pps {
        Some(given) => format!("{} packets/s", grouped(given.get())),
        None => "what the generator reaches".into(),
    };
    let least = grouped(plan.least_pps.get());
    text.push_str(&format!("loads       {least} packets/s to {maximum}\n"));
    if plan.burst_frames > 1 {
        text.push_str(&format!("bursts      of {} frames\n", plan.burst_frames));
    }
    let Estimate { at_maximum, below, .. } = plan.estimate().context("cannot estimate the search")?;
    let trials = below.median.trials as usize * searches;
    text.push_str(&format!("searches    {searches} of about {trials} trials in all\n"));
    let time = format!(
        "{}; {} where the maximum load is held",
        estimate::time_of(below, plan.quiet, searches),
        estimate::roughly(at_maximum.times(searches as u32).time(plan.quiet))
    );
    wrapped(&mut text, "time        ", "            ", &time);
    text.push_str(estimate::NOISE);
    for warning in warnings {
        wrapped(&mut text, "note        ", "            ", warning);
    }
    Ok(text)
}

fn statements(scene: &Scene) -> Vec<String> {
    let quiet = scene.quiet();
    vec![format!(
        "between trials: up to {quiet:?} without a frame while some are missing, and no time to settle; RFC 2544 section \
         23 asks for 2 s and 5 s"
    )]
}
