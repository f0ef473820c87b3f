//! Whether the same method is best in the other set-ups.

use capbench_model::saved::SavedMethod;
use serde::{Deserialize, Serialize};

use super::{BenchFinding, SetUp, found, rests_on};
use crate::finding::Found;
use crate::recommendation::{Conclusion, Ranking, Recommendation};

/// A method that is better in another set-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BetterElsewhere {
    /// The method.
    pub method: SavedMethod,
    /// The set-up.
    pub set_up: SetUp,
}

/// How many other set-ups have the same best method; `None` if there is one set-up, or no best method.
pub(super) fn elsewhere(recommendation: &Recommendation) -> Option<Found> {
    let (main, others) = recommendation.rankings.split_first()?;
    let Conclusion::Use { method: best, .. } = &main.conclusion else { return None };
    if others.is_empty() {
        return None;
    }
    let mut better = Vec::new();
    let mut alike = 0;
    for ranking in others {
        if is_best(best, ranking) {
            alike += 1;
        } else if let Some(first) = ranking.methods.first() {
            better.push(BetterElsewhere { method: first.method.clone(), set_up: SetUp::of_ranking(ranking) });
        }
    }
    let fact = BenchFinding::OtherSetUps {
        set_up: SetUp::of_ranking(main),
        method: best.clone(),
        others: others.len() as u32,
        alike,
        better,
    };
    Some(found(fact, others.iter().flat_map(rests_on)))
}

/// Whether a method is best, or one of the best, or closest to it.
fn is_best(method: &SavedMethod, ranking: &Ranking) -> bool {
    match &ranking.conclusion {
        Conclusion::Use { method: best, equal, .. } => best == method || equal.contains(method),
        Conclusion::OneOf { methods, .. } => methods.contains(method),
        Conclusion::NoneLossless { best: closest, .. } => closest.as_ref() == Some(method),
        Conclusion::NotSent { .. } | Conclusion::Nothing => false,
    }
}
