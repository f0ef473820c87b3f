//! Repeated experiments of publications: one section each, with the published tables next to the measured ones, curves if the
//! publication has some, and the answers to its claims.

mod charts;
mod table;
#[cfg(test)]
mod tests;
mod words;

use capbench_judge::reproduction::Reproduction;
use capbench_results::Results;

use super::parts::sentence;
use crate::model::{Section, Sentence};
use crate::sentences::claim_words;
use crate::sentences::reproduction::{answer_words, here_words};

pub(super) fn sections(results: &Results) -> Vec<Section> {
    results.reproductions.iter().map(section).collect()
}

fn section(reproduction: &Reproduction) -> Section {
    let mut charts = Vec::new();
    let mut tables = Vec::new();
    for comparison in &reproduction.tables {
        charts.extend(charts::charts(comparison));
        tables.push(table::table(comparison));
    }
    let key = &reproduction.key;
    Section {
        id: format!("reproduction-{key}"),
        heading: format!("{key}: published and here"),
        text: text(reproduction),
        charts,
        tables,
    }
}

/// The publication, both hosts, and the answers to the claims.
fn text(reproduction: &Reproduction) -> Vec<Sentence> {
    let Reproduction { title, source, then, complete, .. } = reproduction;
    let here = here_words(reproduction);
    let mut text = vec![
        sentence(format!("{title} ({source})."), Vec::new()),
        sentence(format!("Then: {then}"), Vec::new()),
        sentence(format!("Here: {}", here.join(" ")), Vec::new()),
    ];
    if !complete {
        text.push(sentence("Not complete: what follows is of the trials that were finished.", Vec::new()));
    }
    for judged in &reproduction.findings {
        let answer = format!("{}: {} {}", answer_words(judged.answer), judged.claim, claim_words(judged));
        text.push(sentence(answer, judged.trials.clone()));
    }
    text
}
