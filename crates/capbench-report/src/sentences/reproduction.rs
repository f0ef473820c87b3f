//! Answers to the claims of publications.
use crate::results::{Finding, Results};
use capbench_reproduce::Reproduction;
use capbench_reproduce::outcome::{Answer, Judgement};

use super::{first_of, sentence, trials};
use crate::model::Sentence;
use crate::naming::{list, many};

/// Most claims that are listed one by one.
const TOLD: usize = 3;

/// How many claims still hold, and which have changed.
pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let all = results.reproductions.iter();
    let claims = all.flat_map(|one| one.findings.iter().map(move |finding| (one.key.as_str(), finding)));
    let claims: Vec<(&str, &Judgement)> = claims.collect();
    let sentences = [
        (!claims.is_empty()).then(|| answers(results, &claims)),
        told(&claims, Answer::Changed, "Has changed"),
        told(&claims, Answer::Holds, "Still holds"),
    ];
    sentences.into_iter().flatten().collect()
}

fn answers(results: &Results, claims: &[(&str, &Judgement)]) -> Sentence {
    let of_answer = |answer| {
        let count = claims.iter().filter(|(_, finding)| finding.answer == answer).count();
        (count > 0).then(|| format!("{count} {}", verb(answer, count)))
    };
    let words: Vec<String> = Answer::ALL.into_iter().filter_map(of_answer).collect();
    let keys = |is_such: fn(&&Reproduction) -> bool| -> Vec<&str> {
        results.reproductions.iter().filter(is_such).map(|one| one.key.as_str()).collect()
    };
    let (names, unfinished) = (keys(|_| true), keys(|one| !one.complete));
    let care = match unfinished.len() {
        0 => String::new(),
        _ => format!("; not all trials of {} were run", list(&unfinished)),
    };
    let all = many(claims.len() as u64, "claim", "claims");
    let text = format!("Of {all} of {}, {}{care}.", list(&names), list(&words));
    let mut trials: Vec<u32> =
        claims.iter().flat_map(|(_, finding)| finding.trials.iter().copied()).collect();
    if trials.is_empty() {
        trials.extend(results.reproductions.iter().flat_map(|one| one.trials.iter().copied()));
    }
    sentence(text, trials)
}

fn verb(answer: Answer, count: usize) -> &'static str {
    match (answer, count) {
        (Answer::Holds, 1) => "still holds",
        (Answer::Holds, _) => "still hold",
        (Answer::Changed, 1) => "has changed",
        (Answer::Changed, _) => "have changed",
        (Answer::Inconclusive, _) => "cannot be told",
        (Answer::NotTestable, _) => "cannot be tested here",
    }
}

/// The first claims with an answer; `None` if no claim has it.
fn told(claims: &[(&str, &Judgement)], answer: Answer, head: &str) -> Option<Sentence> {
    let such = claims.iter().filter(|(_, finding)| finding.answer == answer);
    let words = such.map(|(key, finding)| {
        (format!("{} ({key})", finding.claim.trim_end_matches('.')), finding.trials.clone())
    });
    let Sentence { text, trials } = first_of(&words.collect::<Vec<_>>(), TOLD)?;
    Some(Sentence { text: format!("{head}: {text}"), trials })
}

/// The answers to the claims of each publication, then findings about all trials.
pub(super) fn find(results: &Results) -> Vec<Finding> {
    let of_all = trials::find(&results.trials).into_iter().filter(|finding| finding.scene.is_none());
    results.reproductions.iter().flat_map(claims).chain(of_all).collect()
}

fn claims(reproduction: &Reproduction) -> impl Iterator<Item = Finding> {
    reproduction.findings.iter().map(|judgement| Finding {
        scene: Some(reproduction.key.clone()),
        text: format!("{}: {} {}", judgement.answer, judgement.claim, judgement.text),
        trials: judgement.trials.clone(),
    })
}
