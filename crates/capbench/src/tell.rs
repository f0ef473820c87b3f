//! Standard error: what is said there is for whoever reads it. That nobody does, as when a terminal or a pipe is gone, must not
//! end what is being measured or recorded, and `eprintln!` would panic.

use std::fmt::Arguments;
use std::io::{Write, stderr};

/// Prints a line to standard error.
macro_rules! tell {
    ($($words:tt)*) => { $crate::tell::line(format_args!($($words)*)) };
}

/// Prints a line, at once: lines of several threads do not mix.
pub fn line(words: Arguments<'_>) {
    text(&format!("{words}\n"));
}

/// Prints text as it is.
pub fn text(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}
