//! The main job: which method captures every packet, up to what rate, and at what CPU cost. In each set-up (frame size and
//! placement) every method first runs at maximum load. Then the methods take turns in short trials at the load that the best one just
//! misses, until these show which method is best, and by how much they differ in loss and CPU time (`rounds`). When all set-ups had
//! their turns, short searches find the highest load that methods sustain, as far as the time suffices: first that of the best method
//! of each set-up. A method that looked slower is first tried at what the best one sustains: if it loses there, that decides. The time
//! that is left confirms the answer by a longer trial.
//!
//! Without turns each set-up has its searches at once. Then its methods run at one load that the slowest sustains, so that CPU cost is
//! compared at equal work. The trials at maximum load of the first set-up show what a trial costs on this host. A slow host gets fewer
//! set-ups, then a coarser precision, but no longer run.
//!
//! With several visits, the later ones come in random order and the methods alternate. With a reference method, that method runs
//! immediately before or after each of the others, alternately.

mod common_load;
mod confirmation;
mod pace;
mod progress;
#[cfg(test)]
mod recommendation;
mod rounds;
mod search_plan;
mod searching;
#[cfg(test)]
mod tests;
mod time;

use std::collections::BTreeSet;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;
use capbench_model::statement::{LeftOutOfBench, PartOfBench};

use crate::Observer;
use crate::Result;
use crate::cost::Cost;
use crate::order::{Shuffle, turns};
use crate::session::Session;
use capbench_judge::comparison::Pair;
use capbench_judge::durations::whole_run;
use capbench_judge::search::SearchOutcome;
use capbench_judge::sustained::moments::has_small_loss;
use capbench_judge::sustained::repeats::shows_limit;
use capbench_judge::thresholds::LIKELY_SEARCH_TRIALS;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};
pub use pace::Pace;
use progress::Progress;
pub use search_plan::Searching;
use time::{SetUps, TimeForTurns};

/// What a bench runs.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// Methods, in the order of the table.
    pub methods: Vec<MethodSpec>,
    /// Set-ups without method and placement, one per frame size.
    pub sizes: Vec<Setup>,
    /// Placements.
    pub placements: Vec<PlacementChoice>,
    /// Length of a trial.
    pub duration: Duration,
    /// A load that replaces both phases.
    pub rate: Option<Pps>,
    /// How many times each method is measured at each load.
    pub visits: u32,
    /// Seed of the random order of visits.
    pub seed: u64,
    /// The reference method. Every visit runs it next to each of the other methods.
    pub against: Option<MethodSpec>,
    /// Combinations found impossible before any trial ran.
    pub left_out: Vec<(PlacementChoice, MethodSpec)>,
    /// How long the methods take turns at one load, at most, until it is decided which is best. `None`: they do not.
    pub turns: Option<Duration>,
    /// How sustained rates are searched; `None`: they are not, and the time is not limited. A bench at one load, or with a
    /// reference method, searches nothing.
    pub searching: Option<Searching>,
}

/// One load of the methods with one frame size in one placement: the unit of a visit.
#[derive(Clone, Debug)]
struct Stretch {
    setups: Vec<Setup>,
    load: Load,
    phase: Phase,
}

impl Stretch {
    fn setup_with(&self, method: &MethodSpec) -> Option<&Setup> {
        self.setups.iter().find(|setup| setup.method == *method)
    }
}

/// A method after its trial at maximum load.
struct Measured {
    setup: Setup,
    overload: TrialResult,
    /// The load that its search found to be sustained without loss.
    sustained: Option<f64>,
}

impl Measured {
    /// The highest rate that it is known to deliver; `None` if its trial shows nothing.
    fn pps(&self) -> Option<f64> {
        let delivered = (self.overload.verdict != Verdict::Invalid).then_some(self.overload.delivered_pps);
        self.sustained.or(delivered)
    }
}

/// A set-up after its trials at maximum load and in turns.
#[derive(Default)]
struct Opened {
    measured: Vec<Measured>,
    /// The loads that the visits repeat.
    stretches: Vec<Stretch>,
}

/// The outcome of a bench.
#[derive(Debug, Default)]
pub struct BenchOutcome {
    /// The trials in the order in which they ran.
    pub trials: Vec<TrialResult>,
    /// The searches. Their trials are in the list of all trials.
    pub searches: Vec<SearchOutcome>,
    /// What the time did not suffice for.
    pub left_out: Vec<LeftOutOfBench>,
    /// Pairs of trials that ran next to each other, for comparison.
    pub pairs: Vec<Pair>,
    /// Whether the user stopped it.
    pub stopped: bool,
}

impl BenchPlan {
    /// Number of trials if the common load never has to be lowered.
    pub fn trials(&self) -> usize {
        let groups = self.sizes.len() * self.placements.len();
        // Each method opens at maximum load and at the common load, which are the loads of later visits, too.
        let opening = if self.rate.is_some() { 0 } else { self.loads() };
        let searched = if self.searching.is_some() { LIKELY_SEARCH_TRIALS } else { 0 };
        let opening = (opening + searched) * self.measured_methods().count();
        let confirmed = usize::from(self.searching.is_some());
        groups * (opening + self.trials_of_visits()) + confirmed
    }

    /// Number of loads of a set-up, besides those of turns and searches.
    fn loads(&self) -> usize {
        if self.rate.is_some() || self.searches_after_all_turns() { 1 } else { 2 }
    }

    /// Whether all set-ups have their turns before the first search, so that none lacks turns because a search took long.
    fn searches_after_all_turns(&self) -> bool {
        self.turns.is_some() && self.searching.is_some()
    }

    /// Trials of the visits after the opening, at all loads of one set-up.
    fn trials_of_visits(&self) -> usize {
        let visits = self.loads() * self.visits_after_opening() as usize * self.methods.len();
        if self.against.is_some() { 2 * visits } else { visits }
    }

    /// Approximate duration of the bench; the longest if its time is limited.
    pub fn estimate(&self) -> Duration {
        let trials = self.time_of(self.trials());
        let later = self.time_of(self.trials_of_visits() * self.sizes.len() * self.placements.len());
        let all = trials + self.turns.unwrap_or_default();
        whole_run(match &self.searching {
            Some(searching) => all.min(searching.budget + later),
            None => all,
        })
    }

    /// The time of so many trials.
    fn time_of(&self, trials: usize) -> Duration {
        let trials = trials as u32;
        Cost { trials, traffic: self.duration * trials, ..Cost::default() }.time(Duration::ZERO)
    }

    /// Runs the bench, without set-ups that cannot be measured. Fails when a trial cannot be saved.
    pub fn run(&self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Result<BenchOutcome> {
        let mut session = Session::new(laboratory, observer);
        let mut progress = Progress::before(self.set_ups().len(), self.searching.as_ref());
        let mut opened = Vec::new();
        for (placement, size) in self.set_ups() {
            if session.stopped {
                break;
            }
            let set_up = Setup { placement, ..size.clone() };
            if progress.left == 0 || !self.has_time_for_set_up(&progress, &session) {
                progress.leave_out(&set_up, PartOfBench::Everything);
                continue;
            }
            let mut set_up = self.open(&set_up, &mut progress, &mut session)?;
            if !self.searches_after_all_turns() {
                self.search_and_compare(&mut set_up, &mut progress, &mut session)?;
            }
            opened.push(set_up);
            progress.left -= progress.left.min(1);
        }
        if self.searches_after_all_turns() && !session.stopped {
            self.search_after_turns(&mut opened, &mut progress, &mut session)?;
        }
        let stretches: Vec<Stretch> = opened.into_iter().flat_map(|set_up| set_up.stretches).collect();
        if let Some(first) = stretches.first().filter(|_| !session.stopped) {
            self.confirm(first, &mut session)?;
        }
        let pairs = self.visit(&stretches, &mut session)?;
        let Session { trials, searches, stopped, .. } = session;
        Ok(BenchOutcome { trials, searches, left_out: progress.left_out, pairs, stopped })
    }

    /// Whether one more set-up fits. After the first one that takes turns, its rounds have to be judged once: fewer tell nothing, and in
    /// that time a search shows what the best method of the first one sustains.
    fn has_time_for_set_up(&self, progress: &Progress, session: &Session<'_>) -> bool {
        let clock = progress.clock(session).filter(|_| self.searches_after_all_turns());
        match clock.filter(|_| !session.trials.is_empty()) {
            Some(clock) => {
                let set_ups = SetUps { all: self.set_ups().len() as u32, left: progress.left as u32 };
                clock.fits_set_up(set_ups, self.measured_methods().count() as u32, session)
            }
            None => progress.has_time_for_one(self.duration, session),
        }
    }

    /// The set-ups without method, in the order in which they are measured. If time is limited, the most telling ones come
    /// first: in each placement the smallest frames, then the largest.
    fn set_ups(&self) -> Vec<(PlacementChoice, &Setup)> {
        if self.searching.is_none() {
            let sizes_at = |placement| self.sizes.iter().map(move |size| (placement, size));
            return self.placements.iter().flat_map(|&placement| sizes_at(placement)).collect();
        }
        let last = self.sizes.len().saturating_sub(1);
        let order = [0, last].into_iter().take(self.sizes.len()).chain(1..last.max(1));
        let sizes: Vec<&Setup> = order.map(|nth| &self.sizes[nth]).collect();
        self.placements
            .iter()
            .flat_map(|&placement| sizes.iter().map(move |&size| (placement, size)))
            .collect()
    }

    /// The methods, followed by the reference method.
    fn measured_methods(&self) -> impl Iterator<Item = &MethodSpec> {
        self.against.iter().chain(&self.methods)
    }

    /// Number of visits after those that find the loads. With a reference method, the opening visits count for no comparison.
    fn visits_after_opening(&self) -> u32 {
        let is_first = self.rate.is_none() && self.against.is_none();
        self.visits - u32::from(is_first).min(self.visits)
    }

    /// Runs the later visits, or all visits if the user gave the load.
    fn visit(&self, stretches: &[Stretch], session: &mut Session<'_>) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        let mut failed = BTreeSet::new();
        let mut shuffle = Shuffle::new(self.seed);
        let is_random = self.visits > 1 || self.against.is_some();
        for number in 0..self.visits_after_opening() as usize {
            let order =
                if is_random { shuffle.pass(stretches.len()) } else { (0..stretches.len()).collect() };
            for (place, method) in turns(&order, self.methods.len(), number) {
                let stretch = &stretches[place];
                let Some(setup) = stretch.setup_with(&self.methods[method]) else { continue };
                if failed.contains(&(place, method)) {
                    continue;
                }
                let measured = match &self.against {
                    None => self.at(stretch, setup, session)?.is_some(),
                    Some(against) => {
                        let Some(beside) = stretch.setup_with(against) else { continue };
                        // The order alternates between visits: A B, then B A.
                        let is_first = number.is_multiple_of(2);
                        let [one, two] = if is_first { [beside, setup] } else { [setup, beside] };
                        let one = self.at(stretch, one, session)?;
                        let two = if one.is_some() { self.at(stretch, two, session)? } else { None };
                        let (then, now) = if is_first { (one, two) } else { (two, one) };
                        let pair = then.zip(now).map(|(then, now)| Pair { then, now });
                        pairs.extend(pair);
                        pair.is_some()
                    }
                };
                if session.stopped {
                    return Ok(pairs);
                }
                if !measured {
                    failed.insert((place, method));
                }
            }
        }
        Ok(pairs)
    }

    /// Returns the number of a stretch's trial, or `None` if the trial could not run.
    fn at(&self, stretch: &Stretch, setup: &Setup, session: &mut Session<'_>) -> Result<Option<u32>> {
        let trial = session.trial(setup, stretch.load, self.duration, stretch.phase)?;
        Ok(trial.map(|trial| trial.number))
    }

    /// The trials of a set-up at maximum load and in turns, unless the user gave the load.
    fn open(&self, set_up: &Setup, progress: &mut Progress, session: &mut Session<'_>) -> Result<Opened> {
        let mut setups = Vec::new();
        for method in self.measured_methods() {
            let is_left_out =
                self.left_out.iter().any(|(place, out)| *place == set_up.placement && out == method);
            if !is_left_out {
                setups.push(Setup { method: method.clone(), ..set_up.clone() });
            }
        }
        if let Some(rate) = self.rate {
            if let Some(time) = self.turns {
                let set_ups = self.set_ups().len().max(1) as u32;
                self.take_turns_at(&setups, rate, TimeForTurns::all(time / set_ups), session)?;
            }
            let stretch = Stretch { setups, load: Load::Rate(rate), phase: Phase::FixedLoad };
            return Ok(Opened { measured: Vec::new(), stretches: vec![stretch] });
        }
        // The trials at maximum load before turns are a place to begin. Probes between them would take the time of many rounds.
        session.take_turns(self.turns.is_some());
        let begun = session.spent;
        let mut measured = Vec::new();
        for setup in &setups {
            if !progress.fits(setup, self.duration, session) {
                break;
            }
            match self.overload(setup, progress, session)? {
                Some(overload) => measured.push(Measured { setup: setup.clone(), overload, sustained: None }),
                None if session.stopped => return Ok(Opened::default()),
                None => {}
            }
        }
        let at_maximum = session.spent - begun;
        let ran: Vec<Setup> = measured.iter().map(|one| one.setup.clone()).collect();
        let at_maximum_load = Stretch { setups: ran.clone(), load: Load::Maximum, phase: Phase::BestEffort };
        let mut opened = Opened { measured, stretches: vec![at_maximum_load] };
        let mut cost_load = None;
        if let Some(time) = self.time_for_turns(at_maximum, progress, session) {
            cost_load = self.take_turns(&opened.measured, time, session)?;
        }
        session.take_turns(false);
        if let Some(load) = cost_load {
            // Turns have compared the costs.
            opened.stretches.push(Stretch { setups: ran, load: Load::Rate(load), phase: Phase::CommonLoad });
        } else if self.searches_after_all_turns() && !session.stopped {
            opened.stretches.extend(self.common_load(&opened.measured, progress, session)?);
        }
        Ok(opened)
    }

    /// The sustained rates of the methods of a set-up that has no turns, and their costs at one load.
    fn search_and_compare(
        &self,
        opened: &mut Opened,
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<()> {
        if self.rate.is_some() || session.stopped {
            return Ok(());
        }
        if let Some(searching) = &self.searching {
            self.search(searching, &mut opened.measured, progress, session)?;
        }
        let has_common_load = opened.stretches.iter().any(|stretch| stretch.phase == Phase::CommonLoad);
        if !session.stopped && !has_common_load {
            opened.stretches.extend(self.common_load(&opened.measured, progress, session)?);
        }
        Ok(())
    }

    /// Runs a method at maximum load, and again after a small loss.
    fn overload(
        &self,
        setup: &Setup,
        progress: &Progress,
        session: &mut Session<'_>,
    ) -> Result<Option<TrialResult>> {
        let first = session.trial(setup, Load::Maximum, self.duration, Phase::BestEffort)?;
        let is_repeated = self.searching.is_some()
            && first.as_ref().is_some_and(has_small_loss)
            && progress.has_time(1, self.duration, session);
        if !is_repeated {
            return Ok(first);
        }
        let again = session.trial(setup, Load::Maximum, self.duration, Phase::BestEffort)?;
        Ok(match (first, again) {
            (Some(first), Some(again)) => Some(shows_limit(first, again)),
            (first, again) => first.or(again),
        })
    }
}
