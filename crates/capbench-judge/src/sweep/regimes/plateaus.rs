//! Points in a row at which a packet costs the same: the points are cut into pieces of constant level, and those are plateaus
//! that are long and level enough.

use super::unit_time::slope;
use super::{Plateau, Saturated};
use crate::sweep::contrasts::median_or_zero;
use crate::thresholds::{
    PLATEAU_DRIFT_NOISE, PLATEAU_LEVEL_DIFFERENCE, PLATEAU_PENALTY, PLATEAU_POINTS, PLATEAU_VARIATION,
};

/// Points in a row, by their indices.
#[derive(Clone, Copy)]
struct Piece {
    first: usize,
    last: usize,
}

/// The plateaus, in the order of the points. `costs` and, below, `noise` have a value for each point, in nanoseconds.
pub(super) fn plateaus(points: &[Saturated], costs: &[f64]) -> Vec<Plateau> {
    let noise: Vec<f64> = points.iter().map(Saturated::noise_ns).collect();
    let mut plateaus: Vec<Plateau> = Vec::new();
    for piece in pieces(costs, &noise) {
        let Some(plateau) = plateau(points, costs, &noise, piece) else { continue };
        match plateaus.last_mut() {
            Some(before) if are_one(before, &plateau, &noise) => {
                *before = level(costs, before.first, piece.last);
            }
            _ => plateaus.push(plateau),
        }
    }
    plateaus
}

/// The best way to cut the points up to one of them into pieces.
#[derive(Clone, Copy)]
struct Cut {
    /// The deviation of the costs from the levels of their pieces, with a penalty for each piece: the least is best.
    badness: f64,
    /// Index of the first point of the last piece.
    last_piece: usize,
}

/// Cuts the points into pieces of constant level, each at a penalty (optimal partitioning, Jackson and others 2005).
fn pieces(costs: &[f64], noise: &[f64]) -> Vec<Piece> {
    let penalty = PLATEAU_PENALTY * (costs.len() as f64).ln();
    let weights: Vec<f64> = noise.iter().map(|noise| noise.powi(-2)).collect();
    // The n-th entry is the best cut of the first n points.
    let mut best_cuts = vec![Cut { badness: 0.0, last_piece: 0 }];
    for end in 1..=costs.len() {
        let mut best: Option<Cut> = None;
        for first in 0..end {
            let deviation = weighted_deviation(&costs[first..end], &weights[first..end]);
            let badness = best_cuts[first].badness + deviation + penalty;
            if best.is_none_or(|known| badness.total_cmp(&known.badness).is_lt()) {
                best = Some(Cut { badness, last_piece: first });
            }
        }
        best_cuts.extend(best);
    }
    // From the last piece back to the first.
    let mut pieces = Vec::new();
    let mut end = costs.len();
    while end > 0 {
        let first = best_cuts[end].last_piece;
        pieces.push(Piece { first, last: end - 1 });
        end = first;
    }
    pieces.reverse();
    pieces
}

/// The weighted sum of the squared differences from the mean.
fn weighted_deviation(costs: &[f64], weights: &[f64]) -> f64 {
    let all_weights: f64 = weights.iter().sum();
    let weighted = costs.iter().zip(weights);
    let mean = weighted.clone().map(|(cost, weight)| weight * cost).sum::<f64>() / all_weights;
    weighted.map(|(cost, weight)| weight * (cost - mean).powi(2)).sum()
}

/// A plateau from a piece, if it is long and level enough.
fn plateau(points: &[Saturated], costs: &[f64], noise: &[f64], piece: Piece) -> Option<Plateau> {
    let Piece { first, last } = piece;
    let number_of_points = last + 1 - first;
    if number_of_points < PLATEAU_POINTS {
        return None;
    }
    // Points whose time is the cost alone, so that their slope is that of the cost.
    let mut costs_over_work = Vec::new();
    for nth in first..=last {
        costs_over_work.push(Saturated { time_ns: costs[nth], ..points[nth] });
    }
    let plateau = level(costs, first, last);
    // How far the costs rise or fall along the piece.
    let drift = (slope(&costs_over_work)? * (points[last].work - points[first].work)).abs();
    let noise = median_or_zero(noise[first..=last].iter().copied());
    let explained_drift = (PLATEAU_LEVEL_DIFFERENCE * plateau.cost_ns.abs()).max(PLATEAU_DRIFT_NOISE * noise);
    // The more points there are, the better their median is known.
    let doubt = (plateau.most_ns - plateau.least_ns) / number_of_points as f64;
    let is_level = drift <= explained_drift && doubt <= PLATEAU_VARIATION * plateau.cost_ns.abs();
    is_level.then_some(plateau)
}

/// The costs of the points from `first` to `last` as one plateau.
pub(super) fn level(costs: &[f64], first: usize, last: usize) -> Plateau {
    let piece = &costs[first..=last];
    Plateau {
        first,
        last,
        cost_ns: median_or_zero(piece.iter().copied()),
        least_ns: piece.iter().copied().fold(f64::INFINITY, f64::min),
        most_ns: piece.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Whether two plateaus are one that noise has cut: no point is between them, and they differ by no more than a
/// plateau may drift, or than noise.
fn are_one(before: &Plateau, after: &Plateau, noise: &[f64]) -> bool {
    if before.last + 1 != after.first {
        return false;
    }
    let noise = median_or_zero(noise[before.first..=after.last].iter().copied());
    let lower = before.cost_ns.min(after.cost_ns).abs();
    (before.cost_ns - after.cost_ns).abs() <= (PLATEAU_LEVEL_DIFFERENCE * lower).max(noise)
}
