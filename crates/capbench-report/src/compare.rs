//! The printed document of two saved runs that were compared.
//!
//! [`Document`] is the output of `capbench compare --json`. It defines `docs/compare.schema.json`.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use capbench_judge::comparison::{Comparison, Conclusion};
use capbench_results::Results;

use crate::sentences::saved::add_words_to_comparison;

/// Version of the document. It rises when a reader of older documents would misunderstand newer ones.
pub const SCHEMA_VERSION: u32 = 1;

/// Two saved runs, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Document {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The earlier run, `A` in the comparison.
    pub then: NamedRun,
    /// The later run, `B` in the comparison.
    pub now: NamedRun,
    /// The comparison.
    pub comparison: Comparison,
    /// Its conclusion.
    pub verdict: Conclusion,
}

/// A run, identified by path and command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NamedRun {
    /// Its path, as the user wrote it.
    pub path: String,
    /// Its command, word by word.
    pub command: Vec<String>,
    /// When it started, seconds since the epoch.
    pub started_unix_s: u64,
}

impl NamedRun {
    /// A run that was read from this path.
    pub fn new(path: String, results: &Results) -> Self {
        Self { path, command: results.command.clone(), started_unix_s: results.started_unix_s }
    }
}

impl Document {
    /// The printed document of a comparison, whose facts get their words: the document has both.
    pub fn new([then, now]: [NamedRun; 2], mut comparison: Comparison) -> Self {
        add_words_to_comparison(&mut comparison);
        Self { schema_version: SCHEMA_VERSION, then, now, verdict: comparison.conclusion(), comparison }
    }
}
