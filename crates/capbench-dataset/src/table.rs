//! What a table is: columns, each with its name, its type, the function that returns its value in a row, and where that value
//! comes from.

use std::collections::BTreeMap;

/// A function that returns the value of a row.
type Find<'t, R, T> = Box<dyn Fn(&R) -> T + 't>;

/// The type of a column, with the function that returns its value. `None` is unknown, NULL in the file.
pub enum Of<'t, R> {
    /// Text in UTF-8.
    Text(Find<'t, R, Option<String>>),
    /// A count. Files have it with a sign, because not every engine reads unsigned numbers.
    Count(Find<'t, R, Option<u64>>),
    /// A number that can be negative.
    Signed(Find<'t, R, Option<i64>>),
    /// A measured or computed number.
    Number(Find<'t, R, Option<f64>>),
    /// A yes or no.
    Flag(Find<'t, R, Option<bool>>),
    /// Microseconds since 1970, UTC.
    Time(Find<'t, R, Option<i64>>),
    /// Octets.
    Octets(Find<'t, R, Option<Vec<u8>>>),
    /// Texts by name; empty if there are none.
    Map(Find<'t, R, BTreeMap<String, String>>),
    /// Texts; empty if there are none.
    List(Find<'t, R, Vec<String>>),
}

impl<R> Of<'_, R> {
    /// The name of the type, as engines have it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Count(_) | Self::Signed(_) => "int64",
            Self::Number(_) => "double",
            Self::Flag(_) => "boolean",
            Self::Time(_) => "timestamp (µs, UTC)",
            Self::Octets(_) => "binary",
            Self::Map(_) => "map<string, string>",
            Self::List(_) => "list<string>",
        }
    }
}

/// A column.
pub struct Column<'t, R> {
    /// Its name.
    pub name: &'static str,
    /// Its type and value.
    pub of: Of<'t, R>,
    /// Where its value comes from: a member of results.json.
    pub from: &'static str,
}

impl<'t, R> Column<'t, R> {
    /// A column of text.
    pub fn text(name: &'static str, from: &'static str, of: impl Fn(&R) -> Option<String> + 't) -> Self {
        Self { name, of: Of::Text(Box::new(of)), from }
    }

    /// A column of counts.
    pub fn count(name: &'static str, from: &'static str, of: impl Fn(&R) -> Option<u64> + 't) -> Self {
        Self { name, of: Of::Count(Box::new(of)), from }
    }

    /// A column of measured or computed numbers.
    pub fn number(name: &'static str, from: &'static str, of: impl Fn(&R) -> Option<f64> + 't) -> Self {
        Self { name, of: Of::Number(Box::new(of)), from }
    }

    /// A column of numbers that can be negative.
    pub fn signed(name: &'static str, from: &'static str, of: impl Fn(&R) -> Option<i64> + 't) -> Self {
        Self { name, of: Of::Signed(Box::new(of)), from }
    }

    /// A column of yes or no.
    pub fn flag(name: &'static str, from: &'static str, of: impl Fn(&R) -> Option<bool> + 't) -> Self {
        Self { name, of: Of::Flag(Box::new(of)), from }
    }
}
