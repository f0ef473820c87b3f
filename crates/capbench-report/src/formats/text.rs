//! A report for a terminal of 80 columns, or a pipe. No colours, no control characters from files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use crate::figures;
use crate::model::{Cell, Column, Narrow, Report, Section, Sentence, Table, Unit};
use crate::printable;

/// Width of a line in columns.
pub const COLUMNS: usize = 80;
/// Blanks between table columns if there is room; else one.
const GAP: usize = 2;

/// How much of a report a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The answer: up to [`LINES`] lines.
    Answer,
    /// Every finding and the main tables, too.
    Details,
}

impl Extent {
    /// That of a command with or without its flag for details.
    pub fn with(details: bool) -> Self {
        if details { Self::Details } else { Self::Answer }
    }
}

/// Most lines of an answer.
pub const LINES: usize = 45;
/// Most rows of its table, and most findings.
const ROWS: usize = 9;
const FINDINGS: usize = 5;

/// A saved run, with its name at the end.
pub fn text(report: &Report, extent: Extent) -> String {
    let mut end = String::new();
    wrapped(&mut end, "", "  ", &format!("{}: {}", report.title, report.subtitle));
    body(report, extent, &end)
}

/// A run that just ended, with its files at the end.
pub fn ended(report: &Report, folder: &Path, files: &[&str], extent: Extent) -> String {
    body(report, extent, &format!("Saved in {}: {}\n", folder.display(), files.join(", ")))
}

/// The verdict, its table, findings, caveats, and then `end`.
fn body(report: &Report, extent: Extent, end: &str) -> String {
    let mut text = String::new();
    wrapped(&mut text, "", "", &report.verdict.text);
    for warning in &report.warnings {
        wrapped(&mut text, "Warning: ", "  ", warning);
    }
    if let Some(summary) = &report.summary {
        text.push('\n');
        match extent {
            Extent::Answer => table(&mut text, &first_rows(summary)),
            Extent::Details => table(&mut text, summary),
        }
    }
    let mut close = String::new();
    for caveat in &report.caveats {
        wrapped(&mut close, "", "  ", &caveat.text);
    }
    close.push_str(end);
    findings(&mut text, report, extent, lines(&close));
    if extent == Extent::Details {
        report.sections.iter().for_each(|one| section(&mut text, one));
    }
    text.push('\n');
    text + &close
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// The findings that have room before so many lines, the most important first.
fn findings(text: &mut String, report: &Report, extent: Extent, after: usize) {
    let mut shown = 0;
    for (place, Sentence { text: words, .. }) in report.findings.iter().enumerate() {
        if extent == Extent::Answer && report.details.contains(&place) {
            continue;
        }
        let mut own = String::new();
        wrapped(&mut own, "- ", "  ", words);
        // Two lines are for a blank one and the number of further findings, one for the blank line before what follows.
        let has_room = shown < FINDINGS && lines(text) + lines(&own) + after + 3 <= LINES;
        if extent == Extent::Answer && !has_room {
            break;
        }
        if shown == 0 {
            text.push('\n');
        }
        text.push_str(&own);
        shown += 1;
    }
    match report.findings.len() - shown {
        0 => {}
        more => drop(writeln!(text, "- {more} more with --details")),
    }
}

/// The best rows of a table.
fn first_rows(table: &Table) -> Table {
    let mut first = table.clone();
    first.rows.truncate(ROWS);
    let more = table.rows.len() - first.rows.len();
    first.with_notes((more > 0).then(|| format!("{more} more with --details.")))
}

/// A section with its main tables. A section of text alone is shown completely.
fn section(text: &mut String, section: &Section) {
    let tables: Vec<&Table> = section.tables.iter().filter(|table| table.is_main).collect();
    let is_of_words = section.tables.is_empty() && section.charts.is_empty();
    if tables.is_empty() && !is_of_words {
        return;
    }
    text.push('\n');
    wrapped(text, "", "  ", &section.heading);
    for sentence in &section.text {
        wrapped(text, "  ", "    ", &sentence.text);
    }
    for one in tables {
        text.push('\n');
        table(text, one);
    }
}

/// Text in columns under their headings, numbers right-aligned.
pub fn columns(heads: &[&str], rows: &[Vec<String>]) -> String {
    let printable = |row: &Vec<String>| row.iter().map(|field| printable::line(field)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(printable).collect();
    let is_number = |index: usize| {
        let mut fields = rows.iter().map(|row| row[index].as_str());
        fields.all(|field| {
            field.starts_with(|c: char| c.is_ascii_digit() || c == '-') || field == figures::UNKNOWN
        })
    };
    let head = |(nth, heading): (usize, &&str)| Head {
        heading: (*heading).into(),
        unit: "",
        is_number: is_number(nth),
    };
    let heads = heads.iter().enumerate().map(head).collect();
    let grid = Grid { heads, rows, shared: Vec::new(), is_cut: false };
    let mut text = String::new();
    self::rows(&mut text, &grid, 0, GAP);
    text
}

/// Appends text in lines that fit: the first after `first`, the others after `next`. A word longer than a line gets its own
/// line.
pub fn wrapped(text: &mut String, first: &str, next: &str, words: &str) {
    let (mut line, mut blank) = (String::from(first), "");
    let words = printable::line(words);
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        if !blank.is_empty() && width(&line) + 1 + width(word) > COLUMNS {
            let _ = writeln!(text, "{}", line.trim_end());
            (line, blank) = (String::from(next), "");
        }
        line.push_str(blank);
        line.push_str(word);
        blank = " ";
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Most characters of a program in the first column of a wide table.
const PROGRAM: usize = 20;

/// How an empty and an unknown cell are written.
const NOTHING: &str = "-";
const UNKNOWN: &str = "?";
/// Note under a table that is not complete.
const CUT: &str = "Intervals and more columns are in the page.\n";

/// A column of a table as strings.
#[derive(Clone)]
struct Head {
    heading: String,
    unit: &'static str,
    is_number: bool,
}

/// A table as strings.
#[derive(Clone)]
struct Grid {
    heads: Vec<Head>,
    rows: Vec<Vec<String>>,
    /// What all rows share, as text instead of a column.
    shared: Vec<String>,
    /// Whether columns or intervals are omitted.
    is_cut: bool,
}

/// Tables that fit, below each other: each has a first column and a number of blanks between columns.
struct Layout<'g> {
    grids: Vec<Cow<'g, Grid>>,
    from: usize,
    gap: usize,
}

impl Grid {
    fn from_table(table: &Table, is_narrow: bool) -> Self {
        let columns = || {
            let is_shown = |column: &Column| match column.narrow {
                Narrow::FilesOnly => false,
                Narrow::Absent => !is_narrow,
                Narrow::Middle | Narrow::Whole => true,
            };
            table.columns.iter().enumerate().filter(move |(_, column)| is_shown(column))
        };
        let fields = |cells: &[Cell]| -> Vec<String> {
            let shown = |(index, column): (usize, &Column)| {
                let is_cut = is_narrow && column.narrow == Narrow::Middle;
                let words = match cells.get(index).unwrap_or(&Cell::Empty) {
                    Cell::Interval { middle, .. } if is_cut => field(&Cell::Number(*middle), column.unit),
                    cell => field(cell, column.unit),
                };
                printable::line(&words)
            };
            columns().map(shown).collect()
        };
        let head = |(index, column): (usize, &Column)| {
            let mut cells = table.rows.iter().filter_map(|row| row.cells.get(index));
            Head {
                heading: printable::line(&column.heading),
                unit: column.unit.symbol(),
                is_number: cells.any(|cell| !matches!(cell, Cell::Text(_) | Cell::Empty | Cell::Unknown)),
            }
        };
        let cells = || table.rows.iter().flat_map(|row| row.cells.iter().zip(&table.columns));
        let has_cut = |(cell, column): (&Cell, &Column)| {
            column.narrow == Narrow::Middle && matches!(cell, Cell::Interval { .. })
        };
        let mut grid = Self {
            heads: columns().map(head).collect(),
            rows: table.rows.iter().map(|row| fields(&row.cells)).collect(),
            shared: Vec::new(),
            is_cut: is_narrow && (columns().count() < table.columns.len() || cells().any(has_cut)),
        };
        grid.drop_unknown();
        // A single row is shown completely.
        if grid.rows.len() > 1 {
            grid.take_constants();
        }
        grid
    }

    /// Removes columns without any known value.
    fn drop_unknown(&mut self) {
        for index in (1..self.heads.len()).rev() {
            if self.rows.iter().all(|row| matches!(row[index].as_str(), NOTHING | UNKNOWN)) {
                self.remove(index);
            }
        }
    }

    fn remove(&mut self, index: usize) {
        self.heads.remove(index);
        self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
    }

    /// Removes columns with the same value in all rows, if there are several rows, and states their values.
    fn take_constants(&mut self) {
        let mut index = 0;
        while index < self.heads.len() {
            let first = self.rows.first().map(|row| row[index].clone()).unwrap_or_default();
            let is_constant = self.rows.iter().all(|row| row[index] == first);
            if is_constant && self.heads.len() > 1 && !self.heads[index].is_number {
                let said_of = self.said(index, "", &first);
                self.remove(index);
                if !first.is_empty() && first != "none" {
                    self.shared.push(said_of);
                }
            } else {
                index += 1;
            }
        }
    }

    fn has_unknown(&self) -> bool {
        self.rows.iter().flatten().any(|field| field == UNKNOWN)
    }

    /// A value without a heading above it.
    fn said(&self, index: usize, colon: &str, field: &str) -> String {
        let Head { heading, unit, .. } = &self.heads[index];
        let unit = if matches!(field, NOTHING | UNKNOWN) { "" } else { unit };
        format!("{heading}{colon} {field} {unit}").trim_end().into()
    }

    /// A heading with its unit.
    fn head(&self, index: usize) -> String {
        let Head { heading, unit, .. } = &self.heads[index];
        format!("{heading} {unit}").trim_end().into()
    }

    fn column_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[index])).max().unwrap_or(0);
        // Headings have as many lines as they need; words are not broken.
        let head = self.head(index).split(' ').map(width).max().unwrap_or(0);
        cells.max(head)
    }

    fn total_width(&self, from: usize, gap: usize) -> usize {
        let columns = self.heads.len().saturating_sub(from);
        let widths: usize = (from..self.heads.len()).map(|index| self.column_width(index)).sum();
        widths + gap * columns.saturating_sub(1)
    }

    /// The heading lines from column `from` on, each as wide as its column.
    fn head_lines(&self, from: usize) -> Vec<Vec<String>> {
        let broken = |index: usize| {
            let room = self.column_width(index);
            let mut lines: Vec<String> = Vec::new();
            for word in self.head(index).split(' ') {
                match lines.last_mut() {
                    Some(line) if width(line) + 1 + width(word) <= room => {
                        line.push(' ');
                        line.push_str(word);
                    }
                    _ => lines.push(word.into()),
                }
            }
            lines
        };
        let all: Vec<Vec<String>> = (from..self.heads.len()).map(broken).collect();
        let height = all.iter().map(Vec::len).max().unwrap_or(0);
        // Headings are bottom-aligned on the rule below.
        let line = |nth: usize, lines: &Vec<String>| {
            (nth + lines.len()).checked_sub(height).map_or_else(String::new, |at| lines[at].clone())
        };
        (0..height).map(|nth| all.iter().map(|lines| line(nth, lines)).collect()).collect()
    }

    /// All columns, or, with `has_headings`, all except as few leading ones as possible.
    fn layout(&self, has_headings: bool) -> Option<Layout<'_>> {
        // Text columns first: numbers are no headings.
        let headings = self.heads.iter().take_while(|head| !head.is_number).count();
        let headings = if has_headings { headings.min(self.heads.len().saturating_sub(1)) } else { 0 };
        let indent = |from: usize| if from > 0 { 2 } else { 0 };
        let (from, gap) = (0..=headings)
            .flat_map(|from| [(from, GAP), (from, 1)])
            .find(|(from, gap)| self.total_width(*from, *gap) + indent(*from) <= COLUMNS)?;
        Some(Layout { grids: vec![Cow::Borrowed(self)], from, gap })
    }

    /// The columns in parts that fit, by their first column; `None` if a column is too wide next to the first one.
    fn parts(&self) -> Option<Layout<'_>> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let width =
            |part: &[usize]| -> usize { part.iter().map(|index| self.column_width(*index) + GAP).sum() };
        for index in 1..self.heads.len() {
            let longer = parts.last().map(|part| [part.as_slice(), &[index]].concat());
            let own = vec![0, index];
            match longer.filter(|longer| width(longer) <= COLUMNS + GAP) {
                Some(longer) => drop(parts.last_mut().map(|part| *part = longer)),
                None if width(&own) <= COLUMNS + GAP => parts.push(own),
                None => return None,
            }
        }
        fn selected<T: Clone>(all: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|index| all[*index].clone()).collect()
        }
        let part = |indices: &Vec<usize>| {
            let rows = self.rows.iter().map(|row| selected(row, indices)).collect();
            Cow::Owned(Self { heads: selected(&self.heads, indices), rows, ..self.clone() })
        };
        Some(Layout { grids: parts.iter().map(part).collect(), from: 0, gap: GAP })
    }

    fn line(&self, cells: &[String], from: usize, gap: usize) -> String {
        let mut line = String::new();
        for (index, cell) in (from..self.heads.len()).zip(cells) {
            let room = self.column_width(index);
            if index > from {
                line.push_str(&" ".repeat(gap));
            }
            let _ = match self.heads[index].is_number {
                true => write!(line, "{cell:>room$}"),
                false => write!(line, "{cell:room$}"),
            };
        }
        line.trim_end().into()
    }
}

/// A cell: unknown is short here, and an empty cell has a mark so that text columns stay readable.
fn field(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Empty => NOTHING.into(),
        Cell::Unknown => UNKNOWN.into(),
        Cell::Text(text) if text.is_empty() => NOTHING.into(),
        other => figures::cell(other, unit),
    }
}

/// A table. Values that all rows share are stated once. If it is still too wide, it drops intervals and details, or its first
/// columns become headings above groups of rows. Then columns are split into parts below each other. As the last resort, or
/// with one row, each row becomes a list.
pub(crate) fn table(text: &mut String, table: &Table) {
    wrapped(text, "", "  ", &table.caption);
    let is_wide = Grid::from_table(table, false).layout(false).is_none();
    let table = &if is_wide { with_short_programs(table) } else { table.clone() };
    let (whole, narrow) = (Grid::from_table(table, false), Grid::from_table(table, true));
    let is_one = table.rows.len() < 2;
    let names: BTreeSet<&String> = whole.rows.iter().filter_map(|row| row.first()).collect();
    // Headings above single rows add nothing to the first column.
    let has_groups = !is_one && names.len() < table.rows.len();
    let layouts = [
        whole.layout(has_groups),
        narrow.layout(has_groups).filter(|_| !is_one),
        narrow.parts().filter(|_| !is_one && !has_groups),
        whole.layout(!is_one),
    ];
    let has_unknown = match layouts.into_iter().flatten().next() {
        Some(Layout { grids, from, gap }) => {
            say_shared(text, &grids[0].shared);
            grids.iter().for_each(|grid| rows(text, grid, from, gap));
            if grids.iter().any(|grid| grid.is_cut) {
                text.push_str(CUT);
            }
            grids.iter().any(|grid| grid.has_unknown())
        }
        None => {
            say_shared(text, &whole.shared);
            lists(text, &whole);
            whole.has_unknown()
        }
    };
    if has_unknown {
        text.push_str("?: unknown\n");
    }
    for note in &table.notes {
        wrapped(text, "", "  ", note);
    }
}

/// The first column with long command lines of programs cut in the middle; they are complete in notes.
fn with_short_programs(table: &Table) -> Table {
    let mut cut = table.clone();
    for cell in cut.rows.iter_mut().filter_map(|row| row.cells.first_mut()) {
        if let Cell::Text(name) = cell
            && name.starts_with("cmd:")
            && width(name) > PROGRAM
        {
            let part = |from, letters| name.chars().skip(from).take(letters).collect::<String>();
            let short = format!("{}…{}", part(0, PROGRAM / 2), part(width(name) - PROGRAM / 2 + 1, PROGRAM));
            cut.notes.push(format!("{short}: {name}"));
            *cell = Cell::Text(short);
        }
    }
    cut.notes.dedup();
    cut
}

fn say_shared(text: &mut String, shared: &[String]) {
    if !shared.is_empty() {
        wrapped(text, "all rows: ", "  ", &shared.join(", "));
    }
}

fn rows(text: &mut String, grid: &Grid, from: usize, gap: usize) {
    let indent = if from > 0 { "  " } else { "" };
    for line in grid.head_lines(from) {
        let _ = writeln!(text, "{indent}{}", grid.line(&line, from, gap));
    }
    let mut above: Option<&[String]> = None;
    for row in &grid.rows {
        let (heading, fields) = row.split_at(from);
        if from > 0 && above != Some(heading) {
            let words: Vec<String> =
                heading.iter().enumerate().map(|(index, field)| grid.said(index, "", field)).collect();
            wrapped(text, "", "  ", &words.join(", "));
            above = Some(heading);
        }
        let _ = writeln!(text, "{indent}{}", grid.line(fields, from, gap));
    }
}

fn lists(text: &mut String, grid: &Grid) {
    for row in &grid.rows {
        for (index, field) in row.iter().enumerate() {
            let first = if index == 0 { "" } else { "  " };
            wrapped(text, first, "      ", &grid.said(index, ":", field));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Row;

    fn wide(fields: &[&str], rows: usize) -> Table {
        let column = |index| Column::words(&format!("c{index}"), &format!("column {index}"));
        let cells = |nth: usize| fields.iter().map(|field| format!("{field}{nth}").into()).collect();
        let rows = (0..rows).map(|nth| Row::new(cells(nth), Vec::new())).collect();
        Table::with_rows("t", "A table", (0..fields.len()).map(column).collect(), rows).unwrap()
    }

    fn printed(one: &Table) -> String {
        let mut text = String::new();
        table(&mut text, one);
        text
    }

    #[test]
    fn what_is_too_wide_becomes_headings_and_then_a_list() {
        let narrow = printed(&wide(&["a", "b"], 2));
        assert!(narrow.contains("a0      b0\n"), "{narrow}");
        let long = "x".repeat(50);
        let grouped = printed(&wide(&[&long, "b", &long], 2));
        assert!(grouped.contains("column 0 xxx"), "{grouped}");
        let list = printed(&wide(&[&long, &long, &long, &"y".repeat(90)], 1));
        assert!(list.contains("  column 3:\n      yyy"), "{list}");
    }

    #[test]
    fn numbers_stand_right_and_words_left() {
        let row = |fields: [&str; 3]| fields.map(String::from).to_vec();
        let rows = [row(["recv", "12", "ring"]), row(["packet-v3", "unknown", "-"])];
        assert_eq!(
            columns(&["method", "lost", "where"], &rows),
            "method        lost  where\nrecv            12  ring\npacket-v3  unknown  -\n"
        );
    }

    #[test]
    fn columns_that_do_not_fit_beside_each_other_stand_in_parts_and_what_is_left_out_is_said() {
        let fields = ["a", &"b".repeat(40), &"c".repeat(40)];
        let parts = printed(&wide(&fields, 2));
        assert!(parts.contains("\na0      bbb") && parts.contains("\na0      ccc"), "{parts}");
        let mut narrow = wide(&fields, 2);
        narrow.columns[2].narrow = Narrow::Absent;
        let narrow = printed(&narrow);
        assert!(!narrow.contains("ccc") && narrow.ends_with(CUT), "{narrow}");
    }

    #[test]
    fn columns_without_any_known_value_are_left_out_and_so_is_what_explains_them() {
        let mut one = wide(&["a", "b", "c"], 2);
        for row in &mut one.rows {
            row.cells[1] = Cell::Unknown;
        }
        one.rows[0].cells[2] = Cell::Empty;
        one.rows[1].cells[2] = Cell::Unknown;
        assert_eq!(printed(&one), "A table\ncolumn\n0\na0\na1\n");
        one.rows.pop();
        assert_eq!(printed(&one), "A table\ncolumn\n0\na0\n");
    }

    #[test]
    fn long_programs_do_not_split_a_table() {
        let long = "b".repeat(40);
        let mut one = wide(&["a", &long, "c"], 2);
        one.rows[0].cells[0] = "cmd:./measure -i {interface} -w /dev/null".into();
        let text = printed(&one);
        assert!(text.contains("\ncmd:./meas…/dev/null  bbb"), "{text}");
        assert!(
            text.ends_with("\ncmd:./meas…/dev/null: cmd:./measure -i {interface} -w /dev/null\n"),
            "{text}"
        );
        // It stays whole where it has room.
        one.columns.pop();
        one.columns.pop();
        one.rows.iter_mut().for_each(|row| row.cells.truncate(1));
        assert!(
            printed(&one).ends_with("\ncmd:./measure -i {interface} -w /dev/null\na1\n"),
            "{}",
            printed(&one)
        );
    }

    #[test]
    fn columns_of_files_are_not_in_lines() {
        let mut one = wide(&["a", "b"], 2);
        one.columns[1].narrow = Narrow::FilesOnly;
        assert_eq!(printed(&one), "A table\ncolumn\n0\na0\na1\n");
    }

    #[test]
    fn control_characters_of_a_file_do_nothing() {
        let mut one = wide(&["a"], 1);
        one.caption = "a\u{1b}[31mred\nline".into();
        assert!(!printed(&one).contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn lines_fit_unless_a_word_does_not(
            fields in prop::collection::vec("[a-z]{1,24}", 1..9),
            rows in 1..4usize,
        ) {
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            for line in printed(&wide(&fields, rows)).lines() {
                prop_assert!(width(line) <= COLUMNS, "{}", line);
            }
        }
    }
}
