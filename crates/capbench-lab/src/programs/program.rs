//! The properties of a capture program, before it runs.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capbench_model::noise::ProgramNote;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_sys::host::process::{Signal, may_execute};
use capbench_sys::host::trust::{self, Trust};
use capbench_sys::host::{Capability, capability, namespace};
use regex_lite::Regex;
use serde::Deserialize;

use super::arguments;

/// Folders outside an ordinary user's PATH in which Debian and the packages of projects install programs.
const FURTHER_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/opt/zeek/bin"];

/// Time limit for a program to become ready and to end, if its definition sets none.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A capture program: how to start it, when it is ready, how to stop it, and how to read its counts.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name after `cmd:`.
    pub name: String,
    /// Summary of one line, for lists.
    pub summary: String,
    /// Program and arguments, with placeholders such as `{interface}` and `{ring}`. With `{file}` it writes a capture file, whose
    /// frames capbench verifies one by one.
    pub command: Vec<String>,
    /// Further arguments if the interface must not become promiscuous.
    pub not_promiscuous: Vec<String>,
    /// The sign that it can receive.
    pub ready: Ready,
    /// Time limit to become ready, and again to end.
    pub patience: Duration,
    /// How long it may delay a received frame although it is idle, for example the retire timeout of its ring.
    pub holds: Duration,
    /// The signal that stops it.
    pub stop: Signal,
    /// How to ask for its version.
    pub version: Option<Version>,
    /// The counts in its output.
    pub counts: Vec<Count>,
    /// Places of [`capbench_model::counters::Counters`] that it does not have, so that it cannot lose frames there.
    pub without: Vec<Place>,
    /// Where users can get it, as text.
    pub source: Option<String>,
    /// Why it runs for root only.
    pub only_root: Option<String>,
    /// Features that capbench's authors could not test.
    pub untested: Option<String>,
    /// A remark on its results, for example a setting that it does not offer.
    pub remark: Option<String>,
}

/// The sign that a program can receive.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A new packet socket receives on the interface (`/proc/net/packet`).
    Socket,
    /// Its output matches.
    Says(Regex),
}

/// How to ask a program for its version.
#[derive(Clone, Debug)]
pub struct Version {
    /// Arguments with which it prints its version and ends.
    pub arguments: Vec<String>,
    /// The shown part: every match.
    pub pattern: Regex,
}

/// One number in a program's output.
#[derive(Clone, Debug)]
pub struct Count {
    /// Its name in results.
    pub name: String,
    /// Its meaning for capbench.
    pub meaning: Meaning,
    /// Its place in the output: the first group of the last match.
    pub pattern: Regex,
}

/// Meaning of a reported count. Any two of the first three determine the third.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Frames that reached the program's socket or ring, including those dropped there.
    Received,
    /// Frames dropped because the program's socket or ring was full.
    Dropped,
    /// Frames that the program read.
    Captured,
    /// Frames lost in a queue of the program, after it had read them from its socket or ring.
    QueueDropped,
    /// Any other count: saved, not interpreted.
    Other,
}

/// A place that a program lacks, by its name in results.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Absent {
    FillRing,
    Ring,
    MethodQueue,
}

impl Absent {
    /// The place, and the meaning of a count that contradicts its absence.
    pub(super) fn place(self) -> (Place, Option<Meaning>) {
        match self {
            Self::FillRing => (Place::FillRing, None),
            Self::Ring => (Place::Ring, Some(Meaning::Dropped)),
            Self::MethodQueue => (Place::MethodQueue, Some(Meaning::QueueDropped)),
        }
    }
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

    /// Requested settings that it does not offer.
    pub(super) fn ignored(&self, options: &CaptureOptions) -> Vec<ProgramNote> {
        let default = CaptureOptions::default();
        let supported = self.options();
        let asked = [
            ("--ring", options.ring != default.ring),
            ("--snaplen", options.snap_length != default.snap_length),
            ("--no-promiscuous", options.promiscuous != default.promiscuous),
        ];
        let mut ignored = Vec::new();
        for (flag, is_asked) in asked {
            if is_asked && !supported.contains(&flag) {
                ignored.push(ProgramNote::IgnoresOption { flag: flag.into() });
            }
        }
        ignored
    }

    /// Whether it can capture in the calling thread's namespaces.
    ///
    /// # Errors
    /// Why it cannot: it is not installed, may not be executed, needs root, or lacks the privilege to capture, which it inherits
    /// from this thread.
    pub fn supported(&self) -> std::result::Result<(), String> {
        self.executable()?;
        let privileges = capability::effective().map_err(|error| error.to_string())?;
        if !privileges.has(Capability::NetRaw) {
            return Err(format!(
                "this process lacks {}; run capbench as root, or have a bench make its own namespaces",
                Capability::NetRaw
            ));
        }
        match (&self.only_root, namespace::in_initial_user_namespace()) {
            (Some(reason), Ok(false)) => Err(format!("{reason}; run capbench as root")),
            _ => Ok(()),
        }
    }

    /// The program's file.
    pub(super) fn executable(&self) -> std::result::Result<PathBuf, String> {
        self.check_named_files()?;
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
        // As in shells: a file that may not be executed does not hide a later one.
        for file in folders.map(|folder| folder.join(program)).filter(|file| file.is_file()) {
            match check_executable(&file) {
                Ok(()) => return Ok(file),
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        Err(refused.unwrap_or_else(|| match &self.source {
            Some(source) => format!("{program} is not installed; {source}"),
            None => format!("there is no program {program} on the PATH"),
        }))
    }
}

impl Program {
    /// Checks that nobody but root and the caller controls the files that the command names by their paths: the program, or the
    /// script or configuration of an interpreter. What has no path is found on the PATH, as a shell finds it.
    fn check_named_files(&self) -> std::result::Result<(), String> {
        let trust = Trust::for_instructions();
        for file in self.command.iter().map(Path::new).filter(|word| word.is_absolute() && word.is_file()) {
            trust.check(file).map_err(|error| trust::advised(error).to_string())?;
        }
        Ok(())
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
