//! Where the frames of one trial go: a fluid in time slices within which nothing changes. A slice is up to one second long if
//! seconds differ.

use super::laboratory::Conditions;
use super::method::{Ability, SimulatedMethod};
use super::moments::Moments;
use super::noise::Chance;

/// Where the frames of a trial went. Counts are whole; they add up to what was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Passage {
    pub(super) delivered: u64,
    pub(super) lost_in_ring: u64,
    pub(super) lost_in_backlog: u64,
    /// Frames that still waited when the last one was sent.
    pub(super) waiting: u64,
    /// When frames were lost.
    pub(super) moments: Moments,
}

/// Frames that were offered, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub(super) frames: u64,
    pub(super) pps: f64,
    pub(super) seconds: f64,
}

/// Sends the offered frames through, one phase after the other; frames that wait at the end of a phase wait in the next.
pub(super) fn through(
    method: &SimulatedMethod,
    ability: Ability,
    room: u64,
    stretches: &[Offered],
    conditions: &Conditions,
    chance: &mut Chance,
) -> Passage {
    // If all seconds are alike, a trial of days is computed as fast as a short one.
    let is_steady = conditions.noise.per_second == 0.0 && conditions.bursts.is_none();
    let longest_slice = if is_steady { f64::INFINITY } else { 1.0 };
    let of_trial = chance.factor(conditions.noise.per_trial);
    let mut passage = Passage::default();
    let (mut waiting, mut begun) = (0.0_f64, 0.0_f64);
    for offered in stretches {
        let arriving = offered.pps.min(conditions.backlog_pps);
        let lost_in_backlog = if arriving < offered.pps {
            offered.frames - (arriving * offered.seconds).round() as u64
        } else {
            0
        };
        let reached = offered.frames - lost_in_backlog;
        let end = begun + offered.seconds;
        if lost_in_backlog > 0 {
            passage.moments.between(begun, end);
        }
        let stolen_ns = if ability.shares_cpu { ability.kernel_ns } else { 0.0 };
        let left_to_application = (1.0 - arriving * stolen_ns * 1e-9).max(0.0);
        let (mut overflow, mut in_bursts) = (0.0, 0);
        let mut left = offered.seconds;
        while left > 0.0 {
            let slice = left.min(longest_slice);
            let from = end - left;
            left -= slice;
            let capacity = ability.capacity
                * left_to_application
                * of_trial
                * chance.factor(conditions.noise.per_second);
            let excess = (arriving - capacity).max(0.0);
            let taken = (capacity - method.livelock * excess).max(0.0);
            let filled = waiting;
            waiting = (waiting + (arriving - taken) * slice).max(0.0);
            let above = (waiting - room as f64).max(0.0);
            // A fluid's rounding error is not a frame.
            if above > 0.5 {
                let until_full = (room as f64 - filled) / (arriving - taken);
                passage.moments.between(from + until_full, from + slice);
            }
            overflow += above;
            waiting = waiting.min(room as f64);
            if let Some(bursts) = conditions.bursts
                && chance.happens(bursts.per_second * slice)
            {
                in_bursts += bursts.frames;
                // The exact time within the slice makes no difference.
                passage.moments.at(from + slice / 2.0);
            }
        }
        if offered.pps > method.bursts_above {
            in_bursts += offered.frames / 1000;
            passage.moments.between(begun, end);
        }
        let lost_in_ring = (overflow.round() as u64 + in_bursts).min(reached);
        passage.delivered += reached - lost_in_ring;
        passage.lost_in_ring += lost_in_ring;
        passage.lost_in_backlog += lost_in_backlog;
        begun = end;
    }
    // The waiting frames are read after the last frame was sent.
    Passage { waiting: waiting.round() as u64, ..passage }
}
