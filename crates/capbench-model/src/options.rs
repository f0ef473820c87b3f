//! What a user can set about a capture.

use std::time::Duration;

use crate::direction::Direction;
use crate::fanout::Fanout;
use crate::filter::Filter;
use crate::mark::FrameMark;
use crate::units::{ByteCount, SnapLength};

/// How to capture. Methods use what applies to them; the table of methods names it.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// Memory for the ring, or the socket's receive buffer for methods without one.
    pub ring: ByteCount,
    /// Block size of rings.
    pub block: ByteCount,
    /// Slot size of V1 and V2 rings; chosen to hold the interface's largest frame when `None`.
    pub frame: Option<ByteCount>,
    /// After how long a partly filled V3 block is handed over.
    pub retire_timeout: Duration,
    /// Which frames are wanted; everything when `None`. For methods with a filter of
    /// their own; the others refuse it, and a filter in software does its work on what they give.
    pub filter: Option<Filter>,
    /// Octets captured of each frame.
    pub snap_length: SnapLength,
    /// Whether the interface is to accept frames for other hosts.
    pub promiscuous: bool,
    /// How long to look again and again for frames before sleeping in poll(2).
    pub spin: Duration,
    /// Whether each frame is to come with a hash of its flow, for methods that tell one (V3 rings). The kernel computes what
    /// the NIC has not, which costs about a tenth of its work for a small frame.
    pub flow_hashes: bool,
    /// Which frames.
    pub direction: Direction,
    /// Arguments for the environment layer of DPDK, behind its defaults.
    pub eal_arguments: Vec<String>,
    /// The trial's frames, for methods that count them where they are.
    pub mark: Option<FrameMark>,
    /// The group of captures to be a member of, for methods on packet sockets; the others refuse it.
    pub fanout: Option<Fanout>,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            ring: ByteCount(64 << 20),
            block: ByteCount(1 << 20),
            frame: None,
            retire_timeout: Duration::from_millis(10),
            filter: None,
            snap_length: SnapLength::EVERYTHING,
            promiscuous: true,
            spin: Duration::ZERO,
            flow_hashes: true,
            direction: Direction::In,
            eal_arguments: Vec::new(),
            mark: None,
            fanout: None,
        }
    }
}
