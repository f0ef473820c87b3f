//! What a capture turned out to be.

use std::fmt;
use std::time::Duration;

/// Where the times of frames come from, with how in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    /// The kernel: `CLOCK_REALTIME` when it had the frame in its receive path.
    Kernel(&'static str),
    /// An adapter or a library, by a clock of which nothing is known.
    Unknown(&'static str),
    /// User space: when the method gave the batch.
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

/// What a capture turned out to be.
#[derive(Clone, Debug)]
pub struct Running {
    /// The method's name.
    pub method: &'static str,
    /// What does the work, for example a library with its version, or the mode of XDP.
    pub engine: String,
    /// Sizes as granted, for example `64 blocks of 1MiB, retire timeout 10 ms`.
    pub geometry: String,
    /// Where frame times come from.
    pub time_source: TimeSource,
    /// How long it may hold a frame back although the application waits for it, such as the retire timeout of a ring.
    pub holds: Duration,
    /// Whether a VLAN tag that the kernel removed is told beside the frame.
    pub vlan_metadata: bool,
    /// What it got less of than was asked for, and what to do about it.
    pub shortfall: Option<String>,
    /// Whether a socket filter runs in front of the method.
    pub filtered: bool,
}

impl Running {
    /// Several things that it got less of, as one [`Self::shortfall`].
    pub fn shortfall_of(several: impl IntoIterator<Item = String>) -> Option<String> {
        let several: Vec<_> = several.into_iter().collect();
        (!several.is_empty()).then(|| several.join("; "))
    }
}
