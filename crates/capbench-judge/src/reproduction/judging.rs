//! Makes the saved judgement of a claim from the answer of its rule: the supporting trials, the probability that chance gives the
//! answer, and reasons to withdraw it, which are a load that was not reached and a disturbed host.

use std::collections::BTreeSet;

use crate::disturbed::{are_disturbed, is_disturbed_besides_speed};
use crate::reproduction::measured::Done;
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::testable::answer_without_load;
use crate::reproduction::{Answer, ClaimEvidence, Judgement};
use crate::sustained::is_published_load_sent;
use crate::thresholds::REPRODUCTION_FALSE_ALARMS;
use capbench_statistics::least_by_chance;

/// How an answer follows from visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// All visits of one method are on one side of all visits of another.
    Apart,
    /// All visits are on one side of a limit.
    Limit,
    /// Most visits are on one side of those of another method or of a limit: by a test.
    Tested,
    /// In another way, or within a margin: the probability of chance is unknown.
    Unknown,
}

impl Chance {
    /// The two-sided probability that chance does this with this many visits of each method, if there is no difference.
    fn probability(self, visits: u32) -> Option<f64> {
        let visits = visits as usize;
        match self {
            _ if visits < 2 => None,
            // Of all ways to divide the visits among two methods, two put each method on one side.
            Self::Apart => Some(least_by_chance([(visits, visits)])),
            // Each visit is on one of two sides of the limit, like one of two trials: twice all are on the same one.
            Self::Limit => Some(least_by_chance(vec![(1, 1); visits])),
            Self::Tested => Some(REPRODUCTION_FALSE_ALARMS),
            Self::Unknown => None,
        }
    }
}

/// What a rule found about a claim.
pub(crate) struct RuleAnswer<'m> {
    pub(crate) answer: Answer,
    pub(crate) evidence: ClaimEvidence,
    /// The visits that support it.
    pub(crate) visits: Vec<Visits<'m>>,
    /// How it follows from them.
    pub(crate) chance: Chance,
    /// Whether it may be so only because the host was disturbed. Work of others takes frames away and gives none, and trials that took turns
    /// met the same.
    pub(crate) noise_explains: bool,
}

/// The answer to a claim, before it is known what the host did during its trials.
#[derive(Debug)]
pub struct JudgedClaim {
    /// The answer so far.
    pub(crate) judgement: Judgement,
    /// Whether it may be so only because the host was disturbed.
    pub(crate) noise_explains: bool,
}

/// The judgement of a claim by this answer. There is no answer if the generator did not reach the load of the publication.
pub(crate) fn judgement(claim: &str, answer: RuleAnswer<'_>) -> JudgedClaim {
    let without_load = answer_without_load(&answer.visits);
    let mut short: BTreeSet<u32> = BTreeSet::new();
    for trial in answer.visits.iter().flat_map(|visits| &visits.trials) {
        if !is_published_load_sent(trial) {
            short.insert(trial.number);
        }
    }
    let mut judged = judgement_at_any_load(claim, answer);
    let judgement = &mut judged.judgement;
    if !short.is_empty() {
        let all_trials = judgement.trials.len();
        let withdraws = withdraw(judgement);
        judgement.answer = without_load;
        judgement.evidence.push(ClaimEvidence::LoadNotReached { trials: short.len(), all_trials, withdraws });
    }
    judged
}

/// The same for an answer that is valid at any sent load.
pub(crate) fn judgement_at_any_load(claim: &str, answer: RuleAnswer<'_>) -> JudgedClaim {
    let RuleAnswer { answer, evidence, visits: operands, chance, noise_explains } = answer;
    let mut visits: Option<u32> = None;
    let mut trials: Vec<u32> = Vec::new();
    for operand in operands.iter().filter(|operand| !operand.trials.is_empty()) {
        let count = operand.trials.len() as u32;
        visits = Some(visits.map_or(count, |fewest| fewest.min(count)));
        for number in operand.numbers() {
            if !trials.contains(&number) {
                trials.push(number);
            }
        }
    }
    let chance = visits.and_then(|visits| chance.probability(visits));
    let evidence = vec![evidence];
    let judgement =
        Judgement { claim: claim.into(), answer, text: String::new(), evidence, trials, visits, chance };
    JudgedClaim { judgement, noise_explains }
}

/// Withdraws an answer. Returns whether there was one.
fn withdraw(judgement: &mut Judgement) -> bool {
    let is_answer = judgement.answer != Answer::Inconclusive;
    if is_answer {
        judgement.answer = Answer::Inconclusive;
    }
    is_answer
}

impl JudgedClaim {
    /// The judgement with what the host did during its trials, the visits that support it, and the probability of chance.
    pub fn concluded(self, done: &[Done]) -> Judgement {
        let Self { mut judgement, noise_explains } = self;
        note_disturbance(&mut judgement, noise_explains, done);
        note_chance(&mut judgement);
        judgement
    }
}

/// Withdraws an answer that noise explains if the host disturbed more than half of the trials. Otherwise the evidence only reports how many
/// it disturbed.
fn note_disturbance(judgement: &mut Judgement, noise_explains: bool, done: &[Done]) {
    let all_trials = judgement.trials.len();
    let mut disturbed = 0;
    let mut slow = 0;
    for trial in done.iter().flat_map(|done| &done.trials) {
        if judgement.trials.contains(&trial.number) {
            disturbed += usize::from(is_disturbed_besides_speed(trial));
            slow += usize::from(trial.disturbance.is_slow());
        }
    }
    // If a hypervisor slows its guests, every second trial is slow and no answer would remain. So this is only reported.
    if slow > 0 {
        judgement.evidence.push(ClaimEvidence::SlowCpus { trials: slow, all_trials });
    }
    if disturbed == 0 {
        return;
    }
    let withdraws = noise_explains && are_disturbed(disturbed, all_trials) && withdraw(judgement);
    judgement.evidence.push(ClaimEvidence::Disturbed { trials: disturbed, all_trials, withdraws });
}

/// Adds the visits that support an answer, and the probability of chance.
fn note_chance(judgement: &mut Judgement) {
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

    use super::{
        Chance, Done, JudgedClaim, RuleAnswer, Visits, judgement, judgement_at_any_load, note_chance,
        note_disturbance,
    };
    use crate::reproduction::{Answer, ClaimEvidence, ClaimText, Judgement};
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
        ClaimEvidence::Figures(ClaimText::plain("Here."))
    }

    fn disturbed(trials: usize, withdraws: bool) -> Vec<ClaimEvidence> {
        vec![ClaimEvidence::Disturbed { trials, all_trials: 4, withdraws }]
    }

    /// The answer over `trials` trials, of which `disturbed` were disturbed, and what was added to its evidence.
    fn judged(
        answer: Answer,
        trials: u32,
        disturbed: u32,
        noise_explains: bool,
    ) -> (Answer, Vec<ClaimEvidence>) {
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
        note_disturbance(&mut judgement, noise_explains, &[Done { trials: of_step, ..Done::default() }]);
        (judgement.answer, judgement.evidence)
    }

    #[test]
    fn disturbance_of_more_than_half_of_the_trials_withdraws_the_answer() {
        assert_eq!(judged(Answer::Holds, 4, 0, true), (Answer::Holds, Vec::new()));
        assert_eq!(judged(Answer::Changed, 4, 2, true), (Answer::Changed, disturbed(2, false)));
        assert_eq!(judged(Answer::Holds, 4, 3, true), (Answer::Inconclusive, disturbed(3, true)));
        assert_eq!(judged(Answer::Inconclusive, 4, 4, true), (Answer::Inconclusive, disturbed(4, false)));
        assert_eq!(
            judged(Answer::Holds, 4, 4, false),
            (Answer::Holds, disturbed(4, false)),
            "noise does not explain it"
        );
    }

    #[test]
    fn chance_is_that_of_all_orders_being_as_likely() {
        for (chance, visits, orders) in [
            (Chance::Apart, 1, None),
            (Chance::Apart, 2, Some(3.0)),
            (Chance::Apart, 3, Some(10.0)),
            (Chance::Apart, 4, Some(35.0)),
            (Chance::Apart, 6, Some(462.0)),
            (Chance::Limit, 1, None),
            (Chance::Limit, 2, Some(2.0)),
            (Chance::Limit, 4, Some(8.0)),
            (Chance::Limit, 6, Some(32.0)),
            (Chance::Tested, 9, Some(20.0)),
            (Chance::Unknown, 6, None),
        ] {
            let probability = chance.probability(visits);
            assert_eq!(probability.map(|chance| (1.0 / chance).round()), orders, "{chance:?} {visits}");
        }
    }

    #[test]
    fn only_answers_name_their_visits_and_chance() {
        let trials = [trial(1, false), trial(2, false)];
        for (answer, chance, has_visits, probability) in [
            (Answer::Holds, Chance::Apart, true, Some(1.0 / 3.0)),
            (Answer::Changed, Chance::Unknown, true, None),
            (Answer::Inconclusive, Chance::Apart, false, None),
        ] {
            let visits = vec![Visits::from_trials(&trials), Visits::from_trials(&trials)];
            let answered = RuleAnswer { answer, evidence: figures(), visits, chance, noise_explains: false };
            let JudgedClaim { mut judgement, .. } = judgement("So.", answered);
            note_chance(&mut judgement);
            assert_eq!((judgement.trials.as_slice(), judgement.visits), (&[1, 2][..], Some(2)));
            let visits = ClaimEvidence::Visits { visits: 2, chance: probability };
            let expected = if has_visits { vec![figures(), visits] } else { vec![figures()] };
            assert_eq!((judgement.evidence, judgement.chance), (expected, probability));
        }
    }

    #[test]
    fn a_load_that_was_not_reached_is_no_answer_unless_what_was_sent_is_enough() {
        // 989 of 1000 are below what counts as reached, 990 are not.
        for (sent, answer) in [(989, Answer::Inconclusive), (990, Answer::Holds)] {
            let short = TrialResult { intended: 1000, sent, ..trial(1, false) };
            let judged = judgement("So.", holds(&short)).judgement;
            assert_eq!(judged.answer, answer, "{judged:?}");
            let not_reached = ClaimEvidence::LoadNotReached { trials: 1, all_trials: 1, withdraws: true };
            assert_eq!(judged.evidence.contains(&not_reached), sent < 990);
            assert_eq!(judgement_at_any_load("So.", holds(&short)).judgement.answer, Answer::Holds);
        }
    }

    fn holds(trial: &TrialResult) -> RuleAnswer<'_> {
        let visits = vec![Visits::from_trials([trial])];
        RuleAnswer {
            answer: Answer::Holds,
            evidence: figures(),
            visits,
            chance: Chance::Limit,
            noise_explains: true,
        }
    }
}
