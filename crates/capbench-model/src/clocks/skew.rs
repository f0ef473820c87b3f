//! The difference of two clocks' rates, found in the delays of frames.
//!
//! A frame that met no queue has the smallest delay. With clocks of different rates these smallest delays lie on a sloping line,
//! and everything else is above it. The line below all points that minimises the sum of the distances to it is that of Moon,
//! Skelly and Towsley, "Estimation and removal of clock skew from network delay measurements" (INFOCOM 1999). Zhang, Liu and Xia,
//! "Clock synchronization algorithms for network measurements" (INFOCOM 2002), show that it is the edge of the lower convex hull
//! over the mean of the send times. Delays above the line, however many and however large, do not move it, which distinguishes it
//! from linear regression.

/// A frame: its planned time by the sender's clock, and its delay by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Planned time in nanoseconds.
    pub at_ns: u64,
    /// Delay in nanoseconds, plus any constant.
    pub delay_ns: i64,
}

/// The difference of two clocks' rates, in parts per million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// By how much faster the receiver's clock runs.
    pub ppm: f64,
    /// How uncertain that is: infinite if a part of the time has no point.
    pub error_ppm: f64,
}

/// The slope of the line below points that are in the order of their times. `None`: fewer than two different times.
pub fn slope(points: &[Point]) -> Option<Slope> {
    let hull = lower_hull(points);
    let total: u128 = points.iter().map(|point| u128::from(point.at_ns)).sum();
    let mean = total.checked_div(points.len() as u128)? as u64;
    let edge = hull.windows(2).find(|edge| edge[1].at_ns >= mean)?;
    let rise = i128::from(edge[1].delay_ns) - i128::from(edge[0].delay_ns);
    let ppm = rise as f64 / (edge[1].at_ns - edge[0].at_ns) as f64 * 1e6;
    Some(Slope { ppm, error_ppm: error_ppm(points, ppm).unwrap_or(f64::INFINITY) })
}

/// Parts of the time. In each of them one frame should have met no queue.
const PARTS: usize = 5;

/// Student's t for 95 % and the three degrees of freedom that a line through so many parts leaves.
const STUDENT: f64 = 3.18;

/// What remains of a slope in the smallest distances to the line, part by part, and its standard error.
fn error_ppm(points: &[Point], ppm: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let since = |point: &Point| (point.at_ns - first.at_ns) as f64;
    let distance = |point: &Point| (point.delay_ns - first.delay_ns) as f64 - since(point) * ppm / 1e6;
    let part = |point: &Point| ((since(point) / since(last) * PARTS as f64) as usize).min(PARTS - 1);
    let mut lowest: [Option<(f64, f64)>; PARTS] = [None; PARTS];
    for point in points {
        let (here, least) = ((since(point), distance(point)), &mut lowest[part(point)]);
        if least.is_none_or(|(_, known)| here.1 < known) {
            *least = Some(here);
        }
    }
    let lowest: Vec<(f64, f64)> = lowest.into_iter().collect::<Option<_>>()?;
    let mean = |of: fn(&(f64, f64)) -> f64| lowest.iter().map(of).sum::<f64>() / PARTS as f64;
    let (at, level) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = lowest.iter().map(|point| (point.0 - at).powi(2)).sum();
    let rise = lowest.iter().map(|point| (point.0 - at) * (point.1 - level)).sum::<f64>() / spread;
    let left: f64 = lowest.iter().map(|point| (point.1 - level - rise * (point.0 - at)).powi(2)).sum();
    let standard = (left / (PARTS - 2) as f64 / spread).sqrt();
    Some((rise.abs() + STUDENT * standard) * 1e6)
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
