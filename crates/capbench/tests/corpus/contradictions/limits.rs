//! Whether trials agree with what is said to have limited them.

use std::collections::BTreeMap;

use super::median;
use crate::imports::{Limit, Place, TrialResult, buffered_frames};

/// Windows with a loss are few if less than one in this many has one.
const FEW_WINDOWS: u64 = 4;

/// What the trials say against a limit; `None` if they agree. `together` frames are sent at once.
pub fn against(limit: Limit, trials: &[&TrialResult], together: u32) -> Option<String> {
    if trials.is_empty() {
        return None;
    }
    let unsent = trials.iter().filter(|trial| trial.shortfall() > 0).count();
    let loss = median(trials.iter().map(|trial| missing_ratio(trial, together)).collect());
    let is_of_generator = 2 * unsent > trials.len() && loss == 0.0;
    let counted =
        format!("{unsent} of {} trials have unsent frames, and the median loss is {loss}", trials.len());
    let is_right_place: fn(Place) -> bool = match limit {
        Limit::Generator if is_of_generator => return None,
        Limit::Generator => return Some(format!("limited by the generator, but {counted}")),
        Limit::Noise if is_noisy(trials, together) => return None,
        Limit::Noise => {
            return Some("limited by noise, but no trial was disturbed, or lost frames in moments".into());
        }
        Limit::Nic => |place| matches!(place, Place::Transmit | Place::Path | Place::Link | Place::Driver),
        Limit::Backlog => |place| matches!(place, Place::LinkQueue | Place::Backlog),
        Limit::Ring | Limit::RingOrApplication | Limit::Application => Place::holds_frames_for_application,
        Limit::Elsewhere { .. } => |_| true,
        _ => return None,
    };
    if is_of_generator {
        return Some(format!("limited by {limit:?}, but {counted}"));
    }
    let place = most_lost_at(trials, together)?;
    match limit {
        Limit::Elsewhere { place: other } if other != place => {
            Some(format!("limited by {other:?}, but {place:?} lost most"))
        }
        _ if !is_right_place(place) => Some(format!("limited by {limit:?}, but {place:?} lost most")),
        _ => None,
    }
}

fn missing_ratio(trial: &TrialResult, together: u32) -> f64 {
    (trial.lost() + buffered_frames(trial, together)) as f64 / trial.sent.max(1) as f64
}

/// Whether others disturbed a trial that missed frames, or frames were lost in few moments.
fn is_noisy(trials: &[&TrialResult], together: u32) -> bool {
    let mut windows = 0;
    let mut lossy_windows = 0;
    let mut is_disturbed = false;
    for trial in trials {
        is_disturbed |= missing_ratio(trial, together) > 0.0 && !trial.disturbance.reasons().is_empty();
        match &trial.loss_pattern {
            Some(pattern) => {
                windows += pattern.windows;
                lossy_windows += pattern.lossy_windows;
            }
            None => windows += (trial.sending_s * 10.0).ceil() as u64,
        }
    }
    is_disturbed || lossy_windows > 0 && lossy_windows * FEW_WINDOWS < windows
}

/// The place at which most frames of the trials were lost, or wait in buffers that a longer trial overflows.
fn most_lost_at(trials: &[&TrialResult], together: u32) -> Option<Place> {
    let mut frames: BTreeMap<&str, (Place, u64)> = BTreeMap::new();
    for trial in trials {
        let buffered = (Place::Ring, buffered_frames(trial, together));
        for (place, lost) in trial.losses().into_iter().chain([buffered]) {
            frames.entry(place.key()).or_insert((place, 0)).1 += lost;
        }
    }
    let most = frames.into_values().max_by_key(|(_, lost)| *lost)?;
    (most.1 > 0).then_some(most.0)
}
