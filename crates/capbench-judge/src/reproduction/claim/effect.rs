//! The rule that one of Dain's two effects appears with certain methods in a sweep of work.

use capbench_model::saved::SavedMethod;
use serde::Deserialize;

use crate::reproduction::judging::{Chance, RuleAnswer, judgement};
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::measured::{MeasuredSteps, Select};
use crate::reproduction::{Answer, ClaimEvidence, EffectOfMethod, Judgement};
use crate::sweep::effects::{Appearance, Effect, ShownEffect, effects};
use crate::sweep::outcome::Swept;
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
    pub(super) fn judge(&self, claim: &str, step: &Select, measured: &MeasuredSteps<'_>) -> Vec<Judgement> {
        let Some(done) = measured.done(step) else { return Vec::new() };
        let Some(outcome) = &done.sweep else { return Vec::new() };
        let mut judgements: Vec<Judgement> = Vec::new();
        for ShownEffect { series, effect, trials } in effects(&Swept::new(outcome, &done.trials)) {
            if !self.effect.is_that_of(&effect) || !self.methods.contains(&series.method) {
                continue;
            }
            let shown_by = done.trials.iter().filter(|trial| trials.contains(&trial.number));
            let method = series.method.clone();
            let answer = RuleAnswer {
                answer: answer(effect.appearance()),
                evidence: ClaimEvidence::Effect(Box::new(EffectOfMethod { method, effect })),
                visits: vec![Visits::from_trials(shown_by)],
                chance: Chance::Unknown,
            };
            let mut judged = judgement(claim, answer);
            judged.visits = Some(outcome.repeats);
            match judgements.iter_mut().find(|known| known.answer == judged.answer) {
                Some(known) => {
                    known.evidence.extend(judged.evidence);
                    known.trials.extend(judged.trials);
                }
                None => judgements.push(judged),
            }
        }
        judgements
    }
}

/// The answer to the claim that an effect appears.
fn answer(appearance: Appearance) -> Answer {
    match appearance {
        Appearance::Appears => Answer::Holds,
        Appearance::DoesNotAppear { excluded_above } if excluded_above <= ABSENT_EFFECT => Answer::Changed,
        // A sweep without losses cannot show the effect, so it gives no answer about lossy loads.
        Appearance::DoesNotAppear { .. } | Appearance::CannotAppear | Appearance::Inconclusive => {
            Answer::Inconclusive
        }
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
            assert_eq!(answer(Appearance::DoesNotAppear { excluded_above }), expected, "{excluded_above}");
        }
    }
}
