//! The table directly after the verdict of repeated experiments: the claims of publications.

use crate::results::Results;
use capbench_reproduce::Reproduction;
use capbench_reproduce::outcome::Judgement;

use super::shape::Columns;
use crate::model::{Cell, Table};

/// One row per claim and its answer; `None` if no claim was judged.
pub(super) fn table(results: &Results) -> Option<Table> {
    let rows: Vec<(&Reproduction, &Judgement)> =
        results.reproductions.iter().flat_map(|one| one.findings.iter().map(move |own| (one, own))).collect();
    let mut columns = Columns::new()
        .words("publication", "publication", |(publication, _): &(&Reproduction, &Judgement)| {
            publication.key.as_str()
        })
        .words("claim", "claim", |(_, judged)| judged.claim.as_str())
        .words("answer", "answer", |(_, judged)| judged.answer.to_string())
        .count("trials", "trials", |(_, judged)| judged.trials.len());
    // Files of older versions do not have them.
    if rows.iter().any(|(_, judged)| judged.visits.is_some()) {
        columns = columns
            .count("visits", "visits each", |(_, judged)| judged.visits.map_or(Cell::Empty, Cell::from))
            .named("chance_ratio", "chance alone does it in", |(_, judged)| {
                judged.chance.map_or(Cell::Empty, Cell::Number)
            });
    }
    let notes = results.reproductions.iter().filter(|reproduction| !reproduction.complete);
    let notes = notes.map(|reproduction| {
        format!("{}: not complete; its answers rest on the trials that were finished.", reproduction.key)
    });
    let caption = "Claims of publications, and what has become of them on this host";
    Some(columns.table("summary", caption, rows, |(_, judged)| judged.trials.clone())?.with_notes(notes))
}
