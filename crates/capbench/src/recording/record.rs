//! `capbench record`: records packets to files and accounts for every one.

use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal};
use std::ops::ControlFlow;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use capbench_capture::filter::Listing;
use capbench_capture::{VlanTags, methods};
use capbench_host::bed::Side;
use capbench_host::xdp::XdpProgram;
use capbench_record::file::link_type_name;
use capbench_record::recording::document::Document;
use capbench_record::recording::ledger::loss_ratio;
use capbench_record::recording::{Account, End, Finished, Opened, Plan, Session, Source};
use capbench_record::writing::{CONFINED, WriteOptions};
use capbench_sys::host::LinkLayer;
use capbench_sys::host::folder::Folder;
use capbench_sys::host::identity;
use capbench_sys::host::trust::Trust;

pub use super::flags::RecordFlags;
use super::{ledger, plan, progress, slots};
use crate::exit::{self, Exit, Usage};
use crate::metrics::Exporter;
use crate::output::{self, print};
use crate::signals::{Signals, Stop};
use crate::{capture_files, privileges};

pub fn run(flags: &RecordFlags) -> Result<Exit> {
    if flags.list_interfaces {
        return list_interfaces();
    }
    if flags.list_data_link_types {
        return list_link_types(&flags.interface);
    }
    if flags.dump > 0 {
        return list_program(flags);
    }
    if flags.list_time_stamp_types {
        print("Time stamp types (use option -j to set):\n  host (the kernel's clock)\n")?;
        return Ok(Exit::Done);
    }
    let flags = &flags.resolved()?;
    check(flags)?;
    let folder = side_folder(flags);
    // The user is looked up before anything is opened; the process becomes that user afterwards.
    let user = flags.user.as_deref().map(user).transpose()?;
    let plan = plan::of(flags)?;
    let mut exporter = Exporter::open(&flags.metrics.clone().into(), "record", &flags.interface.join("-"))?;
    let files = exporter.as_ref().map(Exporter::files).unwrap_or_default();
    let pinned = plan.cpus.clone();
    let file = flags.output.file.as_deref();
    if let Some(contradiction) = file.and_then(|file| capture_files::contradiction(flags.output.format, file))
    {
        tell!("capbench: {contradiction}");
    }
    let stop = Stop::install()?;
    let signals = Signals::install()?;
    let what = plan::in_words(&plan);
    let largest = slots::largest_frames(&plan)?;
    plan::warn_of_names(&plan.write);
    plan::explain_limit(flags.max_loss, &plan.write);
    let file = file.unwrap_or(Path::new("-"));
    let is_pipe = fs::metadata(file).is_ok_and(|found| found.file_type().is_fifo());
    let pipe = if is_pipe { reader(file, flags, &stop)? } else { None };
    if is_pipe && pipe.is_none() {
        return Ok(Exit::Stopped(stop.signal()));
    }
    let opened = Opened::open(plan)?;
    // Here the captures are open, and nothing is written yet. Later the names and holders of programs can no longer be read.
    let programs = programs(opened.plan());
    let unconfined = privileges::keep_and_confine(opened.plan(), user, &files)?;
    for (interface, program) in &programs {
        tell!("capbench: {}", super::behind_xdp(interface, program));
    }
    for note in plan::left_out(opened.plan()) {
        tell!("capbench: {note}");
    }
    let running: Vec<_> = opened.running().map(|(source, running)| (source, running.clone())).collect();
    let sources = opened.plan().sources.clone();
    let pool = opened.worker_pool();
    let write = opened.plan().write.clone();
    let layers: Vec<_> = opened.plan().sources.iter().map(|source| source.interface.layer).collect();
    let session = opened.start()?;
    drop(pipe);
    tell!("capbench: listening on {what}");
    if let Some(pool) = pool {
        tell!("capbench: {}", plan::workers_in_words(&pool));
    }
    for (source, running) in &running {
        tell!("capbench: {}: {}; {}", running.method, running.engine, running.ring);
        let capbench_record::recording::Source { interface, options, .. } = &sources[*source];
        if let Some(line) = slots::in_words(interface, options, &largest[*source], running) {
            tell!("capbench: {line}");
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
    if let Some(reason) = unconfined {
        tell!("capbench: not confined to its files: {reason}");
    }
    if let Some(exporter) = &mut exporter {
        exporter.serve(&pinned)?;
    }
    let named = programs.into_iter().map(|(interface, _)| interface).collect();
    watch(flags, &session, &layers, (&stop, &signals), exporter.as_mut(), named);
    close(flags, &stop, session.finish(), folder, &write)
}

/// The XDP programs in front of the captures, each with its interface.
fn programs(plan: &Plan) -> Vec<(String, XdpProgram)> {
    let of_source = |source: &Source| {
        let program = super::xdp_program(&source.method, &source.interface)?;
        Some((source.interface.name.clone(), program))
    };
    plan.sources.iter().filter_map(of_source).collect()
}

/// Checks flags that contradict each other.
fn check(flags: &RecordFlags) -> Result<()> {
    let refuse = |text: &str| Err(Usage(text.into()).into());
    if flags.read.is_some() {
        return refuse(
            "-r: record captures from interfaces; `capbench convert` rewrites files, `capbench verify` looks for frames of `send`",
        );
    }
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

/// The folder of the account, opened before privileges are dropped, so that nobody can replace it by a link. `None` if there is
/// no account or the folder does not exist yet. With a pattern each time can have another folder.
fn side_folder(flags: &RecordFlags) -> Option<Folder> {
    let file = plan::side_file(&flags.output, None);
    // If the folder is missing, the recording reports it.
    file.and_then(|file| Some(Folder::of_file(&file, &Trust::everybody()).ok()?.0))
}

/// Writes the account into its folder, with the permissions of the captures.
fn write_account(file: &Path, text: &str, folder: Option<Folder>, options: &WriteOptions) -> Result<()> {
    let write = || {
        let (folder, name) = match folder {
            Some(folder) => (folder, file.file_name().unwrap_or_default()),
            None => Folder::of_file(file, &Trust::everybody())?,
        };
        let mut account = folder.temporary(0o600)?;
        options.equip(account.file())?;
        account.with(text.as_bytes())?.replace(name)
    };
    write().map_err(|error| {
        let hint = if error.kind() == ErrorKind::PermissionDenied { &["; ", CONFINED].concat() } else { "" };
        anyhow!("cannot write {}: {error}{hint}", file.display())
    })
}

fn user(name: &str) -> Result<(&str, identity::Identity)> {
    let found = identity::of_user(name)?;
    let identity = found.ok_or_else(|| Usage(format!("-Z {name}: there is no such user")))?;
    Ok((name, identity))
}

/// Waits for a reader of a named pipe, and returns the pipe; `None` if the user stops the command first. Nothing is captured
/// before, so nothing is lost.
fn reader(path: &Path, flags: &RecordFlags, stop: &Stop) -> Result<Option<File>> {
    let name = path.display();
    let until = flags.duration.map(|duration| Instant::now() + duration);
    let waits = || {
        tell!(
            "capbench: {name} is a pipe that nobody reads; waiting for a reader, such as: wireshark -k -i {name}"
        );
    };
    let pipe = super::with_reader(path, stop, until, waits);
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
        if let Some(loss) = interface.taken_by_xdp()
            && !named.contains(&interface.name)
        {
            words.push(format!("{}: attached while it is recorded: {}", interface.name, loss.source));
            named.push(interface.name);
        }
    }
    words
}

/// Runs until the recording ends or is to end. `named` are the interfaces whose XDP program has been named.
fn watch(
    flags: &RecordFlags,
    session: &Session,
    layers: &[LinkLayer],
    (stop, signals): (&Stop, &Signals),
    mut exporter: Option<&mut Exporter>,
    mut named: Vec<String>,
) {
    let start = Instant::now();
    let mut status = progress::Status::new(session, layers);
    let mut asked = None;
    super::drive(session, stop, |is_second| {
        if flags.duration.is_some_and(|duration| start.elapsed() >= duration) {
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
fn close(
    flags: &RecordFlags,
    stop: &Stop,
    finished: Finished,
    folder: Option<Folder>,
    write: &WriteOptions,
) -> Result<Exit> {
    let Finished { end, account, failures } = finished;
    output::tell(&ledger::closing(&account));
    output::tell(&ledger::text(&account, false));
    let document = serde_json::to_string_pretty(&Document::new(&account, end))? + "\n";
    let file = plan::side_file(&flags.output, account.writer.first_file.as_deref());
    let saved = file.map_or(Ok(()), |file| write_account(&file, &document, folder, write));
    match (flags.json, plan::is_standard_output(&flags.output)) {
        (false, _) => {}
        (true, true) => output::tell(&document),
        (true, false) => print(&document)?,
    }
    super::outcome(failures)?;
    saved?;
    Ok(exit(flags, stop.signal(), end, &account))
}

/// The exit code, by the loss if the user stated a limit.
fn exit(flags: &RecordFlags, signal: u8, end: End, account: &Account) -> Exit {
    let loss = flags.max_loss.map(|limit| {
        let (ratio, unknown) = (loss_ratio(account), ledger::unknown_losses(account));
        if ratio > limit {
            tell!("capbench: --max-loss {limit}: {}", ledger::losses_in_words(account));
        } else if let Some(reason) = &unknown {
            tell!("capbench: --max-loss {limit}: {reason}");
        }
        exit::Loss { limit, ratio, is_unknown: unknown.is_some() }
    });
    exit::of_recording(loss, end, signal, flags.count.is_some() || flags.duration.is_some())
}

/// `-D`: every interface of the calling thread's network namespace.
fn list_interfaces() -> Result<Exit> {
    const FILE: &str = "/proc/thread-self/net/dev";
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    // Skip the two header lines.
    let names = text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let rows = names.enumerate().map(|(number, name)| format!("{}.{name}\n", number + 1));
    print(&rows.collect::<String>())?;
    Ok(Exit::Done)
}

/// `-L`: all methods deliver packets of one link type, that of the interface.
fn list_link_types(interfaces: &[String]) -> Result<Exit> {
    if interfaces.is_empty() {
        return Err(Usage("-i: link types of which interface? -D lists them".into()).into());
    }
    for name in interfaces {
        let link_type = link_type_name(Side::existing(name)?.layer()?);
        print(&format!("Data link types for {name}:\n  {link_type}\n"))?;
    }
    Ok(Exit::Done)
}

/// `-d`: the program of the filter on the first interface.
fn list_program(flags: &RecordFlags) -> Result<Exit> {
    let Some(name) = flags.interface.first() else {
        return Err(Usage("-i: a filter is compiled for an interface; which?".into()).into());
    };
    let Some(text) = flags.filter.text()? else {
        return Err(Usage("-d: no filter was given".into()).into());
    };
    let interface = super::interface(&Side::existing(name)?)?;
    let snap = flags.capture.options().snap_length;
    let filter = text.compile(&interface, snap, flags.filter.optimise())?;
    if let Some(listing) = Listing::of_count(flags.dump) {
        print(&listing.of(&filter)?)?;
    }
    Ok(Exit::Done)
}
