//! Reports on runs of the simulated path, whose losses are known.

mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use capbench_measure::ledger::Place;
use capbench_measure::results::Results;
use capbench_measure::trial::TrialResult;
use capbench_report::formats::{self, csv, json, markdown, text};
use capbench_report::model::{Report, Table};
use capbench_report::read::Run;
use capbench_report::{report, save, tidy};

fn run(results: Results) -> Run {
    Run { name: "a-run".into(), ..Run::new(results, Path::new("/nowhere")) }
}

/// The report as it is on every host, and without charts, which have tests of their own.
fn same_everywhere(results: Results) -> Report {
    let mut report = report::report(&run(results)).unwrap();
    report.environment.clear();
    for section in &mut report.sections {
        section.charts.clear();
    }
    report.sections.retain(|section| !section.tables.is_empty());
    report
}

#[test]
fn a_terminal_gets_verdict_and_summary_in_80_columns() {
    for (name, results) in runs::all() {
        let printed = text::text(&same_everywhere(results));
        for line in printed.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        insta::assert_snapshot!(format!("text_{name}"), printed);
    }
}

#[test]
fn verdicts_have_at_most_three_sentences_and_name_their_trials() {
    for (name, results) in runs::all() {
        let numbers: BTreeSet<u32> = results.trials.iter().map(|trial| trial.number).collect();
        let report = same_everywhere(results);
        assert!((1..=3).contains(&report.verdict.len()), "{name}: {:?}", report.verdict);
        for sentence in &report.verdict {
            assert!(!sentence.trials.is_empty(), "{name}: {sentence:?}");
            assert!(sentence.trials.iter().all(|number| numbers.contains(number)), "{name}: {sentence:?}");
        }
    }
}

#[test]
fn a_report_for_an_issue() {
    for (name, results) in [("bench", runs::bench()), ("search", runs::search())] {
        let mut report = same_everywhere(results);
        report.trials.rows.truncate(2);
        insta::assert_snapshot!(format!("markdown_{name}"), markdown::markdown(&report, None));
    }
}

#[test]
fn a_report_as_data() {
    let mut report = same_everywhere(runs::small_bench());
    report.sections.truncate(1);
    report.trials.rows.clear();
    report.trials.columns.truncate(3);
    insta::assert_snapshot!("json_bench", json::json(&report).unwrap());
}

#[test]
fn tidy_rows_for_notebooks() {
    insta::assert_snapshot!("tidy_bench", csv::tidy(&run(runs::small_bench())).unwrap());
}

/// Frames by method and place, of trials that stand.
fn totals<'t>(trials: impl Iterator<Item = &'t TrialResult>) -> BTreeMap<(String, String), i128> {
    let mut totals = BTreeMap::new();
    let name = |place: Place| serde_json::to_value(place).unwrap().as_str().unwrap().to_string();
    for trial in trials {
        let method = trial.profile.method.clone();
        let mut add = |place: String, count: i128| {
            *totals.entry((method.clone(), place)).or_insert(0) += count;
        };
        for entry in &trial.ledger {
            add(name(entry.place), entry.count.unwrap_or(0).into());
        }
        add("delivered".into(), trial.delivered.into());
        add("unexplained".into(), trial.unexplained.into());
    }
    totals
}

#[test]
fn tidy_rows_sum_up_to_the_results() {
    for (name, results) in runs::all() {
        let expected = totals(results.trials.iter());
        let intended: i128 = results.trials.iter().map(|trial| i128::from(trial.intended)).sum();
        let run = run(results);
        let written = csv::tidy(&run).unwrap();
        let mut reader = ::csv::Reader::from_reader(written.as_bytes());
        let head = reader.headers().unwrap().clone();
        let column = |key: &str| head.iter().position(|name| name == key).unwrap();
        let (method, place, count, kept) =
            (column("method"), column("place"), column("count"), column("kept"));
        let mut found: BTreeMap<(String, String), i128> = BTreeMap::new();
        let mut rows = 0;
        for record in reader.records() {
            let record = record.unwrap();
            rows += 1;
            if &record[kept] == "result" {
                let frames: i128 = if record[count].is_empty() { 0 } else { record[count].parse().unwrap() };
                *found.entry((record[method].into(), record[place].into())).or_insert(0) += frames;
            }
        }
        assert_eq!(found, expected, "{name}");
        assert_eq!(found.values().sum::<i128>(), intended, "{name}: every intended frame is in one row");
        assert_eq!(rows, tidy::rows(&run).len(), "{name}");
    }
}

#[test]
fn every_table_is_whole_and_has_a_name_of_its_own() {
    for (name, results) in runs::all() {
        let numbers: BTreeSet<u32> = results.trials.iter().map(TrialResult::last_number).collect();
        let report = report::report(&run(results)).unwrap();
        let tables: Vec<&Table> = csv::tables(&report).collect();
        let ids: BTreeSet<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids.len(), tables.len(), "{name}: {ids:?}");
        let highest = numbers.last().copied().unwrap_or(0);
        for table in tables {
            let keys: BTreeSet<&str> = table.columns.iter().map(|column| column.key.as_str()).collect();
            assert_eq!(keys.len(), table.columns.len(), "{name}, {}: a column twice", table.id);
            assert!(table.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", table.id);
            for row in &table.rows {
                assert_eq!(row.cells.len(), table.columns.len(), "{name}, {}", table.id);
                assert!(row.trials.iter().all(|number| *number <= highest), "{name}, {}", table.id);
            }
            let written = csv::table(table).unwrap();
            let mut reader = ::csv::Reader::from_reader(written.as_bytes());
            let records: Vec<_> = reader.records().map(Result::unwrap).collect();
            assert_eq!(records.len(), table.rows.len());
        }
    }
}

#[test]
fn the_trials_have_all_that_trials_csv_has() {
    let results = runs::bench();
    let written = capbench_measure::results::trials_csv(&results.trials).unwrap();
    let head: Vec<String> =
        ::csv::Reader::from_reader(written.as_slice()).headers().unwrap().iter().map(String::from).collect();
    let report = report::report(&run(results)).unwrap();
    let keys: Vec<String> = report.trials.columns.iter().map(|column| column.key.clone()).collect();
    assert_eq!(keys[..head.len()], head);
    assert_eq!(report.trials.rows.len(), 6);
}

#[test]
fn a_run_that_was_interrupted_says_so_and_has_findings() {
    let mut results = runs::bench();
    results.complete = false;
    results.trials.truncate(2);
    results.findings.clear();
    let report = report::report(&run(results.clone())).unwrap();
    assert!(
        report.warnings[0].contains("not complete") && report.warnings[0].contains("2 trials"),
        "{:?}",
        report.warnings
    );
    assert!(!report.findings.is_empty());
    results.trials.clear();
    let report = report::report(&run(results)).unwrap();
    assert_eq!(report.verdict[0].text, "No trial was finished, so nothing can be said.");
    assert_eq!(report.summary, None);
}

#[test]
fn what_a_trial_contradicts_is_a_warning() {
    let mut results = runs::bench();
    results.trials[0].delivered += 1;
    results.trials[1].unexplained = 5;
    results.trials[1].sent += 5;
    let report = report::report(&run(results)).unwrap();
    let warned = |part: &str| report.warnings.iter().any(|warning| warning.contains(part));
    assert!(warned("The ledger of trial 1 does not sum up"), "{:?}", report.warnings);
    assert!(warned("Trials with frames that nothing explains"), "{:?}", report.warnings);
}

#[test]
fn every_format_of_every_run_can_be_made() {
    let all: Vec<_> = formats::FORMATS.iter().filter(|format| format.write.is_some()).collect();
    for (name, results) in runs::all() {
        let files = save::files(&run(results), &all).unwrap();
        let paths: BTreeSet<_> = files.iter().map(|file| &file.path).collect();
        assert_eq!(paths.len(), files.len(), "{name}");
        for file in ["report.html", "report.md", "tidy.csv", "report.json", "tables/trials.csv"] {
            assert!(paths.contains(&Path::new(file).to_path_buf()), "{name}: {file} of {paths:?}");
        }
        assert!(files.iter().all(|file| !file.content.is_empty()), "{name}");
    }
}
