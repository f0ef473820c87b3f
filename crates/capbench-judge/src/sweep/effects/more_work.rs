//! Whether more work per packet leads to more packets: whether the sustainable rate of a method rises with the work, from points
//! at which it does not keep up.

use super::words::{self, FIRST};
use super::{Appearance, Effect, EffectAnswer, EffectKind, ExcludedIncrease};
use crate::sweep::contrasts::{Rise, Rises, block_pairs, middle};
use crate::sweep::limits::Limits;
use crate::sweep::outcome::{Reading, Series, Swept, numbers, sustained_pps};
use crate::thresholds::EQUAL_RATES;
use capbench_model::statistics::shift::Groups;

/// Whether the first effect appears with a method.
pub(super) fn more_packets(swept: &Swept<'_>, series: &Series) -> Effect {
    let EffectAnswer { appearance, text } = answer(swept, &series.readings);
    Effect {
        kind: EffectKind::MoreWorkMorePackets,
        method: series.method.clone(),
        appearance,
        text,
        trials: numbers(&series.readings),
    }
}

fn answer(swept: &Swept<'_>, readings: &[Reading]) -> EffectAnswer {
    if !readings.iter().any(Reading::falls_short) {
        let last = words::labels(swept, readings.iter().rev().take(1));
        let lossless = words::lossless(readings);
        let text = format!("{FIRST} cannot appear: {lossless} up to {last}, so there are none to win.");
        return EffectAnswer { appearance: Appearance::CannotAppear, text };
    }
    let rises = Rises::find(swept, readings, sustained_pps);
    if let Some(rise) = rises.largest(|rise| starts_short(rise) && is_notable(swept, rise)) {
        let text = format!("{FIRST} appears: {}.", rise_in_words(swept, rise));
        return EffectAnswer { appearance: Appearance::Appears, text };
    }
    let Some(excluded) = excluded_rise(swept, readings) else {
        let text = format!(
            "{FIRST} cannot be decided: {} visits of {} points are no evidence of any rise, nor do they exclude one; give more \
             --visits.",
            swept.outcome.repeats,
            readings.len()
        );
        return EffectAnswer { appearance: Appearance::Inconclusive, text };
    };
    let largest = match largest_seen(&rises) {
        Some(rise) => format!("the largest rise is {}", rise_in_words(swept, rise)),
        None => "at no point are more captured than at one with less work".into(),
    };
    let limit = words::excluded_above("A rise", excluded.above);
    let text = format!("{FIRST} does not appear: {largest}. {limit} ({}).", excluded.basis);
    EffectAnswer { appearance: Appearance::DoesNotAppear { excluded_above: excluded.above }, text }
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
fn excluded_rise(swept: &Swept<'_>, readings: &[Reading]) -> Option<ExcludedIncrease> {
    let limits = Limits::from_comparisons(|width| compared_blocks(swept, readings, width))?;
    ExcludedIncrease::from_limits(&limits, |first, width| {
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

fn rise_in_words(swept: &Swept<'_>, rise: &Rise<'_>) -> String {
    format!(
        "{} at {}, {} at {} ({})",
        words::sustained_share(swept, rise.low.iter()),
        words::labels(swept, rise.low.iter()),
        words::sustained_share(swept, rise.high.iter()),
        words::labels(swept, rise.high.iter()),
        rise.evidence
    )
}
