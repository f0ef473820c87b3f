//! The cost of a packet besides its work, point by point, and where that cost is constant.
//!
//! If packets are lost because the application is too slow, the time per delivered packet, `1 / (rate x delivered share)`, is
//! work plus cost. Subtracting the work leaves the cost. Plotted over the work, the cost has a plateau for each way in which
//! packets reach the application: woken for each packet, or many at a time because it never sleeps. So more work per packet can
//! lead to more packets (Dain, 2004).
//!
//! | file | what |
//! |---|---|
//! | `unit_time` | how long a unit of work takes |
//! | `plateaus` | points in a row with the same cost |

mod plateaus;
mod unit_time;

use self::plateaus::{level, plateaus};
use self::unit_time::unit_time;
use super::contrasts::Evidence;
use super::outcome::{Reading, Series, Swept};
use crate::thresholds::{PLATEAU_POINTS, REPEATS_SPREAD};
use capbench_statistics::median;

/// A point at which the application was the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturated {
    /// The work, in its unit.
    pub work: f64,
    /// Time per delivered packet, nanoseconds.
    pub time_ns: f64,
    /// Deviation of the repeats from it, nanoseconds; 0 for a single one.
    pub spread_ns: f64,
}

impl Saturated {
    /// How much the time may differ by noise, nanoseconds: by the repeats, at least a share of it.
    fn noise_ns(&self) -> f64 {
        self.spread_ns.max(self.time_ns * REPEATS_SPREAD)
    }
}

/// The time of a unit of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitTime {
    /// Nanoseconds of wall time.
    pub ns: f64,
    /// Whether the slope of the last straight piece gave it; otherwise it is the requested time.
    pub is_fitted: bool,
    /// Its maximum error: three times that of the slope due to noise, with the slope's deviation from a requested time.
    pub error_ns: f64,
}

/// Points in a row at which a packet costs the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Index of the first of them.
    pub first: usize,
    /// Index of the last.
    pub last: usize,
    /// Wall time per packet besides the work, nanoseconds: the median of the points.
    pub cost_ns: f64,
    /// The minimum of the points' costs.
    pub least_ns: f64,
    /// The maximum.
    pub most_ns: f64,
}

/// The result of the analysis of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimes {
    /// The time of a unit of work.
    pub unit: UnitTime,
    /// Wall time per packet besides the work at each point, nanoseconds.
    pub costs_ns: Vec<f64>,
    /// Plateaus, in the order of the points.
    pub plateaus: Vec<Plateau>,
}

/// The cost at each point, and its plateaus. `requested_ns` is the time of a unit of work, if it is known; the slope shows whether work
/// takes longer. `None` with too few points, or if neither a request nor a slope gives that time.
pub fn find(points: &[Saturated], requested_ns: Option<f64>) -> Option<Regimes> {
    if points.len() < PLATEAU_POINTS {
        return None;
    }
    let unit = unit_time(points, requested_ns)?;
    let costs_ns: Vec<f64> = points.iter().map(|point| point.time_ns - unit.ns * point.work).collect();
    let plateaus = plateaus(points, &costs_ns);
    Some(Regimes { unit, costs_ns, plateaus })
}

/// The cost of a packet besides its work, as one series of a work sweep shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct CostRegimes<'r> {
    /// The points at which the application was the limit.
    pub readings: Vec<&'r Reading>,
    /// Their costs, in that order, and the plateaus, by index of the readings, that differ by more than chance explains.
    pub found: Regimes,
    /// The evidence for the difference of every two neighbouring plateaus.
    pub changes: Vec<Evidence>,
}

/// The cost regimes of one series of a work sweep. `None` with too few points, of bursts, where a point has no amount of work, and where
/// the points show no time of a unit of work.
pub fn cost_regimes<'r>(swept: &Swept<'_>, series: &'r Series) -> Option<CostRegimes<'r>> {
    if series.readings.iter().any(|reading| reading.back_to_back.is_some()) {
        return None;
    }
    let readings: Vec<&Reading> = series.readings.iter().filter(|reading| reading.is_saturated()).collect();
    let mut points = Vec::new();
    for reading in &readings {
        points.push(saturated_point(swept, reading)?);
    }
    let regimes = find(&points, series.unit_ns)?;
    let ProvenPlateaus { plateaus, changes } = proven_plateaus(swept, &readings, &regimes);
    Some(CostRegimes { readings, found: Regimes { plateaus, ..regimes }, changes })
}

/// The point of a reading; `None` if it has no coordinate.
fn saturated_point(swept: &Swept<'_>, reading: &Reading) -> Option<Saturated> {
    let rate = reading.taken_pps;
    let time_ns = 1e9 / rate.median;
    Some(Saturated {
        work: swept.outcome.points.get(reading.point)?.at?,
        time_ns,
        spread_ns: time_ns * rate.half_width() / rate.median,
    })
}

/// Plateaus whose costs differ by more than chance explains, and the evidence for every two neighbours.
struct ProvenPlateaus {
    plateaus: Vec<Plateau>,
    changes: Vec<Evidence>,
}

/// Merges neighbouring plateaus whose difference chance explains; a merged one is compared with the one before it again. The evidence is
/// corrected for all ways to cut two plateaus out of the points.
fn proven_plateaus(swept: &Swept<'_>, saturated: &[&Reading], regimes: &Regimes) -> ProvenPlateaus {
    let comparisons = ways_to_cut(saturated.len());
    let mut plateaus: Vec<Plateau> = Vec::new();
    let mut changes: Vec<Evidence> = Vec::new();
    for next in &regimes.plateaus {
        let mut next = *next;
        while let Some(last) = plateaus.pop() {
            let neighbours = Neighbours {
                swept,
                before: &saturated[last.first..=last.last],
                after: &saturated[next.first..=next.last],
                comparisons,
            };
            let change = neighbours.change_for_any_slope(regimes.unit);
            if change.excludes_chance() {
                plateaus.push(last);
                changes.push(change);
                break;
            }
            // What made the last one differ from the one before it is no evidence about the merged one.
            changes.pop();
            next = level(&regimes.costs_ns, last.first, next.last);
        }
        plateaus.push(next);
    }
    ProvenPlateaus { plateaus, changes }
}

/// In how many ways two pieces of at least [`PLATEAU_POINTS`] points, one after the other, can be cut out of so many points.
///
/// Shorten each piece by the points that it must have besides its two ends. Then the ways are those to choose four ends of the points
/// that are left: n (n - 1) (n - 2) (n - 3) / 24.
fn ways_to_cut(points: usize) -> usize {
    let ends = points.saturating_sub(2 * (PLATEAU_POINTS - 2));
    if ends < 4 { 1 } else { ends * (ends - 1) * (ends - 2) * (ends - 3) / 24 }
}

/// The readings of two neighbouring plateaus.
struct Neighbours<'s> {
    swept: &'s Swept<'s>,
    before: &'s [&'s Reading],
    after: &'s [&'s Reading],
    /// How many such comparisons are possible.
    comparisons: usize,
}

/// The difference between the costs of two plateaus.
struct Change {
    evidence: Evidence,
    /// Whether the second one costs more.
    is_rise: bool,
}

impl Neighbours<'_> {
    /// The evidence that the costs differ. The error of the slope must not create a difference: the same plateau must be higher for every
    /// possible slope.
    fn change_for_any_slope(&self, unit: UnitTime) -> Evidence {
        let least = self.change(unit.ns - unit.error_ns);
        let fitted = self.change(unit.ns);
        let most = self.change(unit.ns + unit.error_ns);
        if least.is_rise != most.is_rise {
            return Evidence { by_chance: 1.0, comparisons: self.comparisons };
        }
        fitted.evidence.weaker(least.evidence).weaker(most.evidence)
    }

    /// The difference if a unit of work takes so long.
    fn change(&self, unit_ns: f64) -> Change {
        let before = costs_of_trials(self.swept, self.before, unit_ns);
        let after = costs_of_trials(self.swept, self.after, unit_ns);
        let is_rise = median(after.iter().copied()) > median(before.iter().copied());
        Change { evidence: Evidence::of_difference(&before, &after, self.comparisons), is_rise }
    }
}

/// The cost of a packet besides its work in each trial of these readings, nanoseconds.
fn costs_of_trials(swept: &Swept<'_>, readings: &[&Reading], unit_ns: f64) -> Vec<f64> {
    let mut costs = Vec::new();
    for reading in readings {
        let work = swept.outcome.points.get(reading.point).and_then(|point| point.at).unwrap_or(0.0);
        for trial in swept.trials_of(reading) {
            costs.push(1e9 / trial.read_pps() - unit_ns * work);
        }
    }
    costs
}
