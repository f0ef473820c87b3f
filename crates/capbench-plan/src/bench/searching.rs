//! The searches of a bench: in which order, in what time, and from which trial at maximum load each starts. After turns, which name the
//! best method, the rate of the best one of each set-up comes first, then the rates of the other methods.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::progress::Progress;
use super::search_plan::Searching;
use super::time::{Clock, coarser_searches};
use super::{BenchPlan, Measured, Opened};
use crate::Result;
use crate::session::Session;
use capbench_judge::recommendation::turns::{self, Turns};
use capbench_judge::recommendation::{Certainty, LOSSLESS, Ranked, Ranking, recommend};
use capbench_judge::search::{Ratio, SearchOutcome, SearchPlan};
use capbench_judge::sustained::is_sustained;
use capbench_judge::thresholds::{
    COARSE_SEARCH_FIRST, COARSEST_SEARCH, CONFIRMATION_LENGTH, LIKELY_SEARCH_TRIALS, UNDERSENT_SHARE,
};
use capbench_model::statement::PartOfBench;
use capbench_model::trial::TrialResult;

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

/// The methods of a set-up whose sustained rates are searched.
struct SetUpSearches<'m> {
    searching: Searching,
    /// The highest rate that a method is known to deliver, before the searches.
    fastest: f64,
    /// Methods to search, those that may be best first.
    open: Vec<&'m mut Measured>,
    /// Methods that sustained all that the generator sent.
    at_generator: Vec<&'m mut Measured>,
    /// Whether the first of the open methods has had its search.
    is_first_searched: bool,
}

impl<'m> SetUpSearches<'m> {
    /// The searches of a set-up that are to take `time`.
    fn new(
        measured: &'m mut [Measured],
        searching: &Searching,
        time: Duration,
        session: &Session<'_>,
    ) -> Self {
        let clock = Clock::from_trials(searching, session);
        let fastest = measured.iter().filter_map(Measured::pps).fold(0.0, f64::max);
        let turns = judged_turns(measured, session);
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
        if let Some(turns) = &turns {
            open.sort_by_key(|one| place_in_turns(one, turns));
        }
        let searching = searching.longer(time, |searching| {
            open.iter().map(|one| clock.of_search(&one.overload, searching, 1)).sum()
        });
        Self { searching, fastest, open, at_generator, is_first_searched: false }
    }

    /// Searches the rate of the first method only.
    fn search_first(&mut self, ends_at: Duration, session: &mut Session<'_>) -> Result<()> {
        let Self { searching, fastest, .. } = *self;
        let search = SearchRound { searching, ends_at, fastest, round: None };
        let Some(first) = self.open.first_mut() else { return Ok(()) };
        self.is_first_searched = search.run_first(std::slice::from_mut(first), session)?;
        Ok(())
    }

    /// Keeps only methods between which the trials leave no decision.
    fn keep_undecided(&mut self, session: &Session<'_>) {
        let Some(known) = self.open.first().and_then(|first| known(session, &first.overload)) else {
            self.open.clear();
            return;
        };
        let precision = self.searching.precision;
        self.open.retain(|one| {
            let ranked = known.find(&one.setup.method);
            ranked.is_some_and(|ranked| is_undecided(ranked, &known, precision))
        });
    }
}

/// What the turns of a set-up show, if they were judged.
fn judged_turns(measured: &[Measured], session: &Session<'_>) -> Option<Turns> {
    let profile = &measured.first()?.overload.profile;
    let mut trials: Vec<&TrialResult> = session.trials.iter().collect();
    trials.retain(|trial| {
        trial.profile.frame_size == profile.frame_size && trial.profile.placement == profile.placement
    });
    turns::judged(&trials).filter(|turns| turns.judged_rounds > 0)
}

/// The place of a method in turns, the best one first. Methods without a place come last.
fn place_in_turns(one: &Measured, turns: &Turns) -> usize {
    let place = turns.methods.iter().position(|in_turns| in_turns.method == one.setup.method);
    place.unwrap_or(turns.methods.len())
}

impl BenchPlan {
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
        let time = ends_at.saturating_sub(session.spent);
        let mut searches = SetUpSearches::new(measured, searching, time, session);
        for round in [None, Some(2)] {
            self.search_round(&mut searches, round, ends_at, progress, session)?;
            if session.stopped {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Searches the sustained rates of all set-ups after their turns, in the time that is left: first of the best method of each set-up,
    /// then of the others, those of the first set-up first.
    pub(super) fn search_after_turns(
        &self,
        opened: &mut [Opened],
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<()> {
        let Some(searching) = &self.searching else { return Ok(()) };
        let mut left = opened.len() as u32;
        let time = self.time_for_searches(searching, session) / left.max(1);
        let mut all = Vec::new();
        for set_up in opened {
            all.push(SetUpSearches::new(&mut set_up.measured, searching, time, session));
        }
        for searches in &mut all {
            // A search of fewer trials than most need shows little.
            let least = Clock::from_trials(searching, session).time(LIKELY_SEARCH_TRIALS, searching.trial);
            let rest = self.time_for_searches(searching, session);
            let time = (rest / left).max(least).min(rest);
            searches.search_first(session.spent + time, session)?;
            if session.stopped {
                return Ok(());
            }
            left -= 1;
        }
        for round in [None, Some(2)] {
            for searches in &mut all {
                let ends_at = session.spent + self.time_for_searches(searching, session);
                self.search_round(searches, round, ends_at, progress, session)?;
                if session.stopped {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The time that is left for searches before the trial that confirms the answer: all of it if that is less than a search needs, without
    /// which there is nothing to confirm.
    fn time_for_searches(&self, searching: &Searching, session: &Session<'_>) -> Duration {
        let clock = Clock::from_trials(searching, session);
        let before = clock.left().saturating_sub(clock.reserve(1, CONFIRMATION_LENGTH * self.duration));
        if before < clock.time(LIKELY_SEARCH_TRIALS, searching.trial) { clock.left() } else { before }
    }

    /// A search of each method of a set-up that is still open. Later only methods are open between which the trials leave no decision.
    fn search_round(
        &self,
        searches: &mut SetUpSearches<'_>,
        round: Option<u32>,
        ends_at: Duration,
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<()> {
        let SetUpSearches { searching, fastest, is_first_searched, .. } = *searches;
        let searched = usize::from(round.is_none() && is_first_searched);
        let search = SearchRound { searching, ends_at, fastest, round };
        search.run(&mut searches.open[searched..], progress, session)?;
        if session.stopped {
            return Ok(());
        }
        self.catch_up(&mut searches.at_generator, ends_at, progress, session)?;
        searches.keep_undecided(session);
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
            let is_searched = self.run_first(&mut open[nth..], session)?;
            if session.stopped {
                break;
            }
            if !is_searched && self.round.is_none() {
                progress.leave_out(&open[nth].setup, PartOfBench::Searches);
            }
        }
        Ok(())
    }

    /// Searches the rate of the first of these methods. Returns whether there was time for it.
    fn run_first(&self, open: &mut [&mut Measured], session: &mut Session<'_>) -> Result<bool> {
        let Some(plan) = self.first_plan(open, session) else { return Ok(false) };
        let one = &mut open[0];
        let outcome = session.search(&one.setup, &plan, self.round)?;
        one.sustained = outcome.as_ref().and_then(sustained).or(one.sustained);
        Ok(true)
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
    Some(lossless.best_lower()?.achieved_pps)
}

#[cfg(test)]
mod tests;
