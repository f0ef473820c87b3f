//! What limited a method, its members, or more of its members. Every other file asks this one.
//!
//! | question | answer |
//! |---|---|
//! | What limited trials that lost frames at these places? | [`Limit::from_trials`] |
//! | What limited the members of a trial? | [`Limit::of_members`] |
//! | What stops more members from bringing more? | [`Limit::of_more_members`] |

mod members;
pub(crate) mod saved_names;

use crate::sustained::buffered_frames;
use crate::thresholds::{LASTING_LOSS, MOMENTARY_LOSS_DENSITY};

use serde::{Deserialize, Serialize};

use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::statistics::median;
use capbench_model::trial::TrialResult;

/// The limiting component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Limit {
    /// Nothing: the whole load was read.
    Load,
    /// The generator: all that it sent was read.
    Generator,
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
    /// What limited these trials, which lost frames at these places, most first. A longer trial loses buffered frames where
    /// frames wait for the application, so they count as lost there: `together` frames are sent at once. `None` if no frame was lost
    /// or buffered, or if no place is known.
    pub fn from_trials<'t>(
        lost: &[LostAt],
        trials: impl IntoIterator<Item = &'t TrialResult>,
        together: u32,
    ) -> Option<Self> {
        let mut short: Vec<Short<'_>> = Vec::new();
        for trial in trials {
            let backlogged = buffered_frames(trial, together);
            if backlogged > 0 || trial.lost() > 0 {
                short.push(Short { trial, backlogged });
            }
        }
        let is_behind = most_of(&short, Short::is_behind);
        let left: u64 = short.iter().map(|trial| trial.backlogged).sum();
        let most = lost.first();
        if is_behind && most.is_none_or(|most| most.frames <= left) {
            return Some(Self::Application);
        }
        Some(match most?.place {
            Place::Unsent => Self::Generator,
            Place::Transmit | Place::Path | Place::Link | Place::Driver => Self::Nic,
            Place::LinkQueue | Place::Backlog => Self::Backlog,
            place if place.is_before_application() => {
                let ratios =
                    short.iter().map(|trial| trial.trial.sent_loss_ratio()).filter(|ratio| *ratio > 0.0);
                let is_little = median(ratios).is_some_and(|ratio| ratio < LASTING_LOSS);
                match () {
                    () if is_behind => Self::Application,
                    () if most_of(&short, Short::loses_in_moments) => Self::Ring,
                    () if is_little => Self::RingOrApplication,
                    () => Self::Application,
                }
            }
            place => Self::Elsewhere { place },
        })
    }
}

fn most_of<'t>(trials: &[Short<'t>], is_so: impl Fn(&Short<'t>) -> bool) -> bool {
    2 * trials.iter().filter(|trial| is_so(trial)).count() > trials.len()
}

/// A trial that did not receive all sent frames.
struct Short<'t> {
    trial: &'t TrialResult,
    /// Frames delivered only because the buffer had room.
    backlogged: u64,
}

impl Short<'_> {
    /// Whether the application was behind when sending ended.
    fn is_behind(&self) -> bool {
        self.backlogged > 0
    }

    /// Whether the application kept up except in single moments. An application that is too slow is behind at the end of a
    /// trial, or loses frames there: once its ring is full, it stays full. So dense loss in one tenth of a second is evidence
    /// only if the end of the trial was observed and shows neither.
    fn loses_in_moments(&self) -> bool {
        let keeps_up = self.trial.emptying.is_some() && self.backlogged == 0;
        keeps_up
            && self.trial.loss_pattern.as_ref().is_some_and(|shape| {
                shape.lost_at_end == 0
                    && shape.worst_ratio() > MOMENTARY_LOSS_DENSITY * self.trial.sent_loss_ratio()
            })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::Limit;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::LostAt;
    use capbench_model::loss_pattern::{LossPattern, Spread, Window};
    use capbench_model::places::Place;
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

    const SENT: u64 = 100_000;

    /// A trial of a second that sent this many frames and lost all its losses in one tenth of it, the last one or another.
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
