//! Answers to the claims of publications.
use capbench_judge::durations::time_again;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::reproduction::{Answer, Judgement};
use capbench_results::{Finding, Results};

use super::{first_of, sentence, trials};
use crate::model::Sentence;
use crate::naming::{list, many};

/// Most claims that are listed one by one: of those with an answer, and of the others.
const NAMED: usize = 3;
const NAMED_OPEN: usize = 1;

/// How many claims hold here, and which do not; then the answers one by one.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let all = results.reproductions.iter();
    let claims: Vec<&Judgement> = all.flat_map(|one| &one.findings).collect();
    if claims.is_empty() {
        return Vec::new();
    }
    let rest = [
        ("Does not hold here", Answer::Changed, NAMED),
        ("Holds here", Answer::Holds, NAMED),
        ("Undecided", Answer::Inconclusive, NAMED_OPEN),
        ("Cannot be tested here", Answer::NotTestable, NAMED_OPEN),
    ];
    let with = |answer| claims.iter().copied().filter(|claim| claim.answer == answer).collect::<Vec<_>>();
    let rest = rest.into_iter().filter_map(|(head, answer, most)| named(head, &with(answer), most));
    let first = [summed(results, &claims)].into_iter().chain(more_visits(results, &claims));
    first.chain(rest).chain(unfinished(results)).collect()
}

/// `3 of 8 claims of dain-2004 hold here, 2 do not, 2 are undecided, 1 cannot be tested here.`
fn summed(results: &Results, claims: &[&Judgement]) -> Sentence {
    let count = |answer| claims.iter().filter(|claim| claim.answer == answer).count();
    let (holds, changed) = (count(Answer::Holds), count(Answer::Changed));
    let (undecided, untested) = (count(Answer::Inconclusive), count(Answer::NotTestable));
    let verb = if holds == 1 { "holds" } else { "hold" };
    let keys: Vec<&str> = results.reproductions.iter().map(|one| one.key.as_str()).collect();
    let all = many(claims.len() as u64, "claim", "claims");
    let mut words = vec![format!("{holds} of {all} of {} {verb} here", list(&keys))];
    if changed > 0 {
        words.push(format!("{changed} {}", if changed == 1 { "does not" } else { "do not" }));
    }
    if undecided > 0 {
        words.push(format!("{undecided} {} undecided", if undecided == 1 { "is" } else { "are" }));
    }
    if untested > 0 {
        words.push(format!("{untested} cannot be tested here"));
    }
    let mut trials: Vec<u32> = claims.iter().flat_map(|claim| claim.trials.iter().copied()).collect();
    if trials.is_empty() {
        trials.extend(results.reproductions.iter().flat_map(|one| one.trials.iter().copied()));
    }
    sentence(format!("{}.", words.join(", ")), trials)
}

/// Visits with which chance alone explains a difference in fewer than 1 of 20 cases.
const DECIDING: u32 = 6;

/// What decides the claims that these visits leave open, and how long it takes.
fn more_visits(results: &Results, claims: &[&Judgement]) -> Option<Sentence> {
    let open = claims.iter().filter(|claim| claim.answer == Answer::Inconclusive);
    let visits = open.clone().filter_map(|claim| claim.visits).max().filter(|visits| *visits < DECIDING)?;
    let text = format!(
        "{} cannot exclude chance: `--visits {DECIDING}` can, and takes about {}.",
        many(visits.into(), "visit of each point", "visits of each point"),
        with_visits(results)
    );
    Some(sentence(text, open.flat_map(|claim| claim.trials.clone())))
}

/// The time of the same run with enough visits, by the trials of this one.
fn with_visits(results: &Results) -> String {
    let seconds = results.reproductions.iter().map(|one| {
        let time = time_again(results.trials.iter().filter(|trial| one.trials.contains(&trial.number)));
        let visits = one.findings.iter().filter_map(|claim| claim.visits).max().unwrap_or(1);
        time.as_secs_f64() * f64::from(DECIDING) / f64::from(visits.max(1))
    });
    match seconds.sum::<f64>() {
        short @ ..90.0 => many(short.ceil() as u64, "second", "seconds"),
        long => many((long / 60.0).ceil() as u64, "minute", "minutes"),
    }
}

/// The first claims with an answer; `None` if no claim has it.
fn named(head: &str, claims: &[&Judgement], most: usize) -> Option<Sentence> {
    let words =
        claims.iter().map(|claim| (claim.claim.trim_end_matches('.').to_string(), claim.trials.clone()));
    let Sentence { text, trials } = first_of(&words.collect::<Vec<_>>(), most)?;
    Some(Sentence { text: format!("{head}: {text}"), trials })
}

fn unfinished(results: &Results) -> Option<Sentence> {
    let unfinished = results.reproductions.iter().filter(|one| !one.complete).map(|one| one.key.as_str());
    let keys: Vec<&str> = unfinished.collect();
    (!keys.is_empty()).then(|| sentence(format!("Not all trials of {} were run.", list(&keys)), []))
}

/// The answers to the claims of each publication, then findings about all trials.
pub(super) fn find(results: &Results) -> Vec<Finding> {
    let of_all =
        trials::find(&results.trials, Vec::new()).into_iter().filter(|finding| finding.scene.is_none());
    results.reproductions.iter().flat_map(claims).chain(of_all).collect()
}

fn claims(reproduction: &Reproduction) -> impl Iterator<Item = Finding> {
    reproduction.findings.iter().map(|judgement| Finding {
        scene: Some(reproduction.key.clone()),
        text: format!("{}: {} {}", judgement.answer, judgement.claim, judgement.text),
        fact: None,
        trials: judgement.trials.clone(),
    })
}
