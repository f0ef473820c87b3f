//! Saved results that are whole, cut off, damaged, foreign or not there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use capbench_report::formats::{csv, html, markdown, text};
use capbench_report::report::report;
use capbench_results::read::{Run, parse, read};
use capbench_testing::Scratch;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::runs;

/// A results file as it is saved.
fn good() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| serde_json::to_vec_pretty(&runs::bench()).unwrap())
}

/// How a trial of it begins. Numbers rise, so the first that is the same is its own.
fn head_of_trial(position: usize) -> String {
    let run = parse(good(), &file()).unwrap();
    format!("\"number\": {},", run.results.trials[position].number)
}

fn file() -> PathBuf {
    PathBuf::from("/nowhere/a-run/results.json")
}

fn refusal(content: &[u8]) -> String {
    parse(content, &file()).unwrap_err().to_string()
}

/// Everything that is made of a run.
fn make(run: &Run) {
    let report = report(run);
    let _ = (
        html::html(&report),
        markdown::markdown(&report, Some("charts")),
        text::text(&report, text::Extent::Details),
    );
    csv::tidy_rows(std::slice::from_ref(run)).unwrap();
    for table in report.tables() {
        csv::table(table).unwrap();
    }
}

#[test]
fn a_whole_file_is_read_by_its_name_or_by_that_of_its_directory() {
    let scratch = Scratch::new();
    let results = scratch.join("results.json");
    fs::write(&results, good()).unwrap();
    for path in [scratch.path(), &results] {
        let run = read(path).unwrap();
        assert_eq!((run.warnings.as_slice(), run.results.trials.len()), ([].as_slice(), 6));
        assert_eq!(run.name, scratch.file_name().unwrap().to_str().unwrap());
        assert_eq!(run.directory, scratch.path());
    }
    let other = scratch.join("monday.json");
    fs::copy(&results, &other).unwrap();
    assert_eq!(read(&other).unwrap().name, "monday");
}

#[test]
fn what_is_not_there_is_told_apart() {
    let scratch = Scratch::new();
    let error_of = |path: &Path| read(path).unwrap_err().to_string();
    assert!(
        error_of(scratch.path()).contains("no results.json in this directory"),
        "{}",
        error_of(scratch.path())
    );
    assert!(error_of(&scratch.join("absent")).contains("cannot read"));
    fs::create_dir(scratch.join("results.json")).unwrap();
    assert!(error_of(scratch.path()).contains("neither a file nor a directory"));
    assert!(error_of(Path::new("/dev/zero")).contains("neither a file nor a directory"));
}

#[test]
fn what_is_no_results_file_is_refused_with_the_reason() {
    for empty in [&b""[..], b" \n\t", &[0; 4096]] {
        assert!(refusal(empty).contains("is empty"), "{}", refusal(empty));
    }
    for foreign in [
        &b"[1, 2]"[..],
        b"{}",
        b"7",
        b"\"text\"",
        b"{\"trials\": [1]}",
        b"{\"a\": 1, \"b\": ",
        b"[{\"a\": 1}",
    ] {
        let message = refusal(foreign);
        assert!(
            message.contains("is JSON, but not a results file of capbench"),
            "{}: {message}",
            String::from_utf8_lossy(foreign)
        );
    }
    let other = json!({ "schema_version": 1, "results": [] }).to_string();
    assert!(refusal(other.as_bytes()).contains("it has no command"), "{}", refusal(other.as_bytes()));
    for text in [&b"number,phase,method\n1,search,recv\n"[..], b"\x7fELF\x02", b"nonsense"] {
        assert!(refusal(text).contains("is not JSON"), "{}", refusal(text));
    }
    for cut in [
        &b"{"[..],
        b"{\"schema_version",
        b"{\"schema_version\": 1,",
        b"{\"schema_version\": 1, \"command\": [\"c",
    ] {
        assert!(refusal(cut).contains("before its first trial"), "{}", refusal(cut));
    }
}

#[test]
fn another_version_is_refused() {
    for version in [json!(2), json!(0), json!(-1), json!("1"), json!(null), json!(1.5)] {
        let mut value: Value = serde_json::from_slice(good()).unwrap();
        value["schema_version"] = version.clone();
        let message = refusal(value.to_string().as_bytes());
        assert!(message.contains(&format!("schema_version is {version}")), "{message}");
    }
}

#[test]
fn a_file_that_is_cut_keeps_its_whole_trials() {
    let text = std::str::from_utf8(good()).unwrap();
    let third = text.find(&head_of_trial(2)).unwrap();
    let run = parse(&text.as_bytes()[..third], &file()).unwrap();
    assert_eq!(run.results.trials.len(), 2);
    assert!(!run.results.complete);
    assert!(
        run.warnings[0].contains("ends in the middle of itself")
            && run.warnings[0].contains("2 whole trials"),
        "{:?}",
        run.warnings
    );
    make(&run);
    let report = report(&run);
    assert!(
        report.warnings.iter().any(|warning| warning.contains("stopped or interrupted")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn a_file_that_is_damaged_keeps_what_stands_before_the_damage() {
    let text = String::from_utf8(good().to_vec()).unwrap();
    let damaged = text.replacen(&head_of_trial(3), "\"number\" 5,", 1);
    let run = parse(damaged.as_bytes(), &file()).unwrap();
    assert!(run.warnings[0].contains("is damaged (line "), "{:?}", run.warnings);
    assert_eq!(run.results.trials.len(), 3);
    let trailing = format!("{text}{{");
    let run = parse(trailing.as_bytes(), &file()).unwrap();
    assert_eq!(run.results.trials.len(), 6);
    assert!(run.warnings[0].contains("6 whole trials"), "{:?}", run.warnings);
}

#[test]
fn a_trial_that_is_not_understood_is_left_out_with_the_reason() {
    let mut value: Value = serde_json::from_slice(good()).unwrap();
    value["trials"][1]["verdict"] = json!("splendid");
    value["trials"][4].as_object_mut().unwrap().remove("delivered");
    value["a_member_of_later_versions"] = json!({ "x": 1 });
    let run = parse(value.to_string().as_bytes(), &file()).unwrap();
    assert_eq!(run.results.trials.len(), 4);
    let warning = &run.warnings[0];
    assert!(
        warning.contains("2 of 6 trials") && warning.contains("entry 2") && warning.contains("splendid"),
        "{warning}"
    );
    make(&run);
}

#[test]
fn an_environment_that_is_not_understood_is_named() {
    let mut value: Value = serde_json::from_slice(good()).unwrap();
    value["environment"] = json!("this host");
    let message = refusal(value.to_string().as_bytes());
    assert!(message.contains("is not as capbench writes it") && message.contains("this host"), "{message}");
}

#[test]
fn times_and_counts_that_cannot_be_are_shown_and_nothing_more() {
    let mut value: Value = serde_json::from_slice(good()).unwrap();
    value["started_unix_s"] = json!(u64::MAX);
    for trial in value["trials"].as_array_mut().unwrap() {
        for key in ["sent", "delivered", "intended"] {
            trial[key] = json!(u64::MAX);
        }
        for entry in trial["ledger"].as_array_mut().unwrap() {
            entry["count"] = json!(u64::MAX);
        }
        trial["unexplained"] = json!(7);
    }
    let run = parse(value.to_string().as_bytes(), &file()).unwrap();
    assert!(run.warnings[0].contains("do not sum up"), "{:?}", run.warnings);
    make(&run);
}

/// Files of all kinds, for harm to be done to.
fn files() -> &'static [Vec<u8>] {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        let all = [runs::small_bench(), runs::search(), runs::sweep(), runs::rfc2544(), runs::soak()];
        all.iter().map(|results| serde_json::to_vec(results).unwrap()).collect()
    })
}

/// A file of those above, and a place in it.
fn harmed() -> impl Strategy<Value = (Vec<u8>, usize)> {
    (0..files().len(), any::<prop::sample::Index>()).prop_map(|(which, place)| {
        let content = files()[which].clone();
        let place = place.index(content.len());
        (content, place)
    })
}

/// Each case makes a whole report, so a quarter of the usual number of them.
fn some_cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(4), ..usual }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn no_cut_of_a_file_panics((content, at) in harmed()) {
        if let Ok(run) = parse(&content[..at], &file()) {
            prop_assert!(!run.results.complete && !run.warnings.is_empty());
            make(&run);
        }
    }

    #[test]
    fn no_flipped_byte_panics((mut content, at) in harmed(), bits in 1..=255u8) {
        content[at] ^= bits;
        if let Ok(run) = parse(&content, &file()) {
            make(&run);
        }
    }

    #[test]
    fn no_digit_that_becomes_another_panics((mut content, from) in harmed(), digit in b'0'..=b'9', more in 0..18usize) {
        // Where a number begins at or after the place, it is another one, and longer.
        if let Some(at) = content[from..].iter().position(u8::is_ascii_digit).map(|at| from + at) {
            content[at] = digit;
            content.splice(at..at, std::iter::repeat_n(b'9', more));
        }
        if let Ok(run) = parse(&content, &file()) {
            make(&run);
        }
    }

    #[test]
    fn no_bytes_panic(content in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&content, &file()).is_err());
    }
}
