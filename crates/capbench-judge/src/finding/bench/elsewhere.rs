//! Whether the best method of the first set-up is also best in the other set-ups, by their rankings.

use capbench_model::saved::SavedMethod;
use serde::Serialize;

use super::{BenchFinding, SetUp, found, trials_of_ranking};
use crate::finding::Found;
use crate::recommendation::{Conclusion, Ranking, Recommendation};

/// A method that is better in another set-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct BetterElsewhere {
    /// The method.
    pub method: SavedMethod,
    /// The set-up.
    pub set_up: SetUp,
}

/// How many other set-ups have the same best method; `None` if there is one set-up, or no best method.
pub(super) fn elsewhere(recommendation: &Recommendation) -> Option<Found> {
    let (main, other_rankings) = recommendation.rankings.split_first()?;
    let Conclusion::Use { method: best, .. } = &main.conclusion else { return None };
    if other_rankings.is_empty() {
        return None;
    }
    let mut better = Vec::new();
    let mut alike = 0;
    for ranking in other_rankings {
        if is_best(best, ranking) {
            alike += 1;
        } else if let Some(other) = ranking.conclusion.method() {
            better.push(BetterElsewhere { method: other.clone(), set_up: SetUp::of_ranking(ranking) });
        }
    }
    let fact = BenchFinding::OtherSetUps {
        set_up: SetUp::of_ranking(main),
        method: best.clone(),
        others: other_rankings.len() as u32,
        alike,
        better,
    };
    Some(found(fact, other_rankings.iter().flat_map(trials_of_ranking)))
}

/// Whether a method is the best of a ranking, or may be, or comes closest to sustaining a load.
fn is_best(method: &SavedMethod, ranking: &Ranking) -> bool {
    match &ranking.conclusion {
        Conclusion::Use { method: best, equal, .. } => best == method || equal.contains(method),
        Conclusion::OneOf { methods, .. } => methods.contains(method),
        Conclusion::NoneLossless { best: closest, .. } => closest.as_ref() == Some(method),
        Conclusion::NotSent { .. } | Conclusion::Nothing => false,
    }
}
