//! Searches for the longest burst without a lost frame, at one rate: the common part of back-to-back tests.
//!
//! The search verifies losses like the binary search of ETSI GS NFV-TST 009 12.3.3: it tries a lossy length again before it
//! believes the loss. It does not start in the middle of all lengths, because the longest may take 30 s. It doubles a short
//! length until frames are lost. Then it bisects between two lengths that differ by a factor of two. The generator sends a burst
//! by a plan, at the rate from which times are computed.

use std::num::NonZeroU64;
use std::time::Duration;

use capbench_frames::rates::Pps;

use crate::Result;
use crate::session::{Missing, Session};
use capbench_judge::bursts::{BurstEnd, Percent};
use capbench_judge::thresholds::{
    BURST_ATTEMPTS, BURST_END_DELAY, LONGEST_BURST_END_DELAY, SHORTEST_BURST_END_DELAY, SLOWER_BURST,
};
use capbench_model::laboratory::Setup;
use capbench_model::ledger::LostAt;
use capbench_model::trial::{Load, Phase, TrialResult};

/// How to search for the longest burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstSearch {
    /// The first length tried.
    pub first: NonZeroU64,
    /// Maximum duration of a burst.
    pub limit: Duration,
    /// Resolution of the length, as a share of it. The finest resolution is one frame.
    pub resolution: Percent,
    /// How many times a lossy length is tried again before the loss is believed.
    pub verifications: u32,
    /// Minimum idle time before a burst; never shorter than the burst (RFC 9004: at least 2 s).
    pub depletion: Duration,
}

/// Maximum time that a burst of this nominal duration may take.
fn maximum_time(lasts: Duration) -> Duration {
    lasts.mul_f64(1.0 + SLOWER_BURST)
        + lasts.mul_f64(BURST_END_DELAY).clamp(SHORTEST_BURST_END_DELAY, LONGEST_BURST_END_DELAY)
}

/// The longest burst without loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Longest {
    /// Its frames; 0 if the shortest burst lost frames.
    pub(crate) frames: u64,
    /// The shortest lossy length minus this one; absent if no length lost frames.
    pub(crate) step: Option<u64>,
    /// The rate at which it was sent, frames per second.
    pub(crate) offered_pps: Option<f64>,
    pub(crate) end: BurstEnd,
    /// All trials of the search.
    pub(crate) trials: Vec<u32>,
    /// Where the shortest burst that lost frames lost them.
    pub(crate) lost_at: Vec<LostAt>,
}

/// What bursts of one length show.
enum LengthResult {
    /// No frame was lost.
    Lossless(Box<TrialResult>),
    /// Frames were lost in each attempt, at these places.
    Lossy(Vec<LostAt>),
    /// The generator did not send a burst.
    NotSent,
}

impl BurstSearch {
    /// Frames of the longest burst tried.
    pub(crate) fn limit_frames(&self, rate: Pps) -> u64 {
        (rate.get() * self.limit.as_secs_f64()).round() as u64
    }

    /// Approximate number of trials of a search.
    pub(crate) fn trials(&self, rate: Pps) -> usize {
        let doublings = (self.limit_frames(rate) as f64 / self.first.get() as f64).log2().max(1.0);
        let halvings = (1.0 / self.resolution.ratio()).log2().max(0.0);
        (1.0 + doublings + halvings * f64::from(2 + self.verifications) / 2.0).ceil() as usize
    }

    /// Runs one search. The path is idle before every burst.
    pub(crate) fn longest(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
    ) -> Result<std::result::Result<Longest, Missing>> {
        let limit = self.limit_frames(rate);
        let mut found = Longest::default();
        let mut upper = None;
        let mut next = Some(self.first);
        while let Some(length) = next {
            let result = match self.try_length(session, setup, rate, length, &mut found.trials)? {
                Ok(result) => result,
                Err(missing) => return Ok(Err(missing)),
            };
            match result {
                LengthResult::Lossless(trial) => {
                    found.frames = length.get();
                    found.offered_pps = Some(trial.offered_pps);
                }
                LengthResult::Lossy(lost_at) => {
                    upper = Some(length.get());
                    found.lost_at = lost_at;
                }
                LengthResult::NotSent => {
                    found.end = BurstEnd::GeneratorLimited;
                    break;
                }
            }
            next = match upper {
                Some(upper) => self.between(found.frames, upper),
                None => NonZeroU64::new(found.frames.saturating_mul(2).min(limit))
                    .filter(|longer| longer.get() > found.frames),
            };
        }
        found.step = upper.map(|upper| upper - found.frames);
        found.end = match (found.end, found.frames, upper) {
            (BurstEnd::GeneratorLimited, ..) => BurstEnd::GeneratorLimited,
            (_, 0, _) => BurstEnd::NoneHeld,
            (_, _, None) => BurstEnd::AtLimit,
            (end, ..) => end,
        };
        Ok(Ok(found))
    }

    /// The length in the middle between a lossless and a lossy one; `None` if they are close enough.
    fn between(&self, clean: u64, lossy: u64) -> Option<NonZeroU64> {
        let near = (clean as f64 * self.resolution.ratio()).floor().max(1.0) as u64;
        NonZeroU64::new(clean.midpoint(lossy)).filter(|_| lossy - clean > near)
    }

    /// Tries a length. It retries if frames are lost or not sent.
    fn try_length(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
        frames: NonZeroU64,
        trials: &mut Vec<u32>,
    ) -> Result<std::result::Result<LengthResult, Missing>> {
        let load = Load::Burst { frames, rate };
        let duration = Duration::try_from_secs_f64(frames.get() as f64 / rate.get()).unwrap_or(self.limit);
        let mut lossy: Vec<TrialResult> = Vec::new();
        for _ in 0..(self.verifications + 1) * BURST_ATTEMPTS {
            session.rest(self.depletion.max(duration));
            let trial = match session.valid_trial(setup, load, duration, Phase::BackToBack)? {
                Ok(trial) => trial,
                Err(missing) => return Ok(Err(missing)),
            };
            trials.push(trial.number);
            let maximum_s = maximum_time(duration).as_secs_f64();
            if trial.lost() > 0 {
                lossy.push(trial);
            } else if trial.sending_s <= maximum_s && trial.sent == frames.get() {
                return Ok(Ok(LengthResult::Lossless(Box::new(trial))));
            }
            if lossy.len() > self.verifications as usize {
                return Ok(Ok(LengthResult::Lossy(LostAt::sum(lossy.iter().flat_map(TrialResult::losses)))));
            }
        }
        Ok(Ok(LengthResult::NotSent))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::maximum_time;

    #[test]
    fn a_burst_that_took_much_longer_than_planned_was_none() {
        let ns = |planned| maximum_time(Duration::from_nanos(planned)).as_nanos();
        assert_eq!(ns(46_000), 96_460, "64 frames at 1.4 million a second: twice as long, not three times");
        assert_eq!(ns(800_000), 888_000);
        assert_eq!(ns(1_000_000_000), 1_010_100_000);
    }

    /// Whether a burst of this time that took so long was sent at its rate.
    fn is_in_time(us: u64, took_ns: u64) -> bool {
        Duration::from_nanos(took_ns) <= maximum_time(Duration::from_micros(us))
    }

    #[test]
    fn a_burst_that_took_too_long_was_sent_at_another_rate() {
        assert!(is_in_time(10, 52_000) && !is_in_time(10, 72_000), "one call of the kernel");
        assert!(is_in_time(700, 765_000) && !is_in_time(700, 794_000), "a tenth of its time");
        assert!(is_in_time(10_000, 10_180_000) && !is_in_time(10_000, 10_225_000), "up to 100 us");
        assert!(is_in_time(1_000_000, 1_008_000_000) && !is_in_time(1_000_000, 1_012_500_000), "one percent");
    }
}
