//! The causes of noise that trials state as text. Only this file reads those texts, of this version and of earlier ones.

use serde::{Deserialize, Serialize};

/// What made trials noisy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum NoiseCause {
    /// A CPU ran slower than its best.
    SlowCpu,
    /// The tracer missed some receive work of the kernel.
    MissedByTracer,
    /// The hypervisor took CPU time away.
    Steal,
    /// Other work ran on the CPUs of the trial.
    ForeignLoad,
    /// A CPU stalled.
    Stall,
    /// The host's clock was changed.
    Clock,
    /// The host was suspended.
    Suspend,
    /// The kernel's receive work ran on another CPU than the chosen one.
    KernelElsewhere,
    /// Something else.
    Other {
        /// As the trial states it.
        reason: String,
    },
}

/// Causes by a part of their text, the first that fits. Earlier versions wrote that a CPU stood still.
const CAUSES: [(&str, NoiseCause); 9] = [
    ("slower than", NoiseCause::SlowCpu),
    ("from the tracer", NoiseCause::MissedByTracer),
    ("steal", NoiseCause::Steal),
    ("foreign load", NoiseCause::ForeignLoad),
    ("stood still", NoiseCause::Stall),
    ("stalled", NoiseCause::Stall),
    ("clock", NoiseCause::Clock),
    ("suspended", NoiseCause::Suspend),
    ("CPU chosen", NoiseCause::KernelElsewhere),
];

impl NoiseCause {
    /// The cause that a trial states.
    pub fn read(reason: &str) -> Self {
        for (part, cause) in CAUSES {
            if reason.contains(part) {
                return cause;
            }
        }
        Self::Other { reason: reason.into() }
    }

    /// Whether it makes a method slower.
    pub fn slows(&self) -> bool {
        matches!(self, Self::SlowCpu | Self::Steal | Self::ForeignLoad | Self::Stall)
    }
}

#[cfg(test)]
mod tests {
    use capbench_model::disturbance::{ClockDrift, CoreSpeed, CpuDisturbance, Disturbance, Stall};

    use super::*;

    /// Every disturbance that a host can cause.
    fn all_disturbances() -> Disturbance {
        let stall = Stall { until_ns: 1, at_least_ns: 9_000_000, at_most_ns: 9_000_000 };
        let cpu = CpuDisturbance {
            window_ns: 1_000_000_000,
            steal_ns: 500_000_000,
            foreign_ns: 500_000_000,
            stalls: Some(vec![stall]),
            core_speed: Some(CoreSpeed { before_ns: 2.0, after_ns: 2.0, fastest_ns: 1.0 }),
            ..CpuDisturbance::default()
        };
        Disturbance {
            cpus: vec![cpu],
            tick_ns: 1_000_000,
            clocks: ClockDrift {
                realtime_step_ns: 1_000_000_000,
                slew_ppm: 5000.0,
                suspended_ns: 1_000_000_000,
            },
            sending_ns: 1_000_000_000,
            backlog_lasts_ns: Some(1_000_000),
            start_spread_ns: Some(0),
        }
    }

    #[test]
    fn each_disturbance_of_this_version_has_its_cause() {
        let causes: Vec<NoiseCause> =
            all_disturbances().reasons().into_iter().map(NoiseCause::read).collect();
        assert_eq!(
            causes,
            [
                NoiseCause::Steal,
                NoiseCause::ForeignLoad,
                NoiseCause::Clock,
                NoiseCause::Clock,
                NoiseCause::Suspend,
                NoiseCause::SlowCpu,
                NoiseCause::Stall,
            ]
        );
    }

    #[test]
    fn texts_of_earlier_versions_and_of_others_are_read() {
        let read = NoiseCause::read;
        assert_eq!(read("one of its CPUs stood still for longer than the backlog lasts"), NoiseCause::Stall);
        assert_eq!(read("its clock ran slower than its best"), NoiseCause::SlowCpu, "the first that fits");
        assert_eq!(read("the moon"), NoiseCause::Other { reason: "the moon".into() });
        assert!(NoiseCause::Steal.slows() && !NoiseCause::Clock.slows() && !read("the moon").slows());
    }
}
