//! The searches of a bench: in which order, in what time, and from which trial at maximum load each starts.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::search_plan::Searching;
use super::time::{Clock, coarser_searches, set_ups_that_fit};
use super::{BenchPlan, Measured, Stretch};
use crate::Result;
use crate::session::Session;
use capbench_judge::limit::Limit;
use capbench_judge::recommendation::{Certainty, LOSSLESS, Ranked, Ranking, recommend};
use capbench_judge::search::{Ratio, SearchOutcome, SearchPlan};
use capbench_judge::sustained::{is_as_high, is_sustained};
use capbench_judge::thresholds::{
    COARSE_SEARCH_FIRST, COARSEST_SEARCH, CONFIRMATION_LENGTH, CONFIRMATION_TRIALS, NEXT_CONFIRMATION_LOAD,
    TURNS_TIME, UNDERSENT_SHARE,
};
use capbench_model::laboratory::Setup;
use capbench_model::statement::{LeftOutOfBench, PartOfBench};
use capbench_model::trial::{Load, Phase, TrialResult};

/// How far a bench got in its time.
#[derive(Debug)]
pub(super) struct Progress {
    /// Set-ups that are still to be measured, the current one included.
    pub(super) left: usize,
    /// Whether the trials at maximum load of the first set-up have shown how many set-ups fit.
    is_planned: bool,
    /// The time of the bench and the length of its trials; `None` if they are not limited.
    searching: Option<Searching>,
    /// What the time did not suffice for.
    pub(super) left_out: Vec<LeftOutOfBench>,
}

impl Progress {
    /// Before the first trial, with this number of set-ups.
    pub(super) fn before(set_ups: usize, searching: Option<&Searching>) -> Self {
        Self { left: set_ups, is_planned: false, searching: searching.copied(), left_out: Vec::new() }
    }

    fn clock(&self, session: &Session<'_>) -> Option<Clock> {
        Some(Clock::from_trials(self.searching.as_ref()?, session))
    }

    /// Whether so many trials are likely to fit into the time that is left.
    pub(super) fn has_time(&self, trials: usize, duration: Duration, session: &Session<'_>) -> bool {
        self.clock(session).is_none_or(|clock| clock.time(trials, duration) <= clock.left())
    }

    /// Whether a trial of this set-up fits. If not, that is kept as left out.
    pub(super) fn fits(&mut self, setup: &Setup, duration: Duration, session: &Session<'_>) -> bool {
        let fits = self.clock(session).is_none_or(|clock| clock.fits(duration));
        if !fits {
            self.leave_out(setup, PartOfBench::Trials);
        }
        fits
    }

    pub(super) fn leave_out(&mut self, setup: &Setup, part: PartOfBench) {
        let placement = setup.placement.to_string().into();
        let left_out = LeftOutOfBench { frame_size: setup.label(), placement, part };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// Decides after the trials at maximum load of the first set-up how many set-ups fit.
    fn plan(&mut self, plan: &BenchPlan, searching: &Searching, measured: &[Measured], clock: &Clock) {
        if std::mem::replace(&mut self.is_planned, true) {
            return;
        }
        let searches: Duration =
            measured.iter().map(|one| clock.of_search(&one.overload, searching, 1)).sum();
        let one = clock.time(2 * measured.len(), plan.duration) + searches;
        self.left = set_ups_that_fit(self.left, searching.budget, one);
    }
}

/// A search that is still to be run.
struct OpenSearch<'m> {
    overload: &'m TrialResult,
    /// Whether it can decide the answer.
    may_be_best: bool,
}

impl OpenSearch<'_> {
    /// Its precision as a factor of the requested one, if those that may be best get this one.
    fn factor(&self, coarser: u32) -> u32 {
        if self.may_be_best { coarser } else { COARSEST_SEARCH }
    }

    fn time(&self, searching: &Searching, clock: &Clock, coarser: u32) -> Duration {
        clock.of_search(self.overload, searching, self.factor(coarser))
    }
}

/// The precision of a search as a factor of the requested one, and its time.
struct SearchShare {
    coarser: u32,
    time: Duration,
}

/// The share of the first of these searches in `time`. Methods that may be best get the finest precision that the time suffices
/// for, and all time that the others do not need. If it does not suffice for all, the first ones get what they need.
fn share(open: &[OpenSearch<'_>], searching: &Searching, clock: &Clock, time: Duration) -> SearchShare {
    let mut coarser = COARSEST_SEARCH;
    for finer in coarser_searches() {
        let all: Duration = open.iter().map(|search| search.time(searching, clock, finer)).sum();
        if all <= time {
            coarser = finer;
            break;
        }
    }
    let equal = time / open.len() as u32;
    let first = &open[0];
    if !first.may_be_best {
        return SearchShare { coarser: first.factor(coarser), time: equal };
    }
    let others: Duration = open[1..].iter().map(|search| search.time(searching, clock, coarser)).sum();
    let rest = time.saturating_sub(others);
    let own = first.time(searching, clock, coarser).max(rest).max(equal).min(time);
    SearchShare { coarser: first.factor(coarser), time: own }
}

impl BenchPlan {
    /// The time in which the methods of the current set-up may take turns; `None` if they do not. The time of a bench is shared with the
    /// later set-ups and with searches.
    pub(super) fn time_for_turns(&self, progress: &Progress, session: &Session<'_>) -> Option<Duration> {
        let time = self.turns?;
        let Some(clock) = progress.clock(session) else { return Some(time) };
        let of_set_up = clock.left() / progress.left.max(1) as u32;
        Some(time.min(of_set_up.mul_f64(TURNS_TIME)))
    }

    /// Searches the sustained rate of every method of a set-up, in the time of that set-up.
    pub(super) fn search(
        &self,
        searching: &Searching,
        measured: &mut [Measured],
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<()> {
        let clock = Clock::from_trials(searching, session);
        progress.plan(self, searching, measured, &clock);
        let ends_at = self.searches_end_at(measured.len(), &clock, progress, session);
        let fastest = measured.iter().filter_map(Measured::pps).fold(0.0, f64::max);
        let mut open = Vec::new();
        let mut at_generator = Vec::new();
        for one in measured {
            match searching.plan(&one.overload, COARSEST_SEARCH) {
                Some(_) => open.push(one),
                None => at_generator.push(one),
            }
        }
        // Methods that read most come first: the best of them is the answer.
        open.sort_by(|one, other| other.overload.read_pps().total_cmp(&one.overload.read_pps()));
        let left = ends_at.saturating_sub(session.spent);
        let searching = searching.longer(left, |searching| {
            open.iter().map(|one| clock.of_search(&one.overload, searching, 1)).sum()
        });
        for round in [None, Some(2)] {
            let searches = SearchRound { searching, ends_at, fastest, round };
            searches.run(&mut open, progress, session)?;
            if session.stopped {
                return Ok(());
            }
            self.catch_up(&mut at_generator, ends_at, progress, session)?;
            // Methods between which the trials leave no decision are searched once more.
            let Some(known) = open.first().and_then(|first| known(session, &first.overload)) else { break };
            open.retain(|one| {
                let ranked = known.find(&one.setup.method);
                ranked.is_some_and(|ranked| is_undecided(ranked, &known, searching.precision))
            });
        }
        Ok(())
    }

    /// When the searches of the current set-up are to end: the time that is left is shared with the later set-ups.
    fn searches_end_at(
        &self,
        methods: usize,
        clock: &Clock,
        progress: &Progress,
        session: &Session<'_>,
    ) -> Duration {
        let at_maximum = clock.time(methods, self.duration);
        // The later set-ups also run at maximum load, as this one did.
        let later_set_ups = progress.left.saturating_sub(1) as u32;
        let of_set_up = (clock.left() + at_maximum) / (later_set_ups + 1);
        // One round at the common load follows.
        let kept = at_maximum + clock.reserve(methods, self.duration);
        (session.spent + of_set_up).saturating_sub(kept)
    }
}

/// One search of each method of a set-up.
struct SearchRound {
    searching: Searching,
    /// When all searches of the set-up are to end.
    ends_at: Duration,
    /// The highest rate that a method read at maximum load.
    fastest: f64,
    /// Its number, if it is not the first.
    round: Option<u32>,
}

impl SearchRound {
    fn run(
        &self,
        open: &mut [&mut Measured],
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<()> {
        for nth in 0..open.len() {
            let Some(plan) = self.first_plan(&open[nth..], session) else {
                if self.round.is_none() {
                    progress.leave_out(&open[nth].setup, PartOfBench::Searches);
                }
                continue;
            };
            let one = &mut open[nth];
            let outcome = session.search(&one.setup, &plan, self.round)?;
            one.sustained = outcome.as_ref().and_then(sustained).or(one.sustained);
            if session.stopped {
                break;
            }
        }
        Ok(())
    }

    /// The search of the first of these methods, in its share of the time; `None` if none fits.
    fn first_plan(&self, open: &[&mut Measured], session: &Session<'_>) -> Option<SearchPlan> {
        let overload = &open[0].overload;
        let known = known(session, overload);
        let clock = Clock::from_trials(&self.searching, session);
        let mut searches = Vec::new();
        for one in open {
            let may_be_best = self.round.is_some() || may_be_best(one, known.as_ref(), self.fastest);
            searches.push(OpenSearch { overload: &one.overload, may_be_best });
        }
        let left = self.ends_at.saturating_sub(session.spent);
        let share = share(&searches, &self.searching, &clock, left);
        let plan = self.searching.plan(overload, share.coarser)?;
        let time = clock.for_trials(share.time, self.searching.trial)?;
        let starts_at_pps = leading(known.as_ref(), &plan);
        Some(SearchPlan { time_allowed: Some(time), starts_at_pps, ..plan })
    }
}

/// Whether a finer search may change what is known of a method.
fn is_undecided(ranked: &Ranked, ranking: &Ranking, precision: Ratio) -> bool {
    let is_coarse = ranked.lossless.searched_to > Some(precision.get());
    ranked.below != Some(Certainty::Certain) && (is_coarse || !ranking.undecided().is_empty())
}

impl BenchPlan {
    /// Runs methods once more that sustained all that the generator sent, if that is less than another one sustains: the generator
    /// may send more now.
    fn catch_up(
        &self,
        at_generator: &mut [&mut Measured],
        ends_at: Duration,
        progress: &Progress,
        session: &mut Session<'_>,
    ) -> Result<()> {
        let Some(first) = at_generator.first() else { return Ok(()) };
        let leading = known(session, &first.overload).and_then(|known| known.leading_pps()).unwrap_or(0.0);
        for one in at_generator {
            let is_behind = one.overload.offered_pps < leading * (1.0 - UNDERSENT_SHARE);
            if is_behind
                && session.spent + self.duration < ends_at
                && let Some(again) = self.overload(&one.setup, progress, session)?
                && is_sustained(&again)
            {
                one.overload = again;
            }
        }
        Ok(())
    }

    /// Runs the method that the trials name once more, at the load that it sustained in the first set-up and as long as the time
    /// that is left allows: a short trial hides a small excess in buffers, and seldom meets a pause of the host. If the load is not
    /// sustained, what the trials name then is tried.
    pub(super) fn confirm(&self, first: &Stretch, session: &mut Session<'_>) -> Result<()> {
        let Some(searching) = &self.searching else { return Ok(()) };
        let Some(mut claim) = named(first, session) else { return Ok(()) };
        for _ in 0..CONFIRMATION_TRIALS {
            let clock = Clock::from_trials(searching, session);
            let Some(time) = clock.for_trials(clock.left(), self.duration) else { break };
            let time = time.min(CONFIRMATION_LENGTH * self.duration);
            let Some(trial) = session.trial(&claim.setup, claim.load, time, Phase::Confirmation)? else {
                break;
            };
            let Some(next) = named(first, session) else { break };
            if next.setup.method != claim.setup.method {
                claim = next;
                continue;
            }
            if is_tried(next.load, claim.load) {
                break;
            }
            // The rate at which it read frames is the better guess than the next load that a search tried.
            let Ok(rate) = Pps::new(trial.read_pps() * NEXT_CONFIRMATION_LOAD) else { break };
            claim.load = Load::Rate(rate);
        }
        Ok(())
    }
}

/// A method, and the load that it is said to sustain.
struct Claim {
    setup: Setup,
    load: Load,
}

/// Whether a load is the one that was tried, or a higher one.
fn is_tried(load: Load, tried: Load) -> bool {
    match (load.pps(), tried.pps()) {
        (Some(load), Some(tried)) => is_as_high(load, tried),
        (load, tried) => load == tried,
    }
}

/// The method that the trials name, and the load that it sustains.
fn named(first: &Stretch, session: &Session<'_>) -> Option<Claim> {
    let known = recommend(&session.trials, &session.searches)?;
    let (method, ranking) = known.method.as_ref().zip(known.headline())?;
    let setup = first.setups.iter().find(|setup| *method == setup.method)?;
    let ranked = ranking.find(&setup.method)?;
    let load = match ranked.limited_by {
        Some(Limit::Generator) => Load::Maximum,
        _ => Load::Rate(Pps::new(ranked.lossless.lower_pps?).ok()?),
    };
    Some(Claim { setup: setup.clone(), load })
}

/// What the trials so far show about the set-up of a trial.
fn known(session: &Session<'_>, trial: &TrialResult) -> Option<Ranking> {
    let profile = &trial.profile;
    recommend(&session.trials, &session.searches)?
        .rankings
        .into_iter()
        .find(|ranking| ranking.frame_size == profile.frame_size && ranking.placement == profile.placement)
}

/// Where the search of a method starts that read less at maximum load than the leading one sustains: at that load. If it loses
/// there, this one trial decides that the other is better. `None` if it is not such a method.
fn leading(known: Option<&Ranking>, plan: &SearchPlan) -> Option<Pps> {
    let (sustained, overload) = (known?.leading_pps()?, plan.overload?);
    Pps::new(sustained).ok().filter(|leading| (overload.read_pps..overload.offered_pps).contains(leading))
}

/// Whether a search of this method can decide the answer: it is not certainly worse than another one, and not far slower than the
/// fastest. A method that collapses at maximum load can be better than it looks there: a coarse search shows it.
fn may_be_best(one: &Measured, known: Option<&Ranking>, fastest: f64) -> bool {
    let fastest = known.and_then(Ranking::leading_pps).unwrap_or(0.0).max(fastest);
    let ranked = known.and_then(|known| known.find(&one.setup.method));
    let is_worse = ranked.is_some_and(|ranked| ranked.below == Some(Certainty::Certain));
    !is_worse && one.pps().is_none_or(|pps| pps >= fastest * COARSE_SEARCH_FIRST)
}

/// The load that a search found to be sustained without loss.
fn sustained(outcome: &SearchOutcome) -> Option<f64> {
    let lossless = outcome.goals.iter().find(|goal| goal.goal.name == LOSSLESS)?;
    let lower = lossless.lower.as_ref().or(lossless.so_far.as_ref().map(|so_far| &so_far.lower))?;
    Some(lower.achieved_pps)
}

#[cfg(test)]
mod tests;
