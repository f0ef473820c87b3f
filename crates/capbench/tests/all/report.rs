//! `capbench report` on runs that were saved: what it prints, what it writes, and what it does with files that are none.

use crate::runs;
use std::fs;
use std::path::Path;

use crate::support::results_file::assert_valid_report;
use crate::support::{Ended, HOST, Running, Scratch, capbench, eventually, results, run, scratch_of_root};
use serde_json::Value;

const FAILED: i32 = 1;
const USAGE: i32 = 2;

/// Saves a run into a directory, as its command would.
fn saved(directory: &Path, results: &capbench_results::Results) {
    let mut directory = capbench_results::RunDirectory::create(directory).unwrap();
    directory.save(results).unwrap();
}

/// Runs it; every report as data that is below the folder then is held against its schema.
fn report(folder: &Scratch, arguments: &[&str]) -> Ended {
    let ended = run(HOST, capbench("report").args(arguments).current_dir(folder.path()));
    hold_reports(folder.path());
    ended
}

fn hold_reports(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            hold_reports(&path);
        } else if path.to_string_lossy().ends_with("report.json") {
            assert_valid_report(&serde_json::from_slice(&fs::read(&path).unwrap()).unwrap());
        }
    }
}

/// One line of errors that has these parts, and the code.
fn refused(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    assert_eq!(ended.errors.lines().count(), 1, "{ended:#?}");
    for part in parts {
        assert!(ended.errors.contains(part), "{part}: {ended:#?}");
    }
}

#[test]
fn without_flags_it_prints_verdict_and_summary_and_writes_the_page() {
    let folder = Scratch::new();
    saved(&folder.file("run"), &runs::bench());
    let ended = report(&folder, &["run"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.out.contains("packet-v3: at least 1 million packets/s") && ended.out.contains("recv"),
        "{ended:#?}"
    );
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{ended:#?}");
    assert_eq!(ended.errors, "capbench: wrote run/report.html\n");
    let page = fs::read_to_string(folder.file("run/report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("packet-v3"));
    // The same again, from the file itself.
    let again = report(&folder, &["run/results.json"]);
    assert_eq!((again.code, &again.out), (Some(0), &ended.out));
}

#[test]
fn formats_are_written_where_they_are_asked_for() {
    let folder = Scratch::new();
    saved(&folder.file("a/run"), &runs::bench());
    saved(&folder.file("b/run"), &runs::search());
    let ended =
        report(&folder, &["a/run", "b/run", "--format", "markdown,csv", "--format", "json", "--out", "out"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:#?}");
    for run in ["out/run", "out/run-2"] {
        for file in ["report.md", "tidy.csv", "tables/trials.csv", "tables/summary.csv", "report.json"] {
            assert!(folder.file(run).join(file).exists(), "{run}/{file}");
        }
        assert!(!folder.file(run).join("report.html").exists());
    }
    let json: Value =
        serde_json::from_slice(&fs::read(folder.file("out/run-2/report.json")).unwrap()).unwrap();
    assert_eq!(json["title"], "capbench search");
    // Beside a file of another name, others may have theirs.
    fs::copy(folder.file("a/run/results.json"), folder.file("monday.json")).unwrap();
    assert_eq!(report(&folder, &["monday.json", "--format", "markdown"]).code, Some(0));
    assert!(folder.file("monday-report.md").exists());
}

#[test]
fn one_format_can_be_printed() {
    let folder = Scratch::new();
    let results = runs::bench();
    saved(&folder.file("run"), &results);
    let before = fs::read_dir(folder.file("run")).unwrap().count();
    let ended = report(&folder, &["run", "--format", "csv", "--stdout"]);
    assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""), "{ended:#?}");
    let rows: usize = results.trials.iter().map(|trial| trial.ledger.len() + 2).sum();
    assert_eq!(ended.out.lines().filter(|line| line.contains(",result,")).count(), rows);
    let ended = report(&folder, &["run", "--format", "markdown", "--stdout"]);
    assert!(ended.out.starts_with("# capbench bench\n"), "{}", ended.out);
    assert_eq!(fs::read_dir(folder.file("run")).unwrap().count(), before, "nothing is written");
    let two = report(&folder, &["run", "--format", "csv,json", "--stdout"]);
    refused(&two, USAGE, &["--stdout", "one"]);
    refused(&report(&folder, &["run", "--stdout"]), USAGE, &["--stdout", "--format"]);
    refused(&report(&folder, &["run", "--format", "svg", "--stdout"]), USAGE, &["--stdout", "several files"]);
}

#[test]
fn files_that_are_none_are_refused_in_one_line() {
    let folder = Scratch::new();
    refused(&report(&folder, &["absent"]), FAILED, &["absent", "cannot read"]);
    fs::create_dir(folder.file("empty")).unwrap();
    refused(&report(&folder, &["empty"]), FAILED, &["empty", "no results.json"]);
    fs::write(folder.file("empty/results.json"), "").unwrap();
    refused(&report(&folder, &["empty"]), FAILED, &["results.json", "is empty"]);
    fs::write(folder.file("foreign.json"), "{\"runs\": []}").unwrap();
    refused(&report(&folder, &["foreign.json"]), FAILED, &["foreign.json", "not a results file of capbench"]);
    refused(&report(&folder, &["x", "--format", "pdf"]), USAGE, &["pdf", "markdown", "parquet"]);
    let mut entries = folder.entries();
    entries.sort();
    assert_eq!(entries, ["empty", "foreign.json"]);
}

#[test]
fn what_is_left_of_a_file_that_was_cut_is_reported_with_a_warning() {
    let folder = Scratch::new();
    saved(&folder.file("run"), &runs::bench());
    let file = folder.file("run/results.json");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let ended = report(&folder, &["run"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let printed = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        printed.contains("ends in the middle of itself") && printed.contains("stopped or interrupted"),
        "{printed}"
    );
    let quiet = report(&folder, &["run", "--format", "json", "--stdout"]);
    assert_valid_report(&quiet.json());
    assert!(quiet.errors.contains("ends in the middle of itself"), "{quiet:#?}");
}

#[test]
fn a_report_that_cannot_be_written_says_which_file_and_what_to_do() {
    let folder = Scratch::new();
    saved(&folder.file("run"), &runs::bench());
    let ended = report(&folder, &["run", "--format", "html", "--out", "/dev/null/x"]);
    refused(&ended, FAILED, &["/dev/null/x/report.html", "--out"]);
}

#[test]
fn root_every_run_ends_with_its_page_and_one_that_cannot_be_written_loses_nothing() {
    let Some(folder) = scratch_of_root() else { return };
    let bench = |out: &str| {
        Running::start(
            HOST,
            capbench("bench --quick --method packet-v3 --placement same --rate 5000")
                .args(["--duration", "200ms", "--repeats", "0", "--ring", "4MiB", "--no-trace", "--out", out])
                .current_dir(folder.path()),
        )
    };
    let ended = bench("good").end();
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(ended.out.ends_with("Saved in good: results.json, trials.csv, report.html\n"), "{ended:#?}");
    let page = fs::read_to_string(folder.file("good/report.html")).unwrap();
    assert!(page.contains("capbench bench") && page.contains("packet-v3"));
    // A folder of that name cannot be replaced by a file.
    let running = bench("bad");
    eventually("the run began to save", || folder.file("bad/results.json").exists());
    fs::create_dir(folder.file("bad/report.html")).unwrap();
    let ended = running.end();
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(ended.out.ends_with("Saved in bad: results.json, trials.csv\n"), "{ended:#?}");
    let said = "cannot write bad/report.html";
    assert!(ended.errors.contains(said) && ended.errors.contains("`capbench report bad`"), "{ended:#?}");
    let results = results(&folder.file("bad")).unwrap();
    assert_eq!((&results["complete"], results["trials"].as_array().unwrap().len()), (&Value::Bool(true), 1));
}
