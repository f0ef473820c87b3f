//! What is compared of a trial, by the names that the files of the publications use.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use super::outcome::Quantity;
use crate::trial::TrialResult;
use capbench_model::ledger::Place;

/// Something of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The share of the sent frames that was captured.
    Captured,
    /// The share of the sent frames that the application read while they came.
    Taken,
    /// Captured frames per second of the sending time.
    CapturedPps,
    /// The same on a link: frame, preamble and gap.
    CapturedBps,
    /// Frames per second that the application read, for as long as there were any.
    TakenPps,
    /// Sent frames per second.
    OfferedPps,
    /// CPU time of the application, as a part of one CPU: at least this, where the kernel only samples how a shared CPU divides.
    ApplicationLoad,
    /// CPU time of the kernel's receive work, as a part of one CPU.
    KernelLoad,
    /// CPU time of both together, as a part of one CPU.
    WholeLoad,
    /// Application and kernel time of a packet that arrived.
    PacketNs,
    /// Sent frames.
    Sent,
    /// Frames that reached the ring, room or not: as `tp_packets` counts them.
    Received,
    /// Frames that the ring had no room for.
    Dropped,
    /// Frames that the application got.
    Seen,
    /// How often the ring was full: `tp_freeze_q_cnt`.
    Blocked,
    /// The share of the sent frames that reached the ring.
    Reached,
    /// The share of what reached the ring that the ring had room for.
    Kept,
    /// The same of what the application read while frames came.
    KeptAndTaken,
}

impl Figure {
    /// The figure of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let text: serde::de::value::StrDeserializer<'_, Error> = name.into_deserializer();
        Self::deserialize(text).ok()
    }

    /// Its value; `None` where the trial does not know it.
    pub fn of(self, trial: &TrialResult) -> Option<f64> {
        let sent = trial.sent as f64;
        let delivered = trial.delivered as f64;
        let of_sent = |frames: f64| (trial.sent > 0).then(|| frames / sent);
        let of_received = |frames: f64| Some(frames / Self::Received.of(trial).filter(|all| *all > 0.0)?);
        match self {
            Self::Captured => of_sent(delivered),
            Self::Taken => of_sent(delivered - buffered(trial)?),
            Self::CapturedPps => Some(trial.delivered_pps),
            Self::CapturedBps => Some(trial.delivered_pps * (trial.profile.mean_frame_size + 20.0) * 8.0),
            Self::TakenPps => trial.emptying.map(|_| trial.taken_pps()),
            Self::OfferedPps => Some(trial.offered_pps),
            Self::ApplicationLoad => load(trial, trial.cpu.app_ns),
            Self::KernelLoad => load(trial, trial.cpu.kernel_ns),
            Self::WholeLoad => load(trial, trial.cpu.total_ns),
            Self::PacketNs => trial.cpu.total_ns_per_packet,
            Self::Sent => Some(sent),
            Self::Received => Some(Self::Dropped.of(trial)? + delivered),
            Self::Dropped => {
                let ring = trial.ledger.iter().find(|entry| entry.place == Place::Ring)?;
                ring.count.map(|count| count as f64)
            }
            Self::Seen => Some(delivered),
            Self::Blocked => trial.counters.get("method.tp_freeze_q_cnt").map(|count| *count as f64),
            Self::Reached => Some(Self::Received.of(trial)? / sent.max(1.0)),
            Self::Kept => of_received(delivered),
            Self::KeptAndTaken => of_received(delivered - buffered(trial)?),
        }
    }

    /// What it is measured in.
    pub fn quantity(self) -> Quantity {
        match self {
            Self::Captured | Self::Taken | Self::Reached | Self::Kept | Self::KeptAndTaken => {
                Quantity::Captured
            }
            Self::CapturedPps | Self::TakenPps | Self::OfferedPps => Quantity::PacketsPerSecond,
            Self::CapturedBps => Quantity::BitsPerSecond,
            Self::ApplicationLoad | Self::KernelLoad | Self::WholeLoad => Quantity::Load,
            Self::PacketNs => Quantity::NanosecondsPerPacket,
            Self::Sent | Self::Received | Self::Dropped | Self::Seen | Self::Blocked => Quantity::Count,
        }
    }

    /// Whether it counts what was captured, frames among it that were only buffered when sending ended.
    pub fn counts_buffered(self) -> bool {
        matches!(self, Self::Captured | Self::CapturedPps | Self::CapturedBps | Self::Seen)
    }

    /// A share without what was only buffered when sending ended.
    pub fn without_buffered(self) -> Self {
        match self {
            Self::Captured => Self::Taken,
            Self::Kept => Self::KeptAndTaken,
            other => other,
        }
    }
}

/// CPU time as a part of one CPU over the time in which it was spent: sending, and for as long as the application went on
/// reading frames.
fn load(trial: &TrialResult, ns: Option<u64>) -> Option<f64> {
    let time_s = trial.sending_s + trial.emptying.map_or(0.0, |emptying| emptying.after_s);
    Some(ns? as f64 / 1e9 / time_s).filter(|_| time_s > 0.0)
}

/// Frames that were delivered only because there was room for them until sending had ended; loads here are evenly spaced.
pub(super) fn buffered(trial: &TrialResult) -> Option<f64> {
    trial.backlogged(1).map(|frames| frames as f64)
}
