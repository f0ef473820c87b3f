//! The longest burst that a method takes without loss, and the time that its buffers hold for (RFC 2544 section 26.4,
//! RFC 9004).
//!
//! RFC 9004 corrects the time of a burst by what is taken out of the buffer while it is filled, and takes for that the
//! throughput. Here it is the rate that the method delivers under the very overload that fills the buffer: on a host
//! where the kernel goes before the application the two differ, and only the latter empties the buffer.

use std::time::Duration;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::axis::contradiction;
use super::outcome::{SATURATED, taken_pps};
use crate::error::Result;
use crate::laboratory::Setup;
use crate::session::{Session, describe};
use crate::trial::{Load, Phase, TrialResult, Verdict};

/// How bursts are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackToBackTest {
    /// The shortest burst, in frames.
    pub least: u64,
    /// The longest burst, as the time that it takes. A result near it is none.
    pub limit: Duration,
    /// How closely the longest burst is told, as a part of it.
    pub resolution: f64,
    /// How often a burst must lose frames before that is believed (ETSI GS NFV-TST 009 12.3.3: loss verification).
    pub verify: u32,
}

impl Default for BackToBackTest {
    /// From 8 frames to 2 s, to 3 %, each loss seen twice.
    fn default() -> Self {
        Self { least: 8, limit: Duration::from_secs(2), resolution: 0.03, verify: 2 }
    }
}

/// How a search for a burst ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BurstEnd {
    /// The longest burst is known.
    Found,
    /// Even the shortest burst lost frames.
    NoneHeld,
    /// The load is held for as long as a trial lasts: the buffer never fills, and has no length (RFC 9004 section 5.1).
    NeverFills,
    /// The longest burst is longer than the search went.
    AtLimit,
    /// The generator did not send at the rate asked for, so there was no burst.
    GeneratorLimited,
}

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// How it ended.
    pub end: BurstEnd,
    /// Frames of the longest burst without loss; where `end` is `at-limit`, at least so many.
    pub frames: Option<u64>,
    /// The rate of the burst.
    pub burst_pps: f64,
    /// The rate at which the method took frames under that load, from when its buffer was full on.
    pub drained_pps: f64,
    /// Trials of the search, the overload first.
    pub trials: Vec<u32>,
}

/// Searches at one point together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub corrected_buffer_s: Option<f64>,
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
        let corrected_buffer_s = implied_buffer_s
            .zip(rate.zip(drained))
            .map(|(implied, (rate, drained))| implied * (1.0 - drained / rate));
        Some(Self {
            mean_frames,
            least_frames: found.iter().filter_map(|burst| burst.frames).min(),
            most_frames: found.iter().filter_map(|burst| burst.frames).max(),
            deviation_frames,
            implied_buffer_s,
            corrected_buffer_s,
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

/// A generator that was disturbed in a burst may try again this many times as often as losses are verified.
const ATTEMPTS: u32 = 3;

/// What one burst showed.
enum Shown {
    Held,
    Lost,
    NotSent,
}

impl BackToBackTest {
    pub(super) fn check(&self) -> Result<()> {
        if self.least == 0 || self.verify == 0 || !(self.resolution > 0.0 && self.resolution < 1.0) {
            return Err(contradiction(
                "bursts of 0 frames, losses seen 0 times, or a resolution outside 0 to 1 end no search",
            ));
        }
        Ok(())
    }

    /// Whether the limit leaves room for a search at this rate.
    pub(super) fn check_rate(&self, rate: Pps) -> Result<()> {
        if self.most(rate.get()) <= self.least {
            return Err(contradiction(format!(
                "{:?} at {rate} packets/s are no more than the {} frames of the shortest burst; give a longer limit",
                self.limit, self.least
            )));
        }
        Ok(())
    }

    fn most(&self, pps: f64) -> u64 {
        (pps * self.limit.as_secs_f64()).round() as u64
    }

    /// About how many trials a search takes.
    pub(super) fn trials(&self, pps: f64) -> usize {
        let doublings = (self.most(pps) as f64 / self.least as f64).log2().max(1.0);
        let halvings = (1.0 / self.resolution).log2();
        (1.0 + doublings + halvings * f64::from(1 + self.verify) / 2.0).ceil() as usize
    }

    /// One search: the load for as long as a trial lasts, then bursts that double until one loses frames, then the
    /// middle of what is left. `None` when a trial could not be run or the user stopped.
    pub(super) fn search(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
        overload: Duration,
        what: &str,
    ) -> Result<Option<(TrialResult, Burst)>> {
        let load = Load::Rate(rate);
        let Some(first) = session.announced(what, setup, load, overload, Phase::Sweep)? else {
            return Ok(None);
        };
        let mut burst = Burst {
            end: BurstEnd::Found,
            frames: None,
            burst_pps: first.offered_pps,
            drained_pps: first.delivered_pps,
            trials: vec![first.number],
        };
        // Frames that were not lost may still have lain in a buffer that is larger than the trial is long.
        let keeps_up = taken_pps(&first, setup.quiet.as_secs_f64()) >= SATURATED * first.offered_pps;
        match first.verdict {
            Verdict::GeneratorLimited if !first.held_load() => burst.end = BurstEnd::GeneratorLimited,
            Verdict::Lossless | Verdict::GeneratorLimited if keeps_up => burst.end = BurstEnd::NeverFills,
            _ => {
                let mut attempt = |frames| self.attempt(session, setup, rate, frames, &mut burst.trials);
                let Some((end, frames)) = self.narrow(rate, &mut attempt)? else { return Ok(None) };
                (burst.end, burst.frames) = (end, frames);
                burst.drained_pps = match frames {
                    Some(frames) if first.lost() > 0 => drained_pps(&first, frames),
                    _ => taken_pps(&first, setup.quiet.as_secs_f64()),
                };
            }
        }
        Ok(Some((first, burst)))
    }

    fn narrow(
        &self,
        rate: Pps,
        attempt: &mut impl FnMut(u64) -> Result<Option<Shown>>,
    ) -> Result<Option<(BurstEnd, Option<u64>)>> {
        let most = self.most(rate.get());
        let (mut held, mut lost) = (None, None);
        let mut frames = self.least;
        loop {
            match attempt(frames)? {
                None => return Ok(None),
                Some(Shown::NotSent) => return Ok(Some((BurstEnd::GeneratorLimited, held))),
                Some(Shown::Held) => held = Some(frames),
                Some(Shown::Lost) => lost = Some(frames),
            }
            frames = match (held, lost) {
                (None, _) => return Ok(Some((BurstEnd::NoneHeld, None))),
                (Some(held), None) if held >= most => return Ok(Some((BurstEnd::AtLimit, Some(held)))),
                (Some(held), None) => (held * 2).min(most),
                (Some(held), Some(lost)) => {
                    let close = (held as f64 * self.resolution).floor().max(1.0) as u64;
                    if lost - held <= close {
                        return Ok(Some((BurstEnd::Found, Some(held))));
                    }
                    held.midpoint(lost)
                }
            };
        }
    }

    fn attempt(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
        frames: u64,
        trials: &mut Vec<u32>,
    ) -> Result<Option<Shown>> {
        let duration = Duration::from_secs_f64(frames as f64 / rate.get());
        let load = Load::Rate(rate);
        let what =
            format!("{}, burst of {frames}", describe(&setup.method, &setup.label, setup.placement, load));
        let mut lost = 0;
        for _ in 0..self.verify * ATTEMPTS {
            let Some(trial) = session.announced(&what, setup, load, duration, Phase::BackToBack)? else {
                return Ok(None);
            };
            trials.push(trial.number);
            match trial.verdict {
                Verdict::Lossless => return Ok(Some(Shown::Held)),
                Verdict::GeneratorLimited => {}
                Verdict::Lossy | Verdict::Invalid => lost += 1,
            }
            if lost == self.verify {
                return Ok(Some(Shown::Lost));
            }
        }
        Ok(Some(Shown::NotSent))
    }
}
