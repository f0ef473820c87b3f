//! The conditions of a program's trial, and the room that its files may need.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use capbench_capture::Interface;
use capbench_frames::classify::Classifier;
use capbench_host::accounts::kernel_work::KernelWorkProbe;
use capbench_model::latency::Recording;
use capbench_model::options::CaptureOptions;
use capbench_model::trial::Load;

use super::program::Program;
use super::unread::OpenSockets;
use crate::receiver::{Progress, Streams};

/// Upper bound of the frames per second of a generator on a veth pair today; for the disk space at maximum load.
const MOST_PPS: f64 = 3e6;
/// Overhead of a capture file per frame: header of record or block, options, padding.
const RECORD: u64 = 48;
/// Octets that a program may print and write besides its frames.
pub(super) const FURTHER: u64 = 64 << 20;

/// Expected traffic, for which there must be disk space.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Approximate upper bound of frames.
    pub frames: u64,
    /// Mean octets of a frame.
    pub octets: f64,
}

impl Expected {
    /// The expected traffic of a load in a duration, in frames of this mean size.
    pub fn of(load: Load, duration: Duration, octets: f64) -> Self {
        let most = || (MOST_PPS * duration.as_secs_f64()).ceil() as u64;
        Self { frames: load.intended(duration).unwrap_or_else(most), octets }
    }

    pub(super) fn bytes(self, options: &CaptureOptions) -> u64 {
        let octets = self.octets.min(f64::from(options.snap_length.octets())).ceil() as u64;
        self.frames.saturating_mul(octets + RECORD).saturating_add(FURTHER)
    }
}

/// The conditions of a program's trial.
#[derive(Debug)]
pub struct Job<'a> {
    /// The interface to capture on; the calling thread is in its namespace and on the application's CPU.
    pub interface: &'a Interface,
    /// Options of the capture.
    pub capture: &'a CaptureOptions,
    /// Recognises the trial's frames.
    pub recogniser: Classifier,
    /// Their streams.
    pub streams: Streams,
    /// The expected traffic.
    pub expected: Expected,
    /// State of the sender.
    pub progress: &'a Progress,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Receives a message once the program can receive.
    pub ready: SyncSender<()>,
    /// Reads the kernel's account.
    pub probe: KernelWorkProbe,
    /// How long no frame may arrive before a trial that still misses frames ends.
    pub quiet: Duration,
    /// Whether and how to record the latency of frames.
    pub latency: Option<Recording>,
}

impl Job<'_> {
    /// How long a program must be inactive before it counts as having read everything: it, or the ring of its sockets, may hold frames
    /// back.
    pub(super) fn stillness(&self, program: &Program, sockets: &OpenSockets) -> Duration {
        self.quiet.max(program.holds.max(sockets.holds()).mul_f64(1.1) + Duration::from_millis(50))
    }
}
