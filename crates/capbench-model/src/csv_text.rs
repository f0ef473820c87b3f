//! CSV (RFC 4180) of untrusted names. A spreadsheet evaluates a cell that begins with `=`, `+`, `-` or `@`, also after a tab
//! or a carriage return. Such a name could read other cells or start a program. It gets a leading `'`, which marks text in
//! spreadsheets. Numbers stay numbers, also negative ones.

use std::borrow::Cow;

/// A CSV table under construction.
#[derive(Debug)]
pub struct CsvText(csv::Writer<Vec<u8>>);

impl CsvText {
    /// A table with these column names.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn new(heads: impl IntoIterator<Item = impl AsRef<str>>) -> csv::Result<Self> {
        let mut table = Self(csv::Writer::from_writer(Vec::new()));
        table.row(heads)?;
        Ok(table)
    }

    /// Adds a row with one cell per column.
    ///
    /// # Errors
    /// When the row has more or fewer cells.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) -> csv::Result<()> {
        for text in cells {
            self.0.write_field(cell(text.as_ref()).as_bytes())?;
        }
        self.0.write_record(None::<&[u8]>)
    }

    /// The file.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn into_octets(self) -> csv::Result<Vec<u8>> {
        self.0.into_inner().map_err(|error| error.into_error().into())
    }
}

/// A cell that is no formula. A text that begins with `'` gets another one, so that a reader can remove the first.
fn cell(text: &str) -> Cow<'_, str> {
    let is_risky = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\'']);
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if is_risky && !is_number() { format!("'{text}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn formulas_become_text_and_numbers_stay() {
        for formula in ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "-", "-inf", "'=1"]
        {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        for harmless in ["-7", "-0.5", "-1e-9", "+3", "12", "packet-v3", "a=b", "", "1=1"] {
            assert_eq!(cell(harmless), harmless);
        }
    }

    proptest! {
        #[test]
        fn a_reader_gets_back_what_was_written(texts in prop::collection::vec(any::<String>(), 2..5)) {
            let mut table = CsvText::new(texts.iter().map(|_| "head")).unwrap();
            table.row(&texts).unwrap();
            let octets = table.into_octets().unwrap();
            let read = csv::Reader::from_reader(octets.as_slice()).records().next().unwrap().unwrap();
            for (written, read) in texts.iter().zip(&read) {
                prop_assert!(!read.starts_with(['=', '@']));
                prop_assert_eq!(read.strip_prefix('\'').unwrap_or(read), written);
            }
        }
    }
}
