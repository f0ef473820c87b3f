//! A load that is sustained, or is not, and the losses of its trials: how many frames, where, and how many in a row.
//!
//! A trial can lose nothing only because the buffer absorbed the excess. Frames that arrive faster than they are read wait, and
//! a trial that ends before the buffer is full delivers all of them. A search looks for a load that can be sustained without a
//! time limit. So backlogged frames count as frames that a longer trial loses ([`Backlogged`], [`Buffered`]).
//!
//! A search decides each load separately. On a host that stalls now and then, the share of lossy trials grows slowly with the
//! load. Then chance decides which load is just sustained, and bounds half a per cent apart suggest a precision that does not
//! exist ([`BoundsDistinction`]). The probability treats the trials as they are. It ignores that these same trials selected the two bounds,
//! and that a decided load gets no more trials. Both make chance look smaller than it is. So bounds that are not distinguished
//! are in doubt, and bounds that are distinguished are so at a level slightly worse than the stated one.

use std::collections::BTreeMap;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::database::{Bounds, Database};
use crate::sustained::moments::Moments;
use crate::sustained::{Criteria, Observation, buffered_frames, frames_not_forwarded};
use crate::thresholds::{BACKLOGGED_MISSING, DISTINGUISHED_BOUNDS_BY_CHANCE};
use capbench_model::ledger::LostAt;
use capbench_model::trial::{Phase, TrialResult};
use capbench_statistics::counts::{self, Hits};

/// Trials by number, and the burst size that distinguishes frames waiting because they were sent together from excess frames.
#[derive(Clone, Debug)]
pub struct Trials<'t> {
    by_number: BTreeMap<u32, &'t TrialResult>,
    burst_frames: u32,
}

impl<'t> Trials<'t> {
    /// The trials of a search.
    pub fn new(trials: &'t [TrialResult], burst_frames: u32) -> Self {
        Self { by_number: trials.iter().map(|trial| (trial.number, trial)).collect(), burst_frames }
    }

    /// The trial with this number, if it is there.
    pub(crate) fn get(&self, number: u32) -> Option<&'t TrialResult> {
        self.by_number.get(&number).copied()
    }

    /// The trials with these numbers, at least one; `None` if one is not there, as in a damaged file.
    pub(crate) fn all_of(&self, numbers: &[u32]) -> Option<Vec<&'t TrialResult>> {
        let trials: Vec<_> = numbers.iter().filter_map(|&number| self.get(number)).collect();
        (!trials.is_empty() && trials.len() == numbers.len()).then_some(trials)
    }

    /// Whether a trial sent and delivered every frame, not only because the buffer had room for them.
    pub(crate) fn is_clean(&self, trial: &TrialResult) -> bool {
        frames_not_forwarded(trial, self.burst_frames) == 0
    }

    /// Whether the offered load depended on the receiver.
    pub(super) fn load_depends(&self) -> bool {
        self.by_number.values().any(|trial| trial.profile.load_depends().is_some())
    }

    pub(super) fn observed_trials(&self, seen: &[Observation]) -> Vec<&'t TrialResult> {
        seen.iter().filter_map(|trial| self.get(trial.number)).collect()
    }

    /// The number of frames that the load sends at once.
    pub(super) fn burst_frames(&self) -> u32 {
        self.burst_frames
    }
}

/// Whether a bound is the highest sustained load, or the lowest that is not sustained. Trials of its own kind made it that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// A load that is sustained, or is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bound {
    /// Intended load, frames per second.
    pub intended_pps: f64,
    /// The lowest offered load of the trials that count for it: a lower bound is valid up to this load.
    pub achieved_pps: f64,
    /// Seconds of trials at this load.
    pub seconds: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
    /// High-loss trials among its full-length ones, which lost or left unsent more than allowed. Absent in the first versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_loss: Option<HighLoss>,
    /// The losses of these trials; absent if they lost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// Frames that high-loss trials delivered only because the buffer had room; absent if there were none.
    #[serde(rename = "untaken", default, skip_serializing_if = "Option::is_none")]
    pub backlogged: Option<Backlogged>,
    /// Trials that the host disturbed. They count, because repeats were used up, or because a slow CPU causes none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<u32>,
}

/// Frames that were still in buffers when sending ended. A longer trial loses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Backlogged {
    /// These frames, summed over all high-loss trials of the load.
    pub frames: u64,
    /// All frames that made these trials high-loss: backlogged, lost and unsent ones.
    #[serde(rename = "of")]
    pub all_frames: u64,
}

impl Backlogged {
    fn from_high_loss(high: &[&TrialResult], trials: &Trials<'_>) -> Option<Self> {
        let mut frames = 0;
        let mut all_frames = 0;
        for trial in high {
            frames += buffered_frames(trial, trials.burst_frames);
            all_frames += frames_not_forwarded(trial, trials.burst_frames);
        }
        (frames > 0).then_some(Self { frames, all_frames })
    }

    /// Whether backlogged frames are the main reason why the load is too high.
    pub fn decides(self) -> bool {
        self.frames as f64 >= BACKLOGGED_MISSING * self.all_frames as f64
    }
}

/// High-loss trials among the full-length ones of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HighLoss {
    /// High-loss trials.
    pub trials: u32,
    /// All full-length trials.
    #[serde(rename = "of")]
    pub all_trials: u32,
    /// The lower limit of the share of such trials (Clopper and Pearson, level 0.95).
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

/// The losses of all trials of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Losses {
    /// The places of the losses, most first.
    pub lost: Vec<LostAt>,
    /// The highest loss of a single trial, as a share of its sent frames.
    pub most_of_a_trial: f64,
    /// The times of the losses; absent if frames were not inspected one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
}

impl HighLoss {
    fn from_hits(Hits { hits, of }: Hits) -> Self {
        let (low, high) = counts::share(hits, of);
        Self { trials: hits, all_trials: of, low, high }
    }
}

impl Losses {
    pub(super) fn from_trials(trials: &[&TrialResult]) -> Option<Self> {
        let mut lossy = trials.to_vec();
        lossy.retain(|trial| trial.lost() > 0);
        let most_of_a_trial = lossy.iter().map(|trial| trial.sent_loss_ratio()).reduce(f64::max)?;
        let lost = LostAt::sum(lossy.iter().flat_map(|trial| trial.losses()));
        Some(Self { lost, most_of_a_trial, moments: Moments::from_trials(trials) })
    }
}

impl Bound {
    /// The bound whose load these trials have, by the criteria that decided it.
    pub(super) fn new(
        seen: &[Observation],
        trials: &Trials<'_>,
        criteria: &Criteria,
        side: Side,
    ) -> Option<Self> {
        let intended_pps = seen.first()?.load.get();
        let mut achieved_pps = intended_pps;
        let mut high = Vec::new();
        for trial in seen {
            let is_high = criteria.is_high_loss(trial);
            if is_high == (side == Side::Upper) {
                achieved_pps = achieved_pps.min(trial.achieved.get());
            }
            if is_high {
                high.extend(trials.get(trial.number));
            }
        }
        let observed = trials.observed_trials(seen);
        Some(Self {
            intended_pps,
            achieved_pps,
            seconds: seconds(seen),
            trials: seen.iter().map(|trial| trial.number).collect(),
            high_loss: Some(HighLoss::from_hits(hits(seen, criteria))),
            losses: Losses::from_trials(&observed),
            backlogged: Backlogged::from_high_loss(&high, trials),
            disturbed: observed
                .iter()
                .filter(|trial| !trial.disturbance.reasons().is_empty())
                .map(|trial| trial.number)
                .collect(),
        })
    }

    /// Whether the load is too high mainly because frames were not read as fast as they arrived.
    pub fn is_too_much_to_take(&self) -> bool {
        self.backlogged.is_some_and(Backlogged::decides)
    }
}

/// High-loss trials among the full-length ones: short trials lose less often.
pub(super) fn hits(seen: &[Observation], criteria: &Criteria) -> Hits {
    let mut found = Hits { hits: 0, of: 0 };
    for trial in seen.iter().filter(|trial| trial.duration >= criteria.full_length) {
        found.of += 1;
        found.hits += u32::from(criteria.is_high_loss(trial));
    }
    found
}

/// The sum of the intended durations of trials; 0 if there are none, without the negative sign of an empty floating-point sum.
pub(super) fn seconds<'o>(seen: impl IntoIterator<Item = &'o Observation>) -> f64 {
    seen.into_iter().fold(0.0, |sum, trial| sum + trial.duration.as_secs_f64())
}

/// Trials that lost nothing, at loads above the rate at which frames were read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Buffered {
    /// The lowest load of such a trial, frames per second.
    pub from_pps: f64,
    /// The highest.
    pub to_pps: f64,
    /// The highest rate at which frames were read in any of them.
    pub taken_pps: f64,
    /// Seconds for which the application kept reading after sending ended, in the trial where that was longest.
    pub behind_s: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
}

impl Buffered {
    /// The buffered trials of a search; `None` if there are none.
    pub fn from_trials(trials: &[TrialResult], burst_frames: u32) -> Option<Self> {
        let of_search = trials.iter().filter(|trial| trial.phase == Phase::Search);
        let mut buffered: Vec<_> =
            of_search.filter(|trial| trial.lost() == 0 && buffered_frames(trial, burst_frames) > 0).collect();
        buffered.sort_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        let (first, last) = (buffered.first()?, buffered.last()?);
        let behind = buffered.iter().filter_map(|trial| trial.behind_s(burst_frames));
        let mut numbers: Vec<_> = buffered.iter().map(|trial| trial.number).collect();
        numbers.sort_unstable();
        Some(Self {
            from_pps: first.offered_pps,
            to_pps: last.offered_pps,
            taken_pps: buffered.iter().map(|trial| trial.read_pps()).fold(0.0, f64::max),
            behind_s: behind.fold(0.0, f64::max),
            trials: numbers,
        })
    }
}

/// Whether chance explains the difference between a goal's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BoundsDistinction {
    /// The probability of shares of high-loss trials at least this far apart if both bounds have the same share (Fisher's exact
    /// test, one-sided). The real probability is higher, because the same trials selected the bounds.
    pub by_chance: f64,
    /// If the bounds are not distinguished: the nearest loads around them that are, lower one first; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<[f64; 2]>,
}

impl BoundsDistinction {
    /// Whether chance explains the difference between these bounds; `None` unless both are known.
    pub(super) fn from_bounds(seen: &Database, criteria: &Criteria, bounds: Bounds) -> Option<Self> {
        let mut interval = Interval::between(seen, criteria, bounds.lower?, bounds.upper?);
        let by_chance = interval.by_chance();
        if by_chance <= DISTINGUISHED_BOUNDS_BY_CHANCE {
            return Some(Self { by_chance, nearest: None });
        }
        // Every step is one more comparison (Bonferroni).
        let steps = (interval.below.len() + interval.above.len()) as f64;
        while interval.widen() {
            if interval.by_chance() * steps <= DISTINGUISHED_BOUNDS_BY_CHANCE {
                return Some(Self { by_chance, nearest: Some([interval.from_pps, interval.to_pps]) });
            }
        }
        Some(Self { by_chance, nearest: None })
    }

    /// Whether trials distinguish the bounds.
    pub fn is_significant(&self) -> bool {
        self.by_chance <= DISTINGUISHED_BOUNDS_BY_CHANCE
    }
}

/// A load with its trials.
type LoadTrials<'d> = (Pps, &'d [Observation]);

/// An interval of loads, with the high-loss trials at its loads up to the lower bound, and at those from the upper bound on.
struct Interval<'d> {
    criteria: &'d Criteria,
    from_pps: f64,
    to_pps: f64,
    few: Hits,
    many: Hits,
    /// Loads below the interval, the nearest last.
    below: Vec<LoadTrials<'d>>,
    /// Loads above the interval, the nearest last.
    above: Vec<LoadTrials<'d>>,
}

impl<'d> Interval<'d> {
    fn between(seen: &'d Database, criteria: &'d Criteria, lower: Pps, upper: Pps) -> Self {
        let below = seen.loads().filter(|(load, _)| *load < lower).collect();
        let mut above: Vec<LoadTrials<'_>> = seen.loads().filter(|(load, _)| *load > upper).collect();
        above.reverse();
        Self {
            criteria,
            from_pps: lower.get(),
            to_pps: upper.get(),
            few: hits(seen.at(lower), criteria),
            many: hits(seen.at(upper), criteria),
            below,
            above,
        }
    }

    /// The probability that chance alone makes the shares of high-loss trials at both ends so different.
    fn by_chance(&self) -> f64 {
        counts::as_few(self.few, self.many)
    }

    /// Includes the next load: of those below and above the one that widens the interval least. Loss does not decrease with the load, so
    /// a load that is included on the way to a farther one reduces the difference, and never increases it. Returns false if no load is
    /// left.
    fn widen(&mut self) -> bool {
        let width_down = self.below.last().map(|(load, _)| self.to_pps / load.get());
        let width_up = self.above.last().map(|(load, _)| load.get() / self.from_pps);
        let is_down = match (width_down, width_up) {
            (Some(down), Some(up)) => down <= up,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return false,
        };
        if is_down && let Some((load, trials)) = self.below.pop() {
            self.few = self.few.and(hits(trials, self.criteria));
            self.from_pps = load.get();
        } else if let Some((load, trials)) = self.above.pop() {
            self.many = self.many.and(hits(trials, self.criteria));
            self.to_pps = load.get();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;

    use super::BoundsDistinction;
    use crate::search::Ratio;
    use crate::search::database::{Bounds, Database};
    use crate::sustained::{Criteria, Observation};

    /// A load, and how many of its trials of a second lost frames.
    struct Lossy {
        pps: f64,
        lossy_trials: u32,
        trials: u32,
    }

    /// Adds the trials of a load, and returns the load.
    fn add(seen: &mut Database, Lossy { pps, lossy_trials, trials }: Lossy) -> Pps {
        let load = Pps::new(pps).unwrap();
        for number in 0..trials {
            let loss_ratio = if number < lossy_trials { 0.001 } else { 0.0 };
            seen.add(Observation {
                number,
                load,
                duration: Duration::from_secs(1),
                loss_ratio,
                path_loss_ratio: loss_ratio,
                achieved: load,
            });
        }
        load
    }

    #[test]
    fn bounds_that_differ_by_chance_have_the_nearest_loads_that_do_not() {
        let criteria = Criteria {
            loss_ratio: Ratio::ZERO,
            exceed_ratio: Ratio::new(0.5).unwrap(),
            full_length: Duration::from_secs(1),
            duration_sum: Duration::from_secs(21),
        };
        let mut seen = Database::default();
        let lower = add(&mut seen, Lossy { pps: 434_457.0, lossy_trials: 9, trials: 20 });
        let upper = add(&mut seen, Lossy { pps: 436_640.0, lossy_trials: 11, trials: 19 });
        let bounds = Bounds { lower: Some(lower), upper: Some(upper) };
        let alone = BoundsDistinction::from_bounds(&seen, &criteria, bounds).unwrap();
        assert!(!alone.is_significant() && alone.by_chance > 0.25 && alone.nearest.is_none(), "{alone:?}");
        // Farther loads, at which the shares of lossy trials differ more.
        add(&mut seen, Lossy { pps: 419_480.0, lossy_trials: 2, trials: 5 });
        add(&mut seen, Lossy { pps: 427_974.0, lossy_trials: 0, trials: 9 });
        add(&mut seen, Lossy { pps: 482_674.0, lossy_trials: 12, trials: 13 });
        add(&mut seen, Lossy { pps: 492_448.0, lossy_trials: 9, trials: 9 });
        let distinction = BoundsDistinction::from_bounds(&seen, &criteria, bounds).unwrap();
        let [from, to] = distinction.nearest.unwrap();
        assert!(from <= 427_974.0 && (482_674.0..=492_448.0).contains(&to), "{distinction:?}");
        assert_eq!(distinction.by_chance, alone.by_chance);
        // Where every trial above is lossy and none below is, nothing is in doubt.
        let mut clear = Database::default();
        let bounds = Bounds {
            lower: Some(add(&mut clear, Lossy { pps: 1000.0, lossy_trials: 0, trials: 11 })),
            upper: Some(add(&mut clear, Lossy { pps: 1005.0, lossy_trials: 11, trials: 11 })),
        };
        assert!(BoundsDistinction::from_bounds(&clear, &criteria, bounds).unwrap().is_significant());
    }
}
