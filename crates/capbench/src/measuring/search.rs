//! `capbench search`: the highest load that a method sustains, by goals.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use capbench_frames::StatedRate;
use capbench_judge::durations::{Planned, whole_run};
use capbench_judge::search::SearchWarning;
use capbench_judge::search::ranking::searches_to_distinguish;
use capbench_judge::search::{End, Goal, PresetGoal, SearchPlan, parse, presets};
use capbench_model::figures::grouped;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Profile};
use capbench_plan::Observer;
use capbench_plan::search::{self, Estimate, Stored};
use capbench_report::formats::text::wrapped;
use capbench_report::sentences::{goal_help, search_warning_words};
use capbench_results::{Kind, Results, RunDirectory};
use clap::{Arg, Args, FromArgMatches, value_parser};

use super::recorder::Recorder;
use super::scene::{Defaults, Scene};
use super::scene_flags::{SceneFlags, otherwise};
use super::{Ended, Plan, words};
use crate::exit::{Exit, Usage};
use crate::flag_values::positive_duration;
use crate::metrics::TextfileFlags;
use crate::output::print;

const DEFAULT_GOALS: &str = "ndr,pdr";

/// Largest number of searches of a set-up: more show nothing that these do not.
const MOST_SEARCHES: i64 = 1000;

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Search",
    mut_arg("method", |arg| otherwise(arg, "packet-v3")),
    mut_arg("size", |arg| otherwise(arg, "64")),
    mut_arg("placement", |arg| otherwise(arg, "same")),
    mut_arg("quiet", |arg| otherwise(arg, "500ms; RFC 2544 waits 2s")),
    mut_args(with_resume),
)]
pub struct SearchFlags {
    /// A preset of --list-goals, several with commas, or a goal such as mine:loss=0.1%,duration=2s,sum=10s,width=1%;
    /// may be given again; all goals share their trials [default: ndr,pdr]
    #[arg(long, value_name = "GOALS")]
    goal: Vec<String>,
    /// File with further goals: tables [goals.NAME] with the same keys
    #[arg(long, value_name = "FILE")]
    goals: Option<PathBuf>,
    /// List the goals that have a name, with their attributes, and stop
    #[arg(long)]
    list_goals: bool,
    /// Lowest load to test, such as 250k, 500Mbit/s, 1GbpsL1 or 10% of the line [default: 1000]
    #[arg(long, value_name = "RATE")]
    min_rate: Option<StatedRate>,
    /// Highest load to test [default: what the generator reaches in a test of itself]
    #[arg(long, value_name = "RATE")]
    max_rate: Option<StatedRate>,
    /// Send this many frames at once, with the load as the mean rate, instead of evenly spaced ones (RFC 2544 section 21: 16,
    /// 64, 256 and 1024)
    #[arg(long, value_name = "FRAMES")]
    burst: Option<NonZeroU32>,
    /// Trial time that each search may use; what it has shown by then is its result
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    time: Option<Duration>,
    /// Traffic that each search may send, drains and all else not counted; otherwise as --time
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    traffic: Option<Duration>,
    /// Search every set-up this many times, in turn with the others, each time from the start: the spread of the results shows how
    /// repeatable they are
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u32).range(1..=MOST_SEARCHES))]
    searches: u32,
    /// Resume the run of this directory that was interrupted, or whose time was used up, with its own flags; only --time and
    /// --traffic may be given anew
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    scene: SceneFlags,
    #[command(flatten)]
    textfile: TextfileFlags,
}

/// A run is resumed with its own flags, except for the time and traffic allowed.
fn with_resume(flag: Arg) -> Arg {
    match flag.get_id().as_str() {
        "resume" | "time" | "traffic" => flag,
        _ => flag.conflicts_with("resume"),
    }
}

struct Search {
    plan: SearchPlan,
    /// Doubts about the goals.
    warnings: Vec<SearchWarning>,
    setups: Vec<Setup>,
    /// Searches of each set-up.
    searches: u32,
    burst: Option<NonZeroU32>,
    resumed: Option<(RunDirectory, Results)>,
}

pub fn run(flags: &SearchFlags) -> Result<Exit> {
    if flags.list_goals {
        print(&goals(&presets()))?;
        return Ok(Exit::Done);
    }
    let Some(path) = &flags.resume else { return plan_and_run(flags, None) };
    let (directory, results) = RunDirectory::resume(path)?;
    let flags = flags_of(&results, flags, path)?;
    plan_and_run(&flags, Some((directory, results)))
}

/// The names of predefined goals.
fn goals(list: &[PresetGoal]) -> String {
    let mut text = String::new();
    for PresetGoal { preset, goal } in list {
        let name =
            if *preset == goal.name { preset.to_string() } else { format!("{preset} ({})", goal.name) };
        wrapped(&mut text, "", "    ", &format!("{name}: {}", goal_help::source(&goal.name)));
        wrapped(&mut text, "    ", "    ", &goal_help::words(goal));
    }
    text
}

/// The flags of an interrupted run, with the time and traffic allowed now.
fn flags_of(results: &Results, allowed: &SearchFlags, path: &Path) -> Result<SearchFlags, Usage> {
    let refuse = |why: &str| Usage(format!("--resume {}: {why}", path.display()));
    if results.complete {
        return Err(refuse("the run went through to its end; there is nothing to go on with"));
    }
    let [_, command, ..] = &results.command[..] else { return Err(refuse("it has no command line")) };
    if command != "search" {
        return Err(refuse("it is no run of capbench search"));
    }
    let line = SearchFlags::augment_args(clap::Command::new("search"));
    let read = line.try_get_matches_from(&results.command[1..]);
    let flags = read.and_then(|matches| SearchFlags::from_arg_matches(&matches));
    let flags = flags
        .map_err(|error| refuse(&format!("its command line is not understood by this version: {error}")))?;
    let is_used_up = |end: End| results.searches.iter().any(|search| search.ended == end);
    if is_used_up(End::TimeUp) && allowed.time.is_none() {
        return Err(refuse("its time was used up; allow more in all with --time"));
    }
    if is_used_up(End::TrafficUp) && allowed.traffic.is_none() {
        return Err(refuse("its traffic was used up; allow more in all with --traffic"));
    }
    let (time, traffic) = (allowed.time.or(flags.time), allowed.traffic.or(flags.traffic));
    Ok(SearchFlags { time, traffic, ..flags })
}

fn plan_and_run(flags: &SearchFlags, resumed: Option<(RunDirectory, Results)>) -> Result<Exit> {
    let scene = Scene::new(&flags.scene, Defaults::default())?;
    let plan = plan(flags, &scene)?;
    let warnings = search::validate(&plan)?;
    if !scene.run.dry_run {
        check_link(&scene, &plan)?;
    }
    let (searches, burst) = (flags.searches, flags.burst);
    super::run_monitored(
        scene,
        Search { plan, warnings, setups: Vec::new(), searches, burst, resumed },
        flags.textfile.clone().into(),
    )
}

fn plan(flags: &SearchFlags, scene: &Scene) -> Result<SearchPlan> {
    let mut goals: Vec<Goal> = Vec::new();
    for text in &flags.goal {
        goals.extend(parse(text)?);
    }
    if let Some(path) = &flags.goals {
        goals.extend(search::read_goals_file(path)?);
    }
    if goals.is_empty() {
        goals = parse(DEFAULT_GOALS)?;
    }
    let plan = SearchPlan::new(goals);
    let rate = |flag, rate: Option<StatedRate>| rate.map(|rate| scene.rate(flag, rate)).transpose();
    Ok(SearchPlan {
        least_pps: rate("--min-rate", flags.min_rate)?.unwrap_or(plan.least_pps),
        maximum_pps: rate("--max-rate", flags.max_rate)?,
        time_allowed: flags.time,
        traffic_allowed: flags.traffic,
        quiet: scene.quiet(),
        burst_frames: flags.burst.map_or(plan.burst_frames, NonZeroU32::get),
        ..plan
    })
}

/// Checks that the link carries the plan's load at every frame size, before a frame is sent or anything is saved.
pub(super) fn check_link(scene: &Scene, plan: &SearchPlan) -> Result<()> {
    for setup in &scene.sizes {
        let plan = plan.on_link(scene.path.line_rate(setup)?);
        search::validate(&plan).with_context(|| format!("{} B", setup.label()))?;
    }
    Ok(())
}

/// The time of the run.
fn time_words(estimate: &Estimate, quiet: Duration, searches: u32) -> String {
    let planned = words::planned_time(estimate.time(quiet, searches));
    let at_maximum = words::roughly(whole_run(estimate.at_maximum.times(searches).least_time(quiet)));
    format!("about {planned}; {at_maximum} if the maximum load is sustained")
}

impl Search {
    /// How many searches of each method can distinguish the methods; `None` of one method, and if these searches can.
    fn searches_needed(&self, scene: &Scene) -> Option<usize> {
        let methods = scene.methods.len();
        let others = scene.setups().count() / methods.max(1);
        let comparisons = methods * methods.saturating_sub(1) / 2 * others * self.plan.goals.len();
        let needed = searches_to_distinguish(comparisons);
        (methods > 1 && (self.searches as usize) < needed).then_some(needed)
    }
}

impl Plan for Search {
    const KIND: Kind = Kind::Search;

    fn describe(&self, scene: &Scene) -> Result<String> {
        let plan = &self.plan;
        let searches = scene.setups().count() * self.searches as usize;
        let mut text = scene.describe();
        for goal in &plan.goals {
            words::row(&mut text, "goal", goal_help::words(goal));
        }
        let maximum = match plan.maximum_pps {
            Some(given) => format!("{} packets/s", grouped(given.get())),
            None => "what the generator reaches".into(),
        };
        words::row(&mut text, "loads", format!("{} packets/s to {maximum}", grouped(plan.least_pps.get())));
        if plan.burst_frames > 1 {
            words::row(&mut text, "bursts", format!("of {} frames", plan.burst_frames));
        }
        let estimate = search::estimate(plan).context("cannot estimate the search")?;
        let trials = estimate.trials() * searches;
        words::row(&mut text, "searches", format!("{searches} of about {trials} trials in all"));
        words::row(&mut text, "time", time_words(&estimate, plan.quiet, searches as u32));
        if let Some(needed) = self.searches_needed(scene) {
            let words = format!("too few searches to distinguish the methods; --searches {needed} can");
            words::row(&mut text, "note", words);
        }
        for warning in &self.warnings {
            words::row(&mut text, "note", search_warning_words(warning));
        }
        Ok(text)
    }

    fn fit(&mut self, scene: &Scene, _: &mut dyn Laboratory) -> Result<()> {
        self.setups = scene.setups().map(|setup| Setup { burst: self.burst, ..setup }).collect();
        Ok(())
    }

    fn planned(&self) -> Result<Planned> {
        let searches = self.setups.len() as u32 * self.searches;
        let planned = search::estimate(&self.plan)?.planned(self.plan.quiet, searches);
        Ok(Planned { rounds: self.searches, ..planned })
    }

    fn statements(&self, scene: &Scene) -> Vec<String> {
        vec![format!(
            "between trials: up to {:?} without a frame while some are missing, and no time to settle; RFC 2544 section \
             23 asks for 2 s and 5 s",
            scene.quiet()
        )]
    }

    fn resumed(&mut self) -> Option<(RunDirectory, Results)> {
        self.resumed.take()
    }

    /// Several searches per set-up, the set-ups in turn. Each search is saved when it ends.
    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        let earlier = recorder.results.trials.clone();
        let searches = self.searches;
        let rounds = (1..=searches).map(|nth| (searches > 1).then_some(nth));
        for (nth, setup) in rounds.flat_map(|nth| self.setups.iter().map(move |setup| (nth, setup))) {
            // Searches of one set-up are independent: each resumes from its own trials only.
            let own: Vec<_> = earlier.iter().filter(|trial| trial.search == nth).cloned().collect();
            let stored = Stored::new(&own, |profile| is_of(profile, setup)).map_err(Usage)?;
            let mut trial = match laboratory.prepare(setup) {
                Ok(trial) => trial,
                Err(error) => {
                    recorder.skips(setup, Load::Maximum, &error);
                    continue;
                }
            };
            let which = nth.map_or_else(String::new, |nth| format!(", search {nth} of {searches}"));
            let what = format!("{}, {} B, {}{which}", setup.method, setup.label(), setup.placement);
            let outcome = search::run_nth(&self.plan, nth, &what, trial.as_mut(), stored, recorder)?.outcome;
            let stopped = outcome.ended == End::Stopped;
            recorder.searched(outcome)?;
            if stopped {
                return Ok(true.into());
            }
        }
        Ok(Ended::default())
    }
}

fn is_of(profile: &Profile, setup: &Setup) -> bool {
    profile.method == setup.method
        && profile.frame_size == setup.label()
        && profile.placement == setup.placement.name()
}
