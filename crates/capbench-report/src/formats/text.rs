//! A report for a terminal of 80 columns, or a pipe. No colours, no control characters from files.
//!
//! | file | what |
//! |---|---|
//! | this | the answer with its table, findings and caveats, in up to 45 lines; or all details |
//! | `table` | a table in lines that fit, or as lists |
//! | `layout` | how the columns of a table fit |
//! | `grid` | a table as strings |
//! | `lines` | text in lines that fit |

mod grid;
mod layout;
mod lines;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use self::lines::{COLUMNS, wrapped};
pub use self::table::columns;
use self::table::table;
use crate::model::{Report, Section, Sentence, Table};

/// How much of a report a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The answer: up to [`LINES`] lines.
    Answer,
    /// Every finding and the main tables, too.
    Details,
}

impl Extent {
    /// What a command shows; `details` is whether the user gave `--details`.
    pub fn with(details: bool) -> Self {
        if details { Self::Details } else { Self::Answer }
    }
}

/// Most lines of an answer: as many as a terminal shows without scrolling.
pub const LINES: usize = 45;
/// Most rows of an answer's table.
const MOST_ROWS: usize = 9;
/// Most findings of an answer.
const MOST_FINDINGS: usize = 5;

/// A saved run, with its name at the end.
pub fn text(report: &Report, extent: Extent) -> String {
    let mut name = String::new();
    wrapped(&mut name, "", "  ", &format!("{}: {}", report.title, report.subtitle));
    body(report, extent, &name)
}

/// A run that just ended, with its files at the end.
pub fn ended(report: &Report, folder: &Path, files: &[&str], extent: Extent) -> String {
    body(report, extent, &format!("Saved in {}: {}\n", folder.display(), files.join(", ")))
}

/// The verdict, its table, findings, caveats, and then `end`.
fn body(report: &Report, extent: Extent, end: &str) -> String {
    let mut text = String::new();
    wrapped(&mut text, "", "", &report.verdict.text);
    if let Some(disturbers) = report.disturbers {
        wrapped(&mut text, "", "  ", &report.caveats[disturbers].text);
    }
    for warning in &report.warnings {
        wrapped(&mut text, "Warning: ", "  ", warning);
    }
    if let Some(summary) = &report.summary {
        text.push('\n');
        match extent {
            Extent::Answer => table(&mut text, &with_best_rows(summary)),
            Extent::Details => table(&mut text, summary),
        }
    }
    let mut last_lines = String::new();
    for (index, caveat) in report.caveats.iter().enumerate() {
        if report.disturbers != Some(index) {
            wrapped(&mut last_lines, "", "  ", &caveat.text);
        }
    }
    last_lines.push_str(end);
    add_findings(&mut text, report, extent, number_of_lines(&last_lines));
    if extent == Extent::Details {
        for section in &report.sections {
            add_section(&mut text, section);
        }
    }
    text.push('\n');
    text + &last_lines
}

fn number_of_lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Adds the findings that have room if `lines_after` lines follow, the most important first.
fn add_findings(text: &mut String, report: &Report, extent: Extent, lines_after: usize) {
    let mut shown = 0;
    for (index, Sentence { text: words, .. }) in report.findings.iter().enumerate() {
        if extent == Extent::Answer && report.details.contains(&index) {
            continue;
        }
        let mut finding = String::new();
        wrapped(&mut finding, "- ", "  ", words);
        // Two lines are for a blank one and the number of further findings, one for the blank line before what follows.
        let lines = number_of_lines(text) + number_of_lines(&finding) + lines_after + 3;
        if extent == Extent::Answer && (shown >= MOST_FINDINGS || lines > LINES) {
            break;
        }
        if shown == 0 {
            text.push('\n');
        }
        text.push_str(&finding);
        shown += 1;
    }
    let more = report.findings.len() - shown;
    if more > 0 {
        if shown == 0 {
            text.push('\n');
        }
        text.push_str(&format!("- {more} more with --details\n"));
    }
}

/// A table with its best rows only.
fn with_best_rows(table: &Table) -> Table {
    let mut best = table.clone();
    best.rows.truncate(MOST_ROWS);
    let more = table.rows.len() - best.rows.len();
    if more > 0 {
        best.notes.push(format!("{more} more with --details."));
    }
    best
}

/// Adds a section with its main tables. A section without charts and tables is shown completely; one whose tables are all for
/// pages and files is not shown.
fn add_section(text: &mut String, section: &Section) {
    let tables: Vec<&Table> = section.tables.iter().filter(|table| table.is_main).collect();
    let is_text_only = section.tables.is_empty() && section.charts.is_empty();
    if tables.is_empty() && !is_text_only {
        return;
    }
    text.push('\n');
    wrapped(text, "", "  ", &section.heading);
    for sentence in &section.text {
        wrapped(text, "  ", "    ", &sentence.text);
    }
    for shown in tables {
        text.push('\n');
        table(text, shown);
    }
}
