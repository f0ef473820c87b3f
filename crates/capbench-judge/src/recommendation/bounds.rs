//! The limit of one method, by its search or, without one, by its trials alone.

use std::cmp::Ordering;

use capbench_model::members::Members;
use capbench_model::trial::{Phase, TrialResult};

use super::{Entrant, Sustained, SustainedStatus};
use crate::search::{GoalResult, Status};
use crate::sustained::moments::is_of_one_moment;
use crate::sustained::{
    Class, class_of_repeats, is_as_high, is_higher, is_of_method, misses_up_to, missing_share,
};
use crate::thresholds::{ASSUMED_PRECISION, COARSEST_PRECISION, EQUAL_MAXIMUM_LOADS, THREAD_SLOWDOWN};

impl Sustained {
    /// The highest load with a loss of up to `loss_ratio`.
    pub(super) fn from_entrant(entrant: &Entrant<'_>, loss_ratio: f64) -> Self {
        let trials = &entrant.trials;
        if trials.is_empty() {
            return Self::new(SustainedStatus::Unknown, None, None, None, Vec::new());
        }
        let tried = Tried::new(trials, loss_ratio);
        let known = by_searches(entrant, &tried, loss_ratio).unwrap_or_else(|| tried.alone());
        let confirmed = tried.confirmed(known);
        // A limit is certainly below what one thread has time for, also where the trials leave it open.
        let most = most_of_its_threads(entrant);
        Self { at_most_pps: confirmed.at_most_pps.into_iter().chain(most).reduce(f64::min), ..confirmed }
    }

    fn new(
        status: SustainedStatus,
        lower_pps: Option<f64>,
        upper_pps: Option<f64>,
        at_most_pps: Option<f64>,
        trials: Vec<u32>,
    ) -> Self {
        let mut precision = None;
        if let (Some(lower), Some(upper)) = (lower_pps, at_most_pps.or(upper_pps)) {
            precision = Some(((upper - lower) / upper).max(0.0));
        }
        Self { status, lower_pps, upper_pps, at_most_pps, precision, searched_to: None, trials }
    }
}

/// The limit by the searches with this goal; `None` if they decided no load. Of several searches those count that the host did not
/// disturb, then the most precise.
fn by_searches(entrant: &Entrant<'_>, tried: &Tried<'_>, loss_ratio: f64) -> Option<Sustained> {
    let mut best: Option<Sustained> = None;
    for result in entrant.searches.iter().flat_map(|search| &search.goals) {
        if result.goal.loss_ratio.get().total_cmp(&loss_ratio) != Ordering::Equal {
            continue;
        }
        let Some(bounds) = Bounds::from_goal(result) else { continue };
        let mut known = tried.with(bounds);
        // A search that ended early is as precise as its bounds.
        let width = result.goal.width.ratio().get();
        known.searched_to = Some(known.precision.unwrap_or(width).max(width));
        if best.as_ref().is_none_or(|best| is_better_known(&known, best)) {
            best = Some(known);
        }
    }
    best
}

fn is_better_known(one: &Sustained, other: &Sustained) -> bool {
    let one_disturbed = one.status == SustainedStatus::Disturbed;
    let other_disturbed = other.status == SustainedStatus::Disturbed;
    if one_disturbed != other_disturbed {
        return other_disturbed;
    }
    one.searched_to < other.searched_to
}

/// More packets/s than the threads of a method can process, by the least time that the application took per packet in any trial.
/// Other work on their cores can have made them slower, but not by more than this factor. `None` for programs, whose number of
/// threads is unknown.
fn most_of_its_threads(entrant: &Entrant<'_>) -> Option<f64> {
    let spec = entrant.method.known()?;
    spec.delivery()?;
    let times = entrant.trials.iter().filter_map(|trial| trial.cpu.app_ns_per_packet);
    let least = times.reduce(f64::min).filter(|ns| *ns > 0.0)?;
    Some(THREAD_SLOWDOWN * f64::from(Members::count_of(spec)) * 1e9 / least)
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
        let mut lower = result.lower.as_ref();
        let mut upper = result.upper.as_ref();
        if let Some((best_lower, best_upper)) = result.best_bounds() {
            lower = Some(best_lower);
            upper = Some(best_upper);
        }
        if lower.is_none() && upper.is_none() {
            return None;
        }
        let is_at_least = result.status == Status::AtLeast;
        Some(Self {
            lower_pps: lower.map(|bound| bound.achieved_pps),
            upper_pps: upper.filter(|_| !is_at_least).map(|bound| bound.intended_pps),
            trials: [lower, upper].into_iter().flatten().flat_map(|bound| bound.trials.clone()).collect(),
        })
    }
}

/// Trials of a method by whether they lost more than allowed.
struct Tried<'r> {
    loss_ratio: f64,
    /// Trials that sustained their load, lowest load first.
    held: Vec<&'r TrialResult>,
    /// Trials that did not, lowest load first.
    failed: Vec<&'r TrialResult>,
}

impl<'r> Tried<'r> {
    fn new(trials: &[&'r TrialResult], loss_ratio: f64) -> Self {
        let (mut held, mut failed): (Vec<_>, Vec<_>) =
            trials.iter().copied().partition(|trial| misses_up_to(trial, loss_ratio));
        held.sort_by(by_load);
        failed.sort_by(by_load);
        Self { loss_ratio, held, failed }
    }

    /// The lowest load above `lower_pps` at which the method lost more than the host's disturbances explain.
    fn at_most(&self, lower_pps: f64) -> Option<f64> {
        let mut above = self.failed.iter().filter(|trial| trial.offered_pps > lower_pps);
        above.find(|trial| is_of_method(trial)).map(|trial| trial.offered_pps)
    }

    /// By the bounds of a search. Its trials are among these.
    fn with(&self, bounds: Bounds) -> Sustained {
        let Bounds { lower_pps, upper_pps, trials } = bounds;
        let Some(upper) = upper_pps else { return self.above(lower_pps, trials) };
        let mut at_upper = self.failed.iter().filter(|trial| trials.contains(&trial.number)).peekable();
        let has_losses = at_upper.peek().is_some();
        if lower_pps.is_none() && !has_losses {
            // The generator left frames unsent at every load: that is no limit of the method.
            return self.alone();
        }
        let is_clear = !has_losses || at_upper.any(|trial| is_of_method(trial));
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
        let mut failed = self.failed.clone();
        failed.retain(|trial| {
            is_higher(trial.offered_pps, lower_pps.unwrap_or(0.0)) && !trials.contains(&trial.number)
        });
        let of_method = failed.iter().find(|trial| is_of_method(trial));
        let shown = of_method.or_else(|| failed.iter().find(|trial| !is_of_one_moment(trial)));
        let status = match (of_method, shown) {
            (Some(_), _) => SustainedStatus::Between,
            (None, Some(_)) => SustainedStatus::Disturbed,
            (None, None) => SustainedStatus::AtLeast,
        };
        let upper_pps = shown.map(|trial| trial.offered_pps);
        let at_most_pps = of_method.map(|trial| trial.offered_pps);
        trials.extend(shown.map(|trial| trial.number));
        Sustained::new(status, lower_pps, upper_pps, at_most_pps, trials)
    }

    /// Trials that confirm a limit, at loads up to it, that did not sustain their load.
    fn contradicting(&self, known: &Sustained) -> Vec<&'r TrialResult> {
        let Some(lower_pps) = known.lower_pps else { return Vec::new() };
        let mut trials = self.failed.clone();
        trials.retain(|trial| {
            trial.phase == Phase::Confirmation
                && !is_higher(trial.offered_pps, lower_pps)
                && !is_of_one_moment(trial)
        });
        trials
    }

    /// What is left of a limit after longer trials at that load, which count more than short ones. A load of which the method read
    /// nearly all is claimed as far as it read it. One that shows a larger excess than the precision allows is not claimed.
    fn confirmed(&self, known: Sustained) -> Sustained {
        let precision = known.searched_to.unwrap_or(ASSUMED_PRECISION).min(COARSEST_PRECISION);
        let (nearly, contrary): (Vec<_>, Vec<_>) =
            self.contradicting(&known).into_iter().partition(|trial| misses_up_to(trial, precision));
        let Some(lowest) = contrary.first() else {
            let read = nearly.iter().map(|trial| trial.offered_pps * (1.0 - missing_share(trial)));
            let lower_pps = known.lower_pps.into_iter().chain(read).reduce(f64::min);
            return Sustained { lower_pps, ..known };
        };
        let upper = lowest.offered_pps;
        let below = self.held.iter().rfind(|trial| !is_as_high(trial.offered_pps, upper));
        let is_clear = contrary.iter().any(|trial| is_of_method(trial));
        let status = match below {
            _ if !is_clear => SustainedStatus::Disturbed,
            None => SustainedStatus::NotReached,
            Some(_) => SustainedStatus::Between,
        };
        let at_most = if is_clear { Some(upper) } else { known.at_most_pps };
        let trials = below.into_iter().chain([lowest]).map(|trial| trial.number).collect();
        let mut bounds =
            Sustained::new(status, below.map(|trial| trial.offered_pps), Some(upper), at_most, trials);
        if let Some(width) = known.searched_to {
            bounds.searched_to = Some(bounds.precision.unwrap_or(width).max(width));
        }
        bounds
    }

    /// By the trials alone: the highest load that is sustained, below the lowest that is not.
    fn alone(&self) -> Sustained {
        let loads = self.by_load();
        let mut lower: Option<&Vec<&TrialResult>> = None;
        let mut upper: Option<&Vec<&TrialResult>> = None;
        let mut is_hidden = false;
        for trials in &loads {
            match class_of_repeats(trials, self.loss_ratio) {
                Class::Lower => {
                    lower = Some(trials);
                    is_hidden = false;
                }
                Class::Undecided => is_hidden = true,
                Class::Upper => {
                    upper = Some(trials);
                    break;
                }
            }
        }
        // The trials of a load are in the order of what was offered.
        let lower_pps = lower.map(|trials| trials[0].offered_pps);
        let upper_pps = upper.map(|trials| trials[0].offered_pps);
        let at_most = self.at_most(lower_pps.unwrap_or(0.0));
        let status = match upper {
            None if lower_pps.is_none() => SustainedStatus::Unknown,
            None if is_hidden => SustainedStatus::Disturbed,
            None => SustainedStatus::AtLeast,
            Some(upper) if !upper.iter().any(|trial| self.has_own_loss(trial)) => SustainedStatus::Disturbed,
            Some(_) if lower_pps.is_none() => SustainedStatus::NotReached,
            Some(_) => SustainedStatus::Between,
        };
        let numbers = lower.into_iter().chain(upper).flatten().map(|trial| trial.number).collect();
        Sustained::new(status, lower_pps, upper_pps, at_most, numbers)
    }

    fn has_own_loss(&self, trial: &TrialResult) -> bool {
        !misses_up_to(trial, self.loss_ratio) && is_of_method(trial)
    }

    /// The trials of each load, the lowest load first. What a generator sends at most differs between trials: these are of one
    /// load only if it sent about as much.
    fn by_load(&self) -> Vec<Vec<&'r TrialResult>> {
        let mut all: Vec<_> = self.held.iter().chain(&self.failed).copied().collect();
        all.sort_by(by_load);
        let mut loads: Vec<Vec<&TrialResult>> = Vec::new();
        for trial in all {
            match loads.iter_mut().rev().find(|load| is_of_load(trial, load[0])) {
                Some(load) => load.push(trial),
                None => loads.push(vec![trial]),
            }
        }
        loads
    }
}

fn by_load(one: &&TrialResult, other: &&TrialResult) -> Ordering {
    one.offered_pps.total_cmp(&other.offered_pps)
}

/// Whether a trial is of the same load as another one, which offered no more.
fn is_of_load(trial: &TrialResult, other: &TrialResult) -> bool {
    match (other.intended_pps, trial.intended_pps) {
        (None, None) => trial.offered_pps <= other.offered_pps * (1.0 + EQUAL_MAXIMUM_LOADS),
        (one, other) => one.map(f64::to_bits) == other.map(f64::to_bits),
    }
}

/// The trial at the lowest load that lost frames or only buffered them.
pub(super) fn first_failed<'r>(entrant: &Entrant<'r>) -> Option<&'r TrialResult> {
    Tried::new(&entrant.trials, 0.0).failed.first().copied()
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
            let known = Tried::new(&trials.iter().collect::<Vec<_>>(), 0.0).with(bounds);
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
            Tried::new(&[&trial], 0.0).alone().status
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
            let tried = Tried::new(&trials.iter().collect::<Vec<_>>(), 0.0);
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
        let tried = Tried::new(&trials.iter().collect::<Vec<_>>(), 0.0);
        let known = tried.with(Bounds { lower_pps: None, upper_pps: Some(1_209.0), trials: vec![1] });
        let found = (known.status, known.lower_pps, known.upper_pps);
        assert_eq!(found, (SustainedStatus::Between, Some(17_175.0), Some(23_328.0)));
    }
}
