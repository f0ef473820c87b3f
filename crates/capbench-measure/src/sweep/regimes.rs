//! What a packet costs beside the work that it is given, point by point, and where that is constant.
//!
//! Where packets are lost because the application is too slow, the time per delivered packet, `1 / (rate x delivered
//! share)`, is work plus cost. What is left of it without the work, drawn over the work, has a plateau for each way in
//! which packets come to the application: woken for each, or many at a time because it never sleeps. More work per
//! packet can so lead to more packets (Dain, 2004).

use serde::{Deserialize, Serialize};

use capbench_model::statistics::median;

/// A point at which the application was the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturated {
    /// The work, in its unit.
    pub work: f64,
    /// Time per delivered packet, nanoseconds.
    pub time_ns: f64,
    /// How far repeats lie from it, nanoseconds; 0 where there is one.
    pub spread_ns: f64,
}

/// What a unit of work takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitTime {
    /// Nanoseconds of wall time.
    pub ns: f64,
    /// Whether it was read off the slope of the last straight piece; else it is what was asked for.
    pub is_fitted: bool,
    /// How far it can be off: three times what noise makes of a slope, and where it is what was asked for, how far the slope
    /// lies from that, too.
    pub error_ns: f64,
}

/// Points in a row at which a packet costs the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// The first of them, counted in the points given.
    pub first: usize,
    /// The last.
    pub last: usize,
    /// Wall time per packet beside the work, nanoseconds: the median of the points.
    pub cost_ns: f64,
    /// The least of the points' costs.
    pub least_ns: f64,
    /// The largest.
    pub most_ns: f64,
}

/// What the points show.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimes {
    /// What a unit of work takes.
    pub unit: UnitTime,
    /// Wall time per packet beside the work at each point, nanoseconds.
    pub costs_ns: Vec<f64>,
    /// Plateaus, in the order of the points.
    pub plateaus: Vec<Plateau>,
}

/// Fewer points in a row are no plateau.
pub(super) const LEAST_POINTS: usize = 3;
/// Fewer points make no slope.
const LEAST_SLOPE: usize = 4;
/// Repeats are taken to vary by this part of the time at least: few repeats can agree by chance.
const LEAST_SPREAD: f64 = 0.005;
/// Points that lie this far off a line, as a part of the time, are not on it.
const OFF_LINE: f64 = 0.02;
/// A slope within this part of what was asked for is that.
const AS_ASKED: f64 = 0.05;
/// A plateau may rise or fall by this part of its cost, or by what noise explains; two that differ by less are one.
const LEVEL: f64 = 0.08;
/// The points of a plateau may range over this part of its cost for each of them: by so much, about, is twice the error
/// of their median at most a quarter of the cost.
const DOUBT: f64 = 0.1;
/// What another plateau must explain, in squared deviations by log of the points (twice Schwarz's criterion).
const PENALTY: f64 = 4.0;

/// The cost at each point and the plateaus of it, from the least work on. `asked_ns` is what a unit of work is to take,
/// where that is known; elsewhere it is read off the slope. `None` with too few points, or no slope to read.
pub fn find(points: &[Saturated], asked_ns: Option<f64>) -> Option<Regimes> {
    if points.len() < LEAST_POINTS {
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
    point.spread_ns.max(point.time_ns * LEAST_SPREAD)
}

/// The median of points, of which there is at least one.
fn middle(values: impl IntoIterator<Item = f64>) -> f64 {
    median(values).unwrap_or_default()
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

/// The longest straight piece at the end: there the application never sleeps, if it ever does not.
fn tail(points: &[Saturated]) -> Option<(f64, &[Saturated])> {
    let mut found = None;
    for first in (0..=points.len().checked_sub(LEAST_SLOPE)?).rev() {
        let piece = &points[first..];
        let (slope, level) = line(piece)?;
        let on_line = |point: &Saturated| {
            let off = (point.time_ns - level - slope * point.work).abs();
            off <= (point.time_ns * OFF_LINE).max(2.0 * point.spread_ns)
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
        // A packet costs something beside its work: a slope that leaves less than nothing for that is noise.
        let most = middle(piece.iter().map(|point| point.time_ns / point.work.max(1.0)));
        let mean = piece.iter().map(|point| point.work).sum::<f64>() / piece.len() as f64;
        let spread: f64 = piece.iter().map(|point| (point.work - mean).powi(2)).sum();
        let noise = middle(piece.iter().map(noise));
        (slope.min(most), noise / spread.sqrt())
    });
    let of_slope = |(ns, error): (f64, f64)| UnitTime { ns, is_fitted: true, error_ns: 3.0 * error };
    let Some(asked) = asked_ns else { return fitted.map(of_slope) };
    // The kernel's work on the same CPU can only make work take longer than was asked for.
    let is_slower = |(slope, error): &(f64, f64)| slope - asked > (AS_ASKED * asked).max(4.0 * error);
    Some(match fitted {
        Some(slope) if is_slower(&slope) => of_slope(slope),
        other => {
            let error_ns = other.map_or(0.0, |(slope, error)| (slope - asked).abs() + 3.0 * error);
            UnitTime { ns: asked, is_fitted: false, error_ns }
        }
    })
}

/// Cuts the points into pieces around levels of their own: the cut with the least squared deviation, where every piece
/// costs a penalty (optimal partitioning, Jackson and others 2005).
fn pieces(costs: &[f64], noise: &[f64]) -> Vec<(usize, usize)> {
    let penalty = PENALTY * (costs.len() as f64).ln();
    let weights: Vec<f64> = noise.iter().map(|noise| noise.powi(-2)).collect();
    let deviation = |first: usize, last: usize| {
        let weight: f64 = weights[first..=last].iter().sum();
        let mean = (first..=last).map(|nth| weights[nth] * costs[nth]).sum::<f64>() / weight;
        (first..=last).map(|nth| weights[nth] * (costs[nth] - mean).powi(2)).sum::<f64>()
    };
    // The best cut of the points before each, and where its last piece begins.
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

/// A piece, if it is long and level enough.
fn plateau(points: &[Saturated], costs: &[f64], noise: &[f64], first: usize, last: usize) -> Option<Plateau> {
    if last + 1 - first < LEAST_POINTS {
        return None;
    }
    let over: Vec<Saturated> =
        (first..=last).map(|nth| Saturated { time_ns: costs[nth], ..points[nth] }).collect();
    let (slope, _) = line(&over)?;
    let plateau = level(costs, first, last);
    let drift = (slope * (points[last].work - points[first].work)).abs();
    let explained = (LEVEL * plateau.cost_ns.abs()).max(2.0 * middle(noise[first..=last].iter().copied()));
    let points = (last + 1 - first) as f64;
    let doubt = (plateau.most_ns - plateau.least_ns) / points;
    (drift <= explained && doubt <= DOUBT * plateau.cost_ns.abs()).then_some(plateau)
}

/// The plateau from one point to another.
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

/// Whether two plateaus side by side are one that noise has cut.
fn alike(a: &Plateau, b: &Plateau, noise: &[f64]) -> bool {
    let noise = middle(noise[a.first..=b.last].iter().copied());
    (a.cost_ns - b.cost_ns).abs() <= (LEVEL * a.cost_ns.min(b.cost_ns).abs()).max(noise)
}
