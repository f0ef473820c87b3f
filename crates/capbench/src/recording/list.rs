//! What `record` lists instead of recording: interfaces, types, the program of a filter.

use std::fs;

use anyhow::{Context, Result};
use capbench_capture::Filter;
use capbench_capture::filter::Listing;
use capbench_host::bed::Side;
use capbench_record::file::link_type_name;

use super::flags::RecordFlags;
use crate::exit::Usage;
use crate::output::print;

/// A list.
pub enum List {
    /// `-D`: every interface of the calling thread's network namespace.
    Interfaces,
    /// `-L`: the link types of these interfaces.
    LinkTypes(Vec<String>),
    /// `-d`: the program of the filter on the first interface.
    Program(Filter, Listing),
    /// `-J`: the types of time stamps.
    TimeStampTypes,
}

impl List {
    /// The list that the flags ask for; `None` if they ask for a recording.
    ///
    /// # Errors
    /// No interface or filter to list something of, or a wrong one.
    pub fn requested(flags: &RecordFlags) -> Result<Option<Self>> {
        if flags.list_interfaces {
            return Ok(Some(Self::Interfaces));
        }
        if flags.list_data_link_types {
            if flags.interface.is_empty() {
                return Err(Usage("-i: link types of which interface? -D lists them".into()).into());
            }
            return Ok(Some(Self::LinkTypes(flags.interface.clone())));
        }
        if let Some(listing) = Listing::of_count(flags.dump) {
            return Ok(Some(Self::Program(program(flags)?, listing)));
        }
        Ok(flags.list_time_stamp_types.then_some(Self::TimeStampTypes))
    }

    /// Prints it.
    pub fn print(self) -> Result<()> {
        match self {
            Self::Interfaces => print_interfaces(),
            Self::LinkTypes(interfaces) => print_link_types(&interfaces),
            Self::Program(filter, listing) => print(&listing.of(&filter)?),
            Self::TimeStampTypes => {
                print("Time stamp types (use option -j to set):\n  host (the kernel's clock)\n")
            }
        }
    }
}

fn program(flags: &RecordFlags) -> Result<Filter> {
    let Some(name) = flags.interface.first() else {
        return Err(Usage("-i: a filter is compiled for an interface; which?".into()).into());
    };
    let Some(text) = flags.filter.text()? else {
        return Err(Usage("-d: no filter was given".into()).into());
    };
    let interface = super::interface(&Side::existing(name)?)?;
    let snap = flags.capture.options().snap_length;
    Ok(text.compile(&interface, snap, flags.filter.optimise())?)
}

fn print_interfaces() -> Result<()> {
    const FILE: &str = "/proc/thread-self/net/dev";
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    // Skip the two header lines.
    let names = text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let rows = names.enumerate().map(|(number, name)| format!("{}.{name}\n", number + 1));
    print(&rows.collect::<String>())
}

/// All methods deliver packets of one link type, that of the interface.
fn print_link_types(interfaces: &[String]) -> Result<()> {
    for name in interfaces {
        let link_type = link_type_name(Side::existing(name)?.layer()?);
        print(&format!("Data link types for {name}:\n  {link_type}\n"))?;
    }
    Ok(())
}
