//! A column of a table as data: its name, where its value comes from, and the function that finds the value in a row.
//!
//! `trials.csv`, tidy rows, the table of trials in reports, and Parquet files have their columns as this type.

use std::collections::BTreeMap;

/// A function that finds a value in a row.
type Find<'t, R, T> = Box<dyn Fn(&R) -> T + 't>;

/// The type of a column's values, with the function that finds them in a row. `None` is unknown: empty in CSV, NULL in Parquet.
pub enum Values<'t, R> {
    /// Text in UTF-8.
    Text(Find<'t, R, Option<String>>),
    /// Counts.
    Count(Find<'t, R, Option<u64>>),
    /// Whole numbers that can be negative.
    Signed(Find<'t, R, Option<i64>>),
    /// Measured or computed numbers.
    Number(Find<'t, R, Option<f64>>),
    /// Yes or no.
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

/// A column of a table with rows `R`.
pub struct Column<'t, R> {
    /// Its name.
    pub name: &'static str,
    /// Where its values come from: a member of results.json.
    pub origin: &'static str,
    /// Its values.
    pub values: Values<'t, R>,
}

impl<'t, R: 't> Column<'t, R> {
    /// A column of text.
    pub fn text(name: &'static str, origin: &'static str, find: impl Fn(&R) -> Option<String> + 't) -> Self {
        Self { name, origin, values: Values::Text(Box::new(find)) }
    }

    /// A column of counts.
    pub fn count(name: &'static str, origin: &'static str, find: impl Fn(&R) -> Option<u64> + 't) -> Self {
        Self { name, origin, values: Values::Count(Box::new(find)) }
    }

    /// A column of whole numbers that can be negative.
    pub fn signed(name: &'static str, origin: &'static str, find: impl Fn(&R) -> Option<i64> + 't) -> Self {
        Self { name, origin, values: Values::Signed(Box::new(find)) }
    }

    /// A column of measured or computed numbers.
    pub fn number(name: &'static str, origin: &'static str, find: impl Fn(&R) -> Option<f64> + 't) -> Self {
        Self { name, origin, values: Values::Number(Box::new(find)) }
    }

    /// A column of yes or no.
    pub fn flag(name: &'static str, origin: &'static str, find: impl Fn(&R) -> Option<bool> + 't) -> Self {
        Self { name, origin, values: Values::Flag(Box::new(find)) }
    }

    /// The same column in a table with rows `W`, which contain an `R`: `part_of_row` gives it.
    pub fn in_rows<W: 't>(self, part_of_row: fn(&W) -> &R) -> Column<'t, W> {
        let values = match self.values {
            Values::Text(find) => Values::Text(Box::new(move |row| find(part_of_row(row)))),
            Values::Count(find) => Values::Count(Box::new(move |row| find(part_of_row(row)))),
            Values::Signed(find) => Values::Signed(Box::new(move |row| find(part_of_row(row)))),
            Values::Number(find) => Values::Number(Box::new(move |row| find(part_of_row(row)))),
            Values::Flag(find) => Values::Flag(Box::new(move |row| find(part_of_row(row)))),
            Values::Time(find) => Values::Time(Box::new(move |row| find(part_of_row(row)))),
            Values::Octets(find) => Values::Octets(Box::new(move |row| find(part_of_row(row)))),
            Values::Map(find) => Values::Map(Box::new(move |row| find(part_of_row(row)))),
            Values::List(find) => Values::List(Box::new(move |row| find(part_of_row(row)))),
        };
        Column { name: self.name, origin: self.origin, values }
    }

    /// The same column, with empty text as unknown.
    #[must_use]
    pub fn with_empty_text_as_unknown(self) -> Self {
        match self.values {
            Values::Text(find) => {
                Self::text(self.name, self.origin, move |row| find(row).filter(|text| !text.is_empty()))
            }
            values => Self { values, ..self },
        }
    }

    /// The value of a row as a CSV file has it: empty if it is unknown.
    pub fn csv_field(&self, row: &R) -> String {
        match &self.values {
            Values::Text(find) => find(row).unwrap_or_default(),
            Values::Count(find) => field_of(find(row)),
            Values::Signed(find) | Values::Time(find) => field_of(find(row)),
            Values::Number(find) => field_of(find(row)),
            Values::Flag(find) => field_of(find(row)),
            Values::List(find) => find(row).join("; "),
            Values::Map(find) => {
                let mut named_texts = Vec::new();
                for (name, text) in find(row) {
                    named_texts.push(format!("{name}={text}"));
                }
                named_texts.join("; ")
            }
            Values::Octets(find) => {
                let mut hexadecimal = String::new();
                for octet in find(row).unwrap_or_default() {
                    hexadecimal += &format!("{octet:02x}");
                }
                hexadecimal
            }
        }
    }
}

/// A known value as text; empty if it is unknown.
fn field_of<T: ToString>(value: Option<T>) -> String {
    match value {
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, Column, Values};

    /// A row of a table, with a trial as a part of it.
    struct Row {
        trial: Trial,
    }

    struct Trial {
        method: &'static str,
        count: Option<u64>,
    }

    fn row(method: &'static str, count: Option<u64>) -> Row {
        Row { trial: Trial { method, count } }
    }

    #[test]
    fn a_column_reads_a_part_of_the_row_and_unknown_is_empty() {
        let count = Column::count("count", "", |trial: &Trial| trial.count);
        let count = count.in_rows(|row: &Row| &row.trial);
        assert_eq!(count.csv_field(&row("", Some(3))), "3");
        assert_eq!(count.csv_field(&row("", None)), "");
    }

    #[test]
    fn empty_text_can_be_unknown() {
        let method = Column::text("method", "", |trial: &Trial| Some(trial.method.into()));
        let method = method.in_rows(|row: &Row| &row.trial).with_empty_text_as_unknown();
        let Values::Text(find) = &method.values else { panic!("a column of text") };
        assert_eq!(find(&row("recv", None)), Some("recv".into()));
        assert_eq!(find(&row("", None)), None);
    }

    #[test]
    fn every_kind_of_value_has_a_csv_field() {
        let values: [(Values<'_, ()>, &str); 4] = [
            (Values::Time(Box::new(|()| Some(-1))), "-1"),
            (Values::Octets(Box::new(|()| Some(vec![0, 255]))), "00ff"),
            (Values::List(Box::new(|()| vec!["a".into(), "b".into()])), "a; b"),
            (Values::Map(Box::new(|()| BTreeMap::from([("a".into(), "1".into())]))), "a=1"),
        ];
        for (values, field) in values {
            assert_eq!(Column { name: "", origin: "", values }.csv_field(&()), field);
        }
    }
}
