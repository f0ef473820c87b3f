//! The rule that one of Dain's two effects appears with certain methods in a sweep of work.

use std::collections::BTreeSet;

use crate::reproduction::testable::answer_without_loss;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use serde::Deserialize;

use crate::reproduction::judging::{Chance, JudgedClaim, RuleAnswer, judgement};
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::measured::{MeasuredSteps, Select};
use crate::reproduction::{Answer, ClaimEvidence, EffectOfMethod};
use crate::sweep::effects::{Appearance, Effect, ShownEffect, effects};
use crate::sweep::outcome::{SweepOutcome, Swept};
use crate::thresholds::ABSENT_EFFECT;

/// One of the effects, with these methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectRule {
    effect: Kind,
    methods: Vec<SavedMethod>,
}

/// Which effect.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    MoreWorkMorePackets,
    RingBehindSocket,
}

impl Kind {
    fn is_that_of(self, effect: &Effect) -> bool {
        match self {
            Self::MoreWorkMorePackets => matches!(effect, Effect::MoreWorkMorePackets { .. }),
            Self::RingBehindSocket => matches!(effect, Effect::RingBehindSocket { .. }),
        }
    }
}

impl EffectRule {
    /// The answers, one for all methods with the same answer, by the selected step.
    pub(super) fn judge(&self, claim: &str, step: &Select, measured: &MeasuredSteps<'_>) -> Vec<JudgedClaim> {
        let Some(done) = measured.done(step) else { return Vec::new() };
        let Some(outcome) = &done.sweep else { return Vec::new() };
        let mut judgements: Vec<JudgedClaim> = Vec::new();
        let decisive = decisive_trials(outcome, &done.trials);
        for ShownEffect { series, effect, trials } in effects(&Swept::new(outcome, &decisive)) {
            if !self.effect.is_that_of(&effect) || !self.methods.contains(&series.method) {
                continue;
            }
            let shown_by = decisive.iter().filter(|trial| trials.contains(&trial.number));
            let method = series.method.clone();
            let answer = RuleAnswer {
                answer: answer(effect.appearance(), outcome.repeats),
                evidence: ClaimEvidence::Effect(Box::new(EffectOfMethod { method, effect })),
                visits: vec![Visits::from_trials(shown_by)],
                chance: Chance::Unknown,
                noise_explains: false,
            };
            let mut judged = judgement(claim, answer);
            judged.judgement.visits = Some(outcome.repeats);
            let is_same = |known: &&mut JudgedClaim| known.judgement.answer == judged.judgement.answer;
            match judgements.iter_mut().find(is_same) {
                Some(known) => {
                    known.judgement.evidence.extend(judged.judgement.evidence);
                    known.judgement.trials.extend(judged.judgement.trials);
                }
                None => judgements.push(judged),
            }
        }
        judgements
    }
}

/// The trials that decide, point by point.
fn decisive_trials(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<TrialResult> {
    let mut kept: BTreeSet<u32> = BTreeSet::new();
    for reading in outcome.series.iter().flat_map(|series| &series.readings) {
        let visits = trials.iter().filter(|trial| reading.trials.contains(&trial.number));
        kept.extend(Visits::from_trials(visits).decisive(false).numbers());
    }
    trials.iter().filter(|trial| kept.contains(&trial.number)).cloned().collect()
}

/// The answer to the claim that an effect appears, by this many visits of each point.
fn answer(appearance: Appearance, visits: u32) -> Answer {
    match appearance {
        Appearance::Appears => Answer::Holds,
        Appearance::DoesNotAppear { excluded_above } if excluded_above <= ABSENT_EFFECT => Answer::Changed,
        // A sweep without losses cannot show the effect. One visit does not show that nothing is lost.
        Appearance::CannotAppear => answer_without_loss(visits > 1),
        Appearance::DoesNotAppear { .. } | Appearance::Inconclusive => Answer::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::answer;
    use crate::reproduction::Answer;
    use crate::sweep::effects::Appearance;

    #[test]
    fn an_effect_is_absent_if_a_tenth_is_excluded() {
        for (excluded_above, expected) in [(0.08, Answer::Changed), (0.125, Answer::Inconclusive)] {
            assert_eq!(answer(Appearance::DoesNotAppear { excluded_above }, 9), expected, "{excluded_above}");
        }
    }

    #[test]
    fn an_effect_of_losses_is_not_testable_where_several_visits_lose_nothing() {
        assert_eq!(answer(Appearance::CannotAppear, 2), Answer::NotTestable);
        assert_eq!(answer(Appearance::CannotAppear, 1), Answer::Inconclusive);
    }
}
