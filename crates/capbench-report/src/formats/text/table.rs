//! A table in lines that fit on a terminal, or as lists.

use super::grid::{Grid, Head};
use super::layout::{GAP, fits, layout};
use super::lines::{width, wrapped};
use crate::figures;
use crate::model::{Cell, Table};
use crate::printable;

/// Most characters of a program's command line in the first column of a table that is too wide.
const PROGRAM: usize = 20;
/// Note under a table that is not complete.
pub(super) const CUT: &str = "Intervals and more columns are in the page.\n";

/// Text in columns under their headings, numbers right-aligned.
pub fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut grid = Grid { heads: Vec::new(), rows: Vec::new(), shared: Vec::new(), is_cut: false };
    for row in rows {
        grid.rows.push(row.iter().map(|field| printable::line(field)).collect());
    }
    for (index, heading) in headings.iter().enumerate() {
        let is_number = grid.rows.iter().all(|row| is_number(&row[index]));
        grid.heads.push(Head { heading: (*heading).into(), unit: "", is_number });
    }
    let mut text = String::new();
    add_rows(&mut text, &grid, 0, GAP);
    text
}

/// Whether a field is a number, or a number that is unknown.
fn is_number(field: &str) -> bool {
    field.starts_with(|c: char| c.is_ascii_digit() || c == '-') || field == figures::UNKNOWN
}

/// Adds a table. Values that all rows share are stated once. If the table is still too wide, it drops intervals and details, or its
/// first columns become headings above groups of rows. Then columns are split into parts below each other. As the last resort, or
/// with one row, each row becomes a list.
pub(super) fn table(text: &mut String, table: &Table) {
    wrapped(text, "", "  ", &table.caption);
    if fits(&Grid::whole(table)) {
        add_table(text, table);
    } else {
        add_table(text, &with_short_programs(table));
    }
}

/// Adds a table in the layout that fits, and its notes.
fn add_table(text: &mut String, table: &Table) {
    let whole = Grid::whole(table);
    let narrow = Grid::narrow(table);
    let has_unknown = match layout(&whole, &narrow) {
        Some(layout) => {
            add_shared(text, &layout.grids[0].shared);
            for grid in &layout.grids {
                add_rows(text, grid, layout.first_column, layout.gap);
            }
            if layout.grids.iter().any(|grid| grid.is_cut) {
                text.push_str(CUT);
            }
            layout.grids.iter().any(|grid| grid.has_unknown())
        }
        None => {
            add_shared(text, &whole.shared);
            add_lists(text, &whole);
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

/// The table with long command lines of programs in its first column cut in the middle. Notes have them complete.
fn with_short_programs(table: &Table) -> Table {
    let mut cut = table.clone();
    for row in &mut cut.rows {
        if let Some(Cell::Text(name)) = row.cells.first_mut()
            && name.starts_with("cmd:")
            && width(name) > PROGRAM
        {
            let begin: String = name.chars().take(PROGRAM / 2).collect();
            // One character less, for the ellipsis.
            let end: String = name.chars().skip(width(name) - PROGRAM / 2 + 1).collect();
            let short = format!("{begin}…{end}");
            cut.notes.push(format!("{short}: {name}"));
            *name = short;
        }
    }
    cut.notes.dedup();
    cut
}

/// Adds what all rows share.
fn add_shared(text: &mut String, shared: &[String]) {
    if !shared.is_empty() {
        wrapped(text, "all rows: ", "  ", &shared.join(", "));
    }
}

/// Adds the rows in columns from `first_column` on. The columns before it become headings above groups of rows.
fn add_rows(text: &mut String, grid: &Grid, first_column: usize, gap: usize) {
    let indent = if first_column > 0 { "  " } else { "" };
    for headings in grid.heading_lines(first_column) {
        let line = grid.line(&headings, first_column, gap);
        text.push_str(&format!("{indent}{line}\n"));
    }
    let mut group: Option<&[String]> = None;
    for row in &grid.rows {
        let (heading, fields) = row.split_at(first_column);
        if first_column > 0 && group != Some(heading) {
            let mut words = Vec::new();
            for (index, field) in heading.iter().enumerate() {
                words.push(grid.field_with_heading(index, "", field));
            }
            wrapped(text, "", "  ", &words.join(", "));
            group = Some(heading);
        }
        let line = grid.line(fields, first_column, gap);
        text.push_str(&format!("{indent}{line}\n"));
    }
}

/// Adds the rows as lists, a line for each field.
fn add_lists(text: &mut String, grid: &Grid) {
    for row in &grid.rows {
        for (index, field) in row.iter().enumerate() {
            let indent = if index == 0 { "" } else { "  " };
            wrapped(text, indent, "      ", &grid.field_with_heading(index, ":", field));
        }
    }
}
