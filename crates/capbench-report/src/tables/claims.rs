//! The claims of publications, and what has become of them on this host.

use capbench_judge::reproduction::Judgement;
use capbench_results::Results;

use super::rows::{Fields, Rows};
use crate::model::{Cell, Table};
use crate::sentences::reproduction::answer_words;

/// The table directly after the verdict of repeated experiments: one row per claim and its answer; `None` if no claim was judged.
pub(super) fn table(results: &Results) -> Option<Table> {
    let mut judgements = results.reproductions.iter().flat_map(|reproduction| &reproduction.findings);
    // Files of older versions do not have visits.
    let has_visits = judgements.any(|judgement| judgement.visits.is_some());
    let mut rows = Rows::new();
    let mut notes = Vec::new();
    for reproduction in &results.reproductions {
        for judged in &reproduction.findings {
            let mut fields = Fields::new()
                .words("publication", "publication", reproduction.key.as_str())
                .and(claim_fields(judged));
            if has_visits {
                fields = fields.and(visit_fields(judged));
            }
            rows.add(fields, judged.trials.clone());
        }
        if !reproduction.complete {
            notes.push(format!(
                "{}: not complete; its answers rest on the trials that were finished.",
                reproduction.key
            ));
        }
    }
    let caption = "Claims of publications, and what has become of them on this host";
    Some(rows.table("summary", caption)?.with_notes(notes))
}

/// A claim and its answer.
fn claim_fields(judged: &Judgement) -> Fields {
    Fields::new()
        .words("claim", "claim", judged.claim.as_str())
        .words("answer", "answer", answer_words(judged.answer))
        .count("trials", "trials", judged.trials.len())
}

/// How often the claim was measured, and how likely its figures are by chance.
fn visit_fields(judged: &Judgement) -> Fields {
    Fields::new().count("visits", "visits each", judged.visits.map_or(Cell::Empty, Cell::from)).figure(
        "chance_ratio",
        "chance alone does it in",
        judged.chance.map_or(Cell::Empty, Cell::Number),
    )
}
