//! How long buffers last, by ring size, and what limits their growth.
use capbench_judge::bursts::BurstEnd;
use capbench_judge::sweep::back_to_back::BackToBack;
use capbench_judge::sweep::outcome::{Reading, Series, Swept};
use capbench_judge::sweep::{Analysis, SweepOutcome};
use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_results::Finding;

use super::about;
use crate::figures::number;
use crate::model::Unit;
use crate::naming;
use crate::sentences::{percent, time};

/// A buffer that grows by less than this share of the ring's growth has another limit.
const KEEPS_UP: f64 = 0.5;

pub(super) fn of(swept: &Swept<'_>, series: &Series) -> Finding {
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
    if swept.outcome.axis.shows(Analysis::Buffers) {
        growth(swept, &found, &mut text);
    }
    for (end, words) in [
        (BurstEnd::NoneHeld, "even the shortest burst loses frames"),
        (
            BurstEnd::NeverFills,
            "the application reads frames as fast as they come, so the buffer never fills and its length is unknown: the limit is the load",
        ),
        (BurstEnd::AtLimit, "the burst is longer than the search went: the ring is no limit there"),
        (BurstEnd::GeneratorLimited, "the generator is the limit: it did not send at the rate of the burst"),
        (BurstEnd::Invalid, "an invalid trial ended a search"),
        (BurstEnd::NotRun, "a burst could not be run"),
    ] {
        let ended = |test: &BackToBack| test.searches.iter().any(|search| search.end == end);
        let there: Vec<_> = measured.iter().filter(|(_, test)| ended(test)).collect();
        let at: Vec<_> = there.iter().map(|(reading, _)| swept.label(reading)).collect();
        let because = there.iter().flat_map(|(_, test)| &test.searches).find_map(|search| {
            search.because.as_ref().filter(|_| search.end == end).map(|why| format!(" ({why})"))
        });
        if !at.is_empty() {
            let because = because.unwrap_or_default();
            text.push_str(&format!(" At {}: {words}{because}.", at.join(", ")));
        }
    }
    let searches = measured.iter().flat_map(|(_, test)| &test.searches);
    let trials = searches.flat_map(|search| search.trials.iter().copied()).collect();
    about(series, text, trials)
}

/// Up to which ring size the buffer grows with the ring, and what is full beyond.
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
            text.push_str(&format!(
                " From {} on it does not grow with the ring any more: the limit is {}.",
                swept.label(larger),
                limit(after)
            ));
            return;
        }
    }
    if grows && found.len() > 1 {
        text.push_str(" It grows with the ring at every step.");
    }
}

/// The full resource if a larger ring allows no longer burst: where the shortest lossy bursts lost their frames.
fn limit(test: &BackToBack) -> String {
    let losses = test.searches.iter().flat_map(|search| &search.lost);
    let lost = LostAt::sum(losses.map(|lost| (lost.place, lost.frames)));
    let Some(most) = lost.first() else { return "a place that no counter here reports".into() };
    let what = match most.place {
        Place::Transmit | Place::Path | Place::Link | Place::Driver => "the link, the NIC or its driver",
        Place::LinkQueue | Place::Backlog => {
            "the kernel's receive work, which is behind before the ring is full"
        }
        Place::ApplicationQueue => "the application's queue, which is full before the ring",
        place if place.is_before_application() => {
            "the room that the ring has for frames, which grows less than its memory"
        }
        _ => "a place that no sweep explains",
    };
    let all: u64 = lost.iter().map(|lost| lost.frames).sum();
    let share = percent(most.frames as f64 / all as f64);
    format!("{what}; of what longer bursts lose, {share} is lost {}", most.place.words())
}

/// Whether all repeats agree that it did not grow: the longest burst after the step is shorter than the shortest before it
/// times the expected growth.
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
        .map_or(String::new(), |s| format!(" (drain-corrected buffer time {})", time(s * 1e9)));
    format!("{frames:.0}{spread} frames{time}")
}

/// The shortest and the longest burst without loss of a method over the axis.
pub(crate) fn bursts_of(sweep: &SweepOutcome, series: &Series) -> Option<String> {
    let bursts = series.readings.iter().filter_map(|reading| Some((reading, reading.back_to_back.as_ref()?)));
    let means =
        bursts.filter_map(|(reading, test)| Some((reading, test.mean_frames?, test.implied_buffer_s)));
    let mut means: Vec<(&Reading, f64, Option<f64>)> = means.collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, most) = (means.first()?, means.last()?);
    let said = |(reading, frames, lasts): &(&Reading, f64, Option<f64>)| {
        let lasts = lasts.map_or_else(String::new, |seconds| format!(" ({})", naming::time(seconds)));
        format!("{} frames{lasts} at {}", number(*frames, Unit::Count), sweep.label(reading))
    };
    let others = match (series.readings.len() - means.len()) as u64 {
        0 => String::new(),
        others => {
            format!(", and none was found at {}", naming::many(others, "other point", "other points"))
        }
    };
    Some(match means.len() {
        1 => format!("takes {}{others}", said(least)),
        _ => format!("takes {} to {}{others}", said(least), said(most)),
    })
}
