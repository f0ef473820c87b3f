//! How this capbench was built.

use serde::{Deserialize, Serialize};

/// The build of the program. Absent values were unknown at build time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Program {
    /// The commit, if it was built from a repository. `-dirty` follows if the source had uncommitted changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// A hash of the source (64 bits of FNV-1a, hexadecimal). It distinguishes builds of uncommitted changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<String>,
    /// The target: `x86_64-unknown-linux-gnu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The profile: `release` or `debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its features: `bpf`, `dpdk`, `parquet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The compiler: `rustc 1.88.0 (6b00bc388 2025-06-23)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
}
