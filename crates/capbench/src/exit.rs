//! Exit codes, and the only place that prints errors.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;

use capbench_capture::CaptureError;
use capbench_frames::FrameError;
use capbench_host::HostError;
use capbench_lab::LabError;
use capbench_model::TrialError;
use capbench_plan::PlanError;
use capbench_record::RecordError;
use capbench_report::{ReportError, printable};
use capbench_traffic::TrafficError;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: everything done.
    Done,
    /// 3: the loss is over the user's limit, or a comparison shows a regression.
    LossOverLimit,
    /// 4: the measurement does not answer the question: limited by the generator, or noisy.
    Inconclusive,
    /// 128 + signal: stopped by the user; the measurements so far are saved.
    Stopped(u8),
    /// Something that the user named could not be measured; the rest was. The code is that of the first failure.
    Partly(u8),
}

/// A mistake in the command line that only the host shows. Exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A failure that was already printed, with its exit code.
#[derive(Clone, Debug)]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// The failure of one part of a command.
    pub fn of(error: &TrialError) -> Self {
        Self { text: format!("nothing could be measured: {error}"), code: of_trial(error) }
    }

    /// The exit code if the whole command had failed so.
    pub fn code(&self) -> u8 {
        self.code
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Nothing could be measured because nothing of it runs here. Exit code 5.
#[derive(Debug)]
pub struct Unsupported(pub String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// 128 + SIGPIPE, as a shell reports a program whose reader closed the pipe.
const READER_LEFT: u8 = 128 + 13;
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const LOSS_OVER_LIMIT: u8 = 3;
const INCONCLUSIVE: u8 = 4;
const CANNOT_WRITE: &str = "cannot write to standard output";
/// Nothing of it runs here.
pub const UNSUPPORTED: u8 = 5;
const PRIVILEGE: u8 = 6;
/// The disk or the user's quota is full. The files hold everything recorded until then.
const DISK_FULL: u8 = 7;

/// Prints the error, if any, and returns the exit code.
pub fn code(done: anyhow::Result<Exit>) -> ExitCode {
    match done {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::LossOverLimit) => ExitCode::from(LOSS_OVER_LIMIT),
        Ok(Exit::Inconclusive) => ExitCode::from(INCONCLUSIVE),
        Ok(Exit::Stopped(signal)) => ExitCode::from(128 + signal),
        Ok(Exit::Partly(code)) => ExitCode::from(code),
        Err(error) if reader_left(&error) => ExitCode::from(READER_LEFT),
        Err(error) => {
            crate::tell::text(&format!("capbench: {}\n", message(&error)));
            ExitCode::from(of_error(&error))
        }
    }
}

/// The error and its causes, each once: many messages already contain their cause. All in one line, except the marked place of
/// an error in a filter, which is printed below the filter.
fn message(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line.push_str(": ");
            line.push_str(&cause);
        }
    }
    let is_filter = |cause: &(dyn std::error::Error + 'static)| {
        let error = match cause.downcast_ref() {
            Some(RecordError::Capture(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        matches!(error, Some(CaptureError::Filter { .. }))
    };
    if error.chain().any(is_filter) { line } else { line.replace('\n', " ") }
}

/// Prints text or JSON to standard output. It escapes control characters, because the text contains foreign names.
///
/// # Errors
/// Nobody reads standard output any more, or the write fails.
pub fn print(text: &str) -> anyhow::Result<()> {
    write(text).context(CANNOT_WRITE)
}

/// Like [`print`], for callers with another error type.
///
/// # Errors
/// Like [`print`].
pub fn write(text: &str) -> io::Result<()> {
    write_as_is(printable::text(text).as_bytes())
}

/// Writes to standard output without escaping: our control sequences around printable text, or a file's content for a pipe.
///
/// # Errors
/// Nobody reads standard output any more, or the write fails.
pub fn print_as_is(octets: &[u8]) -> anyhow::Result<()> {
    write_as_is(octets).context(CANNOT_WRITE)
}

fn write_as_is(octets: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(octets).and_then(|()| out.flush())
}

/// Reports a panic on standard error, with a backtrace if `RUST_BACKTRACE` asks for one. Escapes the message, which may contain
/// foreign names.
pub fn report_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let thread = std::thread::current();
    crate::tell::text(&format!("capbench: thread {}: {panic}\n", thread.name().unwrap_or("without name")));
    let trace = std::backtrace::Backtrace::capture();
    if trace.status() == std::backtrace::BacktraceStatus::Captured {
        crate::tell::text(&format!("{trace}"));
    }
}

/// Whether the reader of standard output has gone, like `head`: there is nobody to report to.
fn reader_left(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// The exit code of a command line that clap refused, after one line about it; or its help, which is no error.
pub fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let help = error.render();
        let styled = io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|setting| setting.is_empty());
        // The help names only capbench's flags and commands.
        let help = if styled { help.ansi().to_string() } else { help.to_string() };
        return match print_as_is(help.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(READER_LEFT),
        };
    }
    let text = error.render().to_string();
    let words: Vec<&str> = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect();
    let line = words.join(" ");
    tell!("capbench: {}; --help tells more", line.strip_prefix("error: ").unwrap_or(&line));
    ExitCode::from(USAGE)
}

fn of_error(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if cause.is::<Usage>() {
            return USAGE;
        }
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.code;
        }
        if cause.is::<Unsupported>() {
            return UNSUPPORTED;
        }
        if let Some(error) = cause.downcast_ref::<PlanError>() {
            return of_plan(error);
        }
        if let Some(error) = cause.downcast_ref::<TrialError>() {
            return of_trial(error);
        }
        if let Some(error) = cause.downcast_ref::<LabError>() {
            return of_lab(error);
        }
        if let Some(ReportError::Comparison { .. }) = cause.downcast_ref() {
            return USAGE;
        }
        if let Some(error) = cause.downcast_ref::<HostError>() {
            return of_host(error);
        }
        if let Some(error) = cause.downcast_ref::<RecordError>() {
            return of_record(error);
        }
        if let Some(error) = cause.downcast_ref::<CaptureError>() {
            return of_capture(error);
        }
        if cause.is::<FrameError>() {
            return USAGE;
        }
        if let Some(error) = cause.downcast_ref::<TrafficError>() {
            return of_traffic(error);
        }
    }
    FAILED
}

fn of_plan(error: &PlanError) -> u8 {
    match error {
        PlanError::Trial(error) => of_trial(error),
        PlanError::Definition { .. }
        | PlanError::Goal { .. }
        | PlanError::Search { .. }
        | PlanError::Sweep { .. } => USAGE,
        PlanError::Observer(_) | PlanError::File { .. } => FAILED,
    }
}

fn of_trial(error: &TrialError) -> u8 {
    match error {
        TrialError::Unsupported { .. } => UNSUPPORTED,
        TrialError::Frame(_) => USAGE,
        TrialError::Laboratory(_) => LabError::inside(error).map_or(FAILED, of_lab),
    }
}

fn of_lab(error: &LabError) -> u8 {
    match error {
        LabError::Host(error) => of_host(error),
        LabError::Unsupported { .. } => UNSUPPORTED,
        LabError::UnknownProgram { .. } | LabError::Definition { .. } | LabError::Frame(_) => USAGE,
        LabError::Capture(error) => of_capture(error),
        LabError::Traffic(error) => of_traffic(error),
        _ => FAILED,
    }
}

fn of_host(error: &HostError) -> u8 {
    match error {
        HostError::Privilege { .. } => PRIVILEGE,
        HostError::Unsupported { .. } => UNSUPPORTED,
        HostError::Cpu { .. } | HostError::InUse { .. } | HostError::NoInterface { .. } => USAGE,
        _ => FAILED,
    }
}

fn of_capture(error: &CaptureError) -> u8 {
    match error {
        CaptureError::Privilege { .. } => PRIVILEGE,
        CaptureError::UnknownMethod { .. }
        | CaptureError::RingTooLarge { .. }
        | CaptureError::Spec { .. }
        | CaptureError::Filter { .. }
        | CaptureError::Option { .. } => USAGE,
        CaptureError::Unsupported { .. } | CaptureError::Library { .. } => UNSUPPORTED,
        CaptureError::Call { .. } | CaptureError::Removed { .. } | CaptureError::Batches { .. } => FAILED,
    }
}

fn of_record(error: &RecordError) -> u8 {
    match error {
        RecordError::Capture(error) => of_capture(error),
        RecordError::Option { .. } | RecordError::WriteBuffer { .. } | RecordError::FileOption { .. } => {
            USAGE
        }
        RecordError::Output { source, .. } if is_full(source) => DISK_FULL,
        RecordError::HandOff { .. } | RecordError::Worker { .. } | RecordError::Output { .. } => FAILED,
    }
}

/// `ENOSPC` and `EDQUOT`.
fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

fn of_traffic(error: &TrafficError) -> u8 {
    match error {
        TrafficError::Privilege { .. } => PRIVILEGE,
        TrafficError::Sys(_) => FAILED,
        _ => USAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_has_a_code() {
        let code = |errno: i32| {
            let source = std::io::Error::from_raw_os_error(errno);
            let (attempt, path, next) = ("write", "a.pcapng".into(), "free space");
            of_error(&RecordError::Output { attempt, path, next, source }.into())
        };
        // ENOSPC, EDQUOT and EIO.
        assert_eq!([28, 122, 5].map(code), [DISK_FULL, DISK_FULL, FAILED]);
    }
}
