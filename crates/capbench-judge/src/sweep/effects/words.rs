//! Parts of the sentences about both effects. They are saved as the evidence of claims of publications.

use crate::sweep::contrasts::middle;
use crate::sweep::outcome::{Reading, Swept};
use capbench_model::figures::{grouped, percent};

/// How the sentences about more work per packet begin.
pub(super) const FIRST: &str = "Dain's first effect (more work per packet, more packets)";
/// How the sentences about a ring and a socket begin.
pub(super) const SECOND: &str =
    "Dain's second effect (a ring captures less than a socket's queue once packets are lost)";

/// The excluded increase, as a share of the smaller rate.
pub(super) fn excluded_above(what: &str, increase: f64) -> String {
    if increase == 0.0 {
        format!("{what} is excluded")
    } else {
        format!("{what} above {:.2} % is excluded", increase * 100.0)
    }
}

/// How few packets are lost, if no point loses any in most of its trials.
pub(super) fn lossless<'r>(readings: impl IntoIterator<Item = &'r Reading>) -> &'static str {
    if readings.into_iter().all(Reading::is_clean) {
        "no packets are lost"
    } else {
        "packets are lost now and then only"
    }
}

/// The sustained rate, as a share of the offered load and as a rate: medians over the points.
pub(super) fn sustained_share<'r>(
    swept: &Swept<'_>,
    readings: impl IntoIterator<Item = &'r Reading>,
) -> String {
    let mut shares = Vec::new();
    let mut rates = Vec::new();
    for reading in readings {
        let sustained_pps = swept.sustained_pps(reading);
        shares.push(sustained_pps / reading.offered_pps.median);
        rates.push(sustained_pps);
    }
    format!("{} ({} packets/s)", percent(middle(shares)), grouped(middle(rates)))
}

/// The names of the first and the last point.
pub(super) fn labels<'r>(swept: &Swept<'r>, mut readings: impl Iterator<Item = &'r Reading>) -> String {
    let first = readings.next().map_or("?", |reading| swept.label(reading));
    match readings.last() {
        Some(last) => format!("{first} to {}", swept.label(last)),
        None => first.into(),
    }
}
