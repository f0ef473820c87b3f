//! Which method is best at one load, from short trials in turns: a pure function of the trials.
//!
//! In a round each method runs once at the load, and once at a load that none misses, in random order. Noise of the host moves absolute
//! rates by a factor of several, and hardly moves who is ahead in a round. Two figures are compared on a logarithmic scale: the share of
//! the frames that was captured at the first load, and the CPU time per packet at the second. A method is below another one if
//! it captures less, or if it costs more and does not capture more by as much. Costs outweigh a captured share that is up to a quarter higher
//! ([`TURNS_LOSS_FOR_COST`]), but decide nothing where the other method costs more at the first load. The rounds are judged at planned numbers of them ([`TURNS_LOOKS`]), and at the end: these looks share the
//! probability of a false finding ([`TURNS_FALSE_ALARMS`]). docs/bench.md has the rules.

mod figures;
mod loss;
mod order;
mod table;

use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_statistics::holm::corrected;
use capbench_statistics::interval::Estimate;
use serde::{Deserialize, Serialize};

use crate::sustained::is_rate_sent;
use crate::thresholds::{
    TURNS_CAPTURED, TURNS_EQUAL, TURNS_FALSE_ALARMS, TURNS_LAST_LOOK, TURNS_LOOKS, TURNS_LOSS_FOR_COST,
    TURNS_NOT_BETTER_LEVEL,
};
use figures::captured_share;
use loss::Loss;
use order::in_order;
use table::{Contrast, Measure, Table};

/// What rounds of short trials at one load show. Methods that only count frames take no part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Turns {
    /// The load in frames per second.
    pub load_pps: f64,
    /// The load at which CPU times are compared, frames per second. Absent in older files, where it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_load_pps: Option<f64>,
    /// How much of the load was sent. Absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentShares>,
    /// Number of rounds.
    pub rounds: u32,
    /// Number of rounds after which they were judged last; 0 if there were too few.
    pub judged_rounds: u32,
    /// The methods, best first.
    pub methods: Vec<InTurns>,
}

/// Shares of the intended frames that the generator sent: the least and the most that a method got, each by the median of its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SentShares {
    /// Of the method that got least.
    pub least: f64,
    /// Of the method that got most.
    pub most: f64,
}

/// A method in turns with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InTurns {
    /// The method.
    pub method: SavedMethod,
    /// Rounds in which it has a valid trial. No more are run once it is known to be below another method.
    pub rounds: u32,
    /// Share of the frames that it captured: the median of the rounds.
    pub captured: Estimate,
    /// The same share as a multiple of that of the first method. Absent for the first, if unknown, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_captured: Option<Multiple>,
    /// CPU time per packet, application and kernel, as a multiple of that of the first method. Absent for the first, and if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_cost: Option<Multiple>,
    /// The same multiple at the load of the rounds, if it is shown to be the other way round there: which of the two methods costs less
    /// depends on the load. Absent otherwise, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_cost_at_limit: Option<Multiple>,
    /// What the rounds show of it.
    pub relation: RelationToFirst,
    /// Whether they show how it compares with the first; of the first, that no other method is better by enough to matter. Absent in
    /// older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_decided: Option<bool>,
}

/// A multiple of a figure of the first method, by the rounds in which both ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Multiple {
    /// The multiple that makes both equal.
    pub middle: f64,
    /// Lower end of its interval, at a level of 98 %. Absent with one round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// What rounds show of a method, by the first one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RelationToFirst {
    /// It is the first.
    First,
    /// It is worse.
    Below {
        /// By which figure.
        by: BelowBy,
        /// How much better the first method is in this figure: its captured share as a multiple of that of this method, or the cost of
        /// this method as a multiple of that of the first. Where they were not sent as much, the shares are of what was sent or of the
        /// load, whichever differ less.
        factor: Multiple,
    },
    /// Its captured share and its cost are those of the first, within [`TURNS_EQUAL`].
    Equal,
    /// It may be as good, or worse.
    Open {
        /// Whether it may also be better, by more than [`TURNS_EQUAL`].
        may_be_better: bool,
    },
}

/// The figure by which a method is below another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BelowBy {
    /// It captures fewer of the frames.
    Loss,
    /// It takes more CPU time per packet.
    Cost,
    /// Its application does, and the kernel's time is not known.
    ApplicationCost,
}

/// How a method compares with the candidate for the first place, before all are corrected for each other.
struct Standing {
    is_equal: bool,
    may_be_better: bool,
    /// The figure by which it may be below, and the probability that chance explains it, corrected for both figures.
    below: Option<(BelowBy, f64)>,
}

/// The state of the judgement: which methods may be best, and which are below one of them.
struct Judgement {
    open: Vec<usize>,
    below: Vec<Below>,
    /// The first of the open ones, and which of them equal it.
    first: usize,
    equal: Vec<usize>,
    /// The open ones that may be better than the first.
    may_be_better: Vec<usize>,
    rounds: usize,
}

/// A method that is below another one.
#[derive(Clone, Copy)]
struct Below {
    column: usize,
    by: BelowBy,
    /// The column of the other one: the first, or the one that was first when it was found.
    above: usize,
}

/// Judges the trials of one set-up that ran in turns, of which no more follow. `None` if no two methods did.
pub fn judged(trials: &[&TrialResult]) -> Option<Turns> {
    let table = Table::from_trials(trials)?;
    Some(Judgement::at_the_end(&table).turns(&table))
}

/// Judges trials in turns by the planned looks alone: the last one is spent once, when no more trials follow.
pub fn judged_so_far(trials: &[&TrialResult]) -> Option<Turns> {
    let table = Table::from_trials(trials)?;
    Some(Judgement::after_planned_rounds(&table).turns(&table))
}

/// Whether as many rounds of these methods as a run has time for name the best one, if they are like those of these trials. `None` if
/// these have no round of two of the methods.
pub fn would_name_the_best(trials: &[&TrialResult], methods: &[SavedMethod], rounds: usize) -> Option<bool> {
    let mut of_methods = trials.to_vec();
    of_methods.retain(|trial| methods.contains(&trial.profile.method));
    let table = Table::from_trials(&of_methods)?.repeated_to(rounds);
    Some(Judgement::at_the_end(&table).turns(&table).name_the_best())
}

/// Whether trials in turns are judged after as many rounds as these are.
pub fn is_look(trials: &[&TrialResult]) -> bool {
    Table::from_trials(trials).is_some_and(|table| TURNS_LOOKS.contains(&table.rounds()))
}

/// Whether more rounds of costs may tell more: not once it is known of each method that may be best whether it costs more than the one
/// that looks best, less, or as much.
pub fn costs_are_open(trials: &[&TrialResult]) -> bool {
    let Some(table) = Table::from_trials(trials) else { return false };
    let judgement = Judgement::after_planned_rounds(&table);
    // As when all methods are corrected for each other, and for both figures.
    let level = planned_level() / (2 * table.methods.len()) as f64;
    judgement.open.iter().any(|&column| {
        let costs = Contrast::between(&table, Measure::Cost, judgement.first, column);
        column != judgement.first && costs.is_some_and(|costs| !costs.is_known(level))
    })
}

/// Whether the method captured all of the load of a trial in turns, but for a pause.
pub fn captures_all(trial: &TrialResult) -> bool {
    captured_share(trial) >= TURNS_CAPTURED
}

impl Judgement {
    /// The judgement by the rounds of each planned number.
    fn after_planned_rounds(table: &Table) -> Self {
        let mut judgement = Self::by_planned_looks(table);
        judgement.reopen(table);
        judgement
    }

    /// The same, and by all rounds.
    fn at_the_end(table: &Table) -> Self {
        let mut judgement = Self::by_planned_looks(table);
        if table.rounds() >= TURNS_LOOKS[0] && !judgement.is_decided() {
            judgement.look(table, TURNS_FALSE_ALARMS * TURNS_LAST_LOOK);
            judgement.rounds = table.rounds();
        }
        judgement.reopen(table);
        judgement
    }

    fn by_planned_looks(table: &Table) -> Self {
        let mut judgement = Self {
            open: (0..table.methods.len()).collect(),
            below: Vec::new(),
            first: 0,
            equal: Vec::new(),
            may_be_better: Vec::new(),
            rounds: 0,
        };
        judgement.first = in_order(table, &judgement.open)[0];
        for look in TURNS_LOOKS {
            if look > table.rounds() || judgement.is_decided() {
                break;
            }
            judgement.look(&table.first_rounds(look), planned_level());
            judgement.rounds = look;
        }
        judgement
    }

    /// Reopens methods that were below an earlier candidate, and look better than the one that is first now: costs that outweigh some
    /// loss twice would outweigh twice as much.
    fn reopen(&mut self, table: &Table) {
        for below in std::mem::take(&mut self.below) {
            if below.above != self.first && looks_better(table, below.column, self.first) {
                self.open.push(below.column);
                self.may_be_better.push(below.column);
            } else {
                self.below.push(below);
            }
        }
    }

    /// Whether every method but the first is known to be equal to it or below it.
    fn is_decided(&self) -> bool {
        self.rounds > 0 && self.equal.len() + 1 == self.open.len()
    }

    /// Judges once more, by the rounds so far, with this probability of a false finding. Each method that may be first is tried, the best
    /// looking one first.
    fn look(&mut self, table: &Table, level: f64) {
        let candidates = in_order(table, &self.open);
        let mut looks: Vec<Look> = Vec::new();
        for &candidate in &candidates {
            looks.push(Look::from_candidate(table, candidate, &self.open, level));
            if looks[looks.len() - 1].is_decided {
                break;
            }
        }
        let decided = looks.iter().position(|look| look.is_decided);
        let named = looks.iter().position(|look| look.may_be_better.is_empty());
        let nth = decided.or(named).unwrap_or(0);
        let look = &looks[nth];
        self.first = candidates[nth];
        self.equal.clone_from(&look.equal);
        self.may_be_better.clone_from(&look.may_be_better);
        self.open.retain(|column| !look.below.iter().any(|below| below.column == *column));
        self.below.extend(&look.below);
    }

    /// The judgement with the figures of all rounds.
    fn turns(&self, table: &Table) -> Turns {
        let mut order = vec![self.first];
        order.extend(self.equal.iter().copied());
        let rest: Vec<usize> = self.open.iter().copied().filter(|column| !order.contains(column)).collect();
        order.extend(in_order(table, &rest));
        let below: Vec<usize> = self.below.iter().map(|below| below.column).collect();
        order.extend(in_order(table, &below));
        let mut methods = Vec::new();
        for column in order {
            let Some(captured) = table.captured(column) else { continue };
            let relation = self.relation(table, column);
            let relative_cost = self.advantage_over(table, Measure::Cost, column);
            methods.push(InTurns {
                method: table.methods[column].clone(),
                rounds: captured.repeats,
                captured,
                relative_captured: self
                    .advantage_over(table, Measure::Captured, column)
                    .map(Multiple::inverse),
                relative_cost,
                relative_cost_at_limit: self.opposite_at_limit(table, column, relative_cost),
                relation,
                is_decided: Some(self.decides(relation)),
            });
        }
        Turns {
            load_pps: table.load_pps,
            cost_load_pps: Some(table.cost_load_pps),
            sent: Some(table.sent),
            rounds: table.rounds() as u32,
            judged_rounds: self.rounds as u32,
            methods,
        }
    }

    fn decides(&self, relation: RelationToFirst) -> bool {
        match relation {
            RelationToFirst::First => self.rounds > 0 && self.may_be_better.is_empty(),
            RelationToFirst::Equal | RelationToFirst::Below { .. } => true,
            RelationToFirst::Open { .. } => false,
        }
    }

    /// How much better the first method is than another one in a figure.
    fn advantage_over(&self, table: &Table, measure: Measure, column: usize) -> Option<Multiple> {
        if column == self.first {
            return None;
        }
        Some(Contrast::between(table, measure, self.first, column)?.multiple())
    }

    /// The relative cost at the limit, if it is shown to be the other way round there.
    fn opposite_at_limit(&self, table: &Table, column: usize, cost: Option<Multiple>) -> Option<Multiple> {
        let cost = cost.filter(|_| table.costs_depend_on_load(self.first, column))?;
        let at_limit = self.advantage_over(table, Measure::CostAtLimit, column)?;
        cost.is_opposite_to(at_limit).then_some(at_limit)
    }

    fn relation(&self, table: &Table, column: usize) -> RelationToFirst {
        if column == self.first {
            return RelationToFirst::First;
        }
        if self.equal.contains(&column) {
            return RelationToFirst::Equal;
        }
        let open =
            RelationToFirst::Open { may_be_better: self.rounds == 0 || self.may_be_better.contains(&column) };
        let Some(&Below { by, .. }) = self.below.iter().find(|below| below.column == column) else {
            return open;
        };
        let factor = match by {
            BelowBy::Loss => Loss::between(table, self.first, column).map(|loss| loss.multiple()),
            BelowBy::Cost | BelowBy::ApplicationCost => self.advantage_over(table, Measure::Cost, column),
        };
        // It can be below an earlier candidate, and not below the first.
        factor
            .filter(|factor| factor.middle > 1.0)
            .map_or(open, |factor| RelationToFirst::Below { by, factor })
    }
}

/// The methods as one candidate for the first place has them.
struct Look {
    equal: Vec<usize>,
    may_be_better: Vec<usize>,
    below: Vec<Below>,
    is_decided: bool,
}

impl Look {
    fn from_candidate(table: &Table, candidate: usize, open: &[usize], level: f64) -> Self {
        let mut look =
            Self { equal: Vec::new(), may_be_better: Vec::new(), below: Vec::new(), is_decided: false };
        let mut tested = Vec::new();
        let mut chances = Vec::new();
        for &column in open.iter().filter(|column| **column != candidate) {
            let standing = Standing::of_column(table, candidate, column);
            if standing.is_equal {
                look.equal.push(column);
            }
            // A method that is not tested counts in the correction, too.
            chances.push(standing.below.map_or(1.0, |(_, by_chance)| by_chance));
            tested.push((column, standing));
        }
        for ((column, standing), by_chance) in tested.iter().zip(corrected(&chances)) {
            if let Some((by, _)) = standing.below
                && by_chance <= level
                && !standing.is_equal
            {
                look.below.push(Below { column: *column, by, above: candidate });
            } else if standing.may_be_better {
                look.may_be_better.push(*column);
            }
        }
        look.is_decided = look.equal.len() + look.below.len() + 1 == open.len();
        look
    }
}

impl Standing {
    fn of_column(table: &Table, candidate: usize, column: usize) -> Self {
        let captured = Loss::between(table, candidate, column);
        let cost = saved_by(table, candidate, column);
        let margin = TURNS_EQUAL.ln_1p();
        let mut below: Option<(BelowBy, f64)> = None;
        // Where each is better in one figure, loss decides only if it outweighs the cost.
        let dearer_by = dearer_by(table, candidate, column);
        if let Some(captured) = captured.as_ref().filter(|captured| is_ahead(captured.middle()))
            && (dearer_by <= 0.0 || captured.is_more_by(outweighed_by(dearer_by), TURNS_NOT_BETTER_LEVEL))
        {
            below = Some((BelowBy::Loss, captured.by_chance()));
        }
        // And less CPU time counts if it outweighs the loss.
        let saved = cost.as_ref().and_then(|cost| cost.multiple().low).map_or(0.0, f64::ln);
        let is_as_complete = captured
            .as_ref()
            .is_some_and(|captured| captured.is_above(outweighed_by(saved), TURNS_NOT_BETTER_LEVEL));
        if let Some(cost) = cost.as_ref().filter(|cost| is_as_complete && is_ahead(cost.middle))
            && below.is_none_or(|(_, by_chance)| cost.by_chance < by_chance)
        {
            let by = if table.knows_kernel { BelowBy::Cost } else { BelowBy::ApplicationCost };
            below = Some((by, cost.by_chance));
        }
        let level = TURNS_NOT_BETTER_LEVEL;
        let captures_as_much = captured.as_ref().is_some_and(|captured| captured.is_above(margin, level));
        let costs_as_much = cost.as_ref().is_some_and(|cost| cost.is_above(margin, level));
        let is_captured_tested = captured.as_ref().is_some_and(|captured| !captured.is_constant());
        let is_cost_tested = cost.as_ref().is_some_and(|cost| !cost.is_constant());
        let tests = f64::from(u8::from(is_captured_tested) + u8::from(is_cost_tested));
        Self {
            is_equal: captured.is_some_and(|captured| captured.is_within(margin))
                && cost.is_some_and(|cost| cost.is_within(margin)),
            may_be_better: !(captures_as_much && costs_as_much),
            below: below.map(|(by, by_chance)| (by, (tests * by_chance).min(1.0))),
        }
    }
}

/// How much less a candidate costs than another method; `None` if that is unknown, or depends on the load.
fn saved_by(table: &Table, candidate: usize, column: usize) -> Option<Contrast> {
    if table.costs_depend_on_load(candidate, column) {
        return None;
    }
    Contrast::between(table, Measure::Cost, candidate, column)
}

/// How much more a candidate costs than another method, on the logarithmic scale; as much as can outweigh a loss if that depends on the
/// load, as it costs more at one.
fn dearer_by(table: &Table, candidate: usize, column: usize) -> f64 {
    if table.costs_depend_on_load(candidate, column) {
        return TURNS_LOSS_FOR_COST.ln_1p();
    }
    saved_by(table, candidate, column).map_or(0.0, |saved| -saved.middle)
}

/// Whether a method is better than another one by the medians.
fn looks_better(table: &Table, column: usize, other: usize) -> bool {
    let captured = Loss::between(table, column, other).map_or(0.0, |ahead| ahead.middle());
    let saved = saved_by(table, column, other).map_or(0.0, |ahead| ahead.middle);
    let is_cheaper = saved > TURNS_EQUAL.ln_1p() && captured > -outweighed_by(saved);
    is_cheaper || captured > outweighed_by(dearer_by(table, column, other))
}

/// The captured share, on the logarithmic scale, that a difference of costs outweighs: as much, at least what does not matter, and at most
/// what a choice allows.
fn outweighed_by(costs: f64) -> f64 {
    costs.clamp(TURNS_EQUAL.ln_1p(), TURNS_LOSS_FOR_COST.ln_1p())
}

/// The probability of a false finding of each planned look.
fn planned_level() -> f64 {
    TURNS_FALSE_ALARMS * (1.0 - TURNS_LAST_LOOK) / TURNS_LOOKS.len() as f64
}

/// Whether the candidate is better by enough to matter, on the logarithmic scale.
fn is_ahead(by: f64) -> bool {
    by >= TURNS_EQUAL.ln_1p()
}

impl Turns {
    /// Whether they show of every method how it compares with the first one. More rounds show no more.
    pub fn are_decided(&self) -> bool {
        self.judged_rounds > 0
            && !self.methods.iter().any(|method| matches!(method.relation, RelationToFirst::Open { .. }))
    }

    /// Whether they were judged, and compare costs. What single costs at that load are is less certain.
    pub fn compare_costs(&self) -> bool {
        self.judged_rounds > 0 && self.cost_load_pps.is_some()
    }

    /// How much of the load was sent, if not all of it.
    pub(crate) fn sent_in_part(&self) -> Option<SentShares> {
        self.sent.filter(|sent| !is_rate_sent(sent.least, 1.0))
    }

    /// Whether they show that no method is better than the first one by enough to matter.
    pub fn name_the_best(&self) -> bool {
        let is_best = |relation| !matches!(relation, RelationToFirst::Open { may_be_better: true });
        self.judged_rounds > 0 && self.methods.iter().all(|method| is_best(method.relation))
    }

    /// Whether it depends on the load whether the methods that may be better than the first cost less.
    pub(crate) fn depend_on_load(&self) -> bool {
        !self.name_the_best()
            && self.methods.iter().all(|method| {
                method.relation != RelationToFirst::Open { may_be_better: true }
                    || method.relative_cost_at_limit.is_some()
            })
    }

    /// The figures of a method.
    pub fn find(&self, method: &SavedMethod) -> Option<&InTurns> {
        self.methods.iter().find(|known| known.method == *method)
    }

    /// How many times as many frames a method loses as the first one, by the medians. `None` if the first loses none.
    pub fn loss_factor(&self, method: &SavedMethod) -> Option<f64> {
        let first_lost = 1.0 - self.methods.first()?.captured.median;
        let lost = 1.0 - self.find(method)?.captured.median;
        (first_lost > 0.0).then(|| lost / first_lost)
    }
}

impl Multiple {
    /// The multiple with both methods exchanged.
    fn inverse(self) -> Self {
        Self { middle: self.middle.recip(), low: self.high.map(f64::recip), high: self.low.map(f64::recip) }
    }

    /// Whether the interval excludes that both methods have as much of the figure.
    pub fn excludes_one(self) -> bool {
        self.is_above_one() || self.is_below_one()
    }

    /// Whether one of these multiples is shown to be above one, and the other one to be below.
    fn is_opposite_to(self, other: Self) -> bool {
        self.is_above_one() && other.is_below_one() || self.is_below_one() && other.is_above_one()
    }

    fn is_above_one(self) -> bool {
        self.low.is_some_and(|low| low > 1.0)
    }

    fn is_below_one(self) -> bool {
        self.high.is_some_and(|high| high < 1.0)
    }
}

impl InTurns {
    /// Whether it is known to be worse than the first.
    pub fn is_below(&self) -> bool {
        matches!(self.relation, RelationToFirst::Below { .. })
    }
}

#[cfg(test)]
mod tests;
