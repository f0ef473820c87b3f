//! Charts of a table of a publication: published curves with those of this host.

use capbench_judge::reproduction::{Column as SavedColumn, Comparison, Quantity, Side};

use super::words::{joined, unit, words_of};
use crate::model::{Axis, Chart, Kind, Mark, Place, Point, Role, Series};
use crate::sections::parts::{self, linear, logarithmic, names, series};
use crate::sentences::table_notes;

/// An axis of numbers is logarithmic if its ends differ by more than this factor.
const WIDE: f64 = 50.0;

/// Charts of a table: its curves if the publication has some. Else one chart per quantity of the table that was both published
/// and measured, or only measured because no figure was published.
pub(super) fn charts(comparison: &Comparison) -> Vec<Chart> {
    if let Some(quantity) = comparison.curves {
        return Vec::from_iter(quantity_chart(comparison, quantity, "curves"));
    }
    let mut quantities: Vec<Quantity> = Vec::new();
    for column in &comparison.columns {
        if !quantities.contains(&column.quantity) && is_comparable(comparison, column.quantity) {
            quantities.push(column.quantity);
        }
    }
    let mut charts = Vec::new();
    for quantity in quantities {
        charts.extend(quantity_chart(comparison, quantity, words_of(quantity).suffix));
    }
    if charts.len() > 1 {
        for chart in &mut charts {
            chart.title = format!("{}: {}", chart.title, chart.y.label);
        }
    }
    charts
}

/// Whether a quantity was measured, and published if the table has published figures.
fn is_comparable(comparison: &Comparison, quantity: Quantity) -> bool {
    let is_unpublished = comparison.columns.iter().all(|column| column.side != Side::Published);
    quantity != Quantity::Name
        && has_value(comparison, quantity, Side::Here)
        && (is_unpublished || has_value(comparison, quantity, Side::Published))
}

/// Whether a column of this quantity and side has a value.
fn has_value(comparison: &Comparison, quantity: Quantity, side: Side) -> bool {
    for (index, column) in comparison.columns.iter().enumerate() {
        if column.quantity != quantity || column.side != side {
            continue;
        }
        let mut cells = comparison.rows.iter().filter_map(|row| row.cells.get(index));
        if cells.any(|cell| cell.value.is_some()) {
            return true;
        }
    }
    false
}

/// A quantity over the rows of a table: lines if rows have numbers, bars if they have names. `id` is the end of its name.
fn quantity_chart(comparison: &Comparison, quantity: Quantity, id: &str) -> Option<Chart> {
    let numbers: Option<Vec<f64>> = comparison.rows.iter().map(|row| row.at).collect();
    let kind = match &numbers {
        Some(numbers) if numbers.len() > 1 => Kind::Lines,
        _ => Kind::Bars,
    };
    let (x, positions) = match numbers {
        Some(numbers) if kind == Kind::Lines => (axis(comparison, &numbers), numbers),
        _ => {
            let labels: Vec<String> = comparison.rows.iter().map(|row| row.label.clone()).collect();
            let positions = (0..labels.len()).map(|index| index as f64).collect();
            (names(&comparison.rows_are.heading, labels), positions)
        }
    };
    let mut lines = Vec::new();
    let mut planned = Vec::new();
    for (index, column) in comparison.columns.iter().enumerate() {
        if column.quantity != quantity {
            continue;
        }
        if column.side == Side::Given {
            planned.push(planned_curve(comparison, &positions, index, column));
            continue;
        }
        let line = measured_curve(comparison, &positions, index, column);
        if line.points.iter().any(|point| point.y.is_some()) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return None;
    }
    let label = match words_of(quantity).heading {
        "" => "count",
        words => words,
    };
    let id = format!("{}-{id}", comparison.id);
    let y = linear(label, unit(quantity));
    let chart =
        parts::chart(&id, comparison.caption.clone(), kind, x, y, lines).noting(table_notes(comparison));
    Some(if kind == Kind::Lines { chart.marking(planned) } else { chart })
}

/// The quantity according to the plan, for example the line rate; `index` is the position of the column.
fn planned_curve(comparison: &Comparison, positions: &[f64], index: usize, column: &SavedColumn) -> Mark {
    let mut curve = Vec::new();
    for (row, &x) in comparison.rows.iter().zip(positions) {
        if let Some(value) = row.cells.get(index).and_then(|cell| cell.value) {
            curve.push([x, value]);
        }
    }
    curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Mark { label: joined(&[&column.method, &column.what]), at: Place::Curve(curve) }
}

/// The published or measured figures of a column; `index` is its position.
fn measured_curve(comparison: &Comparison, positions: &[f64], index: usize, column: &SavedColumn) -> Series {
    let mut points = Vec::new();
    for (row, &x) in comparison.rows.iter().zip(positions) {
        let Some(cell) = row.cells.get(index) else { continue };
        let interval = cell.low.zip(cell.high).map(|(low, high)| [low, high]);
        points.push(Point { x, y: cell.value, interval, is_at_least: false, trials: cell.trials.clone() });
    }
    let SavedColumn { method, what, .. } = column;
    let (name, role) = match column.side {
        Side::Published => (joined(&["published", method, what]), Role::Published),
        // After the comma is the difference between a method's lines; its colour belongs to the method.
        Side::Here | Side::Given if !what.is_empty() => (format!("{method}, {what}"), Role::Method),
        Side::Here | Side::Given => (method.clone(), Role::Method),
    };
    series(name, role, points)
}

/// The axis of rows with these numbers.
fn axis(comparison: &Comparison, numbers: &[f64]) -> Axis {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (label, unit) = (&comparison.rows_are.heading, unit(comparison.rows_are.quantity));
    if least > 0.0 && most / least > WIDE { logarithmic(label, unit) } else { linear(label, unit) }
}
