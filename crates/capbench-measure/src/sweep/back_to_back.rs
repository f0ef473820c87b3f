//! The longest burst that a method takes without loss, and the time that its buffers hold for (RFC 2544 section 26.4,
//! RFC 9004).
//!
//! RFC 9004 corrects the time of a burst by what is taken out of the buffer while it is filled, and takes for that the
//! throughput. A sweep knows none. It takes off the rate that the method delivers under the very overload that fills the
//! buffer, which on a host where the kernel goes before the application is another one, so its result has another name.

use std::num::NonZeroU64;
use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::axis::contradiction;
use super::outcome::SATURATED;
pub use crate::bursts::BurstEnd;
use crate::bursts::BurstSearch;
use crate::error::Result;
use crate::laboratory::Setup;
use crate::rfc2544::Percent;
use crate::session::{Missing, Session};
use crate::trial::{Load, Phase, TrialResult, Verdict};
use capbench_model::ledger::LostAt;

/// How bursts are searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackToBackTest(pub BurstSearch);

impl Default for BackToBackTest {
    /// From 8 frames to 2 s, to 3 %, each loss seen twice, with 0.2 s between bursts where RFC 9004 asks for 2 s.
    fn default() -> Self {
        Self(BurstSearch {
            first: NonZeroU64::MIN.saturating_add(7),
            limit: Duration::from_secs(2),
            resolution: Percent::fixed(3.0),
            verifications: 1,
            depletion: Duration::from_millis(200),
        })
    }
}

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Burst {
    /// How it ended.
    pub end: BurstEnd,
    /// Why a trial of it shows nothing, where that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Frames of the longest burst without loss; where `end` is `at-limit`, at least so many.
    pub frames: Option<u64>,
    /// The rate of the burst.
    pub burst_pps: f64,
    /// The rate at which the method took frames under that load, from when its buffer was full on.
    pub drained_pps: f64,
    /// Trials of the search, the overload first.
    pub trials: Vec<u32>,
    /// Where the shortest burst that lost frames lost them, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAt>,
}

/// Searches at one point together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackToBack {
    /// The searches.
    pub searches: Vec<Burst>,
    /// Mean frames of those that found a burst: the benchmark.
    pub mean_frames: Option<f64>,
    /// The least.
    pub least_frames: Option<u64>,
    /// The most.
    pub most_frames: Option<u64>,
    /// Their standard deviation.
    pub deviation_frames: Option<f64>,
    /// `mean_frames` by the rate of the burst, seconds.
    pub implied_buffer_s: Option<f64>,
    /// The same less what was delivered meanwhile: `implied x (1 - drained / burst rate)`, seconds.
    #[serde(alias = "corrected_buffer_s")]
    pub drain_corrected_buffer_s: Option<f64>,
}

impl BackToBack {
    /// What searches say together; `None` without one.
    pub(super) fn of(searches: Vec<Burst>) -> Option<Self> {
        if searches.is_empty() {
            return None;
        }
        let found: Vec<&Burst> = searches.iter().filter(|burst| burst.end == BurstEnd::Found).collect();
        let frames: Vec<f64> =
            found.iter().filter_map(|burst| burst.frames.map(|frames| frames as f64)).collect();
        let mean =
            |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let mean_frames = mean(&frames);
        let deviation_frames = mean_frames.filter(|_| frames.len() > 1).map(|mean| {
            let squares: f64 = frames.iter().map(|frames| (frames - mean).powi(2)).sum();
            (squares / (frames.len() - 1) as f64).sqrt()
        });
        let rate = mean(&found.iter().map(|burst| burst.burst_pps).collect::<Vec<_>>());
        let drained = mean(&found.iter().map(|burst| burst.drained_pps).collect::<Vec<_>>());
        let implied_buffer_s = mean_frames.zip(rate).map(|(frames, rate)| frames / rate);
        let drain_corrected_buffer_s = implied_buffer_s
            .zip(rate.zip(drained))
            .map(|(implied, (rate, drained))| implied * (1.0 - drained / rate));
        Some(Self {
            mean_frames,
            least_frames: found.iter().filter_map(|burst| burst.frames).min(),
            most_frames: found.iter().filter_map(|burst| burst.frames).max(),
            deviation_frames,
            implied_buffer_s,
            drain_corrected_buffer_s,
            searches,
        })
    }
}

/// The rate at which frames were taken in an overload: of those after the longest burst, since the burst itself found
/// room. What was in the buffer when sending ended is delivered, too, and says nothing of the rate.
fn drained_pps(overload: &TrialResult, burst: u64) -> f64 {
    let after = overload.sending_s - burst as f64 / overload.offered_pps;
    match overload.delivered.checked_sub(burst) {
        Some(taken) if after > 0.0 => taken as f64 / after,
        _ => overload.delivered_pps,
    }
}

impl BackToBackTest {
    pub(super) fn check(&self) -> Result<()> {
        if self.0.resolution >= Percent::WHOLE {
            return Err(contradiction("a resolution of 100 % or more tells no burst from another"));
        }
        Ok(())
    }

    /// Whether the limit leaves room for a search at this rate.
    pub(super) fn check_rate(&self, rate: Pps) -> Result<()> {
        let BurstSearch { first, limit, .. } = self.0;
        if self.0.limit_frames(rate) <= first.get() {
            return Err(contradiction(format!(
                "{limit:?} at {rate} packets/s are no more than the {first} frames of the shortest burst; give a longer limit"
            )));
        }
        Ok(())
    }

    /// About how many trials a search takes, its overload among them.
    pub(super) fn trials(&self, rate: Pps) -> usize {
        1 + self.0.trials(rate)
    }

    /// One search: the load for as long as a trial lasts, then bursts. `None` when that first trial could not be run, or the
    /// user stopped before it ended; no burst where he stopped later, or where the first trial shows nothing.
    pub(super) fn search(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
        overload: Duration,
        what: &str,
    ) -> Result<Option<(TrialResult, Option<Burst>)>> {
        let Some(first) = session.announced(what, setup, Load::Rate(rate), overload, Phase::Sweep)? else {
            return Ok(None);
        };
        if first.verdict == Verdict::Invalid {
            return Ok(Some((first, None)));
        }
        let mut burst = Burst {
            end: BurstEnd::Found,
            because: None,
            frames: None,
            burst_pps: first.offered_pps,
            drained_pps: first.delivered_pps,
            trials: vec![first.number],
            lost: Vec::new(),
        };
        // Frames that were not lost may still have lain in a buffer that is larger than the trial is long.
        let taken = first.taken_pps();
        let keeps_up = taken >= SATURATED * first.offered_pps;
        let before = session.trials.len();
        match first.verdict {
            Verdict::GeneratorLimited if !first.held_load() => burst.end = BurstEnd::GeneratorLimited,
            Verdict::Lossless | Verdict::GeneratorLimited if keeps_up => burst.end = BurstEnd::NeverFills,
            _ => match self.0.longest(session, setup, rate)? {
                Ok(longest) => {
                    burst.end = longest.end;
                    burst.frames = Some(longest.frames).filter(|frames| *frames > 0);
                    burst.burst_pps = longest.offered_pps.unwrap_or(first.offered_pps);
                    burst.trials.extend(longest.trials);
                    burst.lost = longest.lost_at;
                    burst.drained_pps = match burst.frames {
                        Some(frames) if first.lost() > 0 => drained_pps(&first, frames),
                        _ => taken,
                    };
                }
                Err(Missing::Invalid { trial, because }) => {
                    burst.end = BurstEnd::Invalid;
                    burst.because = Some(format!("trial {trial}: {because}"));
                    burst.trials.extend(session.trials[before..].iter().map(|trial| trial.number));
                }
                Err(Missing::NotRun) => {
                    burst.end = BurstEnd::NotRun;
                    burst.trials.extend(session.trials[before..].iter().map(|trial| trial.number));
                }
                Err(Missing::Stopped) => return Ok(Some((first, None))),
            },
        }
        Ok(Some((first, Some(burst))))
    }
}
