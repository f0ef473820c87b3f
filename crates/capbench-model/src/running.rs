//! How an open capture runs.

use std::fmt;
use std::time::Duration;

/// Source of the frame times, with a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    /// The kernel: `CLOCK_REALTIME` when the frame was in its receive path.
    Kernel(&'static str),
    /// An adapter or a library, with an unknown clock.
    Unknown(&'static str),
    /// User space: when the method returned the batch.
    UserSpace(&'static str),
    /// Frames have no times.
    None,
}

impl fmt::Display for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(how) => write!(f, "kernel, {how}"),
            Self::Unknown(how) => f.pad(how),
            Self::UserSpace(how) => write!(f, "user space, {how}"),
            Self::None => f.pad("none"),
        }
    }
}

/// How an open capture runs.
#[derive(Clone, Debug)]
pub struct Running {
    /// The method's name.
    pub method: &'static str,
    /// The engine, for example a library with its version, or the mode of XDP.
    pub engine: String,
    /// Sizes as granted, for example `64 blocks of 1MiB, retire timeout 10 ms`.
    pub geometry: String,
    /// Where frame times come from.
    pub time_source: TimeSource,
    /// The longest delay of a frame while the application waits for it, such as the retire timeout of a ring.
    pub holds: Duration,
    /// Whether the method reports, next to the frame, a VLAN tag that the kernel removed.
    pub vlan_metadata: bool,
    /// Requested properties that the capture did not get, and what to do about it.
    pub shortfall: Option<String>,
    /// Whether a socket filter runs before the method.
    pub filtered: bool,
}

impl Running {
    /// Joins several shortfalls into one [`Self::shortfall`].
    pub fn shortfall_of(several: impl IntoIterator<Item = String>) -> Option<String> {
        let several: Vec<_> = several.into_iter().collect();
        (!several.is_empty()).then(|| several.join("; "))
    }
}
