//! How the columns of a table fit on a terminal: next to each other, or in parts below each other.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::grid::Grid;
use super::lines::COLUMNS;

/// Blanks between table columns if there is room; else one.
pub(super) const GAP: usize = 2;

/// Tables that fit, below each other.
pub(super) struct Layout<'g> {
    pub(super) grids: Vec<Cow<'g, Grid>>,
    /// The first column of their lines. The columns before it are headings above groups of rows.
    pub(super) first_column: usize,
    /// Blanks between columns.
    pub(super) gap: usize,
}

/// The first of these that fits: the whole table, the narrow one (each with headings above groups of rows, if rows have the same first
/// field), the narrow one in parts, the whole one with headings above single rows. `None` if none fits: then rows become lists. A table of one row is whole or becomes a list.
pub(super) fn layout<'g>(whole: &'g Grid, narrow: &'g Grid) -> Option<Layout<'g>> {
    if whole.rows.len() < 2 {
        return side_by_side(whole, 0);
    }
    let first_fields: BTreeSet<&String> = whole.rows.iter().filter_map(|row| row.first()).collect();
    // If each row has another first field, headings would be above single rows: parts are easier to read.
    let has_groups = first_fields.len() < whole.rows.len();
    for grid in [whole, narrow] {
        let most_headings = if has_groups { text_columns(grid) } else { 0 };
        if let Some(layout) = side_by_side(grid, most_headings) {
            return Some(layout);
        }
    }
    if !has_groups && let Some(layout) = in_parts(narrow) {
        return Some(layout);
    }
    side_by_side(whole, text_columns(whole))
}

/// Whether all columns fit next to each other.
pub(super) fn fits(grid: &Grid) -> bool {
    side_by_side(grid, 0).is_some()
}

/// The number of columns of text before the first number. They can become headings, but not all columns of a table.
fn text_columns(grid: &Grid) -> usize {
    let columns = grid.heads.iter().take_while(|head| !head.is_number).count();
    columns.min(grid.heads.len().saturating_sub(1))
}

/// All columns next to each other. If they don't fit, as few leading ones as possible become headings, up to `most_headings`;
/// `None` if that does not suffice.
fn side_by_side(grid: &Grid, most_headings: usize) -> Option<Layout<'_>> {
    for first_column in 0..=most_headings {
        // Rows are indented below headings.
        let indent = if first_column > 0 { 2 } else { 0 };
        for gap in [GAP, 1] {
            if grid.total_width(first_column, gap) + indent <= COLUMNS {
                return Some(Layout { grids: vec![Cow::Borrowed(grid)], first_column, gap });
            }
        }
    }
    None
}

/// The columns in parts that fit, each with the first column; `None` if there is no other column, or one is too
/// wide next to the first one.
fn in_parts(grid: &Grid) -> Option<Layout<'_>> {
    if grid.heads.len() < 2 {
        return None;
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for index in 1..grid.heads.len() {
        match parts.last_mut() {
            Some(part) if width_of(grid, part) + GAP + grid.column_width(index) <= COLUMNS => {
                part.push(index)
            }
            _ if width_of(grid, &[0, index]) <= COLUMNS => parts.push(vec![0, index]),
            _ => return None,
        }
    }
    let grids = parts.iter().map(|part| Cow::Owned(part_of(grid, part))).collect();
    Some(Layout { grids, first_column: 0, gap: GAP })
}

/// Width of these columns.
fn width_of(grid: &Grid, columns: &[usize]) -> usize {
    let widths: usize = columns.iter().map(|index| grid.column_width(*index)).sum();
    widths + GAP * (columns.len() - 1)
}

/// A grid with these columns only.
fn part_of(grid: &Grid, columns: &[usize]) -> Grid {
    let mut part = Grid { heads: Vec::new(), rows: vec![Vec::new(); grid.rows.len()], ..grid.clone() };
    for index in columns {
        part.heads.push(grid.heads[*index].clone());
        for (fields, row) in part.rows.iter_mut().zip(&grid.rows) {
            fields.push(row[*index].clone());
        }
    }
    part
}
