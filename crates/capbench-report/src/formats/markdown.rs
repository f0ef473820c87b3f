//! GitHub Markdown, for an issue or a paper.

use std::fmt::Write;

use crate::figures;
use crate::model::{Cell, Chart, Report, Section, Sentence, Table, Trials};

/// Most trials that are listed one by one.
const MOST_LISTED: usize = 12;

/// The report. `charts` is the folder of its chart files, if they are written.
pub fn markdown(report: &Report, charts: Option<&str>) -> String {
    let mut text = format!("# {}\n\n{}\n\n", escaped(&report.title), escaped(&report.subtitle));
    let verdict = &report.verdict;
    // Writing to a string does not fail, here and below.
    let _ = writeln!(text, "**{}**{}\n", escaped(&verdict.text), evidence(&verdict.trials));
    if !report.warnings.is_empty() {
        text.push_str("> [!WARNING]\n");
        for warning in &report.warnings {
            let _ = writeln!(text, "> - {}", escaped(warning));
        }
        text.push('\n');
    }
    for chart in &report.picture {
        write_chart(&mut text, chart, charts);
    }
    if let Some(summary) = &report.summary {
        write_table(&mut text, summary);
    }
    write_list(&mut text, "Findings", &report.findings);
    write_list(&mut text, "Caveats", &report.caveats);
    for section in &report.sections {
        write_section(&mut text, section, charts);
    }
    if !report.statements.is_empty() {
        text.push_str("## What the run says about itself\n\n");
        for statement in &report.statements {
            let _ = writeln!(text, "- {}", escaped(statement));
        }
        text.push('\n');
    }
    if !report.environment.is_empty() {
        text.push_str("## Environment\n\n");
        for table in &report.environment {
            write_table(&mut text, table);
        }
    }
    if !report.trials.rows.is_empty() {
        text.push_str("## Trials\n\n<details><summary>Every trial</summary>\n\n");
        write_table(&mut text, &report.trials);
        text.push_str("</details>\n");
    }
    text
}

/// A heading with the section's text, charts and tables.
fn write_section(text: &mut String, section: &Section, charts: Option<&str>) {
    let _ = writeln!(text, "## {}\n", escaped(&section.heading));
    for sentence in &section.text {
        let _ = writeln!(text, "{}{}\n", escaped(&sentence.text), evidence(&sentence.trials));
    }
    for chart in &section.charts {
        write_chart(text, chart, charts);
    }
    for shown in &section.tables {
        write_table(text, shown);
    }
}

/// A link to a chart's file; nothing if the charts are not written.
fn write_chart(text: &mut String, chart: &Chart, charts: Option<&str>) {
    let Some(folder) = charts else { return };
    let _ = writeln!(text, "![{}]({folder}/{}.svg)\n", escaped(&chart.title), chart.id);
    for note in &chart.notes {
        let _ = writeln!(text, "{}\n", escaped(note));
    }
}

/// Sentences as a list under a heading; nothing without sentences.
fn write_list(text: &mut String, heading: &str, sentences: &[Sentence]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(text, "## {heading}\n");
    for sentence in sentences {
        let _ = writeln!(text, "- {}{}", escaped(&sentence.text), evidence(&sentence.trials));
    }
    text.push('\n');
}

/// The trials of a sentence, written after it.
fn evidence(trials: &Trials) -> String {
    let listed: Vec<String> = trials.iter().take(MOST_LISTED).map(u32::to_string).collect();
    let listed = listed.join(", ");
    match trials.len() {
        0 => String::new(),
        1 => format!(" (trial {listed})"),
        many if many > MOST_LISTED => format!(" (trials {listed} and {} more)", many - MOST_LISTED),
        _ => format!(" (trials {listed})"),
    }
}

/// A table under its caption, with its notes below it.
fn write_table(text: &mut String, table: &Table) {
    let _ = writeln!(text, "{}\n", escaped(&table.caption));
    let mut headings = Vec::new();
    let mut rules = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        headings.push(match column.unit.symbol() {
            "" => escaped(&column.heading),
            unit => format!("{} \\[{unit}\\]", escaped(&column.heading)),
        });
        rules.push(if is_number(table, index) { "---:" } else { "---" });
    }
    let _ = writeln!(text, "| {} |", headings.join(" | "));
    let _ = writeln!(text, "| {} |", rules.join(" | "));
    for row in &table.rows {
        let mut fields = Vec::new();
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            fields.push(escaped(&figures::cell(cell, column.unit)));
        }
        let _ = writeln!(text, "| {} |", fields.join(" | "));
    }
    text.push('\n');
    for note in &table.notes {
        let _ = writeln!(text, "{}\n", escaped(note));
    }
}

/// Whether a column has only numbers, which are right-aligned.
fn is_number(table: &Table, index: usize) -> bool {
    let mut has_number = false;
    for row in &table.rows {
        match row.cells.get(index) {
            Some(Cell::Text(_)) => return false,
            Some(Cell::Empty | Cell::Unknown) | None => {}
            Some(_) => has_number = true,
        }
    }
    has_number
}

/// Escaped text: a backslash before marks of Markdown and HTML, and no line breaks.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' | '!' => {
                safe.push('\\');
                safe.push(letter);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // GitHub would notify a user of that name.
            '@' => safe.push_str("&#64;"),
            _ if letter.is_control() || letter == '\u{2028}' || letter == '\u{2029}' => safe.push(' '),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escaped, write_table};
    use crate::model::{Column, Row, Table};

    /// A table with this text as its heading and its only cell.
    fn rendered(text: &str) -> String {
        let rows = vec![Row::new(vec![text.into()], Vec::new())];
        let table = Table::with_rows("t", "", vec![Column::words("a", text)], rows);
        let mut markdown = String::new();
        write_table(&mut markdown, &table.unwrap());
        markdown
    }

    #[test]
    fn marks_mean_themselves() {
        assert_eq!(escaped("a|b *c* <script> @you\nx"), "a\\|b \\*c\\* &lt;script&gt; &#64;you x");
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_table(text in any::<String>()) {
            let markdown = rendered(&text);
            let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
            prop_assert_eq!(rows.len(), 3, "the heading, the rule and the row");
            for row in rows {
                let unescaped_bars = row.replace("\\\\", "").replace("\\|", "").matches('|').count();
                prop_assert_eq!(unescaped_bars, 2, "{}", row);
            }
        }
    }
}
