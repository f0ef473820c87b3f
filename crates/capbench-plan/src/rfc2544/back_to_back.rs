//! Back-to-back frames (RFC 2544 26.4 as updated by RFC 9004): the longest burst at the minimum gap, from idle, without a lost
//! frame, and the time that all buffers on the path can store.
//!
//! RFC 9004 divides the mean burst by the theoretical rate, and subtracts what was read from the buffer meanwhile:
//! `implied * (1 - throughput / theoretical)`. For a capture, that time is the one of ring, socket, backlog and card together. It is
//! meaningful only if the throughput is below the theoretical rate, which the suite decides. On a link without a
//! rate, the generator's maximum replaces it, as [`MaximumRate`] says.
//!
//! Bursts are sent at exactly the rate by which the formulas divide; [`crate::bursts`] describes the search for the longest.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use capbench_frames::rates::Pps;

use super::Finished;
use crate::Observer;
use crate::bursts::{BurstSearch, Longest};
use crate::session::Session;
use crate::{PlanError, Result};
use capbench_judge::bursts::{BurstEnd, Percent};
use capbench_judge::rfc2544::back_to_back::{BackToBackOutcome, Benchmark, Searched};
use capbench_judge::rfc2544::{Ended, MaximumRate};
use capbench_judge::thresholds::BURST_NEAR_LIMIT;
use capbench_model::figures::grouped;
use capbench_model::laboratory::{Laboratory, Setup};

/// Frames of the first burst.
pub const FIRST: NonZeroU64 = NonZeroU64::MIN.saturating_add(63);
/// The longest burst that the standard requires to be possible.
const LONGEST: Duration = Duration::from_secs(30);

/// A test with back-to-back frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackToBackTest {
    /// The rate of a burst.
    pub maximum: MaximumRate,
    /// The highest rate without loss, with the same frames.
    pub throughput: Pps,
    /// The parameters of the search for the longest burst.
    pub search: BurstSearch,
    /// Independent searches (RFC 2544: at least 50).
    pub repetitions: NonZeroU32,
}

impl BackToBackTest {
    /// The test with the parameters of the standards.
    pub fn standard(maximum: MaximumRate, throughput: Pps) -> Self {
        Self {
            maximum,
            throughput,
            search: BurstSearch {
                first: FIRST,
                limit: LONGEST,
                resolution: Percent::fixed(1.0),
                verifications: 2,
                depletion: Duration::from_secs(2),
            },
            repetitions: NonZeroU32::MIN.saturating_add(49),
        }
    }

    fn limit_frames(&self) -> u64 {
        self.search.limit_frames(self.maximum.pps)
    }

    /// Fails for a test whose first burst exceeds the limit.
    fn check(&self) -> Result<()> {
        if self.limit_frames() < self.search.first.get() {
            return Err(PlanError::unsupported(
                "a back-to-back test",
                format!(
                    "its first burst has {} frames, and {:?} at the maximum rate have {} only",
                    self.search.first,
                    self.search.limit,
                    self.limit_frames()
                ),
            ));
        }
        Ok(())
    }

    /// Runs the test. Fails when its first burst exceeds the limit, and when a trial cannot be saved.
    pub fn run(
        &self,
        setup: &Setup,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<Finished<BackToBackOutcome>> {
        self.check()?;
        let mut session = Session::new(laboratory, observer);
        let mut searches = Vec::new();
        let mut ended = Ended::Complete;
        for _ in 0..self.repetitions.get() {
            match self.search.longest(&mut session, setup, self.maximum.pps)? {
                Ok(Longest { frames, step, offered_pps, end, trials, .. }) => {
                    searches.push(Searched { end, frames, step_frames: step, offered_pps, trials });
                }
                Err(missing) => {
                    ended = missing.into();
                    break;
                }
            }
        }
        let outcome = BackToBackOutcome {
            maximum: self.maximum,
            throughput_pps: self.throughput,
            limit_frames: self.limit_frames(),
            resolution_percent: self.search.resolution,
            verifications: self.search.verifications,
            depletion_s: self.search.depletion.as_secs_f64(),
            benchmark: Benchmark::from_searches(&searches, self.throughput.get(), self.maximum.pps.get()),
            invalid_because: self.why_invalid(&searches).map(|reason| reason.to_string()),
            searches,
            ended,
        };
        Ok(Finished { outcome, trials: session.trials })
    }

    /// Why the benchmark is invalid; `None` if it is valid.
    fn why_invalid(&self, searches: &[Searched]) -> Option<NoBurst> {
        let slow = searches.iter().filter(|search| search.end == BurstEnd::GeneratorLimited).count();
        if slow > 0 {
            return Some(NoBurst::GeneratorLimited {
                slow,
                searches: searches.len(),
                pps: self.maximum.pps.get(),
            });
        }
        let near = self.limit_frames() as f64 * BURST_NEAR_LIMIT;
        let count = searches.iter().filter(|search| search.frames as f64 >= near).count();
        if count == 0 {
            return None;
        }
        Some(NoBurst::NearLimit {
            count,
            searches: searches.len(),
            frames: self.limit_frames(),
            limit: self.search.limit,
        })
    }
}

/// Why searches of bursts show no buffer.
#[derive(Debug, thiserror::Error)]
enum NoBurst {
    #[error(
        "{slow} of {searches} searches came to a burst that the generator did not send at {} packets/s",
        grouped(*pps)
    )]
    GeneratorLimited { slow: usize, searches: usize, pps: f64 },
    #[error(
        "{count} of {searches} searches came near the longest burst, {frames} frames or {limit:?}: the buffer is larger than that, \
         or it never fills"
    )]
    NearLimit { count: usize, searches: usize, frames: u64, limit: Duration },
}
