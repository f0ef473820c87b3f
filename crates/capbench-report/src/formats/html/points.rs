//! The points of a chart as a table next to its drawing.

use capbench_chart::svg::Spot;

use crate::model::{Axis, Cell, Chart, Column, Point, Row, Scale, Table, Unit};

/// The points of a chart, one row each, series by series.
pub(super) struct PointRows {
    pub(super) table: Table,
    /// The place of each row: the number of its series and its x in pixels of the drawing. If its value is known, also its y and
    /// the upper and lower end of its bar, layer or marker.
    pub(super) spots: Vec<String>,
}

impl PointRows {
    /// A row for each point that is drawn. `drawn` has, by series and point, where it is in the drawing; `None`: it is not drawn.
    pub(super) fn from_chart(chart: &Chart, drawn: &[Vec<Option<Spot>>]) -> Self {
        let mut all = chart.series.iter().flat_map(|series| &series.points);
        let has_intervals = all.any(|point| point.interval.is_some());
        let mut rows = Vec::new();
        let mut spots = Vec::new();
        for (index, (series, drawn)) in chart.series.iter().zip(drawn).enumerate() {
            for (point, spot) in series.points.iter().zip(drawn) {
                let Some(spot) = spot else { continue };
                let mut cells =
                    vec![place_cell(&chart.x.scale, point), Cell::text(&series.name), value_cell(point)];
                if has_intervals {
                    cells.extend(interval_cells(point));
                }
                rows.push(Row { cells, trials: point.trials.clone() });
                spots.push(spot_words(index, spot));
            }
        }
        let columns = columns(chart, has_intervals);
        Self { table: Table { id: chart.id.clone(), columns, rows, ..Table::default() }, spots }
    }
}

fn columns(chart: &Chart, has_intervals: bool) -> Vec<Column> {
    let Axis { label, unit, scale } = &chart.x;
    let unit = if matches!(scale, Scale::Names(_)) { Unit::None } else { *unit };
    let mut columns = vec![
        Column::new("place", label, unit),
        Column::words("series", "series"),
        Column::new("value", &chart.y.label, chart.y.unit),
    ];
    if has_intervals {
        columns.push(Column::new("from", "from", chart.y.unit));
        columns.push(Column::new("to", "to", chart.y.unit));
    }
    columns
}

/// The place of a point in the drawing, for scripts; `index` is the position of its series.
fn spot_words(index: usize, spot: &Spot) -> String {
    let mut words = format!("{index} {:.1}", spot.place);
    for at in spot.shape.iter().flatten() {
        words += &format!(" {at:.1}");
    }
    words
}

/// The position of a point on the horizontal axis.
fn place_cell(scale: &Scale, point: &Point) -> Cell {
    match scale {
        // Points of one name may be drawn side by side.
        Scale::Names(names) => match names.get(point.x.round() as usize) {
            Some(name) => Cell::text(name),
            None => Cell::text(""),
        },
        Scale::Linear | Scale::Logarithmic => point.x.into(),
    }
}

/// The value of a point.
fn value_cell(point: &Point) -> Cell {
    match (point.y, point.interval) {
        (Some(y), _) if point.is_at_least => Cell::AtLeast(y),
        (None, Some([low, high])) => Cell::Range { low, high },
        (y, _) => Cell::number_or_unknown(y),
    }
}

/// The ends of a point's interval; empty without one.
fn interval_cells(point: &Point) -> [Cell; 2] {
    match point.interval {
        Some(ends) => ends.map(Cell::from),
        None => [Cell::Empty, Cell::Empty],
    }
}
