//! What limits a rate, in one word of a table: the place that loses frames, or why there is none.

use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::trial::{TrialResult, Verdict};

use super::{Limit, is_mostly_buffered};
use crate::sustained::buffered_frames;

/// What keeps a method from a higher rate without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// The generator sends no more.
    Generator,
    /// Noise of the host hides the limit.
    Noise,
    /// The application is behind: frames remain in the buffer.
    Application,
    /// This place loses frames.
    Place(Place),
}

impl LimitedBy {
    /// By the losses of trials, most first, and by the frames that they delivered only because buffers had room. `None` without
    /// either.
    pub fn from_losses(lost: &[LostAt], buffered_frames: u64) -> Option<Self> {
        if is_mostly_buffered(lost, buffered_frames) {
            return Some(Self::Application);
        }
        Some(Self::Place(lost.first()?.place))
    }

    /// By trials at the bounds of a limit.
    pub(crate) fn from_trials(trials: &[&TrialResult]) -> Option<Self> {
        let mut losses = Vec::new();
        let mut buffered = 0;
        for trial in trials.iter().filter(|trial| trial.verdict != Verdict::Invalid) {
            losses.extend(trial.losses());
            buffered += buffered_frames(trial, 1);
        }
        Self::from_losses(&LostAt::sum(losses), buffered)
    }

    /// By the place that loses most frames above the limit, and by what limits the method, where no trial at its bounds shows it.
    pub fn from_limit(lost_at: Option<Place>, limit: Option<Limit>) -> Option<Self> {
        match (lost_at, limit) {
            (_, Some(Limit::Generator)) => Some(Self::Generator),
            (_, Some(Limit::Noise)) => Some(Self::Noise),
            // Nothing is lost yet, but frames remain in the buffer.
            (None, Some(Limit::Application)) => Some(Self::Application),
            (place, _) => place.map(Self::Place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_is_the_limit_unless_a_place_lost_more_frames_than_were_buffered() {
        let limit = |frames, buffered| {
            let lost = [LostAt { place: Place::Ring, frames }];
            LimitedBy::from_losses(&lost, buffered)
        };
        assert_eq!(limit(1000, 0), Some(LimitedBy::Place(Place::Ring)));
        assert_eq!(limit(1000, 999), Some(LimitedBy::Place(Place::Ring)));
        assert_eq!(limit(1000, 1000), Some(LimitedBy::Application), "as in the limit of trials");
        assert_eq!(LimitedBy::from_losses(&[], 20_000), Some(LimitedBy::Application));
        assert_eq!(LimitedBy::from_losses(&[], 0), None);
    }
}
