//! The command line of this process, with the settings that complete it, and where each of them is made.

use std::ffi::OsString;
use std::fmt;
use std::sync::OnceLock;

use serde::Serialize;

/// Where a setting is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Origin {
    /// In a file.
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// In a variable of the environment.
    Variable {
        /// The variable.
        name: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(formatter, "{path}:{line}"),
            Self::Variable { name } => formatter.write_str(name),
        }
    }
}

/// A command line, and which of its flags are settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub words: Vec<OsString>,
    pub set: Vec<(String, Origin)>,
}

/// The command line of this process.
static LINE: OnceLock<Line> = OnceLock::new();

impl Line {
    /// Keeps it as the command line of this process; its words.
    pub fn of_process(self) -> Vec<OsString> {
        LINE.get_or_init(|| self).words.clone()
    }
}

/// The words of this process's command line, settings included.
pub fn words() -> Vec<String> {
    let lossy = |word: OsString| word.to_string_lossy().into_owned();
    match LINE.get() {
        Some(line) => line.words.iter().cloned().map(lossy).collect(),
        None => std::env::args_os().map(lossy).collect(),
    }
}

/// Of the flags that a message names, those that are settings, and where they are made. Empty if there is none.
pub fn origins_in(message: &str) -> String {
    let is_of_flag = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let named: Vec<&str> = message.split(|letter| !is_of_flag(letter)).collect();
    let set = LINE.get().map(|line| line.set.as_slice()).unwrap_or_default();
    let found = set.iter().filter(|(flag, _)| named.iter().any(|word| word.strip_prefix("--") == Some(flag)));
    let list: Vec<_> = found.map(|(flag, origin)| format!("--{flag} is set by {origin}")).collect();
    if list.is_empty() { String::new() } else { format!(" ({})", list.join("; ")) }
}
