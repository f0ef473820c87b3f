//! How the kernel was built and started, as far as it matters for capturing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the running kernel was built and started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Kernel {
    /// Options of its build that matter for capturing, without `CONFIG_`: `y`, `m`, a value, or `n` where the configuration
    /// says that it is off. What it does not mention is left out; absent where it cannot be read (`/proc/config.gz`,
    /// `/boot/config-RELEASE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<BTreeMap<String, String>>,
    /// Words of its command line that matter for capturing, in order (`/proc/cmdline`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<Vec<String>>,
    /// How it may preempt itself now, where that can be chosen at run time (`sched/preempt` in debugfs, for root).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// What drives its clocks: `tsc`, `kvm-clock` and others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// The clock sources that it could use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksources: Option<Vec<String>>,
}

/// How times are accounted. `None` means that the configuration could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IrqAccounting {
    /// The scheduler's time of a thread leaves out interrupts, soft ones too, that were served while it ran
    /// (CONFIG_IRQ_TIME_ACCOUNTING). Without it an interrupted thread is charged for them. A kernel built with it can
    /// still have it off, on x86 with `tsc=noirqtime` or an unstable TSC.
    pub excluded_from_threads: Option<bool>,
    /// Times in `/proc/stat` are measured at each change of context instead of sampled at the timer tick
    /// (CONFIG_VIRT_CPU_ACCOUNTING_GEN; in effect on CPUs of `nohz_full` only).
    pub measured_at_context_changes: Option<bool>,
    /// Timer ticks per second (CONFIG_HZ).
    pub hz: Option<u32>,
}

impl IrqAccounting {
    /// Reads the text of a configuration. Options are known only from a text that names CONFIG_HZ, as each kernel's does.
    pub fn parse(text: &str) -> Self {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let Some(hz) = value("CONFIG_HZ").and_then(|number| number.trim().parse().ok()) else {
            return Self::default();
        };
        // An option that is off stands in a comment, or is left out where its conditions are not met.
        let on = |key: &str| Some(value(key).is_some_and(|state| state.trim() == "y"));
        Self {
            excluded_from_threads: on("CONFIG_IRQ_TIME_ACCOUNTING"),
            measured_at_context_changes: on("CONFIG_VIRT_CPU_ACCOUNTING_GEN"),
            hz: Some(hz),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read() {
        let text = "# CONFIG_VIRT_CPU_ACCOUNTING_GEN is not set\nCONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n";
        let accounting = IrqAccounting::parse(text);
        assert_eq!(accounting.excluded_from_threads, Some(true));
        assert_eq!(accounting.measured_at_context_changes, Some(false));
        assert_eq!(accounting.hz, Some(250));
    }

    #[test]
    fn off_is_known_and_unknown_is_not_off() {
        let text = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_HZ=1000\n";
        assert_eq!(IrqAccounting::parse(text).excluded_from_threads, Some(false));
        for text in ["", "CONFIG_HZ=", "CONFIG_HZ=fast", "CONFIG_IRQ_TIME_ACCOUNTING=y", "CONFIG_HZ_250=y"] {
            assert_eq!(IrqAccounting::parse(text), IrqAccounting::default(), "{text:?}");
        }
    }
}
