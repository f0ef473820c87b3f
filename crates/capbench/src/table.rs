//! Plain tables for terminals and pipes.

use std::fmt;

use capbench_report::printable;

/// A table of text; numbers to the right, words to the left.
#[derive(Debug)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    label_width: usize,
    columns: usize,
}

impl Table {
    /// A table with these column heads.
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new(), label_width: usize::MAX, columns: usize::MAX }
    }

    /// The same, with longer labels in the first column on lines of their own above their rows.
    #[must_use]
    pub fn with_labels_up_to(self, label_width: usize) -> Self {
        Self { label_width, ..self }
    }

    /// The same in lines of so many columns at most: labels that leave too little to the other fields have lines of their
    /// own, and where that is not enough, fields stand nearer to each other. Fields are never cut.
    #[must_use]
    pub fn within(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// Adds a row of as many fields as there are heads.
    pub fn row(&mut self, fields: Vec<String>) {
        debug_assert_eq!(fields.len(), self.head.len());
        self.rows.push(fields.iter().map(|field| printable::line(field)).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize, most: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            let cells = cells.filter(|&width| width <= most);
            cells.chain([self.head[column].chars().count()]).max().unwrap_or(0)
        };
        let fields: usize = (1..self.head.len()).map(|column| width(column, usize::MAX)).sum();
        // What is left to labels, with so many blanks behind each.
        let left = |gap: usize| self.columns.saturating_sub(fields + gap * (self.head.len() - 1));
        let gap = if left(2) >= width(0, 0) { 2 } else { 1 };
        let label_width = self.label_width.min(left(gap));
        let is_number = |column: usize| {
            let mut cells =
                self.rows.iter().map(|row| row[column].as_str()).filter(|cell| *cell != "-").peekable();
            cells.peek().is_some()
                && cells.all(|cell| cell.starts_with(|c: char| c.is_ascii_digit() || "+-<".contains(c)))
        };
        let widths: Vec<_> = (0..self.head.len())
            .map(|column| {
                (width(column, if column == 0 { label_width } else { usize::MAX }), is_number(column))
            })
            .collect();
        let line = |f: &mut fmt::Formatter<'_>, cells: Vec<&str>| {
            let mut text = String::new();
            for (cell, &(width, number)) in cells.iter().zip(&widths) {
                if number {
                    text.push_str(&format!("{cell:>width$}"));
                } else {
                    text.push_str(&format!("{cell:<width$}"));
                }
                text.push_str(&" ".repeat(gap));
            }
            writeln!(f, "{}", text.trim_end())
        };
        line(f, self.head.clone())?;
        for row in &self.rows {
            let mut cells: Vec<_> = row.iter().map(String::as_str).collect();
            if cells[0].chars().count() > label_width {
                writeln!(f, "{}", cells[0])?;
                cells[0] = "";
            }
            line(f, cells)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn a_long_label_has_a_line_of_its_own() {
        let mut table = Table::new(&["method", "lost"]).with_labels_up_to(8);
        table.row(vec!["recv".into(), "12".into()]);
        table.row(vec!["libpcap:/opt/lib".into(), "3".into()]);
        assert_eq!(table.to_string(), "method  lost\nrecv      12\nlibpcap:/opt/lib\n           3\n");
    }

    #[test]
    fn fields_that_need_room_take_it_from_labels_and_then_from_the_gaps() {
        let table = |columns| {
            let mut table = Table::new(&["method", "lost"]).within(columns);
            table.row(vec!["recv".into(), "12".into()]);
            table.row(vec!["packet-v3".into(), "3".into()]);
            table.to_string()
        };
        assert_eq!(table(15), "method     lost\nrecv         12\npacket-v3     3\n");
        assert_eq!(table(14), "method  lost\nrecv      12\npacket-v3\n           3\n");
        assert_eq!(table(11), "method lost\nrecv     12\npacket-v3\n          3\n");
    }

    #[test]
    fn numbers_stand_right_and_words_left() {
        let mut table = Table::new(&["method", "lost", "where"]);
        table.row(vec!["recv".into(), "12".into(), "ring".into()]);
        table.row(vec!["packet-v3".into(), "-".into(), "-".into()]);
        assert_eq!(table.to_string(), "method     lost  where\nrecv         12  ring\npacket-v3     -  -\n");
    }
}
