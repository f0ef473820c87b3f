//! The order of the methods of one set-up, what is certain about it, and which method to use while it is not.

use crate::disturbed::{are_disturbed, is_noisy};
use crate::limit::Limit;
use crate::sustained::is_rate_sent;
use crate::thresholds::{
    ABOUT_HIGHEST_LOAD, ASSUMED_PRECISION, COARSEST_PRECISION, EQUAL_GENERATOR_LIMITS, EQUAL_LIMITS_LEAST,
    EQUAL_LIMITS_PRECISIONS, NEARLY_LOSSLESS_RATIO,
};
use capbench_model::saved::SavedMethod;
use capbench_statistics::by_key;

use super::bounds::first_failed;
use super::choice::Choice;
use super::cost::equal_load;
use super::last::comes_last;
use super::{
    Because, Certainty, Conclusion, Cost, Entrant, Question, Ranked, Ranking, Scene, Sustained,
    SustainedStatus,
};

/// Ranks the methods of one set-up.
pub(super) fn ranking(question: Question, scene: &Scene, entrants: &[Entrant<'_>]) -> Ranking {
    let equal_load_pps = match question {
        Question::CheapestAt { pps } => Some(pps),
        Question::HighestRate => equal_load(entrants),
    };
    let Scene { frame_size, placement, work } = scene.clone();
    let mut methods: Vec<Ranked> = entrants.iter().map(|entrant| ranked(entrant, equal_load_pps)).collect();
    let mut sent_pps: Option<f64> = None;
    if let Question::CheapestAt { pps } = question {
        for method in &mut methods {
            for known in [&mut method.lossless, &mut method.nearly_lossless] {
                sent_pps = highest(sent_pps, judge_at_load(known, pps));
            }
        }
    }
    let order = Order::from_methods(methods);
    let precision = order.precision();
    let margin = match question {
        // All methods were offered the same load.
        Question::CheapestAt { .. } => 0.0,
        Question::HighestRate => precision.unwrap_or(ASSUMED_PRECISION),
    };
    let (ranked, mut conclusion) = order.conclude(margin);
    if let (Conclusion::Nothing, Some(sent_pps)) = (&conclusion, sent_pps) {
        conclusion = Conclusion::NotSent { sent_pps };
    }
    Ranking {
        frame_size,
        placement,
        work,
        precision,
        equal_load_pps,
        turns: None,
        methods: ranked,
        conclusion,
    }
}

/// What is known of a method if the question is about one load. Returns the load that was sent, if it was less than that one, and
/// nothing was lost of it.
fn judge_at_load(known: &mut Sustained, pps: f64) -> Option<f64> {
    if known.status == SustainedStatus::Unknown && known.at_most_pps.is_some_and(|most| most < pps) {
        known.status = SustainedStatus::NotReached;
    }
    let sent_pps = known.lower_pps.filter(|lower| !is_rate_sent(*lower, pps))?;
    if known.upper_pps.is_some() {
        return None;
    }
    // The load in question was not tried.
    known.status = SustainedStatus::Unknown;
    Some(sent_pps)
}

/// The higher of two rates, of which each may be unknown.
fn highest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).max_by(f64::total_cmp)
}

/// The figures of a method, not yet ranked.
fn ranked(entrant: &Entrant<'_>, equal_load_pps: Option<f64>) -> Ranked {
    let lossless = Sustained::from_entrant(entrant, 0.0);
    let failed = first_failed(entrant);
    Ranked {
        method: entrant.method.clone(),
        rank: 0,
        below: None,
        limited_by: Limit::of_method(
            lossless.status == SustainedStatus::AtLeast,
            limit_by_search(entrant),
            failed,
        ),
        lost_at: failed.and_then(|trial| trial.losses().first().map(|(place, _)| *place)),
        nearly_lossless: Sustained::from_entrant(entrant, NEARLY_LOSSLESS_RATIO).above(&lossless),
        lossless,
        cost: equal_load_pps.and_then(|pps| Cost::at(entrant, pps)),
        trials: entrant.trials.len() as u32,
        disturbed: entrant.trials.iter().filter(|trial| is_noisy(trial)).count() as u32,
    }
}

fn limit_by_search(entrant: &Entrant<'_>) -> Option<Limit> {
    let mut goals = entrant.searches.iter().flat_map(|search| &search.goals);
    goals.find_map(|result| result.limit.filter(|_| result.goal.loss_ratio.get() == 0.0))
}

/// The highest load that a method is shown to sustain.
fn shown(known: &Sustained) -> Option<f64> {
    known.lower_pps.filter(|_| known.status != SustainedStatus::Unknown)
}

/// Methods on the way to their order.
struct Order {
    methods: Vec<Ranked>,
    /// Whether a method is shown to sustain a load without loss. If none is, they are ranked by their loads with little loss.
    is_lossless: bool,
}

impl Order {
    /// Gives the methods their ranks, by their loads without loss, or if none has any, by those with little loss.
    fn from_methods(methods: Vec<Ranked>) -> Self {
        let is_lossless = methods.iter().any(|ranked| shown(&ranked.lossless).is_some());
        let mut order = Self { methods: Vec::new(), is_lossless };
        let mut unranked = methods;
        unranked.sort_by(|one, other| {
            let by_kind = comes_last(&one.method).cmp(&comes_last(&other.method));
            by_kind.then_with(|| order.lower_pps(other).total_cmp(&order.lower_pps(one)))
        });
        // Each round ranks the method with the highest load of those that are left, with all that may sustain as much.
        while let Some(highest) = unranked.first().cloned() {
            let (mut tied, mut rest): (Vec<_>, Vec<_>) =
                unranked.into_iter().partition(|ranked| order.is_tied(ranked, &highest));
            // A method is tied with itself, unless its bounds contradict each other.
            if tied.is_empty() {
                tied.push(rest.remove(0));
            }
            let rank = order.methods.len() as u32 + 1;
            order.methods.extend(tied.into_iter().map(|ranked| Ranked { rank, ..ranked }));
            unranked = rest;
        }
        order
    }

    /// The limit by which methods are ranked.
    fn limit<'m>(&self, ranked: &'m Ranked) -> &'m Sustained {
        if self.is_lossless { &ranked.lossless } else { &ranked.nearly_lossless }
    }

    /// The highest load that the method is shown to sustain.
    fn shown(&self, ranked: &Ranked) -> Option<f64> {
        shown(self.limit(ranked))
    }

    /// The same; 0 if there is none.
    fn lower_pps(&self, ranked: &Ranked) -> f64 {
        self.shown(ranked).unwrap_or(0.0)
    }

    /// Whether the limit of a method may be as high as that of another one, which is shown to sustain more.
    fn is_tied(&self, ranked: &Ranked, highest: &Ranked) -> bool {
        let is_below = self.limit(ranked).at_most_pps.is_some_and(|most| most <= self.lower_pps(highest));
        comes_last(&ranked.method) == comes_last(&highest.method) && !is_below
    }

    /// The coarsest precision of the methods of the first rank; if none of them was searched, the finest of the others.
    fn precision(&self) -> Option<f64> {
        let mut of_first: Option<f64> = None;
        let mut of_rest: Option<f64> = None;
        for ranked in &self.methods {
            let Some(precision) = self.limit(ranked).searched_to else { continue };
            if ranked.rank == 1 {
                of_first = Some(of_first.map_or(precision, |known| known.max(precision)));
            } else {
                of_rest = Some(of_rest.map_or(precision, |known| known.min(precision)));
            }
        }
        of_first.or(of_rest)
    }

    /// The methods in their final order, and the conclusion. `margin` is the share by which limits must differ to be certainly
    /// different.
    fn conclude(mut self, margin: f64) -> (Vec<Ranked>, Conclusion) {
        self.judge_lower_ranks(margin);
        self.sort_by_cost(margin);
        let conclusion = self.conclusion(margin);
        (self.methods, conclusion)
    }

    /// How certain it is that each method is below the first rank.
    fn judge_lower_ranks(&mut self, margin: f64) {
        let Some(first) = self.methods.first() else { return };
        let best_pps = self.lower_pps(first);
        let is_lossless = self.is_lossless;
        for ranked in self.methods.iter_mut().filter(|ranked| ranked.rank > 1) {
            let limit = if is_lossless { &ranked.lossless } else { &ranked.nearly_lossless };
            let is_clear = limit.at_most_pps.is_some_and(|at_most| at_most * (1.0 + margin) <= best_pps);
            let is_certain = is_clear || comes_last(&ranked.method);
            ranked.below = Some(if is_certain { Certainty::Certain } else { Certainty::Likely });
        }
    }

    /// Orders the methods of each rank by cost, then by privilege. Those that sustained no load come last. Limits that are not known
    /// well enough to be equal are first ordered by what the trials show: methods that sustained about the highest load come first.
    fn sort_by_cost(&mut self, margin: f64) {
        let mut groups: Vec<(_, Vec<Ranked>)> =
            by_key(std::mem::take(&mut self.methods), |ranked| self.group(ranked));
        groups.sort_by_key(|(group, _)| *group);
        let mut ordered: Vec<Ranked> = Vec::new();
        for (_, mut tied) in groups {
            let are_equal = self.have_equal_limits(&tied.iter().collect::<Vec<_>>(), margin);
            while !tied.is_empty() {
                let next = self.next_of_group(&tied, are_equal);
                ordered.push(tied.remove(next));
            }
        }
        self.methods = ordered;
    }

    /// The index of the best of these methods of one group: of those with about the highest load the cheapest. If their limits are
    /// equal, all count.
    fn next_of_group(&self, tied: &[Ranked], are_equal: bool) -> usize {
        let highest_pps = tied.iter().map(|ranked| self.lower_pps(ranked)).fold(0.0, f64::max);
        let least_pps = if are_equal { 0.0 } else { highest_pps * ABOUT_HIGHEST_LOAD };
        let mut indices = Vec::new();
        let mut candidates = Vec::new();
        for (nth, ranked) in tied.iter().enumerate() {
            if self.lower_pps(ranked) >= least_pps {
                indices.push(nth);
                candidates.push(ranked);
            }
        }
        indices[Choice::among(&candidates).nth]
    }

    /// What methods are grouped by: their rank, and whether they sustained no load.
    fn group(&self, ranked: &Ranked) -> (u32, bool) {
        (ranked.rank, self.shown(ranked).is_none())
    }

    /// What follows from the order. The first method is the recommended one.
    fn conclusion(&self, margin: f64) -> Conclusion {
        let Some(first) = self.methods.first() else { return Conclusion::Nothing };
        if self.methods.iter().all(|ranked| self.limit(ranked).status == SustainedStatus::Unknown) {
            return Conclusion::Nothing;
        }
        if !self.is_lossless {
            let best = self.shown(first).map(|_| first.method.clone());
            return Conclusion::NoneLossless { best, limit: first.limited_by, place: first.lost_at };
        }
        let (tied, rest): (Vec<&Ranked>, Vec<&Ranked>) =
            self.methods.iter().partition(|ranked| ranked.rank == 1);
        let choice = Choice::among(&tied);
        let is_decided = self.have_equal_limits(&tied, margin) && choice.is_known;
        if !is_decided && let Some(one_of) = self.one_of(first, &tied, &rest, margin) {
            return one_of;
        }
        let trials: u32 = self.methods.iter().map(|ranked| ranked.trials).sum();
        let disturbed: u32 = self.methods.iter().map(|ranked| ranked.disturbed).sum();
        let is_quiet = !are_disturbed(disturbed as usize, trials as usize);
        let are_certainly_below = rest.iter().all(|ranked| ranked.below == Some(Certainty::Certain));
        let is_certain = is_quiet && are_certainly_below && choice.is_undisturbed;
        Conclusion::Use {
            method: first.method.clone(),
            because: match (tied.len(), self.methods.len()) {
                (1, 1) => Because::OnlyOne,
                (1, _) => Because::Rate,
                _ => choice.because,
            },
            certainty: if is_certain { Certainty::Certain } else { Certainty::Likely },
            equal: choice.equal.iter().map(|&nth| tied[nth].method.clone()).collect(),
        }
    }

    /// The conclusion that several methods of the first rank may be best; `None` if only one may.
    fn one_of(&self, first: &Ranked, tied: &[&Ranked], rest: &[&Ranked], margin: f64) -> Option<Conclusion> {
        let best = self.methods.iter().find(|ranked| self.shown(ranked).is_some()).unwrap_or(first);
        let (mut open, mut worse): (Vec<&Ranked>, Vec<&Ranked>) = tied
            .iter()
            .copied()
            .partition(|ranked| ranked.method == best.method || self.may_be_better(ranked, best, margin));
        if open.len() < 2 {
            return None;
        }
        open.sort_by(|one, other| self.lower_pps(other).total_cmp(&self.lower_pps(one)));
        worse.extend(rest);
        Some(Conclusion::OneOf {
            best: Some(best.method.clone()),
            methods: names(&open),
            worse: names(&worse),
        })
    }

    /// Whether a method of the same rank can have the higher limit, or about the same for a lower cost.
    fn may_be_better(&self, other: &Ranked, best: &Ranked, margin: f64) -> bool {
        let choice = Choice::among(&[best, other]);
        let is_best_chosen = choice.nth == 0;
        let is_dearer = choice.is_known && is_best_chosen && choice.equal.is_empty();
        !is_dearer || !self.have_equal_limits(&[best, other], margin)
    }

    /// Whether the limits of these methods are equal: the lowest load that one of them is shown to sustain is at least a share of the
    /// highest limit that one of them can have. The first case that applies decides the share. Costs are equal by `choice.rs`, methods in turns by
    /// `turns.rs`.
    ///
    /// 1. One method: any share, if it is shown to sustain a load.
    /// 2. All sustained what the generator sent: [`EQUAL_GENERATOR_LIMITS`]. Beyond what it sent they are not compared.
    /// 3. Others: below 1 by [`EQUAL_LIMITS_PRECISIONS`] times the precision, or by [`EQUAL_LIMITS_LEAST`] if that is more. A precision
    ///    counts up to [`COARSEST_PRECISION`].
    fn have_equal_limits(&self, tied: &[&Ranked], precision: f64) -> bool {
        if let [one] = tied {
            return self.shown(one).is_some();
        }
        let mut lowest_pps = f64::INFINITY;
        // Infinite if it is unknown of one of them.
        let mut highest_possible_pps = 0.0_f64;
        let mut are_at_least = true;
        for ranked in tied {
            let lower_pps = self.lower_pps(ranked);
            let limit = self.limit(ranked);
            let is_at_least = limit.status == SustainedStatus::AtLeast;
            let possible_pps =
                if is_at_least { lower_pps } else { limit.at_most_pps.unwrap_or(f64::INFINITY) };
            lowest_pps = lowest_pps.min(lower_pps);
            highest_possible_pps = highest_possible_pps.max(possible_pps);
            are_at_least &= is_at_least;
        }
        let width = EQUAL_LIMITS_PRECISIONS * precision.min(COARSEST_PRECISION);
        let least_share =
            if are_at_least { EQUAL_GENERATOR_LIMITS } else { 1.0 - width.max(EQUAL_LIMITS_LEAST) };
        lowest_pps >= highest_possible_pps * least_share
    }
}

fn names(methods: &[&Ranked]) -> Vec<SavedMethod> {
    methods.iter().map(|ranked| ranked.method.clone()).collect()
}

#[cfg(test)]
mod tests;
