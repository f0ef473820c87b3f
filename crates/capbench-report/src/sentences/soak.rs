//! The words of soaks: whether the load was sustained, and when frames were lost.

use capbench_judge::finding::soak::{self, SoakAnswer, SoakFinding, SoakSetUp};
use capbench_judge::soak::record::LossEvent;
use capbench_model::places::Place;
use capbench_results::Results;

use super::{capital, odd_frames, sentence};
use crate::figures::count;
use crate::model::Sentence;
use crate::naming::{self, Scene, list, many, percent, time};

/// Whether the load was sustained, and when frames were lost.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let Some(record) = &results.soak else { return Vec::new() };
    let mut sentences = Vec::new();
    for answer in soak::answers(record) {
        sentences.push(sentence(answer_words(&answer), soak::kept_trials(record)));
    }
    sentences
}

fn answer_words(answer: &SoakAnswer) -> String {
    match answer {
        SoakAnswer::Loss { set_up, lost, sent, loss_ratio, intended_pps, sending_s, cut_from_s } => {
            let method = set_up.as_ref().map_or_else(|| "the method".into(), set_up_words);
            let lost = match lost {
                0 => "lost nothing".into(),
                lost => format!("lost {} ({})", many(*lost, "frame", "frames"), percent(*loss_ratio)),
            };
            let cut = match cut_from_s {
                Some(planned_s) => format!(", where {} were planned", time(*planned_s)),
                None => String::new(),
            };
            format!(
                "{method} {lost} of {} sent at {} for {}{cut}.",
                many(*sent, "frame", "frames"),
                naming::rate(*intended_pps),
                time(*sending_s)
            )
        }
        SoakAnswer::WhenLost { lossy_segments, segments, bursts, places, largest } => {
            let bursts = bursts
                .map_or_else(String::new, |bursts| format!(" and in {}", many(bursts, "burst", "bursts")));
            format!(
                "They were lost in {} of {}{bursts}{}{}.",
                count(*lossy_segments),
                many(*segments, "segment", "segments"),
                at_places(places),
                largest.as_ref().map_or_else(String::new, largest_burst)
            )
        }
        SoakAnswer::Doubts { unsent_ratio, buffered_ratio, unexplained, invalid_segments } => {
            let mut words = Vec::new();
            if let Some(ratio) = unsent_ratio {
                words.push(format!("the generator did not send {} of the load", percent(*ratio)));
            }
            if let Some(ratio) = buffered_ratio {
                words.push(format!(
                    "{} of the frames were delivered only because the generator pauses after each segment",
                    percent(*ratio)
                ));
            }
            if let Some(frames) = unexplained {
                words.push(format!("{frames} frames are unexplained"));
            }
            if *invalid_segments > 0 {
                words.push(format!("{} are invalid", many(*invalid_segments, "segment", "segments")));
            }
            capital(&format!("{}.", list(&words)))
        }
    }
}

fn set_up_words(set_up: &SoakSetUp) -> String {
    let scene = Scene {
        frame_size: set_up.frame_size.clone(),
        placement: set_up.placement.clone(),
        work: set_up.work.clone(),
    };
    format!("{} ({})", set_up.method, scene.words())
}

fn at_places(places: &[(Place, u64)]) -> String {
    if places.is_empty() {
        return String::new();
    }
    let places: Vec<String> =
        places.iter().map(|(place, frames)| format!("{} {}", place.key(), count(*frames))).collect();
    format!(": {}", list(&places))
}

fn largest_burst(event: &LossEvent) -> String {
    format!(", the largest of {} after {}", many(event.frames, "frame", "frames"), time(event.at_s))
}

/// The sentence of a fact.
pub(super) fn words(fact: &SoakFinding) -> String {
    match fact {
        SoakFinding::WorstSegment { from_s, lost, sent, worst_100ms_lost } => format!(
            "The worst segment began after {from_s:.0} s and lost {} of {} frames, up to {} of them within 100 ms.",
            count(*lost),
            count(*sent),
            worst_100ms_lost.map_or("an unknown number".into(), count)
        ),
        SoakFinding::StoredBursts { bursts, stored } => format!(
            "Of {} of loss, {} are stored with their time.",
            many(*bursts, "burst", "bursts"),
            count(*stored)
        ),
        SoakFinding::Buffered { buffered_segments, segments, behind_s, frames, sent, ratio } => format!(
            "At the end of {buffered_segments} of {segments} segments frames were in buffers, up to {behind_s:.3} s of work: \
             {frames} of {sent} ({ratio:.3e}) were delivered only because the generator paused, and without pauses they would \
             have added up until some were lost."
        ),
        SoakFinding::FewUnsent { unsent, intended } => {
            format!("The generator did not send {} of {} intended frames.", count(*unsent), count(*intended))
        }
        SoakFinding::AllExplained => "Every packet is accounted for: unexplained is 0 in the sum.".into(),
        SoakFinding::Unexplained { packets, invalid_segments } => format!(
            "{packets} packets are not explained by any counter; the account of {invalid_segments} segments contradicts itself."
        ),
        SoakFinding::OddFrames { foreign, duplicates, reordered, truncated, corrupt } => {
            odd_frames([*foreign, *duplicates, *reordered, *truncated, *corrupt])
        }
        SoakFinding::Noisy { reason, segments } => {
            format!("Noisy: {}: {reason}.", many(*segments, "segment", "segments"))
        }
        SoakFinding::FurtherNoise { reports, stored_reasons } => format!(
            "Further reasons of noise came up {}; the first {stored_reasons} are stored.",
            many(*reports, "time", "times")
        ),
    }
}
