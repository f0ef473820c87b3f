//! The causes of noise: the reasons of trials, those with the same remedy together.

use capbench_model::noise::Noise;
use serde::Serialize;

/// What made trials noisy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum NoiseCause {
    /// A CPU ran slower than its best, and nobody measured why.
    SlowCpu,
    /// Another guest or hardware thread used a CPU's core.
    SharedCore,
    /// A CPU's clock was lowered.
    LoweredClock,
    /// The tracer missed some receive work of the kernel.
    MissedByTracer,
    /// The hypervisor took CPU time away.
    Steal,
    /// The CPU quota of a control group stopped capbench.
    Throttled,
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
        /// The reason.
        noise: Noise,
    },
}

impl From<&Noise> for NoiseCause {
    fn from(noise: &Noise) -> Self {
        // A text of an earlier version has the cause of the reason that means the same.
        match noise.current() {
            Noise::SlowCpu => Self::SlowCpu,
            Noise::SharedCore => Self::SharedCore,
            Noise::LoweredClock => Self::LoweredClock,
            Noise::MissedByTracer => Self::MissedByTracer,
            Noise::Steal => Self::Steal,
            Noise::Throttled => Self::Throttled,
            Noise::ForeignLoad => Self::ForeignLoad,
            Noise::Stall => Self::Stall,
            Noise::ClockSet | Noise::ClockSpeed => Self::Clock,
            Noise::Suspend => Self::Suspend,
            Noise::KernelElsewhere => Self::KernelElsewhere,
            other => Self::Other { noise: other.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use capbench_model::noise::Noise;

    use super::NoiseCause;

    fn cause(text: &str) -> NoiseCause {
        NoiseCause::from(&Noise::from_earlier(text))
    }

    #[test]
    fn texts_of_earlier_versions_have_their_cause() {
        assert_eq!(cause("one of its CPUs stood still for longer than the backlog lasts"), NoiseCause::Stall);
        assert_eq!(cause("its clock ran slower than its best"), NoiseCause::SlowCpu);
        let moon = Noise::from_earlier("the moon");
        assert_eq!(NoiseCause::from(&moon), NoiseCause::Other { noise: moon });
    }
}
