//! The rule that frames are lost which no counter shows.

use super::{Claim, Group, all_visits};
use crate::reproduction::judging::{Chance, RuleAnswer};
use crate::reproduction::measured::text::{TextValues, buffered_share};
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::testable::answer_without_load;
use crate::reproduction::{Answer, ClaimEvidence, ClaimValue};
use crate::thresholds::UNCOUNTED_LOSS_SHARE;
use capbench_model::ledger::LostAt;

/// What trials lost, and how much of it counters show.
struct Losses {
    lost: u64,
    uncounted: u64,
    /// Whether counters of a trial show more than was lost: they are wrong.
    is_overcounted: bool,
    places: Vec<LostAt>,
}

impl Losses {
    fn from_visits(visits: &[Visits<'_>]) -> Self {
        let mut losses = Self { lost: 0, uncounted: 0, is_overcounted: false, places: Vec::new() };
        let mut places = Vec::new();
        for trial in visits.iter().flat_map(|visits| &visits.trials) {
            losses.lost += trial.lost();
            // If counters show more than was lost, that is not an uncounted loss.
            losses.uncounted += trial.unexplained.max(0).unsigned_abs();
            losses.is_overcounted |= trial.unexplained < 0;
            places.extend(trial.losses());
        }
        losses.places = LostAt::sum(places);
        losses
    }
}

/// What the losses show: the answer, and the case of the claim's text.
struct Found {
    answer: Answer,
    case: &'static str,
}

/// Holds if more than a few of the lost frames are counted nowhere.
pub(super) fn judge<'m>(claim: &Claim, groups: &[Group<'m>]) -> RuleAnswer<'m> {
    let visits = all_visits(groups);
    let losses = Losses::from_visits(&visits);
    let Found { answer, case } = found(&losses, &visits);
    let values = TextValues::from_operands(&visits)
        .with("lost", ClaimValue::count(losses.lost))
        .with("uncounted", ClaimValue::count(losses.uncounted))
        .with("places", ClaimValue::Losses { losses: losses.places });
    let evidence = ClaimEvidence::Figures(claim.text_without_names(case, values));
    RuleAnswer { answer, evidence, visits, chance: Chance::Unknown, noise_explains: false }
}

fn found(losses: &Losses, visits: &[Visits<'_>]) -> Found {
    if visits.iter().any(|visits| visits.trials.is_empty()) {
        return Found { answer: Answer::Inconclusive, case: "unmeasured" };
    }
    if losses.is_overcounted {
        return Found { answer: Answer::Inconclusive, case: "overcounted" };
    }
    if losses.uncounted > 0 {
        // A few can be frames that were counted at another time.
        let are_few = (losses.uncounted as f64) < UNCOUNTED_LOSS_SHARE * losses.lost as f64;
        let answer = if are_few { Answer::Inconclusive } else { Answer::Holds };
        return Found { answer, case: "uncounted" };
    }
    if losses.lost == 0 {
        let answer = if visits.iter().any(Visits::fell_short) {
            answer_without_load(visits)
        } else if buffered_share(visits).is_some() {
            // If the buffers contained more than a few frames when sending ended, a longer trial could lose some.
            Answer::Inconclusive
        } else {
            Answer::Changed
        };
        return Found { answer, case: "lossless" };
    }
    Found { answer: Answer::Changed, case: "counted" }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::{Claim, Group, Visits, judge};
    use crate::reproduction::Answer;

    #[test]
    fn losses_are_uncounted_from_a_hundredth_of_them_on() {
        let claim: Claim =
            serde_json::from_value(serde_json::json!({"claim": "some", "rule": "uncounted"})).unwrap();
        // Of 100,000 sent frames 10,000 are lost.
        let second = Duration::from_secs(1);
        let trial = measured(100_000, 100_000, 90_000, 10_000).result(
            1,
            Phase::Sweep,
            &profile("recv"),
            Load::Maximum,
            second,
        );
        for (unexplained, answer) in [(95, Answer::Inconclusive), (105, Answer::Holds)] {
            let trial = TrialResult { unexplained, ..trial.clone() };
            let visits = vec![Visits::from_trials([&trial])];
            let group = Group { label: String::new(), names: Vec::new(), visits };
            assert_eq!(judge(&claim, &[group]).answer, answer, "{unexplained} of 10,000");
        }
    }
}
