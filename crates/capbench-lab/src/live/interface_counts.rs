//! The counters of one side's interface around a trial.

use std::time::Duration;

use capbench_host::bed::Side;
use capbench_host::drivers::{NicSnapshot, table};
use capbench_host::links::{Link, LinkStats, PauseCounts, XdpAttachment, pause_counts};
use capbench_host::tracer::InterfaceTrace;
use serde::{Deserialize, Serialize};

use super::tracing::{End, Tracing};
use crate::Result;

/// The counters at one moment.
pub(super) struct InterfaceSnapshot {
    link: Link,
    pub(super) nic: NicSnapshot,
    /// Pause frames; `None` if the driver does not report them to all drivers' standard.
    pub(super) pause: Option<PauseCounts>,
    traced: Option<InterfaceTrace>,
}

/// The counts of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterfaceCounts {
    /// Link statistics; `None` if the kernel sent none, or a counter decreased.
    pub(super) stats: Option<LinkStats>,
    /// Pause frames (`ethtool -I -a`); `None` if unknown.
    pub(super) pause: Option<PauseCounts>,
    /// The tracer's counts; `None` without a tracer.
    pub(super) traced: Option<InterfaceTrace>,
    /// How an XDP program was attached before the trial.
    pub(super) xdp_before: Option<XdpAttachment>,
    /// How an XDP program was attached after the trial.
    pub(super) xdp_after: Option<XdpAttachment>,
}

impl InterfaceCounts {
    /// Pause frames, sent and received; `None` if unknown.
    pub fn pause_frames(&self) -> Option<u64> {
        self.pause.map(|PauseCounts { sent, received }| sent + received)
    }
}

impl InterfaceSnapshot {
    /// Reads the counters.
    pub(super) fn take(side: &Side, end: End, tracing: &Tracing) -> Result<Self> {
        let (nic, pause) = side.run(|| (NicSnapshot::take(side.name()), pause_counts(side.name())))?;
        // In this order: reading the driver's counters updates the link statistics of many drivers.
        let link = side.links().by_index(side.index())?;
        Ok(Self { link, nic: nic?, pause: pause?, traced: tracing.counts(end)? })
    }

    /// Frames that the interface dropped when they were sent, from this reading to `link`; `None` if they are unknown.
    pub(super) fn transmit_drops_until(&self, link: &Link) -> Option<u64> {
        let (now, before) = link.stats.zip(self.link.stats)?;
        now.since(&before)?.tx_dropped.into()
    }

    /// Reads the counters before a trial. If it `settles`, earlier traffic is in them: some drivers update them at intervals.
    pub(super) fn before_trial(side: &Side, end: End, tracing: &Tracing, settles: bool) -> Result<Self> {
        let before = Self::take(side, end, tracing)?;
        if !settles || before.settling().is_zero() {
            return Ok(before);
        }
        std::thread::sleep(before.settling());
        Self::take(side, end, tracing)
    }

    /// How long the driver needs until its counters are up to date.
    pub(super) fn settling(&self) -> Duration {
        self.nic.driver().unwrap_or(&table::UNKNOWN).settling()
    }

    /// The counts since `before`.
    pub(super) fn since(&self, before: &Self) -> InterfaceCounts {
        let stats = self.link.stats.zip(before.link.stats);
        let traced = self.traced.as_ref().zip(before.traced.as_ref());
        InterfaceCounts {
            pause: self.pause_since(before),
            stats: stats.and_then(|(after, before)| after.since(&before)),
            traced: traced.map(|(after, before)| after.since(before)),
            xdp_before: before.link.xdp,
            xdp_after: self.link.xdp,
        }
    }
}

impl InterfaceSnapshot {
    /// Pause frames since `before`; `None` if they are unknown, or a count decreased.
    pub(super) fn pause_since(&self, before: &Self) -> Option<PauseCounts> {
        let (after, before) = self.pause.zip(before.pause)?;
        let sent = after.sent.checked_sub(before.sent)?;
        Some(PauseCounts { sent, received: after.received.checked_sub(before.received)? })
    }
}

impl InterfaceCounts {
    /// The counts of two interfaces together: a sum is unknown where a part is.
    pub(super) fn plus(self, other: &Self) -> Self {
        let Self { stats, pause, traced, .. } = self;
        Self {
            pause: pause.zip(other.pause).map(|(one, other)| PauseCounts {
                sent: one.sent + other.sent,
                received: one.received + other.received,
            }),
            stats: stats.zip(other.stats).map(|(one, other)| one.plus(&other)),
            traced: traced.zip(other.traced.as_ref()).map(|(one, other)| one.plus(other)),
            ..self
        }
    }

    /// Whether an XDP program was attached to the driver before or after the trial.
    pub(super) fn had_native_xdp(&self) -> bool {
        [self.xdp_before, self.xdp_after].contains(&Some(XdpAttachment::Driver))
    }

    /// Whether an XDP program was attached to the driver before and after the trial.
    pub(super) fn kept_native_xdp(&self) -> bool {
        [self.xdp_before, self.xdp_after] == [Some(XdpAttachment::Driver); 2]
    }
}
