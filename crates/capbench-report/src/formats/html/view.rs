//! The data of the template: formatted text and numbers, and the exact values.

use std::collections::BTreeSet;

use serde::Serialize;

use super::chart::Drawn;
use crate::figures;
use crate::model::{Cell, Column, Kind, Report, Row, Section, Sentence, Table, Trials, Unit};

/// From this number of runs of trial numbers on, the list is folded.
const MANY: usize = 6;
/// Limits in characters: one line, then a wide column, then a wider one.
const BRIEF: usize = 32;
const WORDY: usize = 160;
/// The CSS class of numbers: one letter, because a page has tens of thousands of them.
const NUMBER: &str = "n";

#[derive(Serialize)]
pub struct Page<'r> {
    title: &'r str,
    subtitle: &'r str,
    warnings: &'r [String],
    verdict: Vec<Said<'r>>,
    summary: Option<Shown<'r>>,
    sections: Vec<Part<'r>>,
    findings: Vec<Said<'r>>,
    environment: Vec<Shown<'r>>,
    statements: &'r [String],
    trials: Shown<'r>,
}

/// A sentence.
#[derive(Serialize)]
struct Said<'r> {
    text: &'r str,
    evidence: Option<Evidence>,
}

/// A section.
#[derive(Serialize)]
struct Part<'r> {
    id: &'r str,
    heading: &'r str,
    text: Vec<Said<'r>>,
    charts: Vec<Figure<'r>>,
    tables: Vec<Shown<'r>>,
}

/// A chart.
#[derive(Serialize)]
struct Figure<'r> {
    id: &'r str,
    title: &'r str,
    plot: &'r str,
    legend: Vec<Entry<'r>>,
    marks: &'r [String],
    notes: &'r [String],
    points: Shown<'r>,
    /// Whether the selected points get a dot; bars are visible without.
    has_dots: bool,
}

/// A series in the legend.
#[derive(Serialize)]
struct Entry<'r> {
    sample: &'r str,
    name: &'r str,
}

/// A table.
#[derive(Serialize)]
struct Shown<'r> {
    id: &'r str,
    caption: &'r str,
    heads: Vec<Head<'r>>,
    rows: Vec<Line<'r>>,
    notes: &'r [String],
    /// Whether the rows have a cell for their trials.
    cites: bool,
    /// How tightly the table is set on paper.
    density: &'static str,
}

#[derive(Serialize)]
struct Head<'r> {
    key: &'r str,
    heading: &'r str,
    unit: &'static str,
    /// Unit of the exact values if it differs from the shown unit.
    exact_unit: &'static str,
    is_number: bool,
}

/// A row.
#[derive(Serialize)]
struct Line<'r> {
    /// The trial that this row describes.
    trial: Option<u32>,
    evidence: Option<Evidence>,
    /// Its place in the chart.
    spot: Option<&'r str>,
    cells: Vec<Field>,
}

/// A field of a row.
#[derive(Serialize)]
struct Field {
    text: String,
    /// Sort key; `None` if the cell has no number or its text is exact.
    value: Option<String>,
    class: &'static str,
}

/// Trials behind a statement.
#[derive(Serialize)]
struct Evidence {
    count: usize,
    /// All numbers, for the script that highlights them.
    numbers: String,
    runs: Vec<Run>,
    is_long: bool,
}

/// Trials with neighbouring numbers.
#[derive(Serialize)]
struct Run {
    text: String,
    /// The row to link to; `None` if the report has no row of the trial.
    target: Option<u32>,
}

/// Numbers of the trials that have a row.
struct Known(BTreeSet<u32>);

pub fn page<'r>(report: &'r Report, charts: &'r [Drawn<'r>]) -> Page<'r> {
    let known = Known(report.trials.rows.iter().filter_map(|row| row.trials.first().copied()).collect());
    let mut charts = charts.iter();
    Page {
        title: &report.title,
        subtitle: &report.subtitle,
        warnings: &report.warnings,
        verdict: known.sentences(&report.verdict),
        summary: report.summary.as_ref().map(|table| known.table(table)),
        sections: report.sections.iter().map(|section| known.section(section, &mut charts)).collect(),
        findings: known.sentences(&report.findings),
        environment: report.environment.iter().map(|table| known.table(table)).collect(),
        statements: &report.statements,
        trials: of_trials(&report.trials),
    }
}

impl Known {
    fn sentences<'r>(&self, sentences: &'r [Sentence]) -> Vec<Said<'r>> {
        let said = |Sentence { text, trials }: &'r Sentence| Said { text, evidence: self.evidence(trials) };
        sentences.iter().map(said).collect()
    }

    fn section<'r>(
        &self,
        section: &'r Section,
        charts: &mut impl Iterator<Item = &'r Drawn<'r>>,
    ) -> Part<'r> {
        Part {
            id: &section.id,
            heading: &section.heading,
            text: self.sentences(&section.text),
            charts: charts.take(section.charts.len()).map(|chart| self.figure(chart)).collect(),
            tables: section.tables.iter().map(|table| self.table(table)).collect(),
        }
    }

    fn figure<'r>(&self, Drawn { chart, drawing, points, spots }: &'r Drawn<'r>) -> Figure<'r> {
        let mut points = self.table(points);
        for (row, spot) in points.rows.iter_mut().zip(spots) {
            row.spot = Some(spot);
        }
        let entries = drawing.samples.iter().zip(&chart.series);
        Figure {
            id: &chart.id,
            title: &chart.title,
            plot: &drawing.plot,
            legend: entries.map(|(sample, series)| Entry { sample, name: &series.name }).collect(),
            marks: &drawing.marks,
            notes: &drawing.notes,
            points,
            has_dots: !matches!(chart.kind, Kind::Bars | Kind::StackedBars),
        }
    }

    fn table<'r>(&self, table: &'r Table) -> Shown<'r> {
        let kinds = kinds(table);
        let line = |row: &Row| Line {
            trial: None,
            evidence: self.evidence(&row.trials),
            spot: None,
            cells: fields(&kinds, row),
        };
        let rows: Vec<Line<'_>> = table.rows.iter().map(line).collect();
        let cites = rows.iter().any(|row| row.evidence.is_some());
        shown(table, rows, cites)
    }

    fn evidence(&self, trials: &Trials) -> Option<Evidence> {
        let trials: BTreeSet<u32> = trials.iter().copied().collect();
        if trials.is_empty() {
            return None;
        }
        let runs = self.runs(&trials);
        let numbers: Vec<String> = trials.iter().map(u32::to_string).collect();
        Some(Evidence { count: trials.len(), numbers: numbers.join(" "), is_long: runs.len() > MANY, runs })
    }

    /// Three or more neighbours become one run if all or none of them have a row.
    fn runs(&self, trials: &BTreeSet<u32>) -> Vec<Run> {
        let mut runs: Vec<Vec<u32>> = Vec::new();
        for &trial in trials {
            let joins = runs
                .last()
                .and_then(|run| run.last())
                .is_some_and(|&last| trial - last == 1 && self.0.contains(&trial) == self.0.contains(&last));
            match runs.last_mut() {
                Some(run) if joins => run.push(trial),
                _ => runs.push(vec![trial]),
            }
        }
        let target = |trial: u32| self.0.contains(&trial).then_some(trial);
        let single = |&trial: &u32| Run { text: trial.to_string(), target: target(trial) };
        runs.iter()
            .flat_map(|run| match run.as_slice() {
                [first, _, .., last] => {
                    vec![Run { text: format!("{first} to {last}"), target: target(*first) }]
                }
                few => few.iter().map(single).collect(),
            })
            .collect()
    }
}

/// The rows that links to trials lead to. If two rows describe one trial, the first is used.
fn of_trials(table: &Table) -> Shown<'_> {
    let kinds = kinds(table);
    let mut met = BTreeSet::new();
    let line = |row: &Row| Line {
        trial: row.trials.first().copied().filter(|&trial| met.insert(trial)),
        evidence: None,
        spot: None,
        cells: fields(&kinds, row),
    };
    let rows = table.rows.iter().map(line).collect();
    shown(table, rows, false)
}

fn shown<'r>(table: &'r Table, rows: Vec<Line<'r>>, cites: bool) -> Shown<'r> {
    let is_number = |nth: usize| {
        rows.iter().any(|row| row.cells.get(nth).is_some_and(|cell| cell.class.starts_with(NUMBER)))
    };
    let numbers: Vec<bool> = (0..table.columns.len()).map(is_number).collect();
    let heads = table.columns.iter().zip(numbers).map(|(column, is_number)| Head {
        key: &column.key,
        heading: &column.heading,
        unit: column.unit.symbol(),
        exact_unit: if column.unit == Unit::Ratio { "as a share of 1" } else { column.unit.symbol() },
        is_number,
    });
    Shown {
        id: &table.id,
        caption: &table.caption,
        heads: heads.collect(),
        notes: &table.notes,
        cites,
        density: match table.columns.len() {
            0..=9 => "",
            10..=20 => " wide",
            21..=32 => " widest",
            _ => " crammed",
        },
        rows,
    }
}

/// The unit of a column, and whether it has numbers among words.
struct KindOfColumn {
    unit: Unit,
    is_mixed: bool,
}

fn kinds(table: &Table) -> Vec<KindOfColumn> {
    let has_words =
        |nth: usize| table.rows.iter().any(|row| matches!(row.cells.get(nth), Some(Cell::Text(_))));
    let kind = |(nth, Column { unit, .. }): (usize, &Column)| KindOfColumn {
        unit: *unit,
        is_mixed: *unit == Unit::None && has_words(nth),
    };
    table.columns.iter().enumerate().map(kind).collect()
}

fn fields(kinds: &[KindOfColumn], row: &Row) -> Vec<Field> {
    kinds.iter().zip(&row.cells).map(|(kind, cell)| field(cell, kind)).collect()
}

fn field(cell: &Cell, kind: &KindOfColumn) -> Field {
    let value = match cell {
        Cell::Unknown | Cell::Empty | Cell::Text(_) => None,
        Cell::Count(value) => Some(value.to_string()),
        Cell::Signed(value) => Some(value.to_string()),
        Cell::Number(value) | Cell::AtLeast(value) | Cell::AtMost(value) => exact(*value),
        Cell::Interval { middle, .. } => exact(*middle),
    };
    let class = match cell {
        Cell::Unknown if kind.unit == Unit::None => "unknown",
        Cell::Unknown => "n unknown",
        Cell::Empty => "",
        Cell::Text(text) if text.chars().count() <= BRIEF => "brief",
        Cell::Text(text) if text.chars().count() <= WORDY => "wordy",
        Cell::Text(_) => "lengthy",
        _ if kind.is_mixed => "brief",
        _ => NUMBER,
    };
    let text = figures::cell(cell, kind.unit);
    // The script reads such a number from its text: otherwise these values would be most of a large page.
    let value = value.filter(|value| class != NUMBER || text.replace(',', "") != *value);
    Field { text, value, class }
}

/// All digits, so that parsing gives the same number.
fn exact(value: f64) -> Option<String> {
    value.is_finite().then(|| value.to_string())
}
