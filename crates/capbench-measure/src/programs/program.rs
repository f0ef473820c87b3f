//! What there is to know about a capture program before it runs.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capbench_capture::{CaptureOptions, LossPlace};
use capbench_sys::host::process::{Signal, may_execute};
use capbench_sys::host::{Capability, capability, namespace};
use regex::Regex;

use super::arguments;

/// Where Debian and the packages of projects keep programs that an ordinary user's PATH leaves out.
const FURTHER_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/opt/zeek/bin"];

/// A capture program: how it is started, when it is ready, how it is stopped, and how its counts are read.
#[derive(Clone, Debug)]
pub struct Program {
    /// What follows `cmd:`.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Program and arguments, with placeholders: `{interface}`, `{ring}` and their kind. With `{file}` it writes a capture
    /// file, which is verified frame by frame.
    pub command: Vec<String>,
    /// Further arguments where the interface is not to be made promiscuous.
    pub not_promiscuous: Vec<String>,
    /// How it shows that it can receive.
    pub ready: Ready,
    /// How long it may take to become ready, and again to end.
    pub patience: Duration,
    /// How long it may hold a received frame back although nothing keeps it busy, such as the retire timeout of its ring.
    pub holds: Duration,
    /// What it is stopped with.
    pub stop: Signal,
    /// How its version is asked for.
    pub version: Option<Version>,
    /// The counts in what it prints.
    pub counts: Vec<Count>,
    /// Places of [`capbench_capture::Counters`] where it cannot lose frames, as it does not have them.
    pub without: Vec<LossPlace>,
    /// Where it can be had, in words.
    pub source: Option<&'static str>,
    /// Why it runs for root only.
    pub only_root: Option<&'static str>,
    /// What capbench's authors could not try.
    pub untested: Option<&'static str>,
    /// What there is to say about its results, for example a setting that it does not offer.
    pub remark: Option<&'static str>,
}

/// How a program shows that it can receive.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A packet socket that is not there before receives on the interface (`/proc/net/packet`).
    Socket,
    /// It prints text that matches.
    Says(Regex),
}

/// How a program tells its version.
#[derive(Clone, Debug)]
pub struct Version {
    /// Arguments that make it do so and end.
    pub arguments: Vec<String>,
    /// What of it is shown: every match.
    pub pattern: Regex,
}

/// One number in what a program prints.
#[derive(Clone, Debug)]
pub struct Count {
    /// What results call it.
    pub name: String,
    /// What capbench makes of it.
    pub meaning: Meaning,
    /// Where it stands: the first group of the last match.
    pub pattern: Regex,
}

/// What a reported count means. Any two of the first three give the third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Frames that reached the program's socket or ring, those dropped there included.
    Received,
    /// Frames that found no room in the program's socket or ring.
    Dropped,
    /// Frames that the program took in.
    Captured,
    /// Frames that were lost in a queue of the program's own, after it had taken them from its socket or ring.
    QueueDropped,
    /// Something else: it is saved and not interpreted.
    Other,
}

impl Program {
    /// Whether it writes a capture file.
    pub fn writes_file(&self) -> bool {
        self.command.iter().any(|argument| arguments::has(argument, "file"))
    }

    /// The capture flags that it uses.
    pub fn options(&self) -> Vec<&'static str> {
        let uses = |name| self.command.iter().any(|argument| arguments::has(argument, name));
        let mut options = Vec::new();
        if ["ring", "ring_kib", "ring_mib"].into_iter().any(uses) {
            options.push("--ring");
        }
        if uses("snaplen") {
            options.push("--snaplen");
        }
        if !self.not_promiscuous.is_empty() {
            options.push("--no-promiscuous");
        }
        options
    }

    /// Settings that were asked for and that it does not offer, in words.
    pub(super) fn unheeded(&self, options: &CaptureOptions) -> Vec<String> {
        let default = CaptureOptions::default();
        let heeded = self.options();
        let asked = [
            ("--ring", options.ring != default.ring),
            ("--snaplen", options.snap_length != default.snap_length),
            ("--no-promiscuous", options.promiscuous != default.promiscuous),
        ];
        asked
            .into_iter()
            .filter(|(flag, asked)| *asked && !heeded.contains(flag))
            .map(|(flag, _)| format!("{flag} does not reach {}", self.name))
            .collect()
    }

    /// Whether it can capture in the calling thread's namespaces.
    ///
    /// # Errors
    /// Why it cannot: it is not installed, may not be executed, needs root, or lacks the privilege to capture, which it has
    /// from this thread.
    pub fn supported(&self) -> std::result::Result<(), String> {
        self.executable()?;
        let privileges = capability::effective().map_err(|error| error.to_string())?;
        if !privileges.has(Capability::NetRaw) {
            return Err(format!(
                "{} is not held here; run capbench as root, or have a bench make its own namespaces",
                Capability::NetRaw
            ));
        }
        match (self.only_root, namespace::in_initial_user_namespace()) {
            (Some(reason), Ok(false)) => Err(format!("{reason}; run capbench as root")),
            _ => Ok(()),
        }
    }

    /// The program's file.
    pub(super) fn executable(&self) -> std::result::Result<PathBuf, String> {
        let program = &self.command[0];
        if program.contains('/') {
            let path = PathBuf::from(program);
            return match path.is_file() {
                true => check_executable(&path).map(|()| path),
                false => Err(format!("there is no file {program}")),
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(FURTHER_FOLDERS.map(PathBuf::from));
        let mut refused = None;
        // As shells do: a file that may not be executed does not hide one further on.
        for file in folders.map(|folder| folder.join(program)).filter(|file| file.is_file()) {
            match check_executable(&file) {
                Ok(()) => return Ok(file),
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        Err(refused.unwrap_or_else(|| match self.source {
            Some(source) => format!("{program} is not installed; {source}"),
            None => format!("there is no program {program} on the PATH"),
        }))
    }
}

fn check_executable(file: &Path) -> std::result::Result<(), String> {
    may_execute(file).map_err(|error| match error.errno() {
        Some(errno) => {
            format!("{} may not be executed: {}", file.display(), io::Error::from_raw_os_error(errno))
        }
        None => error.to_string(),
    })
}
