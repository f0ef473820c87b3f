//! Searches for differences over a series, and between two methods at the same points. Every difference found is corrected for
//! all comparisons made (see [`capbench_model::statistics`]).

use serde::{Deserialize, Serialize};

use crate::thresholds::{CONTRASTED_POINTS, EQUAL_RATES};

use super::outcome::Swept;
use super::outcome::{Reading, Series};
use capbench_model::statistics::holm::corrected;
use capbench_model::statistics::ranks::{Stratum, against, by_chance};
use capbench_model::statistics::{FALSE_ALARMS, median};
use capbench_model::trial::TrialResult;

/// How likely chance alone causes a difference somewhere in a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Evidence {
    /// The probability after the correction.
    pub by_chance: f64,
    /// Number of comparisons made.
    pub comparisons: usize,
}

impl Evidence {
    /// Evidence that two groups of repeats differ, as the smallest of `comparisons`, so that the correction covers all.
    pub fn of_difference(one: &[f64], other: &[f64], comparisons: usize) -> Self {
        let strata = [Stratum { low: one.len(), high: other.len() }];
        let fewer = against(one, other).min(against(other, one));
        Self { by_chance: (2.0 * chance(fewer, &strata) * comparisons as f64).min(1.0), comparisons }
    }

    /// The evidence that chance explains more easily.
    pub fn weaker(self, other: Self) -> Self {
        if other.by_chance > self.by_chance { other } else { self }
    }

    /// Whether chance does not explain the difference.
    pub fn is_told(self) -> bool {
        self.by_chance <= FALSE_ALARMS
    }
}

/// A rise of a value along the axis.
#[derive(Clone, Copy, Debug)]
pub struct Rise<'r> {
    /// The points with the lower values.
    pub low: &'r [Reading],
    /// The points with the higher values.
    pub high: &'r [Reading],
    /// Increase of the median.
    pub gain: f64,
    /// Its evidence.
    pub evidence: Evidence,
}

/// The result of a search for rises.
#[derive(Debug)]
pub struct Rises<'r> {
    /// All rises compared.
    pub all: Vec<Rise<'r>>,
}

impl<'r> Rises<'r> {
    /// Compares every block of neighbouring points with every later block of the same length.
    pub fn find(swept: &Swept<'_>, readings: &'r [Reading], value: impl Fn(&TrialResult) -> f64) -> Self {
        let values: Vec<Vec<f64>> =
            readings.iter().map(|reading| swept.trials_of(reading).map(&value).collect()).collect();
        let mut all = Vec::new();
        let mut chances = Vec::new();
        for width in 1..=CONTRASTED_POINTS {
            for low in 0..readings.len() {
                for high in low + width..(readings.len() + 1).saturating_sub(width) {
                    let block = |first: usize| values[first..first + width].concat();
                    let (below, above) = (block(low), block(high));
                    let strata = [Stratum { low: below.len(), high: above.len() }];
                    chances.push(chance(against(&below, &above), &strata));
                    all.push(Rise {
                        low: &readings[low..low + width],
                        high: &readings[high..high + width],
                        gain: middle(above) - middle(below),
                        evidence: Evidence { by_chance: 1.0, comparisons: 0 },
                    });
                }
            }
        }
        let comparisons = all.len();
        for (rise, by_chance) in all.iter_mut().zip(corrected(&chances)) {
            rise.evidence = Evidence { by_chance, comparisons };
        }
        Self { all }
    }

    /// The largest rise that chance does not explain and that `is_worth` accepts.
    pub fn largest(&self, is_worth: impl Fn(&Rise<'r>) -> bool) -> Option<&Rise<'r>> {
        let told = self.all.iter().filter(|rise| rise.evidence.is_told() && is_worth(rise));
        told.max_by(|a, b| a.gain.total_cmp(&b.gain))
    }
}

/// Neighbouring points at which a value of one method is higher than that of another by more than chance explains.
#[derive(Clone, Debug)]
pub struct Lead<'r> {
    /// The method with the higher value.
    pub ahead: &'r Series,
    /// The other one.
    pub behind: &'r Series,
    /// The readings of both methods at each of the points, the higher one's first.
    pub points: Vec<(&'r Reading, &'r Reading)>,
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
    pub told: Vec<Lead<'r>>,
}

impl<'r> Leads<'r> {
    /// Compares the rates that methods of a scene can sustain, frames per second.
    pub fn find_in_rates(swept: &Swept<'_>, scene: &[&'r Series]) -> Self {
        Self::by(scene, |reading| swept.sustained(reading))
    }

    /// Compares every two methods at every block of neighbouring points, by a value of their repeats, each with those that ran
    /// next to it at the same point.
    pub fn by(scene: &[&'r Series], values: impl Fn(&Reading) -> Vec<f64>) -> Self {
        let mut all: Vec<Lead<'r>> = Vec::new();
        let mut chances = Vec::new();
        for ahead in scene {
            for behind in scene.iter().filter(|behind| !std::ptr::eq(**behind, *ahead)) {
                let points = common(ahead, behind);
                let rates: Vec<[Vec<f64>; 2]> =
                    points.iter().map(|(one, other)| [one, other].map(|reading| values(reading))).collect();
                for width in 1..=CONTRASTED_POINTS {
                    for (block, rates) in points.windows(width).zip(rates.windows(width)) {
                        if rates.iter().flatten().any(Vec::is_empty) {
                            continue;
                        }
                        let strata: Vec<Stratum> = rates
                            .iter()
                            .map(|[one, other]| Stratum { low: other.len(), high: one.len() })
                            .collect();
                        let against = rates.iter().map(|[one, other]| against(other, one)).sum();
                        chances.push(chance(against, &strata));
                        let evidence = Evidence { by_chance: 1.0, comparisons: 0 };
                        let medians = rates
                            .iter()
                            .map(|hands| hands.each_ref().map(|hand| middle(hand.iter().copied())));
                        let medians: Vec<[f64; 2]> = medians.collect();
                        all.push(Lead {
                            ahead,
                            behind,
                            points: block.to_vec(),
                            gain: middle(medians.iter().map(|[one, other]| one - other)),
                            most: medians.iter().map(|[one, _]| *one).fold(f64::NEG_INFINITY, f64::max),
                            evidence,
                        });
                    }
                }
            }
        }
        let comparisons = all.len();
        for (lead, by_chance) in all.iter_mut().zip(corrected(&chances)) {
            lead.evidence = Evidence { by_chance, comparisons };
        }
        all.retain(|lead| lead.evidence.is_told());
        all.sort_by_key(|lead| (lead.points[0].0.point, lead.points.len()));
        Self { told: all }
    }
}

/// The median; 0 of no values.
pub(super) fn middle(values: impl IntoIterator<Item = f64>) -> f64 {
    median(values).unwrap_or_default()
}

/// The readings of two series at the points that both have.
pub fn common<'r>(one: &'r Series, other: &'r Series) -> Vec<(&'r Reading, &'r Reading)> {
    let beside = |reading: &'r Reading| {
        let other = other.readings.iter().find(|other| other.point == reading.point)?;
        Some((reading, other))
    };
    one.readings.iter().filter_map(beside).collect()
}

/// The probability of chance; 1 if most pairs contradict a difference.
fn chance(against: usize, strata: &[Stratum]) -> f64 {
    let pairs: usize = strata.iter().map(|stratum| stratum.low * stratum.high).sum();
    if 2 * against > pairs { 1.0 } else { by_chance(against, strata) }
}
