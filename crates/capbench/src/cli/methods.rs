//! Flags of `capbench methods`.

use std::path::PathBuf;

use clap::Args;

/// How to list them.
#[derive(Args, Clone, Debug)]
pub struct MethodsFlags {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// File that defines programs for cmd:NAME, which are listed too
    #[arg(long, value_name = "FILE")]
    pub programs: Option<PathBuf>,
}
