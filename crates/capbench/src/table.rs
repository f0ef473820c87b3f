//! Plain tables for terminals and pipes.

use std::fmt;

/// A table of text; numbers to the right, words to the left.
#[derive(Debug)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads.
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row of as many fields as there are heads.
    pub fn row(&mut self, fields: Vec<String>) {
        debug_assert_eq!(fields.len(), self.head.len());
        self.rows.push(fields);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.head[column].chars().count()]).max().unwrap_or(0)
        };
        let is_number = |column: usize| {
            let mut cells =
                self.rows.iter().map(|row| row[column].as_str()).filter(|cell| *cell != "-").peekable();
            cells.peek().is_some()
                && cells.all(|cell| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
        };
        let widths: Vec<_> = (0..self.head.len()).map(|column| (width(column), is_number(column))).collect();
        let line = |f: &mut fmt::Formatter<'_>, cells: Vec<&str>| {
            let mut text = String::new();
            for (cell, &(width, number)) in cells.iter().zip(&widths) {
                if number {
                    text.push_str(&format!("{cell:>width$}  "));
                } else {
                    text.push_str(&format!("{cell:<width$}  "));
                }
            }
            writeln!(f, "{}", text.trim_end())
        };
        line(f, self.head.clone())?;
        for row in &self.rows {
            line(f, row.iter().map(String::as_str).collect())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_stand_right_and_words_left() {
        let mut table = Table::new(&["method", "lost", "where"]);
        table.row(vec!["recv".into(), "12".into(), "ring".into()]);
        table.row(vec!["packet-v3".into(), "-".into(), "-".into()]);
        assert_eq!(table.to_string(), "method     lost  where\nrecv         12  ring\npacket-v3     -  -\n");
    }
}
