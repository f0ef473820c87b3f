//! `packet-v1`: TPACKET_V1, the first mmap ring (Linux 2.4). Kept because published measurements used it.

use std::time::Duration;

use capbench_sys::packet::{FrameVersion, Version};

use super::frame_slots::{self, FrameSlots, Slots};
use super::socket_setup::{SOCKET_SETTINGS, probe};
use crate::capture::{Capture, Running};
use crate::counters::Counters;
use crate::error::Result;
use crate::methods::{CapturePoint, Method};
use crate::options::{CaptureOptions, Interface};
use crate::spec::MethodSpec;
use crate::wait::WaitCounts;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "packet-v1",
    summary: "TPACKET_V1: ring of slots, microsecond stamps, no VLAN tag",
    privilege: "CAP_NET_RAW",
    options: &["--ring", "--block", "--frame", "--snaplen", "--no-promiscuous", "--spin", "--direction"],
    argument: None,
    settings: &SOCKET_SETTINGS,
    variants: &[],
    in_default: true,
    untested: None,
    capture_point: CapturePoint::stack,
    check: frame_slots::check,
    supported: |_| probe(Some(Version::V1)),
};

/// A TPACKET_V1 receive ring.
#[derive(Debug)]
pub struct PacketV1 {
    inner: FrameSlots,
}

impl PacketV1 {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, or an option that cannot be.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        FrameSlots::open(METHOD.name, FrameVersion::V1, spec, interface, options).map(|inner| Self { inner })
    }
}

impl Capture for PacketV1 {
    type Batch<'a> = Slots<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Slots<'_>>> {
        self.inner.next(timeout)
    }

    fn counters(&mut self) -> Result<Counters> {
        self.inner.counters()
    }

    fn waits(&self) -> WaitCounts {
        self.inner.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.inner.running
    }
}
