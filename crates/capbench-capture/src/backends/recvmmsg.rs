//! `recvmmsg`: up to 64 frames per system call, copied from the socket's queue (recvmmsg(2)).

use std::time::Duration;

use super::recv::{Received, SocketReader, check};
use super::socket_setup::{COMMON_OPTIONS, SOCKET_SETTINGS, probe};
use crate::capture::{Capture, Running};
use crate::counters::Counters;
use crate::error::Result;
use crate::methods::{CapturePoint, Method};
use crate::options::{CaptureOptions, Interface};
use crate::spec::MethodSpec;
use crate::wait::WaitCounts;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "recvmmsg",
    summary: "up to 64 frames per recvmmsg call, copied from the socket's queue",
    privilege: "CAP_NET_RAW",
    options: &COMMON_OPTIONS,
    argument: None,
    settings: &SOCKET_SETTINGS,
    variants: &[],
    in_default: true,
    untested: None,
    capture_point: CapturePoint::stack,
    check,
    supported: |_| probe(None),
};

/// Frames per call: enough to make the call's cost small, few enough to stay in the first-level cache.
const FRAMES: usize = 64;

/// A packet socket read by batches of receive calls.
#[derive(Debug)]
pub struct Recvmmsg {
    inner: SocketReader,
}

impl Recvmmsg {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, or an option that cannot be.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        SocketReader::open(METHOD.name, FRAMES, spec, interface, options).map(|inner| Self { inner })
    }
}

impl Capture for Recvmmsg {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        self.inner.next(timeout, |vector, socket, dont_wait| {
            vector.receive_many(socket, dont_wait).map(|frames| frames > 0)
        })
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
