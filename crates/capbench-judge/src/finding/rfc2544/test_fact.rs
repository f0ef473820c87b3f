//! The result of a test of RFC 2544, in the figures that a sentence about it needs, by the saved outcome.

use serde::Serialize;

use crate::rfc2544::Found;
use crate::rfc2544::back_to_back::BackToBackOutcome;
use crate::rfc2544::frame_loss::{FrameLossOutcome, LossPoint};
use crate::rfc2544::latency::LatencyOutcome;
use crate::rfc2544::recovery::{Recovery, RecoveryOutcome};

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
        #[serde(skip_serializing_if = "Option::is_none")]
        worst: Option<LossAtLoad>,
    },
    /// Frames are lost at the highest load.
    SomeLost {
        /// The loss at the highest load.
        highest: LossAtLoad,
        /// The maximum rate, frames per second.
        maximum_pps: f64,
        /// The highest load that the generator reached and that lost nothing, in percent of the maximum rate.
        #[serde(skip_serializing_if = "Option::is_none")]
        lossless_percent: Option<f64>,
    },
    /// The longest burst that loses nothing.
    Bursts {
        /// The mean length of the longest bursts, in frames.
        average_frames: f64,
        /// The time that the buffers store, in seconds.
        buffer_s: f64,
        /// Why the result is not valid; absent if it is.
        #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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

    /// The latency over the longest way that is known.
    fn of_latency(outcome: &LatencyOutcome) -> Option<Self> {
        let way = if outcome.total.is_some() {
            Way::Whole
        } else if outcome.relative_total.is_some() {
            Way::LessFastest
        } else {
            Way::KernelToApplication
        };
        let leg = match way {
            Way::Whole => outcome.total,
            Way::LessFastest => outcome.relative_total,
            Way::KernelToApplication => outcome.to_application,
        }?;
        Some(Self::Latency {
            way,
            typical_ns: leg.typical.median_ns,
            worst_ns: leg.worst.median_ns,
            rate_pps: outcome.rate_pps.get(),
            lossy_trials: outcome.lossy.len(),
            trials: outcome.repetitions,
        })
    }

    /// The points are in the order of their loads, the highest first. A point without loss that the generator did not reach shows nothing
    /// of its load.
    fn of_frame_loss(outcome: &FrameLossOutcome) -> Option<Self> {
        let maximum_pps = outcome.maximum.pps.get();
        let mut points = outcome.points.iter();
        let Some(highest) = points.find(|point| point.loss_percent > 0.0 || !point.has_unsent_frames) else {
            // What was offered at least lost nothing.
            let offered = outcome.points.iter().map(|point| point.offered_percent).reduce(f64::max)?;
            let at_percent = (offered * 10.0).floor() / 10.0;
            return Some(Self::NoneLost { at_percent, maximum_pps, worst: None });
        };
        if highest.loss_percent == 0.0 {
            let lossy = outcome.points.iter().filter(|point| point.loss_percent > 0.0);
            let worst = lossy.max_by(|one, other| one.loss_percent.total_cmp(&other.loss_percent));
            let worst = worst.map(LossAtLoad::of_point);
            return Some(Self::NoneLost { at_percent: highest.load_percent, maximum_pps, worst });
        }
        let mut points = outcome.points.iter();
        let lossless = points.find(|point| point.loss_percent == 0.0 && !point.has_unsent_frames);
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

    use super::{LossAtLoad, TestFact};
    use crate::bursts::Percent;
    use crate::rfc2544::frame_loss::{FrameLossOutcome, LossPoint};
    use crate::rfc2544::recovery::{Recovery, RecoveryOutcome, Repetition};
    use crate::rfc2544::{Ended, MaximumRate};
    use crate::search::MaximumSource;

    fn pps(rate: f64) -> Pps {
        Pps::new(rate).unwrap()
    }

    fn maximum() -> MaximumRate {
        MaximumRate { pps: pps(1e6), source: MaximumSource::LineRate }
    }

    /// A point at this load with this loss, both in percent.
    fn point(load_percent: f64, loss_percent: f64) -> LossPoint {
        LossPoint {
            load_percent,
            offered_percent: load_percent,
            loss_percent,
            intended: 1000,
            sent: 1000,
            delivered: 1000,
            has_unsent_frames: false,
            verdict: Verdict::Lossy,
            trial: 1,
        }
    }

    fn frame_loss(points: &[LossPoint]) -> Option<TestFact> {
        TestFact::of_frame_loss(&FrameLossOutcome {
            maximum: maximum(),
            step_percent: Percent::fixed(10.0),
            duration_s: 1.0,
            points: points.to_vec(),
            ends_without_loss: true,
            ended: Ended::Complete,
        })
    }

    /// Half of the frames are lost at the highest load, and none from a lower load on.
    fn some_lost(lossless_percent: Option<f64>) -> TestFact {
        let highest = LossAtLoad { load_percent: 100.0, loss_ratio: 0.5 };
        TestFact::SomeLost { highest, maximum_pps: 1e6, lossless_percent }
    }

    fn none_lost(worst: Option<LossAtLoad>) -> TestFact {
        TestFact::NoneLost { at_percent: 100.0, maximum_pps: 1e6, worst }
    }

    #[test]
    fn loss_is_named_at_the_highest_load_and_where_it_ends() {
        let lossy = point(100.0, 50.0);
        let unreached = LossPoint { has_unsent_frames: true, ..point(90.0, 0.0) };
        assert_eq!(frame_loss(&[lossy, unreached, point(80.0, 0.0)]), Some(some_lost(Some(80.0))));
        assert_eq!(
            frame_loss(&[lossy, unreached]),
            Some(some_lost(None)),
            "an unreached load is not lossless"
        );
        let lossless = point(100.0, 0.0);
        assert_eq!(frame_loss(&[lossless]), Some(none_lost(None)));
        let worst = LossAtLoad { load_percent: 80.0, loss_ratio: 0.25 };
        let with_lower_loads = [lossless, point(90.0, 1.0), point(80.0, 25.0)];
        assert_eq!(frame_loss(&with_lower_loads), Some(none_lost(Some(worst))));
        assert_eq!(frame_loss(&[]), None);
        // At 100 % the generator sent 78.185 %.
        let unreached = LossPoint { has_unsent_frames: true, offered_percent: 78.185, ..point(100.0, 0.0) };
        let lossy = LossAtLoad { load_percent: 90.0, loss_ratio: 0.5 };
        let some = TestFact::SomeLost { highest: lossy, maximum_pps: 1e6, lossless_percent: Some(80.0) };
        assert_eq!(frame_loss(&[unreached, point(90.0, 50.0), point(80.0, 0.0)]), Some(some));
        let none = TestFact::NoneLost { at_percent: 78.1, maximum_pps: 1e6, worst: None };
        assert_eq!(frame_loss(&[unreached]), Some(none));
    }

    /// The fact about overloads with these results, and their mean time.
    fn recovery(average_s: Option<f64>, results: &[Recovery]) -> Option<TestFact> {
        let mut repetitions = Vec::new();
        for recovery in results {
            repetitions.push(Repetition { recovery: recovery.clone(), generator_late_ns: None, trial: 1 });
        }
        TestFact::of_recovery(&RecoveryOutcome {
            throughput_pps: pps(1e5),
            maximum: maximum(),
            overload_pps: pps(1.1e5),
            overloaded_s: 60.0,
            after_pps: pps(5e4),
            observed_s: 60.0,
            repetitions,
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
