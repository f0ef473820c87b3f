//! Methods that captured far less of the load in question than noise explains. Disturbed trials can leave open which load a method
//! sustains, but not that such a method is worse than one that sustains the load.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};

use super::{
    Because, Certainty, Conclusion, Entrant, Question, Ranking, Recommendation, SceneTrials, SustainedStatus,
    entrants, scenes_in_order,
};
use crate::thresholds::FAR_BEHIND_SHARE;

impl Recommendation {
    /// The recommendation of a bench with these trials, which an older version saved, without the methods that it left undecided though they
    /// were far behind; `None` if there are none.
    pub(crate) fn with_far_behind(&self, trials: &[TrialResult]) -> Option<Self> {
        let mut rankings = self.rankings.clone();
        for SceneTrials { scene, trials } in scenes_in_order(trials) {
            let entrants = entrants(&trials, &[]);
            for ranking in rankings.iter_mut().filter(|ranking| scene.is_of_ranking(ranking)) {
                ranking.decide_far_behind(self.question, &entrants);
            }
        }
        if rankings == self.rankings {
            return None;
        }
        Self::by_first_ranking(self.question, rankings)
    }
}

impl Ranking {
    /// Finds the methods that are far behind (all but the best one), ranks them last, and takes them out of the undecided ones. If only the
    /// best one is left, it is the one to use: likely, as the trials that leave it open are disturbed, while it is certain of the others that
    /// they are behind.
    pub(super) fn decide_far_behind(&mut self, question: Question, entrants: &[Entrant<'_>]) {
        let Question::CheapestAt { .. } = question else { return };
        let Conclusion::OneOf { best: Some(best), methods, worse, .. } = &mut self.conclusion else { return };
        let mut behind: Vec<&SavedMethod> = Vec::new();
        for entrant in entrants {
            if is_far_behind(entrant) && methods.contains(entrant.method) && entrant.method != best {
                behind.push(entrant.method);
            }
        }
        methods.retain(|method| !behind.contains(&method));
        worse.extend(behind.iter().copied().cloned());
        if methods.iter().all(|method| method == best) {
            self.conclusion = Conclusion::Use {
                method: best.clone(),
                because: Because::Rate,
                certainty: Certainty::Likely,
                equal: Vec::new(),
            };
        }
        self.rank_last(&behind);
    }

    fn rank_last(&mut self, behind: &[&SavedMethod]) {
        // The sort is stable: the others stay in their order.
        self.methods.sort_by_key(|ranked| behind.contains(&&ranked.method));
        let rank = (self.methods.len() - behind.len()) as u32 + 1;
        for ranked in self.methods.iter_mut().filter(|ranked| behind.contains(&&ranked.method)) {
            ranked.rank = rank;
            ranked.below = Some(Certainty::Certain);
            ranked.lossless.status = SustainedStatus::NotReached;
        }
    }
}

/// Whether a method captured little ([`FAR_BEHIND_SHARE`]) of the load in question in each trial at it.
fn is_far_behind(entrant: &Entrant<'_>) -> bool {
    // These include the trials at the load that the user asked for.
    let mut at_load = entrant.for_costs.clone();
    at_load.retain(|trial| trial.phase == Phase::FixedLoad);
    !at_load.is_empty() && at_load.iter().all(|trial| captures_little(trial))
}

fn captures_little(trial: &TrialResult) -> bool {
    (trial.delivered as f64) < FAR_BEHIND_SHARE * trial.sent as f64
}
