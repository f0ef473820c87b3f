//! Which points a sweep adds after its first pass: half-way through the gaps where another point is worth most, because loss begins
//! there or the curve bends. It adds up to as many as its plan allows.

use std::collections::BTreeMap;

use super::{Course, CoursePoint};
use crate::Result;
use crate::sweep::axis::Point;
use crate::sweep::back_to_back::BurstVisit;
use crate::sweep::plan::Probe;
use capbench_judge::bursts::BurstEnd;
use capbench_judge::sustained::captures_all;
use capbench_judge::sweep::keeps_up::first_lossy;
use capbench_judge::sweep::outcome::sustained_pps;
use capbench_judge::sweep::{Analysis, AxisKind};
use capbench_judge::thresholds::{ONSET_GAP_FACTOR, SMALLEST_BEND};
use capbench_model::trial::Verdict;

impl Course<'_, '_> {
    /// Adds points and visits them, until no gap is worth a point or no points are left.
    pub(super) fn refine(&mut self) -> Result<()> {
        let mut left = self.plan.refinement;
        while left > 0 && !self.stopped {
            let added = self.points_to_add(left);
            if added.is_empty() {
                break;
            }
            left -= added.len();
            let first = self.points.len();
            for point in added {
                self.points.push(CoursePoint { point, is_added: true });
            }
            self.pass(first)?;
        }
        Ok(())
    }

    /// Up to `most` new points, one in the most valuable gap of each curve, best first.
    fn points_to_add(&self, most: usize) -> Vec<Point> {
        let scale = Scale::of_axis(self.plan.axis.kind());
        let mut added = Vec::new();
        for gap in gaps(&self.curves(scale)) {
            let middle = scale.middle_point(&self.points[gap.from].point, &self.points[gap.to].point);
            let Some(point) = middle else { continue };
            let is_known = self.points.iter().any(|known| known.point == point);
            if added.len() < most && !is_known && !added.contains(&point) {
                added.push(point);
            }
        }
        added
    }

    /// The first pass's results of every series, in the order of the axis.
    fn curves(&self, scale: Scale) -> Vec<Vec<CurvePoint>> {
        let mut curves: BTreeMap<(usize, usize), Vec<CurvePoint>> = BTreeMap::new();
        for (&key, visits) in &self.visits {
            let Some(first) = visits.first() else { continue };
            if let Some(curve_point) = self.curve_point(scale, key.point, first) {
                curves.entry((key.scene, key.method)).or_default().push(curve_point);
            }
        }
        let mut curves: Vec<_> = curves.into_values().collect();
        for curve in &mut curves {
            curve.sort_by(|a, b| a.at.total_cmp(&b.at));
        }
        curves
    }

    /// A visit as a point of a curve; `None` if the point is a name, or if the visit shows nothing.
    fn curve_point(&self, scale: Scale, point: usize, visit: &BurstVisit) -> Option<CurvePoint> {
        let BurstVisit { trial, burst } = visit;
        let (coordinate, _) = self.points[point].point.coordinate()?;
        let at = scale.position(coordinate);
        if trial.verdict == Verdict::Invalid {
            return None;
        }
        match (burst, self.plan.probe) {
            (Some(burst), _) if matches!(burst.end, BurstEnd::Invalid | BurstEnd::NotRun) => None,
            (Some(burst), _) => {
                let value = (burst.frames.unwrap_or(0) as f64 + 1.0).log2();
                Some(CurvePoint { point, at, value, is_lossy: false })
            }
            (None, Probe::BackToBack(_)) => None,
            (None, Probe::Trial) => {
                Some(CurvePoint { point, at, value: sustained_pps(trial), is_lossy: !captures_all(trial) })
            }
        }
    }
}

/// How far apart points of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Difference,
    Ratio,
}

impl Scale {
    /// Bursts grow with the ring, so both are compared by ratio.
    fn of_axis(axis: AxisKind) -> Self {
        if axis.shows(Analysis::Buffers) { Self::Ratio } else { Self::Difference }
    }

    /// The place of a coordinate on the x axis of a curve.
    fn position(self, coordinate: f64) -> f64 {
        match self {
            Self::Difference => coordinate,
            Self::Ratio => coordinate.log2(),
        }
    }

    /// The coordinate half-way between two.
    fn middle(self, from: f64, to: f64) -> f64 {
        match self {
            Self::Difference => f64::midpoint(from, to),
            Self::Ratio => (from * to).sqrt(),
        }
    }

    /// The point that is possible next to the middle of two points. `None` if they are names or have different units, or if no point is
    /// between them.
    fn middle_point(self, from: &Point, to: &Point) -> Option<Point> {
        let (from_at, unit) = from.coordinate()?;
        let (to_at, other_unit) = to.coordinate()?;
        if unit != other_unit {
            return None;
        }
        let point = from.nearest(to, self.middle(from_at, to_at))?;
        let (at, _) = point.coordinate()?;
        if at == from_at || at == to_at { None } else { Some(point) }
    }
}

/// The first pass's result of a series at a point.
#[derive(Clone, Copy, Debug)]
struct CurvePoint {
    /// The index of the point.
    point: usize,
    /// Its place on the x axis.
    at: f64,
    /// The value on the y axis: the sustainable rate, or the length of a burst.
    value: f64,
    /// Whether frames were lost, or a longer trial would have lost some.
    is_lossy: bool,
}

/// Two neighbouring points of a curve, between which another one is worth this much.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    from: usize,
    to: usize,
    worth: f64,
}

/// The most valuable gap of each curve, best first, each once. Each curve is in the order of the axis.
fn gaps(curves: &[Vec<CurvePoint>]) -> Vec<Gap> {
    let mut best: Vec<Gap> = Vec::new();
    for curve in curves {
        let Some(gap) = best_gap(curve) else { continue };
        match best.iter_mut().find(|known| known.from == gap.from && known.to == gap.to) {
            Some(known) => known.worth = known.worth.max(gap.worth),
            None => best.push(gap),
        }
    }
    best.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    best
}

fn best_gap(curve: &[CurvePoint]) -> Option<Gap> {
    let span = curve.last()?.at - curve.first()?.at;
    if span <= 0.0 {
        return None;
    }
    let worths = worths(curve, span);
    let (left, worth) = worths.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (worth > 0.0).then(|| Gap { from: curve[left].point, to: curve[left + 1].point, worth })
}

/// What another point is worth in each gap of a curve, by the index of the gap's left point.
fn worths(curve: &[CurvePoint], span: f64) -> Vec<f64> {
    let widths: Vec<f64> = curve.windows(2).map(|ends| (ends[1].at - ends[0].at) / span).collect();
    let mut worths = vec![0.0_f64; widths.len()];
    if let Some(onset) = gap_of_onset(curve) {
        worths[onset] = ONSET_GAP_FACTOR * widths[onset];
    }
    let highest = curve.iter().map(|point| point.value).fold(f64::NEG_INFINITY, f64::max);
    let lowest = curve.iter().map(|point| point.value).fold(f64::INFINITY, f64::min);
    let height = highest - lowest;
    if height <= 0.0 {
        return worths;
    }
    // The distance of each point from the line between its neighbours shows how much is unknown next to it.
    for middle in 1..curve.len() - 1 {
        let bend = bend(curve[middle - 1], curve[middle], curve[middle + 1]) / height;
        if bend > SMALLEST_BEND {
            for gap in [middle - 1, middle] {
                worths[gap] = worths[gap].max(bend * widths[gap]);
            }
        }
    }
    worths
}

/// The gap where loss begins after points without loss, by the index of its left point.
fn gap_of_onset(curve: &[CurvePoint]) -> Option<usize> {
    let first_clean = curve.iter().position(|point| !point.is_lossy)?;
    let points_before = first_lossy(curve[first_clean..].iter().map(|point| point.is_lossy))?;
    Some(first_clean + points_before - 1)
}

/// The distance of a point from the line between its neighbours.
fn bend(left: CurvePoint, middle: CurvePoint, right: CurvePoint) -> f64 {
    let part = (middle.at - left.at) / (right.at - left.at);
    (middle.value - (left.value + (right.value - left.value) * part)).abs()
}

#[cfg(test)]
mod tests {
    use super::{CurvePoint, Scale, gaps};
    use crate::sweep::axis::{Point, RingSize};
    use capbench_model::units::ByteCount;
    use capbench_model::work::WorkModel;

    fn curve(values: impl Fn(f64) -> f64, lost: impl Fn(f64) -> bool) -> Vec<CurvePoint> {
        (0..11)
            .map(|point| {
                let at = point as f64;
                CurvePoint { point, at, value: values(at), is_lossy: lost(at) }
            })
            .collect()
    }

    #[test]
    fn the_gap_where_loss_begins_comes_first() {
        let seen = curve(|at| if at < 7.5 { 10.0 } else { 80.0 / at }, |at| at > 7.5);
        assert_eq!(gaps(&[seen]).first().map(|gap| (gap.from, gap.to)), Some((7, 8)));
    }

    #[test]
    fn a_bend_is_looked_at_and_a_line_is_not() {
        let bent = curve(|at| (at - 4.0).abs(), |_| true);
        let gap = gaps(&[bent])[0];
        assert!(gap.from == 4 || gap.to == 4, "{gap:?}");
        assert!(gaps(&[curve(|at| 3.0 * at, |_| true), curve(|_| 1.0, |_| false), Vec::new()]).is_empty());
    }

    #[test]
    fn series_that_want_the_same_gap_get_it_once() {
        let knee = || curve(|at| at.min(5.5), |at| at > 5.5);
        assert_eq!(gaps(&[knee(), knee()]).len(), 1);
    }

    #[test]
    fn a_bend_is_looked_at_from_two_percent_of_the_range_on() {
        let bent = |off: f64| gaps(&[curve(|at| if at == 5.0 { at + off } else { at }, |_| true)]);
        assert!(bent(0.16).is_empty());
        assert!(!bent(0.25).is_empty());
    }

    #[test]
    fn the_gap_where_loss_begins_has_priority_until_it_is_half_as_wide() {
        for (width, first) in [(1.6, 0), (2.5, 1)] {
            let places = [0.0, 1.0, 1.0 + width, 1.0 + 2.0 * width];
            let mut seen = Vec::new();
            for (point, at) in places.into_iter().enumerate() {
                let value = if point == 2 { 10.0 } else { 0.0 };
                seen.push(CurvePoint { point, at, value, is_lossy: point > 0 });
            }
            let from = gaps(&[seen])[0].from;
            assert_eq!(from.min(1), first, "a spike between gaps {width} times as wide");
        }
    }

    fn work(ns: u32) -> Point {
        Point::Work(WorkModel::Nanoseconds(ns))
    }

    fn ring(ring: u64, block: u64) -> Point {
        Point::Ring(RingSize { ring: ByteCount(ring), block: ByteCount(block) })
    }

    /// The point that is added between two.
    fn middle(from: &Point, to: &Point) -> Option<Point> {
        Scale::of_axis(from.kind()).middle_point(from, to)
    }

    #[test]
    fn a_point_is_added_half_way_unless_none_is_possible_between() {
        assert_eq!(middle(&work(100), &work(201)), Some(work(150)));
        assert_eq!(middle(&work(100), &work(101)), None);
        assert_eq!(middle(&work(100), &Point::Work(WorkModel::Loop(200))), None, "other units");
        assert_eq!(middle(&work(100), &Point::Work(WorkModel::None)), None, "a name");
    }

    #[test]
    fn a_ring_is_added_half_way_by_ratio_in_whole_blocks() {
        assert_eq!(middle(&ring(8192, 8192), &ring(32_768, 4096)), Some(ring(16_384, 4096)));
        assert_eq!(middle(&ring(4096, 4096), &ring(8192, 4096)), None);
    }
}
