//! The difference of two clocks' rates, found in the delays of frames.
//!
//! A frame that met no queue has the smallest delay. With clocks of different rates these smallest delays lie on a sloping line,
//! and everything else is above it. The line below all points that minimises the sum of the distances to it is that of Moon,
//! Skelly and Towsley, "Estimation and removal of clock skew from network delay measurements" (INFOCOM 1999). Zhang, Liu and Xia,
//! "Clock synchronization algorithms for network measurements" (INFOCOM 2002), show that it is the edge of the lower convex hull
//! over the mean of the send times. Delays above the line, however many and however large, do not move it, which distinguishes it
//! from linear regression.

/// Larger differences are no property of clocks: crystals differ by up to 100 ppm, and NTP slews by up to 500 ppm (adjtimex(2)).
pub const MOST_PPM: f64 = 1000.0;

/// A frame: its planned time by the sender's clock, and its delay by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Planned time in nanoseconds.
    pub at_ns: u64,
    /// Delay in nanoseconds, plus any constant.
    pub delay_ns: i64,
}

/// By how much faster the receiver's clock runs than the sender's, in parts per million, from points in the order of their times.
/// `None`: fewer than two different times.
pub fn skew_ppm(points: &[Point]) -> Option<f64> {
    let hull = lower_hull(points);
    let total: u128 = points.iter().map(|point| u128::from(point.at_ns)).sum();
    let mean = total.checked_div(points.len() as u128)? as u64;
    let edge = hull.windows(2).find(|edge| edge[1].at_ns >= mean)?;
    let rise = i128::from(edge[1].delay_ns) - i128::from(edge[0].delay_ns);
    Some(rise as f64 / (edge[1].at_ns - edge[0].at_ns) as f64 * 1e6)
}

/// The corners of the lower convex hull, from left to right (Andrew's monotone chain).
fn lower_hull(points: &[Point]) -> Vec<Point> {
    let mut hull: Vec<Point> = Vec::new();
    for &point in points {
        if let Some(last) = hull.last_mut()
            && last.at_ns == point.at_ns
        {
            if last.delay_ns <= point.delay_ns {
                continue;
            }
            hull.pop();
        }
        while let [.., first, middle] = hull[..]
            && !is_below(first, middle, point)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// Whether `middle` is below the line from `first` to `last`.
fn is_below(first: Point, middle: Point, last: Point) -> bool {
    let run = |to: Point| i128::from(to.at_ns) - i128::from(first.at_ns);
    let rise = |to: Point| i128::from(to.delay_ns) - i128::from(first.delay_ns);
    rise(middle) * run(last) < rise(last) * run(middle)
}
