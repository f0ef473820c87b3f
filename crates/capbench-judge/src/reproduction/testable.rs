//! When a claim cannot be tested on this host: it needs a method that cannot run here, it is about losses and this host loses nothing at
//! the published load, or the generator does not reach that load.

use capbench_model::saved::SavedMethod;

use super::measured::MeasuredSteps;
use super::{Answer, ClaimEvidence};
use crate::sustained::is_out_of_reach;

/// Why the method that a claim needs cannot run here; `None` if it ran.
pub(super) fn without_method(method: &SavedMethod, measured: &MeasuredSteps<'_>) -> Option<ClaimEvidence> {
    let because = measured.why_left_out(method)?.into();
    Some(ClaimEvidence::CannotRun { method: method.clone(), because })
}

/// The answer to a claim about losses that no visit shows. `is_lossless`: several visits show that nothing is lost.
pub(super) fn answer_without_loss(is_lossless: bool) -> Answer {
    if is_lossless { Answer::NotTestable } else { Answer::Inconclusive }
}

/// The answer to a claim about a load that the generator did not reach in some trials.
pub(super) fn answer_without_load(short: usize, trials: usize) -> Answer {
    if is_out_of_reach(short, trials) { Answer::NotTestable } else { Answer::Inconclusive }
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer_without_load};

    #[test]
    fn a_load_that_the_generator_usually_does_not_reach_cannot_be_tested() {
        for (short, trials, answer) in [
            (5, 10, Answer::Inconclusive),
            (6, 10, Answer::NotTestable),
            (5, 5, Answer::Inconclusive),
            (6, 6, Answer::NotTestable),
        ] {
            assert_eq!(answer_without_load(short, trials), answer, "{short} of {trials}");
        }
    }
}
