//! Facts travel as types, words are made where they are printed. Five lists of what is left are committed, in `tests/facts_not_words`.
//! They only become shorter: what is new fails the test, and what is gone has to leave its list.
//!
//! | list | what |
//! |---|---|
//! | `sentences.txt` | texts of four words or more in crates below the reports, outside error types, by file |
//! | `notations.txt` | those of them that are data, with the reason of each file |
//! | `texts.txt` | members of saved types that are text, with the reason of each |
//! | `taken_apart.txt` | functions that take a method's or set-up's text apart: those that read flags and files |
//! | `numbers.txt` | numbers in statistics, model, judge and plan outside the tables of thresholds, with the reason of each |

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{numbers, sentences, taken_apart, texts};

/// The lines of a list, without comments: what is listed, and the rest of its line.
pub fn listed(name: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facts_not_words").join(name);
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (item, rest) = line.split_once(' ').unwrap_or((line, ""));
            (item.to_string(), rest.trim().to_string())
        })
        .collect()
}

/// What is in one of the two only.
pub fn differences<V>(
    found: &BTreeMap<String, V>,
    listed: &BTreeMap<String, String>,
    list: &str,
) -> Vec<String> {
    let new = found.keys().filter(|item| !listed.contains_key(*item));
    let gone = listed.keys().filter(|item| !found.contains_key(*item));
    new.map(|item| format!("new: {item}"))
        .chain(gone.map(|item| format!("gone, take it out of {list}: {item}")))
        .collect()
}

#[test]
fn sentences_are_made_by_reports() {
    let found = sentences::by_file();
    let mut listed = listed("sentences.txt");
    let mut wrong = Vec::new();
    for (file, count_and_reason) in self::listed("notations.txt") {
        let Some((count, reason)) = count_and_reason.split_once(' ') else {
            wrong.push(format!("{file}: a notation without a reason"));
            continue;
        };
        if reason.split(' ').count() < 2 {
            wrong.push(format!("{file}: a notation with the reason {reason}"));
        }
        listed.insert(file, count.to_string());
    }
    for (file, texts) in &found {
        let allowed: usize = listed.get(file).map_or(0, |count| count.parse().unwrap());
        if texts.len() != allowed {
            wrong.push(format!(
                "{file}: {} texts, listed are {allowed}:\n    {}",
                texts.len(),
                texts.join("\n    ")
            ));
        }
    }
    wrong.extend(
        listed.keys().filter(|file| !found.contains_key(*file)).map(|file| format!("{file} 0: take it out")),
    );
    assert!(found.len() > 10 || wrong.is_empty(), "the source is read wrongly");
    assert!(
        wrong.is_empty(),
        "crates below the reports make facts, and capbench-report their words; sentences.txt only becomes shorter, and a notation of files needs its reason in notations.txt:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_saved_text_has_a_reason() {
    let found = texts::of_saved_types();
    assert!(found.len() > 20, "the source is read wrongly: {found:?}");
    let listed = listed("texts.txt");
    let wrong = differences(&found, &listed, "texts.txt");
    assert!(
        wrong.is_empty(),
        "save a typed value, or say in texts.txt why it is text:\n{}",
        wrong.join("\n")
    );
    let bare: Vec<_> = listed.iter().filter(|(_, reason)| reason.split(' ').count() < 2).collect();
    assert!(bare.is_empty(), "without a reason: {bare:?}");
}

#[test]
fn set_ups_are_taken_apart_where_flags_and_files_are_read() {
    let found = taken_apart::functions();
    assert!(found.contains_key("capbench/src/flags.rs:own_method"), "the source is read wrongly: {found:?}");
    let wrong = differences(&found, &listed("taken_apart.txt"), "taken_apart.txt");
    assert!(
        wrong.is_empty(),
        "a set-up is a typed value; its text is read by its FromStr only:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_number_that_decides_is_in_the_table() {
    let found = numbers::outside_the_tables();
    let listed = listed("numbers.txt");
    let mut wrong = differences(&found, &listed, "numbers.txt");
    for (item, count) in &found {
        // A number that is there several times has the count in front of its reason: one more of it is new.
        let Some(reason) = listed.get(item) else { continue };
        let counted = reason.split_once("x: ").and_then(|(count, _)| count.parse().ok()).unwrap_or(1);
        if *count != counted {
            wrong.push(format!("{count} times, listed are {counted}: {item}"));
        }
    }
    assert!(found.len() > 10 || wrong.is_empty(), "the source is read wrongly: {found:?}");
    assert!(
        wrong.is_empty(),
        "make it a row of thresholds.rs in capbench-statistics, capbench-model or capbench-judge; a number that decides nothing is in numbers.txt with its reason:\n{}",
        wrong.join("\n")
    );
    let bare: Vec<_> = listed.iter().filter(|(_, reason)| reason.split(' ').count() < 3).collect();
    assert!(bare.is_empty(), "without a reason: {bare:?}");
}

#[test]
fn each_row_of_the_tables_decides_somewhere() {
    let unused = numbers::unused_rows();
    assert!(unused.is_empty(), "no rule uses these rows; take them out of thresholds.rs: {unused:?}");
}
