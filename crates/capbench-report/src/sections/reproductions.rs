//! Repeated experiments of publications: one section each, with the published tables next to the measured ones, curves if the
//! publication has some, and the answers to its claims.

use capbench_judge::reproduction::{
    Cell as SavedCell, Column as SavedColumn, Comparison, Quantity, Reproduction, Row as SavedRow, Side,
};
use capbench_results::Results;

use super::parts::{self, linear, logarithmic, names, sentence, series};
use crate::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Place, Point, Role, Row, Section, Sentence, Series, Table, Trials,
    Unit,
};
use crate::sentences::reproduction::answer_words;

/// An axis of frame sizes or loops is logarithmic if its ends differ by more than this factor.
const WIDE: f64 = 50.0;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    results.reproductions.iter().map(section).collect()
}

fn section(reproduction: &Reproduction) -> Section {
    let mut charts = Vec::new();
    let mut tables = Vec::new();
    for comparison in &reproduction.tables {
        charts.extend(charts_of_table(comparison));
        tables.push(table(comparison));
    }
    let key = &reproduction.key;
    Section {
        id: format!("reproduction-{key}"),
        heading: format!("{key}: published and here"),
        text: text(reproduction),
        charts,
        tables,
    }
}

/// The publication, both hosts, and the answers to the claims.
fn text(reproduction: &Reproduction) -> Vec<Sentence> {
    let Reproduction { title, source, then, here, complete, .. } = reproduction;
    let mut text = vec![
        sentence(format!("{title} ({source})."), Vec::new()),
        sentence(format!("Then: {then}"), Vec::new()),
        sentence(format!("Here: {}", here.join(" ")), Vec::new()),
    ];
    if !complete {
        text.push(sentence("Not complete: what follows is of the trials that were finished.", Vec::new()));
    }
    for finding in &reproduction.findings {
        let answer = format!("{}: {} {}", answer_words(finding.answer), finding.claim, finding.text);
        text.push(sentence(answer, finding.trials.clone()));
    }
    text
}

/// How a quantity is shown.
struct QuantityWords {
    unit: Unit,
    /// Its words in a heading; empty if the column says what it is.
    heading: &'static str,
    /// The suffix of its keys.
    suffix: &'static str,
}

const fn words_of(quantity: Quantity) -> QuantityWords {
    let (unit, heading, suffix) = match quantity {
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
    };
    QuantityWords { unit, heading, suffix }
}

const fn unit(quantity: Quantity) -> Unit {
    words_of(quantity).unit
}

/// The words that are not empty.
fn joined(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

const fn side(column: &SavedColumn) -> &'static str {
    match column.side {
        Side::Published => "published",
        Side::Here => "here",
        Side::Given => "set",
    }
}

fn heading(column: &SavedColumn) -> String {
    let side = if column.side == Side::Given { "" } else { side(column) };
    joined(&[side, &column.method, &column.what, words_of(column.quantity).heading])
}

/// A name of lower-case letters, digits and `_`, ending with its unit.
fn key(column: &SavedColumn) -> String {
    let suffix = words_of(column.quantity).suffix;
    let text = format!("{} {} {} {suffix}", side(column), column.method, column.what).to_lowercase();
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    Vec::from_iter(parts).join("_")
}

fn table(comparison: &Comparison) -> Table {
    let rows_are = &comparison.rows_are;
    let first_key = rows_are.heading.replace(' ', "_");
    let mut columns = vec![Column::new(&first_key, &rows_are.heading, unit(rows_are.quantity))];
    for column in &comparison.columns {
        columns.push(Column::new(&key(column), &heading(column), unit(column.quantity)));
    }
    let mut notes = comparison.notes.clone();
    notes.extend(notes_of_marks(comparison));
    Table {
        id: comparison.id.clone(),
        caption: comparison.caption.clone(),
        columns,
        rows: comparison.rows.iter().map(|row| table_row(comparison, row)).collect(),
        notes,
        is_main: true,
    }
}

fn table_row(comparison: &Comparison, row: &SavedRow) -> Row {
    let mut cells = vec![match row.at {
        Some(at) => Cell::Number(at),
        None => Cell::Text(row.label.clone()),
    }];
    let mut trials = Trials::new();
    for (saved, column) in row.cells.iter().zip(&comparison.columns) {
        cells.push(cell(saved, column));
    }
    for saved in &row.cells {
        trials.extend(&saved.trials);
    }
    trials.sort_unstable();
    trials.dedup();
    Row { cells, trials }
}

fn cell(saved: &SavedCell, column: &SavedColumn) -> Cell {
    match (saved.value, saved.low.zip(saved.high)) {
        // An unpublished figure is empty, not unknown.
        (None, _) if column.side == Side::Here => Cell::Unknown,
        (None, _) => Cell::Empty,
        (Some(value), _) if saved.at_least => Cell::AtLeast(value),
        (Some(middle), Some((low, high))) if low < high => Cell::Interval { middle, low, high },
        (Some(value), _) => Cell::Number(value),
    }
}

/// Cells of a column with the same mark.
struct MarkedCells<'r> {
    mark: char,
    heading: String,
    rows: Vec<&'r str>,
}

/// Names the cells of each mark, which a note of the publication explains.
fn notes_of_marks(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<MarkedCells<'_>> = Vec::new();
    for (index, column) in comparison.columns.iter().enumerate() {
        for row in &comparison.rows {
            let Some(mark) = row.cells.get(index).and_then(|cell| cell.mark) else { continue };
            let heading = heading(column);
            match found.iter_mut().find(|known| known.mark == mark && known.heading == heading) {
                Some(known) => known.rows.push(&row.label),
                None => found.push(MarkedCells { mark, heading, rows: vec![&row.label] }),
            }
        }
    }
    let mut notes = Vec::new();
    for MarkedCells { mark, heading, rows } in found {
        let rows_are = &comparison.rows_are.heading;
        notes.push(format!("Marked {mark}: {heading}, {rows_are} {}.", rows.join(", ")));
    }
    notes
}

/// Charts of a table: its curves if the publication has some. Else one chart per quantity of the table that was both published
/// and measured, or only measured because no figure was published.
fn charts_of_table(comparison: &Comparison) -> Vec<Chart> {
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

/// A quantity over the rows of a table: lines if rows have numeric places, bars if they have names.
fn quantity_chart(comparison: &Comparison, quantity: Quantity, id: &str) -> Option<Chart> {
    let numbers: Option<Vec<f64>> = comparison.rows.iter().map(|row| row.at).collect();
    let (kind, x, places) = match numbers {
        Some(places) if places.len() > 1 => (Kind::Lines, axis(comparison, &places), places),
        _ => {
            let labels: Vec<String> = comparison.rows.iter().map(|row| row.label.clone()).collect();
            let places = (0..labels.len()).map(|index| index as f64).collect();
            (Kind::Bars, names(&comparison.rows_are.heading, labels), places)
        }
    };
    let mut lines = Vec::new();
    let mut planned = Vec::new();
    for (index, column) in comparison.columns.iter().enumerate() {
        if column.quantity != quantity {
            continue;
        }
        if column.side == Side::Given {
            planned.push(planned_curve(comparison, &places, index, column));
            continue;
        }
        let line = measured_curve(comparison, &places, index, column);
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
    let chart = parts::chart(&id, comparison.caption.clone(), kind, x, y, lines).noting(&comparison.notes);
    Some(if kind == Kind::Lines { chart.marking(planned) } else { chart })
}

/// The quantity according to the plan, for example the line rate; `index` is the position of the column.
fn planned_curve(comparison: &Comparison, places: &[f64], index: usize, column: &SavedColumn) -> Mark {
    let mut curve = Vec::new();
    for (row, &x) in comparison.rows.iter().zip(places) {
        if let Some(value) = row.cells.get(index).and_then(|cell| cell.value) {
            curve.push([x, value]);
        }
    }
    curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Mark { label: joined(&[&column.method, &column.what]), at: Place::Curve(curve) }
}

/// The published or measured figures of a column; `index` is its position.
fn measured_curve(comparison: &Comparison, places: &[f64], index: usize, column: &SavedColumn) -> Series {
    let mut points = Vec::new();
    for (row, &x) in comparison.rows.iter().zip(places) {
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

fn axis(comparison: &Comparison, places: &[f64]) -> Axis {
    let least = places.iter().copied().fold(f64::INFINITY, f64::min);
    let most = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (label, unit) = (&comparison.rows_are.heading, unit(comparison.rows_are.quantity));
    if least > 0.0 && most / least > WIDE { logarithmic(label, unit) } else { linear(label, unit) }
}

#[cfg(test)]
mod tests {
    use capbench_judge::reproduction::RowHeader;

    use super::*;
    use crate::model::Scale;

    fn comparison() -> Comparison {
        let column = |side, method: &str, quantity| SavedColumn {
            side,
            method: method.into(),
            what: String::new(),
            quantity,
        };
        let field = |value: Option<f64>, trials: &[u32]| SavedCell {
            value,
            trials: trials.to_vec(),
            ..SavedCell::default()
        };
        let row = |bytes: f64, cells: Vec<SavedCell>| SavedRow {
            label: format!("{bytes}"),
            at: Some(bytes),
            cells,
        };
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
                        SavedCell { mark: Some('!'), ..field(Some(81_279.0), &[]) },
                        SavedCell {
                            low: Some(70_000.0),
                            high: Some(80_000.0),
                            ..field(Some(75_000.0), &[3, 9])
                        },
                        field(None, &[]),
                    ],
                ),
                row(
                    64.0,
                    vec![
                        field(Some(1_488_095.0), &[]),
                        field(None, &[]),
                        SavedCell { at_least: true, ..field(Some(1e6), &[1]) },
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
        let all = charts_of_table(&comparison());
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
        let all = charts_of_table(&table);
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
