//! When, and in which flows, lossy trials lost frames, by their loss patterns: at the start, in one interval, in one flow. Also
//! whether the marks of rings agree with the frames that are missing.

use capbench_model::loss_pattern::LossPattern;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{TrialResult, Verdict};
use serde::Serialize;

use super::{Finding, Found};
use crate::thresholds::{LOSS_AT_START, NOTABLE_LOSS_FACTOR, NOTABLE_LOST_FRAMES, START_WINDOWS};

/// A pattern of the loss of one trial, or of several together.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LossPatternFinding {
    /// The method loses frames when it starts, not because it is too slow.
    AtStart {
        /// The trial.
        trial: u32,
        /// Its method.
        method: SavedMethod,
        /// Share of the lost frames that were lost in the first 100 ms.
        share: f64,
        /// Lost frames of the trial.
        lost: u64,
    },
    /// One interval of 100 ms lost far more than the mean.
    WorstWindow {
        /// The trial.
        trial: u32,
        /// Its method.
        method: SavedMethod,
        /// When the interval began, in nanoseconds of the trial.
        from_ns: u64,
        /// Share of its frames that were lost.
        loss_ratio: f64,
        /// Share of all frames of the trial that were lost.
        trial_loss_ratio: f64,
        /// Bursts of loss in the trial.
        bursts: u64,
        /// Frames that the longest burst lost.
        longest_burst: u64,
    },
    /// One flow lost far more than all together.
    WorstFlow {
        /// The trial.
        trial: u32,
        /// Its method.
        method: SavedMethod,
        /// The flow.
        flow: u32,
        /// Share of its frames that were lost.
        loss_ratio: f64,
        /// Share of all frames of the trial that were lost.
        trial_loss_ratio: f64,
        /// Flows that lost frames.
        lossy_flows: u32,
        /// All flows.
        flows: u32,
    },
    /// Frames are missing at places that the ring did not mark.
    UnmarkedLoss {
        /// The trial.
        trial: u32,
        /// Its method.
        method: SavedMethod,
        /// Frames that the ring counted as lost.
        ring_drops: u64,
        /// How many of them are missing without a mark.
        without_mark: u64,
    },
    /// Every frame that a ring counted as lost is missing where the ring marked a loss, or at a trial's end.
    RingLossConfirmed {
        /// Frames that rings counted as lost.
        ring_drops: u64,
        /// Places that they marked.
        bursts: u64,
    },
}

/// All facts about the loss patterns of trials.
pub fn find(trials: &[TrialResult]) -> Vec<Found> {
    let mut found = Vec::new();
    for trial in trials.iter().filter(|trial| trial.verdict == Verdict::Lossy) {
        let Some(pattern) = &trial.loss_pattern else { continue };
        let mut facts = Vec::new();
        // Where the run searches for loss, each loss is expected.
        if !trial.phase.looks_for_loss() {
            // If the loss is at the start, the worst window is there, too.
            facts.extend(at_start(trial, pattern).or_else(|| worst_window(trial, pattern)));
            facts.extend(worst_flow(trial, pattern));
        }
        facts.extend(unmarked_loss(trial, pattern));
        for fact in facts {
            found.push(Found::new(Finding::LossPattern(fact), [trial.number]));
        }
    }
    found.extend(ring_loss_confirmed(trials));
    found
}

/// Loss at the start, which looks like a lack of capacity but is not.
fn at_start(trial: &TrialResult, pattern: &LossPattern) -> Option<LossPatternFinding> {
    if pattern.windows < START_WINDOWS || pattern.lost < NOTABLE_LOST_FRAMES {
        return None;
    }
    let share = pattern.lost_at_start as f64 / pattern.lost as f64;
    if share < LOSS_AT_START {
        return None;
    }
    Some(LossPatternFinding::AtStart {
        trial: trial.number,
        method: trial.profile.method.clone(),
        share,
        lost: pattern.lost,
    })
}

/// An interval that lost a far larger share of its frames than the trial.
fn worst_window(trial: &TrialResult, pattern: &LossPattern) -> Option<LossPatternFinding> {
    let worst = pattern.worst_window.filter(|worst| worst.lost >= NOTABLE_LOST_FRAMES)?;
    if worst.loss_ratio() < NOTABLE_LOSS_FACTOR * pattern.loss_ratio() {
        return None;
    }
    Some(LossPatternFinding::WorstWindow {
        trial: trial.number,
        method: trial.profile.method.clone(),
        from_ns: worst.from_ns,
        loss_ratio: worst.loss_ratio(),
        trial_loss_ratio: pattern.loss_ratio(),
        bursts: pattern.bursts.count,
        longest_burst: pattern.bursts.max.unwrap_or_default(),
    })
}

/// A flow that lost a far larger share of its frames than the trial.
fn worst_flow(trial: &TrialResult, pattern: &LossPattern) -> Option<LossPatternFinding> {
    let flows = pattern.flows.as_ref()?;
    let worst = flows.worst.first().filter(|worst| worst.lost >= NOTABLE_LOST_FRAMES && worst.sent > 0)?;
    let loss_ratio = worst.lost as f64 / worst.sent as f64;
    if loss_ratio < NOTABLE_LOSS_FACTOR * pattern.loss_ratio() {
        return None;
    }
    Some(LossPatternFinding::WorstFlow {
        trial: trial.number,
        method: trial.profile.method.clone(),
        flow: worst.flow,
        loss_ratio,
        trial_loss_ratio: pattern.loss_ratio(),
        lossy_flows: flows.lossy_flows,
        flows: flows.flows,
    })
}

/// Frames that the ring counted as lost, at places without a mark.
fn unmarked_loss(trial: &TrialResult, pattern: &LossPattern) -> Option<LossPatternFinding> {
    let marks = pattern.marks?;
    let without_mark = marks.drops_without_mark.filter(|without| *without > 0)?;
    Some(LossPatternFinding::UnmarkedLoss {
        trial: trial.number,
        method: trial.profile.method.clone(),
        ring_drops: marks.ring_drops?,
        without_mark,
    })
}

/// That ring marks and counters agree with the frame numbers, in the trials in which they do.
fn ring_loss_confirmed(trials: &[TrialResult]) -> Option<Found> {
    let mut agreeing = Vec::new();
    let mut ring_drops = 0;
    let mut bursts = 0;
    for trial in trials {
        let Some(marks) = trial.loss_pattern.as_ref().and_then(|pattern| pattern.marks) else { continue };
        let Some(drops) = marks.ring_drops.filter(|drops| *drops > 0) else { continue };
        if marks.drops_without_mark == Some(0) {
            agreeing.push(trial.number);
            ring_drops += drops;
            bursts += marks.bursts;
        }
    }
    if agreeing.is_empty() {
        return None;
    }
    let fact = LossPatternFinding::RingLossConfirmed { ring_drops, bursts };
    Some(Found::new(Finding::LossPattern(fact), agreeing))
}
