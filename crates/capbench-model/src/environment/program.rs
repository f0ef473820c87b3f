//! How this capbench was built.

use serde::{Deserialize, Serialize};

/// The build of the program. Absent is what was not known when it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Program {
    /// The commit that was checked out, where it was built from a repository; with `-dirty` behind it where the source had
    /// changes that were not committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// A hash of the source that it was built from (64 bits of FNV-1a, hexadecimal), by which builds of changes that were not committed are
    /// told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<String>,
    /// What it was built for: `x86_64-unknown-linux-gnu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// How it was built: `release` or `debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its features: `bpf`, `dpdk`, `parquet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The compiler: `rustc 1.88.0 (6b00bc388 2025-06-23)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
}
