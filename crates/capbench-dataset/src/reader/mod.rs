//! Reads rows of a table: the wanted columns only. A column that a file does not have is NULL, as in a file of an older version.
//!
//! Other hosts write these files, so `bounds` limits what is read of one, from what its headers say (`compact`). Texts stay in the pages, so that a text of a
//! dictionary that a thousand rows have is in memory once (`column`).

mod bounds;
mod column;
mod compact;
mod panics;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;
use std::rc::Rc;

use parquet::errors::Result as Attempt;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};

use self::column::Values;
use crate::error::{DatasetError, Result};

/// The wanted columns of a file.
#[derive(Debug)]
struct Table {
    columns: Vec<(String, Values)>,
}

/// A row.
#[derive(Clone, Debug)]
pub struct Record {
    table: Rc<Table>,
    row: usize,
}

impl Record {
    fn values(&self, column: &str) -> Option<&Values> {
        self.table.columns.iter().find(|(name, _)| name == column).map(|(_, values)| values)
    }

    /// Text; `None` for NULL.
    pub fn text(&self, column: &str) -> Option<&str> {
        match self.values(column)? {
            // It was checked when it was read.
            Values::Text(texts) => std::str::from_utf8(texts.get(self.row)?.as_ref()?.data()).ok(),
            _ => None,
        }
    }

    /// A whole number, or microseconds since 1970; `None` for NULL.
    pub fn whole(&self, column: &str) -> Option<i64> {
        match self.values(column)? {
            Values::Whole(numbers) => *numbers.get(self.row)?,
            _ => None,
        }
    }

    /// A number; `None` for NULL.
    pub fn number(&self, column: &str) -> Option<f64> {
        match self.values(column)? {
            Values::Number(numbers) => *numbers.get(self.row)?,
            _ => None,
        }
    }

    /// A yes or no; `None` for NULL.
    pub fn flag(&self, column: &str) -> Option<bool> {
        match self.values(column)? {
            Values::Flag(flags) => *flags.get(self.row)?,
            _ => None,
        }
    }

    /// Octets; `None` for NULL.
    pub fn octets(&self, column: &str) -> Option<&[u8]> {
        match self.values(column)? {
            Values::Octets(octets) => Some(octets.get(self.row)?.as_ref()?.data()),
            _ => None,
        }
    }

    /// The text of a name in a map; `None` if the map does not have it.
    pub fn entry(&self, column: &str, name: &str) -> Option<&str> {
        match self.values(column)? {
            Values::Map(map) => map.entry(self.row, name),
            _ => None,
        }
    }

    /// The names of a map with their texts.
    pub fn entries(&self, column: &str) -> Vec<(String, String)> {
        match self.values(column) {
            Some(Values::Map(map)) => map.entries(self.row),
            _ => Vec::new(),
        }
    }

    /// How many texts a list has.
    pub fn length(&self, column: &str) -> Option<usize> {
        match self.values(column)? {
            Values::Lengths(lengths) => lengths.get(self.row).map(|length| *length as usize),
            _ => None,
        }
    }
}

/// The rows of a file, with these columns of them.
///
/// # Errors
/// It cannot be read, is no Parquet file, or is larger than what is read.
pub fn rows(path: &Path, columns: &[&str]) -> Result<Vec<Record>> {
    let unreadable = |source| DatasetError::Unreadable(path.into(), source);
    let file = File::open(path).map_err(unreadable)?;
    let again = file.try_clone().map_err(unreadable)?;
    read(file, &again, columns).map_err(|error| DatasetError::Parquet(path.into(), error))
}

/// The same of an open file; `again` is the same file, whose headers are checked first.
fn read(
    file: impl ChunkReader + 'static,
    again: &impl ChunkReader,
    columns: &[&str],
) -> Attempt<Vec<Record>> {
    bounds::check_footer(again)?;
    let (rows, columns) = panics::caught(|| {
        let reader = SerializedFileReader::new(file)?;
        let rows = bounds::rows(reader.metadata())?;
        Ok((rows, column::read(&reader, again, columns)?))
    })?;
    let table = Rc::new(Table { columns });
    Ok((0..rows).map(|row| Record { table: table.clone(), row }).collect())
}

/// A file in memory, for tests and the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn rows_of_octets(octets: &[u8], columns: &[&str]) -> Attempt<Vec<Record>> {
    let file = bytes::Bytes::copy_from_slice(octets);
    read(file.clone(), &file, columns)
}
