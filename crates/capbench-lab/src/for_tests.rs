//! Paths and set-ups that tests of trials begin with, for this crate and those above it.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use capbench_frames::Mtu;
use capbench_frames::TransmitSpec;
use capbench_host::accounts::irqtime::IrqAccounting;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;

use crate::live::{LiveLaboratory, Path};
use crate::subject::ReceiveBy;

/// The virtual link of a bed; receives by RPS.
pub fn virtual_link() -> Path {
    virtual_link_of(1)
}

/// The same with this many queues.
pub fn virtual_link_of(queues: u16) -> Path {
    let queues = NonZeroU16::new(queues).unwrap_or(NonZeroU16::MIN);
    Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps, queues }
}

/// A laboratory on this host, whose kernel charges interrupts to the threads that they interrupt.
pub fn live(path: Path) -> LiveLaboratory {
    live_stopped_by(path, Arc::default())
}

/// The same; ends its trial when `stop` is set.
pub fn live_stopped_by(path: Path, stop: Arc<AtomicBool>) -> LiveLaboratory {
    let irq =
        IrqAccounting { excluded_from_threads: Some(false), measured_at_context_changes: None, hz: None };
    LiveLaboratory::new(path, irq, stop)
}

/// 64-byte frames from `packet-tx` to a method on the same CPU, with a ring of `ring` octets; after each trial the path stays
/// quiet for `quiet`.
///
/// # Panics
/// When there is no such method.
pub fn live_setup(method: &str, ring: u64, quiet: Duration) -> Setup {
    Setup {
        method: method.parse().unwrap(),
        transmit: TransmitSpec::plain("packet-tx"),
        quiet,
        capture: CaptureOptions { ring: ByteCount(ring), ..CaptureOptions::default() },
        ..setup(64)
    }
}
