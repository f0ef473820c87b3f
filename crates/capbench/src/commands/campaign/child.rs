//! The child process of a run.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use capbench_sys::host::ProcessId;
use capbench_sys::host::process::{Signal, lead_own_session, signal_process};

use crate::signals::Stop;

/// This program, even if an update has replaced its file: all runs of a campaign are of one version.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Octets at the end of a log in which the reason of a failure is looked for.
const TAIL: u64 = 64 << 10;

/// Starts one child at a time and ends it when this process is to stop.
pub struct Children {
    program: PathBuf,
    stop: Stop,
    running: Arc<Mutex<Option<ProcessId>>>,
}

/// How a child ended.
pub struct Ended {
    /// Its exit code; `None` when a signal killed it.
    pub code: Option<u8>,
    /// Why, as far as it said.
    pub reason: String,
}

impl Children {
    /// The first signal that stops this process ends the child, too.
    pub fn ended_by_signals(program: PathBuf) -> Result<Self> {
        let running: Arc<Mutex<Option<ProcessId>>> = Arc::default();
        let child = Arc::clone(&running);
        let stop = Stop::calling(move || terminate(*locked(&child)))?;
        Ok(Self { program, stop, running })
    }

    /// No signal reaches them.
    #[cfg(test)]
    pub fn of(program: PathBuf) -> Self {
        Self { program, stop: Stop::default(), running: Arc::default() }
    }

    /// The signal after which no further run is to begin.
    pub fn stopped_by(&self) -> Option<u8> {
        self.stop.is_wanted().then(|| self.stop.signal())
    }

    /// Runs this program to its end. What it prints is appended to `log`. It keeps `lock` open as long as it runs.
    pub fn run(&self, words: &[String], log: &Path, lock: &File) -> Result<Ended> {
        let attempt = || format!("cannot write {}", log.display());
        let mut file = OpenOptions::new().create(true).append(true).open(log).with_context(attempt)?;
        let start = file.seek(SeekFrom::End(0)).with_context(attempt)?;
        let mut command = Command::new(&self.program);
        command.arg0("capbench").args(words).stdin(Stdio::from(lock.try_clone()?));
        command.stdout(file.try_clone()?).stderr(file);
        // No signal of a terminal reaches it, and it ends with this process.
        let mut child = lead_own_session(&mut command).spawn().context("cannot start a run")?;
        *locked(&self.running) = ProcessId::new(child.id());
        // The signal may have come when there was no child yet.
        if self.stop.is_wanted() {
            terminate(ProcessId::new(child.id()));
        }
        let status = child.wait();
        *locked(&self.running) = None;
        let status = status.context("cannot wait for the end of a run")?;
        Ok(Ended { code: code(status), reason: reason(status, log, start) })
    }
}

/// What this program prints for a command line, its standard error included.
pub fn printed(words: &[String]) -> Result<Output> {
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("capbench").args(words).stdin(Stdio::null()).output().context("cannot start capbench")
}

/// The line on which a child says why it failed.
pub fn refusal(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|line| line.strip_prefix("capbench: "))
}

/// One that has ended needs no signal.
fn terminate(child: Option<ProcessId>) {
    if let Some(child) = child {
        let _ = signal_process(child, Signal::Terminate);
    }
}

fn locked(running: &Mutex<Option<ProcessId>>) -> MutexGuard<'_, Option<ProcessId>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn code(status: ExitStatus) -> Option<u8> {
    status.code().and_then(|code| code.try_into().ok())
}

/// Why a run ended: the last line of it in the log that says so.
fn reason(status: ExitStatus, log: &Path, start: u64) -> String {
    let tail = || {
        let mut file = File::open(log).ok()?;
        let end = file.seek(SeekFrom::End(0)).ok()?;
        file.seek(SeekFrom::Start(start.max(end.saturating_sub(TAIL)))).ok()?;
        let mut octets = Vec::new();
        file.read_to_end(&mut octets).ok()?;
        Some(String::from_utf8_lossy(&octets).into_owned())
    };
    let said = tail().and_then(|text| refusal(&text).map(String::from));
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Some(code)) if code > 128 => format!("stopped by signal {}", code - 128),
        _ => said.unwrap_or_else(|| format!("it gave no reason; {}", log.display())),
    }
}
