//! Where each method begins to lose, and the most that it delivers.

use capbench_measure::results::Results;
use capbench_measure::sweep::{Reading, Series, SweepOutcome};

use super::sentence;
use crate::figures::number;
use crate::model::{Sentence, Unit};
use crate::naming::{many, percent, rate, time};

/// Series that are told one by one at most.
const TOLD: usize = 3;

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

pub(crate) fn label(sweep: &SweepOutcome, reading: &Reading) -> String {
    sweep.points.get(reading.point).map_or_else(|| "?".into(), |point| point.label.clone())
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

/// At which points a method loses frames.
pub(crate) fn onset(sweep: &SweepOutcome, series: &Series) -> Option<(String, Vec<u32>)> {
    let readings = &series.readings;
    let (first, last) = (readings.first()?, readings.last()?);
    let lossy: Vec<usize> =
        readings.iter().enumerate().filter(|(_, reading)| reading.loses()).map(|(at, _)| at).collect();
    let name = series.name();
    let (from, to) = (lossy.first().copied(), lossy.last().copied());
    let point = |at: usize| readings.get(at).map_or_else(String::new, |reading| label(sweep, reading));
    let place = |at: usize| {
        let lost = readings.get(at).and_then(|reading| reading.lost.first());
        lost.map_or_else(String::new, |lost| format!(", most {}", lost.place.words()))
    };
    let losing: Vec<&Reading> = readings.iter().filter(|reading| reading.loses()).collect();
    let how = how_often(&losing);
    let is_clean = readings.iter().filter(|reading| !reading.loses()).all(Reading::is_clean);
    let care = if is_clean { "" } else { " in most visits" };
    let is_run = from.zip(to).is_some_and(|(from, to)| to - from + 1 == lossy.len());
    let words = match (from, to) {
        (Some(0), Some(to)) if is_run && to + 1 == readings.len() => {
            format!("{name} loses frames{how} at every point{}", place(to))
        }
        (Some(from), Some(to)) if is_run && to + 1 == readings.len() => {
            format!(
                "{name} loses frames{how} from {} on{}, and none{care} up to {}",
                point(from),
                place(to),
                point(from - 1)
            )
        }
        (Some(0), Some(to)) if is_run => {
            format!(
                "{name} loses frames{how} up to {}{}, and none{care} from {} on",
                point(to),
                place(0),
                point(to + 1)
            )
        }
        (Some(from), Some(to)) => format!(
            "{name} loses frames{how} at {} of {} points, the first {}, the last {}{}{}",
            lossy.len(),
            readings.len(),
            point(from),
            point(to),
            place(to),
            if is_clean { "" } else { ", and at others in fewer visits" }
        ),
        _ if readings.len() == 1 => format!("{name} loses nothing{care} at {}", label(sweep, first)),
        _ => format!("{name} loses nothing{care} from {} to {}", label(sweep, first), label(sweep, last)),
    };
    let words = format!("{words}{}", only_buffered(sweep, readings));
    let evidence: Vec<&Reading> = match from {
        Some(_) => lossy.iter().filter_map(|at| readings.get(*at)).collect(),
        None => readings.iter().collect(),
    };
    Some((words, evidence.iter().flat_map(|reading| reading.trials.clone()).collect()))
}

/// Points at which nothing is lost only for as long as there is room for what is not taken.
fn only_buffered(sweep: &SweepOutcome, readings: &[Reading]) -> String {
    let is_so = |reading: &&Reading| reading.is_saturated() && !reading.loses();
    let all: Vec<&Reading> = readings.iter().filter(is_so).collect();
    let at = match all.as_slice() {
        [] => return String::new(),
        [one] => label(sweep, one),
        [first, ..] => format!("{} points, the first {},", all.len(), label(sweep, first)),
    };
    format!(", at {at} only because buffers hold what it does not take")
}

/// In how many of the visits frames are lost at points whose median visit loses some; empty where all visits do.
fn how_often(losing: &[&Reading]) -> &'static str {
    if losing.iter().all(|reading| reading.lossless == 0) {
        ""
    } else if losing.iter().all(|reading| reading.trials.len() > 2 * reading.lossless as usize) {
        " in most visits"
    } else {
        // The median of two visits is above 0 where one of them lost frames.
        " in half of the visits or more"
    }
}

/// The method and point that delivered most, with what was lost beside it.
fn most(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let readings = all(sweeps)
        .flat_map(|(sweep, series)| series.readings.iter().map(move |reading| (sweep, series, reading)))
        .filter(|(.., reading)| reading.back_to_back.is_none());
    let (sweep, series, reading) =
        readings.max_by(|a, b| a.2.delivered_pps.median.total_cmp(&b.2.delivered_pps.median))?;
    let lost = if reading.loses() {
        format!(" and lost {} of what was sent", percent(reading.sent_loss_ratio.median))
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
        rate(reading.delivered_pps.median),
        label(sweep, reading),
        many(reading.delivered_pps.repeats.into(), "visit", "visits")
    );
    Some(sentence(text, reading.trials.clone()))
}

/// The longest bursts without loss, where those were looked for.
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

/// The shortest and the longest of the bursts that a method takes without loss over the axis.
pub(crate) fn bursts_of(sweep: &SweepOutcome, series: &Series) -> Option<String> {
    let mut means: Vec<(&Reading, f64, Option<f64>)> = series
        .readings
        .iter()
        .filter_map(|reading| {
            let bursts = reading.back_to_back.as_ref()?;
            Some((reading, bursts.mean_frames?, bursts.implied_buffer_s))
        })
        .collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, most) = (means.first()?, means.last()?);
    let said = |(reading, frames, lasts): &(&Reading, f64, Option<f64>)| {
        let lasts = lasts.map_or_else(String::new, |seconds| format!(" ({})", time(seconds)));
        format!("{} frames{lasts} at {}", number(*frames, Unit::Count), label(sweep, reading))
    };
    let at_limit = series.readings.len() - means.len();
    let others = if at_limit > 0 {
        format!(", and none was found at {}", many(at_limit as u64, "other point", "other points"))
    } else {
        String::new()
    };
    Some(if means.len() == 1 {
        format!("takes {}{others}", said(least))
    } else {
        format!("takes {} to {}{others}", said(least), said(most))
    })
}
