//! What the commands share that change settings: the folder of saved ones, what identifies interfaces, a line for each change.

use anyhow::Result;
use capbench_host::HostError;
use capbench_host::bed::Side;
use capbench_host::links::Links;
use capbench_sys::host::capability::{self, Capability};
use capbench_tune::{Folder, Identity, Outcome, Setting};

use super::flags::TuneFlags;
use crate::output::print;

/// The folder of saved settings, with the privilege to change some; `None` if there is none and it is not to be made.
pub fn folder(flags: &TuneFlags, creates: bool) -> Result<Option<Folder>> {
    let missing = capability::effective()?.missing(&[Capability::NetAdmin, Capability::SysAdmin]);
    if !missing.is_empty() {
        let reason = format!("the process lacks {}, which changes settings", missing[0]);
        return Err(HostError::Privilege { reason, next: "run it as root".into() }.into());
    }
    Ok(Folder::open(&flags.state, creates)?)
}

/// What identifies the start of the host.
pub fn boot() -> Result<String> {
    const FILE: &str = "/proc/sys/kernel/random/boot_id";
    Ok(std::fs::read_to_string(FILE).map_err(|error| HostError::reading(FILE, error))?.trim().to_owned())
}

/// Every interface of this network namespace.
fn every_side() -> Result<Vec<Side>> {
    let links = Links::of_current_namespace()?.all()?;
    // One that has gone meanwhile is left out.
    Ok(links.iter().filter_map(|link| Side::named(&link.name).ok()).collect())
}

/// What identifies every interface of this network namespace.
pub fn every_identity() -> Result<Vec<Identity>> {
    Ok(every_side()?.iter().map(Identity::of).collect())
}

/// Prints a line for each change when it is made. A closed pipe must not end a command between two changes.
#[derive(Default)]
pub struct Lines {
    failure: Option<anyhow::Error>,
}

impl Lines {
    pub fn add(&mut self, setting: &Setting, outcome: &Outcome) {
        if *outcome != Outcome::Already && self.failure.is_none() {
            self.failure = print(&format!("{setting}: {outcome}\n")).err();
        }
    }

    /// Why a line could not be printed.
    pub fn finish(self) -> Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}
