//! The limit of one method, by its search or, without one, by its trials alone.
//!
//! A trial fails if a longer one would miss more frames than allowed ([`misses_up_to`]); else it sustains its load. A failed trial is
//! evidence against the method only if the method itself missed the frames ([`is_of_method`]), and not the host. Such a load is an
//! upper bound for certain (`at_most_pps`). Other failed loads are upper bounds that noise may have lowered (`upper_pps`).

use std::cmp::Ordering;

use capbench_model::members::Members;
use capbench_model::trial::{Phase, TrialResult};

use super::{Entrant, Sustained, SustainedStatus, is_short};
use crate::search::{GoalResult, Status};
use crate::sustained::moments::is_of_one_moment;
use crate::sustained::repeats::{class_of_repeats, is_unrepeated};
use crate::sustained::{Class, is_as_high, is_higher, is_of_method, misses_up_to, missing_share};
use crate::thresholds::{ASSUMED_PRECISION, COARSEST_PRECISION, EQUAL_MAXIMUM_LOADS, THREAD_SLOWDOWN};

impl Sustained {
    /// The highest load with a loss of up to `loss_ratio`.
    pub(super) fn from_entrant(entrant: &Entrant<'_>, loss_ratio: f64) -> Self {
        let known = Self::by_long_trials(entrant, loss_ratio);
        if known.lower_pps.is_some() || entrant.trials.is_empty() {
            return known;
        }
        // Noise left no bound, though it was tried.
        let Some(Rounds { pps, trials }) = Rounds::without_loss(entrant) else { return known };
        if known.at_most_pps.is_some_and(|most| most <= pps) {
            return known;
        }
        // So it is if a trial shows a limit, and no load is shown to be sustained. What the threads have time for, no trial shows.
        let is_clear = known.status == SustainedStatus::NotReached;
        KnownLoads {
            status: status_with_upper_bound(is_clear, Some(pps)),
            lower_pps: Some(pps),
            upper_pps: known.upper_pps.filter(|upper| *upper > pps),
            at_most_pps: known.at_most_pps,
            trials,
        }
        .sustained()
    }

    /// The same by searches, and by trials that are longer than those in turns.
    fn by_long_trials(entrant: &Entrant<'_>, loss_ratio: f64) -> Self {
        let trials = &entrant.trials;
        if trials.is_empty() {
            return KnownLoads::NONE.sustained();
        }
        let tried = Tried::new(trials, loss_ratio);
        let known = by_searches(entrant, &tried, loss_ratio).unwrap_or_else(|| tried.without_search());
        let confirmed = tried.confirmed(known);
        // A limit is certainly below what one thread has time for, also where the trials leave it open.
        let most = most_of_its_threads(entrant);
        Self { at_most_pps: confirmed.at_most_pps.into_iter().chain(most).reduce(f64::min), ..confirmed }
    }

    /// The limit with little loss, where that without loss is known, too: what a method sustains without loss it sustains with little.
    pub(super) fn above(self, lossless: &Self) -> Self {
        let Some(lower) = lossless.lower_pps.filter(|lower| self.lower_pps.is_none_or(|own| own < *lower))
        else {
            return self;
        };
        let upper_pps = self.upper_pps.filter(|upper| *upper > lower);
        let status = match (self.status, upper_pps) {
            (_, None) => SustainedStatus::AtLeast,
            (SustainedStatus::NotReached | SustainedStatus::Unknown, Some(_)) => SustainedStatus::Between,
            (status, Some(_)) => status,
        };
        Self {
            status,
            lower_pps: Some(lower),
            upper_pps,
            at_most_pps: self.at_most_pps.filter(|upper| *upper > lower),
            precision: upper_pps.map(|upper| (upper - lower) / upper),
            searched_to: self.searched_to,
            trials: lossless.trials.clone(),
        }
    }
}

/// What is known of a limit, without what follows from it. The members are those of [`Sustained`].
struct KnownLoads {
    status: SustainedStatus,
    lower_pps: Option<f64>,
    upper_pps: Option<f64>,
    at_most_pps: Option<f64>,
    trials: Vec<u32>,
}

impl KnownLoads {
    const NONE: Self = Self {
        status: SustainedStatus::Unknown,
        lower_pps: None,
        upper_pps: None,
        at_most_pps: None,
        trials: Vec::new(),
    };

    /// The limit with its precision, without a search.
    fn sustained(self) -> Sustained {
        let Self { status, lower_pps, upper_pps, at_most_pps, trials } = self;
        let mut precision = None;
        if let (Some(lower), Some(upper)) = (lower_pps, at_most_pps.or(upper_pps)) {
            precision = Some(((upper - lower) / upper).max(0.0));
        }
        Sustained { status, lower_pps, upper_pps, at_most_pps, precision, searched_to: None, trials }
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
        let mut known = tried.with_search(bounds);
        known.searched_to = Some(reached_precision(&known, result.goal.width.ratio().get()));
        if best.as_ref().is_none_or(|best| is_better_known(&known, best)) {
            best = Some(known);
        }
    }
    best
}

/// Rounds at the load at which costs are compared: together they are as long as a trial of a search.
struct Rounds {
    /// The least load that was offered, frames per second.
    pps: f64,
    trials: Vec<u32>,
}

impl Rounds {
    /// `None` unless the method captured most of them in full, and noise explains the others.
    fn without_loss(entrant: &Entrant<'_>) -> Option<Self> {
        let mut rounds = entrant.for_costs.clone();
        rounds.retain(|trial| trial.phase == Phase::CommonLoad && is_short(trial));
        let (held, failed): (Vec<_>, Vec<_>) = rounds.into_iter().partition(|trial| misses_up_to(trial, 0.0));
        if held.len() <= failed.len() || failed.iter().any(|trial| is_of_method(trial)) {
            return None;
        }
        let pps = held.iter().map(|trial| trial.offered_pps).reduce(f64::min)?;
        Some(Self { pps, trials: held.iter().map(|trial| trial.number).collect() })
    }
}

/// The precision of a search for bounds of this width: a search that ended early is only as precise as its bounds.
fn reached_precision(known: &Sustained, width: f64) -> f64 {
    known.precision.unwrap_or(width).max(width)
}

/// Whether the search for one limit decides rather than that for the other.
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
        let lower = result.best_lower();
        let upper = result.best_upper();
        if lower.is_none() && upper.is_none() {
            return None;
        }
        let is_at_least = result.status == Status::AtLeast;
        Some(Self {
            lower_pps: lower.map(|bound| bound.achieved_pps),
            // The upper bound of an "at least" result is that of the generator.
            upper_pps: upper.filter(|_| !is_at_least).map(|bound| bound.intended_pps),
            trials: lower.into_iter().chain(upper).flat_map(|bound| bound.trials.clone()).collect(),
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
    fn certain_upper_pps(&self, lower_pps: f64) -> Option<f64> {
        let mut above = self.failed.iter().filter(|trial| trial.offered_pps > lower_pps);
        above.find(|trial| is_of_method(trial)).map(|trial| trial.offered_pps)
    }

    /// The limit by the bounds of a search, whose trials are among these.
    fn with_search(&self, bounds: Bounds) -> Sustained {
        let Bounds { lower_pps, upper_pps, trials } = bounds;
        let Some(upper) = upper_pps else { return self.with_open_search(lower_pps, trials) };
        let mut failed_in_search = self.failed.clone();
        failed_in_search.retain(|trial| trials.contains(&trial.number));
        if lower_pps.is_none() && failed_in_search.is_empty() {
            // The generator left frames unsent at every load: that is no limit of the method.
            return self.without_search();
        }
        let is_clear =
            failed_in_search.is_empty() || failed_in_search.iter().any(|trial| is_of_method(trial));
        let at_most_pps = if is_clear { Some(upper) } else { self.certain_upper_pps(upper) };
        let status = status_with_upper_bound(is_clear, lower_pps);
        KnownLoads { status, lower_pps, upper_pps, at_most_pps, trials }.sustained()
    }

    /// The limit by a search that found no upper bound. Other trials can show one, such as that at maximum load.
    fn with_open_search(&self, lower_pps: Option<f64>, mut trials: Vec<u32>) -> Sustained {
        let mut failed = self.failed.clone();
        failed.retain(|trial| !is_unrepeated(trial, lower_pps, &trials));
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
        KnownLoads { status, lower_pps, upper_pps, at_most_pps, trials }.sustained()
    }

    /// Trials of the phase that confirms a limit, at loads up to it, that failed.
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
        let (nearly_sustained, contrary): (Vec<_>, Vec<_>) =
            self.contradicting(&known).into_iter().partition(|trial| misses_up_to(trial, precision));
        if !contrary.is_empty() {
            return self.below_contrary(&contrary, &known);
        }
        let mut lower_pps = known.lower_pps;
        for trial in nearly_sustained {
            let read_pps = trial.offered_pps * (1.0 - missing_share(trial));
            lower_pps = lower_pps.map(|lower| lower.min(read_pps));
        }
        Sustained { lower_pps, ..known }
    }

    /// The limit if these longer trials, lowest load first, showed that loads up to the known limit are too high.
    fn below_contrary(&self, contrary: &[&TrialResult], known: &Sustained) -> Sustained {
        let lowest = contrary[0];
        let upper = lowest.offered_pps;
        let below = self.held.iter().rfind(|trial| !is_as_high(trial.offered_pps, upper));
        let lower_pps = below.map(|trial| trial.offered_pps);
        let is_clear = contrary.iter().any(|trial| is_of_method(trial));
        let mut limit = KnownLoads {
            status: status_with_upper_bound(is_clear, lower_pps),
            lower_pps,
            upper_pps: Some(upper),
            at_most_pps: if is_clear { Some(upper) } else { known.at_most_pps },
            trials: below.into_iter().copied().chain([lowest]).map(|trial| trial.number).collect(),
        }
        .sustained();
        limit.searched_to = known.searched_to.map(|width| reached_precision(&limit, width));
        limit
    }

    /// The limit by the trials alone: the highest load that is sustained, below the lowest that is not.
    fn without_search(&self) -> Sustained {
        let loads = self.by_load();
        let mut lower: Option<&Vec<&TrialResult>> = None;
        let mut upper: Option<&Vec<&TrialResult>> = None;
        // Whether the repeats of a load above the lower bound contradict each other.
        let mut is_undecided_above = false;
        for trials in &loads {
            match class_of_repeats(trials, self.loss_ratio) {
                Class::Lower => {
                    lower = Some(trials);
                    is_undecided_above = false;
                }
                Class::Undecided => is_undecided_above = true,
                Class::Upper => {
                    upper = Some(trials);
                    break;
                }
            }
        }
        // The trials of a load are sorted by the offered load. Half of them may fail: what those offered is not sustained.
        let lower_pps = lower.and_then(|trials| {
            let mut held = trials.iter().filter(|trial| misses_up_to(trial, self.loss_ratio));
            held.next().map(|trial| trial.offered_pps)
        });
        let status = match upper {
            None if lower_pps.is_none() => SustainedStatus::Unknown,
            None if is_undecided_above => SustainedStatus::Disturbed,
            None => SustainedStatus::AtLeast,
            Some(upper) => {
                status_with_upper_bound(upper.iter().any(|trial| self.has_own_loss(trial)), lower_pps)
            }
        };
        KnownLoads {
            status,
            lower_pps,
            upper_pps: upper.map(|trials| trials[0].offered_pps),
            at_most_pps: self.certain_upper_pps(lower_pps.unwrap_or(0.0)),
            trials: lower.into_iter().chain(upper).flatten().map(|trial| trial.number).collect(),
        }
        .sustained()
    }

    /// Whether the trial failed, and the method itself missed the frames.
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

/// What is known of a limit with an upper bound. `is_clear` tells whether the method itself missed the frames there.
fn status_with_upper_bound(is_clear: bool, lower_pps: Option<f64>) -> SustainedStatus {
    match lower_pps {
        _ if !is_clear => SustainedStatus::Disturbed,
        None => SustainedStatus::NotReached,
        Some(_) => SustainedStatus::Between,
    }
}

fn by_load(one: &&TrialResult, other: &&TrialResult) -> Ordering {
    one.offered_pps.total_cmp(&other.offered_pps)
}

/// Whether a trial is of the same load as another one, which offered no more.
fn is_of_load(trial: &TrialResult, other: &TrialResult) -> bool {
    match (trial.intended_pps, other.intended_pps) {
        // At maximum load.
        (None, None) => trial.offered_pps <= other.offered_pps * (1.0 + EQUAL_MAXIMUM_LOADS),
        // The same requested load, to the bit.
        (Some(pps), Some(other_pps)) => pps.to_bits() == other_pps.to_bits(),
        (Some(_), None) | (None, Some(_)) => false,
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
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::{Bounds, KnownLoads, Tried};
    use crate::recommendation::{Entrant, Sustained, SustainedStatus};

    /// A trial of a second at maximum load on a quiet host.
    fn trial(number: u32, sent: u64, delivered: u64) -> TrialResult {
        let measured = measured(sent, sent, delivered, sent - delivered);
        let second = Duration::from_secs(1);
        let trial = measured.result(number, Phase::BestEffort, &profile("recv"), Load::Maximum, second);
        TrialResult { loss_pattern: None, ..trial }
    }

    /// The same trial on a host on which others took this share of a CPU of the trial.
    fn disturbed(trial: TrialResult, taken: f64) -> TrialResult {
        let steal_ns = (taken * 1e9) as u64;
        let cpus = vec![CpuDisturbance { window_ns: 1_000_000_000, steal_ns, ..CpuDisturbance::default() }];
        let disturbance = Disturbance { cpus, sending_ns: 1_000_000_000, ..Disturbance::default() };
        TrialResult { disturbance, ..trial }
    }

    /// The trials of a method of which no frame may be lost.
    fn lossless(trials: &[TrialResult]) -> Tried<'_> {
        Tried::new(&trials.iter().collect::<Vec<_>>(), 0.0)
    }

    /// The limit by these trials and a search of the second one that found no upper bound.
    fn with_open_search(trials: &[TrialResult]) -> Sustained {
        let bounds = Bounds { lower_pps: Some(9_077.0), upper_pps: None, trials: vec![2] };
        lossless(trials).with_search(bounds)
    }

    /// Rounds of 75 ms at 100,000 packets/s, each of which lost so many frames while others took this share of a CPU.
    fn rounds(lost: &[u64], taken: f64) -> Vec<TrialResult> {
        let load = Load::Rate("100k".parse().unwrap());
        let mut rounds = Vec::new();
        for (number, lost) in (10..).zip(lost) {
            let round = measured(7500, 7500, 7500 - lost, *lost).result(
                number,
                Phase::CommonLoad,
                &profile("recv"),
                load,
                Duration::from_millis(75),
            );
            let round = TrialResult { loss_pattern: None, offered_pps: 100_000.0, ..round };
            rounds.push(disturbed(round, taken));
        }
        rounds
    }

    /// What is known of a method whose trial at maximum load lost a tenth while others took this share of a CPU, by such rounds.
    fn known_by_rounds(lost: &[u64], taken: f64) -> Sustained {
        known_by(&disturbed(trial(1, 500_000, 450_000), taken), &rounds(lost, taken))
    }

    /// What is known of a method by a long trial and rounds.
    fn known_by(long: &TrialResult, rounds: &[TrialResult]) -> Sustained {
        let entrant = Entrant {
            method: &"recv".into(),
            trials: vec![long],
            for_costs: rounds.iter().collect(),
            takes_turns: true,
            searches: Vec::new(),
        };
        Sustained::from_entrant(&entrant, 0.0)
    }

    #[test]
    fn where_noise_leaves_no_bound_the_load_of_clean_rounds_is_one() {
        let known = known_by_rounds(&[0, 0, 0, 500], 0.3);
        assert_eq!((known.status, known.lower_pps), (SustainedStatus::Disturbed, Some(100_000.0)));
        assert_eq!((known.upper_pps, known.trials), (None, vec![10, 11, 12]));
        // A loss of the method's own above it is a limit, and what its thread has time for is none.
        for (taken, status) in [(0.3, SustainedStatus::Disturbed), (0.0, SustainedStatus::Between)] {
            let mut long = disturbed(trial(1, 500_000, 450_000), taken);
            long.cpu.app_ns_per_packet = Some(5_000.0);
            let known = known_by(&long, &rounds(&[0, 0, 0], taken));
            assert_eq!((known.status, known.at_most_pps), (status, Some(400_000.0)), "{known:?}");
        }
        let known = known_by_rounds(&[0, 0, 0], 0.0);
        assert_eq!((known.status, known.lower_pps), (SustainedStatus::Between, Some(100_000.0)));
        assert_eq!(known.at_most_pps, Some(500_000.0));
        for (lost, taken) in [(&[0, 0, 500, 500][..], 0.3), (&[0, 0, 0, 7000], 0.3), (&[], 0.3)] {
            assert_eq!(known_by_rounds(lost, taken).lower_pps, None, "{lost:?}");
        }
    }

    #[test]
    fn what_a_lossy_trial_offered_is_not_sustained() {
        // Half of the trials of a load may lose frames. The lossy one offered less.
        let trials = [trial(1, 97_000, 96_000), trial(2, 100_000, 100_000)];
        let known = lossless(&trials).without_search();
        assert_eq!((known.lower_pps, known.upper_pps), (Some(100_000.0), None), "{known:?}");
    }

    #[test]
    fn what_is_sustained_without_loss_is_sustained_with_little() {
        let of = |status, lower_pps, upper_pps| {
            let trials = vec![1];
            KnownLoads { status, lower_pps, upper_pps, at_most_pps: upper_pps, trials }.sustained()
        };
        let lossless = of(SustainedStatus::Between, Some(9e4), Some(1e5));
        let limits = |known: Sustained| (known.status, known.lower_pps, known.upper_pps);
        let lower = of(SustainedStatus::Between, Some(8e4), Some(1.2e5)).above(&lossless);
        assert_eq!(limits(lower), (SustainedStatus::Between, Some(9e4), Some(1.2e5)));
        let none = of(SustainedStatus::NotReached, None, Some(8e4)).above(&lossless);
        assert_eq!(limits(none), (SustainedStatus::AtLeast, Some(9e4), None));
        let higher = of(SustainedStatus::Between, Some(1e5), Some(1.1e5));
        assert_eq!(higher.clone().above(&lossless), higher);
    }

    #[test]
    fn a_loss_above_the_highest_load_of_a_search_is_not_hidden() {
        let searched = trial(2, 9_077, 9_077);
        let without_loss = with_open_search(&[trial(1, 236_013, 236_013), searched.clone()]);
        assert_eq!(without_loss.status, SustainedStatus::AtLeast);
        assert_eq!((without_loss.upper_pps, without_loss.trials), (None, vec![2]));
        // 1.4 % of the frames are lost: others that took 10 % of the CPU explain that.
        let lossy = trial(1, 236_013, 232_709);
        let noisy = with_open_search(&[disturbed(lossy.clone(), 0.1), searched.clone()]);
        assert_eq!(noisy.status, SustainedStatus::Disturbed);
        assert_eq!((noisy.upper_pps, noisy.at_most_pps), (Some(236_013.0), None));
        assert_eq!(noisy.trials, [2, 1]);
        let quiet = with_open_search(&[lossy, searched.clone()]);
        assert_eq!(quiet.status, SustainedStatus::Between);
        assert_eq!((quiet.upper_pps, quiet.at_most_pps), (Some(236_013.0), Some(236_013.0)));
        assert_eq!(quiet.trials, [2, 1]);
        // The search's own trial does not count a second time, and a trial at the same load only counts if the search repeats it.
        let lossy_in_search = trial(2, 9_100, 9_000);
        assert_eq!(with_open_search(&[lossy_in_search, searched.clone()]).status, SustainedStatus::AtLeast);
        let at_same_load = disturbed(trial(1, 9_078, 9_000), 0.1);
        assert_eq!(with_open_search(&[at_same_load, searched]).status, SustainedStatus::AtLeast);
    }

    #[test]
    fn a_method_that_reads_far_less_than_the_time_left_to_it_allows_does_not_sustain_the_load() {
        // Others left 40 % of the CPU. With half of that, a method could read 20 % of the frames.
        for (delivered, status) in [(30_000, SustainedStatus::NotReached), (60_000, SustainedStatus::Unknown)]
        {
            let trials = [disturbed(trial(1, 200_000, delivered), 0.6)];
            assert_eq!(lossless(&trials).without_search().status, status, "{delivered} of 200,000 frames");
        }
    }

    /// The limit after a search between 34,150 and 36,000 packets/s, and this longer trial at the lower bound.
    fn confirmed_by(longer: TrialResult) -> Sustained {
        let longer = TrialResult { phase: Phase::Confirmation, ..longer };
        let trials = [trial(1, 33_000, 33_000), trial(2, 34_150, 34_150), trial(3, 36_000, 30_000), longer];
        let tried = lossless(&trials);
        let bounds = Bounds { lower_pps: Some(34_150.0), upper_pps: Some(36_000.0), trials: vec![2, 3] };
        tried.confirmed(Sustained { searched_to: Some(0.05), ..tried.with_search(bounds) })
    }

    #[test]
    fn a_longer_trial_that_contradicts_a_search_lowers_the_limit() {
        let whole = confirmed_by(trial(4, 34_149, 34_149));
        assert_eq!((whole.status, whole.lower_pps), (SustainedStatus::Between, Some(34_150.0)));
        assert_eq!((whole.at_most_pps, whole.trials), (Some(36_000.0), vec![2, 3]));
        // 3 % is missing, and the search was precise to 5 %.
        let nearly = confirmed_by(trial(4, 34_149, 33_000));
        assert_eq!(
            (nearly.status, nearly.lower_pps),
            (SustainedStatus::Between, Some(33_000.0)),
            "as far as read"
        );
        assert_eq!((nearly.at_most_pps, nearly.trials), (Some(36_000.0), vec![2, 3]));
        let contrary = confirmed_by(trial(4, 34_149, 31_000));
        assert_eq!((contrary.status, contrary.lower_pps), (SustainedStatus::Between, Some(33_000.0)));
        assert_eq!((contrary.at_most_pps, contrary.trials), (Some(34_149.0), vec![1, 4]));
        // Others took a tenth of the CPU: the limit can be higher, but this load is not claimed any more.
        let noisy = confirmed_by(disturbed(trial(4, 34_149, 31_000), 0.1));
        assert_eq!((noisy.status, noisy.lower_pps), (SustainedStatus::Disturbed, Some(33_000.0)));
        assert_eq!((noisy.at_most_pps, noisy.trials), (Some(36_000.0), vec![1, 4]));
    }

    #[test]
    fn a_limit_that_noise_hides_is_below_what_one_thread_has_time_for() {
        let mut trials = [trial(1, 50_000, 50_000), disturbed(trial(2, 400_000, 390_000), 0.1)];
        trials[0].cpu.app_ns_per_packet = Some(4_000.0);
        trials[1].cpu.app_ns_per_packet = Some(5_000.0);
        // In 4000 ns a packet, one thread reads 250,000 packets/s; noise may have halved that. A program can have several threads.
        for (method, at_most_pps) in [("recv", Some(500_000.0)), ("cmd:tcpdump", None)] {
            let method = &method.into();
            let entrant = Entrant {
                method,
                trials: trials.iter().collect(),
                for_costs: Vec::new(),
                takes_turns: false,
                searches: Vec::new(),
            };
            let known = Sustained::from_entrant(&entrant, 0.0);
            assert_eq!(
                (known.status, known.at_most_pps),
                (SustainedStatus::Disturbed, at_most_pps),
                "{method}"
            );
        }
    }

    #[test]
    fn frames_that_the_generator_left_unsent_are_no_limit_of_the_method() {
        let trials = [trial(1, 1_208, 1_208), trial(2, 17_175, 17_175), trial(3, 23_328, 20_000)];
        // The search found no sustained load, and its only trial lost nothing.
        let bounds = Bounds { lower_pps: None, upper_pps: Some(1_209.0), trials: vec![1] };
        let known = lossless(&trials).with_search(bounds);
        assert_eq!(known.status, SustainedStatus::Between);
        assert_eq!((known.lower_pps, known.upper_pps), (Some(17_175.0), Some(23_328.0)));
    }
}
