//! Where more load leads to fewer packets.

use super::{Swept, about, numbers};
use crate::findings::Finding;
use crate::sweep::outcome::Series;

/// A rate that falls by less than this part of the highest has not fallen.
const FALLS: f64 = 0.05;

pub(super) fn of(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    let rate = |nth: usize| series.readings[nth].delivered_pps;
    let count = series.readings.len();
    let Some(peak) = (0..count).max_by(|&a, &b| rate(a).median.total_cmp(&rate(b).median)) else { return };
    let falls = |&nth: &usize| {
        rate(nth).median < rate(peak).median * (1.0 - FALLS) && rate(nth).is_apart_from(&rate(peak))
    };
    let Some(least) =
        (peak + 1..count).filter(falls).min_by(|&a, &b| rate(a).median.total_cmp(&rate(b).median))
    else {
        return;
    };
    let text = format!(
        "livelock: {:.0} packets/s are delivered at {} and only {:.0} at {}.",
        rate(peak).median,
        swept.label(&series.readings[peak]),
        rate(least).median,
        swept.label(&series.readings[least])
    );
    findings.push(about(series, text, numbers([&series.readings[peak], &series.readings[least]])));
}
