//! Facts about reproductions: the answers to the claims of publications, and what answers the open ones.

use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::{Finding, Found, Subject};
use crate::durations::time_again;
use crate::reproduction::{Answer, ClaimEvidence, Judgement, Reproduction};
use crate::thresholds::ADVISED_VISITS;

/// A fact about a publication.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ReproductionFinding {
    /// The answer to a claim.
    Claim {
        /// The publication's key.
        publication: String,
        /// The claim.
        claim: String,
        /// The answer.
        answer: Answer,
        /// The evidence.
        evidence: Vec<ClaimEvidence>,
    },
}

/// The answers to the claims of each publication.
pub fn find(reproductions: &[Reproduction]) -> Vec<Found> {
    let mut found = Vec::new();
    for reproduction in reproductions {
        for judgement in &reproduction.findings {
            let fact = ReproductionFinding::Claim {
                publication: reproduction.key.clone(),
                claim: judgement.claim.clone(),
                answer: judgement.answer,
                evidence: judgement.parts(),
            };
            found.push(Found {
                subject: Some(Subject::Publication { key: reproduction.key.clone() }),
                fact: Finding::Reproduction(fact),
                trials: judgement.trials.clone(),
            });
        }
    }
    found
}

/// An answer to the question of a run of reproductions.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ReproductionAnswer {
    /// How many claims have which answer.
    Summary {
        /// Keys of the publications.
        publications: Vec<String>,
        /// All claims.
        claims: usize,
        /// Claims that hold here.
        hold: usize,
        /// Claims that do not hold here.
        changed: usize,
        /// Claims that the measurements do not decide.
        undecided: usize,
        /// Claims that cannot be tested here.
        not_testable: usize,
    },
    /// More visits can decide claims that are open.
    MoreVisits {
        /// The visits that these claims have.
        visits: u32,
        /// The visits that can exclude chance.
        needed: u32,
        /// The time of a run with that many visits, in seconds.
        seconds: f64,
    },
    /// The claims with an answer.
    Claims {
        /// The answer.
        answer: Answer,
        /// The claims, at least one.
        claims: Vec<SupportedClaim>,
    },
    /// Not all trials were run.
    Unfinished {
        /// Keys of the publications.
        publications: Vec<String>,
    },
}

/// A claim, and the trials that support its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SupportedClaim {
    /// The claim.
    pub claim: String,
    /// The trials.
    pub trials: Vec<u32>,
}

/// The answers in the order of a report, the verdict first; none without a claim.
pub fn answers(reproductions: &[Reproduction], trials: &[TrialResult]) -> Vec<Found> {
    let claims: Vec<&Judgement> =
        reproductions.iter().flat_map(|reproduction| &reproduction.findings).collect();
    if claims.is_empty() {
        return Vec::new();
    }
    let mut answers = vec![summary(reproductions, &claims)];
    answers.extend(more_visits(reproductions, &claims, trials));
    // The most important answers first.
    for answer in [Answer::Changed, Answer::Holds, Answer::Inconclusive, Answer::NotTestable] {
        let mut supported = Vec::new();
        for claim in &claims {
            if claim.answer == answer {
                supported.push(SupportedClaim { claim: claim.claim.clone(), trials: claim.trials.clone() });
            }
        }
        if !supported.is_empty() {
            let trials = supported.iter().flat_map(|claim| claim.trials.clone()).collect();
            answers.push(found(ReproductionAnswer::Claims { answer, claims: supported }, trials));
        }
    }
    let mut unfinished = Vec::new();
    for reproduction in reproductions {
        if !reproduction.complete {
            unfinished.push(reproduction.key.clone());
        }
    }
    if !unfinished.is_empty() {
        answers.push(found(ReproductionAnswer::Unfinished { publications: unfinished }, Vec::new()));
    }
    answers
}

fn found(answer: ReproductionAnswer, trials: Vec<u32>) -> Found {
    Found::new(Finding::ReproductionAnswer(answer), trials)
}

/// How many claims have which answer. Where no claim has trials, those of the publications support it.
fn summary(reproductions: &[Reproduction], claims: &[&Judgement]) -> Found {
    let mut trials: Vec<u32> = claims.iter().flat_map(|claim| claim.trials.iter().copied()).collect();
    if trials.is_empty() {
        trials.extend(reproductions.iter().flat_map(|reproduction| reproduction.trials.iter().copied()));
    }
    let summary = ReproductionAnswer::Summary {
        publications: reproductions.iter().map(|reproduction| reproduction.key.clone()).collect(),
        claims: claims.len(),
        hold: number_with(claims, Answer::Holds),
        changed: number_with(claims, Answer::Changed),
        undecided: number_with(claims, Answer::Inconclusive),
        not_testable: number_with(claims, Answer::NotTestable),
    };
    found(summary, trials)
}

fn number_with(claims: &[&Judgement], answer: Answer) -> usize {
    claims.iter().filter(|claim| claim.answer == answer).count()
}

/// What decides the claims that these visits leave open, and how long it takes. `None` if no claim is open, or if each open one
/// has visits enough: then more of them need not help.
fn more_visits(
    reproductions: &[Reproduction],
    claims: &[&Judgement],
    trials: &[TrialResult],
) -> Option<Found> {
    // Some points have more visits than others: those of the claim with fewest come first.
    let mut fewest_visits: Option<u32> = None;
    let mut open_trials = Vec::new();
    for claim in claims {
        if claim.answer == Answer::Inconclusive {
            fewest_visits = fewest_visits.into_iter().chain(claim.visits).min();
            open_trials.extend(claim.trials.iter().copied());
        }
    }
    let visits = fewest_visits.filter(|visits| *visits < ADVISED_VISITS)?;
    let seconds = seconds_with_deciding_visits(reproductions, trials);
    Some(found(ReproductionAnswer::MoreVisits { visits, needed: ADVISED_VISITS, seconds }, open_trials))
}

/// The time of the same run with enough visits, by the trials of this one.
fn seconds_with_deciding_visits(reproductions: &[Reproduction], trials: &[TrialResult]) -> f64 {
    let mut seconds = 0.0;
    for reproduction in reproductions {
        let time = time_again(trials.iter().filter(|trial| reproduction.trials.contains(&trial.number)));
        seconds += time.as_secs_f64() * f64::from(ADVISED_VISITS) / f64::from(requested_visits(reproduction));
    }
    seconds
}

/// The visits of a usual point. Some points have more; older files do not have what was requested.
fn requested_visits(reproduction: &Reproduction) -> u32 {
    if let Some(conditions) = &reproduction.conditions {
        return conditions.visits.max(1);
    }
    reproduction.findings.iter().filter_map(|claim| claim.visits).max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use capbench_model::trial::TrialResult;

    use super::{ReproductionAnswer, SupportedClaim, answers, found, seconds_with_deciding_visits};
    use crate::finding::{Finding, Found};
    use crate::reproduction::{Answer, Judgement, Reproduction, TrialConditions};

    /// The answer to the claim named "claim N", which trial N supports.
    fn judgement(answer: Answer, visits: Option<u32>, trial: u32) -> Judgement {
        let claim = format!("claim {trial}");
        let text = String::new();
        Judgement { claim, answer, text, evidence: Vec::new(), trials: vec![trial], visits, chance: None }
    }

    /// The answers of a run of one publication that did not complete.
    fn answered(findings: Vec<Judgement>) -> Vec<Found> {
        answers(&[Reproduction { key: "dain-2004".into(), findings, ..Reproduction::default() }], &[])
    }

    #[test]
    fn claims_are_counted_and_listed_by_their_answer() {
        let answers = answered(vec![
            judgement(Answer::Holds, Some(6), 1),
            judgement(Answer::Changed, Some(6), 2),
            judgement(Answer::NotTestable, None, 3),
        ]);
        let summary = ReproductionAnswer::Summary {
            publications: vec!["dain-2004".into()],
            claims: 3,
            hold: 1,
            changed: 1,
            undecided: 0,
            not_testable: 1,
        };
        let mut listed = Vec::new();
        for (answer, trial) in [(Answer::Changed, 2), (Answer::Holds, 1), (Answer::NotTestable, 3)] {
            let claim = SupportedClaim { claim: format!("claim {trial}"), trials: vec![trial] };
            listed.push(found(ReproductionAnswer::Claims { answer, claims: vec![claim] }, vec![trial]));
        }
        let unfinished = ReproductionAnswer::Unfinished { publications: vec!["dain-2004".into()] };
        assert_eq!(answers[0], found(summary, vec![1, 2, 3]));
        assert_eq!(answers[1..4], listed);
        assert_eq!(answers[4..], [found(unfinished, Vec::new())]);
    }

    fn is_more_visits(answer: &Found) -> bool {
        matches!(answer.fact, Finding::ReproductionAnswer(ReproductionAnswer::MoreVisits { .. }))
    }

    #[test]
    fn the_claim_with_fewest_visits_needs_more_of_them_though_others_have_enough() {
        let open = |visits, trial| judgement(Answer::Inconclusive, Some(visits), trial);
        let answers = answered(vec![open(6, 4), open(2, 5)]);
        let more = answers.iter().find(|answer| is_more_visits(answer)).unwrap();
        let expected = ReproductionAnswer::MoreVisits { visits: 2, needed: 6, seconds: 0.0 };
        assert_eq!(*more, found(expected, vec![4, 5]));
    }

    #[test]
    fn up_to_five_visits_leave_a_claim_open_and_six_do_not() {
        for (visits, decides_with_more) in [(1, true), (5, true), (6, false)] {
            let answers = answered(vec![
                judgement(Answer::Inconclusive, Some(visits), 4),
                judgement(Answer::Holds, Some(1), 5),
            ]);
            let more = answers.iter().find(|answer| is_more_visits(answer));
            assert_eq!(more.is_some(), decides_with_more, "{visits} visits");
            let Some(more) = more else { continue };
            let expected = ReproductionAnswer::MoreVisits { visits, needed: 6, seconds: 0.0 };
            assert_eq!(*more, found(expected, vec![4]), "without the claim that holds");
        }
        assert!(answered(Vec::new()).is_empty());
    }

    #[test]
    fn the_time_of_enough_visits_follows_from_those_that_were_requested() {
        let trial = TrialResult { number: 1, duration_s: 0.7, ..TrialResult::default() };
        let conditions =
            TrialConditions { scale: 1.0, length_range_s: None, visits: 2, search_width: 0.05, quiet_s: 0.2 };
        let reproduction = Reproduction {
            // A point with three times as many visits.
            findings: vec![judgement(Answer::Holds, Some(6), 1)],
            conditions: Some(conditions),
            trials: vec![1],
            ..Reproduction::default()
        };
        let seconds = seconds_with_deciding_visits(&[reproduction], &[trial]);
        assert!((seconds - 3.0).abs() < 1e-9, "three times a trial of 0.7 s and 0.3 s besides: {seconds}");
    }
}
