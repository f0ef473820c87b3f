//! The user's settings of a capture.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::fanout::Fanout;
use crate::filter::Filter;
use crate::mark::FrameMark;
use crate::units::{ByteCount, SnapLength};

/// How to capture. Each method uses the options that apply to it; the table of methods lists them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CaptureOptions {
    /// Memory for the ring, or the socket's receive buffer for methods without one.
    pub ring: ByteCount,
    /// Block size of rings.
    pub block: ByteCount,
    /// Slot size of V1 and V2 rings. `None` means: large enough for the interface's largest frame.
    pub frame: Option<ByteCount>,
    /// Time after which the kernel passes on a partly filled V3 block.
    pub retire_timeout: Duration,
    /// Which frames are wanted. `None` means all. Only for methods with a filter; the others refuse it, and a software filter
    /// runs on the frames that they return.
    pub filter: Option<Filter>,
    /// Octets captured of each frame.
    pub snap_length: SnapLength,
    /// Whether the interface accepts frames for other hosts.
    pub promiscuous: bool,
    /// How long to spin for frames before sleeping in poll(2).
    pub spin: Duration,
    /// Whether each frame comes with a flow hash, for methods that report one (V3 rings). The kernel computes the hash if the
    /// NIC has not, which costs about a tenth of its work for a small frame.
    pub flow_hashes: bool,
    /// Which direction.
    pub direction: Direction,
    /// Arguments for DPDK's environment layer, after the defaults.
    pub eal_arguments: Vec<String>,
    /// How to recognise the trial's frames, for methods that count them in the kernel. The process that captures sets it.
    #[serde(skip)]
    pub mark: Option<FrameMark>,
    /// The group of captures to join, for methods on packet sockets. The others refuse it. A group belongs to one process.
    #[serde(skip)]
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
