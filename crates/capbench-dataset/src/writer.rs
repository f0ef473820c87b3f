//! Parquet files: one row group, a typed column for each column of the table, unknown as NULL, zstd. Without rows there is no row
//! group.
//!
//! The octets depend on the rows only, so that the same run always gives the same file.

use std::sync::Arc;

use capbench_results::column::{Column, Values};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as Attempt};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::error::{DatasetError, Result};

/// The rows of a table as a Parquet file.
///
/// # Errors
/// A count is larger than files hold, or there is not enough memory.
pub fn file<R>(table: &'static str, columns: &[Column<'_, R>], rows: &[R]) -> Result<Vec<u8>> {
    for column in columns {
        let Values::Count(find) = &column.values else { continue };
        let largest = rows.iter().filter_map(find).max().unwrap_or(0);
        if i64::try_from(largest).is_err() {
            return Err(DatasetError::TooLarge { column: column.name, count: largest });
        }
    }
    written(columns, rows).map_err(|error| DatasetError::Table(table, error))
}

fn written<R>(columns: &[Column<'_, R>], rows: &[R]) -> Attempt<Vec<u8>> {
    let schema = Arc::new(parse_message_type(&schema(columns))?);
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    if !rows.is_empty() {
        let mut group = file.next_row_group()?;
        for column in columns {
            add(&mut group, &column.values, rows)?;
        }
        group.close()?;
    }
    file.into_inner()
}

/// The schema in the language of Parquet.
fn schema<R>(columns: &[Column<'_, R>]) -> String {
    let field = |Column { name, values, .. }: &Column<'_, R>| match values {
        Values::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING);"),
        Values::Count(_) | Values::Signed(_) => format!("OPTIONAL INT64 {name};"),
        Values::Number(_) => format!("OPTIONAL DOUBLE {name};"),
        Values::Flag(_) => format!("OPTIONAL BOOLEAN {name};"),
        Values::Time(_) => format!("OPTIONAL INT64 {name} (TIMESTAMP(MICROS,true));"),
        Values::Octets(_) => format!("OPTIONAL BYTE_ARRAY {name};"),
        Values::Map(_) => format!(
            "REQUIRED GROUP {name} (MAP) {{ REPEATED GROUP key_value {{ REQUIRED BYTE_ARRAY key (STRING); \
             REQUIRED BYTE_ARRAY value (STRING); }} }}"
        ),
        Values::List(_) => format!(
            "REQUIRED GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED BYTE_ARRAY element (STRING); }} }}"
        ),
    };
    format!("message capbench {{ {} }}", columns.iter().map(field).collect::<Vec<_>>().join(" "))
}

/// Adds a column; a map has two, of its names and of its texts.
fn add<R>(group: &mut Group<'_>, values: &Values<'_, R>, rows: &[R]) -> Attempt<()> {
    let octets = |text: String| ByteArray::from(text.into_bytes());
    match values {
        Values::Text(find) => optional::<ByteArrayType>(group, rows.iter().map(|row| find(row).map(octets))),
        Values::Octets(find) => {
            optional::<ByteArrayType>(group, rows.iter().map(|row| find(row).map(ByteArray::from)))
        }
        // `file` has refused what does not fit.
        Values::Count(find) => {
            optional::<Int64Type>(group, rows.iter().map(|row| find(row).map(|count| count as i64)))
        }
        Values::Signed(find) | Values::Time(find) => optional::<Int64Type>(group, rows.iter().map(find)),
        Values::Number(find) => optional::<DoubleType>(group, rows.iter().map(find)),
        Values::Flag(find) => optional::<BoolType>(group, rows.iter().map(find)),
        Values::List(find) => {
            repeated(group, rows.iter().map(|row| find(row).into_iter().map(octets).collect()))
        }
        Values::Map(find) => {
            let maps: Vec<_> = rows.iter().map(find).collect();
            repeated(group, maps.iter().map(|map| map.keys().cloned().map(octets).collect()))?;
            repeated(group, maps.iter().map(|map| map.values().cloned().map(octets).collect()))
        }
    }
}

type Group<'g> = SerializedRowGroupWriter<'g, Vec<u8>>;

/// A column with NULLs: a definition level for each row says whether it has a value.
fn optional<T: DataType>(group: &mut Group<'_>, fields: impl Iterator<Item = Option<T::T>>) -> Attempt<()> {
    let fields: Vec<Option<T::T>> = fields.collect();
    let levels: Vec<i16> = fields.iter().map(|field| i16::from(field.is_some())).collect();
    write::<T>(group, &fields.into_iter().flatten().collect::<Vec<_>>(), &levels, None)
}

/// A column with several values for each row: the first of a row has the repetition level 0, the others 1. A row without values
/// has the definition level 0.
fn repeated(group: &mut Group<'_>, rows: impl Iterator<Item = Vec<ByteArray>>) -> Attempt<()> {
    let (mut values, mut defined, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let entries = row.len().max(1);
        defined.extend(std::iter::repeat_n(i16::from(!row.is_empty()), entries));
        repeats.extend((0..entries).map(|nth| i16::from(nth > 0)));
        values.extend(row);
    }
    write::<ByteArrayType>(group, &values, &defined, Some(&repeats))
}

fn write<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    defined: &[i16],
    repeats: Option<&[i16]>,
) -> Attempt<()> {
    let missing = || ParquetError::General("the schema has fewer columns than there are".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, Some(defined), repeats)?;
    column.close()
}
