//! The texts of tables and claims, word by word.

use std::fmt::Write;

use super::super::PUBLICATIONS;
use super::*;

fn claims(text: &mut String, reproduction: &Reproduction) {
    for Judgement { claim, answer, text: said, trials, .. } in &reproduction.findings {
        let _ = writeln!(text, "{answer} ({} trials): {claim}\n  {said}", trials.len());
    }
}

fn tables(text: &mut String, reproduction: &Reproduction) {
    for table in &reproduction.tables {
        let curves = table.curves.map(|curves| format!(", curves of {curves:?}")).unwrap_or_default();
        let _ = writeln!(text, "\n{}: {}{curves}", table.id, table.caption);
        let heads = table.columns.iter().map(|column| {
            format!("{:?} {} {} {}", column.side, column.method, column.what, column.quantity.unit())
        });
        let _ = writeln!(text, "{} | {}", table.rows_are.heading, heads.collect::<Vec<_>>().join(" | "));
        for row in &table.rows {
            let cells = row.cells.iter().zip(&table.columns).map(|(cell, column)| cell.text(column.quantity));
            let _ = writeln!(text, "{} | {}", row.label, cells.collect::<Vec<_>>().join(" | "));
        }
        table.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
    }
}

#[test]
fn tables_and_claims_say_what_they_said() {
    let cards = ["pf-ring", "szedata2"].map(|name| SimulatedMethod::new(name, 1e6));
    let with_cards = path(methods().into_iter().chain(cards).collect());
    let weak = SimulatedLaboratory::new(90_000.0, methods());
    let mut text = String::new();
    for publication in PUBLICATIONS.iter() {
        let key = &publication.key;
        for (what, visits, laboratory) in [
            ("an ordinary path", 2, path(methods())),
            ("with cards", 2, with_cards.clone()),
            ("a weak generator", 2, weak.clone()),
            ("one visit", 1, path(methods())),
        ] {
            let (reproduction, _) = run(key, visits, &mut laboratory.clone());
            let _ = writeln!(text, "\n## {key}, {what}\n");
            claims(&mut text, &reproduction);
            if what == "an ordinary path" {
                tables(&mut text, &reproduction);
            }
        }
    }
    assert!(!text.contains(['{', '}']), "something was not filled in: {text}");
    assert!(!text.contains("\n  \n"), "a claim without a text: {text}");
    insta::assert_snapshot!(text);
}
