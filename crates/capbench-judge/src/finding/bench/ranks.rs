//! Methods of a ranking that are worse although the best one is not decided, and those of which no trial shows what they sustain.

use capbench_model::saved::SavedMethod;

use super::verdict::is_unknown;
use super::{BenchFinding, found, trials_of_ranking};
use crate::finding::Found;
use crate::recommendation::{Certainty, Conclusion, Ranking};

/// Methods that are worse although the best one is not decided.
pub(super) fn worse(ranking: &Ranking) -> Option<Found> {
    let Conclusion::OneOf { worse, .. } = &ranking.conclusion else { return None };
    let mut certainly_less = Vec::new();
    let mut probably_less = Vec::new();
    let mut costlier = Vec::new();
    for method in worse {
        match ranking.find(method).map(|ranked| ranked.below) {
            Some(Some(Certainty::Certain)) => certainly_less.push(method.clone()),
            Some(Some(Certainty::Likely)) => probably_less.push(method.clone()),
            // It sustains no less, so it is worse by its cost.
            Some(None) => costlier.push(method.clone()),
            None => {}
        }
    }
    if certainly_less.is_empty() && probably_less.is_empty() && costlier.is_empty() {
        return None;
    }
    let fact = BenchFinding::Worse { certainly_less, probably_less, costlier };
    Some(found(fact, trials_of_ranking(ranking)))
}

/// Methods of which no trial shows what they sustain.
pub(super) fn unknown(ranking: &Ranking) -> Option<Found> {
    let unknown = ranking.methods.iter().filter(|ranked| is_unknown(ranked));
    let methods: Vec<SavedMethod> = unknown.map(|ranked| ranked.method.clone()).collect();
    if methods.is_empty() {
        return None;
    }
    Some(found(BenchFinding::Unknown { methods }, trials_of_ranking(ranking)))
}
