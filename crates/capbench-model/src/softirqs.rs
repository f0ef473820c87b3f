//! Which trials time the kernel's receive softirq.
//!
//! Timing shows exactly what of a shared CPU's time is the kernel's, and slows the kernel down. So a trial either times every run of
//! the softirq, or has no program attached to softirqs at all.

use serde::{Deserialize, Serialize};

use crate::trial::Load;

/// The trials of a set-up that time every run of the kernel's receive softirq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoftirqTiming {
    /// Those with a planned rate. Trials at maximum load, which are for rates, are undisturbed.
    #[default]
    AtPlannedRates,
    /// Each trial: its CPU time is known exactly.
    EveryTrial,
    /// No trial: its rates are those without the tracer.
    NoTrial,
}

impl SoftirqTiming {
    /// Whether a trial at `load` times softirqs.
    pub fn is_for(self, load: Load) -> bool {
        match self {
            Self::AtPlannedRates => load != Load::Maximum,
            Self::EveryTrial => true,
            Self::NoTrial => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SoftirqTiming;
    use crate::trial::Load;

    #[test]
    fn a_trial_at_maximum_load_times_softirqs_only_if_it_is_asked_to() {
        let planned = Load::Rate("200k".parse().unwrap());
        for (timing, of_planned, of_maximum) in [
            (SoftirqTiming::default(), true, false),
            (SoftirqTiming::EveryTrial, true, true),
            (SoftirqTiming::NoTrial, false, false),
        ] {
            assert_eq!(timing.is_for(planned), of_planned, "{timing:?}");
            assert_eq!(timing.is_for(Load::Maximum), of_maximum, "{timing:?}");
        }
    }
}
