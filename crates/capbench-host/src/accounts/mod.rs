//! What the kernel and the CPUs did during a trial: counters of the kernel, read before and after.
//!
//! Each file reads one source. Parsers take text and never panic; readers name the file in their error. A difference is
//! `None` where it cannot be known, never a guessed zero.

pub mod clocks;
pub mod cpu;
pub mod irqtime;
pub mod kernel_work;
pub mod softirqs;
pub mod softnet;
pub mod threads;

use crate::{HostError, Result};

/// The whole text of a file of procfs or sysfs.
fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| HostError::reading(path, source))
}
