//! At which points of a sweep a method keeps up, and at which one loss begins. Answers, tables, and the plan that adds points ask for it
//! here.

use super::outcome::{Reading, Swept};
use crate::sustained::{Visits, is_load_sent, is_sustained};
use crate::thresholds::{FAILED_POINT_TRIALS, SENT_POINT_TRIALS};

/// The index of the point at which loss begins, of points in the order of the axis; `None` if no point has loss.
pub fn first_lossy(are_lossy: impl IntoIterator<Item = bool>) -> Option<usize> {
    are_lossy.into_iter().position(|is_lossy| is_lossy)
}

/// Whether a method loses frames at a point in the median of the visits, and falls short in most of them.
pub fn loses(swept: &Swept<'_>, reading: &Reading) -> bool {
    reading.loses() && falls_short(swept, reading)
}

/// Whether a method does not keep up at a point in most visits.
pub(crate) fn falls_short(swept: &Swept<'_>, reading: &Reading) -> bool {
    PointStatus::of_reading(swept, reading) == PointStatus::FallsShort
}

/// Whether a method keeps up at a point.
pub(crate) fn is_kept_up_with(swept: &Swept<'_>, reading: &Reading) -> bool {
    PointStatus::of_reading(swept, reading) == PointStatus::KeptUp
}

/// What the visits of a point show together.
#[derive(Debug, PartialEq)]
pub(crate) enum PointStatus {
    /// The method keeps up.
    KeptUp,
    /// The generator did not send the load.
    Unsent,
    /// It does not keep up in the median, but did in at least half of the visits.
    Open,
    /// It does not keep up.
    FallsShort,
}

impl PointStatus {
    pub(crate) fn of_reading(swept: &Swept<'_>, reading: &Reading) -> Self {
        if reading.falls_short() {
            let mut trials = 0;
            let mut failed = 0;
            for trial in swept.trials_of(reading) {
                trials += 1;
                failed += usize::from(Visits::of_trial(trial).falls_short());
            }
            // A damaged file lacks trials.
            return if trials == 0 || failed as f64 > FAILED_POINT_TRIALS * trials as f64 {
                Self::FallsShort
            } else {
                Self::Open
            };
        }
        if is_sent(swept, reading) { Self::KeptUp } else { Self::Unsent }
    }
}

/// Whether the generator sent the intended load in at least half of the trials of a point.
fn is_sent(swept: &Swept<'_>, reading: &Reading) -> bool {
    let sent = swept.trials_of(reading).filter(|trial| is_load_sent(trial));
    sent.count() as f64 >= SENT_POINT_TRIALS * reading.trials.len() as f64
}

/// Whether no visit lost a frame, and in the median of the visits no buffer prevented a loss.
pub(crate) fn keeps_up_without_a_loss(reading: &Reading) -> bool {
    reading.is_clean() && !reading.falls_short()
}

/// Whether the method sustained its load in every trial of the point, so that costs there are those of the load. A search for bursts, and a
/// trial at maximum load, have no such load.
pub(crate) fn sustains_its_load(swept: &Swept<'_>, reading: &Reading) -> bool {
    reading.back_to_back.is_none()
        && !reading.trials.is_empty()
        && swept.trials_of(reading).all(|trial| trial.intended_pps.is_some() && is_sustained(trial))
}

#[cfg(test)]
mod tests {
    use super::PointStatus;
    use crate::sweep::for_tests::Outcome::{Clean, Lossy, Unsent};
    use crate::sweep::for_tests::{reading, sweep_of_loads, trial};
    use crate::sweep::outcome::Swept;

    #[test]
    fn most_visits_of_a_point_decide_whether_it_falls_short_and_whether_its_load_was_sent() {
        let sweep = sweep_of_loads(&[0.0], Vec::new());
        for (visits, status) in [
            ([Lossy, Lossy, Lossy, Clean, Clean], PointStatus::FallsShort),
            ([Unsent, Unsent, Clean, Clean, Clean], PointStatus::KeptUp),
            ([Unsent, Unsent, Unsent, Clean, Clean], PointStatus::Unsent),
        ] {
            let trials: Vec<_> = (1..).zip(visits).map(|(number, outcome)| trial(number, outcome)).collect();
            let of_point = PointStatus::of_reading(&Swept::new(&sweep, &trials), &reading(0, &trials));
            assert_eq!(of_point, status);
        }
    }
}
