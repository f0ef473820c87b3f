//! The words of what a plan says of its agents.

use capbench_agent::laboratory::{DescribedEnd, DescribedInterface, EndProgram, OneWayTimes, UnknownLosses};
use capbench_report::sentences::generator;

/// An agent or a generator, and what it allows.
pub fn end(end: &DescribedEnd) -> String {
    let mut text = match &end.program {
        EndProgram::Generator(facts) => generator::words(facts),
        EndProgram::Agent { version, kernel, interface } => {
            let kernel = kernel.as_deref().unwrap_or("unknown kernel");
            let interface = match interface {
                Ok(described) => interface_words(described),
                Err(error) => error.clone(),
            };
            format!("capbench {version}, {kernel}, {interface}")
        }
    };
    if !end.missing_capabilities.is_empty() {
        text += &format!(", without {}", end.missing_capabilities.join(", "));
    }
    if let Some(limit) = end.max_pps {
        text += &format!(", allows up to {limit} frames/s");
    }
    if let Some(limit) = end.max_duration {
        text += &format!(", allows trials up to {limit:?}");
    }
    if !end.programs.is_empty() {
        text += &format!(", allows programs {}", end.programs.join(", "));
    }
    if !end.isolated.is_empty() {
        text += &format!(", calls {} isolated", end.isolated.join(", "));
    }
    if let Some(reason) = &end.no_report_because {
        text += &format!(", leaves no report if its connection is lost: {reason}");
    }
    text
}

fn interface_words(interface: &DescribedInterface) -> String {
    let driver = interface.driver.as_deref().unwrap_or("unknown driver");
    let speed = match interface.bits_per_second {
        Some(bits) => format!("{} Mbit/s", bits / 1e6),
        None => "no speed".into(),
    };
    format!("{driver}, {speed}, MTU {}", interface.mtu)
}

/// What the ledger will leave unknown.
pub fn unknown(losses: &[UnknownLosses]) -> String {
    let mut all = Vec::new();
    for unknown in losses {
        all.push(match unknown {
            UnknownLosses::UncountedSender { location } => {
                format!("losses on the path: nobody counts what leaves {location}")
            }
            UnknownLosses::UnverifiedDriver { driver, location } => {
                let driver = driver.as_deref().unwrap_or("its driver");
                format!("losses on the path: {driver} of {location} is not known to count each frame")
            }
            UnknownLosses::DropReasons { location } => {
                format!("drop reasons of the kernel of {location}: it needs CAP_BPF")
            }
        });
    }
    all.join("; ")
}

/// What the clocks allow to be known of one-way times.
pub fn one_way(times: &OneWayTimes) -> String {
    match times {
        OneWayTimes::OneClock => "absolute: all ends read one kernel's clock".into(),
        OneWayTimes::NoSendTimes { location } => {
            format!("none: the frames of {location} have no send times")
        }
        OneWayTimes::Unsynchronised { location, reason } => {
            format!("relative: the clock of {location} is not synchronised: {reason}")
        }
        OneWayTimes::WithinError(error) => {
            format!("absolute ±{error:?}, if exchanges around a trial agree")
        }
    }
}
