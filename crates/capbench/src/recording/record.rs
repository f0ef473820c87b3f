//! `capbench record`: records packets to files and accounts for every one.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileTypeExt;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use capbench_capture::{VlanTags, methods};
use capbench_host::xdp::XdpProgram;
use capbench_model::running::Running;
use capbench_record::recording::document::Document;
use capbench_record::recording::{Account, End, Finished, Opened, Plan, Session, Source};

pub use super::flags::RecordFlags;
use super::list::List;
use super::plan::RecordPlan;
use super::{ledger, progress, slots, words};
use crate::exit::{self, Exit};
use crate::metrics::Exporter;
use crate::output::{self, print};
use crate::privileges;
use crate::signals::{Signals, Stop};

pub fn run(flags: RecordFlags) -> Result<Exit> {
    match List::requested(&flags)? {
        Some(list) => list.print().map(|()| Exit::Done),
        None => record(&RecordPlan::new(flags)?),
    }
}

fn record(plan: &RecordPlan) -> Result<Exit> {
    let RecordPlan { recording, metrics, .. } = plan;
    let names: Vec<_> = recording.sources.iter().map(|source| source.interface.name.as_str()).collect();
    let mut exporter = Exporter::open(metrics, "record", &names.join("-"))?;
    let files = exporter.as_ref().map(Exporter::files).unwrap_or_default();
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let largest = slots::largest_frames(recording)?;
    words::warn_of_names(&recording.write);
    words::explain_limit(plan.max_loss, &recording.write);
    let is_pipe = fs::metadata(&recording.write.path).is_ok_and(|found| found.file_type().is_fifo());
    let pipe = if is_pipe { reader(plan, &stop)? } else { None };
    if is_pipe && pipe.is_none() {
        return Ok(Exit::Stopped(stop.signal()));
    }
    let opened = Opened::open(recording.clone())?;
    // Here the captures are open, and nothing is written yet. Later the names and holders of programs can no longer be read.
    let programs = programs(recording);
    let user = plan.user.as_ref().map(|(name, identity)| (name.as_str(), *identity));
    let unconfined = privileges::keep_and_confine(recording, user, &files)?;
    for (interface, program) in &programs {
        tell!("capbench: {}", super::behind_xdp(interface, program));
    }
    for note in words::left_out(recording) {
        tell!("capbench: {note}");
    }
    let running: Vec<_> = opened.running().map(|(source, running)| (source, running.clone())).collect();
    let pool = opened.worker_pool();
    let session = opened.start()?;
    drop(pipe);
    tell!("capbench: listening on {}", words::in_words(recording));
    if let Some(pool) = pool {
        tell!("capbench: {}", words::workers_in_words(&pool));
    }
    for (source, running) in &running {
        let Source { interface, options, .. } = &recording.sources[*source];
        tell_capture(running, slots::in_words(interface, options, &largest[*source], running));
    }
    if let Some(reason) = unconfined {
        tell!("capbench: not confined to its files: {reason}");
    }
    if let Some(exporter) = &mut exporter {
        exporter.serve(&recording.cpus)?;
    }
    let named = programs.into_iter().map(|(interface, _)| interface).collect();
    watch(plan, &session, (&stop, &signals), exporter.as_mut(), named);
    close(plan, &stop, session.finish())
}

/// Says how a capture runs. `slots` are those of its ring, in words.
fn tell_capture(running: &Running, slots: Option<String>) {
    tell!("capbench: {}: {}; {}", running.method, running.engine, running.ring);
    if let Some(slots) = slots {
        tell!("capbench: {slots}");
    }
    if !running.shortfalls.is_empty() {
        tell!("capbench: {}", running.shortfalls.join("; "));
    }
    if methods::vlan_tags(running) == VlanTags::Removed {
        tell!(
            "capbench: {}: VLAN tags will be missing: the kernel removes them and this method does not report them; \
             packet-v2 and packet-v3 do",
            running.method
        );
    }
}

/// The XDP programs in front of the captures, each with its interface.
fn programs(plan: &Plan) -> Vec<(String, XdpProgram)> {
    let mut programs = Vec::new();
    for Source { method, interface, .. } in &plan.sources {
        if let Some(program) = super::xdp_program(method, interface) {
            programs.push((interface.name.clone(), program));
        }
    }
    programs
}

/// Waits for a reader of a named pipe, and returns the pipe; `None` if the user stops the command first. Nothing is captured
/// before, so nothing is lost.
fn reader(plan: &RecordPlan, stop: &Stop) -> Result<Option<File>> {
    let path = &plan.recording.write.path;
    let name = path.display();
    let until = plan.duration.map(|duration| Instant::now() + duration);
    let pipe = super::with_reader(path, stop, until, || {
        tell!(
            "capbench: {name} is a pipe that nobody reads; waiting for a reader, such as: wireshark -k -i {name}"
        );
    });
    let pipe = pipe.with_context(|| format!("cannot open {name}"))?;
    if pipe.is_none() && !stop.is_wanted() {
        bail!("nobody read {name} in time (--duration); nothing is recorded");
    }
    Ok(pipe)
}

/// XDP programs that were attached since the start, the first of each interface, in words. `named` are the interfaces whose program has
/// been named.
fn new_programs(session: &Session, named: &mut Vec<String>) -> Vec<String> {
    let mut words = Vec::new();
    for interface in session.account().interfaces {
        if let Some(loss) = interface.taken_by_xdp
            && !named.contains(&interface.name)
        {
            words.push(format!(
                "{}: attached while it is recorded: {}",
                interface.name,
                loss.source.counter()
            ));
            named.push(interface.name);
        }
    }
    words
}

/// Runs until the recording ends or is to end. `named` are the interfaces whose XDP program has been named.
fn watch(
    plan: &RecordPlan,
    session: &Session,
    (stop, signals): (&Stop, &Signals),
    mut exporter: Option<&mut Exporter>,
    mut named: Vec<String>,
) {
    let start = Instant::now();
    let layers: Vec<_> = plan.recording.sources.iter().map(|source| source.interface.layer).collect();
    let mut status = progress::Status::new(session, &layers);
    let mut asked = None;
    super::drive(session, stop, |is_second| {
        if plan.duration.is_some_and(|duration| start.elapsed() >= duration) {
            return ControlFlow::Break(());
        }
        if signals.is_flush_wanted() {
            session.flush();
        }
        if signals.is_print_wanted() {
            asked.get_or_insert_with(|| session.request_account());
        }
        if let Some(account) = asked.as_ref().and_then(|asked| session.requested_account(asked)) {
            asked = None;
            status.clear();
            output::tell(&format!(
                "capbench: {}\n{}",
                ledger::in_a_line(&account),
                ledger::text(&account, true)
            ));
        }
        for failure in session.take_failures() {
            status.clear();
            tell!("capbench: {failure}");
        }
        if let Some(exporter) = exporter.as_deref_mut() {
            exporter.note_account(&session.account());
        }
        if is_second {
            for words in new_programs(session, &mut named) {
                status.clear();
                tell!("capbench: {words}");
            }
            status.show(session);
        }
        ControlFlow::Continue(())
    });
    status.clear();
}

/// Prints tcpdump's lines, the ledger and the failures, and returns the exit code.
fn close(plan: &RecordPlan, stop: &Stop, finished: Finished) -> Result<Exit> {
    let Finished { end, account, failures } = finished;
    output::tell(&ledger::closing(&account));
    output::tell(&ledger::text(&account, false));
    let document = serde_json::to_string_pretty(&Document::new(&account, end))? + "\n";
    let write = &plan.recording.write;
    let saved = match &plan.account {
        Some(file) => file.write(&document, account.writer.first_file.as_deref(), write),
        None => Ok(()),
    };
    match (plan.json, write.is_standard_output()) {
        (false, _) => {}
        (true, true) => output::tell(&document),
        (true, false) => print(&document)?,
    }
    super::outcome(failures)?;
    saved?;
    Ok(exit(plan, stop.signal(), end, &account))
}

/// The exit code, by the loss if the user stated a limit.
fn exit(plan: &RecordPlan, signal: u8, end: End, account: &Account) -> Exit {
    let loss = plan.max_loss.map(|limit| {
        let ratio = account.loss_ratio();
        let unknown = ledger::unknown_losses(account);
        if ratio > limit {
            tell!("capbench: --max-loss {limit}: {}", ledger::losses_in_words(account));
        } else if let Some(reason) = &unknown {
            tell!("capbench: --max-loss {limit}: {reason}");
        }
        exit::Loss { limit, ratio, is_unknown: unknown.is_some() }
    });
    exit::of_recording(loss, end, signal, plan.has_end())
}
