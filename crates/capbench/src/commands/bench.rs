//! `capbench bench`: the main job.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use capbench_capture::{Direction, MethodSpec};
use capbench_measure::bed::{Placement, prepare_process};
use capbench_measure::bench::BenchPlan;
use capbench_measure::environment::Environment;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::live::{LiveLaboratory, Path};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::programs::Programs;
use capbench_measure::results::{NotMeasured, Results, RunDirectory, SCHEMA_VERSION};
use capbench_measure::trial::{SizeLabel, Verdict};
use capbench_measure::{MeasureError, findings, subject};
use capbench_sys::host::CpuId;
use capbench_traffic::{FrameSize, Mtu, Recogniser, Sizes, TrialId};

use crate::cli::bench::BenchFlags;
use crate::exit::{Exit, Failure, UNSUPPORTED, Unsupported, Usage, print};
use crate::progress::Recorder;
use crate::stop::Stop;
use crate::summary;

/// Runs the command.
pub fn run(flags: &BenchFlags) -> Result<Exit> {
    let programs = Programs::with_file(flags.programs.as_deref())?;
    let mut plan = plan(flags, &programs)?;
    if flags.dry_run {
        print(&describe(&plan, flags))?;
        return Ok(Exit::Done);
    }
    let path = path(flags);
    if matches!(path, Path::Virtual { .. }) {
        // Before any thread exists: an ordinary user's process enters a user namespace here.
        prepare_process()?;
    }
    let stop = Stop::install()?;
    let environment = Environment::read()?;
    let mut laboratory =
        LiveLaboratory::new(path, environment.irq_accounting, stop.flag()).with_programs(programs);
    if flags.trace {
        laboratory = laboratory.with_tracer();
    }
    let not_measured = preflight(&mut plan, &mut laboratory)?;
    let (directory, started) = directory(flags)?;
    let results = Results {
        schema_version: SCHEMA_VERSION,
        command: std::env::args().collect(),
        started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        complete: false,
        environment,
        statements: statements(&plan),
        trials: Vec::new(),
        not_measured,
        findings: Vec::new(),
    };
    directory.save(&results)?;
    let mut recorder = Recorder::new(&directory, results, plan.trials(), stop.clone());
    let outcome = plan.run(&mut laboratory, &mut recorder);
    recorder.finish();
    let outcome = outcome?;
    let (mut results, failures) = (recorder.results, recorder.failures);
    if let Some((_, failure)) = failures.first().filter(|_| results.trials.is_empty() && !outcome.stopped) {
        return Err(failure.clone().into());
    }
    results.complete = !outcome.stopped;
    results.statements.extend(laboratory.statements());
    results.findings = findings::find(&results.trials);
    directory.save(&results)?;
    print(&report(&results, &directory))?;
    Ok(if outcome.stopped { Exit::Stopped(stop.signal()) } else { judge(&results, flags, &failures) })
}

/// The plan that the flags ask for, without a look at the host.
fn plan(flags: &BenchFlags, programs: &Programs) -> Result<BenchPlan> {
    let methods = methods(&flags.method, programs)?;
    flags.capture.check_heeded(&methods, programs)?;
    let default = |octets: u32| FrameSize::new(octets).map(Sizes::Fixed);
    let sizes = match (flags.size.is_empty(), flags.quick) {
        (false, _) => flags.size.clone(),
        (true, true) => vec![default(64)?],
        (true, false) => vec![default(64)?, default(512)?, default(1518)?],
    };
    let layout = flags.layout.layout()?;
    let capture = flags.capture.options();
    if capture.direction == Direction::Out {
        return Err(
            Usage("--direction out: nothing is sent on the interface that is captured on".into()).into()
        );
    }
    let snap = capture.snap_length;
    // Found out before anything is made, as below: whether stamps are captured, without which no frame can be told.
    Recogniser::new(TrialId(0), &layout, snap.cuts().then(|| snap.octets()))?;
    let quiet = flags.quiet.unwrap_or(Duration::from_millis(if flags.quick { 150 } else { 500 }));
    let setups = sizes
        .into_iter()
        .map(|sizes| {
            // Found out before anything is made: whether headers and stamp fit, and the frame into the MTU.
            // The MTU of real interfaces is asked for later.
            let mtu = if flags.tx.is_some() { Mtu(u32::from(u16::MAX)) } else { Mtu(flags.mtu) };
            capbench_traffic::FramePlan::new(layout, sizes.clone(), mtu)?;
            Ok(Setup {
                method: MethodSpec::plain(""),
                label: label(&sizes),
                sizes,
                layout,
                placement: PlacementChoice::Same,
                work: flags.work,
                capture: capture.clone(),
                transmit: flags.transmit.clone(),
                quiet,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(BenchPlan {
        methods,
        sizes: setups,
        placements: placements(flags)?,
        duration: flags.duration.unwrap_or(Duration::from_millis(if flags.quick { 400 } else { 800 })),
        rate: flags.rate,
        left_out: Vec::new(),
    })
}

/// The methods that a list names, each once, sets spelt out.
fn methods(list: &[String], programs: &Programs) -> Result<Vec<MethodSpec>> {
    let mut methods: Vec<MethodSpec> = Vec::new();
    for name in list {
        let names = match name.as_str() {
            "default" => subject::default_methods(),
            "all" => subject::all_methods(programs),
            _ => vec![name.clone()],
        };
        for name in names {
            let spec: MethodSpec = name.parse().map_err(Usage)?;
            subject::find(&spec, programs)?;
            if !methods.contains(&spec) {
                methods.push(spec);
            }
        }
    }
    Ok(methods)
}

fn label(sizes: &Sizes) -> SizeLabel {
    match sizes {
        Sizes::Fixed(size) => SizeLabel::Octets(size.octets()),
        mixed => SizeLabel::Named(mixed.to_string()),
    }
}

fn placements(flags: &BenchFlags) -> Result<Vec<PlacementChoice>> {
    let (Some(generator), Some(kernel), Some(application)) = (flags.gen_cpu, flags.kernel_cpu, flags.app_cpu)
    else {
        return Ok(flags.placement.clone());
    };
    let [generator, kernel, application] = [generator, kernel, application].map(CpuId::new);
    Placement::custom(generator, kernel, application)?;
    Ok(vec![PlacementChoice::Custom { generator, kernel, application }])
}

fn path(flags: &BenchFlags) -> Path {
    match (&flags.tx, &flags.rx) {
        (Some(transmit), Some(receive)) => Path::Interfaces {
            transmit: transmit.clone(),
            receive: receive.clone(),
            isolated: flags.isolated,
        },
        _ => Path::Virtual { mtu: Mtu(flags.mtu), receive_by: flags.receive_by },
    }
}

fn describe(plan: &BenchPlan, flags: &BenchFlags) -> String {
    let sizes: Vec<_> = plan.sizes.iter().map(|setup| setup.label.to_string()).collect();
    let placements: Vec<_> = plan.placements.iter().map(ToString::to_string).collect();
    let load = match plan.rate {
        Some(rate) => format!("{} packets/s", summary::thousands(rate.get())),
        None => "maximum load, then one load that all methods can hold".into(),
    };
    let mut methods = String::new();
    let names: Vec<_> = plan.methods.iter().map(ToString::to_string).collect();
    summary::wrapped(&mut methods, "methods     ", "            ", &names.join(", "));
    let path = match path(flags) {
        Path::Virtual { mtu, .. } => format!("a veth pair of its own, MTU {}", mtu.0),
        Path::Interfaces { transmit, receive, .. } => format!("{transmit} to {receive}"),
    };
    format!(
        "{methods}frame sizes {}\nplacements  {}\nload        {load}\nwork        {}\ntransmit    {}\n\
         path        {path}\ntrials      {} of {:?}\ntime        about {:.0} s\n",
        sizes.join(", "),
        placements.join(", "),
        flags.work,
        flags.transmit,
        plan.trials(),
        plan.duration,
        plan.estimate().as_secs_f64()
    )
}

/// Prepares every set-up once without sending a frame. Methods and placements that cannot be had here are taken out of
/// the plan with their reason; mistakes end the command before anything is saved.
fn preflight(plan: &mut BenchPlan, laboratory: &mut LiveLaboratory) -> Result<Vec<NotMeasured>> {
    let mut not_measured = Vec::new();
    let mut placements = Vec::new();
    for &placement in &plan.placements {
        let mut offered = true;
        let mut left_out = Vec::new();
        for method in &plan.methods {
            let mut checks = plan
                .sizes
                .iter()
                .map(|size| Setup { method: method.clone(), placement, ..size.clone() })
                .map(|setup| laboratory.prepare(&setup).map(drop));
            match checks.find_map(capbench_measure::Result::err) {
                None => {}
                Some(MeasureError::Unsupported { what, reason }) if what == method.to_string() => {
                    left_out.push((method.clone(), reason));
                }
                Some(MeasureError::Unsupported { what, reason }) => {
                    not_measured.push(NotMeasured {
                        method: "every method".into(),
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
        if left_out.len() < plan.methods.len() {
            placements.push(placement);
        }
        for (method, reason) in left_out {
            not_measured.push(NotMeasured {
                method: method.to_string(),
                placement: Some(placement.to_string()),
                frame_size: None,
                reason,
            });
            plan.left_out.push((placement, method));
        }
    }
    let not_measured = once_for_all_placements(not_measured, plan.placements.len());
    plan.placements = placements;
    if plan.placements.is_empty() {
        let reasons: Vec<_> =
            not_measured.iter().map(|missing| format!("{}: {}", missing.method, missing.reason)).collect();
        return Err(Unsupported(reasons.join("; ")).into());
    }
    for missing in &not_measured {
        let placement =
            missing.placement.as_ref().map_or(String::new(), |name| format!(", placement {name}"));
        eprintln!("capbench: not measured: {}{placement}: {}", missing.method, missing.reason);
    }
    Ok(not_measured)
}

/// What is missing for one reason in every placement, said once.
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

fn directory(flags: &BenchFlags) -> Result<(RunDirectory, SystemTime)> {
    let now = SystemTime::now();
    let path = flags.out.clone().unwrap_or_else(|| {
        let time = humantime::format_rfc3339_seconds(now).to_string().replace([':', '-'], "");
        PathBuf::from("capbench-results").join(format!("bench-{time}"))
    });
    let directory =
        RunDirectory::create(&path).context("cannot save results; name another directory with --out")?;
    Ok((directory, now))
}

fn statements(plan: &BenchPlan) -> Vec<String> {
    let quiet = plan.sizes.first().map_or(Duration::ZERO, |setup| setup.quiet);
    vec![format!(
        "trials send for {:?} and wait {quiet:?} for missing frames, where RFC 2544 asks for 60 s and 2 s",
        plan.duration
    )]
}

fn report(results: &Results, directory: &RunDirectory) -> String {
    let mut text = summary::tables(&results.trials);
    text.push_str(&summary::legend(&results.trials));
    text.push_str(&summary::engines(&results.trials));
    text.push_str(&summary::not_measured(&results.not_measured));
    text.push_str(&summary::findings(&results.findings));
    if !results.complete {
        text.push_str("\nNot complete: the trials above are those that were finished.\n");
    }
    text.push_str(&format!("\nSaved in {}: results.json, trials.csv\n", directory.path().display()));
    text
}

/// Partly done when a method that was named could not be measured; inconclusive when no trial says anything about a
/// method. What is missing of a set of methods is no failure: it is listed.
fn judge(results: &Results, flags: &BenchFlags, failures: &[(MethodSpec, Failure)]) -> Exit {
    let is_named = |method: &str| flags.method.iter().any(|named| named == method);
    let failed = failures.iter().find(|(method, _)| is_named(&method.to_string()));
    if let Some((_, failure)) = failed {
        return Exit::Partly(failure.code());
    }
    if results.not_measured.iter().any(|missing| is_named(&missing.method)) {
        return Exit::Partly(UNSUPPORTED);
    }
    let useful =
        results.trials.iter().any(|trial| matches!(trial.verdict, Verdict::Lossless | Verdict::Lossy));
    if useful { Exit::Done } else { Exit::Inconclusive }
}
