//! Repeated experiments of publications: one section each, with the published tables next to the measured ones, curves if the
//! publication has some, and the answers to its claims.

use capbench_judge::reproduction::Reproduction;
use capbench_judge::reproduction::{Cell as Field, Column as Compared, Comparison, Quantity, Side};
use capbench_results::Results;

use super::parts::{self, grouped, linear, logarithmic, names, sentence, series};
use crate::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Place, Point, Role, Row, Section, Series, Table, Trials, Unit,
};
use crate::sentences::claim_words;
use crate::sentences::reproduction::answer_words;

/// An axis of frame sizes or loops is logarithmic if its ends differ by more than this factor.
const WIDE: f64 = 50.0;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    results.reproductions.iter().map(section).collect()
}

fn section(reproduction: &Reproduction) -> Section {
    let Reproduction { key, title, source, then, here, complete, .. } = reproduction;
    let said = |text: String| sentence(text, Vec::new());
    let mut text = vec![
        said(format!("{title} ({source}).")),
        said(format!("Then: {then}")),
        said(format!("Here: {}", here.join(" "))),
    ];
    if !complete {
        text.push(said("Not complete: what follows is of the trials that were finished.".into()));
    }
    text.extend(reproduction.findings.iter().map(|finding| {
        let text = format!("{}: {} {}", answer_words(finding.answer), finding.claim, claim_words(finding));
        sentence(text, finding.trials.clone())
    }));
    Section {
        id: format!("reproduction-{key}"),
        heading: format!("{key}: published and here"),
        text,
        charts: reproduction.tables.iter().flat_map(charts).collect(),
        tables: reproduction.tables.iter().map(table).collect(),
    }
}

/// The unit of a quantity, its words in a heading, and the suffix of its keys.
const fn about(quantity: Quantity) -> (Unit, &'static str, &'static str) {
    match quantity {
        Quantity::Name => (Unit::None, "", "name"),
        Quantity::Captured => (Unit::Ratio, "captured", "captured_ratio"),
        Quantity::Load => (Unit::Ratio, "load of a CPU", "load_cpus"),
        Quantity::PacketsPerSecond => (Unit::PacketsPerSecond, "rate", "pps"),
        Quantity::BitsPerSecond => (Unit::BitsPerSecondL1, "rate", "bps_l1"),
        Quantity::NanosecondsPerPacket => (Unit::NanosecondsPerPacket, "CPU time", "ns_per_packet"),
        Quantity::Count => (Unit::Count, "", "count"),
        Quantity::Slots => (Unit::Count, "", "slots"),
        Quantity::FrameBytes => (Unit::Bytes, "frame size", "bytes"),
        Quantity::Iterations => (Unit::Iterations, "", "iterations"),
        Quantity::Nanoseconds => (Unit::Nanoseconds, "work", "ns"),
    }
}

const fn unit(quantity: Quantity) -> Unit {
    about(quantity).0
}

fn joined(words: &[&str]) -> String {
    words.iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

const fn side(column: &Compared) -> &'static str {
    match column.side {
        Side::Published => "published",
        Side::Here => "here",
        Side::Given => "set",
    }
}

fn heading(column: &Compared) -> String {
    let side = if column.side == Side::Given { "" } else { side(column) };
    joined(&[side, &column.method, &column.what, about(column.quantity).1])
}

/// A name of lower-case letters, digits and `_`, ending with its unit.
fn key(column: &Compared) -> String {
    let (.., suffix) = about(column.quantity);
    let text = format!("{} {} {} {suffix}", side(column), column.method, column.what).to_lowercase();
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_")
}

fn table(comparison: &Comparison) -> Table {
    let rows_are = &comparison.rows_are;
    let first = Column::new(&rows_are.heading.replace(' ', "_"), &rows_are.heading, unit(rows_are.quantity));
    let column = |own: &Compared| Column::new(&key(own), &heading(own), unit(own.quantity));
    let columns = comparison.columns.iter().map(column);
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
        is_main: true,
    }
}

fn field(cell: &Field, column: &Compared) -> Cell {
    match (cell.value, cell.low.zip(cell.high)) {
        // An unpublished figure is empty, not unknown.
        (None, _) if column.side == Side::Here => Cell::Unknown,
        (None, _) => Cell::Empty,
        (Some(value), _) if cell.at_least => Cell::AtLeast(value),
        (Some(middle), Some((low, high))) if low < high => Cell::Interval { middle, low, high },
        (Some(value), _) => Cell::Number(value),
    }
}

/// Cells with a mark that a note explains.
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
    let rows_are = &comparison.rows_are.heading;
    let note = |(mark, heading, rows): (char, String, Vec<&str>)| {
        format!("Marked {mark}: {heading}, {rows_are} {}.", rows.join(", "))
    };
    found.into_iter().map(note).collect()
}

/// Charts of a table: its curves if the publication has some. Else one chart per quantity of the table that was both published
/// and measured, or only measured because no figure was published.
fn charts(comparison: &Comparison) -> Vec<Chart> {
    if let Some(of) = comparison.curves {
        return chart(comparison, of, "curves").into_iter().collect();
    }
    let has = |of: Quantity, side: Side| {
        let own = columns(comparison, of, |column| column.side == side);
        own.flat_map(|(at, _)| comparison.rows.iter().filter_map(move |row| row.cells.get(at)))
            .any(|cell| cell.value.is_some())
    };
    let is_unpublished = comparison.columns.iter().all(|column| column.side != Side::Published);
    let quantities = grouped(&comparison.columns, |column| column.quantity).into_iter().map(|(of, _)| of);
    let is_known = |of: &Quantity| {
        *of != Quantity::Name && has(*of, Side::Here) && (is_unpublished || has(*of, Side::Published))
    };
    let mut charts: Vec<Chart> =
        quantities.filter(is_known).filter_map(|of| chart(comparison, of, about(of).2)).collect();
    if charts.len() > 1 {
        charts.iter_mut().for_each(|chart| chart.title = format!("{}: {}", chart.title, chart.y.label));
    }
    charts
}

fn columns(
    comparison: &Comparison,
    of: Quantity,
    is_wanted: impl Fn(&Compared) -> bool,
) -> impl Iterator<Item = (usize, &Compared)> {
    let all = comparison.columns.iter().enumerate();
    all.filter(move |(_, column)| column.quantity == of && is_wanted(column))
}

/// A quantity over the rows of a table: lines if rows have numeric places, bars if they have names.
fn chart(comparison: &Comparison, of: Quantity, id: &str) -> Option<Chart> {
    let along: Option<Vec<f64>> = comparison.rows.iter().map(|row| row.at).collect();
    let along = along.filter(|places| places.len() > 1);
    let (kind, x) = match &along {
        Some(places) => (Kind::Lines, axis(comparison, places)),
        None => {
            let labels = comparison.rows.iter().map(|row| row.label.clone()).collect();
            (Kind::Bars, names(&comparison.rows_are.heading, labels))
        }
    };
    let places = along.unwrap_or_else(|| (0..comparison.rows.len()).map(|nth| nth as f64).collect());
    let own = columns(comparison, of, |column| column.side != Side::Given);
    let lines: Vec<Series> = own
        .map(|(at, column)| curve(comparison, &places, at, column))
        .filter(|line| line.points.iter().any(|point| point.y.is_some()))
        .collect();
    let label = match about(of).1 {
        "" => "count",
        words => words,
    };
    let marks = if kind == Kind::Lines { planned(comparison, of, &places) } else { Vec::new() };
    let id = format!("{}-{id}", comparison.id);
    let y = linear(label, unit(of));
    (!lines.is_empty()).then(|| {
        parts::chart(&id, comparison.caption.clone(), kind, x, y, lines)
            .marking(marks)
            .noting(&comparison.notes)
    })
}

/// The quantity according to the plan: the line rate.
fn planned(comparison: &Comparison, of: Quantity, places: &[f64]) -> Vec<Mark> {
    let mark = |(at, column): (usize, &Compared)| {
        let rows = comparison.rows.iter().zip(places);
        let mut curve: Vec<[f64; 2]> =
            rows.filter_map(|(row, &x)| Some([x, row.cells.get(at)?.value?])).collect();
        curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Mark { label: joined(&[&column.method, &column.what]), at: Place::Curve(curve) }
    };
    columns(comparison, of, |column| column.side == Side::Given).map(mark).collect()
}

fn axis(comparison: &Comparison, places: &[f64]) -> Axis {
    let least = places.iter().copied().fold(f64::INFINITY, f64::min);
    let most = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scaled = if least > 0.0 && most / least > WIDE { logarithmic } else { linear };
    scaled(&comparison.rows_are.heading, unit(comparison.rows_are.quantity))
}

fn curve(comparison: &Comparison, places: &[f64], at: usize, column: &Compared) -> Series {
    let points = comparison.rows.iter().zip(places).filter_map(|(row, &x)| {
        let cell = row.cells.get(at)?;
        let interval = cell.low.zip(cell.high).map(|(low, high)| [low, high]);
        Some(Point { x, y: cell.value, interval, is_at_least: false, trials: cell.trials.clone() })
    });
    let Compared { method, what, .. } = column;
    let (name, role) = match column.side {
        Side::Published => (joined(&["published", method, what]), Role::Published),
        // After the comma is the difference between a method's lines; its colour belongs to the method.
        Side::Here | Side::Given if !what.is_empty() => (format!("{method}, {what}"), Role::Method),
        Side::Here | Side::Given => (method.clone(), Role::Method),
    };
    series(name, role, points.collect())
}

#[cfg(test)]
mod tests {
    use capbench_judge::reproduction::Row as ComparedRow;
    use capbench_judge::reproduction::RowHeader;

    use super::*;
    use crate::model::Scale;

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
            rows_are: RowHeader { heading: "bytes".into(), quantity: Quantity::FrameBytes },
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
        let all = charts(&comparison());
        let [chart] = all.as_slice() else { panic!("{all:?}") };
        let names: Vec<_> = chart.series.iter().map(|series| (series.name.as_str(), series.role)).collect();
        assert_eq!(names, [("published libpcap", Role::Published), ("recv", Role::Method)]);
        let of_recv: Vec<_> = chart.series[1].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(of_recv, [(64.0, Some(1e6)), (1518.0, Some(75_000.0))]);
        assert_eq!(chart.series[0].points[0].y, None, "what was not published breaks the line");
        let wire = Place::Curve(vec![[64.0, 1_488_095.0], [1518.0, 81_274.0]]);
        assert_eq!(chart.marks, [Mark { label: "the wire".into(), at: wire }]);
    }

    #[test]
    fn tables_without_curves_have_bars_of_what_was_published_and_measured() {
        let mut table = Comparison { curves: None, ..comparison() };
        for (row, label) in table.rows.iter_mut().zip(["large", "small"]) {
            (row.at, row.label) = (None, label.into());
        }
        let all = charts(&table);
        let [chart] = all.as_slice() else { panic!("the load was not published: {all:?}") };
        assert_eq!((chart.id.as_str(), chart.kind), ("a-table-pps", Kind::Bars));
        assert_eq!(chart.x.scale, Scale::Names(vec!["large".into(), "small".into()]));
        let [published, here] = chart.series.as_slice() else { panic!("{chart:?}") };
        assert_eq!((published.role, published.points[0].y), (Role::Published, Some(81_279.0)));
        assert_eq!(
            (here.points[0].interval, here.points[0].trials.as_slice()),
            (Some([70_000.0, 80_000.0]), &[3, 9][..])
        );
    }
}
