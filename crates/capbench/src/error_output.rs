//! Prints why a command failed: its error, what clap refuses of its command line, or a panic.

use std::io::IsTerminal;
use std::process::ExitCode;

use capbench_capture::CaptureError;
use capbench_record::RecordError;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::{self, Exit};
use crate::output::{self, print_as_is};
use crate::{command_line, suggestion};

/// Prints the error, if any, and returns the exit code.
pub fn end(done: anyhow::Result<Exit>) -> ExitCode {
    if let Err(error) = &done
        && !exit::reader_left(error)
    {
        output::tell(&format!("capbench: {}\n", message(error)));
    }
    ExitCode::from(exit::number(&done))
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
    if error.chain().any(is_of_filter) {
        return line;
    }
    line.push_str(&command_line::origins_in(&line));
    match suggestion::for_error(error) {
        Some(meant) => format!("{line}; did you mean {meant}?"),
        None => line,
    }
    .replace('\n', " ")
}

/// Whether an error is about a filter.
fn is_of_filter(error: &(dyn std::error::Error + 'static)) -> bool {
    let of_capture = match error.downcast_ref() {
        Some(RecordError::Capture(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    matches!(of_capture, Some(CaptureError::Filter { .. }))
}

/// Reports a panic on standard error, with a backtrace if `RUST_BACKTRACE` asks for one. Escapes the message, which may contain
/// foreign names.
pub fn report_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let thread = std::thread::current();
    output::tell(&format!("capbench: thread {}: {panic}\n", thread.name().unwrap_or("without name")));
    let trace = std::backtrace::Backtrace::capture();
    if trace.status() == std::backtrace::BacktraceStatus::Captured {
        output::tell(&format!("{trace}"));
    }
}

/// The exit code of a command line that clap refused, after one line about it; or its help, which is no error.
pub fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let help = error.render();
        let styled = std::io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|setting| setting.is_empty());
        // The help names only capbench's flags and commands.
        let help = if styled { help.ansi().to_string() } else { help.to_string() };
        return match print_as_is(help.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(Exit::READER_LEFT.number()),
        };
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        output::tell(&error.render().to_string());
        return ExitCode::from(exit::USAGE);
    }
    let line = line_of(error);
    let origins = command_line::origins_in(&line);
    match meant(error) {
        Some(_) => tell!("capbench: {line}{origins}"),
        None => tell!("capbench: {line}{origins}; --help describes the flags"),
    }
    ExitCode::from(exit::USAGE)
}

/// What clap refuses, in one line, with what the user may have meant.
pub fn line_of(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let words: Vec<&str> = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    match meant(error) {
        Some(meant) => format!("{line}; did you mean {meant}?"),
        None => line.into(),
    }
}

/// The command, flag or value that the user may have meant.
fn meant(error: &clap::Error) -> Option<&str> {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(one) => Some(one.as_str()),
        // The last one is the most alike.
        ContextValue::Strings(several) => several.last().map(String::as_str),
        _ => None,
    })
}
