//! Experiments of publications that were run again: a section each, with the published tables beside what was measured, curves
//! where the publication has some, and what has become of its claims.

use capbench_measure::reproduction::Reproduction;
use capbench_measure::reproduction::outcome::{
    Cell as Field, Column as Compared, Comparison, Quantity, Side,
};
use capbench_measure::results::Results;

use crate::model::{
    Axis, Cell, Chart, Column, Kind, Point, Role, Row, Scale, Section, Sentence, Series, Table, Trials, Unit,
};

/// The axis of frame sizes and loops is divided by powers where its ends are further apart than this.
const WIDE: f64 = 50.0;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    results.reproductions.iter().map(section).collect()
}

fn section(reproduction: &Reproduction) -> Section {
    let Reproduction { key, title, source, then, here, complete, .. } = reproduction;
    let said = |text: String| Sentence { text, trials: Vec::new() };
    let mut text = vec![
        said(format!("{title} ({source}).")),
        said(format!("Then: {then}")),
        said(format!("Here: {}", here.join(" "))),
    ];
    if !complete {
        text.push(said("Not complete: what follows is of the trials that were finished.".into()));
    }
    text.extend(reproduction.findings.iter().map(|finding| Sentence {
        text: format!("{}: {} {}", finding.answer, finding.claim, finding.text),
        trials: finding.trials.clone(),
    }));
    Section {
        id: format!("reproduction-{key}"),
        heading: format!("{key}: published and here"),
        text,
        charts: reproduction.tables.iter().filter_map(chart).collect(),
        tables: reproduction.tables.iter().map(table).collect(),
    }
}

const fn unit(quantity: Quantity) -> Unit {
    match quantity {
        Quantity::Name => Unit::None,
        Quantity::Captured | Quantity::Load => Unit::Ratio,
        Quantity::PacketsPerSecond => Unit::PacketsPerSecond,
        Quantity::BitsPerSecond => Unit::BitsPerSecondL1,
        Quantity::NanosecondsPerPacket => Unit::NanosecondsPerPacket,
        Quantity::Count | Quantity::Slots => Unit::Count,
        Quantity::FrameBytes => Unit::Bytes,
        Quantity::Iterations => Unit::Iterations,
        Quantity::Nanoseconds => Unit::Nanoseconds,
    }
}

/// What a quantity is, in a heading.
const fn words(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Captured => "captured",
        Quantity::Load => "load of a CPU",
        Quantity::PacketsPerSecond | Quantity::BitsPerSecond => "rate",
        Quantity::NanosecondsPerPacket => "CPU time",
        Quantity::FrameBytes => "frame size",
        Quantity::Nanoseconds => "work",
        Quantity::Name | Quantity::Count | Quantity::Iterations | Quantity::Slots => "",
    }
}

fn heading(column: &Compared) -> String {
    let side = match column.side {
        Side::Published => "published",
        Side::Here => "here",
        Side::Given => "",
    };
    let parts = [side, column.method.as_str(), column.what.as_str(), words(column.quantity)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A name of small letters, digits and `_`, its unit at the end.
fn key(column: &Compared) -> String {
    let suffix = match column.quantity {
        Quantity::Name => "name",
        Quantity::Captured => "captured_ratio",
        Quantity::PacketsPerSecond => "pps",
        Quantity::BitsPerSecond => "bps_l1",
        Quantity::Load => "load_cpus",
        Quantity::NanosecondsPerPacket => "ns_per_packet",
        Quantity::Count => "count",
        Quantity::FrameBytes => "bytes",
        Quantity::Iterations => "iterations",
        Quantity::Nanoseconds => "ns",
        Quantity::Slots => "slots",
    };
    let side = match column.side {
        Side::Published => "published",
        Side::Here => "here",
        Side::Given => "given",
    };
    let text = format!("{side} {} {} {suffix}", column.method, column.what).to_lowercase();
    let parts: Vec<_> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

fn table(comparison: &Comparison) -> Table {
    let first = Column {
        key: comparison.rows_are.heading.replace(' ', "_"),
        heading: comparison.rows_are.heading.clone(),
        unit: unit(comparison.rows_are.quantity),
    };
    let columns = comparison.columns.iter().map(|column| Column {
        key: key(column),
        heading: heading(column),
        unit: unit(column.quantity),
    });
    let rows = comparison.rows.iter().map(|row| {
        let label = row.at.map_or_else(|| Cell::Text(row.label.clone()), Cell::Number);
        let mut trials: Trials = row.cells.iter().flat_map(|cell| cell.trials.iter().copied()).collect();
        trials.sort_unstable();
        trials.dedup();
        let cells = row.cells.iter().zip(&comparison.columns).map(|(cell, column)| field(cell, column));
        Row { cells: std::iter::once(label).chain(cells).collect(), trials }
    });
    let mut notes = comparison.notes.clone();
    notes.extend(marks(comparison));
    Table {
        id: comparison.id.clone(),
        caption: comparison.caption.clone(),
        columns: std::iter::once(first).chain(columns).collect(),
        rows: rows.collect(),
        notes,
    }
}

fn field(cell: &Field, column: &Compared) -> Cell {
    match (cell.value, cell.low.zip(cell.high)) {
        // What was not published is no number that something could tell.
        (None, _) if column.side == Side::Here => Cell::Unknown,
        (None, _) => Cell::Empty,
        (Some(value), _) if cell.at_least => Cell::AtLeast(value),
        (Some(middle), Some((low, high))) if low < high => Cell::Interval { middle, low, high },
        (Some(value), _) => Cell::Number(value),
    }
}

/// Which fields have a mark that a note explains.
fn marks(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<(char, String, Vec<&str>)> = Vec::new();
    for (at, column) in comparison.columns.iter().enumerate() {
        for row in &comparison.rows {
            let Some(mark) = row.cells.get(at).and_then(|cell| cell.mark) else { continue };
            let heading = heading(column);
            match found.iter_mut().find(|(known, of, _)| *known == mark && *of == heading) {
                Some((_, _, rows)) => rows.push(&row.label),
                None => found.push((mark, heading, vec![&row.label])),
            }
        }
    }
    found
        .into_iter()
        .map(|(mark, heading, rows)| {
            format!("Marked {mark}: {heading}, {} {}.", comparison.rows_are.heading, rows.join(", "))
        })
        .collect()
}

fn chart(comparison: &Comparison) -> Option<Chart> {
    let of = comparison.curves?;
    let places: Option<Vec<f64>> = comparison.rows.iter().map(|row| row.at).collect();
    let places = places.filter(|places| places.len() > 1)?;
    let least = places.iter().copied().fold(f64::INFINITY, f64::min);
    let most = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let series: Vec<Series> = comparison
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.quantity == of && column.side != Side::Given)
        .map(|(at, column)| curve(comparison, &places, at, column))
        .filter(|series| series.points.iter().any(|point| point.y.is_some()))
        .collect();
    let scale = if least > 0.0 && most / least > WIDE { Scale::Logarithmic } else { Scale::Linear };
    (!series.is_empty()).then(|| Chart {
        id: format!("{}-curves", comparison.id),
        title: comparison.caption.clone(),
        kind: Kind::Lines,
        x: Axis {
            label: comparison.rows_are.heading.clone(),
            unit: unit(comparison.rows_are.quantity),
            scale,
        },
        y: Axis { label: words(of).into(), unit: unit(of), scale: Scale::Linear },
        series,
        marks: Vec::new(),
        notes: comparison.notes.clone(),
    })
}

fn curve(comparison: &Comparison, places: &[f64], at: usize, column: &Compared) -> Series {
    let mut points: Vec<Point> = comparison
        .rows
        .iter()
        .zip(places)
        .filter_map(|(row, &x)| {
            let cell = row.cells.get(at)?;
            let interval = cell.low.zip(cell.high).map(|(low, high)| [low, high]);
            Some(Point { x, y: cell.value, interval, trials: cell.trials.clone() })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let parts = match column.side {
        Side::Published => ["published", column.method.as_str(), column.what.as_str()],
        Side::Here | Side::Given => ["", column.method.as_str(), column.what.as_str()],
    };
    let name: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let role = if column.side == Side::Published { Role::Published } else { Role::Method };
    Series { name: name.join(" "), role, points }
}

#[cfg(test)]
mod tests {
    use capbench_measure::reproduction::outcome::Head;
    use capbench_measure::reproduction::outcome::Row as ComparedRow;

    use super::*;

    fn comparison() -> Comparison {
        let column = |side, method: &str, quantity| Compared {
            side,
            method: method.into(),
            what: String::new(),
            quantity,
        };
        let field =
            |value: Option<f64>, trials: &[u32]| Field { value, trials: trials.to_vec(), ..Field::default() };
        let row =
            |bytes: f64, cells: Vec<Field>| ComparedRow { label: format!("{bytes}"), at: Some(bytes), cells };
        Comparison {
            id: "a-table".into(),
            caption: "A table".into(),
            rows_are: Head { heading: "bytes".into(), quantity: Quantity::FrameBytes },
            columns: vec![
                column(Side::Given, "the wire", Quantity::PacketsPerSecond),
                column(Side::Published, "libpcap", Quantity::PacketsPerSecond),
                column(Side::Here, "recv", Quantity::PacketsPerSecond),
                column(Side::Here, "recv", Quantity::Load),
            ],
            rows: vec![
                row(
                    1518.0,
                    vec![
                        field(Some(81_274.0), &[]),
                        Field { mark: Some('!'), ..field(Some(81_279.0), &[]) },
                        Field { low: Some(70_000.0), high: Some(80_000.0), ..field(Some(75_000.0), &[3, 9]) },
                        field(None, &[]),
                    ],
                ),
                row(
                    64.0,
                    vec![
                        field(Some(1_488_095.0), &[]),
                        field(None, &[]),
                        Field { at_least: true, ..field(Some(1e6), &[1]) },
                        field(Some(0.5), &[1]),
                    ],
                ),
            ],
            notes: vec!["!: above the wire.".into()],
            curves: Some(Quantity::PacketsPerSecond),
        }
    }

    #[test]
    fn published_and_measured_fields_keep_their_numbers_and_trials() {
        let table = table(&comparison());
        assert_eq!(table.rows[0].trials, [3, 9]);
        assert_eq!(
            table.rows[0].cells,
            [
                Cell::Number(1518.0),
                Cell::Number(81_274.0),
                Cell::Number(81_279.0),
                Cell::Interval { middle: 75_000.0, low: 70_000.0, high: 80_000.0 },
                Cell::Unknown,
            ]
        );
        assert_eq!(table.rows[1].cells[2..4], [Cell::Empty, Cell::AtLeast(1e6)]);
        assert_eq!(table.columns[2].key, "published_libpcap_pps");
        assert_eq!(table.columns[4].key, "here_recv_load_cpus");
        assert_eq!(table.notes[1], "Marked !: published libpcap rate, bytes 1518.");
        assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
    }

    #[test]
    fn curves_are_of_one_quantity_by_rising_place_and_published_ones_look_so() {
        let chart = chart(&comparison()).unwrap();
        let names: Vec<_> = chart.series.iter().map(|series| (series.name.as_str(), series.role)).collect();
        assert_eq!(names, [("published libpcap", Role::Published), ("recv", Role::Method)]);
        let of_recv: Vec<_> = chart.series[1].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(of_recv, [(64.0, Some(1e6)), (1518.0, Some(75_000.0))]);
        assert_eq!(chart.series[0].points[0].y, None, "what was not published breaks the line");
        assert!(super::chart(&Comparison { curves: None, ..comparison() }).is_none());
    }
}
