//! Flags of `capbench methods`.

use clap::Args;

/// How to list them.
#[derive(Args, Clone, Debug)]
pub struct MethodsFlags {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
