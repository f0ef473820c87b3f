//! The committed list of accepted differences. An entry is a reason, a run, and the lines that were and are:
//!
//! ```text
//! reason: a load with 0.1 % of unsent frames counts as sustained
//! run: simulated/bench-quiet
//! - exit: 4
//! + exit: 0
//! ```
//!
//! An empty line separates entries. A difference that is not listed is a failure, and so is an entry that differs no longer.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;

use crate::archive;

/// Differences that a failure prints in full.
const PRINTED: usize = 20;
/// Lines of each that it prints.
const PRINTED_LINES: usize = 30;

/// An accepted difference of a run.
struct Accepted {
    reason: String,
    lines: Vec<String>,
}

fn path() -> std::path::PathBuf {
    archive::folder().join("accepted.txt")
}

fn read() -> BTreeMap<String, Accepted> {
    let text = fs::read_to_string(path()).expect("the list is committed");
    let mut all = BTreeMap::new();
    for entry in text.split("\n\n").map(str::trim).filter(|entry| !entry.is_empty()) {
        let mut lines = entry.lines().filter(|line| !line.starts_with('#'));
        let Some(first) = lines.next() else { continue };
        let reason = first.strip_prefix("reason: ").unwrap_or_else(|| panic!("no reason: {first}"));
        let second = lines.next().unwrap_or_default();
        let run = second.strip_prefix("run: ").unwrap_or_else(|| panic!("no run: {second}"));
        assert!(reason.split_whitespace().count() >= 3, "{run}: \"{reason}\" is no reason");
        let accepted = Accepted { reason: reason.into(), lines: lines.map(String::from).collect() };
        assert!(all.insert(run.to_string(), accepted).is_none(), "{run} has two entries");
    }
    all
}

/// The lines that are gone (`-`) and new (`+`), and whether equal ones have another order; none if nothing changed.
pub fn difference(then: &[String], now: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_other_order = false;
    let are_kept = [are_in_both(then, now), are_in_both(now, then)];
    let mut row = 0;
    let mut column = 0;
    while row < then.len() || column < now.len() {
        if row < then.len() && !are_kept[0][row] {
            lines.push(format!("- {}", then[row]));
            row += 1;
        } else if column < now.len() && !are_kept[1][column] {
            lines.push(format!("+ {}", now[column]));
            column += 1;
        } else {
            // As many lines are kept of one as of the other.
            is_other_order |= then[row] != now[column];
            row += 1;
            column += 1;
        }
    }
    if is_other_order {
        lines.push("+ equal lines in another order".into());
    }
    lines
}

/// Of each line, whether the others have it, too: of several equal lines, as many as they have.
fn are_in_both(lines: &[String], others: &[String]) -> Vec<bool> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in others {
        *left.entry(line).or_default() += 1;
    }
    let mut are_in_both = Vec::new();
    for line in lines {
        let left = left.entry(line).or_default();
        are_in_both.push(*left > 0);
        *left = left.saturating_sub(1);
    }
    are_in_both
}

/// Compares the differences with the list.
///
/// # Panics
/// When they are not those of the list; the message has them. With a reason they are added to the list instead.
pub fn check(mut differences: BTreeMap<String, Vec<String>>, reason: Option<String>) {
    let mut accepted = read();
    if let Some(reason) = reason {
        for (run, lines) in differences {
            match accepted.get_mut(&run) {
                Some(known) if known.lines == lines => {}
                Some(known) => {
                    known.reason = format!("{}; {reason}", known.reason);
                    known.lines = lines;
                }
                None => {
                    accepted.insert(run, Accepted { reason: reason.clone(), lines });
                }
            }
        }
        return write(&accepted);
    }
    let mut stale = Vec::new();
    for (run, Accepted { lines, .. }) in &accepted {
        match differences.get(run) {
            Some(found) if found == lines => drop(differences.remove(run)),
            Some(_) => {}
            None => stale.push(run.clone()),
        }
    }
    let mut message = String::new();
    for (run, lines) in differences.iter().take(PRINTED) {
        let _ = writeln!(message, "\nrun: {run}");
        for line in lines.iter().take(PRINTED_LINES) {
            let _ = writeln!(message, "{line}");
        }
        if lines.len() > PRINTED_LINES {
            let _ = writeln!(message, "(and {} lines more)", lines.len() - PRINTED_LINES);
        }
    }
    let runs: Vec<&String> = differences.keys().collect();
    assert!(
        differences.is_empty() && stale.is_empty(),
        "{} runs differ from their committed answers: {runs:?}; the list accepts differences of runs that have none: {stale:?}. \
         tests/corpus/data/README.md says how a difference is accepted.\n{message}",
        differences.len()
    );
}

fn write(accepted: &BTreeMap<String, Accepted>) {
    let text = fs::read_to_string(path()).unwrap();
    let mut heading = String::new();
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        heading.push_str(line);
        heading.push('\n');
    }
    for (run, Accepted { reason, lines }) in accepted {
        let _ = write!(heading, "\nreason: {reason}\nrun: {run}\n{}\n", lines.join("\n"));
    }
    fs::write(path(), heading).unwrap();
}
