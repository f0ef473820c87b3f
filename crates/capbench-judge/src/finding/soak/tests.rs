//! The facts and answers of a soak of one segment of a second, whose trial has the number 7.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::for_tests::{measured, profile};
use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::trial::{Load, Phase, TrialResult};

use super::answers::soak_answers;
use super::{SoakAnswer, SoakFinding, find};
use crate::finding::{Finding, OddFrames};
use crate::soak::record::SoakRecord;
use crate::soak::segment::Segment;

/// Intended frames of a segment.
const INTENDED: u64 = 1_000_000;

/// What a segment sent of [`INTENDED`] frames, and how many of these it lost.
struct Frames {
    unsent: u64,
    lost: u64,
}

impl Frames {
    const WHOLE: Self = Self { unsent: 0, lost: 0 };

    fn segment(&self) -> TrialResult {
        let sent = INTENDED - self.unsent;
        let measured = measured(INTENDED, sent, sent - self.lost, self.lost);
        measured.result(7, Phase::Soak, &profile("recv"), Load::Maximum, Duration::from_secs(1))
    }
}

/// A record of one segment, of this planned time.
fn record(trial: TrialResult, planned: Duration) -> SoakRecord {
    let mut record = SoakRecord::new(Pps::new(1e6).unwrap(), planned, Duration::from_secs(1));
    record.add(Segment { number: 1, began_unix_s: 0.0, resident_bytes: None, trial });
    record
}

/// A record of one segment that ran for the planned time.
fn whole_soak(trial: TrialResult) -> SoakRecord {
    record(trial, Duration::from_secs(1))
}

/// The facts about a soak, each with its only trial.
fn facts(record: &SoakRecord) -> Vec<SoakFinding> {
    let mut facts = Vec::new();
    for found in find(record) {
        assert_eq!(found.trials, [7]);
        if let Finding::Soak(fact) = found.fact {
            facts.push(fact);
        }
    }
    facts
}

#[test]
fn a_soak_without_loss_is_explained_and_in_no_doubt() {
    let record = whole_soak(Frames::WHOLE.segment());
    assert_eq!(facts(&record), [SoakFinding::AllExplained]);
    let answers = soak_answers(&record);
    assert!(matches!(&answers[..], [SoakAnswer::Loss { lost: 0, cut_from_s: None, .. }]), "{answers:?}");
}

#[test]
fn more_than_a_thousandth_of_unsent_frames_is_a_doubt_and_fewer_are_a_fact() {
    for (unsent, is_doubt) in [(800, false), (1000, false), (1200, true)] {
        let record = whole_soak(Frames { unsent, ..Frames::WHOLE }.segment());
        let few = SoakFinding::FewUnsent { unsent, intended: INTENDED };
        assert_eq!(facts(&record).contains(&few), !is_doubt, "{unsent}");
        let doubts = soak_answers(&record).into_iter().find_map(|answer| match answer {
            SoakAnswer::Doubts { unsent_ratio, .. } => unsent_ratio,
            _ => None,
        });
        assert_eq!(doubts.is_some(), is_doubt, "{unsent}");
    }
}

#[test]
fn a_soak_is_cut_short_if_more_than_a_thousandth_of_its_time_is_missing() {
    for (sending_s, cut_from_s) in [(999.2, None), (998.8, Some(1000.0))] {
        let trial = TrialResult { sending_s, ..Frames::WHOLE.segment() };
        let record = record(trial, Duration::from_secs(1000));
        let SoakAnswer::Loss { cut_from_s: found, .. } = &soak_answers(&record)[0] else { panic!() };
        assert_eq!(*found, cut_from_s, "{sending_s}");
    }
}

#[test]
fn loss_has_its_share_its_place_and_its_worst_segment() {
    let record = whole_soak(Frames { lost: 500, ..Frames::WHOLE }.segment());
    let worst = SoakFinding::WorstSegment { from_s: 0.0, lost: 500, sent: INTENDED, worst_100ms_lost: None };
    assert_eq!(facts(&record), [worst, SoakFinding::AllExplained]);
    let answers = soak_answers(&record);
    let [SoakAnswer::Loss { lost: 500, loss_ratio, .. }, lost] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(*loss_ratio, 5e-4);
    let places = vec![LostAt { place: Place::Ring, frames: 500 }];
    let expected =
        SoakAnswer::WhenLost { lossy_segments: 1, segments: 1, bursts: None, places, largest: None };
    assert_eq!(*lost, expected);
}

#[test]
fn an_account_that_contradicts_itself_and_frames_out_of_order_are_facts() {
    let mut record = whole_soak(Frames::WHOLE.segment());
    let whole = record.whole.as_mut().unwrap();
    whole.counts.unexplained = 3;
    whole.invalid = 1;
    whole.counts.reordered = 2;
    let odd = SoakFinding::OddFrames { frames: OddFrames { reordered: 2, ..OddFrames::default() } };
    let unexplained = SoakFinding::Unexplained { packets: 3, invalid_segments: 1 };
    assert_eq!(facts(&record), [unexplained, odd]);
    let doubts = SoakAnswer::Doubts {
        unsent_ratio: None,
        buffered_ratio: None,
        unexplained: Some(3),
        invalid_segments: 1,
    };
    assert!(soak_answers(&record).contains(&doubts));
}
