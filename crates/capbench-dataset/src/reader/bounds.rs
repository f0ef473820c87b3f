//! How much of a file is read. A file of a few kilobytes can say that it has gigabytes; so footer and page headers are looked at
//! before the library of Parquet reads them, and allocates what they say.

use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result as Attempt};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::ChunkReader;

use super::compact::{Kind, Reader};

/// Octets of a footer. One of capbench has 40 KB.
const MOST_FOOTER: u64 = 1 << 20;
/// Groups in groups of a schema. A map has three.
const DEEPEST_SCHEMA: usize = 8;
/// Rows of a file.
pub(super) const MOST_ROWS: u64 = 100_000;
/// Values of a column: a list has several for each row.
const MOST_VALUES: u64 = 1_000_000;
/// Octets of the pages of all columns that are read, when they are not compressed.
const MOST_OCTETS: u64 = 32 << 20;
/// Octets of a page's header.
const MOST_HEADER: u64 = 64 << 10;
/// The end of a file: the length of the footer, and four letters.
const TAIL: u64 = 8;

/// The error of a file that is damaged, or larger than what is read.
pub(super) fn refuse(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

/// Checks the footer before it is read.
pub(super) fn check_footer(file: &impl ChunkReader) -> Attempt<()> {
    let tail = file.len().checked_sub(TAIL).ok_or_else(|| refuse("it is too short"))?;
    let length = file.get_bytes(tail, 4)?;
    let length = u64::from(u32::from_le_bytes([length[0], length[1], length[2], length[3]]));
    if length > MOST_FOOTER {
        return Err(refuse(format!("its footer has {length} octets; up to {MOST_FOOTER} are read")));
    }
    let start = tail.checked_sub(length).ok_or_else(|| refuse("its footer is longer than the file"))?;
    let footer = file.get_bytes(start, length as usize)?;
    check_schema(&footer).map_err(refuse)
}

/// `FileMetaData` of parquet.thrift: the schema is its second field.
pub(super) fn check_schema(footer: &[u8]) -> Result<(), &'static str> {
    const SCHEMA: i64 = 2;
    let mut reader = Reader::new(footer);
    let mut id = 0;
    while let Some(kind) = reader.field(&mut id)? {
        if id == SCHEMA {
            Reader::require(kind, Kind::List)?;
            check_depth(&mut reader)?;
        } else {
            reader.skip(kind)?;
        }
    }
    Ok(())
}

/// The elements of a schema are a tree, each group before its children. Who builds it calls itself for each level.
fn check_depth(reader: &mut Reader<'_>) -> Result<(), &'static str> {
    const CHILDREN: i64 = 5;
    let (elements, kind) = reader.list()?;
    if kind != Kind::Struct {
        return Err("its schema is no list of elements");
    }
    // Children that are still to come, of each group on the way.
    let mut pending: Vec<i32> = Vec::new();
    for _ in 0..elements {
        let mut id = 0;
        let mut children = 0;
        while let Some(kind) = reader.field(&mut id)? {
            if id == CHILDREN {
                children = reader.number_in(kind)?;
            } else {
                Reader::require(kind, schema_kind(id).unwrap_or(kind))?;
                reader.skip(kind)?;
            }
        }
        while pending.last() == Some(&0) {
            pending.pop();
        }
        if let Some(last) = pending.last_mut() {
            *last -= 1;
        }
        if children > 0 {
            pending.push(children);
        }
        if pending.len() > DEEPEST_SCHEMA {
            return Err("its schema has too many groups in groups");
        }
    }
    Ok(())
}

/// The type of a field of `SchemaElement`.
fn schema_kind(id: i64) -> Option<Kind> {
    match id {
        4 => Some(Kind::Text),
        1..=9 => Some(Kind::Number),
        10 => Some(Kind::Struct),
        _ => None,
    }
}

/// How many rows a file has.
pub(super) fn rows(metadata: &ParquetMetaData) -> Attempt<usize> {
    let mut rows = 0u64;
    for group in metadata.row_groups() {
        let of_group =
            u64::try_from(group.num_rows()).map_err(|_| refuse("a row group has less than 0 rows"))?;
        rows = rows.saturating_add(of_group);
    }
    if rows > MOST_ROWS {
        return Err(refuse(format!(
            "it has {rows} rows; up to {MOST_ROWS} of a file are read, DuckDB reads more"
        )));
    }
    Ok(rows as usize)
}

/// What the pages that are read add up to.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    octets: u64,
}

/// What the header of a page says.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageHeader {
    uncompressed: i32,
    compressed: i32,
    /// Values of a data page, those that are NULL included; of a dictionary its values.
    values: i32,
    encoding: i32,
    is_dictionary: bool,
}

impl Sizes {
    /// Checks the pages of a column of a row group.
    pub(super) fn add(&mut self, file: &impl ChunkReader, column: &ColumnChunkMetaData) -> Attempt<()> {
        let damaged = || refuse("a column is outside of the file");
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let mut at = u64::try_from(start).map_err(|_| damaged())?;
        let length = u64::try_from(column.compressed_size()).map_err(|_| damaged())?;
        let end = at.checked_add(length).filter(|end| *end <= file.len()).ok_or_else(damaged)?;
        let mut values = 0u64;
        while at < end {
            let octets = file.get_bytes(at, (end - at).min(MOST_HEADER) as usize)?;
            let (header, length) = page_header(&octets).map_err(refuse)?;
            values = values.saturating_add(self.add_page(&header)?);
            let compressed = u64::try_from(header.compressed).map_err(|_| damaged())?;
            at = at.saturating_add(length).saturating_add(compressed);
        }
        if values > MOST_VALUES {
            return Err(refuse(format!("a column has {values} values; up to {MOST_VALUES} are read")));
        }
        Ok(())
    }

    /// Adds a page, and returns how many values of the column it has.
    fn add_page(&mut self, page: &PageHeader) -> Attempt<u64> {
        let damaged = || refuse("the header of a page is damaged");
        let octets = u64::try_from(page.uncompressed).map_err(|_| damaged())?;
        let values = u64::try_from(page.values).map_err(|_| damaged())?;
        self.octets = self.octets.saturating_add(octets);
        if self.octets > MOST_OCTETS {
            return Err(refuse(format!(
                "its columns have more than {MOST_OCTETS} octets, which is what is read"
            )));
        }
        if page.is_dictionary {
            // Each text begins with its length, and each number has as many octets or more.
            return if values <= octets / 4 { Ok(0) } else { Err(damaged()) };
        }
        // With the others a text is a part of the one before it, so that it need not be in the file.
        let is_plain = [Encoding::PLAIN, Encoding::PLAIN_DICTIONARY, Encoding::RLE, Encoding::RLE_DICTIONARY]
            .iter()
            .any(|known| *known as i32 == page.encoding);
        if is_plain { Ok(values) } else { Err(refuse("a page has an encoding that capbench does not write")) }
    }
}

/// `PageHeader` of parquet.thrift, and how many octets it has.
fn page_header(octets: &[u8]) -> Result<(PageHeader, u64), &'static str> {
    const DICTIONARY: i32 = 2;
    let mut reader = Reader::new(octets);
    let mut header = PageHeader::default();
    let mut id = 0;
    while let Some(kind) = reader.field(&mut id)? {
        match id {
            1 => header.is_dictionary = reader.number_in(kind)? == DICTIONARY,
            2 => header.uncompressed = reader.number_in(kind)?,
            3 => header.compressed = reader.number_in(kind)?,
            4 => _ = reader.number_in(kind)?,
            // The headers of a data page, of an index, of a dictionary and of a data page of version 2.
            5..=8 => {
                Reader::require(kind, Kind::Struct)?;
                content(&mut reader, &mut header, if id == 8 { 4 } else { 2 })?;
            }
            _ => reader.skip(kind)?,
        }
    }
    Ok((header, reader.position() as u64))
}

/// Each of them has the number of values in its first field, and the encoding in this one.
fn content(reader: &mut Reader<'_>, header: &mut PageHeader, encoding: i64) -> Result<(), &'static str> {
    const VALUES: i64 = 1;
    let mut id = 0;
    while let Some(kind) = reader.field(&mut id)? {
        match kind {
            Kind::Number if id == VALUES => header.values = reader.number_in(kind)?,
            Kind::Number if id == encoding => header.encoding = reader.number_in(kind)?,
            // The other fields of these structs are numbers, flags and structs.
            Kind::Number | Kind::Flag | Kind::Struct => reader.skip(kind)?,
            _ => return Err("a header of a page has a field of another type"),
        }
    }
    Ok(())
}
