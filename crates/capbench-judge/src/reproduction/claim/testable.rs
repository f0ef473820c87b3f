//! When a claim cannot be tested on this host: it needs a method that cannot run here, or it is about losses and this host loses
//! nothing at the published load.

use super::Claim;
use crate::reproduction::judging::{Chance, JudgedClaim, RuleAnswer, judgement_at_any_load};
use crate::reproduction::measured::MeasuredSteps;
use crate::reproduction::{Answer, ClaimEvidence};

/// The answer if the method that the claim needs cannot run here.
pub(super) fn without_method(claim: &Claim, measured: &MeasuredSteps<'_>) -> Option<JudgedClaim> {
    let method = claim.needs.as_ref()?;
    let reason = measured.why_left_out(method)?;
    let answer = RuleAnswer {
        answer: Answer::NotTestable,
        evidence: ClaimEvidence::CannotRun { method: method.clone(), because: reason.into() },
        visits: Vec::new(),
        chance: Chance::Unknown,
        noise_explains: false,
    };
    Some(judgement_at_any_load(&claim.claim, answer))
}

/// The answer to a claim about losses that no visit shows. `is_lossless`: several visits show that nothing is lost.
pub(super) fn answer_without_loss(is_lossless: bool) -> Answer {
    if is_lossless { Answer::NotTestable } else { Answer::Inconclusive }
}
