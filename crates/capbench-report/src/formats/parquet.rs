//! The tidy rows as Parquet: one row group, one typed column per field, unknown as null, strings in UTF-8.

use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as Attempt};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::error::{ReportError, Result};
use crate::read::Run;
use crate::tidy::{self, Column};
use crate::trial_columns::Of;

use super::{Source, Written};

/// `tidy.parquet`.
///
/// # Errors
/// There is not enough memory.
pub(super) fn files(source: &Source<'_>) -> Result<Vec<Written>> {
    let failed = |error: ParquetError| ReportError::Format { format: "parquet", reason: error.to_string() };
    Ok(vec![Written::new("tidy.parquet", tidy(source.runs).map_err(failed)?)])
}

fn tidy(runs: &[Run]) -> Attempt<Vec<u8>> {
    let rows = tidy::rows(runs);
    let schema = Arc::new(parse_message_type(&schema())?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::new()))?;
    let mut group = file.next_row_group()?;
    for (_, column) in &tidy::columns() {
        match column {
            Column::Row(of) => add(&mut group, of, rows.iter())?,
            Column::Trial(of) => add(&mut group, of, rows.iter().map(|row| row.trial))?,
        }
    }
    group.close()?;
    file.into_inner()
}

/// Adds a column.
fn add<'r, R: 'r>(
    group: &mut Group<'_>,
    of: &Of<R>,
    rows: impl Iterator<Item = &'r R> + Clone,
) -> Attempt<()> {
    match of {
        Of::Text(of) => {
            let words = rows.map(|row| ByteArray::from(of(row).into_bytes()));
            write::<ByteArrayType>(group, &words.collect::<Vec<_>>(), None)
        }
        Of::Flag(of) => write::<BoolType>(group, &rows.map(of).collect::<Vec<_>>(), None),
        // Parquet stores unsigned numbers in the bits of signed ones.
        Of::Count(of) => optional::<Int64Type>(group, rows.map(|row| of(row).map(|count| count as i64))),
        Of::Signed(of) => optional::<Int64Type>(group, rows.map(of)),
        Of::Number(of) => optional::<DoubleType>(group, rows.map(of)),
    }
}

fn schema() -> String {
    fn column<R>(key: &str, of: &Of<R>) -> String {
        match of {
            Of::Text(_) => format!("REQUIRED BYTE_ARRAY {key} (UTF8);"),
            Of::Count(_) => format!("OPTIONAL INT64 {key} (INTEGER(64,false));"),
            Of::Signed(_) => format!("OPTIONAL INT64 {key} (INTEGER(64,true));"),
            Of::Number(_) => format!("OPTIONAL DOUBLE {key};"),
            Of::Flag(_) => format!("REQUIRED BOOLEAN {key};"),
        }
    }
    let column = |(key, of): &(&str, Column<'_>)| match of {
        Column::Row(of) => column(key, of),
        Column::Trial(of) => column(key, of),
    };
    format!("message capbench {{ {} }}", tidy::columns().iter().map(column).collect::<Vec<_>>().join(" "))
}

type Group<'g> = SerializedRowGroupWriter<'g, Vec<u8>>;

/// A column with nulls: a definition level per row says whether it has a value.
fn optional<T: DataType>(
    group: &mut Group<'_>,
    fields: impl Iterator<Item = Option<T::T>> + Clone,
) -> Attempt<()> {
    let levels: Vec<i16> = fields.clone().map(|field| i16::from(field.is_some())).collect();
    write::<T>(group, &fields.flatten().collect::<Vec<_>>(), Some(&levels))
}

fn write<T: DataType>(group: &mut Group<'_>, values: &[T::T], levels: Option<&[i16]>) -> Attempt<()> {
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
        assert_eq!(schema.get_fields().len(), crate::tidy::columns().len());
    }
}
