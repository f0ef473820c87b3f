//! Activity of the kernel and the CPUs during a trial: kernel counters, read before and after.
//!
//! Each file reads one source. Parsers take text and never panic; readers name the file in their error. An unknown difference
//! is `None`, never a guessed zero.

pub mod clocks;
pub mod cpu;
pub mod irqtime;
pub mod kernel_work;
pub mod processes;
pub mod softnet;
pub mod threads;

use crate::{HostError, Result};

/// Reads a file of procfs or sysfs completely.
fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| HostError::reading(path, source))
}
