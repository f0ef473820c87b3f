//! What becomes of the frames of one trial: a fluid in slices within which nothing changes, of at most a second where
//! seconds differ.

use super::laboratory::Conditions;
use super::method::{Ability, SimulatedMethod};
use super::noise::Chance;

/// Where the frames of a trial went. Counts are whole; they add up to what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) delivered: u64,
    pub(super) lost_in_ring: u64,
    pub(super) lost_in_backlog: u64,
    /// Frames that still waited when the last one was sent.
    pub(super) waiting: u64,
}

/// Frames that were offered, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub(super) frames: u64,
    pub(super) pps: f64,
    pub(super) seconds: f64,
}

/// Sends them through, one stretch of the trial after the other; what waits at the end of one waits in the next.
pub(super) fn through(
    method: &SimulatedMethod,
    ability: Ability,
    room: u64,
    stretches: &[Offered],
    conditions: &Conditions,
    chance: &mut Chance,
) -> Passage {
    // Where no second differs from another one, days are as soon worked out.
    let is_steady = conditions.noise.per_second == 0.0 && conditions.bursts.is_none();
    let longest_slice = if is_steady { f64::INFINITY } else { 1.0 };
    let of_trial = chance.factor(conditions.noise.per_trial);
    let mut passage = Passage::default();
    let mut waiting = 0.0_f64;
    for offered in stretches {
        let arriving = offered.pps.min(conditions.backlog_pps);
        let lost_in_backlog = if arriving < offered.pps {
            offered.frames - (arriving * offered.seconds).round() as u64
        } else {
            0
        };
        let reached = offered.frames - lost_in_backlog;
        let stolen_ns = if ability.shares_cpu { ability.kernel_ns } else { 0.0 };
        let left_to_application = (1.0 - arriving * stolen_ns * 1e-9).max(0.0);
        let (mut overflow, mut in_bursts) = (0.0, 0);
        let mut left = offered.seconds;
        while left > 0.0 {
            let slice = left.min(longest_slice);
            left -= slice;
            let capacity = ability.capacity
                * left_to_application
                * of_trial
                * chance.factor(conditions.noise.per_second);
            let excess = (arriving - capacity).max(0.0);
            let taken = (capacity - method.livelock * excess).max(0.0);
            waiting = (waiting + (arriving - taken) * slice).max(0.0);
            overflow += (waiting - room as f64).max(0.0);
            waiting = waiting.min(room as f64);
            if let Some(bursts) = conditions.bursts {
                in_bursts += if chance.happens(bursts.per_second * slice) { bursts.frames } else { 0 };
            }
        }
        if offered.pps > method.bursts_above {
            in_bursts += offered.frames / 1000;
        }
        let lost_in_ring = (overflow.round() as u64 + in_bursts).min(reached);
        passage.delivered += reached - lost_in_ring;
        passage.lost_in_ring += lost_in_ring;
        passage.lost_in_backlog += lost_in_backlog;
    }
    // What is left waiting is taken after the last frame was sent.
    Passage { waiting: waiting.round() as u64, ..passage }
}
