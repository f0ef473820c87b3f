//! Which queue of a virtual link a frame takes.
//!
//! A veth puts a frame into the receive queue with the number of its transmit queue. That is the queue of the CPU that sends it, so
//! one sending thread fills one queue. XPS with all queues for every CPU chooses by flow hash instead (`get_xps_queue` of
//! net/core/dev.c), as RSS of a card does. AF_XDP's transmit ring and XDP frames do not ask it.

use capbench_sys::host::affinity;

use super::kernel_work::SysfsAccess;
use super::{Side, cpu_mask};
use crate::Result;

/// Spreads the flows of a sending interface over its transmit queues, and returns what became of it, in words.
///
/// # Errors
/// The host's CPUs, or the interface's queues, cannot be read.
pub(super) fn spread_flows(transmit: &Side, sysfs: &SysfsAccess) -> Result<String> {
    let by_cpu = |why: &dyn std::fmt::Display| {
        Ok(format!("a frame takes the queue of the CPU that sends it, as xps_cpus cannot be set ({why})"))
    };
    let view = match sysfs.view("spreading flows over queues") {
        Ok(view) => view,
        Err(error) => return by_cpu(&error),
    };
    let mask = cpu_mask::of(&affinity::online_cpus()?);
    let queues = format!("class/net/{}/queues", transmit.name());
    for name in view.list(&queues)?.iter().filter(|name| name.starts_with("tx-")) {
        if let Err(error) = view.write(&format!("{queues}/{name}/xps_cpus"), &mask) {
            return by_cpu(&error);
        }
    }
    Ok(format!("xps_cpus={mask} of every transmit queue, so each flow takes a queue"))
}
