//! A test that is not run, or not in full, says so by one of these functions and returns.
//!
//! `./check` counts the lines by their kind. With `CAPBENCH_MUST_RUN=1`, which continuous integration sets, a test that lacks
//! what tools/setup installs or root has fails.

use std::fmt::{self, Display};

/// What a host of the checks need not have: a virtual machine with two CPUs, run as root, with the packages of tools/setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostLimit {
    /// A CPU for each of several threads.
    Cpus,
    /// A network card, not a virtual interface.
    NetworkCard,
    /// The driver and the hardware of a vendor of capture cards.
    CaptureCard,
    /// Something of the kernel: its version or its configuration is without it.
    Kernel,
    /// A file system with direct I/O for the folder of temporary files.
    DirectIo,
    /// User namespaces for ordinary users.
    UserNamespaces,
    /// A clock that tests may set.
    OwnClock,
    /// A clock that nobody sets for a while.
    SteadyClock,
}

impl Display for HostLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Cpus => "more CPUs",
            Self::NetworkCard => "a network card",
            Self::CaptureCard => "a capture card",
            Self::Kernel => "a facility of the kernel",
            Self::DirectIo => "direct I/O",
            Self::UserNamespaces => "user namespaces",
            Self::OwnClock => "a clock that tests may set",
            Self::SteadyClock => "a clock that nobody sets",
        })
    }
}

/// What the test needs is not there, and could be: tools/setup installs it, or root has it.
///
/// # Panics
/// With `CAPBENCH_MUST_RUN` in the environment.
pub fn missing(what: impl Display) {
    println!("skipped (missing): {what}");
    assert!(std::env::var_os("CAPBENCH_MUST_RUN").is_none(), "CAPBENCH_MUST_RUN is set, and missing: {what}");
}

/// What the test needs is not there, and a host of the checks need not have it.
pub fn cannot_have(limit: HostLimit, what: impl Display) {
    println!("skipped (host): {limit}: {what}");
}

/// The test needs a quiet host, and other processes kept it from showing anything: see [`super::HostLoad`].
pub fn busy(what: impl Display) {
    println!("skipped (busy): {what}");
}

/// Another step of `./check` runs the test, and fails where it does not run.
pub fn other_step(step: &str) {
    println!("skipped (step): ./check {step} runs it");
}
