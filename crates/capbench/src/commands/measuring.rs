//! Runs the trials of a command: finds what can run here, saves after every trial, and ends the run.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use capbench_host::bed::prepare_process;
use capbench_lab::live::{LiveLaboratory, Path};
use capbench_lab::programs::Programs;
use capbench_model::TrialError;
use capbench_model::environment::Environment;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Verdict;
use capbench_plan::guards::{Guarded, Policy, livelock};
use capbench_plan::rfc2544;
use capbench_plan::search::End;
use capbench_plan::session::NotMeasured;
use capbench_report::formats::text;
use capbench_report::model::Report;
use capbench_report::results::{Results, RunDirectory, SCHEMA_VERSION};
use capbench_report::{read, report, save, sentences};

use super::scene::Scene;
use crate::built;
use crate::cli::scene::RunFlags;
use crate::exit::{Exit, Failure, UNSUPPORTED, Unsupported, Usage};
use crate::progress::Recorder;
use crate::stop::Stop;

/// The prepared host: a path with the methods and placements that work on it.
pub struct Ready {
    /// Runs trials, with guards.
    pub laboratory: Guarded<LiveLaboratory>,
    /// Methods that do not work in a placement.
    pub left_out: Vec<(PlacementChoice, MethodSpec)>,
    environment: Environment,
    not_measured: Vec<NotMeasured>,
    stop: Stop,
}

/// The host with a path, before methods and placements are tested.
struct Host {
    laboratory: LiveLaboratory,
    environment: Environment,
    stop: Stop,
}

impl Host {
    fn open(path: &Path, programs: &Programs, flags: &RunFlags) -> Result<Self> {
        if matches!(path, Path::Virtual { .. }) {
            // Must come before any thread exists: here the process of an ordinary user enters a user namespace.
            prepare_process()?;
        }
        let stop = Stop::install()?;
        let environment =
            Environment { program: Some(built::program()), ..capbench_host::environment::read()? };
        let mut laboratory = LiveLaboratory::new(path.clone(), environment.irq_accounting, stop.flag())
            .with_programs(programs.clone());
        if !flags.no_trace {
            laboratory = laboratory.with_tracer();
        }
        Ok(Self { laboratory, environment, stop })
    }

    fn guarded(self, flags: &RunFlags, not_measured: Vec<NotMeasured>, left_out: LeftOut) -> Ready {
        let Self { laboratory, mut environment, stop } = self;
        environment.interfaces = Some(laboratory.interfaces().to_vec());
        let policy = Policy { repeats: flags.repeats, ..Policy::default() };
        let laboratory = Guarded::new(laboratory, policy, stop.flag());
        Ready { laboratory, left_out, environment, not_measured, stop }
    }
}

/// A run that saves each trial when it ends.
pub struct Run {
    /// Runs trials, with guards.
    pub laboratory: Guarded<LiveLaboratory>,
    /// Observes the trials.
    pub recorder: Recorder,
    stop: Stop,
}

impl Ready {
    /// Prepares every set-up of the scene once without sending a frame. Methods and placements that do not work here are
    /// removed, with their reason. Mistakes end the command before anything is saved.
    ///
    /// # Errors
    /// Mistakes that only the host shows, or nothing of the scene works here.
    pub fn find(scene: &mut Scene, flags: &RunFlags) -> Result<Self> {
        let mut host = Host::open(&scene.path, &scene.programs, flags)?;
        let (not_measured, left_out) = preflight(scene, &mut host.laboratory)?;
        Ok(host.guarded(flags, not_measured, left_out))
    }

    /// The same without testing methods and placements, for commands that test them themselves.
    ///
    /// # Errors
    /// When the host cannot be read or prepared.
    pub fn open(path: &Path, programs: &Programs, flags: &RunFlags) -> Result<Self> {
        Ok(Host::open(path, programs, flags)?.guarded(flags, Vec::new(), Vec::new()))
    }

    /// Starts saving: makes the directory with a first results file.
    ///
    /// # Errors
    /// When the directory cannot be made or written.
    pub fn begin(
        self,
        command: &str,
        flags: &RunFlags,
        statements: Vec<String>,
        trials: usize,
    ) -> Result<Run> {
        let (directory, started) = directory(command, flags)?;
        let results = Results {
            schema_version: SCHEMA_VERSION,
            command: std::env::args().collect(),
            started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            complete: false,
            environment: self.environment,
            statements,
            trials: Vec::new(),
            soak: None,
            sweeps: Vec::new(),
            not_measured: self.not_measured,
            searches: Vec::new(),
            rfc2544: Vec::new(),
            comparisons: Vec::new(),
            reproductions: Vec::new(),
            findings: Vec::new(),
        };
        record(self.laboratory, self.stop, directory, results, trials)
    }

    /// Resumes an interrupted run. Conclusions from its trials are computed anew at the end.
    ///
    /// # Errors
    /// The environment differs from that of the first part: trials of two environments are no single result. Or the directory
    /// cannot be written.
    pub fn go_on(self, directory: RunDirectory, earlier: Results, trials: usize) -> Result<Run> {
        let differences = earlier.environment.differences(&self.environment);
        if !differences.is_empty() {
            let list: Vec<_> = differences.iter().map(ToString::to_string).collect();
            return Err(Usage(format!(
                "--resume {}: its trials were measured elsewhere ({}); begin a new search, or go on where they were",
                directory.path().display(),
                list.join("; ")
            ))
            .into());
        }
        let mut results = Results { searches: Vec::new(), findings: Vec::new(), ..earlier };
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        results
            .statements
            .push(format!("interrupted after {} trials and gone on with at {now}", results.trials.len()));
        for missing in &self.not_measured {
            if !results.not_measured.contains(missing) {
                results.not_measured.push(missing.clone());
            }
        }
        record(self.laboratory, self.stop, directory, results, trials)
    }
}

/// Saves everything from here on.
fn record(
    laboratory: Guarded<LiveLaboratory>,
    stop: Stop,
    mut directory: RunDirectory,
    results: Results,
    trials: usize,
) -> Result<Run> {
    directory.save(&results)?;
    let recorder = Recorder::new(directory, results, trials, stop.clone());
    Ok(Run { laboratory, recorder, stop })
}

impl Run {
    /// Saves the findings of the run, complete or stopped.
    ///
    /// # Errors
    /// The results cannot be saved, or nothing at all could be measured.
    pub fn end(self, stopped: bool, conclude: impl FnOnce(&mut Results)) -> Result<Ended> {
        let Recorder { mut directory, mut results, failures, .. } = self.recorder.finish();
        if let Some((_, failure)) = failures.first().filter(|_| results.trials.is_empty() && !stopped) {
            return Err(failure.clone().into());
        }
        // A run can be resumed if its time ended or a trial could not run.
        let searched = results.searches.iter().all(|search| search.ended == End::Complete);
        let tested = results.rfc2544.iter().all(|tested| *tested.found.ended() == rfc2544::Ended::Complete);
        results.complete = !stopped && searched && tested;
        for statement in self.laboratory.statements() {
            if !results.statements.contains(&statement) {
                results.statements.push(statement);
            }
        }
        livelock::mark(&mut results.trials);
        conclude(&mut results);
        results.findings = sentences::find(&results);
        directory.save(&results)?;
        let report = report::report(&read::Run::new(results.clone(), directory.path()));
        // The results are saved even if the page fails.
        let page = save::page(&report, &directory);
        if let Err(error) = &page {
            let path = directory.path().display();
            tell!("capbench: {error}; the results are saved, and `capbench report {path}` writes it again");
        }
        let stopped = stopped.then(|| self.stop.signal());
        Ok(Ended { results, report, directory, failures, stopped, has_page: page.is_ok() })
    }
}

/// A run that ended and is saved.
pub struct Ended {
    /// The results.
    pub results: Results,
    report: Report,
    directory: RunDirectory,
    failures: Vec<(MethodSpec, Failure)>,
    stopped: Option<u8>,
    has_page: bool,
}

impl Ended {
    /// The text that the run prints.
    pub fn text(&self) -> String {
        let files: &[&str] = match self.has_page {
            true => &["results.json", "trials.csv", save::PAGE],
            false => &["results.json", "trials.csv"],
        };
        text::ended(&self.report, self.directory.path(), files)
    }

    /// Stopped; partly done if a method that the user named could not be measured; inconclusive if no trial shows anything
    /// about a method. A missing method of a set is no failure: it is only listed.
    pub fn exit(&self, scene: &Scene) -> Exit {
        self.exit_where(|method| scene.is_named(method))
    }

    /// The same, with a function that says whether the user named a method.
    pub fn exit_where(&self, is_named: impl Fn(&str) -> bool) -> Exit {
        if let Some(signal) = self.stopped {
            return Exit::Stopped(signal);
        }
        let failed = self.failures.iter().find(|(method, _)| is_named(&method.to_string()));
        if let Some((_, failure)) = failed {
            return Exit::Partly(failure.code());
        }
        // A test without meaning here is no failure of its method.
        let of_run = self.results.not_measured.iter().filter(|missing| missing.test.is_none());
        if of_run.map(|missing| &missing.method).any(|method| is_named(method)) {
            return Exit::Partly(UNSUPPORTED);
        }
        let says = |verdict| matches!(verdict, Verdict::Lossless | Verdict::Lossy);
        let useful = self.results.trials.iter().any(|trial| says(trial.verdict));
        if useful { Exit::Done } else { Exit::Inconclusive }
    }
}

type LeftOut = Vec<(PlacementChoice, MethodSpec)>;

fn preflight(scene: &mut Scene, laboratory: &mut LiveLaboratory) -> Result<(Vec<NotMeasured>, LeftOut)> {
    let mut not_measured = Vec::new();
    let mut placements = Vec::new();
    let mut all_left_out = Vec::new();
    for &placement in &scene.placements {
        let mut offered = true;
        let mut left_out = Vec::new();
        for method in &scene.methods {
            let mut checks = scene
                .sizes
                .iter()
                .map(|size| Setup { method: method.clone(), placement, ..size.clone() })
                .map(|setup| laboratory.prepare(&setup).map(drop));
            match checks.find_map(capbench_model::Result::err) {
                None => {}
                Some(TrialError::Unsupported { what, reason }) if what == method.to_string() => {
                    left_out.push((method.clone(), reason));
                }
                Some(TrialError::Unsupported { what, reason }) => {
                    not_measured.push(NotMeasured {
                        method: "every method".into(),
                        test: None,
                        placement: Some(placement.to_string()),
                        frame_size: None,
                        reason: format!("{what}: {reason}"),
                    });
                    offered = false;
                    break;
                }
                Some(error) => return Err(error.into()),
            }
        }
        if !offered {
            continue;
        }
        if left_out.len() < scene.methods.len() {
            placements.push(placement);
        }
        for (method, reason) in left_out {
            not_measured.push(NotMeasured {
                method: method.to_string(),
                test: None,
                placement: Some(placement.to_string()),
                frame_size: None,
                reason,
            });
            all_left_out.push((placement, method));
        }
    }
    let not_measured = once_for_all_placements(not_measured, scene.placements.len());
    scene.placements = placements;
    if scene.placements.is_empty() {
        let reasons: Vec<_> =
            not_measured.iter().map(|missing| format!("{}: {}", missing.method, missing.reason)).collect();
        return Err(Unsupported(reasons.join("; ")).into());
    }
    for missing in &not_measured {
        let placement =
            missing.placement.as_ref().map_or(String::new(), |name| format!(", placement {name}"));
        tell!("capbench: not measured: {}{placement}: {}", missing.method, missing.reason);
    }
    Ok((not_measured, all_left_out))
}

/// What is missing for the same reason in every placement, listed once.
fn once_for_all_placements(list: Vec<NotMeasured>, placements: usize) -> Vec<NotMeasured> {
    let mut merged: Vec<NotMeasured> = Vec::new();
    for missing in &list {
        let same = |other: &&NotMeasured| other.method == missing.method && other.reason == missing.reason;
        let placement = missing.placement.clone().filter(|_| list.iter().filter(same).count() < placements);
        let missing = NotMeasured { placement, ..missing.clone() };
        if !merged.contains(&missing) {
            merged.push(missing);
        }
    }
    merged
}

/// A new random order for each run. It is saved, so that a run can repeat it.
pub fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn directory(command: &str, flags: &RunFlags) -> Result<(RunDirectory, SystemTime)> {
    let now = SystemTime::now();
    let path = flags.out.clone().unwrap_or_else(|| {
        let time = humantime::format_rfc3339_seconds(now).to_string().replace([':', '-'], "");
        PathBuf::from("capbench-results").join(format!("{command}-{time}"))
    });
    let directory =
        RunDirectory::create(&path).context("cannot save results; name another directory with --out")?;
    Ok((directory, now))
}
