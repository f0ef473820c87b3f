//! How long trials and searches take when they are run again.

use std::time::Duration;

use crate::thresholds::TRIAL_OVERHEAD;
use capbench_model::trial::TrialResult;

/// The median time of a search for the goals of the preset `quick` on a path without noise, if a trial that misses frames waits
/// for 500 ms. The test of capbench-plan that estimates it fails when the preset or the search changes.
pub const QUICK_SEARCH: Duration = Duration::from_millis(21_800);

/// The time that these trials take when they are run again: sending, draining, and the time between trials.
pub fn time_again<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Duration {
    let mut time = Duration::ZERO;
    for trial in trials {
        for part_s in [trial.sending_s, trial.drain_s] {
            time = time.saturating_add(Duration::try_from_secs_f64(part_s).unwrap_or_default());
        }
        time = time.saturating_add(TRIAL_OVERHEAD);
    }
    time
}
