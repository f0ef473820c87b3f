//! How this capbench was built.

use serde::{Deserialize, Serialize};

facts! {
    /// The build of the program. Absent values were unknown at build time.
    pub struct Program {
        /// The commit, if it was built from a repository. `-dirty` follows if the source had uncommitted changes.
        pub git_commit: Option<String>,
        /// A hash of the source (64 bits of FNV-1a, hexadecimal). It distinguishes builds of uncommitted changes.
        pub source_hash: Option<String>,
        /// The target: `x86_64-unknown-linux-gnu`.
        pub target: Option<String>,
        /// The profile: `release` or `debug`.
        pub profile: Option<String>,
        /// Its features: `bpf`, `dpdk`; of older versions `parquet`.
        pub features: Option<Vec<String>>,
        /// The compiler: `rustc 1.88.0 (6b00bc388 2025-06-23)`.
        pub rustc: Option<String>,
    }
}
