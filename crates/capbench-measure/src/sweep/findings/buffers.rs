//! How long buffers hold for, by ring, and what ends their growth.

use super::{Swept, about, time};
use crate::findings::Finding;
use crate::ledger::LostAt;
use crate::sweep::axis::AxisKind;
use crate::sweep::back_to_back::{BackToBack, BurstEnd};
use crate::sweep::outcome::{Reading, Series};

/// A buffer that grows by less than this part of what the ring does has another limit.
const KEEPS_UP: f64 = 0.5;

pub(super) fn of(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    let measured: Vec<(&Reading, &BackToBack)> = series
        .readings
        .iter()
        .filter_map(|reading| Some((reading, reading.back_to_back.as_ref()?)))
        .collect();
    let found: Vec<_> = measured.iter().filter(|(_, test)| test.mean_frames.is_some()).collect();
    let mut text = match found.as_slice() {
        [] => "no longest burst was found.".to_string(),
        [(reading, test)] => {
            format!("the longest burst without loss is {} at {}.", burst(test), swept.label(reading))
        }
        [(first, least), .., (last, most)] => format!(
            "the longest burst without loss grows from {} at {} to {} at {}.",
            burst(least),
            swept.label(first),
            burst(most),
            swept.label(last)
        ),
    };
    if swept.outcome.axis == AxisKind::Ring {
        growth(swept, &found, &mut text);
    }
    for (end, words) in [
        (BurstEnd::NoneHeld, "even the shortest burst loses frames"),
        (BurstEnd::NeverFills, "the load is held, so the buffer never fills and its length cannot be told"),
        (BurstEnd::AtLimit, "the burst is longer than the search went: the ring is no limit there"),
        (BurstEnd::GeneratorLimited, "the generator is the limit: it did not send at the rate of the burst"),
    ] {
        let at: Vec<_> = measured
            .iter()
            .filter(|(_, test)| test.searches.iter().any(|search| search.end == end))
            .map(|(reading, _)| swept.label(reading))
            .collect();
        if !at.is_empty() {
            text.push_str(&format!(" At {}: {words}.", at.join(", ")));
        }
    }
    let searches = measured.iter().flat_map(|(_, test)| &test.searches);
    let trials = searches.flat_map(|search| search.trials.iter().copied()).collect();
    findings.push(about(series, text, trials));
}

/// Up to where the buffer grows as the ring does, and what is full beyond.
fn growth(swept: &Swept<'_>, found: &[&(&Reading, &BackToBack)], text: &mut String) {
    let at = |reading: &Reading| swept.outcome.points.get(reading.point).and_then(|point| point.at);
    let mut grows = true;
    for two in found.windows(2) {
        let [(smaller, before), (larger, after)] = two else { continue };
        let (Some(small), Some(large)) = (at(smaller), at(larger)) else { return };
        let least_growth = 1.0 + KEEPS_UP * (large / small - 1.0);
        let (Some(a), Some(b)) = (before.mean_frames, after.mean_frames) else { continue };
        if b >= a * least_growth {
            continue;
        }
        grows = false;
        if is_told(before, after, least_growth) {
            let losses = after.searches.iter().flat_map(|search| &search.lost);
            let lost = LostAt::sum(losses.map(|lost| (lost.place, lost.frames)));
            let place = lost.first().map_or("a place that nothing counts".into(), |lost| {
                format!("longer bursts lose frames {}", lost.place.words())
            });
            text.push_str(&format!(
                " From {} on it does not grow with the ring any more: something else limits; {place}.",
                swept.label(larger)
            ));
            return;
        }
    }
    if grows && found.len() > 1 {
        text.push_str(" It grows with the ring at every step.");
    }
}

/// Whether it has not grown so much in any of the repeats: even the longest of those after the step is shorter than the
/// shortest before it, grown by that.
fn is_told(before: &BackToBack, after: &BackToBack, growth: f64) -> bool {
    let repeats = |test: &BackToBack| test.searches.iter().filter(|search| search.frames.is_some()).count();
    let apart = before
        .least_frames
        .zip(after.most_frames)
        .is_some_and(|(least, most)| (most as f64) < least as f64 * growth);
    apart && repeats(before) > 1 && repeats(after) > 1
}

fn burst(test: &BackToBack) -> String {
    let frames = test.mean_frames.unwrap_or_default();
    let spread = test.deviation_frames.map_or(String::new(), |deviation| format!(" ± {deviation:.0}"));
    let time = test
        .drain_corrected_buffer_s
        .map_or(String::new(), |s| format!(" (buffer time less what was drained {})", time(s * 1e9)));
    format!("{frames:.0}{spread} frames{time}")
}
