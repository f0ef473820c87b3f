//! Whether frames were lost in moments in which nobody read, or because the load was too high. The files that ask decide what follows.
//!
//! A method that is too slow loses frames until sending ends, or is behind there. A host that stalls loses frames in moments, and
//! another trial need not repeat them. Different things follow from the answer, so the question has several forms:
//!
//! | question | answer | what follows if so |
//! |---|---|---|
//! | Did one moment lose the frames of a trial? | [`is_of_one_moment`] | the loss is no evidence against the method |
//! | Is the loss of a trial small enough for that? | [`has_small_loss`] | a second trial decides |
//! | Did the application keep up except in moments? | `keeps_up_between_moments` | the limit is the size of the ring |
//! | Did a trial lose frames all the time? | `loses_throughout` | the load is an overload, whose losses are no events |
//! | Did the trials of a load lose frames in few moments? | `Moments::are_few` | the host stalls, and the load is not too high |

use serde::{Deserialize, Serialize};

use super::buffered_frames;
use crate::thresholds::{
    FEW_MOMENTS_WINDOWS, LASTING_LOSS, LASTING_LOSS_WINDOWS, LOSS_THROUGHOUT_WINDOWS, MOMENTARY_LOSS_DENSITY,
    ONE_RUN_LOSS,
};
use capbench_model::loss_pattern::windows_in;
use capbench_model::trial::TrialResult;

/// Whether most of the lost frames of a trial were consecutive, or all were in one of several windows of 100 ms.
pub fn is_of_one_moment(trial: &TrialResult) -> bool {
    if trial.lost() == 0 || buffered_frames(trial, 1) > 0 {
        return false;
    }
    let Some(pattern) = &trial.loss_pattern else { return false };
    let longest = pattern.bursts.max.unwrap_or(0);
    let is_one_run = longest as f64 > ONE_RUN_LOSS * trial.lost() as f64;
    let is_one_window = pattern.lossy_windows == 1 && pattern.windows >= LASTING_LOSS_WINDOWS;
    is_one_run || is_one_window
}

/// Whether a trial lost so few frames that a stall of the host can be the cause.
pub fn has_small_loss(trial: &TrialResult) -> bool {
    trial.lost() > 0 && trial.sent_loss_ratio() < LASTING_LOSS
}

/// Whether the application kept up except in moments, whose loss is dense. An application that is too slow is behind at the end of a
/// trial, or loses frames there: once its ring is full, it stays full. So dense loss in one tenth of a second is evidence only if
/// the end of the trial was observed and shows neither.
pub(crate) fn keeps_up_between_moments(trial: &TrialResult, together: u32) -> bool {
    if trial.emptying.is_none() || buffered_frames(trial, together) > 0 {
        return false;
    }
    let Some(pattern) = &trial.loss_pattern else { return false };
    pattern.lost_at_end == 0 && pattern.worst_ratio() > MOMENTARY_LOSS_DENSITY * trial.sent_loss_ratio()
}

/// Whether the load was too high all the time: the trial lost frames in half of its windows of 100 ms, or frames were read more
/// slowly than they arrived. In fewer windows, nobody read frames for moments. Without inspection the size of the loss decides.
pub(crate) fn loses_throughout(trial: &TrialResult, together: u32) -> bool {
    if buffered_frames(trial, together) > 0 {
        return true;
    }
    match &trial.loss_pattern {
        _ if trial.lost() == 0 => false,
        Some(pattern) => {
            pattern.lossy_windows as f64 >= LOSS_THROUGHOUT_WINDOWS * pattern.windows.max(1) as f64
        }
        None => !has_small_loss(trial),
    }
}

/// The times of the losses, in windows of 100 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Moments {
    /// All windows.
    pub windows: u64,
    /// Windows with a loss.
    pub lossy_windows: u64,
    /// The longest run of consecutive lost frames.
    pub longest_frames: u64,
    /// Time from the first of them to the next received frame.
    pub longest_ns: u64,
}

impl Moments {
    /// The times of all these losses; `None` if one lost frames that were not inspected.
    pub(crate) fn from_trials(trials: &[&TrialResult]) -> Option<Self> {
        let mut all = Self::default();
        for trial in trials {
            if trial.lost() == 0 {
                all.windows += windows_in(trial.sending_s);
                continue;
            }
            let pattern = trial.loss_pattern.as_ref()?;
            all.windows += pattern.windows;
            all.lossy_windows += pattern.lossy_windows;
            let mut frames = pattern.bursts.max.unwrap_or(0);
            let mut ns = 0;
            if let Some(burst) = pattern.longest.first() {
                frames = frames.max(burst.frames);
                ns = burst.to_ns.saturating_sub(burst.from_ns);
            }
            if (frames, ns) > (all.longest_frames, all.longest_ns) {
                all.longest_frames = frames;
                all.longest_ns = ns;
            }
        }
        Some(all)
    }

    /// Whether there were losses, in few of the windows.
    pub(crate) fn are_few(self) -> bool {
        self.lossy_windows > 0 && self.lossy_windows * FEW_MOMENTS_WINDOWS < self.windows
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::loss_pattern::{LossPattern, Spread, Window};
    use capbench_model::trial::{Emptying, Load, Phase};

    use super::*;

    /// A trial of a second that was not inspected, and of which this many of 100,000 frames were lost.
    fn trial(lost: u64) -> TrialResult {
        let load = Load::Rate("100k".parse().unwrap());
        let measured = measured(100_000, 100_000, 100_000 - lost, lost);
        let result = measured.result(1, Phase::Search, &profile("recv"), load, Duration::from_secs(1));
        TrialResult { loss_pattern: None, emptying: None, ..result }
    }

    /// The same, inspected: it lost frames in some of its windows.
    fn in_windows(lost: u64, windows: u64, lossy_windows: u64) -> TrialResult {
        let pattern = LossPattern::in_windows(100_000, lost, windows, lossy_windows);
        TrialResult { loss_pattern: Some(pattern), ..trial(lost) }
    }

    /// The same trial, whose application read on for so long after sending ended.
    fn behind(seconds: f64, trial: TrialResult) -> TrialResult {
        let mut trial = TrialResult { emptying: Some(Emptying { after_s: seconds, holds_s: 0.0 }), ..trial };
        trial.cpu.batches = 100_000;
        trial
    }

    #[test]
    fn a_loss_is_of_one_moment_if_it_is_one_run_or_in_one_of_three_windows() {
        let with_run = |windows, lossy, longest| {
            let mut trial = in_windows(100, windows, lossy);
            trial.loss_pattern.as_mut().unwrap().bursts = Spread { max: Some(longest), ..Spread::default() };
            is_of_one_moment(&trial)
        };
        assert!(with_run(3, 1, 1) && !with_run(2, 1, 1), "one window of few may be all of the trial");
        assert!(!with_run(4, 2, 1));
        assert!(with_run(2, 2, 51) && !with_run(2, 2, 50), "most are consecutive");
        assert!(!is_of_one_moment(&trial(100)), "not inspected");
        assert!(!is_of_one_moment(&behind(0.25, in_windows(100, 10, 1))), "the application is too slow");
    }

    #[test]
    fn a_trial_loses_throughout_if_half_of_its_windows_do() {
        assert!(loses_throughout(&in_windows(100, 10, 5), 1));
        assert!(!loses_throughout(&in_windows(100, 10, 4), 1));
        assert!(!loses_throughout(&trial(800), 1) && loses_throughout(&trial(1250), 1), "not inspected");
        assert!(loses_throughout(&behind(0.25, trial(0)), 1), "the application is too slow");
    }

    #[test]
    fn an_application_keeps_up_between_moments_if_loss_is_dense_and_it_is_not_behind() {
        let dense = |lost_in_window| {
            let mut trial = behind(0.0, in_windows(500, 10, 5));
            trial.loss_pattern.as_mut().unwrap().worst_window =
                Some(Window { from_ns: 0, length_ns: 100_000_000, sent: 10_000, lost: lost_in_window });
            trial
        };
        assert!(keeps_up_between_moments(&dense(260), 1) && !keeps_up_between_moments(&dense(240), 1));
        assert!(!keeps_up_between_moments(&behind(0.25, dense(260)), 1));
        let unobserved = TrialResult { emptying: None, ..dense(260) };
        assert!(!keeps_up_between_moments(&unobserved, 1), "the end was not observed");
    }

    #[test]
    fn moments_are_few_below_a_quarter_of_the_windows() {
        for (lossy_windows, are_few) in [(0, false), (20, true), (30, false)] {
            let moments = Moments { windows: 100, lossy_windows, ..Moments::default() };
            assert_eq!(moments.are_few(), are_few, "{lossy_windows} of 100 windows");
        }
    }
}
