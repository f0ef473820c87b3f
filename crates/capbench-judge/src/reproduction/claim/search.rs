//! The rule that the throughput which searches find is below what best effort captures.

use serde::Deserialize;

use super::{Cases, Claim};
use crate::reproduction::judging::{Chance, JudgedClaim, RuleAnswer};
use crate::reproduction::measured::figure::Figure;
use crate::reproduction::measured::text::TextValues;
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::measured::{MeasuredSteps, Select};
use crate::reproduction::{Answer, ClaimEvidence, ClaimValue};

/// A claim that throughput by searches is below what best effort captures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// The searches.
    of: Select,
    /// Differences below this share count as none.
    part: f64,
}

impl Search {
    /// The claim holds if it is true at all points but one, and two contrary points refute it. Points that the step of the searches left
    /// out on this host do not count.
    pub(super) fn judge(&self, claim: &Claim, measured: &MeasuredSteps<'_>) -> JudgedClaim {
        let points = measured.step_facts(&self.of).map_or(&[][..], |step| &step.points_here[..]);
        let searched: Vec<&Select> =
            claim.over.iter().filter(|over| over.at.is_some_and(|at| points.contains(&at))).collect();
        let mut cases = Cases { confirming: 0, contrary: 0, all: searched.len() };
        let mut visits = Vec::new();
        let mut trials_of_searches: Vec<u32> = Vec::new();
        for over in &searched {
            // What a selection leaves open, the one in `or` fills in: the rule, then the claim, then the point.
            let best_effort = measured.visits(&claim.of[0].or(over)).decisive(false);
            let Some(found) = measured.found(&self.of.or(&claim.of[0]).or(over)) else { continue };
            let Some(found_pps) = found.value else { continue };
            trials_of_searches.extend(found.trials);
            match self.is_below(found_pps, &best_effort) {
                // An "at least" result may be as high as the best effort.
                Some(true) if found.at_least => {}
                Some(true) => cases.confirming += 1,
                Some(false) => cases.contrary += 1,
                None => {}
            }
            visits.push(best_effort);
        }
        let values = TextValues::from_operands(&visits)
            .with("below", ClaimValue::count(cases.confirming as u64))
            .with("decided", ClaimValue::count((cases.confirming + cases.contrary) as u64))
            .with("searched", ClaimValue::count(cases.all as u64));
        let text = claim.text_without_names("all", values);
        let answer = cases.answer(1, Some(2));
        let mut judged = claim.judgement(RuleAnswer {
            answer,
            evidence: ClaimEvidence::Figures(text),
            visits,
            chance: Chance::Unknown,
            // Noise makes a search end at a lower rate, and never at a higher one.
            noise_explains: answer == Answer::Holds,
        });
        let judgement = &mut judged.judgement;
        judgement.trials.extend(trials_of_searches);
        // A search is one visit, however many trials it has.
        judgement.visits = (!judgement.trials.is_empty()).then_some(1);
        judged
    }

    /// Whether a found rate is below best effort. `None` if the trials do not show it: the generator sent less than the wire rate, buffers
    /// decide, because the captured rate says one thing and the read rate another, or visits do.
    fn is_below(&self, found_pps: f64, best_effort: &Visits<'_>) -> Option<bool> {
        if best_effort.fell_short() {
            return None;
        }
        let mut is_below = true;
        let mut is_not_below = true;
        for figure in [Figure::CapturedPps, Figure::ReadPps] {
            let highest = best_effort.values(figure).into_iter().fold(0.0, f64::max);
            is_below &= found_pps < (1.0 - self.part) * best_effort.median(figure)?;
            // Noise makes visits slower, and never faster.
            is_not_below &= found_pps >= (1.0 - self.part) * highest;
        }
        match (is_below, is_not_below) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}
