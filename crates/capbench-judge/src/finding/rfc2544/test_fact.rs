//! The result of a test of RFC 2544, in the figures that a sentence about it needs, by the saved outcome.

use serde::{Deserialize, Serialize};

use crate::rfc2544::Found;
use crate::rfc2544::back_to_back::BackToBackOutcome;
use crate::rfc2544::frame_loss::{FrameLossOutcome, LossPoint};
use crate::rfc2544::latency::LatencyOutcome;
use crate::rfc2544::recovery::{Recovery, RecoveryOutcome};

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TestFact {
    /// How long frames take.
    Latency {
        /// From where to where.
        way: Way,
        /// The median over the trials of their medians, nanoseconds.
        typical_ns: i64,
        /// The median over the trials of their 99.9th percentiles, nanoseconds.
        worst_ns: i64,
        /// The rate, frames per second.
        rate_pps: f64,
        /// Trials that lost frames.
        lossy_trials: usize,
        /// All trials.
        trials: u32,
    },
    /// No frame is lost at the highest load.
    NoneLost {
        /// The highest load, in percent of the maximum rate.
        at_percent: f64,
        /// The maximum rate, frames per second.
        maximum_pps: f64,
        /// The lower load that lost the largest share of its frames; absent if none lost frames.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worst: Option<LossAtLoad>,
    },
    /// Frames are lost at the highest load.
    SomeLost {
        /// The loss at the highest load.
        highest: LossAtLoad,
        /// The maximum rate, frames per second.
        maximum_pps: f64,
        /// The highest load that the generator reached and that lost nothing, in percent of the maximum rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lossless_percent: Option<f64>,
    },
    /// The longest burst that loses nothing.
    Bursts {
        /// The mean length of the longest bursts, in frames.
        average_frames: f64,
        /// The time that the buffers store, in seconds.
        buffer_s: f64,
        /// Why the result is not valid; absent if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid_because: Option<String>,
    },
    /// How long frames are still lost after an overload.
    RecoversAfter {
        /// The overload, frames per second.
        overload_pps: f64,
        /// The mean time to the last lost frame, in seconds.
        average_s: f64,
    },
    /// No overload shows whether the method recovers.
    RecoveryUnknown {
        /// Number of overloads.
        overloads: usize,
    },
    /// From how many overloads the method recovered.
    RecoveredFrom {
        /// Overloads from which it recovered.
        recovered: usize,
        /// All overloads.
        overloads: usize,
        /// Overloads that do not show it.
        unknown: usize,
    },
}

/// From where to where a latency is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the planned send time to delivery.
    Whole,
    /// The same, less that of the fastest frame.
    LessFastest,
    /// From the kernel's timestamp to delivery.
    KernelToApplication,
}

/// The loss at a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossAtLoad {
    /// The load, in percent of the maximum rate.
    pub load_percent: f64,
    /// The share of the frames that was lost.
    pub loss_ratio: f64,
}

impl LossAtLoad {
    fn of_point(point: &LossPoint) -> Self {
        Self { load_percent: point.load_percent, loss_ratio: point.loss_percent / 100.0 }
    }
}

impl TestFact {
    /// The result of a test; `None` if it found nothing.
    pub fn of_outcome(found: &Found) -> Option<Self> {
        match found {
            Found::Latency(outcome) => Self::of_latency(outcome),
            Found::FrameLoss(outcome) => Self::of_frame_loss(outcome),
            Found::BackToBack(outcome) => Self::of_bursts(outcome),
            Found::Recovery(outcome) => Self::of_recovery(outcome),
        }
    }

    fn of_latency(outcome: &LatencyOutcome) -> Option<Self> {
        let (leg, way) = match (&outcome.total, &outcome.relative_total, &outcome.to_application) {
            (Some(total), ..) => (total, Way::Whole),
            (None, Some(relative), _) => (relative, Way::LessFastest),
            (None, None, Some(part)) => (part, Way::KernelToApplication),
            (None, None, None) => return None,
        };
        Some(Self::Latency {
            way,
            typical_ns: leg.typical.median_ns,
            worst_ns: leg.worst.median_ns,
            rate_pps: outcome.rate_pps.get(),
            lossy_trials: outcome.lossy.len(),
            trials: outcome.repetitions,
        })
    }

    fn of_frame_loss(outcome: &FrameLossOutcome) -> Option<Self> {
        let highest = outcome.points.first()?;
        let maximum_pps = outcome.maximum.pps.get();
        if highest.loss_percent == 0.0 {
            let worst = outcome.points.iter().max_by(|a, b| a.loss_percent.total_cmp(&b.loss_percent));
            let worst = worst.filter(|point| point.loss_percent > 0.0).map(LossAtLoad::of_point);
            return Some(Self::NoneLost { at_percent: highest.load_percent, maximum_pps, worst });
        }
        let mut points = outcome.points.iter();
        let lossless = points.find(|point| point.loss_percent == 0.0 && !point.generator_limited);
        Some(Self::SomeLost {
            highest: LossAtLoad::of_point(highest),
            maximum_pps,
            lossless_percent: lossless.map(|point| point.load_percent),
        })
    }

    fn of_bursts(outcome: &BackToBackOutcome) -> Option<Self> {
        let benchmark = outcome.benchmark.as_ref()?;
        Some(Self::Bursts {
            average_frames: benchmark.average_frames,
            buffer_s: benchmark.corrected_buffer_s,
            invalid_because: outcome.invalid_because.clone(),
        })
    }

    fn of_recovery(outcome: &RecoveryOutcome) -> Option<Self> {
        if let Some(average_s) = outcome.average_s {
            return Some(Self::RecoversAfter { overload_pps: outcome.overload_pps.get(), average_s });
        }
        let overloads = outcome.repetitions.len();
        let mut recovered = 0;
        let mut unknown = 0;
        for repetition in &outcome.repetitions {
            match repetition.recovery {
                Recovery::Recovered { .. } => recovered += 1,
                Recovery::Unknown { .. } => unknown += 1,
                Recovery::NothingLost | Recovery::NotRecovered { .. } => {}
            }
        }
        match overloads {
            0 => None,
            _ if unknown == overloads => Some(Self::RecoveryUnknown { overloads }),
            _ => Some(Self::RecoveredFrom { recovered, overloads, unknown }),
        }
    }
}

#[cfg(test)]
mod tests {
    use capbench_frames::rates::Pps;
    use capbench_model::trial::Verdict;

    use super::*;
    use crate::bursts::Percent;
    use crate::rfc2544::recovery::Repetition;
    use crate::rfc2544::{Ended, MaximumRate};
    use crate::search::MaximumSource;

    fn pps(rate: f64) -> Pps {
        Pps::new(rate).unwrap()
    }

    fn maximum() -> MaximumRate {
        MaximumRate { pps: pps(1e6), source: MaximumSource::LineRate }
    }

    /// The result of points of load and loss in percent, of which the generator did not reach some.
    fn frame_loss(points: &[(f64, f64, bool)]) -> Option<TestFact> {
        let point = |&(load_percent, loss_percent, generator_limited): &(f64, f64, bool)| LossPoint {
            load_percent,
            offered_percent: load_percent,
            loss_percent,
            intended: 1000,
            sent: 1000,
            delivered: 1000,
            generator_limited,
            verdict: Verdict::Lossy,
            trial: 1,
        };
        TestFact::of_frame_loss(&FrameLossOutcome {
            maximum: maximum(),
            step_percent: Percent::fixed(10.0),
            duration_s: 1.0,
            points: points.iter().map(point).collect(),
            ends_without_loss: true,
            ended: Ended::Complete,
        })
    }

    #[test]
    fn loss_is_named_at_the_highest_load_and_where_it_ends() {
        let highest = LossAtLoad { load_percent: 100.0, loss_ratio: 0.5 };
        let some =
            |lossless_percent| Some(TestFact::SomeLost { highest, maximum_pps: 1e6, lossless_percent });
        // A load that the generator did not reach is not lossless.
        let points = [(100.0, 50.0, false), (90.0, 0.0, true), (80.0, 0.0, false)];
        assert_eq!(frame_loss(&points), some(Some(80.0)));
        assert_eq!(frame_loss(&points[..2]), some(None));
        let none = |worst| Some(TestFact::NoneLost { at_percent: 100.0, maximum_pps: 1e6, worst });
        assert_eq!(frame_loss(&[(100.0, 0.0, false)]), none(None));
        let worst = LossAtLoad { load_percent: 80.0, loss_ratio: 0.25 };
        assert_eq!(
            frame_loss(&[(100.0, 0.0, false), (90.0, 1.0, false), (80.0, 25.0, false)]),
            none(Some(worst))
        );
        assert_eq!(frame_loss(&[]), None);
    }

    fn recovery(average_s: Option<f64>, all: &[Recovery]) -> Option<TestFact> {
        let repetition = |recovery: &Recovery| Repetition {
            recovery: recovery.clone(),
            generator_late_ns: None,
            trial: 1,
        };
        TestFact::of_recovery(&RecoveryOutcome {
            throughput_pps: pps(1e5),
            maximum: maximum(),
            overload_pps: pps(1.1e5),
            overloaded_s: 60.0,
            after_pps: pps(5e4),
            observed_s: 60.0,
            repetitions: all.iter().map(repetition).collect(),
            average_s,
            ended: Ended::Complete,
        })
    }

    #[test]
    fn recovery_is_a_time_a_number_of_overloads_or_unknown() {
        let known = Recovery::Recovered { after_s: 1.0 };
        let unknown = Recovery::Unknown { because: "it is not known".into() };
        let after = TestFact::RecoversAfter { overload_pps: 1.1e5, average_s: 1.0 };
        assert_eq!(recovery(Some(1.0), std::slice::from_ref(&known)), Some(after));
        let some = TestFact::RecoveredFrom { recovered: 1, overloads: 3, unknown: 1 };
        assert_eq!(recovery(None, &[known, Recovery::NothingLost, unknown.clone()]), Some(some));
        assert_eq!(recovery(None, &[unknown]), Some(TestFact::RecoveryUnknown { overloads: 1 }));
        assert_eq!(recovery(None, &[]), None);
    }
}
