//! The limit of one method, by its search or, without one, by its trials alone.

use std::cmp::Ordering;

use capbench_model::members::Members;
use capbench_model::trial::{Phase, TrialResult};

use super::{Entrant, Sustained, SustainedStatus};
use crate::search::criteria::Class;
use crate::search::{GoalResult, Status};
use crate::thresholds::{
    ASSUMED_PRECISION, COARSEST_PRECISION, EQUAL_MAXIMUM_LOADS, LASTING_LOSS_WINDOWS, OFFERED_LOAD_ROUNDING,
    OWN_LOSS_FACTOR,
};

impl Sustained {
    /// The highest load with a loss of up to `loss_ratio`.
    pub(super) fn from_entrant(entrant: &Entrant<'_>, loss_ratio: f64) -> Self {
        let trials = &entrant.trials;
        if trials.is_empty() {
            return Self::new(SustainedStatus::Unknown, None, None, None, Vec::new());
        }
        let tried = Tried::from_trials(trials, loss_ratio);
        let is_asked =
            |result: &&GoalResult| result.goal.loss_ratio.get().total_cmp(&loss_ratio) == Ordering::Equal;
        let goals = entrant.searches.iter().flat_map(|search| search.goals.iter().filter(is_asked));
        let found = goals.filter_map(|result| {
            let known = tried.with(Bounds::from_goal(result)?);
            // A search that ended early is as precise as its bounds.
            let width = result.goal.width.ratio().get();
            Some(Self { searched_to: Some(known.precision.unwrap_or(width).max(width)), ..known })
        });
        // Of several searches those count that the host did not disturb, then the most precise.
        let is_disturbed = |known: &Self| known.status == SustainedStatus::Disturbed;
        let by_precision = |one: &Self, other: &Self| one.searched_to.partial_cmp(&other.searched_to);
        let order = |one: &Self, other: &Self| {
            is_disturbed(one)
                .cmp(&is_disturbed(other))
                .then(by_precision(one, other).unwrap_or(Ordering::Equal))
        };
        let known = found.min_by(order).unwrap_or_else(|| tried.alone());
        tried.confirmed(known).within(most_of_its_threads(entrant))
    }

    /// A limit is certainly below what one thread has time for, also where the trials leave it open.
    fn within(self, most: Option<f64>) -> Self {
        Self { at_most_pps: self.at_most_pps.into_iter().chain(most).reduce(f64::min), ..self }
    }

    fn new(
        status: SustainedStatus,
        lower_pps: Option<f64>,
        upper_pps: Option<f64>,
        at_most_pps: Option<f64>,
        trials: Vec<u32>,
    ) -> Self {
        let highest = at_most_pps.or(upper_pps);
        let precision = lower_pps.zip(highest).map(|(lower, upper)| ((upper - lower) / upper).max(0.0));
        Self { status, lower_pps, upper_pps, at_most_pps, precision, searched_to: None, trials }
    }
}

/// More packets/s than the threads of a method can process, by the least time that the application took per packet in any trial.
/// Other work on their cores can have made them slower, but not by more than this factor. `None` for programs, whose number of
/// threads is unknown.
fn most_of_its_threads(entrant: &Entrant<'_>) -> Option<f64> {
    let spec = entrant.method.known()?;
    spec.delivery()?;
    let times = entrant.trials.iter().filter_map(|trial| trial.cpu.app_ns_per_packet);
    let least = times.reduce(f64::min).filter(|ns| *ns > 0.0)?;
    Some(OWN_LOSS_FACTOR * f64::from(Members::count_of(spec)) * 1e9 / least)
}

/// The bounds that a search found.
struct Bounds {
    lower_pps: Option<f64>,
    upper_pps: Option<f64>,
    trials: Vec<u32>,
}

impl Bounds {
    /// `None` if the search decided no load.
    fn from_goal(result: &GoalResult) -> Option<Self> {
        let own = (result.lower.as_ref(), result.upper.as_ref());
        let (lower, upper) = match (own, result.best_bounds()) {
            (_, Some((lower, upper))) => (Some(lower), Some(upper)),
            ((None, None), None) => return None,
            (own, None) => own,
        };
        let is_at_least = result.status == Status::AtLeast;
        Some(Self {
            lower_pps: lower.map(|bound| bound.achieved_pps),
            upper_pps: upper.filter(|_| !is_at_least).map(|bound| bound.intended_pps),
            trials: [lower, upper].into_iter().flatten().flat_map(|bound| bound.trials.clone()).collect(),
        })
    }
}

/// A trial by whether it lost more than allowed.
struct Tried<'r> {
    /// Trials that sustained their load.
    held: Vec<&'r TrialResult>,
    /// Trials that did not, lowest load first.
    failed: Vec<&'r TrialResult>,
}

impl<'r> Tried<'r> {
    fn from_trials(trials: &[&'r TrialResult], loss_ratio: f64) -> Self {
        let (mut held, mut failed): (Vec<_>, Vec<_>) =
            trials.iter().copied().partition(|trial| missing(trial) <= loss_ratio);
        held.sort_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        failed.sort_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        Self { held, failed }
    }

    /// The lowest load above `lower_pps` at which the method lost more than the host's disturbances explain.
    fn at_most(&self, lower_pps: f64) -> Option<f64> {
        let mut own = self.failed.iter().filter(|trial| is_its_own(trial));
        own.find(|trial| trial.offered_pps > lower_pps).map(|trial| trial.offered_pps)
    }

    /// By the bounds of a search. Its trials are among these.
    fn with(&self, bounds: Bounds) -> Sustained {
        let Bounds { lower_pps, upper_pps, trials } = bounds;
        let Some(upper) = upper_pps else { return self.above(lower_pps, trials) };
        let at_upper: Vec<_> = self.failed.iter().filter(|trial| trials.contains(&trial.number)).collect();
        if lower_pps.is_none() && at_upper.is_empty() {
            // The generator left frames unsent at every load: that is no limit of the method.
            return self.alone();
        }
        let is_clear = at_upper.is_empty() || at_upper.iter().any(|trial| is_its_own(trial));
        let at_most = if is_clear { Some(upper) } else { self.at_most(upper) };
        let status = match lower_pps {
            _ if !is_clear => SustainedStatus::Disturbed,
            None => SustainedStatus::NotReached,
            Some(_) => SustainedStatus::Between,
        };
        Sustained::new(status, lower_pps, upper_pps, at_most, trials)
    }

    /// By a search that found no upper bound. Other trials can show one, such as that at maximum load.
    fn above(&self, lower_pps: Option<f64>, mut trials: Vec<u32>) -> Sustained {
        // At about the same load, a loss that the trials of the search did not repeat decides nothing.
        let sustained = lower_pps.unwrap_or(0.0) * (1.0 + OFFERED_LOAD_ROUNDING);
        let is_above =
            |trial: &&&TrialResult| trial.offered_pps > sustained && !trials.contains(&trial.number);
        let failed: Vec<_> = self.failed.iter().filter(is_above).collect();
        let own = failed.iter().find(|trial| is_its_own(trial));
        let shown = own.or_else(|| failed.iter().find(|trial| !is_of_a_moment(trial)));
        let status = match (own, shown) {
            (Some(_), _) => SustainedStatus::Between,
            (None, Some(_)) => SustainedStatus::Disturbed,
            (None, None) => SustainedStatus::AtLeast,
        };
        let offered = |trial: &&&&TrialResult| trial.offered_pps;
        let (upper, at_most) = (shown.as_ref().map(offered), own.as_ref().map(offered));
        trials.extend(shown.map(|trial| trial.number));
        Sustained::new(status, lower_pps, upper, at_most, trials)
    }

    /// What is left of a limit after longer trials at that load, which count more than short ones. A load of which the method read
    /// nearly all is claimed as far as it read it. One that shows a larger excess than the precision allows is not claimed.
    fn confirmed(&self, known: Sustained) -> Sustained {
        let precision = known.searched_to.unwrap_or(ASSUMED_PRECISION).min(COARSEST_PRECISION);
        let is_short = |trial: &&&TrialResult| {
            let is_claimed = known
                .lower_pps
                .is_some_and(|lower| trial.offered_pps <= lower * (1.0 + OFFERED_LOAD_ROUNDING));
            trial.phase == Phase::Confirmation && is_claimed && !is_of_a_moment(trial)
        };
        let is_contrary = |trial: &&&TrialResult| is_short(trial) && missing(trial) > precision;
        let Some(lowest) = self.failed.iter().find(is_contrary) else {
            let read =
                self.failed.iter().filter(is_short).map(|trial| trial.offered_pps * (1.0 - missing(trial)));
            return Sustained {
                lower_pps: known.lower_pps.into_iter().chain(read).reduce(f64::min),
                ..known
            };
        };
        let upper = lowest.offered_pps;
        let below = self.held.iter().rfind(|trial| trial.offered_pps < upper * (1.0 - OFFERED_LOAD_ROUNDING));
        let is_own = self.failed.iter().filter(is_contrary).any(|trial| is_its_own(trial));
        let status = match below {
            _ if !is_own => SustainedStatus::Disturbed,
            None => SustainedStatus::NotReached,
            Some(_) => SustainedStatus::Between,
        };
        let at_most = if is_own { Some(upper) } else { known.at_most_pps };
        let trials = below.into_iter().chain([lowest]).map(|trial| trial.number).collect();
        let bounds =
            Sustained::new(status, below.map(|trial| trial.offered_pps), Some(upper), at_most, trials);
        let searched_to = known.searched_to.map(|width| bounds.precision.unwrap_or(width).max(width));
        Sustained { searched_to, ..bounds }
    }

    /// By the trials alone: the highest load that is sustained, below the lowest that is not.
    fn alone(&self) -> Sustained {
        let offered = |trials: &[&TrialResult]| {
            trials.iter().map(|trial| trial.offered_pps).fold(f64::INFINITY, f64::min)
        };
        let loads = self.by_load();
        let (mut lower, mut upper): (&[&TrialResult], Option<&[&TrialResult]>) = (&[], None);
        let mut is_hidden = false;
        for trials in &loads {
            match self.class(trials) {
                Class::Lower => (lower, is_hidden) = (trials, false),
                Class::Undecided => is_hidden = true,
                Class::Upper => {
                    upper = Some(trials);
                    break;
                }
            }
        }
        let lower_pps = (!lower.is_empty()).then(|| offered(lower));
        let at_most = self.at_most(lower_pps.unwrap_or(0.0));
        let status = match upper {
            None if lower_pps.is_none() => SustainedStatus::Unknown,
            None if is_hidden => SustainedStatus::Disturbed,
            None => SustainedStatus::AtLeast,
            Some(upper) if !upper.iter().any(|trial| self.has_failed(trial) && is_its_own(trial)) => {
                SustainedStatus::Disturbed
            }
            Some(_) if lower_pps.is_none() => SustainedStatus::NotReached,
            Some(_) => SustainedStatus::Between,
        };
        let numbers = lower.iter().chain(upper.unwrap_or_default()).map(|trial| trial.number).collect();
        Sustained::new(status, lower_pps, upper.map(offered), at_most, numbers)
    }

    /// The trials of each load, the lowest load first. What a generator sends at most differs between trials: these are of one
    /// load only if it sent about as much.
    fn by_load(&self) -> Vec<Vec<&'r TrialResult>> {
        let mut all: Vec<_> = self.held.iter().chain(&self.failed).copied().collect();
        all.sort_by(|one, other| one.offered_pps.total_cmp(&other.offered_pps));
        let mut loads: Vec<Vec<&TrialResult>> = Vec::new();
        for trial in all {
            let is_same = |load: &&mut Vec<&TrialResult>| match (load[0].intended_pps, trial.intended_pps) {
                (None, None) => trial.offered_pps <= load[0].offered_pps * (1.0 + EQUAL_MAXIMUM_LOADS),
                (one, other) => one.map(f64::to_bits) == other.map(f64::to_bits),
            };
            match loads.iter_mut().rev().find(is_same) {
                Some(load) => load.push(trial),
                None => loads.push(vec![trial]),
            }
        }
        loads
    }

    fn has_failed(&self, trial: &TrialResult) -> bool {
        self.failed.iter().any(|failed| failed.number == trial.number)
    }

    /// Whether the trials of one load sustained it, as the goals of a bench's searches decide it: one trial without loss sustains a
    /// load, unless most lose. A single loss that was not the method's own decides nothing.
    fn class(&self, trials: &[&TrialResult]) -> Class {
        let failed: Vec<_> = trials.iter().filter(|trial| self.has_failed(trial)).collect();
        let own = failed.iter().filter(|trial| is_its_own(trial)).count();
        match trials.len() {
            all if 2 * own > all => Class::Upper,
            all if all > 1 && 2 * failed.len() > all => Class::Upper,
            all if 2 * failed.len() <= all && failed.len() < all => Class::Lower,
            _ => Class::Undecided,
        }
    }

    /// The failed trial at the lowest load.
    pub(super) fn first_failed(&self) -> Option<&'r TrialResult> {
        self.failed.first().copied()
    }
}

/// The trial at the lowest load that lost frames or only buffered them.
pub(super) fn first_failed<'r>(entrant: &Entrant<'r>) -> Option<&'r TrialResult> {
    Tried::from_trials(&entrant.trials, 0.0).first_failed()
}

/// Share of the sent frames that a longer trial loses: lost frames, and those that only the buffer had room for.
fn missing(trial: &TrialResult) -> f64 {
    let frames = trial.lost() + trial.buffered_frames(1);
    if trial.sent == 0 { 1.0 } else { frames as f64 / trial.sent as f64 }
}

/// Whether the method itself lost the frames, and not a disturbance of the host: its losses are not of one moment, and the trial
/// is undisturbed, or the time that others took from its CPUs clearly does not explain them.
fn is_its_own(trial: &TrialResult) -> bool {
    let is_quiet = trial.disturbance.reasons().is_empty();
    let (missing, taken) = (missing(trial), trial.disturbance.taken_share());
    let is_clear = missing > OWN_LOSS_FACTOR * taken || OWN_LOSS_FACTOR * (1.0 - missing) < 1.0 - taken;
    !is_of_a_moment(trial) && (is_quiet || is_clear)
}

/// Whether the frames were lost at one moment in which nobody read: most of them were consecutive, or all were in one of several
/// windows of 100 ms. A method that is too slow loses frames until the end, or is behind there.
fn is_of_a_moment(trial: &TrialResult) -> bool {
    let Some(shape) = trial.loss_pattern.as_ref().filter(|_| trial.lost() > 0) else { return false };
    let is_one_run = 2 * shape.bursts.max.unwrap_or(0) > trial.lost();
    let is_one_window = shape.lossy_windows == 1 && shape.windows >= LASTING_LOSS_WINDOWS;
    trial.buffered_frames(1) == 0 && (is_one_run || is_one_window)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::disturbance::{CpuDisturbance, Disturbance};
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::Load;

    use super::*;

    /// A trial of a second of a method that delivers so many frames; others used so much of its CPU.
    fn trial(number: u32, sent: u64, delivered: u64, taken: f64) -> TrialResult {
        let measured = measured(sent, sent, delivered, sent - delivered);
        let (profile, second) = (profile("recv"), Duration::from_secs(1));
        let trial = measured.result(number, Phase::BestEffort, &profile, Load::Maximum, second);
        let steal_ns = (taken * 1e9) as u64;
        let cpus = vec![CpuDisturbance { window_ns: 1_000_000_000, steal_ns, ..CpuDisturbance::default() }];
        let disturbance = Disturbance { cpus, sending_ns: 1_000_000_000, ..Disturbance::default() };
        TrialResult { disturbance, loss_pattern: None, ..trial }
    }

    #[test]
    fn a_loss_above_the_highest_load_of_a_search_is_not_hidden() {
        let at_least = |trials: &[TrialResult]| {
            let bounds = Bounds { lower_pps: Some(9_077.0), upper_pps: None, trials: vec![2] };
            let known = Tried::from_trials(&trials.iter().collect::<Vec<_>>(), 0.0).with(bounds);
            (known.status, known.upper_pps, known.at_most_pps, known.trials)
        };
        let held = trial(2, 9_077, 9_077, 0.0);
        let without = at_least(&[trial(1, 236_013, 236_013, 0.0), held.clone()]);
        assert_eq!(without, (SustainedStatus::AtLeast, None, None, vec![2]));
        // 1.4 % of the frames were lost while others took 10 % of the CPU.
        let disturbed = at_least(&[trial(1, 236_013, 232_709, 0.1), held.clone()]);
        assert_eq!(disturbed, (SustainedStatus::Disturbed, Some(236_013.0), None, vec![2, 1]));
        let own = at_least(&[trial(1, 236_013, 232_709, 0.0), held.clone()]);
        assert_eq!(own, (SustainedStatus::Between, Some(236_013.0), Some(236_013.0), vec![2, 1]));
        // The search's own trial does not count a second time, and a trial at the same load only counts if the search repeats it.
        let searched = TrialResult { number: 2, ..trial(1, 9_100, 9_000, 0.0) };
        assert_eq!(at_least(&[searched, held.clone()]).0, SustainedStatus::AtLeast);
        assert_eq!(at_least(&[trial(1, 9_078, 9_000, 0.1), held]).0, SustainedStatus::AtLeast);
    }

    #[test]
    fn a_method_that_reads_far_less_than_the_time_left_to_it_allows_does_not_sustain_the_load() {
        let known = |delivered| {
            let trial = trial(1, 200_000, delivered, 0.6);
            Tried::from_trials(&[&trial], 0.0).alone().status
        };
        // Others left 40 % of the CPU.
        assert_eq!(known(30_000), SustainedStatus::NotReached, "15 % of the frames");
        assert_eq!(known(60_000), SustainedStatus::Unknown, "30 % of the frames");
    }

    #[test]
    fn a_longer_trial_that_contradicts_a_search_lowers_the_limit() {
        let confirmed = |delivered: u64, taken: f64| {
            let long = TrialResult { phase: Phase::Confirmation, ..trial(4, 34_149, delivered, taken) };
            let trials = [
                trial(1, 33_000, 33_000, 0.0),
                trial(2, 34_150, 34_150, 0.0),
                trial(3, 36_000, 30_000, 0.0),
                long,
            ];
            let tried = Tried::from_trials(&trials.iter().collect::<Vec<_>>(), 0.0);
            let bounds = Bounds { lower_pps: Some(34_150.0), upper_pps: Some(36_000.0), trials: vec![2, 3] };
            let known = tried.confirmed(Sustained { searched_to: Some(0.05), ..tried.with(bounds) });
            (known.status, known.lower_pps, known.at_most_pps, known.trials)
        };
        let found = (SustainedStatus::Between, Some(34_150.0), Some(36_000.0), vec![2, 3]);
        assert_eq!(confirmed(34_149, 0.0), found);
        let read = (SustainedStatus::Between, Some(33_000.0), Some(36_000.0), vec![2, 3]);
        assert_eq!(confirmed(33_000, 0.0), read, "as far as it was read");
        let lowered = (SustainedStatus::Between, Some(33_000.0), Some(34_149.0), vec![1, 4]);
        assert_eq!(confirmed(31_000, 0.0), lowered);
        // Others took a tenth of the CPU: the limit can be higher, but this load is not claimed any more.
        let hidden = (SustainedStatus::Disturbed, Some(33_000.0), Some(36_000.0), vec![1, 4]);
        assert_eq!(confirmed(31_000, 0.1), hidden);
    }

    #[test]
    fn a_limit_that_noise_hides_is_below_what_one_thread_has_time_for() {
        let at_most = |method: &str| {
            let mut trials = [trial(1, 50_000, 50_000, 0.0), trial(2, 400_000, 390_000, 0.1)];
            for (trial, ns) in trials.iter_mut().zip([4_000.0, 5_000.0]) {
                trial.cpu.app_ns_per_packet = Some(ns);
            }
            let method = &method.into();
            let entrant = Entrant { method, trials: trials.iter().collect(), searches: Vec::new() };
            let known = Sustained::from_entrant(&entrant, 0.0);
            (known.status, known.at_most_pps)
        };
        assert_eq!(at_most("recv"), (SustainedStatus::Disturbed, Some(500_000.0)), "twice 250,000");
        assert_eq!(at_most("cmd:tcpdump"), (SustainedStatus::Disturbed, None), "it can have several threads");
    }

    #[test]
    fn frames_that_the_generator_left_unsent_are_no_limit_of_the_method() {
        let trials =
            [trial(1, 1_208, 1_208, 0.0), trial(2, 17_175, 17_175, 0.0), trial(3, 23_328, 20_000, 0.0)];
        let tried = Tried::from_trials(&trials.iter().collect::<Vec<_>>(), 0.0);
        let known = tried.with(Bounds { lower_pps: None, upper_pps: Some(1_209.0), trials: vec![1] });
        let found = (known.status, known.lower_pps, known.upper_pps);
        assert_eq!(found, (SustainedStatus::Between, Some(17_175.0), Some(23_328.0)));
    }
}
