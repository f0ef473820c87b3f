//! Results files that are complete, cut off, damaged, of another program, or absent.

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

/// A complete results file, of a bench with six trials.
fn complete_file() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| serde_json::to_vec_pretty(&runs::bench()).unwrap())
}

/// The same, as a value.
fn complete_value() -> Value {
    serde_json::from_slice(complete_file()).unwrap()
}

/// How the trial at this position begins in the file. The first such text is the trial's: numbers rise, and other members that are
/// called `number` follow later.
fn head_of_trial(position: usize) -> String {
    let run = parse(complete_file(), &file()).unwrap();
    format!("\"number\": {},", run.results.trials[position].number)
}

/// The name of the file in messages.
fn file() -> PathBuf {
    PathBuf::from("/nowhere/a-run/results.json")
}

/// The message that refuses a file of this content.
fn refusal(content: &[u8]) -> String {
    parse(content, &file()).unwrap_err().to_string()
}

/// The message that refuses a path.
fn refusal_of_path(path: &Path) -> String {
    read(path).unwrap_err().to_string()
}

/// Makes every format of a run's report, which must not panic.
fn make_all_formats(run: &Run) {
    let report = report(run);
    html::html(&report);
    markdown::markdown(&report, Some("charts"));
    text::text(&report, text::Extent::Details);
    csv::tidy_rows(std::slice::from_ref(run)).unwrap();
    for table in report.tables() {
        csv::table(table).unwrap();
    }
}

#[test]
fn a_complete_file_is_read_by_its_name_or_by_that_of_its_directory() {
    let scratch = Scratch::new();
    let results = scratch.join("results.json");
    fs::write(&results, complete_file()).unwrap();
    for path in [scratch.path(), &results] {
        let run = read(path).unwrap();
        assert_eq!(run.warnings, [""; 0]);
        assert_eq!(run.results.trials.len(), 6);
        assert_eq!(run.name, scratch.file_name().unwrap().to_str().unwrap());
        assert_eq!(run.directory, scratch.path());
    }
}

#[test]
fn a_file_with_another_name_names_its_run() {
    let scratch = Scratch::new();
    let monday = scratch.join("monday.json");
    fs::write(&monday, complete_file()).unwrap();
    assert_eq!(read(&monday).unwrap().name, "monday");
}

#[test]
fn absent_files_and_paths_that_are_no_files_have_different_messages() {
    let scratch = Scratch::new();
    let empty_directory = refusal_of_path(scratch.path());
    assert!(empty_directory.contains("no results.json in this directory"), "{empty_directory}");
    assert!(refusal_of_path(&scratch.join("absent")).contains("cannot read"));
    fs::create_dir(scratch.join("results.json")).unwrap();
    assert!(refusal_of_path(scratch.path()).contains("neither a file nor a directory"));
    assert!(refusal_of_path(Path::new("/dev/zero")).contains("neither a file nor a directory"));
}

#[test]
fn empty_files_are_refused() {
    // The last one is what a file system may leave of a file after a power failure.
    for empty in [&b""[..], b" \n\t", &[0; 4096]] {
        assert!(refusal(empty).contains("is empty"), "{}", refusal(empty));
    }
}

#[test]
fn json_of_other_programs_is_refused() {
    for foreign in [
        &b"[1, 2]"[..],
        b"{}",
        b"7",
        b"\"text\"",
        b"{\"trials\": [1]}",
        // Cut off, but its first member is not that of results.
        b"{\"a\": 1, \"b\": ",
        b"[{\"a\": 1}",
    ] {
        let message = refusal(foreign);
        let content = String::from_utf8_lossy(foreign);
        assert!(message.contains("is JSON, but not a results file of capbench"), "{content}: {message}");
    }
    let with_a_version = json!({ "schema_version": 1, "results": [] }).to_string();
    let message = refusal(with_a_version.as_bytes());
    assert!(message.contains("it has no command"), "{message}");
}

#[test]
fn files_that_are_not_json_are_refused() {
    for other in [&b"number,phase,method\n1,search,recv\n"[..], b"\x7fELF\x02", b"nonsense"] {
        assert!(refusal(other).contains("is not JSON"), "{}", refusal(other));
    }
}

#[test]
fn files_that_are_cut_off_before_the_first_trial_are_refused() {
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
        let mut value = complete_value();
        value["schema_version"] = version.clone();
        let message = refusal(value.to_string().as_bytes());
        assert!(message.contains(&format!("schema_version is {version}")), "{message}");
    }
}

#[test]
fn a_file_that_is_cut_off_keeps_its_complete_trials() {
    let text = std::str::from_utf8(complete_file()).unwrap();
    let third_trial = text.find(&head_of_trial(2)).unwrap();
    let run = parse(&text.as_bytes()[..third_trial], &file()).unwrap();
    assert_eq!(run.results.trials.len(), 2);
    assert!(!run.results.complete);
    let warning = &run.warnings[0];
    assert!(warning.contains("ends in the middle of itself"), "{warning}");
    assert!(warning.contains("2 whole trials"), "{warning}");
    make_all_formats(&run);
    let warnings = report(&run).warnings.join("\n");
    assert!(warnings.contains("stopped or interrupted"), "{warnings}");
}

#[test]
fn a_damaged_file_keeps_the_trials_before_the_damage() {
    let text = std::str::from_utf8(complete_file()).unwrap();
    // Without its colon.
    let damaged = text.replacen(&head_of_trial(3), "\"number\" 5,", 1);
    let run = parse(damaged.as_bytes(), &file()).unwrap();
    assert!(run.warnings[0].contains("is damaged (line "), "{:?}", run.warnings);
    assert_eq!(run.results.trials.len(), 3);
}

#[test]
fn text_behind_complete_results_is_damage() {
    let mut with_more = complete_file().to_vec();
    with_more.push(b'{');
    let run = parse(&with_more, &file()).unwrap();
    assert_eq!(run.results.trials.len(), 6);
    assert!(run.warnings[0].contains("6 whole trials"), "{:?}", run.warnings);
}

#[test]
fn a_trial_that_cannot_be_parsed_is_left_out_with_the_reason() {
    let mut value = complete_value();
    value["trials"][1]["verdict"] = json!("splendid");
    value["trials"][4].as_object_mut().unwrap().remove("delivered");
    value["a_member_of_later_versions"] = json!({ "x": 1 });
    let run = parse(value.to_string().as_bytes(), &file()).unwrap();
    assert_eq!(run.results.trials.len(), 4);
    let warning = &run.warnings[0];
    for part in ["2 of 6 trials", "entry 2", "splendid"] {
        assert!(warning.contains(part), "{warning}");
    }
    make_all_formats(&run);
}

#[test]
fn an_environment_that_cannot_be_parsed_is_named() {
    let mut value = complete_value();
    value["environment"] = json!("this host");
    let message = refusal(value.to_string().as_bytes());
    assert!(message.contains("is not as capbench writes it"), "{message}");
    assert!(message.contains("this host"), "{message}");
}

#[test]
fn the_largest_times_and_counts_are_reported() {
    let mut value = complete_value();
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
    make_all_formats(&run);
}

/// Files of runs of several kinds, which tests modify.
fn files() -> &'static [Vec<u8>] {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        let all = [runs::small_bench(), runs::search(), runs::sweep(), runs::rfc2544(), runs::soak()];
        all.iter().map(|results| serde_json::to_vec(results).unwrap()).collect()
    })
}

/// One of [`files`], and a position in it.
fn file_and_position() -> impl Strategy<Value = (Vec<u8>, usize)> {
    (0..files().len(), any::<prop::sample::Index>()).prop_map(|(index, position)| {
        let content = files()[index].clone();
        let position = position.index(content.len());
        (content, position)
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
    fn no_cut_of_a_file_panics((content, end) in file_and_position()) {
        if let Ok(run) = parse(&content[..end], &file()) {
            prop_assert!(!run.results.complete && !run.warnings.is_empty());
            make_all_formats(&run);
        }
    }

    #[test]
    fn no_changed_byte_panics((mut content, position) in file_and_position(), bits in 1..=255u8) {
        content[position] ^= bits;
        if let Ok(run) = parse(&content, &file()) {
            make_all_formats(&run);
        }
    }

    /// The next digit at or after the position becomes another one, with so many nines before it.
    #[test]
    fn no_changed_number_panics(
        (mut content, position) in file_and_position(),
        digit in b'0'..=b'9',
        nines in 0..18usize,
    ) {
        if let Some(distance) = content[position..].iter().position(u8::is_ascii_digit) {
            let at = position + distance;
            content[at] = digit;
            content.splice(at..at, std::iter::repeat_n(b'9', nines));
        }
        if let Ok(run) = parse(&content, &file()) {
            make_all_formats(&run);
        }
    }

    #[test]
    fn no_short_content_is_a_results_file(content in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&content, &file()).is_err());
    }
}
