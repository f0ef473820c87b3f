//! The visits of one method at one point of a reproduction: which of them count, what they show together, and how they compare with
//! other visits. One visit is never enough to decide. A visit that contradicts the others, as one that the host disturbed, leaves the answer
//! if chance does not explain the others.

use serde::Deserialize;

use super::figure::{Figure, buffered};
use crate::disturbed::{are_disturbed, is_disturbed_besides_speed};
use crate::reproduction::{Cell, TableNote, Undecided};
use crate::sustained::{is_out_of_reach, is_published_load_sent};
use crate::thresholds::{
    BUFFERED_SHARE, ENOUGH_VISITS, HIGHEST_LOADS, LEAST_DISTURBED_VISITS, REPRODUCTION_FALSE_ALARMS,
};
use capbench_model::trial::{TrialResult, Verdict};
use capbench_statistics::counts::{Hits, as_few};
use capbench_statistics::interval::Estimate;
use capbench_statistics::{median, ranks};

/// The visits of one method at one point, a trial each.
#[derive(Clone, Debug, Default)]
pub struct Visits<'t> {
    /// The trials.
    pub trials: Vec<&'t TrialResult>,
}

/// The order of two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first is above the second by more than the margin.
    Above,
    /// The opposite.
    Below,
    /// Neither.
    Alike,
}

/// The orders of two measurements that their visits do not exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PossibleOrders {
    above: bool,
    below: bool,
    alike: bool,
}

impl PossibleOrders {
    /// All of them: the visits show nothing.
    pub(crate) const ANY: Self = Self { above: true, below: true, alike: true };

    fn just(order: Order) -> Self {
        Self { above: order == Order::Above, below: order == Order::Below, alike: order == Order::Alike }
    }

    fn includes(self, order: Order) -> bool {
        match order {
            Order::Above => self.above,
            Order::Below => self.below,
            Order::Alike => self.alike,
        }
    }

    /// The orders that one of both allows.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            above: self.above || other.above,
            below: self.below || other.below,
            alike: self.alike || other.alike,
        }
    }

    /// The order, if the visits show which it is.
    pub(crate) fn only(self) -> Option<Order> {
        [Order::Above, Order::Below, Order::Alike].into_iter().find(|order| self == Self::just(*order))
    }

    /// Whether the order is one of these; `None` if the visits do not show that.
    pub(crate) fn is_one_of(self, orders: &[Order]) -> Option<bool> {
        let mut inside = false;
        let mut outside = false;
        for order in [Order::Above, Order::Below, Order::Alike] {
            inside |= self.includes(order) && orders.contains(&order);
            outside |= self.includes(order) && !orders.contains(&order);
        }
        (inside != outside).then_some(inside)
    }
}

impl<'t> Visits<'t> {
    /// Creates a selection without invalid trials.
    pub(crate) fn from_trials(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        Self { trials: trials.into_iter().filter(|trial| trial.verdict != Verdict::Invalid).collect() }
    }

    /// Those that the host did not disturb, if they are as many as exclude chance; else all.
    pub fn undisturbed(self) -> Self {
        self.narrowed_to(|trial| !is_disturbed_besides_speed(trial), ENOUGH_VISITS)
    }

    /// The visits that decide: those whose load was sent, and of them those that the host did not disturb. If the load is out of reach, none is
    /// left out for it. `lower_load_may_answer`: visits without the load are left out only if enough others remain.
    pub(crate) fn decisive(self, lower_load_may_answer: bool) -> Self {
        if self.is_out_of_reach() {
            return if lower_load_may_answer { self.undisturbed() } else { self };
        }
        let fewest = if lower_load_may_answer { ENOUGH_VISITS } else { 1 };
        self.narrowed_to(is_published_load_sent, fewest).undisturbed()
    }

    fn narrowed_to(self, is_kept: impl Fn(&TrialResult) -> bool, fewest: u32) -> Self {
        let kept: Vec<_> = self.trials.iter().copied().filter(|trial| is_kept(trial)).collect();
        if kept.len() >= fewest as usize { Self { trials: kept } } else { self }
    }

    /// Those with the highest loads, if they are as many as exclude chance; else all.
    pub(crate) fn of_highest_loads(mut self) -> Self {
        let highest = (HIGHEST_LOADS * self.trials.len() as f64).ceil() as usize;
        if highest >= ENOUGH_VISITS as usize {
            self.trials.sort_by(|one, other| other.offered_pps.total_cmp(&one.offered_pps));
            self.trials.truncate(highest);
            self.trials.sort_by_key(|trial| trial.number);
        }
        self
    }

    /// Numbers of the trials.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.trials.iter().map(|trial| trial.number).collect()
    }

    /// The values of a figure for all trials; empty if one trial does not know it, since the rest would be a biased selection.
    pub(crate) fn values(&self, figure: Figure) -> Vec<f64> {
        self.trials.iter().map(|trial| figure.value_in(trial)).collect::<Option<_>>().unwrap_or_default()
    }

    /// The values of a figure that are compared. Where a minority of the trials does not know a figure to which noise only adds, noise has
    /// added any amount.
    fn compared(&self, figure: Figure) -> Vec<f64> {
        let values: Vec<Option<f64>> = self.trials.iter().map(|trial| figure.value_in(trial)).collect();
        let unknown = values.iter().filter(|value| value.is_none()).count();
        if !figure.is_raised_by_noise() || are_disturbed(unknown, values.len()) {
            return self.values(figure);
        }
        values.into_iter().map(|value| value.unwrap_or(f64::INFINITY)).collect()
    }

    /// The median of a figure; `None` if a trial does not know it.
    pub(crate) fn median(&self, figure: Figure) -> Option<f64> {
        median(self.values(figure))
    }

    /// What a figure is where noise changes it least: its lower quartile if noise only adds to it, else its median. `None` if a trial
    /// does not know it.
    pub(crate) fn typical(&self, figure: Figure) -> Option<f64> {
        if !figure.is_raised_by_noise() {
            return self.median(figure);
        }
        let mut values = self.compared(figure);
        values.sort_by(f64::total_cmp);
        values.get(lowest(values.len()).checked_sub(1)?).copied()
    }

    /// A figure as a table cell, marked if the generator or buffers affect it, "at least" if the kernel only samples it.
    pub fn cell(&self, figure: Figure) -> Cell {
        let Some(estimate) = Estimate::of(self.values(figure)) else { return Cell::default() };
        let is_buffered = figure.counts_buffered() && self.buffered_share() > BUFFERED_SHARE;
        let note = match (self.fell_short(), is_buffered) {
            (true, true) => Some(TableNote::LoadNotReachedAndBuffered { above: BUFFERED_SHARE }),
            (true, false) => Some(TableNote::LoadNotReached),
            (false, true) => Some(TableNote::Buffered { above: BUFFERED_SHARE }),
            (false, false) => None,
        };
        let is_sampled = self.trials.iter().any(|trial| trial.cpu.split_is_sampled);
        Cell {
            value: Some(estimate.median),
            low: estimate.low,
            high: estimate.high,
            at_least: figure == Figure::ApplicationLoad && is_sampled,
            mark: note.and_then(|note| note.mark()),
            trials: self.numbers(),
        }
    }

    /// Whether the generator did not reach the load in a trial.
    pub(crate) fn fell_short(&self) -> bool {
        self.short_of_load() > 0
    }

    /// Trials in which the generator did not reach the load.
    pub(crate) fn short_of_load(&self) -> usize {
        self.trials.iter().filter(|trial| !is_published_load_sent(trial)).count()
    }

    /// Whether the generator usually does not reach the load here.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        is_out_of_reach(self.short_of_load(), self.trials.len())
    }

    /// The largest share of the sent frames that was still buffered when sending ended; 0 if unknown.
    pub(super) fn buffered_share(&self) -> f64 {
        let mut largest: f64 = 0.0;
        for trial in &self.trials {
            largest = largest.max(buffered(trial).unwrap_or_default() / trial.sent.max(1) as f64);
        }
        largest
    }

    /// Whether a visit is above one of the other trials, and a visit is below one of them.
    pub(crate) fn overlap(&self, other: &Visits<'_>, figure: Figure) -> bool {
        let first = self.compared(figure);
        let second = other.compared(figure);
        let contrary = ranks::against(&first, &second);
        contrary > 0 && contrary < first.len() * second.len()
    }

    /// Why neither a limit nor its contrary is met.
    pub(crate) fn why_undecided(&self) -> Undecided {
        match self.trials.len() {
            0 => Undecided::NotMeasured,
            1 => Undecided::OneVisit,
            _ if self.buffered_share() > BUFFERED_SHARE => Undecided::Buffered,
            _ => Undecided::VisitsDisagree,
        }
    }

    /// Compares a figure with that of other trials. Differences below `margin` count as none.
    pub(crate) fn against(&self, other: &Visits<'_>, figure: Figure, margin: f64) -> PossibleOrders {
        let by_chance = if figure.is_raised_by_noise() { by_chance_less_of_lowest } else { by_chance_above };
        possible_orders(&self.compared(figure), &other.compared(figure), margin, by_chance)
    }
}

/// The two-sided probability that chance puts the first values so far above the second ones with a margin.
type ByChance = fn(&[f64], &[f64], f64) -> f64;

/// Compares visits. One visit each proves nothing: the effect of chance is unknown then.
fn possible_orders(first: &[f64], second: &[f64], margin: f64, by_chance: ByChance) -> PossibleOrders {
    if first.len() < 2 || second.len() < 2 {
        return PossibleOrders::ANY;
    }
    if is_above(first, second, margin, by_chance) {
        return PossibleOrders::just(Order::Above);
    }
    if is_above(second, first, margin, by_chance) {
        return PossibleOrders::just(Order::Below);
    }
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most - least <= margin {
        return PossibleOrders::just(Order::Alike);
    }
    // What is above the other one less the margin is not below it by more.
    PossibleOrders {
        above: by_chance(second, first, -margin) > REPRODUCTION_FALSE_ALARMS,
        below: by_chance(first, second, -margin) > REPRODUCTION_FALSE_ALARMS,
        alike: true,
    }
}

/// Whether values are above others by more than a margin: each above each, or more of them than chance explains.
fn is_above(higher: &[f64], lower: &[f64], margin: f64, by_chance: ByChance) -> bool {
    let least = higher.iter().copied().fold(f64::INFINITY, f64::min);
    let most = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    least > most + margin || by_chance(higher, lower, margin) <= REPRODUCTION_FALSE_ALARMS
}

/// By the rank test.
fn by_chance_above(higher: &[f64], lower: &[f64], margin: f64) -> f64 {
    let raised: Vec<f64> = lower.iter().map(|value| value + margin).collect();
    let strata = [ranks::Stratum { low: lower.len(), high: higher.len() }];
    2.0 * ranks::by_chance(ranks::against(&raised, higher), &strata)
}

/// By how few of the higher values are among the lowest part of both (Fisher's exact test): noise that only adds to a figure, and in some
/// visits much, hides in the others what the lowest show. Ties count as higher values.
fn by_chance_less_of_lowest(higher: &[f64], lower: &[f64], margin: f64) -> f64 {
    let mut all: Vec<(f64, bool)> = higher.iter().map(|value| (*value, false)).collect();
    all.extend(lower.iter().map(|value| (value + margin, true)));
    all.sort_by(|(one, is_lower), (other, is_other_lower)| {
        one.total_cmp(other).then(is_lower.cmp(is_other_lower))
    });
    let lowest = &all[..lowest(all.len())];
    let of_lower = lowest.iter().filter(|(_, is_lower)| *is_lower).count();
    let few = Hits { hits: (lowest.len() - of_lower) as u32, of: higher.len() as u32 };
    let many = Hits { hits: of_lower as u32, of: lower.len() as u32 };
    2.0 * as_few(few, many)
}

/// How many of so many values are the lowest part of them.
fn lowest(values: usize) -> usize {
    (LEAST_DISTURBED_VISITS * values as f64).ceil() as usize
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::disturbance::CpuDisturbance;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::{
        Figure, Order, PossibleOrders, Visits, by_chance_above, by_chance_less_of_lowest, possible_orders,
    };

    fn order(first: &[f64], second: &[f64], margin: f64) -> Option<Order> {
        possible_orders(first, second, margin, by_chance_above).only()
    }

    #[test]
    fn visits_that_leave_two_orders_answer_what_does_not_ask_which_of_both_it_is() {
        use Order::{Above, Alike, Below};
        let first = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95];
        let second = first.map(|value| value - 0.03);
        // The first is higher by 0.03, with a margin of 0.04.
        let orders = possible_orders(&first, &second, 0.04, by_chance_above);
        assert_eq!(orders, PossibleOrders { above: true, alike: true, below: false });
        assert_eq!(orders.is_one_of(&[Above, Alike]), Some(true), "it is not below");
        assert_eq!(orders.is_one_of(&[Below]), Some(false));
        assert_eq!((orders.is_one_of(&[Above]), orders.is_one_of(&[Below, Alike])), (None, None));
        let opposite = possible_orders(&second, &first, 0.04, by_chance_above);
        assert_eq!(opposite.is_one_of(&[Above]), Some(false));
        assert_eq!(orders.or(opposite), PossibleOrders::ANY);
        assert_eq!(PossibleOrders::ANY.is_one_of(&[Above]), None);
        assert_eq!(orders.or(PossibleOrders::just(Above)), orders);
    }

    #[test]
    fn buffers_matter_from_a_thousandth_of_the_frames_on() {
        for (seconds, mark) in [(0.097, None), (0.103, Some('b'))] {
            let trial = measured(100_000, 100_000, 100_000, 0);
            let second = Duration::from_secs(1);
            let trial = trial.result(1, Phase::Sweep, &profile("recv"), Load::Maximum, second);
            // Of 100 s: 97 or 103 of 100,000 frames.
            let emptying = Some(Emptying { after_s: seconds, holds_s: 0.0 });
            let mut trial = TrialResult { emptying, sending_s: 100.0, ..trial };
            trial.cpu.batches = 100_000;
            assert_eq!(Visits::from_trials([&trial]).cell(Figure::Captured).mark, mark, "{seconds} s");
        }
    }

    #[test]
    fn of_twelve_visits_the_six_with_the_highest_loads_remain_and_of_ten_all() {
        for (visits, remain) in
            [(12, vec![2, 4, 6, 8, 10, 12]), (11, vec![1, 2, 4, 6, 8, 10]), (10, (1..=10).collect())]
        {
            let mut trials = Vec::new();
            for number in 1..=visits {
                // Every second one has the full load, and the first one of the others the next highest.
                let sent = if number % 2 == 0 { 100_000 } else { 60_000 - u64::from(number) };
                let second = Duration::from_secs(1);
                let trial = measured(sent, sent, sent, 0);
                trials.push(trial.result(number, Phase::Sweep, &profile("recv"), Load::Maximum, second));
            }
            let highest = Visits::from_trials(&trials).of_highest_loads();
            assert_eq!(highest.numbers(), remain, "{visits} visits");
        }
    }

    /// Nine trials: the first `disturbed` with other work on their CPU, and those with these numbers without their load.
    fn nine(disturbed: u32, short: &[u32]) -> Vec<TrialResult> {
        let mut trials = Vec::new();
        for number in 1..=9 {
            let sent = if short.contains(&number) { 500 } else { 1000 };
            let second = Duration::from_secs(1);
            let mut trial = measured(1000, sent, sent, 0).result(
                number,
                Phase::Sweep,
                &profile("recv"),
                Load::Maximum,
                second,
            );
            let foreign_ns = if number <= disturbed { 900_000_000 } else { 0 };
            trial.disturbance.cpus = vec![CpuDisturbance { foreign_ns, ..CpuDisturbance::default() }];
            trial.disturbance.tick_ns = 10_000_000;
            trial.disturbance.sending_ns = 1_000_000_000;
            trials.push(trial);
        }
        trials
    }

    fn decisive(trials: &[TrialResult], lower_load_may_answer: bool) -> Vec<u32> {
        Visits::from_trials(trials).decisive(lower_load_may_answer).numbers()
    }

    #[test]
    fn visits_with_their_load_are_left_before_those_that_were_not_disturbed() {
        let trials = nine(4, &[1]);
        assert_eq!(decisive(&trials, true), [2, 3, 4, 5, 6, 7, 8, 9], "five are undisturbed");
        assert_eq!(decisive(&nine(3, &[1]), true), [4, 5, 6, 7, 8, 9]);
        assert_eq!(decisive(&nine(0, &[6, 7, 8, 9]), false), [1, 2, 3, 4, 5]);
        assert_eq!(decisive(&nine(0, &[6, 7, 8, 9]), true).len(), 9, "what the others show may answer");
    }

    #[test]
    fn a_load_that_most_visits_lack_leaves_all_of_them() {
        // Without the disturbed ones two of six would lack the load.
        let trials = nine(3, &[1, 2, 3, 8, 9]);
        assert_eq!(decisive(&trials, false).len(), 9);
        assert_eq!(decisive(&trials, true), [4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn visits_differ_only_if_all_of_them_differ() {
        // Differences up to 0.02 count as none.
        assert_eq!(order(&[0.9, 0.92], &[0.5, 0.6], 0.02), Some(Order::Above));
        assert_eq!(order(&[0.5, 0.6], &[0.9, 0.92], 0.02), Some(Order::Below));
        assert_eq!(order(&[0.9, 0.91], &[0.905, 0.9], 0.02), Some(Order::Alike));
        assert_eq!(order(&[0.9, 0.5], &[0.6, 0.4], 0.02), None);
        assert_eq!(order(&[0.905, 0.915], &[0.9, 0.9], 0.02), Some(Order::Alike));
        assert_eq!(order(&[1.0], &[0.0], 0.02), None, "one visit shows nothing");
        assert_eq!(order(&[], &[], 0.02), None);
    }

    /// Nine visits whose values vary by a fifth around a mean.
    fn visits_around(random: &mut Xoshiro256PlusPlus, mean: f64) -> Vec<f64> {
        let mut values = Vec::new();
        for _ in 0..9 {
            let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            values.push(mean * (0.9 + 0.2 * uniform));
        }
        values
    }

    #[test]
    fn an_order_that_is_true_is_excluded_in_up_to_one_of_twenty_runs() {
        const ROUNDS: usize = 2000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        for (by_chance, (first, second, order)) in
            [by_chance_above, by_chance_less_of_lowest].into_iter().flat_map(|test| {
                [
                    (100.0, 100.0, Order::Alike),
                    (110.0, 100.0, Order::Alike),
                    (110.1, 100.0, Order::Above),
                    (100.0, 110.1, Order::Below),
                ]
                .map(|case| (test, case))
            })
        {
            let mut excluded = 0;
            for _ in 0..ROUNDS {
                let first = visits_around(&mut random, first);
                let second = visits_around(&mut random, second);
                let orders = possible_orders(&first, &second, 10.0, by_chance);
                excluded += usize::from(!orders.includes(order));
            }
            assert!(excluded <= ROUNDS / 20, "{first} and {second}: {excluded} of {ROUNDS}");
        }
    }

    /// Costs of 27 visits, of which a hypervisor slows this number.
    fn costs(quiet: f64, slow: f64, slowed: usize) -> Vec<f64> {
        (0..27).map(|nth| if nth < slowed { slow + nth as f64 } else { quiet + nth as f64 }).collect()
    }

    #[test]
    fn the_lowest_costs_show_which_method_is_cheaper_though_most_visits_of_it_are_slowed() {
        let cheap = costs(780.0, 1290.0, 15);
        let dear = costs(1100.0, 1250.0, 9);
        let order_of = |by_chance| possible_orders(&cheap, &dear, 55.0, by_chance).only();
        assert_eq!(order_of(by_chance_less_of_lowest), Some(Order::Below));
        assert_eq!(order_of(by_chance_above), None);
        // A cost that is unknown was raised by noise.
        let unknown = costs(780.0, f64::INFINITY, 12);
        assert_eq!(
            possible_orders(&unknown, &dear, 55.0, by_chance_less_of_lowest).only(),
            Some(Order::Below)
        );
        // Of nine visits each, the five lowest of both are enough, and the three lowest would not be.
        let cheap = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 9.0];
        let dear = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8];
        assert_eq!(possible_orders(&cheap, &dear, 0.1, by_chance_less_of_lowest).only(), Some(Order::Below));
    }

    #[test]
    fn a_disturbed_visit_leaves_an_answer_that_the_others_show() {
        let high = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95];
        let mut low = [0.50, 0.51, 0.52, 0.53, 0.54, 0.91];
        assert_eq!(order(&high, &low, 0.0), Some(Order::Above), "2 of 36 pairs contradict, and 5 may");
        low[4] = 0.93;
        low[3] = 0.93;
        assert_eq!(order(&high, &low, 0.0), None);
        let mut alike = high.map(|value| value - 0.005);
        alike[0] = 0.83;
        assert_eq!(order(&high, &alike, 0.08), Some(Order::Alike));
        assert_eq!(order(&high, &alike, 0.01), None);
    }
}
