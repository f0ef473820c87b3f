//! Converts an answer to its saved form: the supporting trials, reasons to withdraw it, and the probability that chance gives
//! it.

use std::collections::BTreeSet;

use crate::reproduction::measured::{Done, Seen};
use crate::reproduction::{Answer, Judgement};
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
pub(crate) fn judgement(claim: &str, said: (Answer, String), seen: &[Seen<'_>], chance: Chance) -> Judgement {
    let mut judgement = at_what_was_sent(claim, said, seen, chance);
    let short = seen
        .iter()
        .flat_map(|seen| &seen.trials)
        .filter(|trial| !is_published_load_sent(trial))
        .map(|trial| trial.number);
    let short = short.collect::<BTreeSet<u32>>().len();
    if short > 0 {
        let all = judgement.trials.len();
        withdraw(
            &mut judgement,
            &format!("The generator did not reach the load in {short} of the {all} trials"),
        );
    }
    judgement
}

/// The same for an answer that is valid at any sent load.
pub(crate) fn at_what_was_sent(
    claim: &str,
    (answer, text): (Answer, String),
    seen: &[Seen<'_>],
    chance: Chance,
) -> Judgement {
    let visits = seen.iter().map(|seen| seen.trials.len() as u32).filter(|visits| *visits > 0).min();
    let mut trials: Vec<u32> = seen.iter().flat_map(Seen::numbers).collect();
    let mut known = BTreeSet::new();
    trials.retain(|number| known.insert(*number));
    let chance = visits.and_then(|visits| chance.probability(visits));
    Judgement { claim: claim.into(), answer, text, trials, visits, chance }
}

fn withdraw(judgement: &mut Judgement, why: &str) {
    judgement.text.push_str(&format!(" {why}"));
    if matches!(judgement.answer, Answer::Holds | Answer::Changed) {
        judgement.answer = Answer::Inconclusive;
        judgement.text.push_str(", so this run does not answer it");
    }
    judgement.text.push('.');
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
        let of = judgement.trials.len();
        judgement.text.push_str(&format!(" In {slow} of the {of} trials a CPU ran slower than its best."));
    }
    if disturbed == 0 {
        return;
    }
    let why = format!("The host disturbed {disturbed} of the {} trials", judgement.trials.len());
    if disturbed * 2 > judgement.trials.len() {
        withdraw(judgement, &why);
    } else {
        judgement.text.push_str(&format!(" {why}."));
    }
}

/// Adds the visits that support an answer, and the probability of chance.
pub fn note_chance(judgement: &mut Judgement) {
    if !matches!(judgement.answer, Answer::Holds | Answer::Changed) {
        judgement.chance = None;
        return;
    }
    let Some(visits) = judgement.visits.filter(|visits| *visits > 1) else { return };
    judgement.text.push_str(&match judgement.chance {
        Some(chance) => {
            format!(" {visits} visits each: chance alone does this in 1 of {:.0}.", 1.0 / chance)
        }
        None => format!(" {visits} visits each."),
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Chance, at_what_was_sent, judgement, note_chance, note_disturbance};
    use crate::reproduction::measured::{Done, Seen};
    use crate::reproduction::{Answer, Judgement};
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

    /// The answer and the words of a judgement over `trials` trials, of which `disturbed` were disturbed.
    fn judged(answer: Answer, trials: u32, disturbed: u32) -> (Answer, String) {
        let of_step = (1..=trials).map(|number| trial(number, number <= disturbed)).collect();
        let mut judgement = Judgement {
            claim: "It is so.".into(),
            answer,
            text: "Here.".into(),
            trials: (1..=trials).collect(),
            visits: Some(2),
            chance: None,
        };
        note_disturbance(&mut judgement, &[Done { trials: of_step, ..Done::default() }]);
        (judgement.answer, judgement.text)
    }

    #[test]
    fn disturbance_of_more_than_half_of_the_trials_withdraws_the_answer() {
        assert_eq!(judged(Answer::Holds, 4, 0), (Answer::Holds, "Here.".into()));
        let some = "Here. The host disturbed 2 of the 4 trials.";
        assert_eq!(judged(Answer::Changed, 4, 2), (Answer::Changed, some.into()));
        let most = "Here. The host disturbed 3 of the 4 trials, so this run does not answer it.";
        assert_eq!(judged(Answer::Holds, 4, 3), (Answer::Inconclusive, most.into()));
        let withdrawn = "Here. The host disturbed 4 of the 4 trials.";
        assert_eq!(judged(Answer::Inconclusive, 4, 4), (Answer::Inconclusive, withdrawn.into()));
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
            let mut judgement =
                judgement("So.", (answer, "Here.".into()), &[seen.clone(), seen.clone()], chance);
            note_chance(&mut judgement);
            assert_eq!((judgement.trials.as_slice(), judgement.visits), (&[1, 2][..], Some(2)));
            (judgement.text, judgement.chance)
        };
        let apart = "Here. 2 visits each: chance alone does this in 1 of 3.";
        assert_eq!(said(Answer::Holds, Chance::Apart), (apart.into(), Some(1.0 / 3.0)));
        assert_eq!(said(Answer::Changed, Chance::Unknown), ("Here. 2 visits each.".into(), None));
        assert_eq!(said(Answer::Inconclusive, Chance::Apart), ("Here.".into(), None));
    }

    #[test]
    fn a_load_that_was_not_reached_is_no_answer_unless_what_was_sent_is_enough() {
        // 989 of 1000 are below what counts as reached, 990 are not.
        for (sent, answer) in [(989, Answer::Inconclusive), (990, Answer::Holds)] {
            let short = TrialResult { intended: 1000, sent, ..trial(1, false) };
            let seen = Seen::from_trials([&short]);
            let said = || (Answer::Holds, "Here.".into());
            let judged = judgement("So.", said(), std::slice::from_ref(&seen), Chance::Limit);
            assert_eq!(judged.answer, answer, "{judged:?}");
            assert_eq!(judged.text.contains("did not reach the load in 1 of the 1 trials, so"), sent < 990);
            assert_eq!(at_what_was_sent("So.", said(), &[seen], Chance::Limit).answer, Answer::Holds);
        }
    }
}
