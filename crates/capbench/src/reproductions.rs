//! What a reproduction prints: its tables, published cells beside measured ones, then what has become of its claims. A pure
//! function of what is saved.

use std::fmt::Write;

use capbench_measure::reproduction::Reproduction;
use capbench_measure::reproduction::outcome::{Answer, Column, Comparison, Quantity, Side};

use crate::summary::{COLUMNS, wrapped};

/// What a table is separated by.
const GAP: &str = "  ";

/// All of a reproduction.
pub fn reproduction(reproduction: &Reproduction) -> String {
    let mut text = String::new();
    let Reproduction { key, title, source, then, here, .. } = reproduction;
    wrapped(&mut text, "", "  ", &format!("{key}: {title} ({source})"));
    wrapped(&mut text, "  Then: ", "    ", then);
    wrapped(&mut text, "  Here: ", "    ", &here.join(" "));
    if !reproduction.complete {
        text.push_str("  Not complete: what follows is of the trials that were finished.\n");
    }
    text.push('\n');
    for table in &reproduction.tables {
        text.push_str(&comparison(table));
        text.push('\n');
    }
    for answer in Answer::ALL {
        let mut of_answer =
            reproduction.findings.iter().filter(|finding| finding.answer == answer).peekable();
        if of_answer.peek().is_none() {
            continue;
        }
        let _ = writeln!(text, "  {answer}");
        for finding in of_answer {
            wrapped(&mut text, "  - ", "    ", &format!("{} {}", finding.claim, finding.text));
        }
    }
    text.push('\n');
    text
}

/// A table, in parts side by side where it is wider than a terminal.
pub fn comparison(table: &Comparison) -> String {
    let mut text = String::new();
    let unit = common_unit(table);
    let caption = unit.map_or_else(|| table.caption.clone(), |unit| format!("{} [{unit}]", table.caption));
    wrapped(&mut text, "  ", "    ", &caption);
    let label_width = table
        .rows
        .iter()
        .map(|row| width(&row.label))
        .chain([width(&table.rows_are.heading)])
        .max()
        .unwrap_or(0);
    let columns: Vec<Printed> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| Printed::new(table, at, column, unit.is_some()))
        .collect();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        let mut taken = 0;
        let mut used = 2 + label_width;
        while let Some(column) = rest.get(taken) {
            used += GAP.len() + column.width;
            if used > COLUMNS && taken > 0 {
                break;
            }
            taken += 1;
        }
        let (part, left) = rest.split_at(taken);
        block(&mut text, table, label_width, part);
        rest = left;
    }
    for note in &table.notes {
        wrapped(&mut text, "  ", "    ", note);
    }
    text
}

/// Columns that are printed beside each other.
fn block(text: &mut String, table: &Comparison, label_width: usize, columns: &[Printed]) {
    let heads = columns.iter().map(|column| column.head.len()).max().unwrap_or(0);
    let last = heads.saturating_sub(1);
    // A line of the head that says nothing is none.
    let is_said =
        |line: &usize| *line == last || columns.iter().any(|column| !column.head_line(*line).is_empty());
    for line in (0..heads).filter(is_said) {
        let label = if line == last { table.rows_are.heading.as_str() } else { "" };
        put(text, label, label_width, columns.iter().map(|column| (column.head_line(line), column.width)));
    }
    for (at, row) in table.rows.iter().enumerate() {
        let cell = |column: &Printed| (column.cells.get(at).cloned().unwrap_or_default(), column.width);
        put(text, &row.label, label_width, columns.iter().map(cell));
    }
}

fn put(text: &mut String, label: &str, label_width: usize, fields: impl Iterator<Item = (String, usize)>) {
    let mut line = format!("  {label:<label_width$}");
    for (field, width) in fields {
        let _ = write!(line, "{GAP}{field:>width$}");
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The unit of all columns but those that the plan gives; `None` where they differ.
fn common_unit(table: &Comparison) -> Option<&'static str> {
    let mut quantities = table.columns.iter().map(|column| column.quantity);
    let first = quantities.next()?;
    quantities.all(|quantity| quantity == first).then(|| first.unit()).filter(|unit| !unit.is_empty())
}

/// A column as it is printed.
struct Printed {
    head: Vec<String>,
    cells: Vec<String>,
    width: usize,
}

impl Printed {
    fn new(table: &Comparison, at: usize, column: &Column, has_common_unit: bool) -> Self {
        let side = match column.side {
            Side::Published => "published",
            Side::Here => "here",
            Side::Given => "",
        };
        let unit = if has_common_unit { "" } else { short(column.quantity) };
        let mut head: Vec<String> = vec![side.into()];
        // Names of methods are long where they have settings, and break there.
        head.extend(split(&column.method));
        head.extend([column.what.clone(), unit.into()].into_iter().filter(|line| !line.is_empty()));
        let cells: Vec<String> = table
            .rows
            .iter()
            .map(|row| row.cells.get(at).map_or_else(String::new, |cell| cell.text(column.quantity)))
            .collect();
        let width = head.iter().chain(&cells).map(|text| width(text)).max().unwrap_or(0);
        Self { head, cells, width }
    }

    /// A line of the head; the lines of all columns end together below.
    fn head_line(&self, line: usize) -> String {
        self.head.get(line).cloned().unwrap_or_default()
    }
}

/// A name in two lines where it has two words.
fn split(name: &str) -> Vec<String> {
    name.split_whitespace().map(String::from).collect()
}

/// The unit in a head.
fn short(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::PacketsPerSecond => "pkt/s",
        Quantity::BitsPerSecond => "Gbit/s",
        Quantity::Captured => "capt. %",
        other => other.unit(),
    }
}

#[cfg(test)]
mod published;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_measure::laboratory::Setup;
    use capbench_measure::reproduction::{self, Conditions, LeftOut, PUBLICATIONS, Reproduction, Scale};
    use capbench_measure::search::SearchOutcome;
    use capbench_measure::session;
    use capbench_measure::simulated::{SimulatedLaboratory, SimulatedMethod, setup};
    use capbench_measure::sweep::{self, SweepOutcome};
    use capbench_measure::trial::{Load, TrialResult};
    use capbench_measure::{MeasureError, Result};

    use super::reproduction as printed;

    /// Keeps the last of what it is told.
    #[derive(Default)]
    struct Last(Option<Reproduction>);

    impl session::Observer for Last {
        fn starts(&mut self, _: &str) {}
        fn ends(&mut self, _: &TrialResult) -> Result<()> {
            Ok(())
        }
        fn skips(&mut self, _: &Setup, _: Load, _: &MeasureError) {}
        fn stopping(&self) -> bool {
            false
        }
    }

    impl sweep::Observer for Last {
        fn swept(&mut self, _: SweepOutcome) {}
    }

    impl reproduction::Observer for Last {
        fn searched(&mut self, _: SearchOutcome) -> Result<()> {
            Ok(())
        }
        fn leaves_out(&mut self, _: &LeftOut) {}
        fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
            self.0 = Some(so_far);
            Ok(())
        }
    }

    pub(super) fn run(key: &str) -> Reproduction {
        let methods = [
            ("recv", 400_000.0, 900, 1200),
            ("libpcap", 1_100_000.0, 150, 900),
            ("packet-v1", 800_000.0, 250, 900),
            ("packet-v2", 900_000.0, 200, 900),
            ("packet-v3", 1_600_000.0, 100, 700),
            ("xdp-count+generic", 2e6, 0, 300),
            ("recv+napi-defer", 500_000.0, 900, 800),
            ("recv+napi-thread", 450_000.0, 900, 900),
        ]
        .map(|(name, capacity, application, kernel)| {
            SimulatedMethod::new(name, capacity).cost(application, kernel)
        });
        let mut path = SimulatedLaboratory::new(1_200_000.0, methods.to_vec());
        let base = Setup { quiet: Duration::from_millis(200), ..setup(64) };
        let conditions = Conditions { base, scale: Scale::DEFAULT, visits: 2, seed: 7 };
        let mut last = Last::default();
        reproduction::find(key).unwrap().run(&conditions, &mut path, &mut last).unwrap();
        last.0.unwrap()
    }

    #[test]
    fn every_publication_is_printed_within_80_columns() {
        for publication in PUBLICATIONS.iter() {
            let text = printed(&run(&publication.key));
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            insta::assert_snapshot!(publication.key.replace('-', "_"), text);
        }
    }
}
