//! `capbench extcap`: captures for Wireshark with the method that the user selects there (extcap(4)).
//!
//! Wireshark starts the program once per question and parses its standard output, so only the answer may be there. At startup
//! it does this for every interface, so answers must be fast. Wireshark shows standard error to the user as a failure.

mod capture;
mod grammar;
mod install;

use anyhow::Result;
use capbench_capture::filter::{FilterText, Optimise};
use capbench_capture::{CaptureError, CaptureOptions, Delivery, Interface, METHODS, MethodSpec};
use capbench_host::links::Links;
use capbench_measure::programs::Programs;
use capbench_record::recording::Source;
use capbench_sys::host::interface::{hardware_type, is_ethernet};

use super::recording::{self, Wanted};
use crate::cli::extcap::{DEFAULT_METHOD, ExtcapFlags};
use crate::exit::{Exit, Usage, print};
use crate::stop::Stop;

/// Runs the command.
pub fn run(flags: &ExtcapFlags) -> Result<Exit> {
    if let Some(folder) = &flags.install {
        return install::run(folder.as_deref()).map(|()| Exit::Done);
    }
    let question = &flags.question;
    if question.extcap_cleanup_postkill {
        return Ok(Exit::Done);
    }
    if question.extcap_interfaces {
        print(&(grammar::version() + &grammar::interfaces(&ethernet_interfaces()?)))?;
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
        print(grammar::dlts())?;
    } else if question.extcap_config {
        print(&grammar::config(&runnable()))?;
    } else if let (true, Some(fifo)) = (question.capture, &question.fifo) {
        let stop = Stop::install()?;
        return capture::capture_to(fifo, &stop, || source(flags, name));
    } else if let Some(filter) = &question.extcap_capture_filter {
        return verify(filter, &recording::interface(&recording::side(name)?));
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
    let method = recording::method(&flags.method);
    if let Ok(method) = &method {
        drop(flags.capture.check_used(std::slice::from_ref(method), &Programs::default()));
    }
    std::hint::black_box((filter.is_some(), name, flags.capture.options(), flags.capture.direction()));
}

/// Interfaces of this namespace whose packets are Ethernet frames, up or down.
fn ethernet_interfaces() -> Result<Vec<String>> {
    let links = Links::of_current_namespace()?.all()?;
    // An interface that disappeared meanwhile is skipped.
    let has_frames = |name: &String| hardware_type(name).is_ok_and(is_ethernet);
    Ok(links.into_iter().map(|link| link.name).filter(has_frames).collect())
}

/// What to capture.
fn source(flags: &ExtcapFlags, name: &str) -> Result<Source> {
    let method = recording::method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let filter = flags.question.extcap_capture_filter.as_deref().filter(|text| !text.trim().is_empty());
    let filter = filter.map(FilterText::of_expression).transpose()?;
    let wanted = Wanted {
        method: &method,
        options: flags.capture.options(),
        direction: flags.capture.direction(),
        filter: filter.as_ref(),
        optimise: Optimise::Yes,
        members: 1,
        flow_hashes: false,
    };
    wanted.on(name)
}

/// Methods that run here, each with its description. If none runs (users without privileges): the default one with the reason.
fn runnable() -> Vec<(&'static str, String)> {
    let candidates = METHODS.iter().filter(|method| method.delivery != Delivery::Counted);
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
