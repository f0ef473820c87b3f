//! Standard error: what is said there is for whoever reads it. That nobody does, as when a terminal or a pipe is gone, must not
//! end what is being measured or recorded, and `eprintln!` would panic. Names of others are in many messages, so that every
//! message is made printable here.

use std::fmt::Arguments;
use std::io::{Write, stderr};

use capbench_report::printable;

/// Prints a line to standard error.
macro_rules! tell {
    ($($words:tt)*) => { $crate::tell::line(format_args!($($words)*)) };
}

/// Prints one line, at once: lines of several threads do not mix.
pub fn line(words: Arguments<'_>) {
    text(&format!("{}\n", printable::line(&words.to_string())));
}

/// Prints text of several lines.
pub fn text(text: &str) {
    let _ = stderr().write_all(printable::text(text).as_bytes());
}
