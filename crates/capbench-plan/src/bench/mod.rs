//! The main job: which method captures every packet, up to what rate, and at what CPU cost. In each set-up (frame size and
//! placement) every method first runs at maximum load. Then the methods take turns in short trials at the load that the best one just
//! misses, until these show which method is best (`rounds`). Then a short search finds the highest load that each sustains. A method
//! that looked slower is first tried at what the best one sustains: if it loses there, that decides. Then all run at one load that the
//! slowest sustains, so that CPU cost is compared at equal work. The trials at maximum load of the first set-up show what a trial
//! costs on this host. A slow host gets fewer set-ups, then a coarser precision, but no longer run. The time that is left confirms
//! the answer by a longer trial.
//!
//! With several visits, the later ones come in random order and the methods alternate. With a reference method, that method runs
//! immediately before or after each of the others, alternately.

mod common_load;
#[cfg(test)]
mod recommendation;
mod rounds;
mod search_plan;
mod searching;
#[cfg(test)]
mod tests;
mod time;

use std::cmp::Ordering;
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
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};
pub use search_plan::Searching;
use searching::Progress;

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
        let searched = self.searching.as_ref().map_or(0, |searching| searching.trials() as usize);
        let opening = (opening + searched) * self.measured_methods().count();
        let confirmed = usize::from(self.searching.is_some());
        groups * (opening + self.trials_of_visits()) + confirmed
    }

    /// Number of loads of a set-up.
    fn loads(&self) -> usize {
        if self.rate.is_some() { 1 } else { 2 }
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
        let mut stretches = Vec::new();
        for (placement, size) in self.set_ups() {
            if session.stopped {
                break;
            }
            if progress.left == 0 {
                progress.leave_out(&Setup { placement, ..size.clone() }, PartOfBench::Everything);
                continue;
            }
            stretches.extend(self.group(placement, size, &mut progress, &mut session)?);
            progress.left -= progress.left.min(1);
        }
        if let Some(first) = stretches.first().filter(|_| !session.stopped) {
            self.confirm(first, &mut session)?;
        }
        let pairs = self.visit(&stretches, &mut session)?;
        let Session { trials, searches, stopped, .. } = session;
        Ok(BenchOutcome { trials, searches, left_out: progress.left_out, pairs, stopped })
    }

    /// The set-ups without method, in the order in which they are measured. If time is limited, the most telling ones come
    /// first: the smallest frames of every placement, then the largest.
    fn set_ups(&self) -> Vec<(PlacementChoice, &Setup)> {
        if self.searching.is_none() {
            let sizes_at = |placement| self.sizes.iter().map(move |size| (placement, size));
            return self.placements.iter().flat_map(|&placement| sizes_at(placement)).collect();
        }
        let last = self.sizes.len().saturating_sub(1);
        let order = [0, last].into_iter().take(self.sizes.len()).chain(1..last.max(1));
        order
            .flat_map(|nth| self.placements.iter().map(move |&placement| (placement, &self.sizes[nth])))
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

    /// All phases once with one frame size in one placement, unless the user gave the load. Returns the stretches to visit.
    fn group(
        &self,
        placement: PlacementChoice,
        size: &Setup,
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<Vec<Stretch>> {
        let setups: Vec<Setup> = self
            .measured_methods()
            .filter(|method| !self.left_out.iter().any(|(place, out)| *place == placement && out == *method))
            .map(|method| Setup { method: method.clone(), placement, ..size.clone() })
            .collect();
        if let Some(rate) = self.rate {
            if let Some(time) = self.turns {
                let groups = (self.sizes.len() * self.placements.len()).max(1) as u32;
                self.take_turns_at(&setups, rate, time / groups, session)?;
            }
            return Ok(vec![Stretch { setups, load: Load::Rate(rate), phase: Phase::FixedLoad }]);
        }
        // The trials at maximum load before turns are a place to begin. Probes between them would take the time of many rounds.
        session.take_turns(self.turns.is_some());
        let mut measured = Vec::new();
        for setup in &setups {
            if !progress.fits(setup, self.duration, session) {
                break;
            }
            match self.overload(setup, progress, session)? {
                Some(overload) => measured.push(Measured { setup: setup.clone(), overload, sustained: None }),
                None if session.stopped => return Ok(Vec::new()),
                None => {}
            }
        }
        let ran = measured.iter().map(|one| one.setup.clone()).collect();
        let mut stretches = vec![Stretch { setups: ran, load: Load::Maximum, phase: Phase::BestEffort }];
        let mut cost_load = None;
        if let Some(time) = self.time_for_turns(progress, session) {
            cost_load = self.take_turns(&measured, time, session)?;
        }
        session.take_turns(false);
        if let Some(searching) = self.searching.as_ref().filter(|_| !session.stopped) {
            self.search(searching, &mut measured, progress, session)?;
        }
        if session.stopped {
            return Ok(stretches);
        }
        // Turns have compared the costs.
        if let Some(load) = cost_load {
            let setups = measured.into_iter().map(|one| one.setup).collect();
            stretches.push(Stretch { setups, load: Load::Rate(load), phase: Phase::CommonLoad });
            return Ok(stretches);
        }
        stretches.extend(self.common_load(measured, progress, session)?);
        Ok(stretches)
    }

    /// Runs a method at maximum load. A small loss can be a stall of the host, which a second trial does not repeat: if it loses
    /// less, it is the one that shows the method's limit.
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
        let quality = |trial: &TrialResult| (trial.verdict == Verdict::Invalid, trial.sent_loss_ratio());
        Ok(first
            .into_iter()
            .chain(again)
            .min_by(|one, other| quality(one).partial_cmp(&quality(other)).unwrap_or(Ordering::Equal)))
    }
}
