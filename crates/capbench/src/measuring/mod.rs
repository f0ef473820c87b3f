//! Commands that run trials. The flags of each become one plan, which `--dry-run` prints; [`run`] measures it:
//! flags → plan → trials → saved results → the report's text → exit code. Nothing reads flags after the plan is made.

mod agent_words;
pub mod bench;
mod path;
mod recorder;
pub mod reproduce;
pub mod rfc2544;
mod scene;
mod scene_flags;
pub mod search;
mod shortfall;
pub mod soak;
mod soak_progress;
pub mod sweep;
pub mod words;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use capbench_dataset::{run_id, tables};
use capbench_host::host_id;
use capbench_judge::conclusive::ended_by_themselves;
use capbench_judge::durations::Planned;
use capbench_judge::livelock;
use capbench_model::TrialError;
use capbench_model::environment::{Difference, Environment};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::method_spec::MethodSpec;
use capbench_model::not_measured::NotMeasured;
use capbench_model::placement::PlacementChoice;
use capbench_model::requirement::Requirement;
use capbench_model::saved::Saved;
use capbench_model::statement::Statement;
use capbench_model::trial::TrialResult;
use capbench_plan::guards::{Guarded, Policy};
use capbench_report::formats::text;
use capbench_report::sentences::host_difference_words;
use capbench_report::{report, save, sentences};
use capbench_results::read;
use capbench_results::{Kind, Results, RunDirectory, SCHEMA_VERSION};

use self::path::{Path, Site, Trace};
use self::recorder::{Recorder, save_with_words};
use self::scene::Scene;
use crate::exit::{self, Exit, Failure, Unsupported, Usage};
use crate::metrics::{Exporter, MetricsOutput, Run as Monitor};
use crate::output::print;
use crate::{command_line, recommended};

/// What a measuring command will do, decided once from its flags.
pub trait Plan {
    /// What it measures; its command names the results folder.
    const KIND: Kind;

    /// What `--dry-run` prints.
    fn describe(&self, scene: &Scene) -> Result<String>;

    /// Leaves out what does not run here, which `scene` then lists. Mistakes that only the host shows end the command before
    /// anything is saved.
    fn fit(&mut self, scene: &Scene, laboratory: &mut dyn Laboratory) -> Result<()>;

    /// The trials and their time, as far as known.
    fn planned(&self) -> Result<Planned>;

    /// Statements about the run for its results, such as deviations from a standard.
    fn statements(&self, scene: &Scene) -> Vec<String>;

    /// The interrupted run that this one resumes.
    fn resumed(&mut self) -> Option<(RunDirectory, Results)> {
        None
    }

    /// Runs the trials.
    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended>;

    /// Whether its results are what the plan requested, once it ran to its end.
    fn is_whole(&self, results: &Results) -> bool {
        ended_by_themselves(&results.searches, &results.rfc2544)
    }

    /// Share of the frames that may be lost.
    fn max_loss(&self) -> f64 {
        0.0
    }

    /// Loads that methods must sustain.
    fn requirements(&self) -> &[Requirement] {
        &[]
    }
}

/// How the trials of a plan ended.
#[derive(Default)]
pub struct Ended {
    /// Whether the user stopped them.
    pub stopped: bool,
    /// What ended them early. The trials before it are saved.
    pub failure: Option<TrialError>,
}

impl From<bool> for Ended {
    fn from(stopped: bool) -> Self {
        Self { stopped, failure: None }
    }
}

/// Measures a plan, saves the results after every trial, of short ones once a second, and prints the report.
pub fn run<P: Plan>(scene: Scene, plan: P) -> Result<Exit> {
    run_monitored(scene, plan, MetricsOutput::default())
}

/// The same, with counters for monitoring.
pub fn run_monitored<P: Plan>(scene: Scene, plan: P, output: MetricsOutput) -> Result<Exit> {
    if scene.run.dry_run {
        print(&(plan.describe(&scene)? + &describe_agents(&scene)?))?;
        return Ok(Exit::Done);
    }
    let interface = scene.path.receiver();
    let mut exporter = Exporter::open(&output, P::KIND.command(), &interface)?;
    if let Some(exporter) = &mut exporter {
        exporter.serve(&scene.cpus())?;
    }
    let monitor = exporter.as_mut().map(|exporter| exporter.run(&interface));
    let mut saved = None;
    let done = measure(scene, plan, monitor.clone(), &mut saved);
    if let Some(monitor) = monitor {
        monitor.end(saved.as_ref(), exit::number(&done));
    }
    done
}

/// Measures; `saved` becomes the results as they were saved last.
fn measure<P: Plan>(
    mut scene: Scene,
    mut plan: P,
    monitor: Option<Monitor>,
    saved: &mut Option<Results>,
) -> Result<Exit> {
    let (mut laboratory, stop) = Site::open(&scene.path, &scene.programs, scene.run.tracing())?;
    let not_measured = preflight(&mut scene, &mut laboratory)?;
    let environment = laboratory.environment();
    let policy = Policy { repeats: scene.run.repeats, ..Policy::default() };
    let mut laboratory = Guarded::new(laboratory, policy, stop.flag());
    plan.fit(&scene, &mut laboratory)?;
    let mut planned = plan.planned()?;
    let (directory, results) = match plan.resumed() {
        Some((directory, earlier)) => {
            // How much of the plan is left is not known.
            planned.time = None;
            let last = earlier.trials.iter().map(TrialResult::last_number).max();
            laboratory.number_after(last.unwrap_or(0));
            let results = resumed(P::KIND, earlier, &environment, not_measured, &directory)?;
            (directory, results)
        }
        None => begun(P::KIND, &scene, environment, plan.statements(&scene), not_measured)?,
    };
    let mut recorder = Recorder::new(directory, results, planned, stop.clone(), monitor)?;
    let Ended { stopped, failure } = plan.run(&mut laboratory, &mut recorder)?;
    let Recorder { mut directory, mut results, failures, .. } = recorder.finish();
    if let Some((_, failure)) = failures.first().filter(|_| results.trials.is_empty() && !stopped) {
        // What could not be measured, and why, is all that this run says.
        results.exit_code = Some(failure.code());
        save_with_words(&mut directory, &mut results)?;
        return Err(failure.clone().into());
    }
    results.complete = !stopped && failure.is_none() && plan.is_whole(&results);
    conclude(&mut results, laboratory.statements());
    let signal = stopped.then(|| stop.signal());
    let exit = exit_of(&scene, &plan, &results, signal, &failures);
    let code = failure.as_ref().map_or(exit.number(), exit::of_trial);
    // Saved together: a run that is killed from now on has an exit code.
    results.exit_code = Some(code);
    save_with_words(&mut directory, &mut results)?;
    *saved = Some(results.clone());
    // A bench that was stopped has not measured all methods.
    if results.complete && scene.path.receives_here() {
        remember(&results);
    }
    let report = report::report(&read::Run::new(results.clone(), directory.path()));
    let mut files = vec!["results.json", "trials.csv"];
    match save::page(&report, &directory) {
        Ok(_) => files.push(save::PAGE),
        Err(error) => {
            let path = directory.path().display();
            tell!("capbench: {error}; the results are saved, and `capbench report {path}` writes it again");
        }
    }
    print(&text::ended(&report, directory.path(), &files, scene.run.extent()))?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    for line in shortfall::lines(exit, &results, plan.requirements(), plan.max_loss()) {
        tell!("capbench: {line}");
    }
    Ok(exit)
}

/// The exit code of a run that no failure of a trial ended.
fn exit_of<P: Plan>(
    scene: &Scene,
    plan: &P,
    results: &Results,
    signal: Option<u8>,
    failures: &[(MethodSpec, Failure)],
) -> Exit {
    let is_named = |method: &MethodSpec| scene.is_named(method);
    match exit::of_measurement(results, signal, failures, is_named, plan.max_loss()) {
        // The requirements are the question of the run.
        Exit::Done | Exit::Inconclusive if !plan.requirements().is_empty() => {
            exit::of_requirements(results, plan.requirements(), plan.max_loss())
        }
        exit => exit,
    }
}

/// The last rows of a plan: what the agents of its path say of themselves.
fn describe_agents(scene: &Scene) -> Result<String> {
    let mut text = String::new();
    if let Path::Agents(_) = scene.path
        && let (Site::Agents(mut laboratory), _) = Site::open(&scene.path, &scene.programs, Trace::Never)?
    {
        let described = laboratory.describe();
        for end in &described.ends {
            words::row(&mut text, &end.location, agent_words::end(end));
        }
        for error in &described.absent {
            words::row(&mut text, "absent", error);
        }
        if !described.unknown.is_empty() {
            words::row(&mut text, "unknown", agent_words::unknown(&described.unknown));
        }
        words::row(&mut text, "one-way", agent_words::one_way(&laboratory.describe_clocks()?));
    }
    Ok(text)
}

/// Keeps what is certain of a bench of this host for `record --method auto`.
fn remember(results: &Results) {
    let Some(folder) = recommended::folder() else { return };
    if let Err(error) = recommended::save(&folder, results).map(drop) {
        let path = folder.display();
        tell!("capbench: record --method auto will not know this bench: cannot write in {path}: {error}");
    }
}

/// A new results folder, and the results before the first trial.
fn begun(
    kind: Kind,
    scene: &Scene,
    environment: Environment,
    statements: Vec<String>,
    not_measured: Vec<NotMeasured>,
) -> Result<(RunDirectory, Results)> {
    let started = SystemTime::now();
    let path = scene.run.out.clone().unwrap_or_else(|| {
        let time = humantime::format_rfc3339_seconds(started).to_string().replace([':', '-'], "");
        PathBuf::from("capbench-results").join(format!("{}-{time}", kind.command()))
    });
    let directory =
        RunDirectory::create(&path).context("cannot save results; name another directory with --out")?;
    let results = Results {
        schema_version: SCHEMA_VERSION,
        kind: Some(kind),
        command: command_line::words(),
        started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        run_id: Some(run_id::new()),
        complete: false,
        environment,
        statement_facts: statements.into_iter().map(|text| Statement::Text { text }).collect(),
        not_measured,
        ..Results::default()
    };
    // Between locations, the facts are those of the host that receives.
    let host_id = match results.environment.hosts.is_empty() {
        true => host_id::host_id(),
        false => tables::saved_host_id(&results),
    };
    Ok((directory, Results { host_id, ..results }))
}

/// The results of an interrupted run, to be continued. Its conclusions are computed anew at the end. Trials of two environments
/// are no single result.
fn resumed(
    kind: Kind,
    earlier: Results,
    environment: &Environment,
    not_measured: Vec<NotMeasured>,
    directory: &RunDirectory,
) -> Result<Results> {
    let differences = earlier.environment.differences(environment);
    if !differences.is_empty() {
        let mut list = Vec::new();
        for Difference { fact, then, now } in &differences {
            list.push(host_difference_words(fact, then, now));
        }
        return Err(Usage(format!(
            "--resume {}: its trials were measured elsewhere ({}); begin a new search, or go on where they were",
            directory.path().display(),
            list.join("; ")
        ))
        .into());
    }
    let mut results = Results {
        kind: Some(kind),
        searches: Vec::new(),
        answers: Vec::new(),
        findings: Vec::new(),
        caveats: Vec::new(),
        exit_code: None,
        ..earlier
    };
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    let after_trials = results.trials.len() as u64;
    results.statement_facts.push(Statement::Resumed { after_trials, at: now.to_string() });
    for missing in not_measured {
        if !results.not_measured.contains(&missing) {
            results.not_measured.push(missing);
        }
    }
    Ok(results)
}

/// Adds what all trials together show.
fn conclude(results: &mut Results, statements: Vec<Statement>) {
    for statement in statements {
        if !results.statement_facts.contains(&statement) {
            results.statement_facts.push(statement);
        }
    }
    if results.soak.is_none() {
        livelock::mark(&mut results.trials);
    }
    sentences::conclude(results);
}

/// Prepares every set-up of the scene once without sending a frame, and removes methods and placements that do not work here,
/// with their reason.
fn preflight(scene: &mut Scene, laboratory: &mut Site) -> Result<Vec<NotMeasured>> {
    if scene.methods.is_empty() {
        return Ok(Vec::new());
    }
    let placements = std::mem::take(&mut scene.placements);
    let mut all = Vec::new();
    for &placement in &placements {
        match refused(scene, placement, laboratory)? {
            Err(reason) => {
                all.push(NotMeasured::new(Saved::Other("every method".into()), Some(placement), reason))
            }
            Ok(refused) => {
                if refused.len() < scene.methods.len() {
                    scene.placements.push(placement);
                }
                for (method, reason) in refused {
                    all.push(NotMeasured::new(Saved::Known(method.clone()), Some(placement), reason));
                    scene.left_out.push((placement, method));
                }
            }
        }
    }
    let all = once_for_all_placements(&all, placements.len());
    if scene.placements.is_empty() {
        let reasons: Vec<_> =
            all.iter().map(|missing| format!("{}: {}", missing.method, missing.reason)).collect();
        return Err(Unsupported(reasons.join("; ")).into());
    }
    for NotMeasured { method, placement, reason, .. } in &all {
        let placement = placement.as_ref().map_or(String::new(), |name| format!(", placement {name}"));
        tell!("capbench: not measured: {method}{placement}: {reason}");
    }
    Ok(all)
}

/// The methods that do not work in a placement, or why the placement does not.
fn refused(
    scene: &Scene,
    placement: PlacementChoice,
    laboratory: &mut Site,
) -> Result<Result<Vec<(MethodSpec, String)>, String>> {
    let mut refused = Vec::new();
    for method in &scene.methods {
        let mut checks = scene.sizes.iter().map(|size| {
            laboratory.prepare(&Setup { method: method.clone(), placement, ..size.clone() }).map(drop)
        });
        match checks.find_map(Result::err) {
            None => {}
            Some(TrialError::Unsupported { what, reason }) if what == method.to_string() => {
                refused.push((method.clone(), reason));
            }
            Some(TrialError::Unsupported { what, reason }) => return Ok(Err(format!("{what}: {reason}"))),
            Some(error) => return Err(error.into()),
        }
    }
    Ok(Ok(refused))
}

/// What is missing for the same reason in every placement, listed once.
fn once_for_all_placements(list: &[NotMeasured], placements: usize) -> Vec<NotMeasured> {
    let mut merged: Vec<NotMeasured> = Vec::new();
    for missing in list {
        let same = |other: &&NotMeasured| other.method == missing.method && other.reason == missing.reason;
        let placement = missing.placement.clone().filter(|_| list.iter().filter(same).count() < placements);
        let missing = NotMeasured { placement, ..missing.clone() };
        if !merged.contains(&missing) {
            merged.push(missing);
        }
    }
    merged
}

/// The seed of a random order that the user did not choose: a new one for each run. It is saved, so that a run can repeat it.
fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}
