//! Flags of `capbench generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What to make of the command line's own description, and where.
#[derive(Args, Clone, Debug)]
pub struct GenerateFlags {
    /// What
    #[arg(value_enum)]
    pub what: What,
    /// The folder for the files; it is made where there is none
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// What can be made.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// Completions for bash (capbench.bash), zsh (_capbench) and fish (capbench.fish)
    Completions,
    /// Manual pages: capbench.1, and one for each command
    Man,
}
