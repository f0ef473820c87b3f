//! What the kernel's receive time of a trial was measured by. capbench-report makes the words.

use serde::{Deserialize, Serialize};

/// What the kernel's receive time was measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelTimeSource {
    /// The clock of interrupts.
    pub clock: KernelClock,
    /// Whether the run time of NAPI threads is a part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub napi_threads: bool,
}

/// A clock of interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelClock {
    /// One run of the receive softirq in eight, timed at its beginning and end, in files of earlier versions.
    TracedSoftirqs,
    /// Every run of the receive softirq, timed at its beginning and end.
    EverySoftirq,
    /// Soft and hard interrupts of the CPU. The kernel measures each at its beginning and end (CONFIG_IRQ_TIME_ACCOUNTING) and
    /// reports them in ticks of /proc/stat.
    MeasuredInterrupts,
    /// Soft and hard interrupts of the CPU, sampled at the timer tick, in ticks of /proc/stat.
    Ticks,
    /// None: the timer tick samples interrupts, and the load is in step with the tick.
    TicksInStep,
}
