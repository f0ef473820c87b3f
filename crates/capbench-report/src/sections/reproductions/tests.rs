//! The table and the charts of the comparison of a publication with what was measured here.

use capbench_judge::reproduction::{
    Cell as SavedCell, Column as SavedColumn, Comparison, Quantity, Row as SavedRow, RowHeader, Side,
};

use super::charts::charts;
use super::table::table;
use crate::model::{Cell, Kind, Mark, Place, Role, Scale};

/// A table of a publication with two frame sizes, the larger one first: the line rate, a published rate, and a measured rate and
/// load.
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
    let row =
        |bytes: f64, cells: Vec<SavedCell>| SavedRow { label: format!("{bytes}"), at: Some(bytes), cells };
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
                    SavedCell { low: Some(70_000.0), high: Some(80_000.0), ..field(Some(75_000.0), &[3, 9]) },
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
        note_facts: Vec::new(),
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
    assert_eq!(chart.id, "a-table-pps");
    assert_eq!(chart.kind, Kind::Bars);
    assert_eq!(chart.x.scale, Scale::Names(vec!["large".into(), "small".into()]));
    let [published, here] = chart.series.as_slice() else { panic!("{chart:?}") };
    assert_eq!(published.role, Role::Published);
    assert_eq!(published.points[0].y, Some(81_279.0));
    assert_eq!(here.points[0].interval, Some([70_000.0, 80_000.0]));
    assert_eq!(here.points[0].trials, [3, 9]);
}
