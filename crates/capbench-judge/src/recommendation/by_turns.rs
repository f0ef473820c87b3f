//! What trials in turns change of a ranking: the order of the methods, and the conclusion. After too few rounds to judge, that is only
//! which method to use meanwhile.

use capbench_model::saved::SavedMethod;

use super::turns::{BelowBy, RelationToFirst, Turns};
use super::{Because, Certainty, Conclusion, Question, Ranked, Ranking, SustainedStatus};

impl Ranking {
    /// Orders the methods by trials in turns, and concludes by them. A method without a place in them keeps its place behind the others.
    pub(super) fn decide_by(&mut self, question: Question, turns: Turns) {
        if self.answers_the_load(question, &turns) {
            self.turns = Some(turns);
            return;
        }
        if turns.judged_rounds > 0 {
            self.order_by(&turns);
            self.conclusion = self.concluded_by(question, &turns);
            if let Conclusion::NoneLossless { best: Some(named), .. }
            | Conclusion::Use { method: named, .. } = &self.conclusion
            {
                put_first(&mut self.methods, named);
            }
        } else {
            self.guess_by(question, &turns);
        }
        self.turns = Some(turns);
    }

    /// Whether a method sustains the load that was asked for, and the first one in turns, which may cost less, does not. The question is
    /// which is the cheapest of those that sustain it, and rates answer it.
    fn answers_the_load(&self, question: Question, turns: &Turns) -> bool {
        let is_sustained = self.methods.iter().any(|ranked| ranked.lossless.lower_pps.is_some());
        is_sustained && self.falls_short(question, &turns.methods[0].method)
    }

    /// Whether a method did not sustain the load that was asked for.
    fn falls_short(&self, question: Question, method: &SavedMethod) -> bool {
        matches!(question, Question::CheapestAt { .. })
            && self.find(method).is_some_and(|ranked| ranked.lossless.status == SustainedStatus::NotReached)
    }

    /// What is first in a few rounds is a better guess than what rates name that are not certain, and than none: on a busy host rates are
    /// chance, and may all be unknown.
    fn guess_by(&mut self, question: Question, turns: &Turns) {
        let first = &turns.methods[0].method;
        if let Conclusion::OneOf { best, worse, .. } = &mut self.conclusion {
            // What rates show to be worse is no better guess.
            if !worse.contains(first) {
                *best = Some(first.clone());
            }
            return;
        }
        let is_open = match &self.conclusion {
            Conclusion::Use { method, certainty: Certainty::Likely, .. } => method != first,
            Conclusion::NoneLossless { .. } | Conclusion::Nothing => true,
            _ => false,
        };
        if is_open && question == Question::HighestRate {
            self.conclusion = Conclusion::OneOf {
                best: Some(first.clone()),
                methods: methods_with(turns, |_| true),
                worse: Vec::new(),
            };
        }
    }

    fn order_by(&mut self, turns: &Turns) {
        let mut rest = std::mem::take(&mut self.methods);
        let mut ordered: Vec<Ranked> = Vec::new();
        for in_turns in &turns.methods {
            let Some(nth) = rest.iter().position(|ranked| ranked.method == in_turns.method) else { continue };
            let mut ranked = rest.remove(nth);
            ranked.rank = 1;
            ranked.below = None;
            if in_turns.is_below() {
                ranked.rank = ordered.len() as u32 + 1;
                ranked.below = Some(Certainty::Certain);
            }
            ordered.push(ranked);
        }
        ordered.extend(rest);
        self.methods = ordered;
    }

    /// That no method sustains the load, with the one that comes closest, and what limits that one.
    fn none_lossless_by(&self, turns: &Turns) -> Conclusion {
        let closest = closest(turns);
        let ranked = self.find(closest);
        Conclusion::NoneLossless {
            best: Some(closest.clone()),
            limit: ranked.and_then(|ranked| ranked.limited_by),
            place: ranked.and_then(|ranked| ranked.lost_at),
        }
    }

    fn concluded_by(&self, question: Question, turns: &Turns) -> Conclusion {
        let first = turns.methods[0].method.clone();
        match (&self.conclusion, question) {
            (Conclusion::NoneLossless { .. }, Question::CheapestAt { .. }) => self.none_lossless_by(turns),
            // What others sustain is unknown.
            _ if self.falls_short(question, &first) => self.none_lossless_by(turns),
            (Conclusion::NotSent { .. }, Question::CheapestAt { .. }) => self.conclusion.clone(),
            (Conclusion::Nothing, Question::CheapestAt { .. }) if !turns.name_the_best() => {
                Conclusion::Nothing
            }
            (Conclusion::Use { method, certainty: Certainty::Certain, .. }, _)
                if *method == first && !turns.name_the_best() =>
            {
                self.conclusion.clone()
            }
            _ => {
                let mut methods =
                    methods_with(turns, |relation| !matches!(relation, RelationToFirst::Below { .. }));
                methods.retain(|method| !self.falls_short(question, method));
                // Which method is best is known although no rate is, and although none is shown to sustain the load.
                if turns.name_the_best() || methods.len() == 1 {
                    let named = self.highest_of_equal(&first, turns);
                    // Those that may be as good are not distinguished from it within the noise.
                    methods.retain(|method| *method != named);
                    return Conclusion::Use {
                        method: named,
                        because: because(turns),
                        certainty: Certainty::Certain,
                        equal: methods,
                    };
                }
                let worse = methods_with(turns, |relation| matches!(relation, RelationToFirst::Below { .. }));
                Conclusion::OneOf { best: Some(first), methods, worse }
            }
        }
    }

    /// Of the first method in turns and those that equal it, the first, unless another one is shown to sustain a load without loss that is
    /// certainly too high for it: an excess of a few packets in a moment hardly changes a captured share.
    fn highest_of_equal(&self, first: &SavedMethod, turns: &Turns) -> SavedMethod {
        let limit = |method: &SavedMethod| self.find(method).map(|ranked| &ranked.lossless);
        let most = |method: &SavedMethod| limit(method).and_then(|limit| limit.at_most_pps);
        let mut highest = first;
        for method in &turns.methods {
            let is_equal = matches!(method.relation, RelationToFirst::Equal);
            let lower_pps = limit(&method.method).and_then(|limit| limit.lower_pps);
            if let (true, Some(lower_pps), Some(most_pps)) = (is_equal, lower_pps, most(highest))
                && lower_pps >= most_pps
            {
                highest = &method.method;
            }
        }
        highest.clone()
    }
}

/// The method with the highest captured share, of equal ones the first. What a method costs brings it no closer to a load.
fn closest(turns: &Turns) -> &SavedMethod {
    let mut closest = &turns.methods[0];
    for method in &turns.methods {
        if method.captured.median > closest.captured.median {
            closest = method;
        }
    }
    &closest.method
}

/// Puts the method that the answer names in front of those that were above it.
fn put_first(methods: &mut [Ranked], named: &SavedMethod) {
    let Some(nth) = methods.iter().position(|ranked| ranked.method == *named) else { return };
    methods[..=nth].rotate_right(1);
    (methods[0].rank, methods[0].below) = (1, None);
}

/// Why the first method is above the next one that is below it.
fn because(turns: &Turns) -> Because {
    for method in &turns.methods {
        match method.relation {
            RelationToFirst::Below { by: BelowBy::Loss, .. } => return Because::Rate,
            RelationToFirst::Below { by: BelowBy::Cost, .. } => return Because::TotalTime,
            RelationToFirst::Below { by: BelowBy::ApplicationCost, .. } => return Because::ApplicationTime,
            RelationToFirst::First | RelationToFirst::Equal | RelationToFirst::Open { .. } => {}
        }
    }
    Because::Equal
}

fn methods_with(turns: &Turns, is_meant: fn(RelationToFirst) -> bool) -> Vec<SavedMethod> {
    let mut methods = Vec::new();
    for method in &turns.methods {
        if is_meant(method.relation) {
            methods.push(method.method.clone());
        }
    }
    methods
}
