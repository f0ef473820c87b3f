//! `recvmmsg`: up to 64 frames per system call, copied from the socket's queue (recvmmsg(2)).

use capbench_sys::packet::{PacketSocket, ReceiveVector};

use super::recv::{ReceiveCall, SocketReader, check};
use super::socket_setup::{COMMON_OPTIONS, SOCKET_SETTINGS, probe};
use crate::method::{CapturePoint, Method, VlanTags};

/// The row of the table.
pub static METHOD: Method = Method {
    name: "recvmmsg",
    summary: "up to 64 frames per recvmmsg call, copied from the socket's queue",
    privilege: "CAP_NET_RAW",
    options: &COMMON_OPTIONS,
    argument: None,
    settings: &SOCKET_SETTINGS,
    fanout: true,
    variants: &[],
    socket_filter: true,
    in_default: true,
    untested: None,
    capture_point: CapturePoint::stack,
    takes_frames: |_| false,
    has_queues: false,
    vlan_tags: VlanTags::Reported,
    check,
    supported: |_| probe(None),
};

/// Frames per call: enough to amortise the call's cost, few enough to stay in the first-level cache.
const FRAMES: usize = 64;

/// A packet socket read by calls of many frames each.
pub type Recvmmsg = SocketReader<Many>;

/// How it receives.
#[derive(Debug)]
pub enum Many {}

impl ReceiveCall for Many {
    const NAME: &'static str = METHOD.name;
    const FRAMES: usize = FRAMES;

    #[inline]
    fn receive(
        vector: &mut ReceiveVector,
        socket: &PacketSocket,
        dont_wait: bool,
    ) -> capbench_sys::Result<bool> {
        vector.receive_many(socket, dont_wait).map(|frames| frames > 0)
    }
}
