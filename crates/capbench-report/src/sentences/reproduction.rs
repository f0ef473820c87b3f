//! Answers to the claims of publications.
use crate::results::{Finding, Results};
use capbench_reproduce::Reproduction;
use capbench_reproduce::outcome::{Answer, Judgement};

use super::{sentence, trials};
use crate::model::Sentence;
use crate::naming::{list, many};

/// Most claims that are listed one by one.
const TOLD: usize = 3;

/// How many claims still hold, and which have changed.
pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let claims = all_claims(results);
    if claims.is_empty() {
        return Vec::new();
    }
    let mut sentences = vec![answers(results, &claims)];
    sentences.extend(told(&claims, Answer::Changed, "Has changed"));
    sentences.extend(told(&claims, Answer::Holds, "Still holds"));
    sentences
}

/// Claims with the names of their publications, in the order in which they were judged.
fn all_claims(results: &Results) -> Vec<(&str, &Judgement)> {
    let of_all = results.reproductions.iter();
    of_all.flat_map(|one| one.findings.iter().map(move |finding| (one.key.as_str(), finding))).collect()
}

/// The number of claims by answer.
fn answers(results: &Results, claims: &[(&str, &Judgement)]) -> Sentence {
    let words: Vec<String> = Answer::ALL
        .into_iter()
        .filter_map(|answer| {
            let count = claims.iter().filter(|(_, finding)| finding.answer == answer).count();
            (count > 0).then(|| format!("{count} {}", verb(answer, count)))
        })
        .collect();
    let names: Vec<&str> = results.reproductions.iter().map(|one| one.key.as_str()).collect();
    let unfinished: Vec<&str> =
        results.reproductions.iter().filter(|one| !one.complete).map(|one| one.key.as_str()).collect();
    let care = if unfinished.is_empty() {
        String::new()
    } else {
        format!("; not all trials of {} were run", list(&unfinished))
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

/// The verb for this number of claims.
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
    let such: Vec<&(&str, &Judgement)> =
        claims.iter().filter(|(_, finding)| finding.answer == answer).collect();
    if such.is_empty() {
        return None;
    }
    let words: Vec<String> = such
        .iter()
        .take(TOLD)
        .map(|(key, finding)| format!("{} ({key})", finding.claim.trim_end_matches('.')))
        .collect();
    let more = such.len().saturating_sub(TOLD);
    let rest = if more > 0 { format!("; {more} more in the table") } else { String::new() };
    let trials = such.iter().take(TOLD).flat_map(|(_, finding)| finding.trials.iter().copied());
    Some(sentence(format!("{head}: {}{rest}.", words.join("; ")), trials))
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
