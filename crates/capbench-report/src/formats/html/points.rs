//! The points of a chart as a table next to its drawing.

use capbench_chart::svg::Spot;

use crate::model::{Axis, Cell, Chart, Column, Point, Row, Scale, Table, Unit};

/// The points of a chart, one row each, series by series.
pub(super) struct PointRows {
    pub(super) table: Table,
    /// Where each row's point is drawn, as [`spot_attribute`] writes it.
    pub(super) spots: Vec<String>,
}

impl PointRows {
    /// A row for each point that is drawn. `spots` has an entry for each series, and in it one for each point: where it is drawn,
    /// or `None` if it is not.
    pub(super) fn from_chart(chart: &Chart, spots: &[Vec<Option<Spot>>]) -> Self {
        let mut all_points = chart.series.iter().flat_map(|series| &series.points);
        let has_intervals = all_points.any(|point| point.interval.is_some());
        let mut rows = Vec::new();
        let mut attributes = Vec::new();
        for (series_index, (series, spots)) in chart.series.iter().zip(spots).enumerate() {
            for (point, spot) in series.points.iter().zip(spots) {
                let Some(spot) = spot else { continue };
                let mut cells =
                    vec![axis_cell(&chart.x.scale, point), Cell::text(&series.name), value_cell(point)];
                if has_intervals {
                    cells.extend(interval_cells(point));
                }
                rows.push(Row { cells, trials: point.trials.clone() });
                attributes.push(spot_attribute(series_index, spot));
            }
        }
        let columns = columns(chart, has_intervals);
        Self { table: Table { id: chart.id.clone(), columns, rows, ..Table::default() }, spots: attributes }
    }
}

/// The columns of the table; their headings are the labels of the axes.
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

/// Where a point is drawn, for scripts: the position of its series in the chart, and its position on the horizontal axis. If its
/// value is known, also the horizontal middle, the upper and the lower end of its bar, layer or marker. All but the first are
/// pixels of the drawing.
fn spot_attribute(series_index: usize, spot: &Spot) -> String {
    let axis = spot.axis_px;
    match spot.shape_px {
        Some([middle, upper, lower]) => format!("{series_index} {axis:.1} {middle:.1} {upper:.1} {lower:.1}"),
        None => format!("{series_index} {axis:.1}"),
    }
}

/// The value of a point on the horizontal axis.
fn axis_cell(scale: &Scale, point: &Point) -> Cell {
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
