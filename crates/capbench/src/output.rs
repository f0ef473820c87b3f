//! Standard output and standard error. Text contains foreign names, so control characters are escaped here.

use std::fmt::Arguments;
use std::io::{self, Write, stderr, stdout};

use anyhow::Context;
use capbench_report::printable;
use serde::Serialize;

/// Prints a line to standard error. A closed terminal or pipe must not end a measurement or a recording, and `eprintln!` would
/// panic.
macro_rules! tell {
    ($($words:tt)*) => { $crate::output::tell_line(format_args!($($words)*)) };
}

/// Prints one line to standard error in one write, so that lines of several threads do not mix.
pub fn tell_line(words: Arguments<'_>) {
    tell(&format!("{}\n", printable::line(&words.to_string())));
}

/// Prints text of several lines to standard error.
pub fn tell(text: &str) {
    let _ = stderr().write_all(printable::text(text).as_bytes());
}

/// Prints text or JSON to standard output. Fails if nobody reads standard output any more, or the write fails.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_as_is(printable::text(text).as_bytes())
}

/// Prints one JSON document in several lines.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(document)? + "\n"))
}

/// Prints one JSON document in one line.
pub fn print_json_line(document: &impl Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string(document)? + "\n"))
}

/// Like [`print`], for callers with another error type.
pub fn write(text: &str) -> io::Result<()> {
    write_as_is(printable::text(text).as_bytes())
}

/// Writes to standard output without escaping: our control sequences around printable text, or a file's content for a pipe.
pub fn print_as_is(octets: &[u8]) -> anyhow::Result<()> {
    write_as_is(octets).context("cannot write to standard output")
}

fn write_as_is(octets: &[u8]) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(octets).and_then(|()| out.flush())
}
