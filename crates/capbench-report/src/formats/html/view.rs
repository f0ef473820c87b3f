//! The values of the template: formatted text and numbers, the exact values, and the drawn charts with their points.

use std::collections::BTreeSet;

use minijinja::{HtmlEscape, Value, context};

use crate::figures;
use crate::model::{
    Axis, Cell, Chart, Column, Kind, Point, Report, Row, Scale, Section, Sentence, Series, Table, Unit,
};
use capbench_chart::palette::Palette;
use capbench_chart::svg::{self, Spot};

/// Findings of the first screen.
const FACTS: usize = 3;
/// Limits in characters: one line, then a wide column.
const BRIEF: usize = 32;
const WORDY: usize = 160;
/// The CSS class of numbers: one letter, because a page has tens of thousands of them.
const NUMBER: &str = "n";

/// Makes the values of a report.
struct View {
    palette: Palette,
    /// Numbers of the trials that have a row.
    known: BTreeSet<u32>,
}

pub fn page(report: &Report) -> Value {
    let known = report.trials.rows.iter().filter_map(|row| row.trials.first().copied()).collect();
    let view = View { palette: Palette::of(report.charts()), known };
    context! {
        title => &report.title,
        subtitle => &report.subtitle,
        warnings => all_with_code(&report.warnings),
        verdict => context! { text => with_code(&report.verdict.text) },
        picture => report.picture.iter().map(|chart| view.figure(chart)).collect::<Value>(),
        facts => view.sentences(&report.findings[..report.findings.len().min(FACTS)]),
        caveats => view.sentences(&report.caveats),
        summary => report.summary.as_ref().map(|table| view.table(table)),
        sections => report.sections.iter().map(|section| view.section(section)).collect::<Value>(),
        findings => view.sentences(&report.findings),
        environment => report.environment.iter().map(|table| view.table(table)).collect::<Value>(),
        statements => all_with_code(&report.statements),
        trials => trials_value(&report.trials),
    }
}

/// Style rules with the dark-background colours of the report's charts.
pub fn colours(report: &Report) -> String {
    let palette = Palette::of(report.charts());
    let mut rules = BTreeSet::new();
    for series in report.charts().flat_map(|chart| &chart.series) {
        rules.insert(palette.look(series.role, &series.name).colour.rule());
    }
    rules.into_iter().collect()
}

/// Text whose parts between backticks are commands.
fn with_code(text: &str) -> Value {
    let parts: Vec<&str> = text.split('`').collect();
    // A single backtick is text.
    if parts.len() % 2 == 0 {
        return Value::from(text);
    }
    let mut html = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        let escaped = HtmlEscape(part).to_string();
        html += &if index % 2 == 0 { unbroken(&escaped) } else { code(&escaped) };
    }
    Value::from_safe_string(html)
}

/// A command, in which lines break between words, and not after the hyphens of a flag.
fn code(command: &str) -> String {
    let words: Vec<String> = command.split(' ').map(|word| format!("<span>{word}</span>")).collect();
    format!("<code>{}</code>", words.join(" "))
}

/// Words in which a line does not break after a hyphen, as names of methods.
fn unbroken(words: &str) -> String {
    let mut html = String::new();
    for word in words.split_inclusive(' ') {
        if word.contains('-') && word.len() <= BRIEF {
            html += &format!("<span class=\"brief\">{word}</span>");
        } else {
            html += word;
        }
    }
    html
}

fn all_with_code(texts: &[String]) -> Value {
    texts.iter().map(|text| with_code(text)).collect()
}

impl View {
    fn sentences(&self, sentences: &[Sentence]) -> Value {
        let mut values = Vec::new();
        for Sentence { text, trials } in sentences {
            values.push(context! { text => with_code(text), evidence => self.evidence(trials) });
        }
        Value::from(values)
    }

    fn section(&self, section: &Section) -> Value {
        context! {
            id => &section.id,
            heading => &section.heading,
            text => self.sentences(&section.text),
            charts => section.charts.iter().map(|chart| self.figure(chart)).collect::<Value>(),
            tables => section.tables.iter().map(|table| self.table(table)).collect::<Value>(),
        }
    }

    fn figure(&self, chart: &Chart) -> Value {
        let drawing = svg::embedded(chart, &self.palette);
        let (points, spots) = points(chart, &drawing.spots);
        let entries = drawing.samples.iter().zip(&chart.series);
        context! {
            id => &chart.id,
            title => &chart.title,
            plot => drawing.plot,
            legend => entries.map(|(sample, Series { name, .. })| context! { sample, name }).collect::<Value>(),
            marks => drawing.marks,
            notes => all_with_code(&drawing.notes),
            points => self.grid(&points, &spots),
            // Selected points get a dot; bars are visible without.
            has_rows => chart.kind.has_rows(),
            has_dots => !matches!(chart.kind, Kind::Bars | Kind::StackedBars),
        }
    }

    fn table(&self, table: &Table) -> Value {
        self.grid(table, &[])
    }

    /// A table whose rows may have places in a chart.
    fn grid(&self, table: &Table, spots: &[String]) -> Value {
        let columns = ShownColumn::of_table(table);
        let mut rows = Vec::new();
        for (index, row) in table.rows.iter().enumerate() {
            let (evidence, cells) = (self.evidence(&row.trials), cells(&columns, row));
            rows.push(context! { trial => (), evidence, spot => spots.get(index), cells });
        }
        let cites = table.rows.iter().any(|row| !row.trials.is_empty());
        table_value(table, &columns, rows, cites)
    }

    /// The trials behind a statement, with all their numbers for the script that highlights them.
    fn evidence(&self, trials: &[u32]) -> Option<Value> {
        if trials.is_empty() {
            return None;
        }
        let trials: BTreeSet<u32> = trials.iter().copied().collect();
        let numbers: Vec<String> = trials.iter().map(u32::to_string).collect();
        let runs = self.runs(&trials);
        Some(context! { count => trials.len(), numbers => numbers.join(" "), runs })
    }

    /// Trials with neighbouring numbers; `target` is the row to link to. Three or more neighbours become one run if all or none
    /// of them have a row.
    fn runs(&self, trials: &BTreeSet<u32>) -> Vec<Value> {
        let all: Vec<u32> = trials.iter().copied().collect();
        let mut runs = Vec::new();
        for neighbours in all.chunk_by(|a, b| b - a == 1 && self.has_row(*a) == self.has_row(*b)) {
            if let [first, _, .., last] = neighbours {
                runs.push(self.run(format!("{first} to {last}"), *first));
                continue;
            }
            for trial in neighbours {
                runs.push(self.run(trial.to_string(), *trial));
            }
        }
        runs
    }

    fn run(&self, text: String, first: u32) -> Value {
        let target = if self.has_row(first) { Some(first) } else { None };
        context! { text, target }
    }

    fn has_row(&self, trial: u32) -> bool {
        self.known.contains(&trial)
    }
}

/// The rows that links to trials lead to. If two rows describe one trial, the first is used.
fn trials_value(table: &Table) -> Value {
    let columns = ShownColumn::of_table(table);
    let mut linked = BTreeSet::new();
    let mut rows = Vec::new();
    for row in &table.rows {
        let trial = row.trials.first().copied().filter(|trial| linked.insert(*trial));
        rows.push(context! { trial, cells => cells(&columns, row) });
    }
    table_value(table, &columns, rows, false)
}

/// How a column of a table is shown.
struct ShownColumn {
    unit: Unit,
    /// It has numbers among words.
    is_mixed: bool,
    is_number: bool,
}

impl ShownColumn {
    /// The columns of a table.
    fn of_table(table: &Table) -> Vec<Self> {
        let mut columns = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            let cells: Vec<&Cell> = table.rows.iter().filter_map(|row| row.cells.get(index)).collect();
            let has_words = cells.iter().any(|cell| matches!(cell, Cell::Text(_)));
            let is_mixed = column.unit == Unit::None && has_words;
            let mut shown = Self { unit: column.unit, is_mixed, is_number: false };
            shown.is_number = cells.iter().any(|cell| shown.class(cell).starts_with(NUMBER));
            columns.push(shown);
        }
        columns
    }
}

/// A table with these rows. `cites` says whether they have a cell for their trials.
fn table_value(table: &Table, columns: &[ShownColumn], rows: Vec<Value>, cites: bool) -> Value {
    let mut heads = Vec::new();
    for (Column { key, heading, unit, .. }, shown) in table.columns.iter().zip(columns) {
        let exact_unit = if *unit == Unit::Ratio { "as a share of 1" } else { unit.symbol() };
        heads
            .push(context! { key, heading, unit => unit.symbol(), exact_unit, is_number => shown.is_number });
    }
    context! {
        id => &table.id,
        caption => &table.caption,
        heads,
        rows,
        notes => all_with_code(&table.notes),
        cites,
    }
}

/// The fields of a row.
fn cells(columns: &[ShownColumn], row: &Row) -> Value {
    row.cells.iter().zip(columns).map(|(cell, column)| column.field(cell)).collect()
}

impl ShownColumn {
    /// The CSS class of a cell.
    fn class(&self, cell: &Cell) -> &'static str {
        match cell {
            Cell::Unknown if self.unit == Unit::None => "unknown",
            Cell::Unknown => "n unknown",
            Cell::Empty => "",
            Cell::Text(text) if text.chars().count() <= BRIEF => "brief",
            Cell::Text(text) if text.chars().count() <= WORDY => "wordy",
            Cell::Text(_) => "lengthy",
            _ if self.is_mixed => "brief",
            _ => NUMBER,
        }
    }

    /// A field of a row. Its `value` is the sort key; none if the cell has no number or its text is exact.
    fn field(&self, cell: &Cell) -> Value {
        let class = self.class(cell);
        let text = figures::cell(cell, self.unit);
        // The script reads such a number from its text: otherwise these values would be most of a large page.
        let value = exact(cell).filter(|value| class != NUMBER || text.replace(',', "") != *value);
        context! { text, value, class }
    }
}

/// The number of a cell with all digits, so that parsing gives the same number; of a range its lower end.
fn exact(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Unknown | Cell::Empty | Cell::Text(_) => None,
        Cell::Count(value) => Some(value.to_string()),
        Cell::Signed(value) => Some(value.to_string()),
        Cell::Number(value)
        | Cell::AtLeast(value)
        | Cell::AtMost(value)
        | Cell::Range { low: value, .. }
        | Cell::Interval { middle: value, .. } => {
            if value.is_finite() {
                Some(value.to_string())
            } else {
                None
            }
        }
    }
}

/// The points of a chart, one row each, series by series; and the place of each row: the number of its series and its x in
/// pixels of the drawing. If its value is known, also its y and the upper and lower end of its bar, layer or marker.
fn points(chart: &Chart, drawn: &[Vec<Option<Spot>>]) -> (Table, Vec<String>) {
    let Axis { label, unit, scale } = &chart.x;
    let unit = if matches!(scale, Scale::Names(_)) { Unit::None } else { *unit };
    let mut columns = vec![
        Column::new("place", label, unit),
        Column::words("series", "series"),
        Column::new("value", &chart.y.label, chart.y.unit),
    ];
    let mut all = chart.series.iter().flat_map(|series| &series.points);
    let has_intervals = all.any(|point| point.interval.is_some());
    if has_intervals {
        columns.extend(["from", "to"].map(|end| Column::new(end, end, chart.y.unit)));
    }
    let mut rows = Vec::new();
    let mut spots = Vec::new();
    for (index, (series, drawn)) in chart.series.iter().zip(drawn).enumerate() {
        for (point, spot) in series.points.iter().zip(drawn) {
            let Some(Spot { place, shape }) = spot else { continue };
            let mut cells = vec![place_cell(scale, point), Cell::text(&series.name), value_cell(point)];
            if has_intervals {
                cells.extend(match point.interval {
                    Some(ends) => ends.map(Cell::from),
                    None => [Cell::Empty, Cell::Empty],
                });
            }
            rows.push(Row { cells, trials: point.trials.clone() });
            let mut words = format!("{index} {place:.1}");
            for at in shape.iter().flatten() {
                words += &format!(" {at:.1}");
            }
            spots.push(words);
        }
    }
    (Table { id: chart.id.clone(), columns, rows, ..Table::default() }, spots)
}

/// The position of a point on the horizontal axis.
fn place_cell(scale: &Scale, point: &Point) -> Cell {
    match scale {
        // Points of one name may be drawn side by side.
        Scale::Names(names) => match names.get(point.x.round() as usize) {
            Some(name) => Cell::text(name),
            None => Cell::text(""),
        },
        Scale::Linear | Scale::Logarithmic => point.x.into(),
    }
}

/// The value of a point.
fn value_cell(point: &Point) -> Cell {
    match (point.y, point.interval) {
        (Some(y), _) if point.is_at_least => Cell::AtLeast(y),
        (None, Some([low, high])) => Cell::Range { low, high },
        (y, _) => Cell::number(y),
    }
}
