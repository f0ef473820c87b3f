//! What tests of several modules begin with.

use std::time::Duration;

use capbench_frames::SentFrames;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_lab::live::halves::{GeneratorCpu, InterfaceCounts, TransmitHalf};
use capbench_lab::live::messages::Sent;
use capbench_sys::host::CpuId;

use crate::message::{Half, Reported};

/// The report of a sender about a trial of ten frames.
pub(crate) fn reported(trial: u16) -> Reported {
    let stream = StreamId(0);
    let cpu = CpuId::new(0);
    let half = TransmitHalf {
        stream,
        frames: SentFrames { intended: 10, sent: 10, accepted: 10, ..SentFrames::default() },
        unverified_because: None,
        elapsed: Duration::from_secs(1),
        sending: Duration::from_secs(1),
        lateness: None,
        departed: None,
        generator: Vec::new(),
        outruns: true,
        needs_far_napi: false,
        cpus: vec![GeneratorCpu { cpu, own_ns: 1, window_ns: 2, times: None, stalls: None }],
        interface: InterfaceCounts::default(),
        driver_counters: [].into(),
        notes: Vec::new(),
        interruption: None,
        disturbers: None,
        clock: None,
        counts_each_frame: false,
    };
    Reported {
        trial: TrialId(trial),
        sent: Some(vec![Sent { stream, frames: 10, end_ns: 1_000_000_000, began: None, dropped: None }]),
        half: Half::Transmit(Box::new(half)),
    }
}
