//! `capbench extcap`: captures for Wireshark with the method that the user selects there (extcap(4)).
//!
//! Wireshark starts the program once per question and parses its standard output, so only the answer may be there. At startup
//! it does this for every interface, so answers must be fast. Wireshark shows standard error to the user as a failure.

mod grammar;
mod install;

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use capbench_capture::filter::{FilterText, Optimise};
use capbench_capture::{CaptureError, Interface, METHODS};
use capbench_host::bed::Side;
use capbench_host::links::{Link, Links};
use capbench_lab::programs::Programs;
use capbench_model::method_spec::{Delivery, MethodSpec};
use capbench_model::options::CaptureOptions;
use capbench_record::file::{FileFormat, HashAlgorithm};
use capbench_record::recording::{Opened, Plan, Source};
use capbench_record::writing::WriteOptions;
use capbench_sys::host::interface::LinkLayer;
use clap::Args;

pub use self::install::PROGRAM;
use super::Wanted;
use crate::exit::{Exit, Usage};
use crate::flags::CaptureFlags;
use crate::output::print;
use crate::privileges;
use crate::signals::Stop;

#[derive(Args, Clone, Debug)]
pub struct ExtcapFlags {
    /// Let Wireshark and tshark find this program, by a link in DIR [default: in this user's own folders for that]
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    install: Option<Option<PathBuf>>,
    #[command(flatten)]
    question: Question,
    /// Capture method; one that can run here, of those that `capbench methods` lists
    #[arg(long, value_name = "METHOD", default_value = DEFAULT_METHOD)]
    method: String,
    #[command(flatten)]
    capture: CaptureFlags,
}

/// The method where none is named.
pub const DEFAULT_METHOD: &str = "packet-v3";

/// What only Wireshark asks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "As Wireshark asks")]
pub struct Question {
    /// List the interfaces
    #[arg(long)]
    extcap_interfaces: bool,
    /// The version of Wireshark; alone: print ours
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    extcap_version: Option<String>,
    /// Which interface, as --extcap-interfaces calls it
    #[arg(long, value_name = "capbench-IF")]
    extcap_interface: Option<String>,
    /// List the types of its frames
    #[arg(long)]
    extcap_dlts: bool,
    /// List what can be set about capturing from it
    #[arg(long)]
    extcap_config: bool,
    /// Which frames (pcap-filter(7)); without --capture: say what is wrong with the filter, and nothing when it is right
    #[arg(long, value_name = "FILTER", allow_hyphen_values = true)]
    extcap_capture_filter: Option<String>,
    /// Capture
    #[arg(long, requires = "fifo", requires = "extcap_interface")]
    capture: bool,
    /// The pipe to write what is captured to
    #[arg(long, value_name = "FILE")]
    fifo: Option<PathBuf>,
    /// A pipe with messages of controls; there are no controls, so none is read
    #[arg(long, value_name = "FILE", hide = true)]
    extcap_control_in: Option<PathBuf>,
    /// A pipe for messages to controls; there are no controls, so none is written
    #[arg(long, value_name = "FILE", hide = true)]
    extcap_control_out: Option<PathBuf>,
    /// Wireshark had to kill a capture: nothing of it is left to be removed
    #[arg(long, hide = true)]
    extcap_cleanup_postkill: bool,
}

/// The command line with the subcommand of the name under which the program was started.
pub fn as_called(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.first().and_then(|program| Path::new(program).file_name());
    if name.is_some_and(|name| name == PROGRAM) {
        arguments.insert(1, "extcap".into());
    }
    arguments
}

pub fn run(flags: &ExtcapFlags) -> Result<Exit> {
    if let Some(folder) = &flags.install {
        return install::run(folder.as_deref()).map(|()| Exit::Done);
    }
    let question = &flags.question;
    if question.extcap_cleanup_postkill {
        return Ok(Exit::Done);
    }
    if question.extcap_interfaces {
        print(&(grammar::version() + &grammar::interfaces(&capturable_interfaces()?)))?;
        return Ok(Exit::Done);
    }
    let Some(called) = &question.extcap_interface else {
        return match &question.extcap_version {
            Some(_) => print(&grammar::version()).map(|()| Exit::Done),
            None => Err(Usage(
                "Wireshark starts it; `capbench extcap --install` lets Wireshark find it, `--extcap-interfaces` lists what it \
                 would see"
                    .into(),
            )
            .into()),
        };
    };
    let name = grammar::host_interface(called).ok_or_else(|| {
        Usage(format!("--extcap-interface {called}: --extcap-interfaces lists them, as capbench-IF"))
    })?;
    if question.extcap_dlts {
        print(&grammar::dlts(Side::named(name)?.layer()?))?;
    } else if question.extcap_config {
        print(&grammar::config(&runnable(), DEFAULT_METHOD))?;
    } else if let (true, Some(fifo)) = (question.capture, &question.fifo) {
        let stop = Stop::install()?;
        return capture_to(fifo, &stop, || source(flags, name));
    } else if let Some(filter) = &question.extcap_capture_filter {
        return verify(filter, &super::interface(&Side::existing(name)?)?);
    } else {
        let steps = "--extcap-dlts, --extcap-config, --extcap-capture-filter or --capture";
        return Err(Usage(format!("--extcap-interface {called}: give {steps}, too")).into());
    }
    Ok(Exit::Done)
}

/// Parses a command line without looking at the host, for the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(flags: &ExtcapFlags) {
    let filter = flags.question.extcap_capture_filter.as_deref().map(FilterText::of_expression);
    let name = flags.question.extcap_interface.as_deref().and_then(grammar::host_interface);
    let method = super::method(&flags.method);
    if let Ok(method) = &method {
        drop(flags.capture.check_used(std::slice::from_ref(method), &Programs::default()));
    }
    std::hint::black_box((filter.is_some(), name, flags.capture.options(), flags.capture.direction));
}

/// Interfaces of this namespace whose packets capbench can capture, up or down.
fn capturable_interfaces() -> Result<Vec<String>> {
    let links = Links::of_current_namespace()?.all()?;
    let is_capturable = |link: &Link| LinkLayer::of_hardware_type(link.hardware_type).is_some();
    Ok(links.into_iter().filter(is_capturable).map(|link| link.name).collect())
}

/// What to capture.
fn source(flags: &ExtcapFlags, name: &str) -> Result<Source> {
    let method = super::method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let filter = flags.question.extcap_capture_filter.as_deref().filter(|text| !text.trim().is_empty());
    let filter = filter.map(FilterText::of_expression).transpose()?;
    let wanted = Wanted {
        method: &method,
        options: flags.capture.options(),
        direction: flags.capture.direction,
        filter: filter.as_ref(),
        optimise: Optimise::Yes,
        members: 1,
        flow_hashes: false,
    };
    wanted.on(name)
}

/// Methods that run here, each with its description. If none runs (users without privileges): the default one with the reason.
fn runnable() -> Vec<(&'static str, String)> {
    let candidates =
        METHODS.iter().filter(|method| MethodSpec::plain(method.name).delivery() != Some(Delivery::Counted));
    let mut found = Vec::new();
    let mut refused = String::new();
    for method in candidates {
        match (method.supported)(&MethodSpec::plain(method.name)) {
            Ok(()) => found.push((method.name, method.summary.to_string())),
            Err(reason) if method.name == DEFAULT_METHOD => refused = reason,
            Err(_) => {}
        }
    }
    if found.is_empty() {
        found.push((DEFAULT_METHOD, format!("not here: {refused}")));
    }
    found
}

/// Prints what is wrong with a filter, in one line on standard output. Wireshark reads an empty output as a valid filter and
/// ignores the exit code. If the filter cannot be checked, the exit code is an error, and Wireshark shows no verdict.
fn verify(filter: &str, interface: &Interface) -> Result<Exit> {
    let snap = CaptureOptions::default().snap_length;
    let compiled =
        FilterText::of_expression(filter).and_then(|text| text.compile(interface, snap, Optimise::Yes));
    match compiled {
        Ok(_) => {}
        Err(error @ (CaptureError::Filter { .. } | CaptureError::Option { .. })) => {
            let text = error.to_string();
            print(&format!("{}\n", text.lines().next().unwrap_or("filter: wrong")))?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Exit::Done)
}

/// How long to wait for a reader when only the end is left to send.
const PATIENCE: Duration = Duration::from_secs(5);

/// Captures into the file, usually a pipe, until its reader closes it or the user stops the capture. `source` selects what to
/// capture.
///
/// On failure the reader of the pipe still gets an end of file: dumpcap would wait forever for the first octet.
fn capture_to(path: &Path, stop: &Stop, source: impl FnOnce() -> Result<Source>) -> Result<Exit> {
    let captured = source().and_then(|source| capture(path, stop, source));
    if captured.is_err() {
        // Return the error of the capture, not that of the pipe.
        let _ = super::with_reader(path, stop, Some(Instant::now() + PATIENCE), || {});
    }
    captured
}

fn capture(path: &Path, stop: &Stop, source: Source) -> Result<Exit> {
    let opened = Opened::open(Plan {
        snap_length: source.options.snap_length,
        sources: vec![source],
        format: FileFormat::Pcapng,
        section: super::section(),
        hash: HashAlgorithm::default(),
        write: WriteOptions::new(path),
        packets: None,
        packet_buffered: true,
        workers: None,
        cpus: Vec::new(),
    })?;
    let held = match super::with_reader(path, stop, None, || {}) {
        Ok(Some(pipe)) => Some(pipe),
        Ok(None) => return Ok(Exit::Done),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("--fifo {}: cannot open it", path.display()));
        }
    };
    // Print no warning if the process is not confined: Wireshark shows every output as an error.
    privileges::keep_and_confine(opened.plan(), None, &privileges::Files::default())?;
    let session = opened.start()?;
    drop(held);
    super::drive(&session, stop, |_| ControlFlow::Continue(()));
    // The file records the losses. Print nothing: Wireshark shows every output as an error.
    super::outcome(session.finish().failures)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::as_called;
    use std::ffi::OsString;

    #[test]
    fn only_the_name_that_wireshark_uses_is_the_subcommand() {
        let called = |line: &str| {
            let arguments = as_called(line.split_whitespace().map(OsString::from).collect());
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(called("/x/capbench-extcap --capture"), "/x/capbench-extcap extcap --capture");
        assert_eq!(called("capbench-extcap"), "capbench-extcap extcap");
        for other in ["capbench --capture", "/capbench-extcap/capbench count", ""] {
            assert_eq!(called(other), other);
        }
    }
}
