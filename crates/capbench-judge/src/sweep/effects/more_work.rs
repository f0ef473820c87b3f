//! Whether more work per packet leads to more packets: whether the sustainable rate of a method rises with the work, from points
//! at which it does not keep up.

use super::{Effect, Excluded, LargestRise, RiseAnswer, ShownEffect, SustainedPart};
use crate::sweep::contrasts::{Rise, Rises, block_pairs, middle};
use crate::sweep::limits::Limits;
use crate::sweep::outcome::{Reading, Series, Swept, numbers, sustained_pps};
use crate::thresholds::EQUAL_RATES;
use capbench_model::statistics::shift::Groups;

/// Whether the first effect appears with a method.
pub(super) fn more_packets<'r>(swept: &Swept<'r>, series: &'r Series) -> ShownEffect<'r> {
    let effect = Effect::MoreWorkMorePackets { answer: answer(swept, &series.readings) };
    ShownEffect { series, effect, trials: numbers(&series.readings) }
}

fn answer<'r>(swept: &Swept<'r>, readings: &'r [Reading]) -> RiseAnswer {
    if !readings.iter().any(Reading::falls_short) {
        let is_clean = readings.iter().all(Reading::is_clean);
        let up_to = readings.last().map_or("?", |last| swept.label(last));
        return RiseAnswer::HardlyAnyLoss { is_clean, up_to: up_to.into() };
    }
    let rises = Rises::find(swept, readings, sustained_pps);
    if let Some(rise) = rises.largest(|rise| starts_short(rise) && is_notable(swept, rise)) {
        return RiseAnswer::Appears { rise: largest_rise(swept, rise) };
    }
    match excluded_rise(swept, readings) {
        None => RiseAnswer::Undecided { visits: swept.outcome.repeats, points: readings.len() },
        Some(excluded) => {
            let largest = largest_seen(&rises).map(|rise| largest_rise(swept, rise));
            RiseAnswer::DoesNotAppear { largest, excluded }
        }
    }
}

/// Whether the method keeps up at none of the points with the lower rate.
fn starts_short(rise: &Rise<'_>) -> bool {
    rise.low.iter().all(Reading::falls_short)
}

fn is_notable(swept: &Swept<'_>, rise: &Rise<'_>) -> bool {
    let rates = rise.low.iter().map(|reading| swept.sustained_pps(reading));
    rise.gain > EQUAL_RATES * middle(rates)
}

/// The largest rise, whether or not chance explains it.
fn largest_seen<'s, 'r>(rises: &'s Rises<'r>) -> Option<&'s Rise<'r>> {
    let seen = rises.all.iter().filter(|rise| starts_short(rise) && rise.gain > 0.0);
    seen.max_by(|a, b| a.gain.total_cmp(&b.gain))
}

/// The rise that the repeats exclude, from points at which the method does not keep up.
fn excluded_rise(swept: &Swept<'_>, readings: &[Reading]) -> Option<Excluded> {
    let limits = Limits::from_comparisons(|width| compared_blocks(swept, readings, width))?;
    Excluded::from_limits(&limits, |first, width| {
        readings[first..first + width].iter().all(Reading::falls_short)
    })
}

/// The rates of every block of `width` neighbouring points and of every later block of the same length, by the first point.
fn compared_blocks(swept: &Swept<'_>, readings: &[Reading], width: usize) -> Vec<(usize, Vec<Groups>)> {
    let rates: Vec<Vec<f64>> = readings.iter().map(|reading| swept.sustained(reading)).collect();
    let mut compared = Vec::new();
    for blocks in block_pairs(readings.len(), width) {
        let first = blocks.earlier.start;
        compared.push((first, vec![(rates[blocks.earlier].concat(), rates[blocks.later].concat())]));
    }
    compared
}

fn largest_rise<'r>(swept: &Swept<'r>, rise: &Rise<'r>) -> LargestRise {
    LargestRise {
        low: SustainedPart::new(swept, rise.low),
        high: SustainedPart::new(swept, rise.high),
        evidence: rise.evidence,
    }
}
