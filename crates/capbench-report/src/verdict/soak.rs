//! Whether the load was held, and what was lost when.

use capbench_measure::results::Results;
use capbench_measure::soak::record::{Interval, SoakRecord};

use super::{capital, sentence};
use crate::figures::count;
use crate::model::Sentence;
use crate::naming::{Scene, list, many, percent, rate, time};

/// Share of the frames from which on what was not sent, or lay in buffers, is worth a sentence.
const NOTED: f64 = 1e-3;

pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let Some(record) = &results.soak else { return Vec::new() };
    let Some(whole) = &record.whole else { return Vec::new() };
    let kept: Vec<u32> = record.kept.iter().map(|trial| trial.number).collect();
    let mut sentences = vec![sentence(held(record, whole), kept.clone())];
    sentences.extend(lost(record, whole).map(|text| sentence(text, kept.clone())));
    sentences.extend(beside(record, whole).map(|text| sentence(text, kept)));
    sentences
}

fn held(record: &SoakRecord, whole: &Interval) -> String {
    let method = record.kept.first().map_or_else(
        || "the method".into(),
        |trial| format!("{} ({})", trial.profile.method, Scene::of(trial).words()),
    );
    let asked = rate(record.intended_pps);
    let lost = match whole.lost() {
        0 => "lost nothing".into(),
        lost => format!("lost {} ({} %)", many(lost, "frame", "frames"), ppm(lost, whole.counts.sent)),
    };
    let cut = if whole.sending_s < record.planned_s * (1.0 - NOTED) {
        format!(", where {} were planned", time(record.planned_s))
    } else {
        String::new()
    };
    format!(
        "{method} {lost} of {} sent at {asked} for {}{cut}.",
        many(whole.counts.sent, "frame", "frames"),
        time(whole.sending_s)
    )
}

fn ppm(part: u64, whole: u64) -> String {
    crate::figures::number(part as f64 / whole.max(1) as f64, crate::model::Unit::Ratio)
}

fn lost(record: &SoakRecord, whole: &Interval) -> Option<String> {
    if whole.lost() == 0 {
        return None;
    }
    let mut places: Vec<(&String, &u64)> = whole.lost.iter().filter(|(_, frames)| **frames > 0).collect();
    places.sort_by_key(|(_, frames)| std::cmp::Reverse(**frames));
    let places: Vec<String> =
        places.iter().map(|(place, frames)| format!("{place} {}", count(**frames))).collect();
    let at = if places.is_empty() { String::new() } else { format!(": {}", list(&places)) };
    // Without a look at each frame nobody knows of bursts.
    let bursts = match record.bursts {
        0 => String::new(),
        bursts => format!(" and in {}", many(bursts, "burst", "bursts")),
    };
    let largest = record.events.iter().max_by_key(|event| event.frames);
    let largest = largest.map_or_else(String::new, |event| {
        format!(", the largest of {} after {}", many(event.frames, "frame", "frames"), time(event.at_s))
    });
    Some(format!(
        "They were lost in {} of {}{bursts}{at}{largest}.",
        count(whole.lossy),
        many(whole.segments, "segment", "segments"),
    ))
}

/// What keeps the result from showing that the load is held.
fn beside(record: &SoakRecord, whole: &Interval) -> Option<String> {
    let mut words = Vec::new();
    if record.unsent_ratio() > NOTED {
        words.push(format!("the generator did not send {} of the load", percent(record.unsent_ratio())));
    }
    if record.untaken_ratio() > NOTED {
        words.push(format!(
            "{} of the frames were delivered only because the generator pauses after each segment",
            percent(record.untaken_ratio())
        ));
    }
    if whole.counts.unexplained != 0 {
        words.push(format!("{} frames are unexplained", whole.counts.unexplained));
    }
    if whole.invalid > 0 {
        words.push(format!("{} show nothing", many(whole.invalid, "segment", "segments")));
    }
    (!words.is_empty()).then(|| capital(&format!("{}.", list(&words))))
}
