//! Reads the figures of a dataset and compares two values of a column over all hosts.

use std::path::Path;

use capbench_judge::comparison::Thresholds;
use capbench_judge::comparison::hosts::{HostsCompared, of_figures};

use crate::error::Result;
use crate::figures::{self, By};

/// Compares two values of a column of a dataset. Without `values` the column must have two; the earlier one is the first.
///
/// # Errors
/// There is no dataset, a file cannot be read, or the values cannot be compared.
pub fn of_dataset(
    dataset: &Path,
    by: &str,
    values: Option<[String; 2]>,
    thresholds: Thresholds,
) -> Result<HostsCompared> {
    let figures = figures::read(dataset, &By::parse(by)?)?;
    Ok(of_figures(&figures, by, values, thresholds)?)
}
