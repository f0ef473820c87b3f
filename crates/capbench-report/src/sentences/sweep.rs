//! Where each method of a sweep starts to lose, its cost, where one overtakes another, and the most that it delivers.

mod buffers;
mod cheapest;
mod crossings;
mod livelock;
mod onset;
mod regimes;
use crate::results::{Finding, Results};
use capbench_model::trial::TrialResult;
use capbench_plan::sweep::effects::effects;
use capbench_plan::sweep::swept::Swept;
use capbench_plan::sweep::{AxisKind, Series, SweepOutcome};

use super::sentence;
use crate::model::Sentence;
use crate::naming::{self, many};

pub(crate) use buffers::bursts_of;
pub(crate) use onset::onset;

/// Most series that are listed one by one.
const TOLD: usize = 3;

/// Where each method starts to lose, and the most that it delivers.
pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    sentences.extend(onsets(&results.sweeps));
    sentences.extend(most(&results.sweeps));
    sentences.extend(bursts(&results.sweeps));
    sentences
}

fn all(sweeps: &[SweepOutcome]) -> impl Iterator<Item = (&SweepOutcome, &Series)> {
    sweeps.iter().flat_map(|sweep| sweep.series.iter().map(move |series| (sweep, series)))
}

fn onsets(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let told: Vec<(String, Vec<u32>)> = all(sweeps)
        .filter(|(_, series)| series.readings.iter().all(|reading| reading.back_to_back.is_none()))
        .filter_map(|(sweep, series)| onset(sweep, series))
        .collect();
    if told.is_empty() {
        return None;
    }
    let words: Vec<&str> = told.iter().take(TOLD).map(|(words, _)| words.as_str()).collect();
    let more = told.len().saturating_sub(TOLD);
    let rest = if more > 0 { format!("; {more} more stand in the table") } else { String::new() };
    let trials = told.iter().take(TOLD).flat_map(|(_, trials)| trials.clone());
    Some(sentence(format!("{}{rest}.", words.join("; ")), trials))
}

/// The method and point with the highest delivered rate, and its loss.
fn most(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let readings = all(sweeps)
        .flat_map(|(sweep, series)| series.readings.iter().map(move |reading| (sweep, series, reading)))
        .filter(|(.., reading)| reading.back_to_back.is_none());
    let (sweep, series, reading) =
        readings.max_by(|a, b| a.2.delivered_pps.median.total_cmp(&b.2.delivered_pps.median))?;
    let lost = if reading.loses() {
        format!(" and lost {} of what was sent", naming::percent(reading.sent_loss_ratio.median))
    } else if reading.is_saturated() {
        " and lost nothing of it only because buffers held what was not taken".into()
    } else if reading.is_clean() {
        " and lost nothing".into()
    } else {
        " and lost nothing in most visits".into()
    };
    let text = format!(
        "{} delivered most, {} at {}{lost} (medians of {}).",
        series.name(),
        naming::rate(reading.delivered_pps.median),
        sweep.label(reading),
        many(reading.delivered_pps.repeats.into(), "visit", "visits")
    );
    Some(sentence(text, reading.trials.clone()))
}

/// The longest bursts without loss, if they were searched for.
fn bursts(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let mut trials = Vec::new();
    let words: Vec<String> = all(sweeps)
        .filter_map(|(sweep, series)| {
            let words = bursts_of(sweep, series)?;
            let searches = series.readings.iter().flat_map(|reading| reading.back_to_back.iter());
            trials.extend(
                searches.flat_map(|bursts| bursts.searches.iter().flat_map(|search| search.trials.clone())),
            );
            Some(format!("{} {words}", series.name()))
        })
        .take(TOLD)
        .collect();
    if words.is_empty() {
        return None;
    }
    Some(sentence(format!("Longest bursts without loss: {}.", words.join("; ")), trials))
}

/// All findings of a sweep beyond those of its single trials.
pub(super) fn find(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Finding> {
    let swept = Swept::new(outcome, trials);
    let mut findings = Vec::new();
    for series in &outcome.series {
        if series.readings.iter().any(|reading| reading.back_to_back.is_some()) {
            buffers::of(&swept, series, &mut findings);
            continue;
        }
        onset::of(&swept, series, &mut findings);
        match outcome.axis {
            AxisKind::Work => regimes::of(&swept, series, &mut findings),
            AxisKind::Load => livelock::of(&swept, series, &mut findings),
            AxisKind::Size | AxisKind::Ring | AxisKind::Placement | AxisKind::Coalesce => {}
        }
    }
    if outcome.axis == AxisKind::Work {
        let found = effects(&swept).into_iter();
        findings.extend(found.map(|(series, effect)| about(series, effect.text, effect.trials)));
    }
    crossings::find(&swept, &mut findings);
    cheapest::find(&swept, &mut findings);
    findings
}

/// A finding about one series.
fn about(series: &Series, text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: series.scene(), text: format!("{}: {text}", series.method), trials }
}
