//! Which method to use as far as that is certain: what a recording begins with.
//!
//! A bench that does not decide between the best methods can be certain that others are worse. That is enough to choose a method that no
//! other one is known to beat.

use capbench_model::saved::SavedMethod;

use super::turns::{InTurns, Turns};
use super::{Conclusion, Ranking, Recommendation};

/// The method to use, as far as a bench is certain.
#[derive(Clone, Debug, PartialEq)]
pub struct CertainChoice<'r> {
    /// The method. No other one is known to be better.
    pub method: &'r SavedMethod,
    /// The other methods that may be best. Empty if the bench shows that none is better.
    pub open: Vec<&'r SavedMethod>,
}

impl<'r> CertainChoice<'r> {
    /// The methods that may be best, the one to use first.
    pub fn may_be_best(&self) -> Vec<&'r SavedMethod> {
        let mut methods = vec![self.method];
        methods.extend(&self.open);
        methods
    }

    /// Whether no other method is better.
    pub fn is_decided(&self) -> bool {
        self.open.is_empty()
    }
}

impl Recommendation {
    /// The method to use, as far as the bench is certain. `None` if nothing is certain of any method.
    pub fn certain_choice(&self) -> Option<CertainChoice<'_>> {
        let ranking = self.headline()?;
        let named = ranking.conclusion.method();
        if let Some(method) = named.filter(|_| self.is_conclusive()) {
            return Some(CertainChoice { method, open: Vec::new() });
        }
        let turns = ranking.turns.as_ref().filter(|turns| turns.judged_rounds > 0)?;
        // Where the load was not sent, or disturbed trials show no rate, the order by turns is known all the same.
        let method = named.or(turns.methods.first().map(|first| &first.method))?;
        if turns.name_the_best() {
            return Some(CertainChoice { method, open: Vec::new() });
        }
        let open = other_open_methods(method, turns);
        turns.methods.iter().any(InTurns::is_below).then_some(CertainChoice { method, open })
    }

    /// Whether trials in turns show that another method is better than this one.
    pub fn rules_out(&self, method: &SavedMethod) -> bool {
        let turns = self.headline().and_then(|ranking| ranking.turns.as_ref());
        turns.and_then(|turns| turns.find(method)).is_some_and(InTurns::is_below)
    }
}

impl Ranking {
    /// Whether its trials show that a method captures frames: it sustained a load without loss, or has a place in the order by turns.
    pub fn shows_capture(&self, method: &SavedMethod) -> bool {
        let sustains = self.find(method).is_some_and(|ranked| ranked.lossless.lower_pps.is_some());
        let turns = self.turns.as_ref().filter(|turns| turns.judged_rounds > 0);
        sustains || turns.is_some_and(|turns| turns.find(method).is_some())
    }
}

impl Conclusion {
    /// The method that it names: to use, to use meanwhile, or the one that comes closest.
    pub fn method(&self) -> Option<&SavedMethod> {
        match self {
            Self::Use { method, .. } => Some(method),
            Self::OneOf { best, .. } | Self::NoneLossless { best, .. } => best.as_ref(),
            Self::NotSent { .. } | Self::Nothing => None,
        }
    }
}

/// The methods other than `method` that no method is known to beat.
fn other_open_methods<'r>(method: &SavedMethod, turns: &'r Turns) -> Vec<&'r SavedMethod> {
    let mut open = Vec::new();
    for in_turns in &turns.methods {
        if in_turns.method != *method && !in_turns.is_below() {
            open.push(&in_turns.method);
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommendation::turns::{BelowBy, Multiple, RelationToFirst};
    use crate::recommendation::{Because, Certainty, Question};
    use capbench_statistics::interval::Estimate;

    const BELOW: RelationToFirst =
        RelationToFirst::Below { by: BelowBy::Loss, factor: Multiple { middle: 1.5, low: None, high: None } };
    const OPEN: RelationToFirst = RelationToFirst::Open { may_be_better: true };

    fn one_of(best: &str) -> Conclusion {
        Conclusion::OneOf { best: Some(best.into()), methods: Vec::new(), worse: Vec::new() }
    }

    /// A bench with this conclusion, in which packet-v3 was first in six rounds.
    fn bench(conclusion: Conclusion, others: &[(&str, RelationToFirst)]) -> Recommendation {
        let mut methods = Vec::new();
        for (name, relation) in [&[("packet-v3", RelationToFirst::First)], others].concat() {
            methods.push(InTurns {
                method: name.into(),
                rounds: 6,
                captured: Estimate::of([0.9; 6]).unwrap(),
                relative_captured: None,
                relative_cost: None,
                relative_cost_at_limit: None,
                relation,
                is_decided: None,
            });
        }
        let ranking = Ranking {
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
                judged_rounds: 6,
                methods,
            }),
            conclusion,
        };
        Recommendation {
            question: Question::HighestRate,
            method: None,
            certainty: None,
            rankings: vec![ranking],
        }
    }

    fn choice(bench: &Recommendation) -> Option<(String, Vec<String>)> {
        let choice = bench.certain_choice()?;
        let open = choice.open.iter().map(ToString::to_string).collect();
        Some((choice.method.to_string(), open))
    }

    #[test]
    fn a_method_that_no_other_one_beats_is_chosen_also_where_every_load_loses_frames() {
        let lossy = Conclusion::NoneLossless { best: Some("packet-v3".into()), limit: None, place: None };
        let decided = bench(lossy, &[("recv", BELOW)]);
        assert_eq!(choice(&decided), Some(("packet-v3".into(), vec![])));
        assert!(decided.certain_choice().unwrap().is_decided());
        assert!(decided.rules_out(&"recv".into()) && !decided.rules_out(&"packet-v3".into()));
    }

    #[test]
    fn of_methods_that_are_open_the_named_one_is_chosen_if_another_one_is_worse() {
        let open = bench(one_of("libpcap"), &[("libpcap", OPEN), ("recv", BELOW)]);
        assert_eq!(choice(&open), Some(("libpcap".into(), vec!["packet-v3".into()])));
        let likely = Conclusion::Use {
            method: "packet-v3".into(),
            because: Because::Rate,
            certainty: Certainty::Likely,
            equal: Vec::new(),
        };
        let likely = bench(likely, &[("libpcap", OPEN), ("recv", BELOW)]);
        assert_eq!(choice(&likely), Some(("packet-v3".into(), vec!["libpcap".into()])));
    }

    #[test]
    fn without_a_worse_method_or_a_judged_round_nothing_is_certain() {
        assert_eq!(choice(&bench(one_of("libpcap"), &[("libpcap", OPEN)])), None);
        let mut short = bench(one_of("libpcap"), &[("libpcap", OPEN), ("recv", BELOW)]);
        short.rankings[0].turns.as_mut().unwrap().judged_rounds = 0;
        assert_eq!(choice(&short), None);
        assert!(!short.rankings[0].shows_capture(&"libpcap".into()));
    }

    #[test]
    fn turns_choose_also_where_no_rate_is_known() {
        for conclusion in [Conclusion::NotSent { sent_pps: 1e5 }, Conclusion::Nothing] {
            let undecided = bench(conclusion, &[("libpcap", OPEN), ("recv", BELOW)]);
            assert_eq!(choice(&undecided), Some(("packet-v3".into(), vec!["libpcap".into()])));
        }
    }
}
