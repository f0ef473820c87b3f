//! The words of `ReproductionAnswer` and `ReproductionFinding`: which claims of publications hold here.

mod texts;

use capbench_judge::finding::reproduction::{ReproductionAnswer, ReproductionFinding, SupportedClaim};
use capbench_judge::reproduction::{Answer, ClaimEvidence, Judgement};

use super::sweep::effects;
use super::{Clause, first_clauses, with_trials};
use crate::model::{Sentence, Trials};
use crate::naming::{list, many};

/// Up to this number of claims that hold, or do not hold, are listed.
const NAMED_DECIDED: usize = 3;
/// Up to this number of claims that are undecided, or cannot be tested, are listed.
const NAMED_OPEN: usize = 1;

/// The sentence of an answer.
pub(super) fn answer(answer: &ReproductionAnswer, trials: Trials) -> Sentence {
    match answer {
        ReproductionAnswer::Summary { publications, claims, hold, changed, undecided, not_testable } => {
            let all = many(*claims as u64, "claim", "claims");
            let verb = if *hold == 1 { "holds" } else { "hold" };
            let mut parts = vec![format!("{hold} of {all} of {} {verb} here", list(publications))];
            if *changed > 0 {
                parts.push(format!("{changed} {}", if *changed == 1 { "does not" } else { "do not" }));
            }
            if *undecided > 0 {
                parts.push(format!("{undecided} {} undecided", if *undecided == 1 { "is" } else { "are" }));
            }
            if *not_testable > 0 {
                parts.push(format!("{not_testable} cannot be tested here"));
            }
            with_trials(format!("{}.", parts.join(", ")), trials)
        }
        ReproductionAnswer::MoreVisits { visits, needed, seconds } => {
            let text = format!(
                "{} cannot exclude chance: `--visits {needed}` can, and takes about {}.",
                many((*visits).into(), "visit of each point", "visits of each point"),
                whole_time(*seconds)
            );
            with_trials(text, trials)
        }
        ReproductionAnswer::Claims { answer, claims } => claims_sentence(*answer, claims),
        ReproductionAnswer::Unfinished { publications } => {
            with_trials(format!("Not all trials of {} were run.", list(publications)), trials)
        }
    }
}

pub(crate) use texts::here_words;
pub use texts::table_notes;

/// The evidence for the answer to a claim.
pub fn claim_words(judgement: &Judgement) -> String {
    evidence_words(&judgement.parts())
}

fn evidence_words(evidence: &[ClaimEvidence]) -> String {
    evidence.iter().map(part_words).collect::<Vec<_>>().join(" ")
}

fn part_words(part: &ClaimEvidence) -> String {
    match part {
        ClaimEvidence::Figures(text) => texts::claim_text(text),
        ClaimEvidence::CannotRun { method, because } => format!("{method} cannot run here: {because}"),
        ClaimEvidence::Effect(found) => effects::words(&found.method, &found.effect),
        ClaimEvidence::LoadNotReached { trials, all_trials, withdraws } => format!(
            "The generator did not reach the load in {trials} of the {all_trials} trials{}",
            withdrawn(*withdraws)
        ),
        ClaimEvidence::SlowCpus { trials, all_trials } => {
            format!("In {trials} of the {all_trials} trials a CPU ran slower than its best.")
        }
        ClaimEvidence::Disturbed { trials, all_trials, withdraws } => {
            format!("The host disturbed {trials} of the {all_trials} trials{}", withdrawn(*withdraws))
        }
        ClaimEvidence::Visits { visits, chance: Some(chance) } => {
            format!("{visits} visits each: chance alone does this in 1 of {:.0}.", 1.0 / chance)
        }
        ClaimEvidence::Visits { visits, chance: None } => format!("{visits} visits each."),
    }
}

/// The end of a sentence about trials: whether they withdraw the answer to the claim.
fn withdrawn(withdraws: bool) -> &'static str {
    if withdraws { ", so this run does not answer it." } else { "." }
}

/// A time in whole seconds or minutes, rounded up.
fn whole_time(seconds: f64) -> String {
    match seconds {
        short @ ..90.0 => many(short.ceil() as u64, "second", "seconds"),
        long => many((long / 60.0).ceil() as u64, "minute", "minutes"),
    }
}

/// The first claims with an answer, and how many more there are.
fn claims_sentence(answer: Answer, claims: &[SupportedClaim]) -> Sentence {
    let most = match answer {
        Answer::Holds | Answer::Changed => NAMED_DECIDED,
        Answer::Inconclusive | Answer::NotTestable => NAMED_OPEN,
    };
    let beginning = match answer {
        Answer::NotTestable => "Cannot be tested here",
        _ => answer_words(answer),
    };
    let mut clauses = Vec::new();
    for claim in claims {
        let text = claim.claim.trim_end_matches('.').to_string();
        clauses.push(Clause { text, trials: claim.trials.clone() });
    }
    let Sentence { text, trials } = first_clauses(&clauses, most);
    Sentence { text: format!("{beginning}: {text}"), trials }
}

/// An answer to a claim, in words.
pub(crate) fn answer_words(answer: Answer) -> &'static str {
    match answer {
        Answer::Holds => "Holds here",
        Answer::Changed => "Does not hold here",
        Answer::Inconclusive => "Undecided",
        Answer::NotTestable => "Not testable here",
    }
}

/// The text of a fact.
pub(super) fn words(fact: &ReproductionFinding) -> String {
    let ReproductionFinding::Claim { claim, answer, evidence, .. } = fact;
    format!("{}: {claim} {}", answer_words(*answer), evidence_words(evidence))
}

#[cfg(test)]
mod tests {
    use super::{
        Answer, ClaimEvidence, ReproductionAnswer, ReproductionFinding, SupportedClaim, answer, words,
    };
    use capbench_judge::reproduction::ClaimText;

    /// The sentence of an answer.
    fn text(reproduction_answer: ReproductionAnswer) -> String {
        answer(&reproduction_answer, Vec::new()).text
    }

    #[test]
    fn claims_are_summed_up_in_one_sentence() {
        let publications = vec!["dain-2004".to_string(), "fosdem-2008".into()];
        let several = ReproductionAnswer::Summary {
            publications: publications.clone(),
            claims: 8,
            hold: 3,
            changed: 2,
            undecided: 2,
            not_testable: 1,
        };
        assert_eq!(
            text(several),
            "3 of 8 claims of dain-2004 and fosdem-2008 hold here, 2 do not, 2 are undecided, 1 cannot be tested here."
        );
        let one_each = ReproductionAnswer::Summary {
            publications,
            claims: 3,
            hold: 1,
            changed: 1,
            undecided: 1,
            not_testable: 0,
        };
        assert_eq!(
            text(one_each),
            "1 of 3 claims of dain-2004 and fosdem-2008 holds here, 1 does not, 1 is undecided."
        );
    }

    #[test]
    fn more_visits_are_named_with_their_time() {
        let more = |visits, seconds| text(ReproductionAnswer::MoreVisits { visits, needed: 6, seconds });
        assert_eq!(
            more(1, 89.2),
            "1 visit of each point cannot exclude chance: `--visits 6` can, and takes about 90 seconds."
        );
        assert_eq!(
            more(3, 90.5),
            "3 visits of each point cannot exclude chance: `--visits 6` can, and takes about 2 minutes."
        );
    }

    #[test]
    fn claims_are_listed_by_their_answer() {
        let listed = |answer, number: u32| {
            let mut claims = Vec::new();
            for nth in 1..=number {
                claims.push(SupportedClaim { claim: format!("Claim {nth}."), trials: vec![nth] });
            }
            text(ReproductionAnswer::Claims { answer, claims })
        };
        assert_eq!(listed(Answer::Changed, 1), "Does not hold here: Claim 1.");
        assert_eq!(listed(Answer::Holds, 4), "Holds here: Claim 1; Claim 2; Claim 3; 1 more in the table.");
        assert_eq!(listed(Answer::Inconclusive, 2), "Undecided: Claim 1; 1 more in the table.");
        assert_eq!(listed(Answer::NotTestable, 1), "Cannot be tested here: Claim 1.");
    }

    #[test]
    fn publications_that_did_not_end_are_named() {
        let keys = vec!["dain-2004".to_string()];
        assert_eq!(
            text(ReproductionAnswer::Unfinished { publications: keys }),
            "Not all trials of dain-2004 were run."
        );
    }

    #[test]
    fn a_claim_is_said_with_its_answer_and_the_evidence() {
        let claim = ReproductionFinding::Claim {
            publication: "dain-2004".into(),
            claim: "Claim 1.".into(),
            answer: Answer::NotTestable,
            evidence: vec![ClaimEvidence::Figures(ClaimText::plain("No card."))],
        };
        assert_eq!(words(&claim), "Not testable here: Claim 1. No card.");
    }
}
