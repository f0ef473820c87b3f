//! Facts about reproductions: the answers to the claims of publications, and what answers the open ones.

use crate::thresholds::DECIDING_VISITS;
use capbench_model::trial::TrialResult;
use serde::{Deserialize, Serialize};

use super::{Finding, Found, Subject};
use crate::durations::time_again;
use crate::reproduction::{Answer, Judgement, Reproduction};

/// A fact about a publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
        /// The evidence, in words.
        evidence: String,
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
                evidence: judgement.text.clone(),
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

fn summary(reproductions: &[Reproduction], claims: &[&Judgement]) -> Found {
    let mut trials: Vec<u32> = claims.iter().flat_map(|claim| claim.trials.iter().copied()).collect();
    if trials.is_empty() {
        trials.extend(reproductions.iter().flat_map(|reproduction| reproduction.trials.iter().copied()));
    }
    let summary = ReproductionAnswer::Summary {
        publications: reproductions.iter().map(|reproduction| reproduction.key.clone()).collect(),
        claims: claims.len(),
        hold: number(claims, Answer::Holds),
        changed: number(claims, Answer::Changed),
        undecided: number(claims, Answer::Inconclusive),
        not_testable: number(claims, Answer::NotTestable),
    };
    found(summary, trials)
}

fn number(claims: &[&Judgement], answer: Answer) -> usize {
    claims.iter().filter(|claim| claim.answer == answer).count()
}

/// What decides the claims that these visits leave open, and how long it takes.
fn more_visits(
    reproductions: &[Reproduction],
    claims: &[&Judgement],
    trials: &[TrialResult],
) -> Option<Found> {
    let mut most = None;
    let mut open = Vec::new();
    for claim in claims {
        if claim.answer == Answer::Inconclusive {
            most = most.max(claim.visits);
            open.extend(claim.trials.iter().copied());
        }
    }
    let visits = most.filter(|visits| *visits < DECIDING_VISITS)?;
    let seconds = seconds_with_visits(reproductions, trials);
    Some(found(ReproductionAnswer::MoreVisits { visits, needed: DECIDING_VISITS, seconds }, open))
}

/// The time of the same run with enough visits, by the trials of this one.
fn seconds_with_visits(reproductions: &[Reproduction], trials: &[TrialResult]) -> f64 {
    let mut seconds = 0.0;
    for reproduction in reproductions {
        let time = time_again(trials.iter().filter(|trial| reproduction.trials.contains(&trial.number)));
        let visits = reproduction.findings.iter().filter_map(|claim| claim.visits).max().unwrap_or(1);
        seconds += time.as_secs_f64() * f64::from(DECIDING_VISITS) / f64::from(visits.max(1));
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(answer: Answer, visits: Option<u32>, trial: u32) -> Judgement {
        let claim = format!("claim {trial}");
        Judgement { claim, answer, text: String::new(), trials: vec![trial], visits, chance: None }
    }

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
        let listed = [(Answer::Changed, 2), (Answer::Holds, 1), (Answer::NotTestable, 3)];
        let listed = listed.map(|(answer, trial)| {
            let claim = SupportedClaim { claim: format!("claim {trial}"), trials: vec![trial] };
            found(ReproductionAnswer::Claims { answer, claims: vec![claim] }, vec![trial])
        });
        let unfinished = ReproductionAnswer::Unfinished { publications: vec!["dain-2004".into()] };
        assert_eq!(answers[0], found(summary, vec![1, 2, 3]));
        assert_eq!(answers[1..4], listed);
        assert_eq!(answers[4..], [found(unfinished, Vec::new())]);
    }

    #[test]
    fn up_to_five_visits_leave_a_claim_open_and_six_do_not() {
        for (visits, expected) in [(1, true), (5, true), (6, false)] {
            let answers = answered(vec![
                judgement(Answer::Inconclusive, Some(visits), 4),
                judgement(Answer::Holds, Some(1), 5),
            ]);
            let more = answers.iter().find_map(|answer| match &answer.fact {
                Finding::ReproductionAnswer(ReproductionAnswer::MoreVisits { visits, needed, .. }) => {
                    Some((*visits, *needed, answer.trials.clone()))
                }
                _ => None,
            });
            assert_eq!(more, expected.then_some((visits, 6, vec![4])));
        }
        assert!(answered(Vec::new()).is_empty());
    }
}
