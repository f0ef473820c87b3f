//! Reads rows of a table: the wanted columns only. A column that a file does not have is NULL, as in a file of an older version.

use std::fs::File;
use std::path::Path;

use parquet::errors::Result as Attempt;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;

use crate::error::{DatasetError, Result};

/// A row.
#[derive(Debug)]
pub struct Record(Vec<(String, Field)>);

impl Record {
    fn field(&self, column: &str) -> Option<&Field> {
        self.0.iter().find(|(name, _)| name == column).map(|(_, field)| field)
    }

    /// Text; `None` for NULL.
    pub fn text(&self, column: &str) -> Option<&str> {
        match self.field(column)? {
            Field::Str(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number, or microseconds since 1970; `None` for NULL.
    pub fn whole(&self, column: &str) -> Option<i64> {
        match self.field(column)? {
            Field::Long(number) | Field::TimestampMicros(number) => Some(*number),
            _ => None,
        }
    }

    /// A number; `None` for NULL.
    pub fn number(&self, column: &str) -> Option<f64> {
        match self.field(column)? {
            Field::Double(number) => Some(*number),
            _ => None,
        }
    }

    /// A yes or no; `None` for NULL.
    pub fn flag(&self, column: &str) -> Option<bool> {
        match self.field(column)? {
            Field::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Octets; `None` for NULL.
    pub fn octets(&self, column: &str) -> Option<&[u8]> {
        match self.field(column)? {
            Field::Bytes(octets) => Some(octets.data()),
            _ => None,
        }
    }

    /// The text of a name in a map; `None` if the map does not have it.
    pub fn entry(&self, column: &str, name: &str) -> Option<&str> {
        let Field::MapInternal(map) = self.field(column)? else { return None };
        let is_named = |key: &Field| matches!(key, Field::Str(key) if key == name);
        match map.entries().iter().find(|(key, _)| is_named(key))? {
            (_, Field::Str(text)) => Some(text),
            _ => None,
        }
    }

    /// How many texts a list has; `None` for NULL.
    pub fn length(&self, column: &str) -> Option<usize> {
        match self.field(column)? {
            Field::ListInternal(list) => Some(list.len()),
            _ => None,
        }
    }
}

/// The rows of a file, with these columns of them.
///
/// # Errors
/// It cannot be read, or is no Parquet file.
pub fn rows(path: &Path, columns: &[&str]) -> Result<Vec<Record>> {
    let file = File::open(path).map_err(|source| DatasetError::Unreadable(path.into(), source))?;
    read(file, columns).map_err(|error| DatasetError::Parquet(path.into(), error))
}

fn read(file: File, columns: &[&str]) -> Attempt<Vec<Record>> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    let wanted = schema.get_fields().iter().filter(|field| columns.contains(&field.name())).cloned();
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted.collect()).build()?;
    let rows = RowIter::from_file(Some(projection), &reader)?;
    rows.map(|row| Ok(Record(row?.into_columns()))).collect()
}
