//! Build and boot settings of the kernel that matter for capturing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

facts! {
    /// Build and boot settings of the running kernel.
    pub struct Kernel {
        /// Build options that matter for capturing, without `CONFIG_`: `y`, `m`, a value, or `n` if the configuration says that
        /// it is off. Options that it does not mention are left out. Absent if it cannot be read (`/proc/config.gz`,
        /// `/boot/config-RELEASE`).
        pub options: Option<BTreeMap<String, String>>,
        /// Words of its command line that matter for capturing, in order (`/proc/cmdline`).
        pub command_line: Option<Vec<String>>,
        /// The preemption model, if it can be chosen at run time (`sched/preempt` in debugfs, for root).
        pub preemption: Option<String>,
        /// The clock source: `tsc`, `kvm-clock` and others.
        pub clocksource: Option<String>,
        /// The available clock sources.
        pub clocksources: Option<Vec<String>>,
    }
}

/// How the kernel accounts CPU time. `None` means that the configuration could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IrqAccounting {
    /// Whether a thread's CPU time excludes interrupts and softirqs that ran during it (CONFIG_IRQ_TIME_ACCOUNTING).
    /// Otherwise the interrupted thread is charged for them. A kernel built with it has it off on x86 with `tsc=noirqtime` or an
    /// unstable TSC.
    pub excluded_from_threads: Option<bool>,
    /// Whether times in `/proc/stat` are measured at each context change instead of sampled at the timer tick
    /// (CONFIG_VIRT_CPU_ACCOUNTING_GEN; in effect only on CPUs of `nohz_full`).
    pub measured_at_context_changes: Option<bool>,
    /// Timer ticks per second (CONFIG_HZ).
    pub hz: Option<u32>,
}

impl IrqAccounting {
    /// Parses a configuration. Options are known only if the text names CONFIG_HZ, as that of every kernel does.
    pub fn parse(text: &str) -> Self {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let Some(hz) = value("CONFIG_HZ").and_then(|number| number.trim().parse().ok()) else {
            return Self::default();
        };
        // A disabled option is in a comment, or missing if its conditions are not met.
        let on = |key: &str| Some(value(key).is_some_and(|state| state.trim() == "y"));
        Self {
            excluded_from_threads: on("CONFIG_IRQ_TIME_ACCOUNTING"),
            measured_at_context_changes: on("CONFIG_VIRT_CPU_ACCOUNTING_GEN"),
            hz: Some(hz),
        }
    }

    /// What of the configuration is in effect on a host of this kind (`uname -m`). On x86 the kernel measures interrupts by the TSC:
    /// not with `tsc=noirqtime`, and not if the TSC is no clock source because it is unstable (arch/x86/kernel/tsc.c).
    pub fn in_effect(self, kernel: &Kernel, machine: &str) -> Self {
        let is_x86 = matches!(machine, "x86" | "x86_64");
        let without = kernel.command_line.iter().flatten().any(|word| word == "tsc=noirqtime");
        let has_no_tsc =
            kernel.clocksources.as_ref().is_some_and(|all| !all.iter().any(|name| name == "tsc"));
        if is_x86 && (without || has_no_tsc) && self.excluded_from_threads == Some(true) {
            return Self { excluded_from_threads: Some(false), ..self };
        }
        self
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
    fn interrupts_are_not_measured_without_a_stable_tsc() {
        let built = IrqAccounting { excluded_from_threads: Some(true), ..IrqAccounting::default() };
        let stable = Kernel {
            command_line: Some(vec!["tsc=reliable".into()]),
            clocksources: Some(vec!["kvm-clock".into(), "tsc".into()]),
            ..Kernel::default()
        };
        let unstable = Kernel { clocksources: Some(vec!["hpet".into()]), ..stable.clone() };
        let off = Kernel { command_line: Some(vec!["tsc=noirqtime".into()]), ..stable.clone() };
        let excluded =
            |kernel: &Kernel, machine: &str| built.in_effect(kernel, machine).excluded_from_threads;
        assert_eq!(excluded(&stable, "x86_64"), Some(true));
        assert_eq!((excluded(&unstable, "x86_64"), excluded(&off, "x86_64")), (Some(false), Some(false)));
        assert_eq!(excluded(&unstable, "aarch64"), Some(true), "it has no TSC");
        assert_eq!(excluded(&Kernel::default(), "x86_64"), Some(true), "its clock sources are unknown");
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
