//! Converts an answer to its saved form: the supporting trials, reasons to withdraw it, and the probability that chance gives
//! it.

use std::collections::BTreeSet;

use crate::reproduction::measured::{Done, Seen};
use crate::reproduction::{Answer, ClaimEvidence, Judgement};
use crate::sustained::is_published_load_sent;
use capbench_model::statistics::least_by_chance;

/// How an answer follows from visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// All visits of one method are on one side of all visits of another.
    Apart,
    /// All visits are on one side of a limit.
    Limit,
    /// In another way, or within a margin: the probability of chance is unknown.
    Unknown,
}

impl Chance {
    /// The two-sided probability that chance does this with this many visits of each method, if there is no difference.
    fn probability(self, visits: u32) -> Option<f64> {
        let visits = visits as usize;
        match self {
            _ if visits < 2 => None,
            Self::Apart => Some(least_by_chance([(visits, visits)])),
            Self::Limit => Some(least_by_chance(vec![(1, 1); visits])),
            Self::Unknown => None,
        }
    }
}

/// The judgement of a claim from these trials. There is no answer if the generator did not reach the load of the publication.
pub(crate) fn judgement(
    claim: &str,
    said: (Answer, ClaimEvidence),
    seen: &[Seen<'_>],
    chance: Chance,
) -> Judgement {
    let mut judgement = at_what_was_sent(claim, said, seen, chance);
    let short = seen
        .iter()
        .flat_map(|seen| &seen.trials)
        .filter(|trial| !is_published_load_sent(trial))
        .map(|trial| trial.number);
    let short = short.collect::<BTreeSet<u32>>().len();
    if short > 0 {
        let withdraws = withdraw(&mut judgement);
        let all_trials = judgement.trials.len();
        judgement.evidence.push(ClaimEvidence::LoadNotReached { trials: short, all_trials, withdraws });
    }
    judgement
}

/// The same for an answer that is valid at any sent load.
pub(crate) fn at_what_was_sent(
    claim: &str,
    (answer, evidence): (Answer, ClaimEvidence),
    seen: &[Seen<'_>],
    chance: Chance,
) -> Judgement {
    let visits = seen.iter().map(|seen| seen.trials.len() as u32).filter(|visits| *visits > 0).min();
    let mut trials: Vec<u32> = seen.iter().flat_map(Seen::numbers).collect();
    let mut known = BTreeSet::new();
    trials.retain(|number| known.insert(*number));
    let chance = visits.and_then(|visits| chance.probability(visits));
    let evidence = vec![evidence];
    Judgement { claim: claim.into(), answer, text: String::new(), evidence, trials, visits, chance }
}

/// Withdraws an answer. Returns whether there was one.
fn withdraw(judgement: &mut Judgement) -> bool {
    let is_answer = matches!(judgement.answer, Answer::Holds | Answer::Changed);
    if is_answer {
        judgement.answer = Answer::Inconclusive;
    }
    is_answer
}

/// Withdraws the answer if the host disturbed more than half of the trials. If it disturbed fewer, the text reports that.
pub fn note_disturbance(judgement: &mut Judgement, done: &[Done]) {
    let trials =
        || done.iter().flat_map(|done| &done.trials).filter(|trial| judgement.trials.contains(&trial.number));
    let disturbed =
        trials().filter(|trial| !trial.disturbance.without_core_speed().reasons().is_empty()).count();
    // If a hypervisor slows its guests, every second trial is slow and no answer would remain. So this is only reported.
    let slow = trials().filter(|trial| trial.disturbance.is_slow()).count();
    if slow > 0 {
        let all_trials = judgement.trials.len();
        judgement.evidence.push(ClaimEvidence::SlowCpus { trials: slow, all_trials });
    }
    if disturbed == 0 {
        return;
    }
    let all_trials = judgement.trials.len();
    let withdraws = disturbed * 2 > all_trials && withdraw(judgement);
    judgement.evidence.push(ClaimEvidence::Disturbed { trials: disturbed, all_trials, withdraws });
}

/// Adds the visits that support an answer, and the probability of chance.
pub fn note_chance(judgement: &mut Judgement) {
    if !matches!(judgement.answer, Answer::Holds | Answer::Changed) {
        judgement.chance = None;
        return;
    }
    let Some(visits) = judgement.visits.filter(|visits| *visits > 1) else { return };
    judgement.evidence.push(ClaimEvidence::Visits { visits, chance: judgement.chance });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Chance, at_what_was_sent, judgement, note_chance, note_disturbance};
    use crate::reproduction::measured::{Done, Seen};
    use crate::reproduction::{Answer, ClaimEvidence, Judgement};
    use capbench_model::disturbance::{CpuDisturbance, Disturbance};
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    fn trial(number: u32, is_disturbed: bool) -> TrialResult {
        let second = Duration::from_secs(1);
        let result = measured(1000, 1000, 900, 100).result(
            number,
            Phase::BestEffort,
            &profile("recv"),
            Load::Maximum,
            second,
        );
        let foreign_ns = if is_disturbed { 900_000_000 } else { 0 };
        let cpus = vec![CpuDisturbance { foreign_ns, ..CpuDisturbance::default() }];
        let disturbance =
            Disturbance { cpus, tick_ns: 10_000_000, sending_ns: 1_000_000_000, ..Disturbance::default() };
        TrialResult { disturbance, ..result }
    }

    fn figures() -> ClaimEvidence {
        ClaimEvidence::Figures { text: "Here.".into() }
    }

    /// The answer over `trials` trials, of which `disturbed` were disturbed, and what was added to its evidence.
    fn judged(answer: Answer, trials: u32, disturbed: u32) -> (Answer, Vec<ClaimEvidence>) {
        let of_step = (1..=trials).map(|number| trial(number, number <= disturbed)).collect();
        let mut judgement = Judgement {
            claim: "It is so.".into(),
            answer,
            text: String::new(),
            evidence: Vec::new(),
            trials: (1..=trials).collect(),
            visits: Some(2),
            chance: None,
        };
        note_disturbance(&mut judgement, &[Done { trials: of_step, ..Done::default() }]);
        (judgement.answer, judgement.evidence)
    }

    #[test]
    fn disturbance_of_more_than_half_of_the_trials_withdraws_the_answer() {
        let disturbed =
            |trials, withdraws| vec![ClaimEvidence::Disturbed { trials, all_trials: 4, withdraws }];
        assert_eq!(judged(Answer::Holds, 4, 0), (Answer::Holds, Vec::new()));
        assert_eq!(judged(Answer::Changed, 4, 2), (Answer::Changed, disturbed(2, false)));
        assert_eq!(judged(Answer::Holds, 4, 3), (Answer::Inconclusive, disturbed(3, true)));
        assert_eq!(judged(Answer::Inconclusive, 4, 4), (Answer::Inconclusive, disturbed(4, false)));
    }

    #[test]
    fn chance_is_that_of_all_orders_being_as_likely() {
        let orders =
            |chance: Chance, visits| chance.probability(visits).map(|chance| (1.0 / chance).round() as u32);
        assert_eq!(
            [1, 2, 3, 4, 6].map(|visits| orders(Chance::Apart, visits)),
            [None, Some(3), Some(10), Some(35), Some(462)]
        );
        assert_eq!(
            [1, 2, 4, 6].map(|visits| orders(Chance::Limit, visits)),
            [None, Some(2), Some(8), Some(32)]
        );
        assert_eq!(orders(Chance::Unknown, 6), None);
    }

    #[test]
    fn only_answers_name_their_visits_and_chance() {
        let trials = [trial(1, false), trial(2, false)];
        let seen = Seen::from_trials(&trials);
        let said = |answer, chance| {
            let mut judgement = judgement("So.", (answer, figures()), &[seen.clone(), seen.clone()], chance);
            note_chance(&mut judgement);
            assert_eq!((judgement.trials.as_slice(), judgement.visits), (&[1, 2][..], Some(2)));
            (judgement.evidence[1..].to_vec(), judgement.chance)
        };
        let visits = |chance| vec![ClaimEvidence::Visits { visits: 2, chance }];
        let third = Some(1.0 / 3.0);
        assert_eq!(said(Answer::Holds, Chance::Apart), (visits(third), third));
        assert_eq!(said(Answer::Changed, Chance::Unknown), (visits(None), None));
        assert_eq!(said(Answer::Inconclusive, Chance::Apart), (Vec::new(), None));
    }

    #[test]
    fn a_load_that_was_not_reached_is_no_answer_unless_what_was_sent_is_enough() {
        // 989 of 1000 are below what counts as reached, 990 are not.
        for (sent, answer) in [(989, Answer::Inconclusive), (990, Answer::Holds)] {
            let short = TrialResult { intended: 1000, sent, ..trial(1, false) };
            let seen = Seen::from_trials([&short]);
            let said = || (Answer::Holds, figures());
            let judged = judgement("So.", said(), std::slice::from_ref(&seen), Chance::Limit);
            assert_eq!(judged.answer, answer, "{judged:?}");
            let short = ClaimEvidence::LoadNotReached { trials: 1, all_trials: 1, withdraws: true };
            assert_eq!(judged.evidence.contains(&short), sent < 990);
            assert_eq!(at_what_was_sent("So.", said(), &[seen], Chance::Limit).answer, Answer::Holds);
        }
    }
}
