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

/// Counts, and writes the table anew.
fn write(file: &str, why: &str) -> Result<ExitCode> {
    let table = Table { why: why.into(), toolchain: Toolchain::present()?, rows: callgrind::measure()? };
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

    fn committed_table() -> Table {
        Table::parse(include_str!("../instructions.tsv")).unwrap()
    }

    #[test]
    fn a_change_of_any_row_fails_and_is_named() {
        let table = committed_table();
        table.compare(&table.rows).judge().unwrap();
        for row in 0..table.rows.len() {
            let mut doctored = committed_table();
            doctored.rows[row].per_packet = table.rows[row].per_packet * 0.995 - 0.4;
            let path = &table.rows[row].path;
            let named = format!("differ from the table: {}, {};", path.path, path.sizes);
            let error = doctored.compare(&table.rows).judge().unwrap_err().to_string();
            assert!(error.contains(&named), "{error}");
        }
    }

    #[test]
    fn the_table_has_every_path() {
        let mut counter = Counter::default();
        paths::run(&mut counter).unwrap();
        let table = committed_table();
        let rows: Vec<_> = table.rows.into_iter().map(|row| row.path).collect();
        assert_eq!(rows, counter.counted, "CAPBENCH_WRITE_INSTRUCTIONS='why' ./check instructions");
    }
}
