//! The words of what the kernel's receive time was measured by.

use capbench_model::trial::{KernelClock, KernelTimeSource};

/// What it was measured by.
pub(super) fn words(source: KernelTimeSource) -> String {
    let clock = match source.clock {
        KernelClock::TracedSoftirqs => {
            "receive softirq, one run in eight timed at its beginning and end (irq:softirq_entry, irq:softirq_exit)"
        }
        KernelClock::EverySoftirq => {
            "receive softirq, every run timed at its beginning and end (irq:softirq_entry, irq:softirq_exit)"
        }
        KernelClock::MeasuredInterrupts => {
            "soft and hard interrupts of the CPU, which the kernel measures (CONFIG_IRQ_TIME_ACCOUNTING), in ticks (/proc/stat)"
        }
        KernelClock::Ticks => "soft and hard interrupts of the CPU, in ticks (/proc/stat)",
        KernelClock::TicksInStep => {
            "unknown: the timer tick samples it (/proc/stat), and the load is in step with the tick"
        }
    };
    match source.napi_threads {
        true => format!("{clock}; run time of NAPI threads (schedstat)"),
        false => clock.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_named_with_its_source_in_the_kernel() {
        for (clock, napi_threads, expected) in [
            (
                KernelClock::TracedSoftirqs,
                false,
                "receive softirq, one run in eight timed at its beginning and end (irq:softirq_entry, irq:softirq_exit)",
            ),
            (
                KernelClock::EverySoftirq,
                false,
                "receive softirq, every run timed at its beginning and end (irq:softirq_entry, irq:softirq_exit)",
            ),
            (
                KernelClock::MeasuredInterrupts,
                false,
                "soft and hard interrupts of the CPU, which the kernel measures (CONFIG_IRQ_TIME_ACCOUNTING), in ticks (/proc/stat)",
            ),
            (
                KernelClock::Ticks,
                true,
                "soft and hard interrupts of the CPU, in ticks (/proc/stat); run time of NAPI threads (schedstat)",
            ),
            (
                KernelClock::TicksInStep,
                false,
                "unknown: the timer tick samples it (/proc/stat), and the load is in step with the tick",
            ),
        ] {
            assert_eq!(words(KernelTimeSource { clock, napi_threads }), expected);
        }
    }
}
