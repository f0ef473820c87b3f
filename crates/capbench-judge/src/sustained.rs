//! Whether a load is sustained. Files outside this module only ask it.
//!
//! Different things are known where the question comes up, so it has several forms:
//!
//! | question | answer |
//! |---|---|
//! | Did the generator send the load? | [`is_load_sent`] for a trial, [`are_frames_sent`] and [`is_rate_sent`] for numbers |
//! | Did it send every frame? | [`has_unsent_frames`]; `trial.rs` of capbench-model says which unsent frames are rounding |
//! | Did it send the load that a publication names? | [`is_published_load_sent`]; is it out of the generator's reach: `is_out_of_reach` |
//! | Which frames does the path of a search not forward, unsent ones included? | `frames_not_forwarded` |
//! | Can unsent frames hide a loss of a soak? | `can_hide_loss` |
//! | Did one trial sustain its load? | [`is_sustained`]; without the buffered frames [`is_delivered`]; with an allowed loss [`misses_up_to`] |
//! | Do the trials of a load sustain it? | [`Criteria::classify`] for a search (RFC 9971), [`repeats`] for a bench and without a search |
//! | Does a point of a sweep sustain its load? | [`Visits`], by medians |
//! | Does a soak sustain its load? | [`of_soak`] |
//! | Can the time that others took explain the loss of a disturbed trial? | `is_explained_by_disturbance` |
//! | Were frames lost in moments only? | [`moments`] |
//! | Is the loss of a trial the method's own? | [`is_of_method`]: it is neither of these |
//!
//! A trial that loses nothing shows little if frames were still waiting when sending ended: a longer trial loses them. So
//! [`buffered_frames`] count like lost ones. `trial/result/emptying.rs` of capbench-model says which waiting frames a batch or a tick explains.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::disturbance::Disturbance;
use capbench_model::trial::{TrialResult, Verdict};

use crate::ratio::Ratio;
use crate::thresholds::{
    DOUBTFUL_SOAK_SHARE, DURATION_ROUNDING_NS, OFFERED_LOAD_ROUNDING, OWN_LOSS_FACTOR, REPRODUCED_LOAD_SHARE,
    STALL_BACKLOG, TRIALS_OF_UNREACHED_LOAD, UNREACHED_LOAD, UNSATURATED_READ_SHARE, UNSENT_SHARE,
};
use moments::is_of_one_moment;
pub use soak::of_soak;

pub mod moments;
pub mod repeats;
pub mod soak;

#[cfg(test)]
mod tests;

/// Whether a load is sustained, where that can remain open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sustains {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// The trials do not show it.
    Unknown,
}

/// Whether the generator sent the load of a trial. Frames that the clock's rounding explains are not missing:
/// [`TrialResult::shortfall`] has the others.
pub fn is_load_sent(trial: &TrialResult) -> bool {
    are_frames_sent(trial.intended, trial.intended.saturating_sub(trial.shortfall()))
}

/// Whether the generator left frames of a trial unsent, however few. This is not [`is_load_sent`]: RFC 2544 and a search count each unsent
/// frame.
pub fn has_unsent_frames(trial: &TrialResult) -> bool {
    trial.shortfall() > 0
}

/// Whether so many of the intended frames are the load.
pub fn are_frames_sent(intended: u64, sent: u64) -> bool {
    is_rate_sent(sent as f64, intended as f64)
}

/// Whether a sent rate is the requested load.
pub fn is_rate_sent(sent_pps: f64, load_pps: f64) -> bool {
    sent_pps >= (1.0 - UNSENT_SHARE) * load_pps
}

/// Whether the trial has the load that a publication names. This is not [`is_load_sent`]: figures of one load are compared with
/// printed ones, so less may be missing.
pub fn is_published_load_sent(trial: &TrialResult) -> bool {
    trial.sent as f64 >= REPRODUCED_LOAD_SHARE * trial.intended as f64
}

/// Whether the load of a publication is out of the generator's reach: most of the trials did not send it, `short` of them. More trials
/// change nothing.
pub(crate) fn is_out_of_reach(short: usize, trials: usize) -> bool {
    short as f64 > UNREACHED_LOAD * trials as f64 && trials >= TRIALS_OF_UNREACHED_LOAD
}

/// Frames of a trial of a search that a longer trial does not forward, for any reason. This is not [`is_load_sent`]: a search
/// asks which load the whole path forwards (RFC 9971), and the generator is a part of it. So each unsent frame counts like a lost one.
/// `together` as for [`buffered_frames`].
pub(crate) fn frames_not_forwarded(trial: &TrialResult, together: u32) -> u64 {
    trial.lost() + buffered_frames(trial, together) + trial.shortfall()
}

/// Whether this share of the frames of a soak, which were not sent or only buffered, can hide a loss that matters. This is not
/// [`is_load_sent`]: a soak shows that hardly anything is lost in a long time, so it allows fewer frames that show nothing.
pub(crate) fn can_hide_loss(share: f64) -> bool {
    share > DOUBTFUL_SOAK_SHARE
}

/// Whether a load is as high as another one, but for whole frames and the last interval.
pub fn is_as_high(load_pps: f64, other_pps: f64) -> bool {
    load_pps >= other_pps * (1.0 - OFFERED_LOAD_ROUNDING)
}

/// Whether a load is clearly higher than another one.
pub fn is_higher(load_pps: f64, other_pps: f64) -> bool {
    load_pps > other_pps * (1.0 + OFFERED_LOAD_ROUNDING)
}

/// Frames of a trial that were delivered only because buffers had room for them until sending ended. 0 if a batch or a stall
/// explains them, or if the time of the last read is unknown. `together` is the number of frames that the load sends at once.
pub fn buffered_frames(trial: &TrialResult, together: u32) -> u64 {
    let backlogged = trial.backlogged(together).unwrap_or(0);
    if backlogged as f64 > STALL_BACKLOG * trial.delivered as f64 { backlogged } else { 0 }
}

/// Whether the method captured all that was sent, also in a longer trial: it lost nothing, and buffered nothing.
pub fn captures_all(trial: &TrialResult) -> bool {
    trial.lost() == 0 && buffered_frames(trial, 1) == 0
}

/// Whether a trial sustained its load: the load was sent, and the method captured all of it, also in a longer trial.
pub fn is_sustained(trial: &TrialResult) -> bool {
    is_delivered(trial) && buffered_frames(trial, 1) == 0
}

/// Whether the load was sent and all of it was delivered, from a buffer or not. Otherwise the CPU time per packet is not that of
/// this load. Unlike [`is_sustained`] this includes frames that waited until sending ended: they cost as much as the others.
pub fn is_delivered(trial: &TrialResult) -> bool {
    delivers_all(trial.verdict) && is_load_sent(trial)
}

/// Whether a trial with this verdict delivered all that was sent.
pub(crate) fn delivers_all(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Lossless | Verdict::GeneratorLimited)
}

/// Share of the sent frames that a longer trial does not capture: lost frames, and those that only the buffer had room for.
/// 1 if nothing was sent.
pub fn missing_share(trial: &TrialResult) -> f64 {
    if trial.sent == 0 {
        return 1.0;
    }
    (trial.lost() + buffered_frames(trial, 1)) as f64 / trial.sent as f64
}

/// Whether a longer trial misses no more than this share of the sent frames, whether or not the load was sent.
pub fn misses_up_to(trial: &TrialResult, loss_ratio: f64) -> bool {
    missing_share(trial) <= loss_ratio
}

/// Whether the method itself missed the frames, and not a disturbance of the host: its losses are not of one moment, and the trial
/// is undisturbed, or the time that others took from its CPUs clearly does not explain them.
pub fn is_of_method(trial: &TrialResult) -> bool {
    !is_of_one_moment(trial) && !is_explained_by_disturbance(trial)
}

/// Whether the time that others took from the CPUs of a disturbed trial can explain the frames that it missed.
pub(crate) fn is_explained_by_disturbance(trial: &TrialResult) -> bool {
    can_explain(&trial.disturbance, missing_share(trial))
}

/// Whether the time that others took from the CPUs of a disturbed trial can explain that it missed this share of the frames.
fn can_explain(disturbance: &Disturbance, missing: f64) -> bool {
    let taken = disturbance.taken_share();
    let is_clear = missing > OWN_LOSS_FACTOR * taken || OWN_LOSS_FACTOR * (1.0 - missing) < 1.0 - taken;
    !disturbance.reasons().is_empty() && !is_clear
}

/// The highest share of the frames that a trial with this share could have captured without this disturbance. A loss of the method's own is
/// at least the part of it that others cannot explain.
pub(crate) fn highest_undisturbed(captured: f64, disturbance: &Disturbance) -> f64 {
    let missing = 1.0 - captured;
    if disturbance.reasons().is_empty() {
        captured
    } else if can_explain(disturbance, missing) {
        1.0
    } else {
        1.0 - missing / OWN_LOSS_FACTOR
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What the visits of a point of a sweep show together. A curve over many points needs no single trial: medians are as robust as
/// the visits are many. So [`Visits::falls_short`] differs from [`is_sustained`] in two ways. A loss in a few visits does not
/// count, and the rate at which frames were read replaces the buffered frames, since a saved point has only its median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visits {
    /// Number of trials.
    pub trials: usize,
    /// Those that lost nothing.
    pub lossless: usize,
    /// Share of the sent frames that was lost.
    pub loss_ratio: f64,
    /// The rate at which the application read frames as long as there were any.
    pub read_pps: f64,
    /// The rate at which frames reached the method.
    pub reached_pps: f64,
}

impl Visits {
    /// A single visit. A frame that is lost nowhere reaches the method.
    pub fn of_trial(trial: &TrialResult) -> Self {
        Self {
            trials: 1,
            lossless: usize::from(trial.lost() == 0),
            loss_ratio: trial.sent_loss_ratio(),
            read_pps: trial.read_pps(),
            reached_pps: trial.offered_pps,
        }
    }

    /// Whether frames are lost, or would be in longer trials: the load exceeds the sustainable rate.
    pub fn falls_short(&self) -> bool {
        self.loses() || self.is_saturated()
    }

    /// Whether frames were lost in most of the trials.
    pub fn loses(&self) -> bool {
        self.loss_ratio > 0.0
    }

    /// Whether no trial lost a frame.
    pub fn is_clean(&self) -> bool {
        self.lossless == self.trials
    }

    /// Whether the application was the limit: it read frames more slowly than they reached the method, whatever was lost before.
    /// Both kinds of loss may occur together.
    pub fn is_saturated(&self) -> bool {
        self.read_pps < UNSATURATED_READ_SHARE * self.reached_pps && self.read_pps > 0.0
    }
}

/// A trial as the criteria of a search see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Number of the trial.
    pub number: u32,
    /// Intended load.
    pub load: Pps,
    /// Intended duration. It is also the Trial Effective Duration.
    pub duration: Duration,
    /// Trial Loss Ratio: frames that are not forwarded by intended ones.
    pub loss_ratio: f64,
    /// The loss ratio of the sent frames: the loss of the path.
    pub path_loss_ratio: f64,
    /// The offered load, up to the intended one.
    pub achieved: Pps,
}

impl Observation {
    /// A trial of this load and length. `together` as for [`buffered_frames`].
    pub fn of_trial(trial: &TrialResult, load: Pps, duration: Duration, together: u32) -> Self {
        let missing = trial.lost() + buffered_frames(trial, together);
        let offered_pps = trial.offered_pps.min(load.get());
        Self {
            number: trial.number,
            load,
            duration,
            loss_ratio: share(frames_not_forwarded(trial, together), trial.intended),
            path_loss_ratio: share(missing, trial.sent),
            achieved: Pps::new(offered_pps).unwrap_or(load),
        }
    }

    /// Trial Forwarding Rate, frames per second.
    pub fn forwarding_rate(&self) -> f64 {
        self.load.get() * (1.0 - self.loss_ratio)
    }
}

/// The criteria that decide a load: the attributes of a goal, or of a coarser target on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criteria {
    /// A trial that loses more is a high-loss trial.
    pub loss_ratio: Ratio,
    /// The allowed share of the time in high-loss trials.
    pub exceed_ratio: Ratio,
    /// Shorter trials are short trials: they count against a load, not for it.
    pub full_length: Duration,
    /// Maximum trial time that decides a load.
    pub duration_sum: Duration,
}

/// The classification of a load by its trials (RFC 9971, load classification).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The load is sustained.
    Lower,
    /// The load is not sustained.
    Upper,
    /// More trials are needed.
    Undecided,
}

/// A duration in nanoseconds; exact up to 104 days.
fn ns(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    is_full: bool,
    is_high: bool,
}

/// Trial time of one load by kind of trial, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Tally {
    pub(crate) fn add(&mut self, duration: Duration, kind: Kind) {
        let sum = match (kind.is_full, kind.is_high) {
            (true, false) => &mut self.full_low,
            (true, true) => &mut self.full_high,
            (false, false) => &mut self.short_low,
            (false, true) => &mut self.short_high,
        };
        *sum += ns(duration);
    }
}

impl Criteria {
    /// Whether a trial lost more than allowed.
    pub fn is_high_loss(&self, trial: &Observation) -> bool {
        trial.loss_ratio > self.loss_ratio.get()
    }

    /// Classifies one load. It is decided if it has the same class with all missing time good, and with all of it bad.
    pub fn classify<'t>(&self, trials: impl IntoIterator<Item = &'t Observation>) -> Class {
        let mut tally = Tally::default();
        for trial in trials {
            tally.add(trial.duration, self.kind(trial.duration, trial.loss_ratio));
        }
        self.decide(&tally)
    }

    /// The sum to which a trial of this length and loss belongs.
    pub(crate) fn kind(&self, duration: Duration, loss_ratio: f64) -> Kind {
        Kind { is_full: duration >= self.full_length, is_high: loss_ratio > self.loss_ratio.get() }
    }

    pub(crate) fn decide(&self, tally: &Tally) -> Class {
        let Tally { full_low, full_high, short_low, short_high } = *tally;
        let exceed = self.exceed_ratio.get();
        // Short low-loss trials compensate short high-loss ones in the allowed share, and have no other positive effect.
        let excess: f64 = short_high - short_low * exceed / (1.0 - exceed);
        let high = full_high + excess.max(0.0);
        let whole = (full_low + high).max(ns(self.duration_sum));
        let limit = whole * exceed + DURATION_ROUNDING_NS;
        match (high <= limit, whole - full_low <= limit) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Undecided,
        }
    }

    /// The loss ratio that determines the conditional throughput: the worst of the best full-length trials that make up the
    /// share of the time which must not exceed the goal. 1 if there are too few.
    pub fn quantile_loss<'t>(&self, trials: impl IntoIterator<Item = &'t Observation>) -> f64 {
        let mut full: Vec<_> =
            trials.into_iter().filter(|trial| trial.duration >= self.full_length).collect();
        full.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
        let measured: f64 = full.iter().map(|trial| ns(trial.duration)).sum();
        let mut remaining = measured.max(ns(self.duration_sum)) * (1.0 - self.exceed_ratio.get());
        let mut quantile = 0.0;
        for (position, trial) in full.iter().enumerate() {
            if position > 0 && remaining <= DURATION_ROUNDING_NS {
                break;
            }
            quantile = trial.loss_ratio;
            remaining -= ns(trial.duration);
        }
        if remaining > DURATION_ROUNDING_NS { 1.0 } else { quantile }
    }
}
