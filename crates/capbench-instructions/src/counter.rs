//! Counts the instructions of a piece of work, where callgrind runs this program.

use std::ffi::CString;

use anyhow::{Context, Result};

/// A path, and the packets that pass it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathName {
    /// What is done to a packet. A path keeps its name when its code moves.
    pub path: String,
    /// Sizes of the packets with FCS; `any` where they make no difference.
    pub sizes: String,
}

/// The paths that were counted, in order.
#[derive(Debug, Default)]
pub struct Counter {
    pub counted: Vec<PathName>,
}

impl Counter {
    /// Does the work, once for each of the packets. callgrind writes how many instructions it executed into its next file; what was
    /// done before is not in it.
    pub fn count(&mut self, path: &str, sizes: &str, work: impl FnOnce()) -> Result<()> {
        let number = CString::new(self.counted.len().to_string()).context("digits have no zero octet")?;
        begin();
        perform(work);
        end(&number);
        self.counted.push(PathName { path: path.into(), sizes: sizes.into() });
        Ok(())
    }
}

/// Not inlined, so that the work is compiled the same next to any other code of this program.
#[inline(never)]
fn perform(work: impl FnOnce()) {
    work();
}

#[cfg(feature = "callgrind")]
fn begin() {
    valgrind_requests::callgrind::start_instrumentation();
}

#[cfg(feature = "callgrind")]
fn end(number: &std::ffi::CStr) {
    valgrind_requests::callgrind::stop_instrumentation();
    valgrind_requests::callgrind::dump_stats_at(number);
}

/// Without callgrind the work is done and nothing is counted. Tests run every path so.
#[cfg(not(feature = "callgrind"))]
fn begin() {}

#[cfg(not(feature = "callgrind"))]
fn end(_: &std::ffi::CStr) {}
