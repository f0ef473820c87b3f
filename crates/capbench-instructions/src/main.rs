//! Counts the instructions that a packet takes on each path through capbench, and compares them with a committed table. Instructions
//! are the same on a busy host, unlike times. `./check instructions` runs it; CONTRIBUTING.md has its use.
//!
//! | file | what |
//! |---|---|
//! | `paths` | the paths: decode, classify, verify, book, encode, merge, pace, checksum |
//! | `inputs` | the packets, the same in every run |
//! | `counter` | tells callgrind what to count |
//! | `callgrind` | runs this program under callgrind, and reads the counts |
//! | `table` | the committed table, and the comparison with it |

#![forbid(unsafe_code)]

mod callgrind;
mod counter;
mod inputs;
mod paths;
mod table;

use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use callgrind::RUN;
use counter::Counter;
use table::{Table, Toolchain};

/// The exit code of a step of `./check` that something on this host keeps from running.
const SKIPPED: u8 = 77;

const USAGE: &str = "usage: capbench-instructions compare TABLE | write TABLE WHY | run";

fn main() -> ExitCode {
    done().unwrap_or_else(|error| {
        eprintln!("capbench-instructions: {error:#}");
        ExitCode::FAILURE
    })
}

/// Does what the arguments say.
fn done() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [RUN] => run(),
        ["compare", table] => compare(table),
        ["write", table, why] => write(table, why),
        _ => bail!(USAGE),
    }
}

/// Does the work of every path, and prints their names.
fn run() -> Result<ExitCode> {
    let mut counter = Counter::default();
    paths::run(&mut counter)?;
    for name in counter.counted {
        println!("{}\t{}", name.path, name.sizes);
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts, and compares with the table.
fn compare(file: &str) -> Result<ExitCode> {
    let text = fs::read_to_string(file).with_context(|| format!("read {file}"))?;
    let table = Table::parse(&text).with_context(|| format!("read {file}"))?;
    if let Some(reason) = table.does_not_apply(&Toolchain::present()?) {
        eprintln!("skipped: the table is of another toolchain: {reason}");
        return Ok(ExitCode::from(SKIPPED));
    }
    let comparison = table.compare(&callgrind::measure()?);
    print!("{}", comparison.text);
    comparison.judge()?;
    Ok(ExitCode::SUCCESS)
}

/// Counts, and writes the table anew, with this reason for each row that changed.
fn write(file: &str, why: &str) -> Result<ExitCode> {
    let before = fs::read_to_string(file).with_context(|| format!("read {file}"))?;
    let before = Table::parse(&before).with_context(|| format!("read {file}"))?;
    let table = before.renewed(Toolchain::present()?, callgrind::measure()?, why);
    let text = table.text();
    // What cannot be read again is not written.
    Table::parse(&text)?;
    fs::write(file, text).with_context(|| format!("write {file}"))?;
    println!("{file} is written");
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Row;

    fn committed_table() -> Table {
        Table::parse(include_str!("../instructions.tsv")).unwrap()
    }

    #[test]
    fn a_change_of_any_row_fails_and_is_named() {
        let table = committed_table();
        let counted: Vec<Row> = table.rows.iter().map(|row| row.counted.clone()).collect();
        table.compare(&counted).judge().unwrap();
        for (nth, row) in counted.iter().enumerate() {
            let mut doctored = committed_table();
            doctored.rows[nth].counted.per_packet = row.per_packet * 0.995 - 0.4;
            let named = format!("differ from the table: {}, {};", row.path.path, row.path.sizes);
            let error = doctored.compare(&counted).judge().unwrap_err().to_string();
            assert!(error.contains(&named), "{error}");
        }
    }

    #[test]
    fn the_table_has_every_path() {
        let mut counter = Counter::default();
        paths::run(&mut counter).unwrap();
        let table = committed_table();
        let rows: Vec<_> = table.rows.into_iter().map(|row| row.counted.path).collect();
        assert_eq!(rows, counter.counted, "CAPBENCH_WRITE_INSTRUCTIONS='why' ./check instructions");
    }
}
