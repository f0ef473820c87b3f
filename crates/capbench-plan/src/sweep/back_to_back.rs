//! The longest burst that a method receives without loss, and the time that its buffers can store (RFC 2544 section 26.4, RFC
//! 9004).
//!
//! RFC 9004 corrects the time of a burst by the frames that are read from the buffer while it fills, and uses the throughput as
//! that rate. A sweep does not know the throughput. It subtracts the rate that the method delivers under the overload that fills
//! the buffer. On a host where the kernel has priority over the application that rate differs, so the result has another name.

use std::num::NonZeroU64;
use std::time::Duration;

use capbench_frames::rates::Pps;

use super::axis::contradiction;
use crate::Result;
use crate::bursts::{BurstSearch, Longest};
use crate::session::{Missing, Session};
use capbench_judge::bursts::{BurstEnd, Percent};
use capbench_judge::limit::is_generator_limit;
use capbench_judge::sustained::is_sustained;
use capbench_judge::sweep::back_to_back::{InvalidTrial, SweptBurst};
use capbench_judge::thresholds::SWEPT_BURST_RESOLUTION;
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

/// The parameters of the search for bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackToBackTest(pub BurstSearch);

impl Default for BackToBackTest {
    /// From 8 frames to 2 s, to 3 %, each loss verified once, with 0.2 s between bursts (RFC 9004 requires 2 s).
    fn default() -> Self {
        Self(BurstSearch {
            first: NonZeroU64::MIN.saturating_add(7),
            limit: Duration::from_secs(2),
            resolution: Percent::fixed(SWEPT_BURST_RESOLUTION),
            verifications: 1,
            depletion: Duration::from_millis(200),
        })
    }
}

/// A visit of a point: its trial, which overloads the path if bursts are searched for, and the search for the longest burst.
pub(super) struct BurstVisit {
    pub(super) trial: TrialResult,
    pub(super) burst: Option<SweptBurst>,
}

/// The rate at which frames were read in an overload, once its first `burst` frames had filled the buffer.
fn drained_pps(overload: &TrialResult, burst: u64) -> f64 {
    let after_s = overload.sending_s - burst as f64 / overload.offered_pps;
    match overload.delivered.checked_sub(burst) {
        Some(read) if after_s > 0.0 => read as f64 / after_s,
        _ => overload.delivered_pps,
    }
}

impl BackToBackTest {
    /// Checks that the limit permits a search at this rate.
    pub(super) fn check(&self, rate: Pps) -> Result<()> {
        let BurstSearch { first, limit, resolution, .. } = self.0;
        if resolution >= Percent::WHOLE {
            return Err(contradiction("a resolution of 100 % or more tells no burst from another"));
        }
        if self.0.limit_frames(rate) <= first.get() {
            return Err(contradiction(format!(
                "{limit:?} at {rate} packets/s are no more than the {first} frames of the shortest burst; give a longer limit"
            )));
        }
        Ok(())
    }

    /// Approximate number of trials of a search, including its overload.
    pub(super) fn trials(&self, rate: Pps) -> usize {
        1 + self.0.trials(rate)
    }

    /// Runs one search: the load for the length of a trial, then bursts. `None` without a first trial; no burst if the user
    /// stopped later, or if the first trial is invalid.
    pub(super) fn search(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
        overload_lasts: Duration,
        what: &str,
    ) -> Result<Option<BurstVisit>> {
        let Some(overload) =
            session.announced(what, setup, Load::Rate(rate), overload_lasts, Phase::Sweep)?
        else {
            return Ok(None);
        };
        if overload.verdict == Verdict::Invalid {
            return Ok(Some(BurstVisit { trial: overload, burst: None }));
        }
        let mut burst = SweptBurst {
            end: BurstEnd::Found,
            because: None,
            because_fact: None,
            frames: None,
            burst_pps: overload.offered_pps,
            drained_pps: overload.delivered_pps,
            trials: vec![overload.number],
            lost: Vec::new(),
        };
        let before = session.trials.len();
        if is_generator_limit(&overload) {
            burst.end = BurstEnd::GeneratorLimited;
        } else if is_sustained(&overload) {
            burst.end = BurstEnd::NeverFills;
        } else {
            match self.0.longest(session, setup, rate)? {
                Ok(longest) => add_longest(&mut burst, longest, &overload),
                Err(Missing::Stopped) => return Ok(Some(BurstVisit { trial: overload, burst: None })),
                Err(missing) => {
                    burst.trials.extend(session.trials[before..].iter().map(|trial| trial.number));
                    burst.end = BurstEnd::NotRun;
                    if let Missing::Invalid { trial, because } = missing {
                        burst.end = BurstEnd::Invalid;
                        burst.because_fact = Some(InvalidTrial { trial: Some(trial), because });
                    }
                }
            }
        }
        Ok(Some(BurstVisit { trial: overload, burst: Some(burst) }))
    }
}

/// Adds the longest burst that a search found.
fn add_longest(burst: &mut SweptBurst, longest: Longest, overload: &TrialResult) {
    burst.end = longest.end;
    burst.frames = Some(longest.frames).filter(|frames| *frames > 0);
    burst.burst_pps = longest.offered_pps.unwrap_or(overload.offered_pps);
    burst.trials.extend(longest.trials);
    burst.lost = longest.lost_at;
    burst.drained_pps = match burst.frames {
        Some(frames) if overload.lost() > 0 => drained_pps(overload, frames),
        // Frames that were not lost may still be in a buffer that stores more than a trial.
        _ => overload.read_pps(),
    };
}
