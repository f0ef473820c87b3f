//! What a bench says of methods that took turns, against these trials.

use std::collections::BTreeSet;

use super::median;
use crate::imports::{
    BelowBy, BenchVerdict, CostByLoad, MethodNotBelow, MethodsInTurns, Multiple, Phase, Results, Rivals,
    SavedMethod, TrialResult, Verdict, Work, WorseMethod, buffered_frames, recommendation,
};

/// The median of the ratios of all rounds may be as many times the ratio of the medians.
const ABOUT: f64 = 1.25;

/// The methods that a verdict compares by turns: the named one, and those that it puts below it.
pub fn in_verdict(verdict: &BenchVerdict, results: &Results) -> Vec<String> {
    let (named, others, worse) = match verdict {
        BenchVerdict::Use { method, equal, may_be_as_good, worse, .. } => {
            (method, [equal.as_slice(), may_be_as_good].concat(), worse)
        }
        BenchVerdict::UseMeanwhile { method, rivals, worse, .. } => (method, methods_of(rivals), worse),
        BenchVerdict::NoneLossless { closest: Some(closest), worse, .. } => (closest, Vec::new(), worse),
        _ => return Vec::new(),
    };
    let groups = others.iter().chain(worse.iter().map(|worse| &worse.method));
    let mut all: Vec<String> = in_one_group(named, groups).into_iter().collect();
    let Some(turns) = Turns::of_run(results) else {
        return if worse.is_empty() {
            all
        } else {
            vec!["methods are worse in turns, and none took turns".into()]
        };
    };
    for WorseMethod { method, by, factor, .. } in worse {
        all.extend(turns.against_below(named, method, *by, Some(*factor)));
    }
    all
}

pub fn in_finding(fact: &MethodsInTurns, results: &Results) -> Vec<String> {
    let Some(turns) = Turns::of_run(results) else { return vec!["no methods took turns".into()] };
    let below = fact.below.iter().map(|below| &below.method);
    let not_below: Vec<&MethodNotBelow> =
        [&fact.equal, &fact.may_be_as_good, &fact.may_be_better].into_iter().flatten().collect();
    let groups = below.chain(not_below.iter().map(|one| &one.method));
    let mut all: Vec<String> = in_one_group(&fact.first, groups.clone()).into_iter().collect();
    let rounds = std::iter::once(&fact.first).chain(groups).map(|method| turns.rounds(method));
    let [fewest, most] = [rounds.clone().min(), rounds.max()].map(Option::unwrap_or_default);
    if fact.rounds as usize > most || fact.fewest_rounds.is_some_and(|rounds| rounds as usize > fewest) {
        all.push(format!("{} rounds, but the methods ran in {fewest} to {most}", fact.rounds));
    }
    for below in &fact.below {
        all.extend(turns.against_below(&fact.first, &below.method, below.by, None));
        all.extend(turns.against_captured(&fact.first, &below.method, below.captured_ratio));
        let costs =
            turns.medians([&fact.first, &below.method], &turns.for_costs, TrialResult::total_ns_per_packet);
        if let (Some(Multiple { middle, .. }), Some([first_ns, ns])) = (below.relative_cost, costs) {
            all.extend(against_ratio(&below.method, middle, ns / first_ns));
        }
    }
    for CostByLoad { method, .. } in &fact.costs_by_load {
        let ratios = [&turns.for_costs, &turns.at_load].map(|trials| {
            let costs = turns.medians([&fact.first, method], trials, TrialResult::total_ns_per_packet);
            costs.map(|[first_ns, ns]| ns / first_ns)
        });
        if let [Some(low), Some(limit)] = ratios
            && (low > 1.0) == (limit > 1.0)
        {
            all.push(format!("{method}: the medians show {low:.3} and {limit:.3} times at both loads"));
        }
    }
    for MethodNotBelow { method, captured_ratio } in not_below {
        all.extend(turns.against_captured(&fact.first, method, *captured_ratio));
    }
    for MethodNotBelow { method, .. } in &fact.equal {
        if let Some([first, captured]) = turns.captured([&fact.first, method]) {
            all.extend(against_ratio(method, 1.0, first / captured));
        }
    }
    all
}

/// The methods that the named one is not decided against.
fn methods_of(rivals: &Rivals) -> Vec<SavedMethod> {
    match rivals {
        Rivals::Cost { may_cost_less, may_sustain_it } => [may_cost_less.as_slice(), may_sustain_it].concat(),
        Rivals::Rate { may_sustain_more } => may_sustain_more.clone(),
        Rivals::Turns { may_be_better, may_be_as_good } => {
            [may_be_better.as_slice(), may_be_as_good].concat()
        }
    }
}

/// A method is in one group only.
fn in_one_group<'m>(named: &'m SavedMethod, others: impl Iterator<Item = &'m SavedMethod>) -> Option<String> {
    let mut seen = BTreeSet::from([named]);
    others.into_iter().find(|other| !seen.insert(other)).map(|other| format!("{other} is in two groups"))
}

/// A ratio is that of the medians, or about it.
fn against_ratio(method: &SavedMethod, said: f64, shown: f64) -> Option<String> {
    let is_about = said <= ABOUT * shown && shown <= ABOUT * said;
    (!is_about).then(|| format!("{method}: {said:.3} times, but the medians show {shown:.3}"))
}

/// The trials in turns of the set-up that the first sentence is about.
struct Turns<'r> {
    at_load: Vec<&'r TrialResult>,
    for_costs: Vec<&'r TrialResult>,
}

impl<'r> Turns<'r> {
    /// A captured share is not above the median by much.
    fn against_captured(&self, first: &SavedMethod, method: &SavedMethod, said: f64) -> Option<String> {
        let [_, captured] = self.captured([first, method])?;
        (said > ABOUT * captured).then(|| format!("{method} captured {captured:.3}"))
    }

    fn of_run(results: &'r Results) -> Option<Self> {
        let recommended = recommendation(results)?;
        let ranking = recommended.headline()?;
        let turns = ranking.turns.as_ref()?;
        let at = |phase: Phase, pps: f64| {
            let mut trials: Vec<&TrialResult> = results.trials.iter().collect();
            trials.retain(|trial| {
                let profile = &trial.profile;
                let is_of_set_up = profile.frame_size == ranking.frame_size
                    && profile.placement == ranking.placement
                    && (profile.work == ranking.work || profile.work == Work::OfProgram);
                let is_at_load = trial.phase == phase && trial.intended_pps == Some(pps);
                is_of_set_up && is_at_load && trial.verdict != Verdict::Invalid && trial.sent > 0
            });
            trials
        };
        let at_load = at(Phase::Turns, turns.load_pps);
        let for_costs = match turns.cost_load_pps {
            Some(pps) if pps != turns.load_pps => at(Phase::CommonLoad, pps),
            _ => at_load.clone(),
        };
        Some(Self { at_load, for_costs })
    }

    fn rounds(&self, method: &SavedMethod) -> usize {
        self.at_load.iter().filter(|trial| trial.profile.method == *method).count()
    }

    /// The medians of a figure in the trials of two methods, of each as many as the one with fewer has.
    fn medians(
        &self,
        methods: [&SavedMethod; 2],
        trials: &[&TrialResult],
        figure: impl Fn(&TrialResult) -> Option<f64>,
    ) -> Option<[f64; 2]> {
        let mut figures = methods.map(|method| {
            let of_method = trials.iter().filter(|trial| trial.profile.method == *method);
            of_method.filter_map(|trial| figure(trial)).collect::<Vec<f64>>()
        });
        let common = figures[0].len().min(figures[1].len());
        for figures in &mut figures {
            figures.truncate(common);
        }
        (common > 0).then(|| figures.map(median))
    }

    /// The shares that two methods captured of the load, or of what was sent: those that differ less.
    fn captured(&self, methods: [&SavedMethod; 2]) -> Option<[f64; 2]> {
        let captured =
            |trial: &TrialResult| (trial.delivered - buffered_frames(trial, 1).min(trial.delivered)) as f64;
        let of_sent =
            self.medians(methods, &self.at_load, |trial| Some(captured(trial) / trial.sent as f64))?;
        let of_load =
            self.medians(methods, &self.at_load, |trial| Some(captured(trial) / trial.intended as f64))?;
        let differ = |[best, other]: [f64; 2]| best / other;
        Some(if differ(of_load) < differ(of_sent) { of_load } else { of_sent })
    }

    /// A method that is below the best one has the worse median, and is not worse by far more than the medians show.
    fn against_below(
        &self,
        best: &SavedMethod,
        method: &SavedMethod,
        by: BelowBy,
        factor: Option<f64>,
    ) -> Option<String> {
        let methods = [best, method];
        let shown = match by {
            BelowBy::Loss => self.captured(methods).map(|[best, other]| best / other),
            BelowBy::Cost => self.ratio(methods, TrialResult::total_ns_per_packet),
            BelowBy::ApplicationCost => self.ratio(methods, |trial| trial.cpu.app_ns_per_packet_at_most),
        }?;
        if shown < 1.0 {
            return Some(format!(
                "{method} is worse than {best} ({by:?}), but the medians show {shown:.3} times"
            ));
        }
        let factor = factor.filter(|factor| *factor > ABOUT * shown)?;
        Some(format!("{method} is {factor:.3} times worse ({by:?}), but the medians show {shown:.3}"))
    }

    /// By how much the second method costs more.
    fn ratio(&self, methods: [&SavedMethod; 2], figure: fn(&TrialResult) -> Option<f64>) -> Option<f64> {
        self.medians(methods, &self.for_costs, figure).map(|[best, other]| other / best)
    }
}
