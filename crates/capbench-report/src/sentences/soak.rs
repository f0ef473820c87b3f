//! The words of `SoakAnswer` and `SoakFinding`: whether a soak sustained its load, and when frames were lost.

use capbench_judge::finding::soak::{SoakAnswer, SoakFinding, SoakSetUp};
use capbench_judge::soak::record::LossEvent;
use capbench_model::ledger::LostAt;

use super::{capitalised, noise, odd_frames_words};
use crate::figures::count;
use crate::naming::{self, Scene, list, many, percent, time};

/// The sentence of an answer.
pub(super) fn answer_words(answer: &SoakAnswer) -> String {
    match answer {
        SoakAnswer::Loss { set_up, lost, sent, loss_ratio, intended_pps, sending_s, cut_from_s } => {
            let method = match set_up {
                Some(set_up) => set_up_words(set_up),
                None => "the method".into(),
            };
            let lost = match lost {
                0 => "lost nothing".into(),
                lost => format!("lost {} ({})", many(*lost, "frame", "frames"), percent(*loss_ratio)),
            };
            // A soak that was stopped before its end.
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
            let bursts = match bursts {
                Some(bursts) => format!(" and in {}", many(*bursts, "burst", "bursts")),
                None => String::new(),
            };
            let largest = match largest {
                Some(burst) => largest_burst(burst),
                None => String::new(),
            };
            format!(
                "They were lost in {} of {}{bursts}{}{largest}.",
                count(*lossy_segments),
                many(*segments, "segment", "segments"),
                at_places(places)
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
            capitalised(&format!("{}.", list(&words)))
        }
    }
}

/// The method, and its set-up in brackets.
fn set_up_words(set_up: &SoakSetUp) -> String {
    let scene = Scene {
        frame_size: set_up.frame_size.clone(),
        placement: set_up.placement.clone(),
        work: set_up.work.clone(),
    };
    format!("{} ({})", set_up.method, scene.words())
}

/// `: ring 9 and backlog 1`; empty without a place.
fn at_places(places: &[LostAt]) -> String {
    if places.is_empty() {
        return String::new();
    }
    let mut frames_by_place = Vec::new();
    for lost in places {
        frames_by_place.push(format!("{} {}", lost.place.key(), count(lost.frames)));
    }
    format!(": {}", list(&frames_by_place))
}

fn largest_burst(event: &LossEvent) -> String {
    format!(", the largest of {} after {}", many(event.frames, "frame", "frames"), time(event.at_s))
}

/// The text of a fact.
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
        SoakFinding::OddFrames { frames } => odd_frames_words(frames),
        SoakFinding::Noisy { noise, segments } => {
            let segments = many(*segments, "segment", "segments");
            format!("Noisy: {segments}: {}.", noise::words(noise))
        }
        SoakFinding::FurtherNoise { reports, stored_reasons } => format!(
            "Further reasons of noise came up {}; the first {stored_reasons} are stored.",
            many(*reports, "time", "times")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{LossEvent, LostAt, SoakAnswer, SoakFinding, SoakSetUp, answer_words, words};
    use capbench_judge::finding::OddFrames;
    use capbench_model::noise::Noise;
    use capbench_model::places::Place;
    use capbench_model::trial::SizeLabel;

    #[test]
    fn the_verdict_says_what_was_lost_of_what_was_sent() {
        let set_up = SoakSetUp {
            method: "recv".into(),
            frame_size: SizeLabel::Octets(64),
            placement: "same".into(),
            work: "none".into(),
        };
        let answer = |lost, set_up, cut_from_s| SoakAnswer::Loss {
            set_up,
            lost,
            sent: 2000,
            loss_ratio: 0.5,
            intended_pps: 1000.0,
            sending_s: 2.0,
            cut_from_s,
        };
        assert_eq!(
            answer_words(&answer(0, Some(set_up), None)),
            "recv (64-byte frames, placement same) lost nothing of 2,000 frames sent at 1,000 packets/s for 2 s."
        );
        assert_eq!(
            answer_words(&answer(1000, None, Some(10.0))),
            "the method lost 1,000 frames (50 %) of 2,000 frames sent at 1,000 packets/s for 2 s, where 10 s were planned."
        );
    }

    #[test]
    fn when_frames_were_lost_is_one_sentence() {
        let largest = LossEvent { at_s: 12.0, unix_s: 0.0, length_s: 0.1, frames: 7 };
        let answer = |bursts, places, largest| SoakAnswer::WhenLost {
            lossy_segments: 2,
            segments: 10,
            bursts,
            places,
            largest,
        };
        let lost = [(Place::Ring, 9), (Place::Backlog, 1)];
        let places = lost.map(|(place, frames)| LostAt { place, frames }).to_vec();
        assert_eq!(
            answer_words(&answer(Some(3), places, Some(largest))),
            "They were lost in 2 of 10 segments and in 3 bursts: ring 9 and backlog 1, the largest of 7 frames after 12 s."
        );
        assert_eq!(answer_words(&answer(None, Vec::new(), None)), "They were lost in 2 of 10 segments.");
    }

    #[test]
    fn doubts_are_one_sentence() {
        let all = SoakAnswer::Doubts {
            unsent_ratio: Some(0.5),
            buffered_ratio: Some(0.25),
            unexplained: Some(-3),
            invalid_segments: 2,
        };
        assert_eq!(
            answer_words(&all),
            "The generator did not send 50 % of the load, 25 % of the frames were delivered only because the generator pauses \
             after each segment, -3 frames are unexplained and 2 segments are invalid."
        );
    }

    #[test]
    fn each_fact_has_its_sentence() {
        let worst = |worst_100ms_lost| SoakFinding::WorstSegment {
            from_s: 20.0,
            lost: 1000,
            sent: 5000,
            worst_100ms_lost,
        };
        let buffered = SoakFinding::Buffered {
            buffered_segments: 2,
            segments: 10,
            behind_s: 1.5,
            frames: 300,
            sent: 1000,
            ratio: 0.3,
        };
        let sentences = [
            (
                worst(Some(70)),
                "The worst segment began after 20 s and lost 1,000 of 5,000 frames, up to 70 of them within 100 ms.",
            ),
            (
                worst(None),
                "The worst segment began after 20 s and lost 1,000 of 5,000 frames, up to an unknown number of them within \
                 100 ms.",
            ),
            (
                SoakFinding::StoredBursts { bursts: 1000, stored: 256 },
                "Of 1,000 bursts of loss, 256 are stored with their time.",
            ),
            (
                buffered,
                "At the end of 2 of 10 segments frames were in buffers, up to 1.500 s of work: 300 of 1000 (3.000e-1) were \
                 delivered only because the generator paused, and without pauses they would have added up until some were lost.",
            ),
            (
                SoakFinding::FewUnsent { unsent: 5, intended: 10_000 },
                "The generator did not send 5 of 10,000 intended frames.",
            ),
            (SoakFinding::AllExplained, "Every packet is accounted for: unexplained is 0 in the sum."),
            (
                SoakFinding::Unexplained { packets: 3, invalid_segments: 2 },
                "3 packets are not explained by any counter; the account of 2 segments contradicts itself.",
            ),
            (
                SoakFinding::Noisy { noise: Noise::from_earlier("a CPU was slow"), segments: 2 },
                "Noisy: 2 segments: a CPU was slow.",
            ),
            (
                SoakFinding::FurtherNoise { reports: 37, stored_reasons: 64 },
                "Further reasons of noise came up 37 times; the first 64 are stored.",
            ),
        ];
        for (fact, sentence) in sentences {
            assert_eq!(words(&fact), sentence);
        }
        // The words of `OddFrames` are tested with those of trials.
        let frames = OddFrames { foreign: 1, duplicates: 2, reordered: 3, truncated: 4, corrupt: 5 };
        let odd = SoakFinding::OddFrames { frames };
        assert!(words(&odd).starts_with("1 foreign, 2 duplicate, 3 reordered, 4 cut"));
    }
}
