//! Up to where each method of a sweep keeps up, its cost, where one overtakes another, and the most that it delivers.

mod buffers;
mod cheapest;
mod crossings;
mod members;
mod onset;
mod regimes;
use capbench_judge::sweep::contrasts::Rises;
use capbench_judge::sweep::effects::effects;
use capbench_judge::sweep::outcome::{Swept, numbers};
use capbench_judge::sweep::{Analysis, Reading, Series, SweepOutcome};
use capbench_model::figures::grouped;
use capbench_model::trial::TrialResult;
use capbench_results::{Finding, Results};

use super::{first_of, sentence};
use crate::model::Sentence;
use crate::naming::{self, many};

pub(crate) use buffers::bursts_of;

/// Most series that are listed one by one.
const MOST: usize = 3;
/// A drop of the delivered rate by less than this share of the higher rate does not count.
const FALLS: f64 = 0.05;

/// Up to which point each method keeps up, or how it scales; then the most that is delivered.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let sweeps = &results.sweeps;
    if let Some(scaling) = members::answer(results) {
        return [Some(scaling), most(sweeps)].into_iter().flatten().collect();
    }
    [kept_up(sweeps, &results.trials), bursts(sweeps), most(sweeps)].into_iter().flatten().collect()
}

fn all(sweeps: &[SweepOutcome]) -> impl Iterator<Item = (&SweepOutcome, &Series)> {
    sweeps.iter().flat_map(|sweep| sweep.series.iter().map(move |series| (sweep, series)))
}

/// Whether bursts were searched for at its points.
pub(crate) fn is_of_bursts(series: &Series) -> bool {
    series.readings.iter().any(|reading| reading.back_to_back.is_some())
}

/// Series whose points are loads, those that keep up at most points first.
pub(crate) fn ranked(sweeps: &[SweepOutcome]) -> Vec<(&SweepOutcome, &Series)> {
    let mut ranked: Vec<_> = all(sweeps).filter(|(_, series)| !is_of_bursts(series)).collect();
    let kept = |series: &Series| series.readings.iter().filter(|reading| !reading.falls_short()).count();
    ranked.sort_by_key(|(_, series)| std::cmp::Reverse(kept(series)));
    ranked
}

/// Up to which point each series keeps up. What all share is said once.
fn kept_up(sweeps: &[SweepOutcome], run: &[TrialResult]) -> Option<Sentence> {
    let ranked = ranked(sweeps);
    let scene = ranked.first()?.1.scene();
    let is_shared = ranked.iter().all(|(_, series)| series.scene() == scene);
    let words = ranked.iter().map(|(sweep, series)| {
        let name = if is_shared { series.method.to_string() } else { series.name() };
        let trials = series.readings.iter().flat_map(|reading| reading.trials.clone()).collect();
        let points = keeps_up(&Swept::new(sweep, run), series);
        (format!("{name} keeps up {}", points.strip_prefix("up ").unwrap_or(&points)), trials)
    });
    let Sentence { text, trials } = first_of(&words.collect::<Vec<_>>(), MOST)?;
    let scene = scene.filter(|_| is_shared).map_or_else(String::new, |scene| format!("With {scene}: "));
    Some(Sentence { text: format!("{scene}{text}"), trials })
}

/// Whether the generator sent the intended load in most trials of a point, within 5 %.
fn is_sent(swept: &Swept<'_>, reading: &Reading) -> bool {
    let sent =
        swept.of(reading).filter(|trial| trial.intended.saturating_sub(trial.sent) * 20 <= trial.intended);
    2 * sent.count() >= reading.trials.len()
}

/// The points of a series at which it neither loses frames nor only buffers them.
pub(crate) fn keeps_up(swept: &Swept<'_>, series: &Series) -> String {
    let (sweep, readings) = (swept.outcome, &series.readings);
    let keeps = |reading: &Reading| !reading.falls_short() && is_sent(swept, reading);
    let kept: Vec<&Reading> = readings.iter().filter(|reading| keeps(reading)).collect();
    let first_short = readings.iter().position(|reading| !keeps(reading)).unwrap_or(readings.len());
    let unsent = readings.iter().filter(|reading| !reading.falls_short() && !keeps(reading)).count();
    let points = kept_points(sweep, readings, &kept, first_short);
    match unsent {
        0 => points,
        _ => format!(
            "{points} (the generator did not send the load at {})",
            many(unsent as u64, "point", "points")
        ),
    }
}

fn kept_points(sweep: &SweepOutcome, readings: &[Reading], kept: &[&Reading], first_short: usize) -> String {
    match kept {
        [] => "at no point".into(),
        all if all.len() == readings.len() => "at every point".into(),
        [.., last] if sweep.unit.is_some() && kept.len() == first_short => {
            format!("up to {}", sweep.label(last))
        }
        [first, ..] if sweep.unit.is_some() && first.point + kept.len() == sweep.points.len() => {
            format!("from {} on", sweep.label(first))
        }
        some => {
            let labels: Vec<&str> = some.iter().take(MOST).map(|reading| sweep.label(reading)).collect();
            let more = if some.len() > MOST { ", …" } else { "" };
            format!("only at {}{more}", labels.join(", "))
        }
    }
}

/// The point at which a series reads most frames per second, and this rate. Frames that were only in buffers do not count.
pub(crate) fn reads_most(series: &Series) -> Option<(f64, &Reading)> {
    let readings = series.readings.iter().filter(|reading| reading.back_to_back.is_none());
    let rates = readings.map(|reading| (reading.taken_pps.median, reading));
    rates.max_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// The method and point with the highest rate, and its loss.
fn most(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let series = all(sweeps).filter_map(|(sweep, series)| Some((sweep, series, reads_most(series)?)));
    let (sweep, series, (pps, reading)) = series.max_by(|(.., (a, _)), (.., (b, _))| a.total_cmp(b))?;
    let lost = if reading.loses() {
        format!(", and lost {} of what was sent", naming::percent(reading.sent_loss_ratio.median))
    } else if reading.is_saturated() {
        ", while its buffers filled".into()
    } else if reading.is_clean() {
        ", and lost nothing".into()
    } else {
        ", and lost nothing in most visits".into()
    };
    let is_shared = all(sweeps).all(|(_, other)| other.scene() == series.scene());
    let name = if is_shared { series.method.to_string() } else { series.name() };
    let text = format!(
        "{name} read most: {} at {}{lost} (medians of {}).",
        naming::rate(pps),
        sweep.label(reading),
        many(reading.delivered_pps.repeats.into(), "visit", "visits")
    );
    Some(sentence(text, reading.trials.clone()))
}

/// The longest bursts without loss, if they were searched for.
fn bursts(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let found: Vec<(String, &Series)> = all(sweeps)
        .filter_map(|(sweep, series)| {
            Some((format!("{} {}", series.name(), bursts_of(sweep, series)?), series))
        })
        .take(MOST)
        .collect();
    let words: Vec<&str> = found.iter().map(|(words, _)| words.as_str()).collect();
    let readings = found.iter().flat_map(|(_, series)| &series.readings);
    let bursts = readings.filter_map(|reading| reading.back_to_back.as_ref());
    let trials = bursts.flat_map(|bursts| bursts.searches.iter().flat_map(|search| search.trials.clone()));
    let text = format!("Longest bursts without loss: {}.", words.join("; "));
    (!found.is_empty()).then(|| sentence(text, trials))
}

/// All findings of a sweep beyond those of its single trials.
pub(super) fn find(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Finding> {
    let swept = Swept::new(outcome, trials);
    let mut findings = Vec::new();
    for series in &outcome.series {
        if is_of_bursts(series) {
            findings.push(buffers::of(&swept, series));
            continue;
        }
        if outcome.axis.shows(Analysis::Scaling) {
            findings.extend(members::of_series(&swept, series));
            continue;
        }
        findings.extend(onset::of(&swept, series));
        match outcome.axis.facts().shows {
            Some(Analysis::CostRegimes) => findings.extend(regimes::of(&swept, series)),
            Some(Analysis::Livelock) => findings.extend(livelock(&swept, series)),
            Some(Analysis::LineRates | Analysis::Buffers | Analysis::Scaling) | None => {}
        }
    }
    if outcome.axis.shows(Analysis::CostRegimes) {
        let found = effects(&swept).into_iter();
        findings.extend(found.map(|(series, effect)| about(series, effect.text, effect.trials)));
    }
    crossings::find(&swept, &mut findings);
    cheapest::find(&swept, &mut findings);
    findings
}

fn about(series: &Series, text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: series.scene(), text: format!("{}: {text}", series.method), fact: None, trials }
}

/// Where more load delivers fewer packets.
fn livelock(swept: &Swept<'_>, series: &Series) -> Option<Finding> {
    // A value that falls with the load rises with its sign reversed.
    let found = Rises::of(swept, &series.readings, |trial| -trial.delivered_pps);
    let rate = |reading: &&Reading| reading.delivered_pps.median;
    let fall = found
        .largest(|rise| rise.gain > FALLS * rise.low.iter().map(|low| rate(&low)).fold(0.0, f64::max))?;
    let peak = fall.low.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let least = fall.high.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let text = format!(
        "livelock: {} packets/s are delivered at {} and only {} at {} ({}).",
        grouped(rate(&peak)),
        swept.label(peak),
        grouped(rate(&least)),
        swept.label(least),
        fall.evidence
    );
    Some(about(series, text, numbers(fall.low.iter().chain(fall.high))))
}
