//! How to build tables: columns named by the keys of results files, and cells with values that may be unknown.

use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::Profile;

use crate::groups::Group;
use crate::model::{Cell, Column, Narrow, Row, Table, Trials, Unit};

impl Column {
    pub(crate) fn new(key: &str, heading: &str, unit: Unit) -> Self {
        Self { key: key.into(), heading: heading.into(), unit, narrow: Narrow::default() }
    }

    pub(crate) fn words(key: &str, heading: &str) -> Self {
        Self::new(key, heading, Unit::None)
    }

    /// A column whose key contains its unit, as in results files: `delivered_pps`.
    pub(crate) fn named(key: &str, heading: &str) -> Self {
        Self::new(key, heading, unit_of(key))
    }

    /// The same, omitted if there is no room for all columns.
    pub(crate) fn detail(self) -> Self {
        Self { narrow: Narrow::Absent, ..self }
    }

    /// The same, in pages and files only.
    pub(crate) fn files_only(self) -> Self {
        Self { narrow: Narrow::FilesOnly, ..self }
    }

    /// The same, with intervals even if there is no room for all columns.
    pub(crate) fn whole(self) -> Self {
        Self { narrow: Narrow::Whole, ..self }
    }
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Text; `None` is empty.
    pub(crate) fn words(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Empty, |text| Self::Text(text.into()))
    }

    /// A count; `None` is unknown.
    pub(crate) fn count(count: Option<u64>) -> Self {
        count.map_or(Self::Unknown, Self::Count)
    }

    /// A number; `None` is unknown.
    pub(crate) fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Unknown, Self::Number)
    }

    /// A number; `None` is empty.
    pub(crate) fn where_known(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Empty, Self::Number)
    }

    /// Repeats: their median, with its interval if it has one.
    pub(crate) fn estimate(estimate: Option<&Estimate>) -> Self {
        match estimate {
            None => Self::Unknown,
            Some(Estimate { median, low: Some(low), high: Some(high), .. }) => {
                Self::Interval { middle: *median, low: *low, high: *high }
            }
            Some(one) => Self::number(Some(one.median)),
        }
    }

    /// The median of numbers with its interval; unknown if one number is unknown.
    pub(crate) fn median(numbers: impl IntoIterator<Item = Option<f64>>) -> Self {
        let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
        Self::estimate(numbers.and_then(Estimate::of).as_ref())
    }
}

/// Text; `None` is empty.
impl<T: Into<String>> From<Option<T>> for Cell {
    fn from(text: Option<T>) -> Self {
        Self::words(text)
    }
}

macro_rules! cells {
    ($($value:ty => $cell:expr),* $(,)?) => {
        $(impl From<$value> for Cell {
            fn from(value: $value) -> Self {
                $cell(value)
            }
        })*
    };
}

cells! {
    &str => Cell::text,
    String => Cell::Text,
    u64 => Cell::Count,
    u32 => |count| Cell::Count(u64::from(count)),
    usize => |count| Cell::Count(count as u64),
    i64 => Cell::Signed,
    // Unknown if not finite.
    f64 => |number| Cell::number(Some(number)),
    &Estimate => |estimate| Cell::estimate(Some(estimate)),
}

/// Function that makes a column's cell from a row.
type Find<'c, R> = Box<dyn Fn(&R) -> Cell + 'c>;

/// The columns of a table with rows `R`: each has its heading and a function that makes its cell.
pub(crate) struct Columns<'c, R>(Vec<(Column, Find<'c, R>)>);

impl<'c, R: 'c> Columns<'c, R> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with<C: Into<Cell>>(mut self, head: Column, find: impl Fn(&R) -> C + 'c) -> Self {
        self.0.push((head, Box::new(move |row| find(row).into())));
        self
    }

    pub(crate) fn words<C: Into<Cell>>(self, key: &str, heading: &str, find: impl Fn(&R) -> C + 'c) -> Self {
        self.with(Column::words(key, heading), find)
    }

    pub(crate) fn count<C: Into<Cell>>(self, key: &str, heading: &str, find: impl Fn(&R) -> C + 'c) -> Self {
        self.with(Column::new(key, heading, Unit::Count), find)
    }

    pub(crate) fn named<C: Into<Cell>>(self, key: &str, heading: &str, find: impl Fn(&R) -> C + 'c) -> Self {
        self.with(Column::named(key, heading), find)
    }

    /// Adds the columns of a part of each row.
    pub(crate) fn part<P: 'c>(
        mut self,
        columns: Columns<'c, P>,
        part: impl Fn(&R) -> P + Clone + 'c,
    ) -> Self {
        self.0.extend(columns.0.into_iter().map(|(head, find)| {
            let part = part.clone();
            (head, Box::new(move |row: &R| find(&part(row))) as Find<'c, R>)
        }));
        self
    }

    /// The table, or `None` without rows; `trials` returns the trials behind a row.
    pub(crate) fn table(
        self,
        id: &str,
        caption: &str,
        rows: impl IntoIterator<Item = R>,
        trials: impl Fn(&R) -> Trials,
    ) -> Option<Table> {
        let (heads, find): (Vec<Column>, Vec<Find<'c, R>>) = self.0.into_iter().unzip();
        let row = |row: R| Row::new(find.iter().map(|find| find(&row)).collect(), trials(&row));
        Table::with_rows(id, caption, heads, rows.into_iter().map(row).collect())
    }
}

pub(super) fn set_up<'c>() -> Columns<'c, &'c Profile> {
    Columns::new()
        .words("frame_size", "frame size", |profile: &&Profile| profile.frame_size.to_string())
        .words("placement", "placement", |profile| profile.placement.to_string())
        .words("work", "work", |profile| profile.work.to_string())
        .words("method", "method", |profile| profile.method.to_string())
}

/// Columns that identify a group of trials.
pub(super) fn group<'c>() -> Columns<'c, &'c Group<'c>> {
    Columns::new()
        .part(set_up(), |group: &&'c Group<'c>| &group.trials[0].profile)
        .words("what", "run for", |group| group.purpose.as_str())
        .words("load", "load", |group| group.load.as_str())
}

impl Row {
    pub(crate) fn new(cells: Vec<Cell>, trials: Trials) -> Self {
        Self { cells, trials }
    }
}

impl Table {
    /// A table, or `None` without rows.
    pub(crate) fn with_rows(id: &str, caption: &str, columns: Vec<Column>, rows: Vec<Row>) -> Option<Self> {
        debug_assert!(
            rows.iter().all(|row| row.cells.len() == columns.len()),
            "{id}: a row has other cells than columns"
        );
        (!rows.is_empty()).then(|| Self {
            id: id.into(),
            caption: caption.into(),
            columns,
            rows,
            notes: Vec::new(),
            is_main: false,
        })
    }

    /// The same, shown also on a terminal.
    pub(crate) fn main(self) -> Self {
        Self { is_main: true, ..self }
    }

    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes.into_iter().filter(|note| !note.is_empty()));
        self
    }

    /// The same without columns that are empty in all rows.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let says = |nth: usize| {
            self.rows.iter().any(|row| row.cells.get(nth).is_some_and(|cell| *cell != Cell::Empty))
        };
        let says: Vec<bool> = (0..self.columns.len()).map(says).collect();
        for row in &mut self.rows {
            let mut says = says.iter();
            row.cells.retain(|_| says.next().is_none_or(|says| *says));
        }
        let mut says = says.iter();
        self.columns.retain(|_| says.next().is_none_or(|says| *says));
        self
    }
}

/// Suffixes of keys in results files with their units, the longest first.
const ENDS: [(&str, Unit); 14] = [
    ("_ns_per_packet_at_most", Unit::NanosecondsPerPacket),
    ("_ns_per_packet", Unit::NanosecondsPerPacket),
    ("_ns_per_iteration", Unit::Nanoseconds),
    ("_per_second", Unit::PerSecond),
    ("_frame_size", Unit::Bytes),
    ("_iterations", Unit::Iterations),
    ("_packets", Unit::Count),
    ("_frames", Unit::Count),
    ("_bytes", Unit::Bytes),
    ("_ratio", Unit::Ratio),
    ("_cores", Unit::Cores),
    ("_pps", Unit::PacketsPerSecond),
    ("_ns", Unit::Nanoseconds),
    ("_s", Unit::Seconds),
];

/// The unit in the suffix of a results file's key.
pub(crate) fn unit_of(key: &str) -> Unit {
    ENDS.iter().find(|(end, _)| key.ends_with(end)).map_or(Unit::None, |(_, unit)| *unit)
}

/// A results file's key as words, without its unit: `netdev_max_backlog` is "netdev max backlog".
pub(crate) fn words_of(key: &str) -> String {
    let short = match unit_of(key) {
        Unit::Bytes
        | Unit::PacketsPerSecond
        | Unit::Nanoseconds
        | Unit::Seconds
        | Unit::NanosecondsPerPacket => {
            let end = ENDS.iter().find(|(end, _)| key.ends_with(end) && *end != "_frame_size");
            end.and_then(|(end, _)| key.strip_suffix(end)).unwrap_or(key)
        }
        _ => key,
    };
    let at_most = if key.ends_with("_at_most") { " at most" } else { "" };
    format!("{}{at_most}", short.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_units() {
        assert_eq!(unit_of("delivered_pps"), Unit::PacketsPerSecond);
        assert_eq!(unit_of("app_ns_per_packet_at_most"), Unit::NanosecondsPerPacket);
        assert_eq!(unit_of("mean_frame_size"), Unit::Bytes);
        assert_eq!(unit_of("method"), Unit::None);
        assert_eq!(words_of("kernel_ns_per_packet"), "kernel");
        assert_eq!(words_of("app_ns_per_packet_at_most"), "app at most");
        assert_eq!(words_of("mean_frame_size"), "mean frame size");
        assert_eq!(words_of("netdev_max_backlog"), "netdev max backlog");
    }

    #[test]
    fn columns_that_say_nothing_are_left_out_and_unknown_is_something() {
        let columns = vec![Column::words("a", "a"), Column::words("b", "b"), Column::words("c", "c")];
        let rows = vec![Row::new(vec![Cell::Empty, Cell::Unknown, Cell::text("x")], vec![1])];
        let table = Table::with_rows("t", "", columns, rows).unwrap().without_empty_columns();
        let keys: Vec<_> = table.columns.iter().map(|column| column.key.as_str()).collect();
        assert_eq!((keys, table.rows[0].cells.len()), (vec!["b", "c"], 2));
        assert_eq!(Table::with_rows("t", "", vec![], vec![]), None);
    }

    #[test]
    fn the_median_of_unknown_numbers_is_unknown() {
        assert_eq!(Cell::median([Some(1.0), None]), Cell::Unknown);
        assert_eq!(Cell::median([Some(1.0)]), Cell::Number(1.0));
        assert_eq!(Cell::median([Some(1.0), Some(3.0)]), Cell::Interval { middle: 2.0, low: 1.0, high: 3.0 });
    }
}
