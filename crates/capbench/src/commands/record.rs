//! `capbench record`: packets to files, every one accounted for.

mod auto;
mod ledger;
mod lists;
mod plan;
mod status;

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result};
use capbench_capture::recording::{Account, End, Finished, Opened, Session};
use capbench_sys::host::identity;

use super::recording;
use crate::cli::record::RecordFlags;
use crate::exit::{Exit, Usage};
use crate::signals::Signals;
use crate::stop::Stop;

/// The end that a shell shows of a program that a signal would have ended, for a pipe that nobody reads.
const SIGPIPE: u8 = 13;

/// Runs the command.
pub fn run(flags: &RecordFlags) -> Result<Exit> {
    if flags.list_interfaces {
        return lists::interfaces();
    }
    if flags.list_data_link_types {
        return lists::link_types(&flags.interface);
    }
    if flags.dump > 0 {
        return lists::program(flags);
    }
    check(flags)?;
    // The user is looked for before anything is opened, and become after it.
    let user = flags.user.as_deref().map(user).transpose()?;
    let plan = plan::of(flags)?;
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let what = plan::in_words(&plan);
    let opened = Opened::open(plan)?;
    if let Some((name, identity)) = user {
        identity::become_user(name, identity).with_context(|| format!("cannot become {name} (-Z)"))?;
    }
    let running: Vec<_> = opened.running().map(|(_, running)| running.clone()).collect();
    let hand_off = opened.hand_off();
    let session = opened.start()?;
    tell!("capbench: listening on {what}");
    if let Some(hand_off) = hand_off {
        tell!("capbench: {}", plan::workers_in_words(&hand_off));
    }
    for running in &running {
        tell!("capbench: {}: {}; {}", running.method, running.engine, running.geometry);
        if let Some(shortfall) = &running.shortfall {
            tell!("capbench: {shortfall}");
        }
    }
    watch(flags, &session, &stop, &signals);
    close(flags, &stop, session.finish())
}

/// What only flags together show.
fn check(flags: &RecordFlags) -> Result<()> {
    let refuse = |text: &str| Err(Usage(text.into()).into());
    if flags.interface.is_empty() {
        return refuse("-i: which interface? -D lists them");
    }
    let Some(file) = &flags.output.file else {
        return refuse("-w: record writes files; give a name, or - for standard output");
    };
    if file.as_os_str() == "-" && std::io::stdout().is_terminal() {
        return refuse(
            "-w -: standard output is a terminal; give a file, or a pipe to a program that reads it",
        );
    }
    Ok(())
}

fn user(name: &str) -> Result<(&str, identity::Identity)> {
    let found = identity::of_user(name)?;
    let identity = found.ok_or_else(|| Usage(format!("-Z {name}: there is no such user")))?;
    Ok((name, identity))
}

/// Until the recording is to end, or has.
fn watch(flags: &RecordFlags, session: &Session, stop: &Stop, signals: &Signals) {
    let start = Instant::now();
    let mut status = status::Status::new(session);
    recording::drive(session, stop, |is_second| {
        if flags.duration.is_some_and(|duration| start.elapsed() >= duration) {
            return ControlFlow::Break(());
        }
        if signals.is_flush_wanted() {
            session.flush();
        }
        if signals.is_print_wanted() {
            status.clear();
            crate::tell::text(&ledger::text(&session.account()));
        }
        for failure in session.take_failures() {
            status.clear();
            tell!("capbench: {failure}");
        }
        if is_second {
            status.show(session);
        }
        ControlFlow::Continue(())
    });
    status.clear();
}

/// tcpdump's lines, the ledger, what went wrong, and the exit code.
fn close(flags: &RecordFlags, stop: &Stop, finished: Finished) -> Result<Exit> {
    let Finished { end, account, failures } = finished;
    crate::tell::text(&ledger::closing(&account));
    crate::tell::text(&ledger::text(&account));
    let document = ledger::document(&account, end);
    let mut saved = Ok(());
    if let Some(file) = plan::side_file(&flags.output, account.began_ns)? {
        let text = serde_json::to_string_pretty(&document)? + "\n";
        saved = std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()));
    }
    if flags.json {
        let text = serde_json::to_string_pretty(&document)? + "\n";
        if plan::is_standard_output(&flags.output) {
            crate::tell::text(&text)
        } else {
            crate::exit::print(&text)?
        }
    }
    recording::outcome(failures)?;
    saved?;
    Ok(exit(flags, stop, end, &account))
}

fn exit(flags: &RecordFlags, stop: &Stop, end: End, account: &Account) -> Exit {
    if let Some(limit) = flags.max_loss {
        if ledger::loss_ratio(account) > limit {
            return Exit::LossOverLimit;
        }
        if !ledger::knows_losses(account) {
            tell!("capbench: --max-loss: the method does not tell how many packets it lost");
            return Exit::Inconclusive;
        }
    }
    match (end, stop.signal()) {
        (End::ReaderGone, _) => Exit::Stopped(SIGPIPE),
        // Being interrupted is how recording without a limit ends.
        (End::Asked, signal) if signal != 0 && (flags.count.is_some() || flags.duration.is_some()) => {
            Exit::Stopped(signal)
        }
        _ => Exit::Done,
    }
}
