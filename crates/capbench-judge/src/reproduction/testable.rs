//! When a claim cannot be tested on this host: it needs a method that cannot run here, it is about losses and this host loses nothing at
//! the published load, or the generator does not reach that load.

use capbench_model::saved::SavedMethod;

use super::measured::MeasuredSteps;
use super::measured::visits::Visits;
use super::{Answer, ClaimEvidence};

/// Why the method that a claim needs cannot run here; `None` if it ran.
pub(super) fn without_method(method: &SavedMethod, measured: &MeasuredSteps<'_>) -> Option<ClaimEvidence> {
    let because = measured.why_left_out(method)?.into();
    Some(ClaimEvidence::CannotRun { method: method.clone(), because })
}

/// The answer to a claim about losses that no visit shows. `is_lossless`: several visits show that nothing is lost.
pub(super) fn answer_without_loss(is_lossless: bool) -> Answer {
    if is_lossless { Answer::NotTestable } else { Answer::Inconclusive }
}

/// The answer to a claim whose load the generator did not reach in some trials: it cannot be tested if the load of one point is out of reach.
pub(super) fn answer_without_load(visits: &[Visits<'_>]) -> Answer {
    if visits.iter().any(Visits::is_out_of_reach) { Answer::NotTestable } else { Answer::Inconclusive }
}
