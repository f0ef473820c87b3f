//! The compared figures of a trial, by the names that the files of the publications use: what each is in a trial, and in which
//! quantity.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use crate::reproduction::Quantity;
use capbench_frames::units::WIRE_OVERHEAD_OCTETS;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;

/// A figure of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The share of the sent frames that was captured.
    Captured,
    /// The share of the sent frames that the application read while they arrived.
    Read,
    /// Captured frames per second of the sending time.
    CapturedPps,
    /// The same on a link, in bits per second: frame, preamble and gap.
    CapturedBps,
    /// Frames per second that the application read, as long as there were any.
    ReadPps,
    /// Sent frames per second.
    OfferedPps,
    /// CPU time of the application by one CPU. A minimum if the kernel only samples how a shared CPU is divided.
    ApplicationLoad,
    /// CPU time of the kernel's receive work, as a share of one CPU.
    KernelLoad,
    /// CPU time of both together, as a share of one CPU.
    WholeLoad,
    /// Application and kernel time per received packet.
    PacketNs,
    /// Sent frames.
    Sent,
    /// Frames that reached the ring, including those without room: the count of `tp_packets`.
    Received,
    /// Frames that the ring had no room for.
    Dropped,
    /// Frames that the application received.
    Seen,
    /// Number of times the ring was full: `tp_freeze_q_cnt`.
    Blocked,
    /// The share of the sent frames that reached the ring.
    Reached,
    /// The share of the frames at the ring for which the ring had room.
    Kept,
    /// The share of the frames at the ring that the application read while frames arrived.
    KeptAndRead,
}

impl Figure {
    /// The figure that files of publications call so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let text: serde::de::value::StrDeserializer<'_, Error> = name.into_deserializer();
        Self::deserialize(text).ok()
    }

    /// Its value; `None` if the trial does not know it.
    pub(crate) fn value_in(self, trial: &TrialResult) -> Option<f64> {
        let sent = trial.sent as f64;
        let delivered = trial.delivered as f64;
        match self {
            Self::Captured => share(delivered, sent),
            Self::Read => share(delivered - buffered(trial)?, sent),
            Self::CapturedPps => Some(trial.delivered_pps),
            Self::CapturedBps => {
                Some(trial.delivered_pps * (trial.profile.mean_frame_size + WIRE_OVERHEAD_OCTETS) * 8.0)
            }
            Self::ReadPps => trial.emptying.map(|_| trial.read_pps()),
            Self::OfferedPps => Some(trial.offered_pps),
            Self::ApplicationLoad => load(trial, trial.cpu.app_ns),
            Self::KernelLoad => load(trial, trial.cpu.kernel_ns),
            Self::WholeLoad => load(trial, trial.cpu.total_ns),
            Self::PacketNs => trial.total_ns_per_packet(),
            Self::Sent => Some(sent),
            Self::Received => Some(Self::Dropped.value_in(trial)? + delivered),
            Self::Dropped => {
                let ring = trial.ledger.iter().find(|entry| entry.place == Place::Ring)?;
                ring.count.map(|count| count as f64)
            }
            Self::Seen => Some(delivered),
            Self::Blocked => trial.counters.get("method.tp_freeze_q_cnt").map(|count| *count as f64),
            Self::Reached => Some(Self::Received.value_in(trial)? / sent.max(1.0)),
            Self::Kept => share(delivered, Self::Received.value_in(trial)?),
            Self::KeptAndRead => share(delivered - buffered(trial)?, Self::Received.value_in(trial)?),
        }
    }

    /// Its quantity.
    pub fn quantity(self) -> Quantity {
        match self {
            Self::Captured | Self::Read | Self::Reached | Self::Kept | Self::KeptAndRead => {
                Quantity::Captured
            }
            Self::CapturedPps | Self::ReadPps | Self::OfferedPps => Quantity::PacketsPerSecond,
            Self::CapturedBps => Quantity::BitsPerSecond,
            Self::ApplicationLoad | Self::KernelLoad | Self::WholeLoad => Quantity::Load,
            Self::PacketNs => Quantity::NanosecondsPerPacket,
            Self::Sent | Self::Received | Self::Dropped | Self::Seen | Self::Blocked => Quantity::Count,
        }
    }

    /// Whether noise only adds to it, as to all CPU times.
    pub(crate) fn is_raised_by_noise(self) -> bool {
        matches!(self, Self::ApplicationLoad | Self::KernelLoad | Self::WholeLoad | Self::PacketNs)
    }

    /// Whether it counts captured frames, including those only buffered when sending ended.
    pub fn counts_buffered(self) -> bool {
        matches!(self, Self::Captured | Self::CapturedPps | Self::CapturedBps | Self::Seen)
    }

    /// The figure without frames that were only buffered when sending ended.
    pub fn without_buffered(self) -> Self {
        match self {
            Self::Captured => Self::Read,
            Self::Kept => Self::KeptAndRead,
            other => other,
        }
    }
}

/// A part as a share of the whole; `None` of nothing.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// CPU time by one CPU over the time of its use: sending, and reading frames after it.
fn load(trial: &TrialResult, ns: Option<u64>) -> Option<f64> {
    let time_s = trial.sending_s + trial.emptying.map_or(0.0, |emptying| emptying.after_s);
    share(ns? as f64 / 1e9, time_s)
}

/// Frames that were delivered only because the buffer had room until sending ended. Loads here are evenly spaced.
pub(crate) fn buffered(trial: &TrialResult) -> Option<f64> {
    trial.backlogged(1).map(|frames| frames as f64)
}
