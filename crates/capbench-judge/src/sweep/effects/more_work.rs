//! Whether more work per packet leads to more packets: whether the sustainable rate of a method rises with the work, from points
//! at which it does not keep up.

use super::{Effect, Excluded, LargestRise, RiseAnswer, ShownEffect, SustainedPart};
use crate::sweep::contrasts::{Rise, Rises, block_pairs, median_or_zero};
use crate::sweep::limits::{ComparedBlock, Limits};
use crate::sweep::outcome::{Reading, Series, Swept, numbers, sustained_pps};
use crate::thresholds::EQUAL_RATES;

/// Whether the first effect appears with a method.
pub(super) fn more_packets<'r>(swept: &Swept<'r>, series: &'r Series) -> ShownEffect<'r> {
    let effect = Effect::MoreWorkMorePackets { answer: answer(swept, &series.readings) };
    ShownEffect { series, effect, trials: numbers(&series.readings) }
}

/// Whether the sustainable rate rises with the work.
fn answer<'r>(swept: &Swept<'r>, readings: &'r [Reading]) -> RiseAnswer {
    if !readings.iter().any(Reading::falls_short) {
        let is_clean = readings.iter().all(Reading::is_clean);
        let up_to = readings.last().map_or("?", |last| swept.label(last));
        return RiseAnswer::HardlyAnyLoss { is_clean, up_to: up_to.into() };
    }
    let rises = Rises::find(swept, readings, sustained_pps);
    if let Some(rise) = rises.largest(|rise| starts_without_keeping_up(rise) && is_notable(swept, rise)) {
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
fn starts_without_keeping_up(rise: &Rise<'_>) -> bool {
    rise.low.iter().all(Reading::falls_short)
}

/// Whether a rise is large enough to matter.
fn is_notable(swept: &Swept<'_>, rise: &Rise<'_>) -> bool {
    let rates = rise.low.iter().map(|reading| swept.sustained_pps(reading));
    rise.gain > EQUAL_RATES * median_or_zero(rates)
}

/// The largest rise, whether or not chance explains it.
fn largest_seen<'s, 'r>(rises: &'s Rises<'r>) -> Option<&'s Rise<'r>> {
    let seen = rises.all.iter().filter(|rise| starts_without_keeping_up(rise) && rise.gain > 0.0);
    seen.max_by(|a, b| a.gain.total_cmp(&b.gain))
}

/// The rise that the repeats exclude, from points at which the method does not keep up.
fn excluded_rise(swept: &Swept<'_>, readings: &[Reading]) -> Option<Excluded> {
    let limits = Limits::from_comparisons(|width| compared_blocks(swept, readings, width))?;
    Excluded::from_limits(&limits, |block| readings[block].iter().all(Reading::falls_short))
}

/// Compares every block of `width` neighbouring points with every later block of the same length.
fn compared_blocks(swept: &Swept<'_>, readings: &[Reading], width: usize) -> Vec<ComparedBlock> {
    let rates: Vec<Vec<f64>> = readings.iter().map(|reading| swept.sustained(reading)).collect();
    let mut compared = Vec::new();
    for blocks in block_pairs(readings.len(), width) {
        let first_point = blocks.earlier.start;
        let groups = (rates[blocks.earlier].concat(), rates[blocks.later].concat());
        compared.push(ComparedBlock { first_point, strata: vec![groups] });
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
