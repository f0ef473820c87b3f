//! Dain's two effects, which follow from the cost of a packet in two regimes: the result of a sweep of work.

use serde::Deserialize;

use super::judging::{Chance, judgement};
use super::measured::{MeasuredSteps, Seen, Select};
use super::outcome::{Answer, Judgement};
use capbench_plan::sweep::effects::{Appearance, Effect, EffectKind, effects};
use capbench_plan::sweep::swept::Swept;

/// An effect is absent if half of the published size is excluded. Dain's rise is from 81 % to 98 %, by a fifth, and his ring is
/// behind by more.
const EXCLUDED: f64 = 0.1;

/// One of the effects, with these methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Regimes {
    effect: Kind,
    methods: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    MoreWorkMorePackets,
    RingBehindSocket,
}

impl Regimes {
    /// The answers, one for all methods with the same answer.
    pub(super) fn judge(&self, claim: &str, of: &Select, measured: &MeasuredSteps<'_>) -> Vec<Judgement> {
        let kind = match self.effect {
            Kind::MoreWorkMorePackets => EffectKind::MoreWorkMorePackets,
            Kind::RingBehindSocket => EffectKind::RingBehindSocket,
        };
        let Some((outcome, done)) = measured.step(of).and_then(|done| Some((done.sweep.as_ref()?, done)))
        else {
            return Vec::new();
        };
        let mut found: Vec<Judgement> = Vec::new();
        let wanted = |effect: &Effect| effect.kind == kind && self.methods.contains(&effect.method);
        let swept = Swept::new(outcome, &done.trials);
        for effect in effects(&swept).into_iter().map(|(_, effect)| effect).filter(wanted) {
            let seen = Seen::of(done.trials.iter().filter(|trial| effect.trials.contains(&trial.number)));
            let said = (answer(effect.appearance), format!("{}: {}", effect.method, effect.text));
            let mut judged = judgement(claim, said, &[seen], Chance::Unknown);
            judged.visits = Some(outcome.repeats);
            match found.iter_mut().find(|known| known.answer == judged.answer) {
                Some(known) => {
                    known.text.push_str(&format!(" {}", judged.text));
                    known.trials.extend(judged.trials);
                }
                None => found.push(judged),
            }
        }
        found
    }
}

fn answer(appearance: Appearance) -> Answer {
    match appearance {
        Appearance::Appears => Answer::Holds,
        Appearance::DoesNotAppear { excluded_above } if excluded_above <= EXCLUDED => Answer::Changed,
        // A sweep without losses cannot show the effect, so it gives no answer about lossy loads.
        Appearance::DoesNotAppear { .. } | Appearance::CannotAppear | Appearance::Inconclusive => {
            Answer::Inconclusive
        }
    }
}
