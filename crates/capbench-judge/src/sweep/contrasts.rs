//! Which differences in a sweep are more than chance: values that rise along the axis, and methods that are ahead of another one
//! at the same points. Both compare the repeats of all points with each other, by ranks. The probability of chance is corrected
//! for the number of comparisons (see [`capbench_statistics`]).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::outcome::{Reading, Series, Swept};
use crate::thresholds::{CONTRASTED_POINTS, EQUAL_RATES, SWEEP_FALSE_ALARMS};
use capbench_model::trial::TrialResult;
use capbench_statistics::holm::corrected;
use capbench_statistics::median;
use capbench_statistics::ranks::{Stratum, against, by_chance};

/// How likely chance alone causes a difference somewhere among all comparisons of a question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Evidence {
    /// The probability after the correction.
    pub by_chance: f64,
    /// Number of comparisons made.
    pub comparisons: usize,
}

impl Evidence {
    /// Evidence that two groups of repeats differ, in any direction. It is corrected as the clearest of so many comparisons.
    pub fn of_difference(before: &[f64], after: &[f64], comparisons: usize) -> Self {
        let strata = [Stratum { low: before.len(), high: after.len() }];
        let pairs_against = against(before, after).min(against(after, before));
        let by_chance = 2.0 * chance(pairs_against, &strata) * comparisons as f64;
        Self { by_chance: by_chance.min(1.0), comparisons }
    }

    /// Evidence with the probability of one comparison, before its correction.
    fn uncorrected(by_chance: f64) -> Self {
        Self { by_chance, comparisons: 1 }
    }

    /// The evidence that chance explains more easily.
    pub fn weaker(self, other: Self) -> Self {
        if other.by_chance > self.by_chance { other } else { self }
    }

    /// Whether chance does not explain the difference.
    pub fn excludes_chance(self) -> bool {
        self.by_chance <= SWEEP_FALSE_ALARMS
    }
}

/// Two blocks of points that are compared: whether a value is higher at the later ones.
#[derive(Clone, Copy, Debug)]
pub struct Rise<'r> {
    /// The earlier points, whose values would be lower.
    pub low: &'r [Reading],
    /// The later points, whose values would be higher.
    pub high: &'r [Reading],
    /// Increase of the median; negative if the value falls.
    pub gain: f64,
    /// Its evidence.
    pub evidence: Evidence,
}

/// The comparisons of the points of a series.
#[derive(Debug)]
pub struct Rises<'r> {
    /// All of them, whether or not chance explains them.
    pub all: Vec<Rise<'r>>,
}

impl<'r> Rises<'r> {
    /// Compares every block of neighbouring points with every later block of the same length.
    pub fn find(swept: &Swept<'_>, readings: &'r [Reading], value: impl Fn(&TrialResult) -> f64) -> Self {
        let mut values: Vec<Vec<f64>> = Vec::new();
        for reading in readings {
            values.push(swept.trials_of(reading).map(&value).collect());
        }
        let mut all = Vec::new();
        for width in 1..=CONTRASTED_POINTS {
            for blocks in block_pairs(readings.len(), width) {
                let low = values[blocks.earlier.clone()].concat();
                let high = values[blocks.later.clone()].concat();
                let strata = [Stratum { low: low.len(), high: high.len() }];
                all.push(Rise {
                    low: &readings[blocks.earlier],
                    high: &readings[blocks.later],
                    evidence: Evidence::uncorrected(chance(against(&low, &high), &strata)),
                    gain: median_or_zero(high) - median_or_zero(low),
                });
            }
        }
        correct(all.iter_mut().map(|rise| &mut rise.evidence).collect());
        Self { all }
    }

    /// The largest rise that chance does not explain and that `is_worth` accepts.
    pub fn largest(&self, is_worth: impl Fn(&Rise<'r>) -> bool) -> Option<&Rise<'r>> {
        let proven = self.all.iter().filter(|rise| rise.evidence.excludes_chance() && is_worth(rise));
        proven.max_by(|a, b| a.gain.total_cmp(&b.gain))
    }
}

/// Two blocks of neighbouring points of the same length, by their indices.
pub(super) struct BlockPair {
    pub(super) earlier: Range<usize>,
    pub(super) later: Range<usize>,
}

/// Every block of `width` neighbouring points, with every later block of the same length.
pub(super) fn block_pairs(points: usize, width: usize) -> Vec<BlockPair> {
    let mut pairs = Vec::new();
    let starts = (points + 1).saturating_sub(width);
    for earlier in 0..points {
        for later in earlier + width..starts {
            pairs.push(BlockPair { earlier: earlier..earlier + width, later: later..later + width });
        }
    }
    pairs
}

/// Corrects the probabilities of these comparisons for their number.
fn correct(all: Vec<&mut Evidence>) {
    let comparisons = all.len();
    let chances: Vec<f64> = all.iter().map(|evidence| evidence.by_chance).collect();
    for (evidence, by_chance) in all.into_iter().zip(corrected(&chances)) {
        *evidence = Evidence { by_chance, comparisons };
    }
}

/// The readings of both methods of a lead at one point.
#[derive(Clone, Copy, Debug)]
pub struct LeadPoint<'r> {
    /// Of the method with the higher value.
    pub ahead: &'r Reading,
    /// Of the other one.
    pub behind: &'r Reading,
}

/// Neighbouring points at which a value of one method is higher than that of another by more than chance explains.
#[derive(Clone, Debug)]
pub struct Lead<'r> {
    /// The method with the higher value.
    pub ahead: &'r Series,
    /// The other one.
    pub behind: &'r Series,
    /// The readings at each of the points, at least one.
    pub points: Vec<LeadPoint<'r>>,
    /// The difference of the values: the median over the points.
    pub gain: f64,
    /// The highest value at one of the points.
    pub most: f64,
    /// Its evidence.
    pub evidence: Evidence,
}

impl Lead<'_> {
    /// Whether it is large enough to report.
    pub fn is_notable(&self) -> bool {
        self.gain > EQUAL_RATES * self.most
    }
}

/// The result of a search over all pairs of methods.
#[derive(Debug)]
pub struct Leads<'r> {
    /// The leads that chance does not explain, in the order of the points.
    pub proven: Vec<Lead<'r>>,
}

impl<'r> Leads<'r> {
    /// Compares the rates that methods of a scene can sustain, frames per second.
    pub fn find_in_rates(swept: &Swept<'_>, scene: &[&'r Series]) -> Self {
        Self::find(scene, |reading| swept.sustained(reading))
    }

    /// Compares every two methods at every block of neighbouring points, by a value of their repeats, each with those that ran
    /// next to it at the same point.
    pub fn find(scene: &[&'r Series], values: impl Fn(&Reading) -> Vec<f64>) -> Self {
        let mut all: Vec<Lead<'r>> = Vec::new();
        for &ahead in scene {
            for &behind in scene {
                if !std::ptr::eq(ahead, behind) {
                    all.extend(possible_leads(ahead, behind, &values));
                }
            }
        }
        correct(all.iter_mut().map(|lead| &mut lead.evidence).collect());
        all.retain(|lead| lead.evidence.excludes_chance());
        all.sort_by_key(|lead| (lead.points[0].ahead.point, lead.points.len()));
        Self { proven: all }
    }
}

/// The values of the repeats of two methods at one point.
struct PointValues {
    ahead: Vec<f64>,
    behind: Vec<f64>,
}

/// By how much one method is ahead of another at each block of neighbouring points at which both have values. The evidence is not yet
/// corrected for the number of comparisons.
fn possible_leads<'r>(
    ahead: &'r Series,
    behind: &'r Series,
    values: &impl Fn(&Reading) -> Vec<f64>,
) -> Vec<Lead<'r>> {
    let mut points = Vec::new();
    let mut values_at = Vec::new();
    for (reading_ahead, reading_behind) in readings_at_common_points(ahead, behind) {
        points.push(LeadPoint { ahead: reading_ahead, behind: reading_behind });
        values_at.push(PointValues { ahead: values(reading_ahead), behind: values(reading_behind) });
    }
    let mut leads = Vec::new();
    for width in 1..=CONTRASTED_POINTS {
        for (block, block_values) in points.windows(width).zip(values_at.windows(width)) {
            if block_values.iter().all(|at| !at.ahead.is_empty() && !at.behind.is_empty()) {
                leads.push(possible_lead(ahead, behind, block, block_values));
            }
        }
    }
    leads
}

/// By how much one method is ahead of another at a block of points, each a stratum of its own.
fn possible_lead<'r>(
    ahead: &'r Series,
    behind: &'r Series,
    points: &[LeadPoint<'r>],
    values: &[PointValues],
) -> Lead<'r> {
    let mut strata = Vec::new();
    let mut pairs_against = 0;
    let mut gains = Vec::new();
    let mut most = f64::NEG_INFINITY;
    for at in values {
        strata.push(Stratum { low: at.behind.len(), high: at.ahead.len() });
        pairs_against += against(&at.behind, &at.ahead);
        let median_ahead = median_or_zero(at.ahead.iter().copied());
        gains.push(median_ahead - median_or_zero(at.behind.iter().copied()));
        most = most.max(median_ahead);
    }
    Lead {
        ahead,
        behind,
        points: points.to_vec(),
        gain: median_or_zero(gains),
        most,
        evidence: Evidence::uncorrected(chance(pairs_against, &strata)),
    }
}

/// The median; 0 without a value.
pub(super) fn median_or_zero(values: impl IntoIterator<Item = f64>) -> f64 {
    median(values).unwrap_or_default()
}

/// The readings of two series at the points that both have.
pub fn readings_at_common_points<'r>(one: &'r Series, other: &'r Series) -> Vec<(&'r Reading, &'r Reading)> {
    let mut pairs = Vec::new();
    for reading in &one.readings {
        if let Some(same_point) = other.readings.iter().find(|candidate| candidate.point == reading.point) {
            pairs.push((reading, same_point));
        }
    }
    pairs
}

/// The probability that chance alone has so few pairs of repeats that contradict a difference; 1 if most pairs contradict it.
fn chance(pairs_against: usize, strata: &[Stratum]) -> f64 {
    let pairs: usize = strata.iter().map(|stratum| stratum.low * stratum.high).sum();
    if 2 * pairs_against > pairs { 1.0 } else { by_chance(pairs_against, strata) }
}
