//! Standard error. A closed terminal or pipe must not end a measurement or a recording, and `eprintln!` would panic. Messages
//! contain foreign names, so each message is made printable here.

use std::fmt::Arguments;
use std::io::{Write, stderr};

use capbench_report::printable;

/// Prints a line to standard error.
macro_rules! tell {
    ($($words:tt)*) => { $crate::tell::line(format_args!($($words)*)) };
}

/// Prints one line in one write, so that lines of several threads do not mix.
pub fn line(words: Arguments<'_>) {
    text(&format!("{}\n", printable::line(&words.to_string())));
}

/// Prints text of several lines.
pub fn text(text: &str) {
    let _ = stderr().write_all(printable::text(text).as_bytes());
}
