//! Where a sweep adds points: between neighbours where loss begins, and where the curve bends.

/// The first pass's result of a series at a point, in the order of the axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Index of the point.
    pub(super) point: usize,
    /// Its coordinate.
    pub(super) at: f64,
    /// The value on the y axis: the sustainable rate, or the length of a burst.
    pub(super) value: f64,
    /// Whether frames were lost, or a longer trial would have lost some.
    pub(super) lost: bool,
}

/// A gap between neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) from: usize,
    pub(super) to: usize,
    worth: f64,
}

/// The gap where loss begins has priority over a sharper bend, until it is narrower than others by this factor.
const ONSET: f64 = 2.0;
/// Minimum size of a bend, as a share of a series' range.
const FLAT: f64 = 0.02;

/// The most valuable gap of each series, best first, each once.
pub(super) fn gaps(series: &[Vec<Seen>]) -> Vec<Gap> {
    let mut best: Vec<Gap> = Vec::new();
    for seen in series {
        let Some(gap) = of_series(seen) else { continue };
        match best.iter_mut().find(|known| (known.from, known.to) == (gap.from, gap.to)) {
            Some(known) => known.worth = known.worth.max(gap.worth),
            None => best.push(gap),
        }
    }
    best.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    best
}

fn of_series(seen: &[Seen]) -> Option<Gap> {
    let (first, last) = (seen.first()?, seen.last()?);
    let span = last.at - first.at;
    let range = |of: fn(f64, f64) -> f64| seen.iter().map(|seen| seen.value).reduce(of);
    let height = range(f64::max)? - range(f64::min)?;
    if span <= 0.0 {
        return None;
    }
    let width = |left: usize| (seen[left + 1].at - seen[left].at) / span;
    let mut worths = vec![0.0_f64; seen.len() - 1];
    // The gap where loss begins.
    if let Some(left) = (0..seen.len() - 1).find(|&left| !seen[left].lost && seen[left + 1].lost) {
        worths[left] = ONSET * width(left);
    }
    // The distance of each point from the line between its neighbours shows how much is unknown next to it.
    for middle in 1..seen.len() - 1 {
        if height <= 0.0 {
            break;
        }
        let (left, here, right) = (seen[middle - 1], seen[middle], seen[middle + 1]);
        let part = (here.at - left.at) / (right.at - left.at);
        let bend = (here.value - (left.value + (right.value - left.value) * part)).abs() / height;
        if bend > FLAT {
            for gap in [middle - 1, middle] {
                worths[gap] = worths[gap].max(bend * width(gap));
            }
        }
    }
    let (left, worth) = worths.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (worth > 0.0).then(|| Gap { from: seen[left].point, to: seen[left + 1].point, worth })
}

#[cfg(test)]
mod tests {
    use super::{Seen, gaps};

    fn curve(values: impl Fn(f64) -> f64, lost: impl Fn(f64) -> bool) -> Vec<Seen> {
        (0..11)
            .map(|point| {
                let at = point as f64;
                Seen { point, at, value: values(at), lost: lost(at) }
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
}
