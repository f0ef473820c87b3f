//! The table right after the verdict of publications whose experiments were run again: their claims.

use capbench_measure::results::Results;

use crate::model::{Cell, Column, Row, Table, Unit};

/// A row for each claim and what has become of it; `None` where none was judged.
pub(super) fn table(results: &Results) -> Option<Table> {
    // Files of older versions do not have them.
    let of_all = || results.reproductions.iter().flat_map(|reproduction| &reproduction.findings);
    let has_visits = of_all().any(|finding| finding.visits.is_some());
    let mut columns = vec![
        Column::words("publication", "publication"),
        Column::words("claim", "claim"),
        Column::words("answer", "answer"),
        Column::new("trials", "trials", Unit::Count),
    ];
    if has_visits {
        columns.push(Column::new("visits", "visits each", Unit::Count));
        columns.push(Column::new("chance_ratio", "chance alone does it in", Unit::Ratio));
    }
    let mut rows = Vec::new();
    for reproduction in &results.reproductions {
        for finding in &reproduction.findings {
            let mut cells = vec![
                Cell::text(reproduction.key.as_str()),
                Cell::text(finding.claim.as_str()),
                Cell::text(finding.answer.to_string()),
                Cell::Count(finding.trials.len() as u64),
            ];
            if has_visits {
                cells.push(finding.visits.map_or(Cell::Empty, |visits| Cell::Count(visits.into())));
                cells.push(finding.chance.map_or(Cell::Empty, Cell::Number));
            }
            rows.push(Row::new(cells, finding.trials.clone()));
        }
    }
    let notes = results.reproductions.iter().filter(|reproduction| !reproduction.complete);
    let notes = notes.map(|reproduction| {
        format!("{}: not complete; its answers rest on the trials that were finished.", reproduction.key)
    });
    let caption = "Claims of publications, and what has become of them on this host";
    Some(Table::of("summary", caption, columns, rows)?.with_notes(notes))
}
