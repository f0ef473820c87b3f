//! The programs that capbench knows: `presets.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_sys::host::process::Signal;
use regex_lite::Regex;
use serde::Deserialize;

use super::program::{Absent, Count, Meaning, PATIENCE, Program, Ready, Version};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Patterns of counts, by the keys of a definition.
    usual_counts: BTreeMap<String, String>,
    program: Vec<Row>,
}

/// A row. [`Program`] documents the keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    summary: String,
    command: Vec<String>,
    #[serde(default)]
    not_promiscuous: Vec<String>,
    /// Text that shows readiness; absent: its packet socket shows it.
    says: Option<String>,
    patience_s: Option<u64>,
    #[serde(default)]
    holds_ms: u64,
    /// An argument, and a pattern for the shown part of the answer.
    version: (String, String),
    counts: Vec<(String, Meaning, String)>,
    without: Vec<Absent>,
    source: String,
    only_root: Option<String>,
    untested: Option<String>,
    remark: Option<String>,
}

fn read() -> File {
    toml::from_str(include_str!("presets.toml")).expect("the table is tested")
}

/// All rows.
pub(super) fn all() -> Vec<Program> {
    read().program.into_iter().map(program).collect()
}

/// The counts of a program without a definition, by the keys of one.
pub(super) fn usual_counts() -> BTreeMap<String, String> {
    read().usual_counts
}

fn program(row: Row) -> Program {
    let pattern = |text: String| Regex::new(&text).expect("the patterns of the table are tested");
    Program {
        name: row.name,
        summary: row.summary,
        command: row.command,
        not_promiscuous: row.not_promiscuous,
        ready: row.says.map_or(Ready::Socket, |text| Ready::Says(pattern(text))),
        patience: row.patience_s.map_or(PATIENCE, Duration::from_secs),
        holds: Duration::from_millis(row.holds_ms),
        stop: Signal::Interrupt,
        version: Some(Version { arguments: vec![row.version.0], pattern: pattern(row.version.1) }),
        counts: row
            .counts
            .into_iter()
            .map(|(name, meaning, text)| Count { name, meaning, pattern: pattern(text) })
            .collect(),
        without: row.without.into_iter().map(|place| place.place().0).collect(),
        source: Some(row.source),
        only_root: row.only_root,
        untested: row.untested,
        remark: row.remark,
    }
}
