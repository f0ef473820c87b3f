use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bounds::check_schema;
use super::{Record, rows_of_octets};
use crate::writer;
use capbench_results::column::{Column, Values};

const COLUMNS: [&str; 7] = ["text", "count", "number", "flag", "octets", "map", "list"];

/// A small file with a column of each shape that is read.
fn file() -> Vec<u8> {
    let some = |row: &u64| !row.is_multiple_of(3);
    let column = |name, values| Column { name, values, origin: "" };
    let texts = |row: &u64| (0..row % 4).map(|nth| format!("{row}.{nth}")).collect::<Vec<_>>();
    let columns = [
        column("text", Values::Text(Box::new(move |row| some(row).then(|| format!("text {row}"))))),
        column("count", Values::Count(Box::new(move |row| some(row).then_some(*row)))),
        column("number", Values::Number(Box::new(move |row| some(row).then_some(*row as f64)))),
        column("flag", Values::Flag(Box::new(move |row| some(row).then_some(row.is_multiple_of(2))))),
        column("octets", Values::Octets(Box::new(move |row| some(row).then(|| vec![*row as u8])))),
        column(
            "map",
            Values::Map(Box::new(move |row| {
                texts(row).into_iter().map(|text| (text.clone(), text)).collect::<BTreeMap<_, _>>()
            })),
        ),
        column("list", Values::List(Box::new(texts))),
    ];
    writer::file("table", &columns, &(0..20).collect::<Vec<u64>>()).unwrap()
}

#[test]
fn each_shape_of_a_column_is_read_as_it_was_written() {
    let rows = rows_of_octets(&file(), &COLUMNS).unwrap();
    assert_eq!(rows.len(), 20);
    for (nth, row) in rows.iter().enumerate() {
        let some = !nth.is_multiple_of(3);
        assert_eq!(row.text("text"), some.then(|| format!("text {nth}")).as_deref());
        assert_eq!(
            (row.whole("count"), row.number("number")),
            (some.then_some(nth as i64), some.then_some(nth as f64))
        );
        assert_eq!(
            (row.flag("flag"), row.octets("octets")),
            (some.then_some(nth.is_multiple_of(2)), some.then_some(&[nth as u8][..]))
        );
        assert_eq!(row.length("list"), Some(nth % 4));
        let last = format!("{nth}.{}", (nth % 4).saturating_sub(1));
        assert_eq!(row.entry("map", &last), (nth % 4 > 0).then_some(last.as_str()));
        assert_eq!((row.text("count"), row.text("no such column")), (None, None));
    }
    // A column that nobody wants is not read.
    assert_eq!(rows_of_octets(&file(), &["count"]).unwrap()[1].text("text"), None);
}

/// Reads every value of a file, or refuses it.
fn read_all(octets: &[u8]) {
    let Ok(rows) = rows_of_octets(octets, &COLUMNS) else { return };
    let read = |row: &Record| {
        for name in COLUMNS {
            let _ = (row.text(name), row.whole(name), row.number(name), row.flag(name));
            let _ = (row.octets(name), row.length(name), row.entry(name, "1.0"));
        }
    };
    rows.iter().for_each(read);
}

/// A field of a list of structs, `SchemaElement`, each the only child of the one before it.
fn nested_schema(levels: usize) -> Vec<u8> {
    let mut footer = vec![0x29, 0xfc];
    let mut size = levels;
    while size >= 0x80 {
        footer.push(size as u8 | 0x80);
        size >>= 7;
    }
    footer.push(size as u8);
    // Field 4 is the name, field 5 the number of children.
    footer.extend([0x48, 1, b'x', 0x15, 2, 0].repeat(levels));
    footer.push(0);
    footer
}

#[test]
fn a_schema_of_many_groups_in_groups_is_refused_before_it_is_built() {
    assert_eq!(check_schema(&nested_schema(7)), Ok(()));
    assert_eq!(check_schema(&nested_schema(100_000)), Err("its schema has too many groups in groups"));
    let mut cut = nested_schema(7);
    cut.truncate(20);
    assert!(check_schema(&cut).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_octets_make_it_panic(noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut octets = file();
        for (at, octet) in noise {
            let at = at.index(octets.len());
            octets[at] = octet;
        }
        read_all(&octets);
    }

    #[test]
    fn a_footer_of_any_octets_is_looked_at_without_a_panic(footer in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = check_schema(&footer);
        let length = (footer.len() as u32).to_le_bytes();
        read_all(&[&b"PAR1"[..], &footer, &length, b"PAR1"].concat());
    }
}
