//! The answers of a soak: whether the load was sustained, when frames were lost, and why the result is in doubt.

use std::cmp::Reverse;

use capbench_model::ledger::LostAt;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{SizeLabel, TrialResult};
use serde::Serialize;

use super::kept_trials;
use crate::finding::{Finding, Found};
use crate::soak::record::{Interval, LossEvent, SoakRecord};
use crate::sustained::soak::SoakDoubts;

/// An answer to the question of a soak.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SoakAnswer {
    /// What was lost of what was sent.
    Loss {
        /// What was measured; absent without a trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        set_up: Option<SoakSetUp>,
        /// Lost frames.
        lost: u64,
        /// Sent frames.
        sent: u64,
        /// Lost frames as a share of the sent ones.
        loss_ratio: f64,
        /// The intended load, frames per second.
        intended_pps: f64,
        /// Time of sending, in seconds.
        sending_s: f64,
        /// The planned time of sending, in seconds, if the soak was cut short.
        #[serde(skip_serializing_if = "Option::is_none")]
        cut_from_s: Option<f64>,
    },
    /// When and where frames were lost.
    WhenLost {
        /// Segments with loss.
        lossy_segments: u64,
        /// All segments.
        segments: u64,
        /// Bursts of loss; absent if frames were not inspected one by one.
        #[serde(skip_serializing_if = "Option::is_none")]
        bursts: Option<u64>,
        /// The places with their lost frames, most first.
        places: Vec<LostAt>,
        /// The largest burst that is stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        largest: Option<LossEvent>,
    },
    /// Why the result does not show a sustained load.
    Doubts {
        /// Share of the intended frames that was not sent, if it matters.
        #[serde(skip_serializing_if = "Option::is_none")]
        unsent_ratio: Option<f64>,
        /// Share of the sent frames that was delivered only because the generator pauses, if it matters.
        #[serde(skip_serializing_if = "Option::is_none")]
        buffered_ratio: Option<f64>,
        /// Frames that no counter explains, unless there are none.
        #[serde(skip_serializing_if = "Option::is_none")]
        unexplained: Option<i64>,
        /// Segments whose ledger contradicts itself.
        invalid_segments: u64,
    },
}

/// What a soak measured.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SoakSetUp {
    /// The method.
    pub method: SavedMethod,
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The placement.
    pub placement: SavedPlacement,
    /// The work per packet.
    pub work: SavedWork,
}

impl SoakSetUp {
    fn of_trial(trial: &TrialResult) -> Self {
        let profile = &trial.profile;
        Self {
            method: profile.method.clone(),
            frame_size: profile.frame_size.clone(),
            placement: profile.placement.clone(),
            work: profile.work.clone(),
        }
    }
}

/// The answers, the verdict first.
pub fn answers(record: &SoakRecord) -> Vec<Found> {
    let mut found = Vec::new();
    for answer in soak_answers(record) {
        found.push(Found::new(Finding::SoakAnswer(answer), kept_trials(record)));
    }
    found
}

/// The answers alone; none before the first segment ended.
pub(super) fn soak_answers(record: &SoakRecord) -> Vec<SoakAnswer> {
    let Some(whole) = &record.whole else { return Vec::new() };
    let mut answers = vec![SoakAnswer::Loss {
        set_up: record.kept.first().map(SoakSetUp::of_trial),
        lost: whole.lost(),
        sent: whole.counts.sent,
        loss_ratio: whole.lost() as f64 / whole.counts.sent.max(1) as f64,
        intended_pps: record.intended_pps,
        sending_s: whole.sending_s,
        cut_from_s: record.is_cut_short().then_some(record.planned_s),
    }];
    if whole.lost() > 0 {
        answers.push(when_lost(record, whole));
    }
    answers.extend(doubts(record, whole));
    answers
}

/// When and where frames were lost.
fn when_lost(record: &SoakRecord, whole: &Interval) -> SoakAnswer {
    let mut places = Vec::new();
    for (place, frames) in &whole.lost {
        if *frames > 0 {
            places.push(LostAt { place: *place, frames: *frames });
        }
    }
    places.sort_by_key(|lost| Reverse(lost.frames));
    SoakAnswer::WhenLost {
        lossy_segments: whole.lossy,
        segments: whole.segments,
        bursts: (record.bursts > 0).then_some(record.bursts),
        places,
        largest: record.events.iter().max_by_key(|event| event.frames).copied(),
    }
}

fn doubts(record: &SoakRecord, whole: &Interval) -> Option<SoakAnswer> {
    let doubts = SoakDoubts::of_record(record);
    let unexplained = Some(whole.counts.unexplained).filter(|packets| *packets != 0);
    if doubts == SoakDoubts::default() && unexplained.is_none() {
        return None;
    }
    let SoakDoubts { unsent_ratio, buffered_ratio, invalid_segments } = doubts;
    Some(SoakAnswer::Doubts { unsent_ratio, buffered_ratio, unexplained, invalid_segments })
}
