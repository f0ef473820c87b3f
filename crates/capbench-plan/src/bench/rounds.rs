//! Rounds of short trials in turns at two loads, until they show which method is best.
//!
//! One load is around the limit of the best method: there the others lose most. Below it slower methods capture all, too, and far above
//! it the best one may collapse. The other load is below the limits of all methods: there a packet costs each of them what it costs
//! where none is lost. Noise hides differences at the limit, and hardly moves costs. Rounds are judged by [`turns::judged_so_far`]. A method
//! that is known to be below another one runs no more.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_judge::recommendation::turns::{self, Turns};
use capbench_judge::sustained::is_sustained;
use capbench_judge::thresholds::{
    COMMON_LOAD_SLOWEST, FIRST_COMMON_LOAD, TRIAL_OVERHEAD, TURN_LENGTH, TURNS_COST_LOAD, TURNS_LOAD,
    TURNS_LOAD_PRECISION, TURNS_LOAD_RAISES, TURNS_LOAD_ROUNDS, TURNS_LOAD_STEP, TURNS_LOAD_STEPS,
    TURNS_LOOKS, TURNS_ROUNDS_OF_COSTS,
};
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, Phase, TrialResult};

use super::progress::Progress;
use super::time::{SetUps, TimeForTurns};
use super::{BenchPlan, Measured};
use crate::Result;
use crate::order::Shuffle;
use crate::session::Session;

#[cfg(test)]
mod tests;

/// The methods of one set-up in turns.
struct Rounds {
    setups: Vec<Setup>,
    /// The load below the limits of all methods; `None` if costs are compared at the load of the rounds.
    cost_load: Option<Pps>,
    are_costs_known: bool,
    /// Whether they were judged at least once.
    are_judged: bool,
    /// The number of trials before them, and the time that they took.
    trials_before: usize,
    spent_before: Duration,
    time: TimeForTurns,
    shuffle: Shuffle,
}

impl BenchPlan {
    /// The time in which the methods of the current set-up may take turns; `None` if they do not. The trials of the set-up at maximum
    /// load took `at_maximum`.
    pub(super) fn time_for_turns(
        &self,
        at_maximum: Duration,
        progress: &Progress,
        session: &Session<'_>,
    ) -> Option<TimeForTurns> {
        let most = self.turns?;
        let Some(clock) = progress.clock(session) else { return Some(TimeForTurns::all(most)) };
        let set_ups = SetUps { all: self.set_ups().len() as u32, left: progress.left as u32 };
        let time = clock.for_turns(set_ups, at_maximum)?;
        Some(TimeForTurns { own: most.min(time.own), all: most.min(time.all) })
    }

    /// Lets the methods of a set-up take turns at a load around the limit of the best one, and at one below all limits. Returns the
    /// latter, if they ran there.
    pub(super) fn take_turns(
        &self,
        measured: &[Measured],
        time: TimeForTurns,
        session: &mut Session<'_>,
    ) -> Result<Option<Pps>> {
        let Some(limit) = Limit::from_measured(measured) else { return Ok(None) };
        let setups = measured.iter().map(|one| one.setup.clone()).collect();
        let mut rounds = Rounds::new(self.seed, setups, time, session);
        rounds.cost_load = cost_load(measured, &limit);
        rounds.at_limit(limit, session)?;
        let at_cost_load = |trial: &TrialResult| trial.phase == Phase::CommonLoad;
        let ran = session.trials[rounds.trials_before..].iter().any(at_cost_load);
        Ok(rounds.cost_load.filter(|_| ran))
    }

    /// The same at the load of the user.
    pub(super) fn take_turns_at(
        &self,
        setups: &[Setup],
        load: Pps,
        time: TimeForTurns,
        session: &mut Session<'_>,
    ) -> Result<()> {
        session.take_turns(true);
        let ran = Rounds::new(self.seed, setups.to_vec(), time, session).at(load, false, session);
        session.take_turns(false);
        ran.map(|_| ())
    }
}

/// The load at which costs are compared: below the limits of all methods, but for those that are much slower.
fn cost_load(measured: &[Measured], limit: &Limit) -> Option<Pps> {
    let least_pps = limit.lower_pps * COMMON_LOAD_SLOWEST;
    let mut load_pps = limit.lower_pps * TURNS_COST_LOAD;
    for one in measured {
        let pps = one.overload.read_pps();
        if pps >= least_pps {
            load_pps = load_pps.min(pps * FIRST_COMMON_LOAD);
        }
    }
    rate(load_pps)
}

/// What is known of the limit of the best method, frames per second.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// The highest rate at which a method read frames.
    lower_pps: f64,
    /// The lowest load of which no method captured all; infinite if there is none.
    upper_pps: f64,
    /// The highest rate that the generator sends.
    most_pps: f64,
}

impl Limit {
    /// What the trials at maximum load show. `None` if they show nothing.
    fn from_measured(measured: &[Measured]) -> Option<Self> {
        // An invalid trial is no evidence of a limit, but a place to begin: what it read is tried again.
        let mut lower_pps = measured.iter().map(|one| one.overload.read_pps()).fold(0.0, f64::max);
        // Loads are whole frames per second. A limit that is a fraction of a frame above the highest of them would never be known.
        let most_pps = measured.iter().map(|one| one.overload.offered_pps.round()).fold(0.0, f64::max);
        if measured.iter().any(|one| is_sustained(&one.overload)) {
            lower_pps = most_pps;
        }
        (lower_pps > 0.0).then_some(Self { lower_pps, upper_pps: f64::INFINITY, most_pps })
    }

    /// Whether the limit is known well enough, or is above what the generator sends.
    fn is_known(&self) -> bool {
        self.lower_pps >= self.most_pps || self.upper_pps <= self.lower_pps * TURNS_LOAD_PRECISION
    }

    /// The load at which methods take turns: the lowest that the best one is known to miss.
    fn load_pps(&self) -> f64 {
        self.upper_pps.min(self.lower_pps * TURNS_LOAD).max(self.lower_pps).min(self.most_pps)
    }

    /// Whether the generator sends enough to know a limit that is above the load of the turns.
    fn may_be_higher(&self) -> bool {
        self.load_pps() * TURNS_LOAD_PRECISION <= self.most_pps
    }

    /// The load that tells more of the limit, after one that was missed or captured.
    fn next_pps(&self, load_pps: f64, is_missed: bool) -> f64 {
        let next_pps = match (self.upper_pps.is_finite(), is_missed) {
            // What was read of it is near the limit, unless the methods collapse above theirs.
            (_, true) => self.lower_pps * TURNS_LOAD,
            (true, false) => (self.lower_pps * self.upper_pps).sqrt(),
            (false, false) => load_pps * TURNS_LOAD_STEP,
        };
        next_pps.min(self.most_pps)
    }
}

impl Rounds {
    fn new(seed: u64, setups: Vec<Setup>, time: TimeForTurns, session: &Session<'_>) -> Self {
        Self {
            setups,
            cost_load: None,
            are_costs_known: false,
            are_judged: false,
            trials_before: session.trials.len(),
            spent_before: session.spent,
            time,
            shuffle: Shuffle::new(seed),
        }
    }

    /// Finds the limit of the best method to about a tenth, and runs the rounds there.
    fn at_limit(&mut self, mut limit: Limit, session: &mut Session<'_>) -> Result<()> {
        for raises in (0..=TURNS_LOAD_RAISES).rev() {
            self.find(&mut limit, session)?;
            let Some(load) = rate(limit.load_pps()) else { break };
            let may_raise = raises > 0 && limit.may_be_higher();
            if !self.at(load, may_raise, session)? {
                break;
            }
            limit = Limit { lower_pps: load.get(), upper_pps: f64::INFINITY, ..limit };
        }
        Ok(())
    }

    /// Narrows the limit of the best method by single trials of the methods that may be best.
    fn find(&mut self, limit: &mut Limit, session: &mut Session<'_>) -> Result<()> {
        let mut load_pps = limit.load_pps();
        let mut may_be_best = self.setups.clone();
        for _ in 0..TURNS_LOAD_STEPS {
            if limit.is_known() || self.setups.len() < 2 {
                break;
            }
            let Some(load) = rate(load_pps) else { break };
            let mut complete = Vec::new();
            may_be_best.retain(|setup| self.setups.iter().any(|other| other.method == setup.method));
            for setup in &may_be_best {
                if session.stopped || !self.has_time(session) {
                    return Ok(());
                }
                let Some(trial) = self.trial(setup, load, session)? else { continue };
                limit.lower_pps = limit.lower_pps.max(trial.read_pps());
                if turns::captures_all(&trial) {
                    complete.push(setup.clone());
                }
            }
            let is_missed = complete.is_empty();
            if is_missed {
                limit.upper_pps = limit.upper_pps.min(load.get());
            } else {
                limit.lower_pps = limit.lower_pps.max(load.get());
                may_be_best = complete;
            }
            load_pps = limit.next_pps(load_pps, is_missed);
        }
        Ok(())
    }

    /// Rounds at this load, until they are decided or the time is over. Returns whether the load has to be raised instead, because a
    /// method captured all of it.
    fn at(&mut self, load: Pps, may_raise: bool, session: &mut Session<'_>) -> Result<bool> {
        let most = TURNS_LOOKS[TURNS_LOOKS.len() - 1];
        for round in 1..=most {
            let has_costs = (round - 1).is_multiple_of(TURNS_ROUNDS_OF_COSTS);
            if self.setups.len() < 2 || has_costs && !self.compare_costs(session)? {
                break;
            }
            let mut is_captured = false;
            for setup in self.in_random_order() {
                if session.stopped || !self.has_time(session) {
                    return Ok(false);
                }
                let trial = self.trial(&setup, load, session)?;
                is_captured |= trial.as_ref().is_some_and(turns::captures_all);
            }
            if may_raise && is_captured && round <= TURNS_LOAD_ROUNDS {
                return Ok(true);
            }
            let trials: Vec<&TrialResult> = session.trials[self.trials_before..].iter().collect();
            if !turns::is_look(&trials) {
                continue;
            }
            let Some(known) = turns::judged_so_far(&trials) else { break };
            self.are_judged = true;
            if known.are_decided() {
                break;
            }
            self.leave_out_below(&known);
            self.are_costs_known = !turns::costs_are_open(&trials);
        }
        Ok(false)
    }

    /// One round at the load at which costs are compared, while they are not known. Returns whether there is time for more.
    fn compare_costs(&mut self, session: &mut Session<'_>) -> Result<bool> {
        let Some(load) = self.cost_load.filter(|_| !self.are_costs_known) else { return Ok(true) };
        for setup in self.in_random_order() {
            if session.stopped || !self.has_time(session) {
                return Ok(false);
            }
            self.run(&setup, load, Phase::CommonLoad, session)?;
        }
        Ok(true)
    }

    /// The set-ups of a round: a method that cannot run leaves, and moves no other one.
    fn in_random_order(&mut self) -> Vec<Setup> {
        let order = self.shuffle.pass(self.setups.len());
        order.into_iter().map(|nth| self.setups[nth].clone()).collect()
    }

    fn leave_out_below(&mut self, known: &Turns) {
        for in_turns in &known.methods {
            if in_turns.is_below() {
                self.setups.retain(|setup| in_turns.method != setup.method);
            }
        }
    }

    /// Whether one more trial is likely to end in time.
    fn has_time(&self, session: &Session<'_>) -> bool {
        let spent = session.spent - self.spent_before;
        let trials = (session.trials.len() - self.trials_before) as u32;
        let mean = match trials {
            0 => TURN_LENGTH + TRIAL_OVERHEAD,
            _ => spent / trials,
        };
        // Rounds that are too few to judge tell nothing, and the most telling set-up comes first.
        let time = if self.are_judged { self.time.own } else { self.time.all };
        spent + mean <= time
    }

    fn trial(&mut self, setup: &Setup, load: Pps, session: &mut Session<'_>) -> Result<Option<TrialResult>> {
        self.run(setup, load, Phase::Turns, session)
    }

    /// One trial. A method that cannot run takes no more turns.
    fn run(
        &mut self,
        setup: &Setup,
        load: Pps,
        phase: Phase,
        session: &mut Session<'_>,
    ) -> Result<Option<TrialResult>> {
        let trial = session.trial(setup, Load::Rate(load), TURN_LENGTH, phase)?;
        if trial.is_none() && !session.stopped {
            self.setups.retain(|other| other.method != setup.method);
        }
        Ok(trial)
    }
}

/// A load in whole frames per second.
fn rate(pps: f64) -> Option<Pps> {
    Pps::new(pps.round()).ok()
}
