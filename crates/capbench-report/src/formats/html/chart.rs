//! A chart in the page: its drawing, and a table of its points with their places in the drawing.

use std::collections::BTreeSet;

use crate::formats::svg::{self, Embedded, Spot};
use crate::model::{Axis, Cell, Chart, Column, Point, Report, Row, Scale, Series, Table, Unit};
use crate::palette::Palette;

/// A drawn chart of a report.
pub struct Drawn<'r> {
    pub chart: &'r Chart,
    pub drawing: Embedded,
    /// One row per point, series by series.
    pub points: Table,
    /// Place of each of these rows: the number of its series and its x in pixels of the drawing. If its value is known, also
    /// its y and the upper and lower end of its bar, layer or marker.
    pub spots: Vec<String>,
}

fn charts(report: &Report) -> impl Iterator<Item = &Chart> {
    report.sections.iter().flat_map(|section| &section.charts)
}

/// All charts of a report, in order.
pub fn of(report: &Report) -> Vec<Drawn<'_>> {
    let palette = Palette::of(charts(report));
    charts(report).map(|chart| Drawn::new(chart, &palette)).collect()
}

/// Style rules with the dark-background colours of the report's charts.
pub fn colours(report: &Report) -> String {
    let palette = Palette::of(charts(report));
    let series = charts(report).flat_map(|chart| &chart.series);
    let rules: BTreeSet<String> =
        series.map(|series| palette.look(series.role, &series.name).colour.rule()).collect();
    rules.into_iter().collect()
}

impl<'r> Drawn<'r> {
    fn new(chart: &'r Chart, palette: &Palette) -> Self {
        let drawing = svg::embedded(chart, palette);
        let all = || chart.series.iter().flat_map(|series| &series.points);
        let has_intervals = all().any(|point| point.interval.is_some());
        let (mut rows, mut spots) = (Vec::new(), Vec::new());
        for (nth, (series, own)) in chart.series.iter().zip(&drawing.spots).enumerate() {
            for (point, spot) in series.points.iter().zip(own) {
                let Some(spot) = spot else { continue };
                rows.push(row(chart, series, point, has_intervals));
                spots.push(place(nth, spot));
            }
        }
        Self { chart, drawing, points: table(chart, rows, has_intervals), spots }
    }
}

fn place(series: usize, Spot { place, shape }: &Spot) -> String {
    let shape: String = shape.iter().flatten().map(|at| format!(" {at:.1}")).collect();
    format!("{series} {place:.1}{shape}")
}

fn table(chart: &Chart, rows: Vec<Row>, has_intervals: bool) -> Table {
    let Axis { label, unit, scale } = &chart.x;
    let unit = if matches!(scale, Scale::Names(_)) { Unit::None } else { *unit };
    let mut columns = vec![
        Column::new("place", label, unit),
        Column::new("series", "series", Unit::None),
        Column::new("value", &chart.y.label, chart.y.unit),
    ];
    if has_intervals {
        columns.extend(["from", "to"].map(|end| Column::new(end, end, chart.y.unit)));
    }
    Table { id: chart.id.clone(), columns, rows, ..Table::default() }
}

fn row(chart: &Chart, series: &Series, point: &Point, has_intervals: bool) -> Row {
    let number = |value: f64| if value.is_finite() { Cell::Number(value) } else { Cell::Unknown };
    let place = match &chart.x.scale {
        // Points of one name may be drawn side by side.
        Scale::Names(names) => Cell::Text(names.get(point.x.round() as usize).cloned().unwrap_or_default()),
        Scale::Linear | Scale::Logarithmic => number(point.x),
    };
    let mut cells = vec![place, Cell::Text(series.name.clone()), point.y.map_or(Cell::Unknown, number)];
    if has_intervals {
        cells.extend(point.interval.map_or([Cell::Empty, Cell::Empty], |ends| ends.map(number)));
    }
    Row { cells, trials: point.trials.clone() }
}
