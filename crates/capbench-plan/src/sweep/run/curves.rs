//! Between which points the curves of a sweep bend, and so need another point.

use capbench_judge::sweep::onset::first_lossy;
use capbench_judge::thresholds::{ONSET_GAP_FACTOR, SMALLEST_BEND};

/// The first pass's result of a series at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurvePoint {
    /// The index of the point.
    pub(super) point: usize,
    /// Its place on the x axis.
    pub(super) at: f64,
    /// The value on the y axis: the sustainable rate, or the length of a burst.
    pub(super) value: f64,
    /// Whether frames were lost, or a longer trial would have lost some.
    pub(super) is_lossy: bool,
}

/// Two neighbouring points of a curve, between which another one is worth this much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) from: usize,
    pub(super) to: usize,
    worth: f64,
}

/// The most valuable gap of each curve, best first, each once. Each curve is in the order of the axis.
pub(super) fn gaps(curves: &[Vec<CurvePoint>]) -> Vec<Gap> {
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
    use super::{CurvePoint, gaps};

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
}
