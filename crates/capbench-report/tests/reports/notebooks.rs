//! Tidy rows as notebooks read them: pandas and DuckDB reach the totals of the results. capbench-dataset tests Parquet files.
//!
//! `tools/compare/notebooks` makes the virtual environment and runs this test; without it the test is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runs::{Total, Totals};
use capbench_report::formats::{self, Format};
use capbench_report::save;
use capbench_results::read::Run;
use capbench_testing::Scratch;

/// The Python interpreter that has pandas and DuckDB; `tools/compare/notebooks` and `./check peers` set this variable.
const PYTHON: &str = "CAPBENCH_NOTEBOOKS_PYTHON";

#[test]
fn pandas_and_duckdb_reach_the_totals_of_the_results() {
    let Some(python) = std::env::var_os(PYTHON) else {
        return capbench_testing::other_step("peers");
    };
    let scratch = Scratch::new();
    let folder = scratch.file("report");
    let formats: Vec<&Format> = formats::named("csv").into_iter().collect();
    for (name, results) in crate::runs::all() {
        let expected = crate::runs::totals(&results);
        let run = Run::new(results, Path::new("/nowhere"));
        save::write(&save::files(&run, &formats).unwrap(), &folder).unwrap();
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools/compare/notebooks.py");
        let output = Command::new(&python).arg(script).arg(&folder).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut found: BTreeMap<&str, Totals> = BTreeMap::new();
        let mut lines = printed.lines();
        let versions = lines.next().unwrap();
        for line in lines {
            match line.split(' ').collect::<Vec<_>>()[..] {
                [reader, method, place, frames, unknown_trials] => {
                    let total = Total {
                        frames: frames.parse().unwrap(),
                        unknown_trials: unknown_trials.parse().unwrap(),
                    };
                    found.entry(reader).or_default().insert((method.into(), place.into()), total);
                }
                _ => panic!("{line}"),
            }
        }
        assert_eq!(found.len(), 2, "pandas and DuckDB: {printed}");
        for (reader, totals) in &found {
            assert_eq!(*totals, expected, "{name}, {reader}");
        }
        let frames: i128 = expected.values().map(|total| total.frames).sum();
        let readers: Vec<_> = found.into_keys().collect();
        println!("{name}: {frames} frames by {} ({versions})", readers.join(", "));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
