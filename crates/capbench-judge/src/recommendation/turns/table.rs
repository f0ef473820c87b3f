//! The figures of trials in turns as tables, a row a round and a column a method, and the contrast of two columns.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use capbench_statistics::blocks::{Block, Difference};
use capbench_statistics::interval::Estimate;
use capbench_statistics::shift::Groups;
use capbench_statistics::{aligned, by_key, least_by_chance, median};

use super::figures::{
    captured_share, charged_ns, cost_ns, exact_cost_ns, is_evidence, know_kernel, read_share, sent_share,
};
use super::{Multiple, SentShares, planned_level};
use crate::recommendation::last::comes_last;
use crate::sustained::is_rate_sent;
use crate::thresholds::{TURNS_CAPTURED, TURNS_EQUAL, TURNS_KNOWN_TIME, TURNS_LEAST_CAPTURED, TURNS_LEVEL};

/// A figure of a trial, on a logarithmic scale.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The share of the frames that the method captured.
    Captured,
    /// The share of the load that it read.
    Read,
    /// CPU time per packet, at the load at which costs are compared.
    Cost,
    /// The same at the limit.
    CostAtLimit,
}

/// The figures of the rounds at the limit, and of those at the load at which costs are compared.
pub(super) struct Table {
    pub(super) load_pps: f64,
    /// The load at which costs are compared.
    pub(super) cost_load_pps: f64,
    pub(super) methods: Vec<SavedMethod>,
    /// The shares of the load that were sent to the methods.
    pub(super) sent: SentShares,
    /// Whether costs contain the kernel's time.
    pub(super) knows_kernel: bool,
    captured: Vec<Block>,
    read: Vec<Block>,
    cost: Vec<Block>,
    /// Costs in which no time counts twice.
    exact_cost: Vec<Block>,
    /// Of which methods enough rounds know them.
    knows_exact_cost: Vec<bool>,
    /// The same at the limit.
    cost_at_limit: Vec<Block>,
    /// The part of the costs that is charged to the application's thread.
    application: Vec<Block>,
    /// How many of the rounds of costs had begun when each round at the limit ended.
    cost_rounds: Vec<usize>,
}

/// What a method looks like: medians, on a logarithmic scale.
pub(super) struct Looks {
    pub(super) column: usize,
    pub(super) share: f64,
    pub(super) cost: f64,
    pub(super) application: f64,
    pub(super) cost_at_limit: f64,
}

/// Rounds of trials at one load.
struct AtLoad<'r> {
    pps: f64,
    rounds: Vec<Vec<&'r TrialResult>>,
}

impl Table {
    /// The rounds in turns, at the load that has most of them; of several such loads the last. Costs are compared at a common load if
    /// there are rounds at one. `None` without two methods.
    pub(super) fn from_trials(trials: &[&TrialResult]) -> Option<Self> {
        let limit = AtLoad::with_most_rounds(trials, Phase::Turns)?;
        let methods = limit.methods();
        if methods.len() < 2 {
            return None;
        }
        let common = AtLoad::with_most_rounds(trials, Phase::CommonLoad);
        let for_costs = common.as_ref().filter(|common| common.methods().len() >= 2).unwrap_or(&limit);
        let mut cost_rounds = Vec::new();
        for round in &limit.rounds {
            let last = round[round.len() - 1].number;
            cost_rounds.push(for_costs.rounds.iter().filter(|round| round[0].number <= last).count());
        }
        let knows_kernel = know_kernel(for_costs.rounds.iter().flatten());
        let cost = for_costs.figures(&methods, |trial| cost_ns(trial, knows_kernel));
        let exact_cost = for_costs.figures(&methods, |trial| exact_cost_ns(trial, knows_kernel));
        let mut knows_exact_cost = Vec::new();
        for column in 0..methods.len() {
            let known = values(&exact_cost, column).len() as f64;
            knows_exact_cost.push(known > TURNS_KNOWN_TIME * values(&cost, column).len() as f64);
        }
        Some(Self {
            load_pps: limit.pps,
            cost_load_pps: for_costs.pps,
            sent: limit.sent(&methods),
            captured: limit.captured(&methods),
            read: limit.figures(&methods, |trial| Some(read_share(trial).max(TURNS_LEAST_CAPTURED))),
            knows_kernel,
            cost,
            exact_cost,
            knows_exact_cost,
            cost_at_limit: limit.figures(&methods, |trial| exact_cost_ns(trial, knows_kernel)),
            application: for_costs.figures(&methods, charged_ns),
            methods,
            cost_rounds,
        })
    }

    pub(super) fn rounds(&self) -> usize {
        self.captured.len()
    }

    /// The first rounds only.
    pub(super) fn first_rounds(&self, rounds: usize) -> Self {
        let cost_rounds = self.cost_rounds[..rounds].to_vec();
        let costs = cost_rounds.last().copied().unwrap_or(0);
        Self {
            methods: self.methods.clone(),
            captured: self.captured[..rounds].to_vec(),
            read: self.read[..rounds].to_vec(),
            cost: self.cost[..costs].to_vec(),
            exact_cost: self.exact_cost[..costs].to_vec(),
            knows_exact_cost: self.knows_exact_cost.clone(),
            cost_at_limit: self.cost_at_limit[..rounds].to_vec(),
            application: self.application[..costs].to_vec(),
            cost_rounds,
            ..*self
        }
    }

    /// As many rounds, which repeat these.
    pub(super) fn repeated_to(&self, rounds: usize) -> Self {
        let costs = self.cost.len() * rounds / self.rounds();
        Self {
            methods: self.methods.clone(),
            captured: self.captured.iter().cycle().take(rounds).cloned().collect(),
            read: self.read.iter().cycle().take(rounds).cloned().collect(),
            cost: self.cost.iter().cycle().take(costs).cloned().collect(),
            exact_cost: self.exact_cost.iter().cycle().take(costs).cloned().collect(),
            knows_exact_cost: self.knows_exact_cost.clone(),
            cost_at_limit: self.cost_at_limit.iter().cycle().take(rounds).cloned().collect(),
            application: self.application.iter().cycle().take(costs).cloned().collect(),
            cost_rounds: (1..=rounds).map(|round| costs * round / rounds).collect(),
            ..*self
        }
    }

    /// The rounds by which these methods are compared.
    fn blocks(&self, measure: Measure, columns: &[usize]) -> &[Block] {
        match measure {
            Measure::Captured => &self.captured,
            Measure::Read => &self.read,
            Measure::Cost if columns.iter().all(|column| self.knows_exact_cost[*column]) => &self.exact_cost,
            Measure::Cost => &self.cost,
            Measure::CostAtLimit => &self.cost_at_limit,
        }
    }

    /// Whether one of these methods costs less at the limit and the other one at the lower load, each by enough to matter: waking up for
    /// every few packets costs much, and nothing where packets never cease. Then neither is the cheaper one.
    pub(super) fn costs_depend_on_load(&self, one: usize, other: usize) -> bool {
        if self.cost_load_pps == self.load_pps {
            return false;
        }
        let [low, limit] =
            [Measure::Cost, Measure::CostAtLimit].map(|measure| rounds_of_both(self, measure, one, other));
        // Shifts take long. The medians are of one sign nearly always.
        let saved = |rounds: &[Groups]| middle(rounds).unwrap_or(0.0);
        if saved(&low) * saved(&limit) >= 0.0 {
            return false;
        }
        let shifted = |rounds: &[Groups]| {
            aligned::shift(rounds, TURNS_LEVEL).map_or(saved(rounds), |shift| shift.middle)
        };
        let (low, limit, matters) = (shifted(&low), shifted(&limit), TURNS_EQUAL.ln_1p());
        low * limit < 0.0 && low.abs().min(limit.abs()) >= matters
    }

    /// The share that a method captured: none where it is as little as counts as least.
    pub(super) fn captured(&self, column: usize) -> Option<Estimate> {
        let share =
            |logarithm| if logarithm <= TURNS_LEAST_CAPTURED.ln() { 0.0 } else { f64::exp(logarithm) };
        Estimate::of(values(&self.captured, column).into_iter().map(share))
    }

    /// Whether a method captured all of what it was sent, but for a pause.
    pub(super) fn captures_all(&self, column: usize) -> bool {
        median(values(&self.captured, column)).is_some_and(|share| share.exp() >= TURNS_CAPTURED)
    }

    /// Whether both methods were sent as much, but for what a generator may leave unsent.
    pub(super) fn are_sent_alike(&self, one: usize, other: usize) -> bool {
        let shares = [one, other].map(|column| {
            let (read, captured) = (values(&self.read, column), values(&self.captured, column));
            median(read.iter().zip(&captured).map(|(read, captured)| (read - captured).exp())).unwrap_or(1.0)
        });
        is_rate_sent(shares[0], shares[1]) && is_rate_sent(shares[1], shares[0])
    }

    /// What these methods look like.
    pub(super) fn looks(&self, columns: &[usize]) -> Vec<Looks> {
        let mut looks = Vec::new();
        let costs = self.blocks(Measure::Cost, columns);
        for &column in columns {
            looks.push(Looks {
                column,
                share: median(values(&self.captured, column)).unwrap_or(f64::NEG_INFINITY),
                cost: median(values(costs, column)).unwrap_or(f64::INFINITY),
                application: median(values(&self.application, column)).unwrap_or(f64::INFINITY),
                cost_at_limit: median(values(&self.cost_at_limit, column)).unwrap_or(f64::INFINITY),
            });
        }
        looks
    }
}

impl<'r> AtLoad<'r> {
    /// The load of a phase that has most rounds; of several such loads the last.
    fn with_most_rounds(trials: &[&'r TrialResult], phase: Phase) -> Option<Self> {
        let mut of_phase = trials.to_vec();
        of_phase.retain(|trial| trial.phase == phase && !comes_last(&trial.profile.method));
        let mut best: Option<Self> = None;
        for (_, of_load) in by_key(of_phase, |trial| trial.intended_pps.map(f64::to_bits)) {
            let Some(pps) = of_load[0].intended_pps else { continue };
            let rounds = in_rounds(&of_load);
            if best.as_ref().is_none_or(|most| rounds.len() >= most.rounds.len()) {
                best = Some(Self { pps, rounds });
            }
        }
        best
    }

    /// The methods with a valid trial.
    fn methods(&self) -> Vec<SavedMethod> {
        let mut methods: Vec<SavedMethod> = Vec::new();
        for trial in self.rounds.iter().flatten() {
            if !methods.contains(&trial.profile.method) && is_evidence(trial) {
                methods.push(trial.profile.method.clone());
            }
        }
        methods
    }

    /// The shares of the load that were sent.
    fn sent(&self, methods: &[SavedMethod]) -> SentShares {
        let mut shares = Vec::new();
        for method in methods {
            let of_method = |trial: &&&TrialResult| trial.profile.method == *method && is_evidence(trial);
            shares.extend(median(
                self.rounds.iter().flatten().filter(of_method).map(|trial| sent_share(trial)),
            ));
        }
        SentShares {
            least: shares.iter().copied().fold(1.0, f64::min),
            most: shares.iter().copied().fold(0.0, f64::max),
        }
    }

    fn captured(&self, methods: &[SavedMethod]) -> Vec<Block> {
        self.figures(methods, |trial| Some(captured_share(trial).max(TURNS_LEAST_CAPTURED)))
    }

    /// A figure of each trial, on a logarithmic scale.
    fn figures(&self, methods: &[SavedMethod], figure: impl Fn(&TrialResult) -> Option<f64>) -> Vec<Block> {
        let mut blocks = Vec::new();
        for round in &self.rounds {
            let mut block: Block = vec![None; methods.len()];
            for trial in round.iter().filter(|trial| is_evidence(trial)) {
                if let Some(column) = methods.iter().position(|method| *method == trial.profile.method) {
                    block[column] = figure(trial).filter(|value| *value > 0.0).map(f64::ln);
                }
            }
            blocks.push(block);
        }
        blocks
    }
}

/// A method's figure in the rounds that have it.
fn values(blocks: &[Block], column: usize) -> Vec<f64> {
    blocks.iter().filter_map(|block| block[column]).collect()
}

/// Trials of one load in rounds: a round ends when a method comes again.
fn in_rounds<'r>(trials: &[&'r TrialResult]) -> Vec<Vec<&'r TrialResult>> {
    let mut rounds: Vec<Vec<&TrialResult>> = Vec::new();
    for trial in trials {
        let comes_again = |round: &Vec<&TrialResult>| {
            round.iter().any(|earlier| earlier.profile.method == trial.profile.method)
        };
        match rounds.last_mut() {
            Some(round) if !comes_again(round) => round.push(trial),
            _ => rounds.push(vec![trial]),
        }
    }
    rounds
}

/// The column with the higher values, if the candidate is better, and the other one: more is better of what is captured, less of a cost.
fn better_and_worse(measure: Measure, candidate: usize, column: usize) -> [usize; 2] {
    match measure {
        Measure::Captured | Measure::Read => [candidate, column],
        Measure::Cost | Measure::CostAtLimit => [column, candidate],
    }
}

/// The rounds that have both methods, the value second that is higher if the candidate is better.
fn rounds_of_both(table: &Table, measure: Measure, candidate: usize, column: usize) -> Vec<Groups> {
    let [better, worse] = better_and_worse(measure, candidate, column);
    let mut rounds: Vec<Groups> = Vec::new();
    for block in table.blocks(measure, &[candidate, column]) {
        if let (Some(low), Some(high)) = (block[worse], block[better]) {
            rounds.push((vec![low], vec![high]));
        }
    }
    rounds
}

/// How much better the candidate is: the median of the rounds.
fn middle(rounds: &[Groups]) -> Option<f64> {
    median(rounds.iter().map(|(low, high)| high[0] - low[0]))
}

/// How much better a candidate is than another method in one figure, on the logarithmic scale.
pub(super) struct Contrast {
    /// Positive if the candidate is better: the median of the rounds.
    pub(super) middle: f64,
    /// The probability that chance alone explains it, on either side.
    pub(super) by_chance: f64,
    /// The rounds that have both, the candidate's value second.
    rounds: Vec<Groups>,
    difference: Option<Difference>,
}

impl Contrast {
    /// `None` if no round has the figure of both.
    pub(super) fn between(table: &Table, measure: Measure, candidate: usize, column: usize) -> Option<Self> {
        let rounds = rounds_of_both(table, measure, candidate, column);
        let middle = middle(&rounds)?;
        let [better, worse] = better_and_worse(measure, candidate, column);
        let difference = Difference::between(table.blocks(measure, &[candidate, column]), better, worse);
        let by_size = difference.map_or(1.0, |difference| difference.by_chance());
        let mut by_chance = by_size;
        // From so many rounds on that it can decide, the test that assumes nothing is a second chance.
        if least_by_chance(vec![(1, 1); rounds.len()]) <= planned_level() {
            let by_ranks = aligned::test(&rounds, 0.0).two_sided();
            by_chance = (2.0 * by_size.min(by_ranks)).min(1.0);
        }
        Some(Self { middle, by_chance, rounds, difference })
    }

    /// Whether all rounds have equal values, so that no test is made.
    pub(super) fn is_constant(&self) -> bool {
        aligned::is_constant(&self.rounds)
    }

    /// Whether the rounds are enough for an interval of this level that assumes nothing.
    fn has_ranks(&self, level: f64) -> bool {
        least_by_chance(vec![(1, 1); self.rounds.len()]) <= 1.0 - level
    }

    /// Whether the candidate is shown to be no worse than by `margin`, by an interval of this level.
    pub(super) fn is_above(&self, margin: f64, level: f64) -> bool {
        if self.has_ranks(level) {
            return aligned::test(&self.rounds, -margin).as_high <= (1.0 - level) / 2.0;
        }
        self.difference.is_some_and(|difference| difference.interval(level).0 >= -margin)
    }

    /// Whether the candidate is shown to be no better than by `margin`.
    pub(super) fn is_below(&self, margin: f64) -> bool {
        if self.has_ranks(TURNS_LEVEL) {
            return aligned::test(&self.rounds, margin).as_low <= (1.0 - TURNS_LEVEL) / 2.0;
        }
        self.difference.is_some_and(|difference| difference.interval(TURNS_LEVEL).1 <= margin)
    }

    /// Whether both are shown to be as good, within `margin`.
    pub(super) fn is_within(&self, margin: f64) -> bool {
        self.is_above(margin, TURNS_LEVEL) && self.is_below(margin)
    }

    /// Whether the candidate is shown to be as good within TURNS_EQUAL, or better or worse where chance explains that no more often than
    /// this.
    pub(super) fn is_known(&self, by_chance: f64) -> bool {
        self.is_within(TURNS_EQUAL.ln_1p()) || self.by_chance <= by_chance
    }

    /// How much better the candidate is, as a multiple.
    pub(super) fn multiple(&self) -> Multiple {
        let shift = aligned::shift(&self.rounds, TURNS_LEVEL);
        let by_size = self.difference.map(|difference| difference.interval(TURNS_LEVEL));
        let ends = shift.and_then(|shift| shift.ends).or(by_size);
        Multiple {
            middle: shift.map_or(self.middle, |shift| shift.middle).exp(),
            low: ends.map(|(low, _)| low.exp()),
            high: ends.map(|(_, high)| high.exp()),
        }
    }
}
