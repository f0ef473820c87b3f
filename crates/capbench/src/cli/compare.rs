//! Flags of `capbench compare`, and those of comparisons in other commands.

use std::path::PathBuf;

use capbench_plan::comparison::{Field, Thresholds};
use clap::Args;

/// What to compare.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit codes: 0 no regression shown; 3 a regression over the threshold; 4 inconclusive (too few \
trials to tell anything, the host disturbed most of them, or a file is damaged or was changed); 1 a run cannot be read; 2 the runs cannot be compared. docs/compare.md says what is compared and how."
)]
pub struct CompareFlags {
    /// The earlier run: its directory, or its results.json
    #[arg(value_name = "A")]
    pub then: PathBuf,
    /// The later run
    #[arg(value_name = "B")]
    pub now: PathBuf,
    /// In what set-ups may differ, separated by commas, where each run has one only: method, placement, size, traffic,
    /// transmit, work, load
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub across: Vec<Field>,
    #[command(flatten)]
    pub thresholds: ThresholdFlags,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// From which change on a difference is worth saying.
#[derive(Args, Clone, Copy, Debug)]
pub struct ThresholdFlags {
    /// Rates and times that change by less are no regression and no improvement, however certain it is
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%")]
    pub threshold: f64,
    /// The same for loss: the difference of the shares lost. Loss in most trials where there was none in any counts
    /// whatever its size
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.1%")]
    pub loss_threshold: f64,
}

impl ThresholdFlags {
    /// As comparisons take them.
    pub fn thresholds(self) -> Thresholds {
        Thresholds { relative: self.threshold, loss: self.loss_threshold }
    }
}

/// Reads a share such as `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if (0.0..unit).contains(&number) => Ok(number / unit),
        _ => Err(format!("\"{text}\" is no share below 100 %; write for example 5% or 0.05")),
    }
}
