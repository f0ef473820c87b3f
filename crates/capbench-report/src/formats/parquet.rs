//! The tidy rows as Parquet: one row group, one typed column per field, unknown as null, strings in UTF-8.

use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::error::{ReportError, Result};
use crate::read::Run;
use crate::tidy::{self, Field, Holds, TidyColumn, TidyRow};

use super::{Source, Written};

/// `tidy.parquet`.
///
/// # Errors
/// There is not enough memory.
pub(super) fn files(source: &Source<'_>) -> Result<Vec<Written>> {
    Ok(vec![Written::new("tidy.parquet", tidy(source.run)?)])
}

/// The tidy rows: see [`crate::tidy`].
///
/// # Errors
/// There is not enough memory.
pub fn tidy(run: &Run) -> Result<Vec<u8>> {
    let write = || -> std::result::Result<Vec<u8>, ParquetError> {
        let rows = tidy::rows(run);
        let schema = Arc::new(parse_message_type(&schema())?);
        let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::new()))?;
        let mut group = file.next_row_group()?;
        for column in &tidy::COLUMNS {
            write_column(&mut group, column, &rows)?;
        }
        group.close()?;
        file.into_inner()
    };
    write().map_err(|error| ReportError::Format { format: "parquet", reason: error.to_string() })
}

fn schema() -> String {
    let columns: Vec<String> = tidy::COLUMNS
        .iter()
        .map(|TidyColumn { key, holds, .. }| match holds {
            Holds::Text => format!("REQUIRED BYTE_ARRAY {key} (UTF8);"),
            Holds::Count => format!("OPTIONAL INT64 {key} (INTEGER(64,false));"),
            Holds::Signed => format!("OPTIONAL INT64 {key} (INTEGER(64,true));"),
            Holds::Number => format!("OPTIONAL DOUBLE {key};"),
            Holds::Flag => format!("REQUIRED BOOLEAN {key};"),
        })
        .collect();
    format!("message capbench {{ {} }}", columns.join(" "))
}

type Group<'g> = SerializedRowGroupWriter<'g, Vec<u8>>;

fn write_column(
    group: &mut Group<'_>,
    column: &TidyColumn,
    rows: &[TidyRow<'_>],
) -> std::result::Result<(), ParquetError> {
    let fields = || rows.iter().map(column.of);
    match column.holds {
        Holds::Text => {
            let words = fields().map(|field| match field {
                Field::Text(text) => ByteArray::from(text.into_bytes()),
                _ => ByteArray::from(Vec::new()),
            });
            write::<ByteArrayType>(group, &words.collect::<Vec<_>>(), None)
        }
        Holds::Flag => {
            let flags = fields().map(|field| matches!(field, Field::Flag(true)));
            write::<BoolType>(group, &flags.collect::<Vec<_>>(), None)
        }
        // Parquet stores unsigned numbers in the bits of signed ones.
        Holds::Count => optional::<Int64Type>(
            group,
            fields().map(|field| match field {
                Field::Count(count) => count.map(|count| count as i64),
                _ => None,
            }),
        ),
        Holds::Signed => optional::<Int64Type>(
            group,
            fields().map(|field| match field {
                Field::Signed(signed) => signed,
                _ => None,
            }),
        ),
        Holds::Number => optional::<DoubleType>(
            group,
            fields().map(|field| match field {
                Field::Number(number) => number,
                _ => None,
            }),
        ),
    }
}

/// A column with nulls: a definition level per row says whether it has a value.
fn optional<T: DataType>(
    group: &mut Group<'_>,
    fields: impl Iterator<Item = Option<T::T>>,
) -> std::result::Result<(), ParquetError> {
    let fields: Vec<Option<T::T>> = fields.collect();
    let levels: Vec<i16> = fields.iter().map(|field| i16::from(field.is_some())).collect();
    let values: Vec<T::T> = fields.into_iter().flatten().collect();
    write::<T>(group, &values, Some(&levels))
}

fn write<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> std::result::Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns than there are".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_can_be_understood() {
        let schema = parquet::schema::parser::parse_message_type(&super::schema()).unwrap();
        assert_eq!(schema.get_fields().len(), crate::tidy::COLUMNS.len());
    }
}
