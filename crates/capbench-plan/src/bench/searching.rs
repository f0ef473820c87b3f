//! The searches of a bench: how precise, in what time, and from which trial at maximum load each starts.

use std::time::Duration;

use super::time::{Clock, Extent, trials_of_search};
use super::{BenchPlan, Measured};
use crate::Result;
use crate::recommendation::{LOSSLESS, NEARLY, NEARLY_LOSSLESS};
use crate::search::{Goal, Overload, Ratio, SearchPlan, Strategy, Width};
use crate::session::Session;
use capbench_model::trial::{TICK, TrialResult, Verdict};

/// How a bench searches for sustained rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Searching {
    /// Requested distance of the bounds, as a share of the upper one.
    pub precision: Ratio,
    /// The time that all trials of the first visit may take.
    pub budget: Duration,
    /// Length of the trials of searches. Shorter trials do not show a smaller excess: [`Self::least_trial`].
    pub trial: Duration,
    /// How long a trial waits for missing frames.
    pub quiet: Duration,
}

/// Time for which methods hold frames back although the application waits for them, as a block of a ring.
const HOLDS: Duration = Duration::from_millis(10);
/// Trials of a search for the estimate before any trial ran.
const LIKELY_TRIALS: u32 = 5;

impl Searching {
    /// The shortest trial that shows an excess of this share: the buffer absorbs the frames of the time that the receiver needs
    /// to notice the end, and of the time that the method may hold frames back.
    pub fn least_trial(precision: Ratio) -> Duration {
        (TICK + HOLDS).div_f64(precision.get().max(f64::MIN_POSITIVE))
    }

    /// Number of trials of a search, before any trial shows it.
    pub(super) fn trials(&self) -> u32 {
        LIKELY_TRIALS
    }

    /// The search after a trial at maximum load; `None` if that trial shows no limit of the method, or nothing at all.
    pub(super) fn plan(&self, overload: &TrialResult, coarser: u32) -> Option<SearchPlan> {
        let is_sustained = overload.lost() == 0 && overload.buffered_frames(1) == 0;
        if is_sustained || overload.verdict == Verdict::Invalid {
            return None;
        }
        let precision = Ratio::new(self.precision.get() * f64::from(coarser)).ok()?;
        let goal = |name: &str, loss: f64| {
            Some(Goal {
                name: name.into(),
                strategy: Strategy::Mlr,
                loss_ratio: Ratio::new(loss).ok()?,
                // One trial without loss sustains a load. A loss counts if a second trial at that load repeats it.
                exceed_ratio: Ratio::new(0.5).ok()?,
                width: Width::Relative(precision),
                final_duration: self.trial,
                duration_sum: 2 * self.trial,
                initial_duration: self.trial,
                preceding_targets: 1,
            })
        };
        let goals = vec![goal(LOSSLESS, 0.0)?, goal(NEARLY_LOSSLESS, NEARLY)?];
        Some(SearchPlan {
            overload: Some(Overload::of(overload)?),
            quiet: self.quiet,
            ..SearchPlan::new(goals)
        })
    }
}

/// How far a bench got in its time.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Set-ups that are still to be measured, the current one included.
    pub(super) left: usize,
    /// Factor of the requested precision.
    coarser: u32,
    /// Known after the trials at maximum load of the first set-up.
    clock: Option<Clock>,
    /// What the time did not suffice for.
    pub(super) left_out: Vec<String>,
}

impl Progress {
    /// Before the first trial, with this number of set-ups.
    pub(super) fn before(set_ups: usize) -> Self {
        Self { left: set_ups, coarser: 1, ..Self::default() }
    }

    /// Whether so many trials fit into the time that is left.
    pub(super) fn has_time(&self, trials: usize, duration: Duration, session: &Session<'_>) -> bool {
        self.clock.is_none_or(|clock| clock.of(trials as u32, duration) <= clock.left(session))
    }

    /// Decides after the trials at maximum load of the first set-up how many set-ups fit, and how precisely.
    fn plan(
        &mut self,
        plan: &BenchPlan,
        searching: &Searching,
        measured: &[Measured],
        session: &Session<'_>,
    ) {
        let clock = Clock::new(searching.budget, session);
        let one = |coarser: u32| {
            let trials = measured.iter().map(|one| trials_of_search(&one.overload, searching, coarser)).sum();
            clock.of(2 * measured.len() as u32, plan.duration) + clock.of(trials, searching.trial)
        };
        let Extent { set_ups, coarser } = Extent::fitting(self.left, searching.budget, one);
        (self.left, self.coarser, self.clock) = (set_ups, coarser, Some(clock));
    }
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
        if progress.clock.is_none() {
            progress.plan(self, searching, measured, session);
        }
        let Some(clock) = progress.clock else { return Ok(()) };
        let others = progress.left.saturating_sub(1) as u32;
        let count = measured.len() as u32;
        // Later set-ups get as much time as this one needs for all its trials.
        let of_set_up = (clock.left(session) + clock.of(count, self.duration)) / (others + 1);
        let ends_at = (session.spent + of_set_up).saturating_sub(clock.of(2 * count, self.duration));
        let mut open: Vec<&mut Measured> = measured.iter_mut().collect();
        // Methods that read most come first: the best of them is the answer.
        open.sort_by(|one, other| other.overload.read_pps().total_cmp(&one.overload.read_pps()));
        let searches =
            open.iter().filter(|one| searching.plan(&one.overload, progress.coarser).is_some()).count();
        let mut left = searches as u32;
        for one in open {
            let Some(plan) = searching.plan(&one.overload, progress.coarser) else { continue };
            let time = ends_at.saturating_sub(session.spent) / left.max(1);
            left = left.saturating_sub(1);
            let Some(time) = clock.for_search(time, searching.trial) else {
                let setup = &one.setup;
                progress.left_out.push(format!(
                    "{}, {} B, placement {}: no time was left to search its sustained rate",
                    setup.method, setup.label, setup.placement
                ));
                continue;
            };
            let outcome = session.search(&one.setup, &SearchPlan { time_allowed: Some(time), ..plan })?;
            let lossless =
                outcome.iter().flat_map(|outcome| &outcome.goals).find(|goal| goal.goal.name == LOSSLESS);
            one.sustained = lossless
                .and_then(|goal| goal.lower.as_ref().or(goal.so_far.as_ref().map(|so_far| &so_far.lower)))
                .map(|lower| lower.achieved_pps);
            if session.stopped {
                break;
            }
        }
        Ok(())
    }
}
