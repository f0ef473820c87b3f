//! Whether the load of a soak was sustained, and when frames were lost.
use std::cmp::Reverse;

use capbench_judge::soak::record::{Interval, SoakRecord};
use capbench_model::places::Place;
use capbench_results::{Finding, Results};

use super::{capital, finding, odd_frames, sentence};
use crate::figures::count;
use crate::model::Sentence;
use crate::naming::{self, Scene, list, many, percent, time};

/// Share of the frames from which on unsent or buffered frames get a sentence.
const NOTED: f64 = 1e-3;

/// Whether the load was sustained, and when frames were lost.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let Some(record) = &results.soak else { return Vec::new() };
    let Some(whole) = &record.whole else { return Vec::new() };
    let kept = || record.kept.iter().map(|trial| trial.number);
    let texts = [Some(sustained(record, whole)), lost(record, whole), doubts(record, whole)];
    texts.into_iter().flatten().map(|text| sentence(text, kept())).collect()
}

fn sustained(record: &SoakRecord, whole: &Interval) -> String {
    let method = record.kept.first().map_or_else(
        || "the method".into(),
        |trial| format!("{} ({})", trial.profile.method, Scene::of(trial).words()),
    );
    let asked = naming::rate(record.intended_pps);
    let lost = match whole.lost() {
        0 => "lost nothing".into(),
        lost => {
            let share = percent(lost as f64 / whole.counts.sent.max(1) as f64);
            format!("lost {} ({share})", many(lost, "frame", "frames"))
        }
    };
    let cut = match whole.sending_s < record.planned_s * (1.0 - NOTED) {
        true => format!(", where {} were planned", time(record.planned_s)),
        false => String::new(),
    };
    format!(
        "{method} {lost} of {} sent at {asked} for {}{cut}.",
        many(whole.counts.sent, "frame", "frames"),
        time(whole.sending_s)
    )
}

fn lost(record: &SoakRecord, whole: &Interval) -> Option<String> {
    if whole.lost() == 0 {
        return None;
    }
    let mut places: Vec<(&Place, &u64)> = whole.lost.iter().filter(|(_, frames)| **frames > 0).collect();
    places.sort_by_key(|(_, frames)| Reverse(**frames));
    let places: Vec<String> =
        places.iter().map(|(place, frames)| format!("{} {}", place.key(), count(**frames))).collect();
    let at = if places.is_empty() { String::new() } else { format!(": {}", list(&places)) };
    // Without a look at each frame bursts are unknown.
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

/// Why the result does not show a sustained load.
fn doubts(record: &SoakRecord, whole: &Interval) -> Option<String> {
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
        words.push(format!("{} are invalid", many(whole.invalid, "segment", "segments")));
    }
    (!words.is_empty()).then(|| capital(&format!("{}.", list(&words))))
}

pub(super) fn find(record: &SoakRecord) -> Vec<Finding> {
    let Some(whole) = &record.whole else { return Vec::new() };
    let kept = || record.kept.iter().map(|trial| trial.number);
    let mut texts = Vec::new();
    if let Some(worst) = &record.worst {
        texts.push(format!(
            "The worst segment began after {:.0} s and lost {} of {} frames, up to {} of them within 100 ms.",
            worst.from_s,
            count(worst.lost()),
            count(worst.counts.sent),
            worst.worst_100ms_lost.map_or("an unknown number".into(), count)
        ));
    }
    if !record.events.is_empty() {
        let stored = count(record.events.len() as u64);
        texts.push(format!(
            "Of {} of loss, {stored} are stored with their time.",
            many(record.bursts, "burst", "bursts")
        ));
    }
    if whole.buffered > 0 {
        texts.push(format!(
            "At the end of {} of {} segments frames were in buffers, up to {:.3} s of work: {} of {} ({:.3e}) were delivered only \
             because the generator paused, and without pauses they would have added up until some were lost.",
            whole.buffered,
            whole.segments,
            whole.behind_s,
            whole.untaken,
            whole.counts.sent,
            record.untaken_ratio()
        ));
    }
    let unsent = whole.counts.intended.saturating_sub(whole.counts.sent);
    if unsent > 0 && record.unsent_ratio() <= NOTED {
        let intended = count(whole.counts.intended);
        texts.push(format!("The generator did not send {} of {intended} intended frames.", count(unsent)));
    }
    texts.push(match whole.counts.unexplained {
        0 if whole.invalid == 0 => "Every packet is accounted for: unexplained is 0 in the sum.".into(),
        unexplained => format!(
            "{unexplained} packets are not explained by any counter; the account of {} segments contradicts itself.",
            whole.invalid
        ),
    });
    let counts = &whole.counts;
    let odd = [counts.foreign, counts.duplicates, counts.reordered, counts.truncated, counts.corrupt];
    if odd.iter().any(|frames| *frames > 0) {
        texts.push(odd_frames(odd));
    }
    texts.extend(
        record.noise.iter().map(|(reason, segments)| {
            format!("Noisy: {}: {reason}.", many(*segments, "segment", "segments"))
        }),
    );
    if record.further_noise > 0 {
        let (times, stored) = (many(record.further_noise, "time", "times"), record.noise.len());
        texts.push(format!("Further reasons of noise came up {times}; the first {stored} are stored."));
    }
    texts.into_iter().map(|text| finding(text, kept())).collect()
}
