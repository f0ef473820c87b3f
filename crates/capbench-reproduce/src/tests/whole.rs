//! Every publication from end to end.

use super::super::PUBLICATIONS;
use super::super::published::ALL;
use super::*;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::reproduction::{Comparison, Side, TableNote};
use capbench_report::sentences::claim_words;

/// Columns of the data that name rows.
const LABELS: [&str; 5] = ["frame_bytes", "receive_wait_loop_iterations", "system", "note", "method"];

fn all(laboratory: &mut dyn Laboratory) -> Vec<Reproduction> {
    PUBLICATIONS.iter().map(|publication| run(&publication.key, 2, laboratory).0).collect()
}

#[test]
fn every_publication_has_its_tables_and_answers_and_survives_json() {
    for reproduction in all(&mut path(methods())) {
        assert!(reproduction.complete && !reproduction.tables.is_empty(), "{}", reproduction.key);
        assert!(reproduction.findings.len() >= 4, "{}", reproduction.key);
        for table in &reproduction.tables {
            assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()), "{}", table.id);
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(table.id.chars().all(is_name), "{}", table.id);
            for (at, column) in table.columns.iter().enumerate() {
                let cells = || table.rows.iter().map(|row| &row.cells[at]);
                match column.side {
                    Side::Published | Side::Given => assert!(cells().all(|cell| cell.trials.is_empty())),
                    Side::Here => {
                        assert!(
                            cells().all(|cell| cell.value.is_none() || !cell.trials.is_empty()),
                            "{column:?}"
                        );
                    }
                }
            }
        }
        for finding in &reproduction.findings {
            assert!(!finding.claim.is_empty() && !claim_words(finding).is_empty(), "{finding:?}");
            assert!(finding.answer == Answer::NotTestable || !finding.trials.is_empty(), "{finding:?}");
        }
        let text = serde_json::to_string(&reproduction).unwrap();
        let again: Reproduction = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (again.findings, again.trials, again.conditions),
            (reproduction.findings, reproduction.trials, reproduction.conditions)
        );
        // Numbers are read to their last digit but one.
        let columns = |tables: Vec<Comparison>| {
            tables.into_iter().map(|table| (table.id, table.columns, table.note_facts)).collect::<Vec<_>>()
        };
        assert_eq!(columns(again.tables), columns(reproduction.tables));
    }
}

#[test]
fn every_published_number_is_in_a_table_as_in_its_file() {
    let tables: Vec<_> = all(&mut path(methods())).into_iter().flat_map(|one| one.tables).collect();
    let columns: Vec<Vec<f64>> = tables
        .iter()
        .flat_map(|table| {
            let published =
                table.columns.iter().enumerate().filter(|(_, column)| column.side == Side::Published);
            published.map(|(at, _)| table.rows.iter().filter_map(|row| row.cells[at].value).collect())
        })
        .collect();
    for data in ALL {
        for column in data.columns().into_iter().filter(|column| !LABELS.contains(column)) {
            let power = match column {
                _ if column.ends_with("gbps") => 9,
                _ if column.ends_with("load_pct") => -2,
                _ => 0,
            };
            let expected: Vec<f64> =
                data.rows().iter().filter_map(|row| data.scaled(row[0], column, power)).collect();
            assert!(!expected.is_empty() && columns.contains(&expected), "{}: {column}", data.name);
        }
    }
}

#[test]
fn methods_that_cannot_run_here_are_named_with_the_reason() {
    let (reproduction, record) = run("cesnet-2008", 1, &mut path(methods()));
    let left: Vec<_> = record
        .not_measured
        .iter()
        .map(|left| (left.method.to_string(), left.placement.as_ref().unwrap().to_string()))
        .collect();
    assert_eq!(
        left,
        [("pf-ring", "same"), ("szedata2", "same"), ("pf-ring", "other"), ("szedata2", "other")]
            .map(|(method, placement)| (method.to_string(), placement.to_string()))
    );
    // One method is searched for in two placements at the 7 sizes of RFC 2544.
    assert_eq!(record.searches.len(), 14);
    let not_testable = judgements(&reproduction, "PF_RING holds");
    assert_eq!(not_testable[0].answer, Answer::NotTestable);
    assert!(claim_words(not_testable[0]).contains("not on the simulated path"), "{not_testable:?}");
}

#[test]
fn a_publication_of_which_nothing_can_run_fails_with_the_reason() {
    let mut record = Collected::default();
    let error =
        find("loke-2011").unwrap().run(&conditions(1), &mut path(Vec::new()), &mut record).unwrap_err();
    assert!(error.to_string().contains("packet-v1 cannot run here"), "{error}");
    assert!(record.reproduced.is_empty());
}

#[test]
fn a_stop_keeps_and_compares_what_was_measured() {
    for publication in PUBLICATIONS.iter() {
        let mut record = Collected::stopping_after(3);
        assert!(publication.run(&conditions(2), &mut path(methods()), &mut record).unwrap());
        let kept = record.reproduced.last().unwrap();
        assert!(!kept.complete && kept.trials.len() == 3, "{}: {:?}", publication.key, kept.trials);
        assert!(kept.tables.iter().all(|table| !table.rows.is_empty()));
        let decided = kept.findings.iter().filter(|finding| matches!(finding.answer, Answer::Holds));
        assert_eq!(decided.count(), 0, "three trials show nothing: {:#?}", kept.findings);
    }
}

#[test]
fn published_rates_above_the_wire_are_marked_and_no_others() {
    let (reproduction, _) = run("cesnet-2008", 1, &mut path(methods()));
    let table = reproduction.tables.iter().find(|table| table.id == "cesnet-2008-table2-rates-same").unwrap();
    let at = table.columns.iter().position(|column| column.side == Side::Published).unwrap();
    let marked: Vec<_> = table
        .rows
        .iter()
        .filter(|row| row.cells[at].mark == Some('!'))
        .map(|row| row.label.as_str())
        .collect();
    assert_eq!(marked, ["1319", "1280", "1174", "1024", "726", "512", "256", "207"]);
    assert!(table.note_facts.contains(&TableNote::AboveLineRate), "{:?}", table.note_facts);
    let fourth =
        reproduction.tables.iter().find(|table| table.id == "cesnet-2008-table4-throughput-other").unwrap();
    let is_copy = |note: &TableNote| matches!(note, TableNote::Publication { words } if words.contains("value for value"));
    assert!(fourth.note_facts.iter().any(is_copy), "{:?}", fourth.note_facts);
}

#[test]
fn claims_about_cards_are_judged_where_the_cards_are() {
    let cards = ["pf-ring", "szedata2"].map(|name| SimulatedMethod::new(name, 2e6));
    let (reproduction, _) = run("cesnet-2008", 2, &mut path(methods().into_iter().chain(cards).collect()));
    for words in ["szedata2 captures every frame", "PF_RING holds 1 Gbit/s"] {
        assert_eq!(answers(&reproduction, words), [Answer::Holds], "{:#?}", reproduction.findings);
    }
}

#[test]
fn answers_say_on_how_many_visits_they_rest_and_how_often_chance_gives_them() {
    for reproduction in all(&mut path(methods())) {
        for finding in &reproduction.findings {
            let decided = matches!(finding.answer, Answer::Holds | Answer::Changed);
            assert!(!decided || finding.visits.is_some(), "{finding:?}");
            assert!(decided || finding.chance.is_none(), "{finding:?}");
            let visits = finding.visits.unwrap_or_default();
            let words = format!("{visits} visits each: chance alone does this in 1 of ");
            let said = claim_words(finding).contains(&words);
            assert_eq!(finding.chance.is_some(), said, "{finding:?}");
        }
    }
}
