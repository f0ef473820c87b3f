//! The cost of a packet besides its work, point by point, and where that cost is constant.
//!
//! If packets are lost because the application is too slow, the time per delivered packet, `1 / (rate x delivered share)`, is
//! work plus cost. Subtracting the work leaves the cost. Plotted over the work, the cost has a plateau for each way in which
//! packets reach the application: woken for each packet, or many at a time because it never sleeps. So more work per packet can
//! lead to more packets (Dain, 2004).

use crate::thresholds::{
    OFF_LINE_SHARE, PLATEAU_LEVEL_DIFFERENCE, PLATEAU_PENALTY, PLATEAU_POINTS, PLATEAU_VARIATION,
    REPEATS_SPREAD, REQUESTED_SLOPE_DIFFERENCE, SLOPE_ERROR_BOUND, SLOPE_POINTS, SLOWER_SLOPE_ERRORS,
};

use serde::{Deserialize, Serialize};

use super::contrasts::{Evidence, middle};
use super::outcome::Swept;
use super::outcome::{Reading, Series};
use capbench_model::statistics::median;
use capbench_model::trial::TrialResult;

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

/// The time of a unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitTime {
    /// Nanoseconds of wall time.
    pub ns: f64,
    /// Whether the slope of the last straight piece gave it; otherwise it is the requested time.
    pub is_fitted: bool,
    /// Its maximum error: three times that of the slope due to noise, with the slope's deviation from a requested time.
    pub error_ns: f64,
}

/// Points in a row at which a packet costs the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// The cost at each point, and its plateaus. The slope gives the time of a unit of work unless it is known. `None` with too few
/// points, or without a slope.
pub fn find(points: &[Saturated], asked_ns: Option<f64>) -> Option<Regimes> {
    if points.len() < PLATEAU_POINTS {
        return None;
    }
    let unit = unit(points, asked_ns)?;
    let costs_ns: Vec<f64> = points.iter().map(|point| point.time_ns - unit.ns * point.work).collect();
    let noise: Vec<f64> = points.iter().map(noise).collect();
    let pieces = pieces(&costs_ns, &noise);
    let mut plateaus: Vec<Plateau> = Vec::new();
    for (first, last) in pieces {
        let Some(plateau) = plateau(points, &costs_ns, &noise, first, last) else { continue };
        match plateaus.last().filter(|before| before.last + 1 == first && alike(before, &plateau, &noise)) {
            Some(before) => {
                let joined = level(&costs_ns, before.first, last);
                *plateaus.last_mut().expect("there is one") = joined;
            }
            None => plateaus.push(plateau),
        }
    }
    Some(Regimes { unit, costs_ns, plateaus })
}

fn noise(point: &Saturated) -> f64 {
    point.spread_ns.max(point.time_ns * REPEATS_SPREAD)
}

/// Slope and level of the line through points, by the medians of Theil and Sen.
fn line(points: &[Saturated]) -> Option<(f64, f64)> {
    let slopes = points
        .iter()
        .enumerate()
        .flat_map(|(nth, a)| points[nth + 1..].iter().map(move |b| (b.work - a.work, b.time_ns - a.time_ns)))
        .filter(|(work, _)| *work > 0.0)
        .map(|(work, time)| time / work);
    let slope = median(slopes)?;
    Some((slope, middle(points.iter().map(|point| point.time_ns - slope * point.work))))
}

/// The longest straight piece at the end: there the application never sleeps, if such a region exists.
fn tail(points: &[Saturated]) -> Option<(f64, &[Saturated])> {
    let mut found = None;
    for first in (0..=points.len().checked_sub(SLOPE_POINTS)?).rev() {
        let piece = &points[first..];
        let (slope, level) = line(piece)?;
        let on_line = |point: &Saturated| {
            let off = (point.time_ns - level - slope * point.work).abs();
            off <= (point.time_ns * OFF_LINE_SHARE).max(2.0 * point.spread_ns)
        };
        if !piece.iter().all(on_line) {
            break;
        }
        found = Some((slope, piece));
    }
    found
}

fn unit(points: &[Saturated], asked_ns: Option<f64>) -> Option<UnitTime> {
    let fitted = tail(points).filter(|(slope, _)| *slope > 0.0).map(|(slope, piece)| {
        // A packet costs something besides its work. A slope that leaves a negative cost is noise.
        let most = middle(piece.iter().map(|point| point.time_ns / point.work.max(1.0)));
        let mean = piece.iter().map(|point| point.work).sum::<f64>() / piece.len() as f64;
        let spread: f64 = piece.iter().map(|point| (point.work - mean).powi(2)).sum();
        let noise = middle(piece.iter().map(noise));
        (slope.min(most), noise / spread.sqrt())
    });
    let of_slope =
        |(ns, error): (f64, f64)| UnitTime { ns, is_fitted: true, error_ns: SLOPE_ERROR_BOUND * error };
    let Some(asked) = asked_ns else { return fitted.map(of_slope) };
    // The kernel's work on the same CPU can only make work slower than requested.
    let is_slower = |(slope, error): &(f64, f64)| {
        slope - asked > (REQUESTED_SLOPE_DIFFERENCE * asked).max(SLOWER_SLOPE_ERRORS * error)
    };
    Some(match fitted {
        Some(slope) if is_slower(&slope) => of_slope(slope),
        other => {
            let error_ns =
                other.map_or(0.0, |(slope, error)| (slope - asked).abs() + SLOPE_ERROR_BOUND * error);
            UnitTime { ns: asked, is_fitted: false, error_ns }
        }
    })
}

/// Cuts the points into pieces of constant level, each at a penalty (optimal partitioning, Jackson and others 2005).
fn pieces(costs: &[f64], noise: &[f64]) -> Vec<(usize, usize)> {
    let penalty = PLATEAU_PENALTY * (costs.len() as f64).ln();
    let weights: Vec<f64> = noise.iter().map(|noise| noise.powi(-2)).collect();
    let deviation = |first: usize, last: usize| {
        let weight: f64 = weights[first..=last].iter().sum();
        let mean = (first..=last).map(|nth| weights[nth] * costs[nth]).sum::<f64>() / weight;
        (first..=last).map(|nth| weights[nth] * (costs[nth] - mean).powi(2)).sum::<f64>()
    };
    // The best cut of the points before each point, and the start of its last piece.
    let mut best = vec![(0.0, 0)];
    for end in 1..=costs.len() {
        let cut = (0..end)
            .map(|first| (best[first].0 + deviation(first, end - 1) + penalty, first))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("a piece has a beginning");
        best.push(cut);
    }
    let mut pieces = Vec::new();
    let mut end = costs.len();
    while end > 0 {
        let first = best[end].1;
        pieces.push((first, end - 1));
        end = first;
    }
    pieces.reverse();
    pieces
}

/// A plateau from a piece, if it is long and level enough.
fn plateau(points: &[Saturated], costs: &[f64], noise: &[f64], first: usize, last: usize) -> Option<Plateau> {
    if last + 1 - first < PLATEAU_POINTS {
        return None;
    }
    let over: Vec<Saturated> =
        (first..=last).map(|nth| Saturated { time_ns: costs[nth], ..points[nth] }).collect();
    let (slope, _) = line(&over)?;
    let plateau = level(costs, first, last);
    let drift = (slope * (points[last].work - points[first].work)).abs();
    let explained = (PLATEAU_LEVEL_DIFFERENCE * plateau.cost_ns.abs())
        .max(2.0 * middle(noise[first..=last].iter().copied()));
    let points = (last + 1 - first) as f64;
    let doubt = (plateau.most_ns - plateau.least_ns) / points;
    (drift <= explained && doubt <= PLATEAU_VARIATION * plateau.cost_ns.abs()).then_some(plateau)
}

pub(super) fn level(costs: &[f64], first: usize, last: usize) -> Plateau {
    let piece = &costs[first..=last];
    Plateau {
        first,
        last,
        cost_ns: middle(piece.iter().copied()),
        least_ns: piece.iter().copied().fold(f64::INFINITY, f64::min),
        most_ns: piece.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Whether two neighbouring plateaus are one that noise has cut.
fn alike(a: &Plateau, b: &Plateau, noise: &[f64]) -> bool {
    let noise = middle(noise[a.first..=b.last].iter().copied());
    (a.cost_ns - b.cost_ns).abs() <= (PLATEAU_LEVEL_DIFFERENCE * a.cost_ns.min(b.cost_ns).abs()).max(noise)
}

/// The cost of a packet besides its work, as one line of a work sweep shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct CostRegimes<'r> {
    /// The points at which the application was the limit.
    pub readings: Vec<&'r Reading>,
    /// Their costs, in that order, and the plateaus, by index of the readings, that differ by more than chance explains.
    pub found: Regimes,
    /// The evidence for the difference of every two neighbouring plateaus.
    pub changes: Vec<Evidence>,
}

/// The cost regimes of one line of a work sweep. `None` with too few points, without a line, or of bursts.
pub fn cost_regimes<'r>(swept: &Swept<'_>, series: &'r Series) -> Option<CostRegimes<'r>> {
    if series.readings.iter().any(|reading| reading.back_to_back.is_some()) {
        return None;
    }
    let readings: Vec<&Reading> = series.readings.iter().filter(|reading| reading.is_saturated()).collect();
    let mut found = analyse(swept, series, &readings)?;
    let changes;
    (found.plateaus, changes) = told_apart(swept, &readings, &found);
    Some(CostRegimes { readings, found, changes })
}

/// Costs at points where the application is the limit.
fn analyse(swept: &Swept<'_>, series: &Series, saturated: &[&Reading]) -> Option<Regimes> {
    let points: Option<Vec<Saturated>> = saturated
        .iter()
        .map(|reading| {
            let rate = reading.taken_pps;
            let time_ns = 1e9 / rate.median;
            Some(Saturated {
                work: swept.outcome.points.get(reading.point)?.at?,
                time_ns,
                spread_ns: time_ns * rate.half_width() / rate.median,
            })
        })
        .collect();
    find(&points?, series.unit_ns)
}

/// The plateaus whose costs differ by more than chance explains, the others merged, and the evidence for every two neighbours,
/// corrected for all ways to cut two plateaus out of the points.
fn told_apart(swept: &Swept<'_>, saturated: &[&Reading], found: &Regimes) -> (Vec<Plateau>, Vec<Evidence>) {
    let costs = |plateau: &Plateau, unit_ns: f64| -> Vec<f64> {
        let readings = saturated[plateau.first..=plateau.last].iter();
        let of_reading = |reading: &&Reading| -> Vec<f64> {
            let work = swept.outcome.points.get(reading.point).and_then(|point| point.at).unwrap_or(0.0);
            let cost = |trial: &TrialResult| 1e9 / trial.read_pps() - unit_ns * work;
            swept.trials_of(reading).map(cost).collect()
        };
        readings.flat_map(of_reading).collect()
    };
    // Two pieces of at least three points, one after the other.
    let ends = saturated.len().saturating_sub(2 * (PLATEAU_POINTS - 2));
    let comparisons = if ends < 4 { 1 } else { ends * (ends - 1) * (ends - 2) * (ends - 3) / 24 };
    let (mut plateaus, mut changes): (Vec<Plateau>, Vec<Evidence>) = (Vec::new(), Vec::new());
    for next in &found.plateaus {
        let Some(last) = plateaus.last_mut() else {
            plateaus.push(*next);
            continue;
        };
        // The error of the slope must not create a difference: the same plateau must be higher for every possible slope.
        let at = |off: f64| {
            let unit_ns = found.unit.ns + off * found.unit.error_ns;
            let (before, after) = (costs(last, unit_ns), costs(next, unit_ns));
            let rises = median(after.iter().copied()) > median(before.iter().copied());
            (Evidence::of_difference(&before, &after, comparisons), rises)
        };
        let [least, fitted, most] = [at(-1.0), at(0.0), at(1.0)];
        let change = match least.1 == most.1 {
            true => fitted.0.weaker(least.0).weaker(most.0),
            false => Evidence { by_chance: 1.0, comparisons },
        };
        if change.is_told() {
            plateaus.push(*next);
            changes.push(change);
        } else {
            *last = level(&found.costs_ns, last.first, next.last);
        }
    }
    (plateaus, changes)
}
