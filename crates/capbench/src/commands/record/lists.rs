//! What `record` prints instead of recording: interfaces, link types, a filter's program.

use anyhow::{Context, Result};
use capbench_capture::filter::Listing;
use capbench_model::units::SnapLength;

use super::plan;
use crate::cli::record::RecordFlags;
use crate::commands::recording;
use crate::exit::{Exit, Usage, print};

/// `-D`: every interface of this network namespace.
pub fn interfaces() -> Result<Exit> {
    let mut text = String::new();
    for (number, name) in names()?.iter().enumerate() {
        text.push_str(&format!("{}.{name}\n", number + 1));
    }
    print(&text)?;
    Ok(Exit::Done)
}

/// Names of the interfaces in the calling thread's network namespace.
fn names() -> Result<Vec<String>> {
    const FILE: &str = "/proc/thread-self/net/dev";
    let text = std::fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    // Skip the two header lines.
    Ok(text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_string())).collect())
}

/// `-L`: all methods deliver Ethernet frames.
pub fn link_types(interfaces: &[String]) -> Result<Exit> {
    if interfaces.is_empty() {
        return Err(Usage("-i: link types of which interface? -D lists them".into()).into());
    }
    for name in interfaces {
        recording::side(name)?;
        print(&format!("Data link types for {name}:\n  EN10MB (Ethernet)\n"))?;
    }
    Ok(Exit::Done)
}

/// `-d`: the program of the filter on the first interface.
pub fn program(flags: &RecordFlags) -> Result<Exit> {
    let Some(name) = flags.interface.first() else {
        return Err(Usage("-i: a filter is compiled for an interface; which?".into()).into());
    };
    let Some(text) = plan::filter_text(flags)? else {
        return Err(Usage("-d: no filter was given".into()).into());
    };
    let interface = recording::interface(&recording::side(name)?);
    let snap: SnapLength = flags.capture.options().snap_length;
    let filter = text.compile(&interface, snap, plan::optimise(flags))?;
    if let Some(listing) = Listing::of_count(flags.dump) {
        print(&listing.of(&filter)?)?;
    }
    Ok(Exit::Done)
}
