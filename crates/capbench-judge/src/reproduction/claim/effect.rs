//! The rule that one of Dain's two effects appears with certain methods in a sweep of work.

use capbench_model::saved::SavedMethod;
use serde::Deserialize;

use crate::reproduction::judging::{Chance, RuleAnswer, judgement};
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::measured::{MeasuredSteps, Select};
use crate::reproduction::{Answer, Judgement};
use crate::sweep::effects::{Appearance, EffectAnswer, SupportedEffect, effects};
use crate::sweep::outcome::Swept;
use crate::thresholds::ABSENT_EFFECT;

/// One of the effects, with these methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectRule {
    effect: Kind,
    methods: Vec<SavedMethod>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    MoreWorkMorePackets,
    RingBehindSocket,
}

impl Kind {
    fn is_of(self, answer: &EffectAnswer) -> bool {
        match self {
            Self::MoreWorkMorePackets => matches!(answer, EffectAnswer::MoreWorkMorePackets { .. }),
            Self::RingBehindSocket => matches!(answer, EffectAnswer::RingBehindSocket { .. }),
        }
    }
}

impl EffectRule {
    /// The answers, one for all methods with the same answer.
    pub(super) fn judge(&self, claim: &str, of: &Select, measured: &MeasuredSteps<'_>) -> Vec<Judgement> {
        let Some(done) = measured.done(of) else { return Vec::new() };
        let Some(outcome) = &done.sweep else { return Vec::new() };
        let mut judgements: Vec<Judgement> = Vec::new();
        for SupportedEffect { effect, trials } in effects(&Swept::new(outcome, &done.trials)) {
            if !self.effect.is_of(&effect.answer) || !self.methods.contains(&effect.method) {
                continue;
            }
            let trials = done.trials.iter().filter(|trial| trials.contains(&trial.number));
            let answer = RuleAnswer {
                answer: answer(effect.answer.appearance()),
                text: format!("{}: {}", effect.method, effect.answer),
                visits: vec![Visits::from_trials(trials)],
                chance: Chance::Unknown,
            };
            let mut judged = judgement(claim, answer);
            judged.visits = Some(outcome.repeats);
            match judgements.iter_mut().find(|known| known.answer == judged.answer) {
                Some(known) => {
                    known.text.push_str(&format!(" {}", judged.text));
                    known.trials.extend(judged.trials);
                }
                None => judgements.push(judged),
            }
        }
        judgements
    }
}

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
    use super::*;

    #[test]
    fn an_effect_is_absent_if_a_tenth_is_excluded() {
        for (excluded_above, expected) in [(0.08, Answer::Changed), (0.125, Answer::Inconclusive)] {
            assert_eq!(answer(Appearance::DoesNotAppear { excluded_above }), expected, "{excluded_above}");
        }
    }
}
