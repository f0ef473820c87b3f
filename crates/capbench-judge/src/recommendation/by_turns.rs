//! What trials in turns change of a ranking: the order of the methods, and the conclusion.

use capbench_model::saved::SavedMethod;

use super::turns::{BelowBy, InTurns, RelationToFirst, Turns};
use super::{Because, Certainty, Conclusion, Ranked, Ranking};

impl Ranking {
    /// Orders the methods by trials in turns, and concludes by them where they decide. A method without a place in them keeps its
    /// place behind the others.
    pub(super) fn decide_by(&mut self, turns: Turns) {
        if turns.judged_rounds > 0 {
            if turns.name_the_best() {
                self.order_by(&turns);
            } else {
                self.put_below_last(&turns);
            }
            self.conclusion = self.concluded_by(&turns);
        }
        self.turns = Some(turns);
    }

    /// Where turns leave the best method open, they only move those that are below another one behind the others.
    fn put_below_last(&mut self, turns: &Turns) {
        let all = std::mem::take(&mut self.methods);
        let is_below = |ranked: &Ranked| turns.find(&ranked.method).is_some_and(InTurns::is_below);
        let (below, mut ordered): (Vec<Ranked>, Vec<Ranked>) = all.into_iter().partition(is_below);
        for mut ranked in below {
            ranked.rank = ordered.len() as u32 + 1;
            ranked.below = Some(Certainty::Certain);
            ordered.push(ranked);
        }
        self.methods = ordered;
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

    fn concluded_by(&self, turns: &Turns) -> Conclusion {
        let first = turns.methods[0].method.clone();
        match &self.conclusion {
            Conclusion::NoneLossless { limit, place, .. } => {
                Conclusion::NoneLossless { best: Some(first), limit: *limit, place: *place }
            }
            Conclusion::Nothing | Conclusion::NotSent { .. } => self.conclusion.clone(),
            Conclusion::Use { .. } | Conclusion::OneOf { .. } if turns.name_the_best() => Conclusion::Use {
                method: first,
                because: because(turns),
                certainty: Certainty::Certain,
                // Those that may be as good are not distinguished from it within the noise.
                equal: methods_with(turns, |relation| {
                    matches!(relation, RelationToFirst::Equal | RelationToFirst::Open { .. })
                }),
            },
            Conclusion::Use { method, .. } if turns.find(method).is_none_or(|known| !known.is_below()) => {
                self.conclusion.clone()
            }
            // The rates name a method that is below another one in turns.
            Conclusion::Use { .. } => Conclusion::OneOf {
                best: Some(first),
                methods: methods_with(turns, |relation| !matches!(relation, RelationToFirst::Below { .. })),
                worse: methods_with(turns, |relation| matches!(relation, RelationToFirst::Below { .. })),
                settle: Vec::new(),
            },
            Conclusion::OneOf { best, methods, worse, settle } => {
                let is_below = |method: &SavedMethod| turns.find(method).is_some_and(InTurns::is_below);
                // What the rates name meanwhile stays, unless another one is better in turns.
                let first = best.clone().filter(|best| !is_below(best)).unwrap_or(first);
                let mut worse = worse.clone();
                worse.extend(methods.iter().filter(|method| is_below(method)).cloned());
                let mut methods =
                    methods_with(turns, |relation| !matches!(relation, RelationToFirst::Below { .. }));
                methods.retain(|method| !worse.contains(method));
                if !methods.contains(&first) {
                    worse.retain(|method| *method != first);
                    methods.insert(0, first.clone());
                }
                Conclusion::OneOf { best: Some(first), methods, worse, settle: settle.clone() }
            }
        }
    }
}

/// Why the first method is above the next one that is below it.
fn because(turns: &Turns) -> Because {
    for method in &turns.methods {
        match method.relation {
            RelationToFirst::Below { by: BelowBy::Loss, .. } => return Because::Rate,
            RelationToFirst::Below { by: BelowBy::Cost, .. } => return Because::TotalTime,
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
