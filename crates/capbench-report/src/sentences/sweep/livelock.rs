//! Where more load delivers fewer packets.
use crate::results::Finding;
use capbench_model::figures::grouped;
use capbench_plan::sweep::contrasts::Rises;
use capbench_plan::sweep::outcome::{Reading, Series};
use capbench_plan::sweep::swept::{Swept, numbers};

use super::about;

/// A drop by less than this share of the higher rate does not count.
const FALLS: f64 = 0.05;

pub(super) fn of(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    // A value that falls with the load rises with its sign reversed.
    let found = Rises::of(swept, &series.readings, |trial| -trial.delivered_pps);
    let falls = |low: &[Reading], gain: f64| {
        let most = low.iter().map(|reading| reading.delivered_pps.median).fold(0.0, f64::max);
        gain > FALLS * most
    };
    let Some(fall) = found.largest(|rise| falls(rise.low, rise.gain)) else { return };
    let rate = |reading: &&Reading| reading.delivered_pps.median;
    let peak = fall.low.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let least = fall.high.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
    let (Some(peak), Some(least)) = (peak, least) else { return };
    let text = format!(
        "livelock: {} packets/s are delivered at {} and only {} at {} ({}).",
        grouped(rate(&peak)),
        swept.label(peak),
        grouped(rate(&least)),
        swept.label(least),
        fall.evidence
    );
    findings.push(about(series, text, numbers(fall.low.iter().chain(fall.high))));
}
