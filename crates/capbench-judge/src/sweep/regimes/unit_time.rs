//! How long a unit of work takes: the slope of the time per packet over the work, where the application never sleeps.

use super::{Saturated, UnitTime};
use crate::sweep::contrasts::median_or_zero;
use crate::thresholds::{
    OFF_LINE_SHARE, OFF_LINE_SPREADS, REQUESTED_SLOPE_DIFFERENCE, SLOPE_ERROR_BOUND, SLOPE_POINTS,
    SLOWER_SLOPE_ERRORS,
};
use capbench_statistics::median;

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
pub(super) fn unit_time(points: &[Saturated], requested_ns: Option<f64>) -> Option<UnitTime> {
    let fitted = fitted_slope(points);
    let Some(requested_ns) = requested_ns else { return Some(time_of_slope(&fitted?)) };
    let Some(slope) = fitted else {
        return Some(UnitTime { ns: requested_ns, is_fitted: false, error_ns: 0.0 });
    };
    // The kernel's work on the same CPU can only make work slower than requested, so a smaller slope is noise.
    let slower_by_ns = slope.ns - requested_ns;
    let explained_ns = (REQUESTED_SLOPE_DIFFERENCE * requested_ns).max(SLOWER_SLOPE_ERRORS * slope.error_ns);
    if slower_by_ns > explained_ns {
        return Some(time_of_slope(&slope));
    }
    let error_ns = slower_by_ns.abs() + SLOPE_ERROR_BOUND * slope.error_ns;
    Some(UnitTime { ns: requested_ns, is_fitted: false, error_ns })
}

fn time_of_slope(slope: &FittedSlope) -> UnitTime {
    UnitTime { ns: slope.ns, is_fitted: true, error_ns: SLOPE_ERROR_BOUND * slope.error_ns }
}

/// The slope of the last straight piece; `None` if there is no such piece, or if it does not rise.
fn fitted_slope(points: &[Saturated]) -> Option<FittedSlope> {
    let piece = last_straight_piece(points)?;
    let slope = slope(piece)?;
    if slope <= 0.0 {
        return None;
    }
    // A packet costs something besides its work. A slope that leaves a negative cost is noise.
    let most = median_or_zero(piece.iter().map(|point| point.time_ns / point.work.max(1.0)));
    // The standard error of a slope: the noise of a point by the root of the squared deviations of the works.
    let mean_work = piece.iter().map(|point| point.work).sum::<f64>() / piece.len() as f64;
    let squares: f64 = piece.iter().map(|point| (point.work - mean_work).powi(2)).sum();
    let noise = median_or_zero(piece.iter().map(Saturated::noise_ns));
    Some(FittedSlope { ns: slope.min(most), error_ns: noise / squares.sqrt() })
}

/// The longest straight piece at the end: there the application never sleeps, if such a region exists. `None` if even the last
/// [`SLOPE_POINTS`] points are on no line.
fn last_straight_piece(points: &[Saturated]) -> Option<&[Saturated]> {
    let mut straight = None;
    // From the shortest piece on, each with one more point.
    for first in (0..=points.len().checked_sub(SLOPE_POINTS)?).rev() {
        let piece = &points[first..];
        let line = line_through(piece)?;
        if !piece.iter().all(|point| is_on(&line, point)) {
            break;
        }
        straight = Some(piece);
    }
    straight
}

/// Whether a point is on a line, but for its noise.
fn is_on(line: &Line, point: &Saturated) -> bool {
    let distance = (point.time_ns - line.level - line.slope * point.work).abs();
    distance <= (point.time_ns * OFF_LINE_SHARE).max(OFF_LINE_SPREADS * point.spread_ns)
}

/// The line through points, by the medians of Theil and Sen.
fn line_through(points: &[Saturated]) -> Option<Line> {
    let slope = slope(points)?;
    Some(Line { slope, level: median_or_zero(points.iter().map(|point| point.time_ns - slope * point.work)) })
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
