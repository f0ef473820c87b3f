//! How long a unit of work takes: the slope of the time per packet over the work, where the application never sleeps.

use super::{Saturated, UnitTime};
use crate::sweep::contrasts::middle;
use crate::thresholds::{
    OFF_LINE_SHARE, REQUESTED_SLOPE_DIFFERENCE, SLOPE_ERROR_BOUND, SLOPE_POINTS, SLOWER_SLOPE_ERRORS,
};
use capbench_model::statistics::median;

/// A line through points.
struct Line {
    /// Nanoseconds for a unit of work.
    slope: f64,
    /// Nanoseconds without work.
    level: f64,
}

/// The slope of a line, and its error by noise, nanoseconds for a unit of work.
struct FittedSlope {
    ns: f64,
    error_ns: f64,
}

/// The time of a unit of work: as requested, unless the slope shows that it takes longer. `None` if neither is known.
pub(super) fn unit_time(points: &[Saturated], asked_ns: Option<f64>) -> Option<UnitTime> {
    let fitted = fitted_slope(points);
    let Some(asked) = asked_ns else { return Some(time_of_slope(&fitted?)) };
    let Some(slope) = fitted else {
        return Some(UnitTime { ns: asked, is_fitted: false, error_ns: 0.0 });
    };
    // The kernel's work on the same CPU can only make work slower than requested.
    let explained = (REQUESTED_SLOPE_DIFFERENCE * asked).max(SLOWER_SLOPE_ERRORS * slope.error_ns);
    if slope.ns - asked > explained {
        return Some(time_of_slope(&slope));
    }
    let error_ns = (slope.ns - asked).abs() + SLOPE_ERROR_BOUND * slope.error_ns;
    Some(UnitTime { ns: asked, is_fitted: false, error_ns })
}

fn time_of_slope(slope: &FittedSlope) -> UnitTime {
    UnitTime { ns: slope.ns, is_fitted: true, error_ns: SLOPE_ERROR_BOUND * slope.error_ns }
}

/// The slope of the last straight piece; `None` if there is no such piece, or if it does not rise.
fn fitted_slope(points: &[Saturated]) -> Option<FittedSlope> {
    let (slope, piece) = last_straight_piece(points).filter(|(slope, _)| *slope > 0.0)?;
    // A packet costs something besides its work. A slope that leaves a negative cost is noise.
    let most = middle(piece.iter().map(|point| point.time_ns / point.work.max(1.0)));
    let mean = piece.iter().map(|point| point.work).sum::<f64>() / piece.len() as f64;
    let spread: f64 = piece.iter().map(|point| (point.work - mean).powi(2)).sum();
    let noise = middle(piece.iter().map(Saturated::noise_ns));
    Some(FittedSlope { ns: slope.min(most), error_ns: noise / spread.sqrt() })
}

/// The longest straight piece at the end, and its slope: there the application never sleeps, if such a region exists.
fn last_straight_piece(points: &[Saturated]) -> Option<(f64, &[Saturated])> {
    let mut found = None;
    for first in (0..=points.len().checked_sub(SLOPE_POINTS)?).rev() {
        let piece = &points[first..];
        let line = line_through(piece)?;
        if !piece.iter().all(|point| is_on(&line, point)) {
            break;
        }
        found = Some((line.slope, piece));
    }
    found
}

fn is_on(line: &Line, point: &Saturated) -> bool {
    let distance = (point.time_ns - line.level - line.slope * point.work).abs();
    distance <= (point.time_ns * OFF_LINE_SHARE).max(2.0 * point.spread_ns)
}

/// The line through points, by the medians of Theil and Sen.
fn line_through(points: &[Saturated]) -> Option<Line> {
    let slope = slope(points)?;
    Some(Line { slope, level: middle(points.iter().map(|point| point.time_ns - slope * point.work)) })
}

/// The median of the slopes between every two points; `None` if no work differs.
pub(super) fn slope(points: &[Saturated]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (nth, before) in points.iter().enumerate() {
        for after in &points[nth + 1..] {
            let work = after.work - before.work;
            if work > 0.0 {
                slopes.push((after.time_ns - before.time_ns) / work);
            }
        }
    }
    median(slopes)
}
