//! What limited a method, its members, or more of its members. Files outside this module only ask it.
//!
//! | question | answer | file |
//! |---|---|---|
//! | What limited a method of a bench? | `Limit::of_method` | this one |
//! | What limited trials that lost frames at these places, in a bench, a search or a sweep? | [`Limit::from_trials`] | this one |
//! | Did the generator limit a trial? | [`is_generator_limit`] | this one |
//! | Did only the kernel's receive work limit a point of a sweep? | `is_kernel_limit` | this one |
//! | Which word has a table for it? | [`LimitedBy`], which follows from the limit | this one |
//! | What limited all trials of a load that a search did not sustain? | [`Limit::at_load`] | `limit/at_load.rs` |
//! | What limited the visits of a point of a sweep? | `Limit::of_visits` | `limit/at_load.rs` |
//! | What limited the members of most trials? | [`Limit::of_members`] | `limit/members.rs` |
//! | What stops more members from bringing more? | [`Limit::of_more_members`] | `limit/members.rs` |

mod at_load;
mod members;
pub(crate) mod saved_names;

use crate::sustained::moments::keeps_up_between_moments;
use crate::sustained::{buffered_frames, is_load_sent};
use crate::thresholds::{LASTING_LOSS, LIMITED_TRIALS};

use serde::{Deserialize, Serialize};

use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_statistics::median;

/// The limiting component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Limit {
    /// Nothing: the whole load was read.
    Load,
    /// The generator: all that it sent was read.
    Generator,
    /// Noise of the host: frames were lost in few moments, or no more than others took of the time.
    Noise,
    /// The link, the NIC or its driver.
    Nic,
    /// The kernel's receive work.
    Backlog,
    /// The ring's size.
    Ring,
    /// The ring's size or the application's speed.
    RingOrApplication,
    /// The application's speed.
    Application,
    /// The sharing of the frames: one member gets too large a part, while others have time left.
    Sharing,
    /// All members, several of which share a CPU.
    SharedCpus,
    /// All members, each on a CPU, or something that busy members share.
    Members,
    /// A part of the work that one member does at a time: a lock, the memory's bandwidth.
    Contention,
    /// Work that members cause each other: more of them read less.
    Coherence,
    /// A place that does not identify the cause.
    Elsewhere {
        /// The place.
        place: Place,
    },
    /// The figures of the trials do not decide it.
    Unknown,
}

impl Limit {
    /// What limited a method of a bench. If no load was too high for it, the generator did. Else its search shows it, and without a
    /// search the trial at the lowest load that was too high.
    pub(crate) fn of_method(
        is_no_load_too_high: bool,
        by_search: Option<Self>,
        lowest_failed: Option<&TrialResult>,
    ) -> Option<Self> {
        if is_no_load_too_high {
            return Some(Self::Generator);
        }
        if by_search.is_some() {
            return by_search;
        }
        let failed = lowest_failed?;
        Self::from_trials(&LostAt::sum(failed.losses()), [failed], 1)
    }

    /// What limited these trials, which lost frames at these places, most first. A longer trial loses buffered frames where
    /// frames wait for the application, so they count as lost there. `together` is the number of frames that are sent at once: as many
    /// may wait. `None` if no frame was lost or buffered, or if no place is known.
    pub fn from_trials<'t>(
        lost: &[LostAt],
        trials: impl IntoIterator<Item = &'t TrialResult>,
        together: u32,
    ) -> Option<Self> {
        let mut short: Vec<&TrialResult> = Vec::new();
        let mut behind = 0;
        let mut between_moments = 0;
        let mut buffered = 0;
        for trial in trials {
            let buffered_of_trial = buffered_frames(trial, together);
            if buffered_of_trial > 0 || trial.lost() > 0 {
                short.push(trial);
                behind += usize::from(buffered_of_trial > 0);
                between_moments += usize::from(keeps_up_between_moments(trial, together));
                buffered += buffered_of_trial;
            }
        }
        let are_most_behind = is_of_most(behind, short.len());
        if are_most_behind && is_mostly_buffered(lost, buffered) {
            return Some(Self::Application);
        }
        let place = lost.first()?.place;
        if !place.holds_frames_for_application() {
            return Some(Self::of_place(place));
        }
        let loss_ratios = short.iter().map(|trial| trial.sent_loss_ratio()).filter(|ratio| *ratio > 0.0);
        let is_little = median(loss_ratios).is_some_and(|ratio| ratio < LASTING_LOSS);
        Some(match () {
            () if are_most_behind => Self::Application,
            () if is_of_most(between_moments, short.len()) => Self::Ring,
            () if is_little => Self::RingOrApplication,
            () => Self::Application,
        })
    }

    /// What limits a method that loses frames at this place, at which no frame waits for the application.
    fn of_place(place: Place) -> Self {
        match place {
            Place::Unsent => Self::Generator,
            Place::Transmit | Place::Path | Place::Link | Place::Driver => Self::Nic,
            place if is_receive_work(place) => Self::Backlog,
            place => Self::Elsewhere { place },
        }
    }
}

/// Whether what so many of these trials show limited them together.
fn is_of_most(trials_that_show: usize, trials: usize) -> bool {
    trials_that_show as f64 > LIMITED_TRIALS * trials as f64
}

/// Whether more frames wait for the application than any place lost. Next to a backlog, minor losses are not the cause.
pub(crate) fn is_mostly_buffered(lost: &[LostAt], buffered_frames: u64) -> bool {
    buffered_frames > 0 && lost.first().is_none_or(|most| most.frames <= buffered_frames)
}

/// What keeps a method from a higher rate without loss, in one word of a table: the place that loses frames, or why there is none.
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
    /// The word for a limit. An application that is too slow leaves frames in the buffer, or loses them at a place: the trials at the
    /// limit show which, by `is_mostly_buffered`. `lost_at` is the place that loses most of them.
    pub(crate) fn from_limit(
        limit: Option<Limit>,
        lost_at: Option<Place>,
        is_mostly_buffered: bool,
    ) -> Option<Self> {
        match limit {
            Some(Limit::Generator) => Some(Self::Generator),
            Some(Limit::Noise) => Some(Self::Noise),
            Some(Limit::Application) if is_mostly_buffered || lost_at.is_none() => Some(Self::Application),
            _ => lost_at.map(Self::Place),
        }
    }
}

/// Whether frames are lost at this place because the kernel has no time for its receive work.
pub(crate) fn is_receive_work(place: Place) -> bool {
    matches!(place, Place::LinkQueue | Place::Backlog)
}

/// Whether only the kernel's receive work was the limit: it refused this share of the sent frames, a loss that lasts, and the
/// application was not saturated by the frames that it passed on.
pub(crate) fn is_kernel_limit(is_application_saturated: bool, refused_share: f64) -> bool {
    !is_application_saturated && refused_share > LASTING_LOSS
}

/// Whether the generator was the limit of a trial that the method kept up with: it had no load to reach, or did not reach it.
pub fn is_generator_limit(trial: &TrialResult) -> bool {
    trial.intended_pps.is_none() || trial.verdict == Verdict::GeneratorLimited && !is_load_sent(trial)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::{Limit, LimitedBy, is_mostly_buffered};
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::LostAt;
    use capbench_model::loss_pattern::{LossPattern, Spread, Window};
    use capbench_model::places::Place;
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

    const SENT: u64 = 100_000;

    /// The pattern of a trial of a second that sent this many frames and lost all its losses in one tenth of it, the last one or another.
    pub fn in_one_window(sent: u64, lost: u64, is_at_end: bool) -> LossPattern {
        let from_ns = if is_at_end { 900_000_000 } else { 400_000_000 };
        LossPattern {
            lost_steadily: if is_at_end { 0 } else { lost },
            lost_at_end: if is_at_end { lost } else { 0 },
            bursts: Spread { count: 1, total: lost, max: Some(lost), ..Spread::default() },
            worst_window: Some(Window { from_ns, length_ns: 100_000_000, sent: sent / 10, lost }),
            ..LossPattern::in_windows(sent, lost, 10, 1)
        }
    }

    /// A trial of a second that lost this many frames in a ring. Its application read on for this long after the end.
    fn trial(lost: u64, behind_ms: f64) -> TrialResult {
        let rate = Load::Rate("100000".parse().unwrap());
        let measured = measured(SENT, SENT, SENT - lost, lost);
        let result = measured.result(1, Phase::Sweep, &profile("packet-v2"), rate, Duration::from_secs(1));
        let emptying = Some(Emptying { after_s: behind_ms / 1e3, holds_s: 0.0 });
        TrialResult { emptying, ..result }
    }

    /// The same with all that was lost in one tenth of a second, the last one or another.
    fn at_once(lost: u64, is_at_end: bool, behind_ms: f64) -> TrialResult {
        TrialResult { loss_pattern: Some(in_one_window(SENT, lost, is_at_end)), ..trial(lost, behind_ms) }
    }

    fn limit(trials: &[TrialResult]) -> Option<Limit> {
        let lost = LostAt::sum(trials.iter().flat_map(TrialResult::losses));
        Limit::from_trials(&lost, trials, 1)
    }

    #[test]
    fn a_ring_is_too_small_where_the_application_keeps_up_all_the_same() {
        for lost in [50, 2000] {
            let found = limit(&[at_once(lost, false, 0.0)]).unwrap();
            assert_eq!(found, Limit::Ring);
        }
    }

    #[test]
    fn a_ring_that_is_full_late_is_the_applications_limit() {
        // It fills after nine tenths of the trial: the worst tenth of a second loses ten times the average.
        let late = at_once(500, true, 40.0);
        let shape = late.loss_pattern.as_ref().unwrap();
        assert!(shape.worst_ratio() > 9.0 * late.sent_loss_ratio());
        assert_eq!(limit(&[late]), Some(Limit::Application));
        // As full at another time, it was behind all the same.
        assert_eq!(limit(&[at_once(500, false, 40.0)]), Some(Limit::Application));
    }

    #[test]
    fn where_the_end_shows_nothing_the_ring_is_not_blamed() {
        // Nothing waits for long in a ring of few frames, so that it overflows to the end and is soon empty.
        assert_eq!(limit(&[at_once(500, true, 0.0)]), Some(Limit::RingOrApplication));
        let unseen = TrialResult { emptying: None, ..at_once(500, false, 0.0) };
        assert_eq!(limit(&[unseen]), Some(Limit::RingOrApplication));
        assert_eq!(limit(&[trial(500, 0.0)]), Some(Limit::RingOrApplication), "its shape is unknown");
        assert_eq!(limit(&[trial(5000, 0.0)]), Some(Limit::Application));
    }

    #[test]
    fn one_trial_of_several_decides_nothing() {
        let moment = || at_once(50, false, 0.0);
        assert_eq!(limit(&[moment(), moment(), trial(0, 40.0)]), Some(Limit::Ring), "a stall at its end");
        assert_eq!(limit(&[trial(500, 40.0), trial(500, 40.0), moment()]), Some(Limit::Application));
        assert_eq!(limit(&[moment(), trial(0, 0.0), trial(0, 0.0)]), Some(Limit::Ring), "those lost nothing");
        let behind = || trial(500, 40.0);
        let three_of_five_behind = [behind(), behind(), behind(), moment(), moment()];
        assert_eq!(limit(&three_of_five_behind), Some(Limit::Application));
        let two_of_five_behind = [behind(), behind(), moment(), moment(), moment()];
        assert_eq!(limit(&two_of_five_behind), Some(Limit::Ring));
    }

    #[test]
    fn buffered_frames_limit_like_lost_frames() {
        assert_eq!(limit(&[trial(0, 0.0)]), None);
        assert_eq!(limit(&[trial(0, 250.0)]), Some(Limit::Application), "nothing was lost yet");
        let of_place = |frames| {
            let lost = [LostAt { place: Place::Backlog, frames }];
            Limit::from_trials(&lost, &[trial(frames, 250.0)], 1)
        };
        assert_eq!(of_place(100), Some(Limit::Application), "20,000 were left");
        assert_eq!(of_place(50_000), Some(Limit::Backlog));
    }

    #[test]
    fn a_table_has_the_word_of_the_limit() {
        let ring = Some(Place::Ring);
        let place = Some(LimitedBy::Place(Place::Ring));
        let application = Some(Limit::Application);
        assert_eq!(LimitedBy::from_limit(application, ring, false), place);
        assert_eq!(LimitedBy::from_limit(application, ring, true), Some(LimitedBy::Application));
        assert_eq!(LimitedBy::from_limit(application, None, false), Some(LimitedBy::Application));
        assert_eq!(
            LimitedBy::from_limit(Some(Limit::Ring), ring, true),
            place,
            "one trial of several was behind"
        );
        assert_eq!(LimitedBy::from_limit(Some(Limit::Generator), None, false), Some(LimitedBy::Generator));
        assert_eq!(LimitedBy::from_limit(None, None, true), None);
    }

    #[test]
    fn most_frames_are_buffered_unless_a_place_lost_more() {
        for (buffered, is_mostly) in [(0, false), (999, false), (1000, true)] {
            let lost = [LostAt { place: Place::Ring, frames: 1000 }];
            assert_eq!(is_mostly_buffered(&lost, buffered), is_mostly, "{buffered}");
        }
        assert!(is_mostly_buffered(&[], 1) && !is_mostly_buffered(&[], 0));
    }

    #[test]
    fn a_search_decides_before_a_trial_and_the_generator_before_both() {
        let failed = trial(0, 250.0);
        assert_eq!(Limit::of_method(true, Some(Limit::Ring), Some(&failed)), Some(Limit::Generator));
        assert_eq!(Limit::of_method(false, Some(Limit::Ring), Some(&failed)), Some(Limit::Ring));
        assert_eq!(Limit::of_method(false, None, Some(&failed)), Some(Limit::Application));
        assert_eq!(Limit::of_method(false, None, None), None);
    }

    #[test]
    fn the_share_and_the_density_of_losses_decide_between_ring_and_application() {
        assert_eq!(limit(&[trial(800, 0.0)]), Some(Limit::RingOrApplication), "0.8 % are few");
        assert_eq!(limit(&[trial(1250, 0.0)]), Some(Limit::Application));
        for (lost_in_worst_window, found) in [(200, Limit::RingOrApplication), (310, Limit::Ring)] {
            let mut dense = at_once(500, false, 0.0);
            let worst = dense.loss_pattern.as_mut().unwrap().worst_window.as_mut().unwrap();
            worst.lost = lost_in_worst_window;
            assert_eq!(limit(&[dense]), Some(found), "{lost_in_worst_window} of 500 in a tenth of the trial");
        }
    }
}
