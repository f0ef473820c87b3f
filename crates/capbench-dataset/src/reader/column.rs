//! Reads the columns of a file into memory. A text is a part of the page that it was read from, not a copy.

use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::Result as Attempt;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::bounds::{Sizes, refuse};

/// Rows that are read at a time.
const BATCH: usize = 4096;
/// Octets of a text.
const LONGEST_TEXT: usize = 16 << 10;
/// Octets of the texts of all rows of a file, each time that a row has one.
const MOST_TEXT: usize = 32 << 20;

/// The values of a column, one for each row.
#[derive(Debug)]
pub(super) enum Values {
    Text(Vec<Option<ByteArray>>),
    Octets(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    /// How many texts each list has.
    Lengths(Vec<u32>),
    Map(Map),
}

/// The maps of a column.
#[derive(Debug, Default)]
pub(super) struct Map {
    names: Lists,
    texts: Lists,
}

impl Map {
    pub(super) fn entry(&self, row: usize, name: &str) -> Option<&str> {
        let nth = self.names.of_row(row).iter().position(|known| known.data() == name.as_bytes())?;
        std::str::from_utf8(self.texts.of_row(row).get(nth)?.data()).ok()
    }

    pub(super) fn entries(&self, row: usize) -> Vec<(String, String)> {
        let names = self.names.of_row(row).iter().map(text);
        names.zip(self.texts.of_row(row).iter().map(text)).collect()
    }
}

/// A text that was checked when it was read.
fn text(octets: &ByteArray) -> String {
    String::from_utf8_lossy(octets.data()).into_owned()
}

/// Several texts for each row.
#[derive(Debug, Default)]
struct Lists {
    /// Where the texts of each row end.
    ends: Vec<usize>,
    texts: Vec<ByteArray>,
}

impl Lists {
    fn of_row(&self, row: usize) -> &[ByteArray] {
        let Some(end) = self.ends.get(row) else { return &[] };
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..*end]
    }
}

/// What a column of a file is for capbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Text,
    Octets,
    Whole,
    Number,
    Flag,
    List,
    MapNames,
    MapTexts,
}

impl Shape {
    /// `None` for a column of another type: its values are not known.
    fn of(column: &ColumnDescriptor) -> Option<Self> {
        let is_text = column.converted_type() == ConvertedType::UTF8;
        let depth = column.path().parts().len();
        let last = column.path().parts().last()?.as_str();
        match (column.max_rep_level(), depth, column.physical_type()) {
            (0, 1, Physical::BYTE_ARRAY) => Some(if is_text { Self::Text } else { Self::Octets }),
            (0, 1, Physical::INT64) => match column.converted_type() {
                ConvertedType::NONE | ConvertedType::INT_64 | ConvertedType::TIMESTAMP_MICROS => {
                    Some(Self::Whole)
                }
                _ => None,
            },
            (0, 1, Physical::DOUBLE) => Some(Self::Number),
            (0, 1, Physical::BOOLEAN) => Some(Self::Flag),
            (1, 3, Physical::BYTE_ARRAY) if last == "key" => Some(Self::MapNames),
            (1, 3, Physical::BYTE_ARRAY) if last == "value" => Some(Self::MapTexts),
            (1, 3, Physical::BYTE_ARRAY) => Some(Self::List),
            _ => None,
        }
    }

    fn empty(self) -> Values {
        match self {
            Self::Text => Values::Text(Vec::new()),
            Self::Octets => Values::Octets(Vec::new()),
            Self::Whole => Values::Whole(Vec::new()),
            Self::Number => Values::Number(Vec::new()),
            Self::Flag => Values::Flag(Vec::new()),
            Self::List => Values::Lengths(Vec::new()),
            Self::MapNames | Self::MapTexts => Values::Map(Map::default()),
        }
    }
}

/// The columns with these names. `file` is the same file, for the headers of its pages.
pub(super) fn read<R: ChunkReader + 'static>(
    reader: &SerializedFileReader<R>,
    file: &impl ChunkReader,
    wanted: &[&str],
) -> Attempt<Vec<(String, Values)>> {
    let mut columns: Vec<(String, Values)> = Vec::new();
    let mut sizes = Sizes::default();
    let mut texts = Texts::default();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| refuse("a row group has less than 0 rows"))?;
        for nth in 0..group.num_columns() {
            let chunk = group.metadata().column(nth);
            let column = chunk.column_descr();
            let Some(name) = column.path().parts().first().filter(|name| wanted.contains(&name.as_str()))
            else {
                continue;
            };
            let Some(shape) = Shape::of(column) else { continue };
            sizes.add(file, chunk)?;
            let at = columns.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                columns.push((name.clone(), shape.empty()));
                columns.len() - 1
            });
            let part = Part { shape, column, reader: group.get_column_reader(nth)?, rows };
            part.add_to(&mut columns[at].1, &mut texts)?;
        }
    }
    Ok(columns)
}

/// A column of a row group.
struct Part<'c> {
    shape: Shape,
    column: &'c ColumnDescriptor,
    reader: ColumnReader,
    rows: usize,
}

impl Part<'_> {
    /// Adds its values to those of the row groups before it.
    fn add_to(self, values: &mut Values, texts: &mut Texts) -> Attempt<()> {
        let Self { shape, column, reader, rows } = self;
        match (values, reader) {
            (Values::Text(known), ColumnReader::ByteArrayColumnReader(reader)) => {
                flat(known, reader, rows)?;
                known[known.len() - rows..].iter().flatten().try_for_each(|text| texts.check(text))
            }
            (Values::Octets(known), ColumnReader::ByteArrayColumnReader(reader)) => flat(known, reader, rows),
            (Values::Whole(known), ColumnReader::Int64ColumnReader(reader)) => flat(known, reader, rows),
            (Values::Number(known), ColumnReader::DoubleColumnReader(reader)) => flat(known, reader, rows),
            (Values::Flag(known), ColumnReader::BoolColumnReader(reader)) => flat(known, reader, rows),
            (Values::Lengths(known), ColumnReader::ByteArrayColumnReader(reader)) => {
                let mut lists = Lists::default();
                repeated(&mut lists, reader, column, rows)?;
                // `bounds` limits the values of a column.
                known.extend((0..rows).map(|row| lists.of_row(row).len() as u32));
                Ok(())
            }
            (Values::Map(map), ColumnReader::ByteArrayColumnReader(reader)) => {
                let lists = if shape == Shape::MapNames { &mut map.names } else { &mut map.texts };
                let before = lists.texts.len();
                repeated(lists, reader, column, rows)?;
                lists.texts[before..].iter().try_for_each(|text| texts.check(text))
            }
            _ => Err(refuse("two columns have the same name")),
        }
    }
}

/// A column with one value or NULL for each row.
fn flat<T: DataType>(
    known: &mut Vec<Option<T::T>>,
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
) -> Attempt<()> {
    let mut left = rows;
    while left > 0 {
        let (mut defined, mut values) = (Vec::new(), Vec::new());
        let (records, _, _) = reader.read_records(left.min(BATCH), Some(&mut defined), None, &mut values)?;
        if records == 0 || records > left {
            return Err(refuse("a column has fewer rows than the file"));
        }
        let mut values = values.into_iter();
        // Without NULLs there are no levels.
        known.extend((0..records).map(|nth| match defined.get(nth) {
            Some(0) => None,
            _ => values.next(),
        }));
        left -= records;
    }
    Ok(())
}

/// A column with several values for each row: the repetition level of the first one is 0.
fn repeated(
    lists: &mut Lists,
    mut reader: ColumnReaderImpl<ByteArrayType>,
    column: &ColumnDescriptor,
    rows: usize,
) -> Attempt<()> {
    let mut left = rows;
    while left > 0 {
        let (mut defined, mut repeats, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (records, _, levels) =
            reader.read_records(left.min(BATCH), Some(&mut defined), Some(&mut repeats), &mut values)?;
        if records == 0 || records > left || defined.len() != levels || repeats.len() != levels {
            return Err(refuse("a list has fewer rows than the file"));
        }
        let mut values = values.into_iter();
        for (defined, repeat) in defined.iter().zip(&repeats) {
            if *repeat == 0 {
                lists.ends.push(lists.texts.len());
            }
            // An empty list has a level, and no value.
            if *defined == column.max_def_level() {
                lists.texts.extend(values.next());
                if let Some(end) = lists.ends.last_mut() {
                    *end = lists.texts.len();
                }
            }
        }
        left -= records;
    }
    Ok(())
}

/// The texts of all rows so far.
#[derive(Debug, Default)]
struct Texts {
    octets: usize,
}

impl Texts {
    fn check(&mut self, text: &ByteArray) -> Attempt<()> {
        if std::str::from_utf8(text.data()).is_err() {
            return Err(refuse("a text is no UTF-8"));
        }
        self.octets = self.octets.saturating_add(text.len());
        if text.len() > LONGEST_TEXT || self.octets > MOST_TEXT {
            return Err(refuse(format!(
                "its rows have texts of more than {MOST_TEXT} octets, or one of more than {LONGEST_TEXT}"
            )));
        }
        Ok(())
    }
}
