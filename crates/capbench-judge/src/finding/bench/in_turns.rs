//! How the other methods compare with the first one where all took turns at one load.

use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use serde::Serialize;

use super::{BenchFinding, SetUp, found, is_sound};
use crate::finding::Found;
use crate::limit::is_mostly_buffered;
use crate::recommendation::Ranking;
use crate::recommendation::turns::{BelowBy, InTurns, Multiple, RelationToFirst, SentShares};
use crate::run::RunFacts;
use crate::sustained::buffered_frames;

/// What trials in turns at one load show.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MethodsInTurns {
    /// The load in packets per second.
    pub load_pps: f64,
    /// The load at which CPU times are compared, in packets per second; absent if it is the same, or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_load_pps: Option<f64>,
    /// How much of the load was sent; absent if all of it was, and if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentShares>,
    /// Number of rounds.
    pub rounds: u32,
    /// The fewest rounds in which one of the methods ran: one that is known to be worse leaves. Absent if all ran in each, and in older
    /// files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewest_rounds: Option<u32>,
    /// The first method.
    pub first: SavedMethod,
    /// Share of the frames that it captured, the median of the rounds.
    pub captured_ratio: f64,
    /// Whether shares are of what a method was sent, and that is not all of the load. Where the receiver can hold the generator up, unsent
    /// frames count as missed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_of_sent: bool,
    /// Methods that are worse.
    pub below: Vec<MethodBelow>,
    /// Methods that are equal to the first.
    pub equal: Vec<MethodNotBelow>,
    /// Methods that may be as good as the first, or worse.
    pub may_be_as_good: Vec<MethodNotBelow>,
    /// Methods that may also be better.
    pub may_be_better: Vec<MethodNotBelow>,
    /// Methods of which it depends on the load whether they cost less than the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub costs_by_load: Vec<CostByLoad>,
}

/// The CPU time per packet of a method at two loads, each as a multiple of that of the first method.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CostByLoad {
    /// The method.
    pub method: SavedMethod,
    /// At the load at which CPU times are compared.
    pub relative_cost: Multiple,
    /// At the load of the rounds.
    pub relative_cost_at_limit: Multiple,
}

/// A method that is not shown to be worse than the first one.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MethodNotBelow {
    /// The method.
    pub method: SavedMethod,
    /// Share of the frames that it captured, by the rounds in which the first ran, too, scaled to the share of the first in all rounds.
    pub captured_ratio: f64,
}

/// A method that is worse than the first one.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MethodBelow {
    /// The method.
    pub method: SavedMethod,
    /// The figure that shows it.
    pub by: BelowBy,
    /// Share of the frames that it captured, by the rounds in which the first ran, too, scaled to the share of the first in all rounds.
    pub captured_ratio: f64,
    /// Its CPU time per packet as a multiple of that of the first by the rounds in which both ran; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_cost: Option<Multiple>,
    /// The same multiple by the costs of the ranking's methods, if these agree about which is higher; absent if the kernel's time is unknown,
    /// and in older files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_ratio: Option<f64>,
    /// Where most of the frames were that it did not capture; absent if it captured all, and in older files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_missed: Option<MostMissed>,
}

/// Where most of the frames were that a method did not capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum MostMissed {
    /// They were lost.
    Lost {
        /// The place that lost most.
        place: Place,
    },
    /// They waited in its buffers when sending ended: a longer trial loses them.
    Buffered,
}

/// How the methods compare with the first one. `None` if they did not take turns, or in too few rounds.
pub(super) fn in_turns(ranking: &Ranking, run: &RunFacts<'_>) -> Option<Found> {
    let turns = ranking.turns.as_ref().filter(|turns| turns.judged_rounds > 0)?;
    let first = turns.methods.first()?;
    let fewest_rounds = turns.methods.iter().map(|method| method.rounds).min();
    let set_up = SetUp::of_ranking(ranking);
    let mut turns_at_load: Vec<&TrialResult> = run.trials.iter().collect();
    turns_at_load.retain(|trial| {
        trial.phase == Phase::Turns && trial.intended_pps == Some(turns.load_pps) && set_up.includes(trial)
    });
    let mut fact = MethodsInTurns {
        load_pps: turns.load_pps,
        cost_load_pps: turns.cost_load_pps.filter(|pps| *pps != turns.load_pps),
        sent: turns.sent_in_part(),
        rounds: turns.rounds,
        fewest_rounds: fewest_rounds.filter(|fewest| *fewest < turns.rounds),
        first: first.method.clone(),
        captured_ratio: first.captured.median,
        is_of_sent: turns.sent_in_part().is_some()
            && turns_at_load.iter().all(|trial| trial.profile.load_independent),
        below: Vec::new(),
        equal: Vec::new(),
        may_be_as_good: Vec::new(),
        may_be_better: Vec::new(),
        costs_by_load: Vec::new(),
    };
    for one in &turns.methods[1..] {
        let method = one.method.clone();
        if let (Some(relative_cost), Some(relative_cost_at_limit)) =
            (one.relative_cost, one.relative_cost_at_limit)
        {
            let method = method.clone();
            fact.costs_by_load.push(CostByLoad { method, relative_cost, relative_cost_at_limit });
        }
        let captured_ratio = captured_beside(first, one);
        let not_below = MethodNotBelow { method: method.clone(), captured_ratio };
        match one.relation {
            RelationToFirst::First => {}
            RelationToFirst::Equal => fact.equal.push(not_below),
            RelationToFirst::Open { may_be_better: false } => fact.may_be_as_good.push(not_below),
            RelationToFirst::Open { may_be_better: true } => fact.may_be_better.push(not_below),
            RelationToFirst::Below { by, .. } => fact.below.push(MethodBelow {
                most_missed: most_missed(&method, &turns_at_load),
                method,
                by,
                captured_ratio,
                relative_cost: one.relative_cost,
                cost_ratio: ranking.cost_ratio(&one.method).filter(|_| by != BelowBy::ApplicationCost),
            }),
        }
    }
    let trials_of_costs = run.trials.iter().filter(|trial| {
        let is_at_load = fact.cost_load_pps.is_some() && trial.intended_pps == fact.cost_load_pps;
        trial.phase == Phase::CommonLoad && is_at_load && set_up.includes(trial)
    });
    let trials: Vec<u32> =
        turns_at_load.into_iter().chain(trials_of_costs).map(|trial| trial.number).collect();
    Some(found(BenchFinding::InTurns(fact), trials))
}

/// Where most frames were that a method did not capture in these trials; `None` if it captured all, or most were not sent.
fn most_missed(method: &SavedMethod, trials: &[&TrialResult]) -> Option<MostMissed> {
    let mut of_method = trials.to_vec();
    of_method.retain(|trial| trial.profile.method == *method && is_sound(trial));
    let buffered: u64 = of_method.iter().map(|trial| buffered_frames(trial, 1)).sum();
    let lost = LostAt::sum(of_method.iter().flat_map(|trial| trial.losses()));
    // Where the receiver can hold the generator up, unsent frames are missed, too.
    let unsent: u64 = of_method.iter().map(|trial| trial.shortfall()).sum();
    let is_mostly_unsent = unsent > buffered + lost.iter().map(|lost| lost.frames).sum::<u64>();
    if is_mostly_unsent && of_method.iter().any(|trial| !trial.profile.load_independent) {
        return None;
    }
    if is_mostly_buffered(&lost, buffered) {
        return Some(MostMissed::Buffered);
    }
    lost.first().map(|most| MostMissed::Lost { place: most.place })
}

/// The share that a method captured where the first one captured the median of its share: the method may have run in other rounds only, on
/// a host that was faster then.
fn captured_beside(first: &InTurns, one: &InTurns) -> f64 {
    match one.relative_captured {
        Some(multiple) if one.captured.median > 0.0 => (first.captured.median * multiple.middle).min(1.0),
        _ => one.captured.median,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::Entry;
    use capbench_model::trial::{Emptying, Load, Profile, TrialResult};
    use capbench_statistics::interval::Estimate;

    use super::*;
    use crate::finding::Finding;
    use crate::recommendation::Conclusion;
    use crate::recommendation::turns::Turns;

    fn in_turns_of(name: &str, captured: f64, relation: RelationToFirst) -> InTurns {
        InTurns {
            method: name.into(),
            rounds: 6,
            captured: Estimate::of([captured; 6]).unwrap(),
            relative_captured: None,
            relative_cost: None,
            relative_cost_at_limit: None,
            relation,
            is_decided: None,
        }
    }

    fn ranking(judged_rounds: u32) -> Ranking {
        let factor = Multiple { middle: 1.5, low: None, high: None };
        let methods = vec![
            in_turns_of("packet-v3", 0.98, RelationToFirst::First),
            in_turns_of("libpcap", 0.98, RelationToFirst::Equal),
            in_turns_of("packet-v2", 0.97, RelationToFirst::Open { may_be_better: false }),
            in_turns_of("af-xdp", 0.97, RelationToFirst::Open { may_be_better: true }),
            in_turns_of("recv", 0.66, RelationToFirst::Below { by: BelowBy::Loss, factor }),
        ];
        Ranking {
            frame_size: capbench_model::trial::SizeLabel::Octets(64),
            placement: "same".into(),
            work: "none".into(),
            precision: None,
            equal_load_pps: None,
            methods: Vec::new(),
            turns: Some(Turns {
                load_pps: 1e5,
                cost_load_pps: None,
                sent: None,
                rounds: 6,
                judged_rounds,
                methods,
            }),
            conclusion: Conclusion::Nothing,
        }
    }

    /// A trial at 100,000 packets/s in the set-up of the ranking.
    fn trial_in_turns(number: u32) -> TrialResult {
        let load = Load::Rate("100k".parse().unwrap());
        measured(10, 10, 10, 0).result(number, Phase::Turns, &profile("recv"), load, Duration::from_secs(1))
    }

    fn found_in(trials: &[TrialResult], judged_rounds: u32) -> Option<Found> {
        let run = RunFacts::of_trials(trials);
        let scene = trial_in_turns(0).profile;
        let Profile { frame_size, placement, work, .. } = scene;
        in_turns(&Ranking { frame_size, placement, work, ..ranking(judged_rounds) }, &run)
    }

    #[test]
    fn each_method_is_in_the_group_of_its_relation() {
        let [mut before, at_load, mut at_other_load] = [1, 2, 3].map(trial_in_turns);
        before.phase = Phase::FixedLoad;
        at_other_load.intended_pps = Some(5e4);
        let found = found_in(&[before, at_load, at_other_load], 6).unwrap();
        assert_eq!(found.trials, [2]);
        let Finding::Bench(BenchFinding::InTurns(fact)) = found.fact else { panic!("{found:?}") };
        assert_eq!((fact.first, fact.captured_ratio), ("packet-v3".into(), 0.98));
        let not_below =
            |method: &str, captured_ratio| [MethodNotBelow { method: method.into(), captured_ratio }];
        assert_eq!(fact.equal, not_below("libpcap", 0.98));
        assert_eq!(fact.may_be_as_good, not_below("packet-v2", 0.97));
        assert_eq!(fact.may_be_better, not_below("af-xdp", 0.97));
        let below: Vec<_> = fact.below.iter().map(|below| (&below.method, below.captured_ratio)).collect();
        assert_eq!(below, [(&"recv".into(), 0.66)]);
    }

    #[test]
    fn most_frames_that_a_worse_method_missed_were_lost_at_a_place_and_it_left_earlier() {
        let lossy = |number, method: &str| {
            let mut trial = trial_in_turns(number);
            let place = if method == "recv" { Place::Ring } else { Place::Backlog };
            trial.profile.method = method.into();
            trial.ledger = vec![Entry { place, count: Some(3), source: String::new(), source_fact: None }];
            trial
        };
        let trials = [lossy(1, "recv"), lossy(2, "packet-v2"), lossy(3, "packet-v2")];
        let run = RunFacts::of_trials(&trials);
        let Profile { frame_size, placement, work, .. } = trials[0].profile.clone();
        let mut ranking = Ranking { frame_size, placement, work, ..ranking(6) };
        let fact = |ranking: &Ranking| match in_turns(ranking, &run).unwrap().fact {
            Finding::Bench(BenchFinding::InTurns(fact)) => fact,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (fact(&ranking).below[0].most_missed, fact(&ranking).fewest_rounds),
            (Some(MostMissed::Lost { place: Place::Ring }), None)
        );
        let mut behind = trials.clone();
        behind[0].emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
        let all: Vec<&TrialResult> = behind.iter().collect();
        assert_eq!(most_missed(&"recv".into(), &all), Some(MostMissed::Buffered));
        behind[0].profile.load_independent = false;
        behind[0].sent = 1;
        let all: Vec<&TrialResult> = behind.iter().collect();
        assert_eq!(most_missed(&"recv".into(), &all), None);
        ranking.turns.as_mut().unwrap().methods[4].rounds = 2;
        assert_eq!((fact(&ranking).rounds, fact(&ranking).fewest_rounds), (6, Some(2)));
    }

    #[test]
    fn what_is_worse_than_the_first_is_worse_than_a_method_that_equals_it() {
        let worse_than = |named: &str| {
            let worse = super::super::verdict::worse_than(&ranking(6), &named.into());
            worse.into_iter().map(|worse| worse.method.to_string()).collect::<Vec<_>>()
        };
        assert_eq!([worse_than("packet-v3"), worse_than("libpcap")], [["recv"], ["recv"]]);
        assert!(worse_than("packet-v2").is_empty(), "it may be as good");
    }

    #[test]
    fn shares_are_of_what_was_sent_unless_the_receiver_can_hold_the_generator_up() {
        for (least, is_independent, is_of_sent) in
            [(0.66, true, true), (0.66, false, false), (1.0, true, false)]
        {
            let mut trial = trial_in_turns(1);
            trial.profile.load_independent = is_independent;
            let Profile { frame_size, placement, work, .. } = trial.profile.clone();
            let mut ranking = Ranking { frame_size, placement, work, ..ranking(6) };
            ranking.turns.as_mut().unwrap().sent = Some(SentShares { least, most: 1.0 });
            let trials = [trial];
            let found = in_turns(&ranking, &RunFacts::of_trials(&trials)).unwrap();
            let Finding::Bench(BenchFinding::InTurns(fact)) = found.fact else { panic!("{found:?}") };
            assert_eq!(fact.is_of_sent, is_of_sent, "{least}, {is_independent}");
        }
    }

    #[test]
    fn too_few_rounds_show_nothing() {
        assert!(found_in(&[], 0).is_none());
    }
}
