//! Whether more work per packet leads to more packets (Dain, 2004): whether the sustainable rate of a method rises with the work,
//! from points at which it falls short of the load.
//!
//! 1. A method that falls short at no point shows nothing.
//! 2. A rise that is more than chance, and large enough to matter, shows the effect.
//! 3. Otherwise the same blocks of points are asked how large a rise their repeats still allow. A larger one is excluded.

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

/// Whether the method falls short at all points with the lower rate.
fn starts_short(rise: &Rise<'_>) -> bool {
    rise.low.iter().all(Reading::falls_short)
}

/// Whether a rise is large enough to matter.
fn is_notable(swept: &Swept<'_>, rise: &Rise<'_>) -> bool {
    let rates = rise.low.iter().map(|reading| swept.sustained_pps(reading));
    rise.gain > EQUAL_RATES * median_or_zero(rates)
}

/// The largest rise, whether or not chance explains it.
fn largest_seen<'s, 'r>(rises: &'s Rises<'r>) -> Option<&'s Rise<'r>> {
    let seen = rises.all.iter().filter(|rise| starts_short(rise) && rise.gain > 0.0);
    seen.max_by(|a, b| a.gain.total_cmp(&b.gain))
}

/// The largest rise that the repeats still allow, from blocks with the less work in which the method falls short. Blocks have the
/// shortest width with enough repeats for a limit. `None` if there is none.
fn excluded_rise(swept: &Swept<'_>, readings: &[Reading]) -> Option<Excluded> {
    let limits = Limits::from_comparisons(|width| compared_blocks(swept, readings, width))?;
    Excluded::from_limits(&limits, |earlier_block| readings[earlier_block].iter().all(Reading::falls_short))
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
