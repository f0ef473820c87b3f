//! The values of the template: the report's parts in order, each with links to the trials behind it.

use std::collections::BTreeSet;

use capbench_chart::palette::Palette;
use capbench_chart::svg;
use minijinja::{Value, context};

use super::code::{all_with_code, with_code};
use super::points::PointRows;
use super::table::{ShownColumn, cells, table_value};
use crate::model::{Chart, Kind, Report, Section, Sentence, Series, Table};

/// Findings of the first screen.
const FACTS: usize = 3;

/// Makes the values of a report.
struct View {
    palette: Palette,
    /// Numbers of the trials that have a row, to which links lead.
    trials_with_row: BTreeSet<u32>,
}

/// All values of a report's page.
pub fn page(report: &Report) -> Value {
    let trials_with_row = report.trials.rows.iter().filter_map(|row| row.trials.first().copied()).collect();
    let view = View { palette: Palette::of(report.charts()), trials_with_row };
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

impl View {
    /// Sentences, each with its trials.
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

    /// A chart: its drawing, its legend, and the table of its points.
    fn figure(&self, chart: &Chart) -> Value {
        let drawing = svg::embedded(chart, &self.palette);
        let points = PointRows::from_chart(chart, &drawing.spots);
        let entries = drawing.samples.iter().zip(&chart.series);
        context! {
            id => &chart.id,
            title => &chart.title,
            plot => drawing.plot,
            legend => entries.map(|(sample, Series { name, .. })| context! { sample, name }).collect::<Value>(),
            marks => drawing.marks,
            notes => all_with_code(&drawing.notes),
            points => self.grid(&points.table, &points.spots),
            has_rows => chart.kind.has_rows(),
            // A selected point gets a dot. A bar needs none.
            has_dots => !matches!(chart.kind, Kind::Bars | Kind::StackedBars),
        }
    }

    fn table(&self, table: &Table) -> Value {
        self.grid(table, &[])
    }

    /// A table. If its rows are points of a chart, `spots` has where each is drawn; else it is empty.
    fn grid(&self, table: &Table, spots: &[String]) -> Value {
        let columns = ShownColumn::of_table(table);
        let mut rows = Vec::new();
        for (index, row) in table.rows.iter().enumerate() {
            let (evidence, cells) = (self.evidence(&row.trials), cells(&columns, row));
            // Only tables of trials have a number for each row.
            rows.push(context! { trial => (), evidence, spot => spots.get(index), cells });
        }
        let has_trials = table.rows.iter().any(|row| !row.trials.is_empty());
        table_value(table, &columns, rows, has_trials)
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

    /// Trials in runs of neighbouring numbers, such as `3 to 7`. A run has three trials or more, and all or none of them have a
    /// row; other trials are listed one by one.
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

    /// A run, or a trial, with the row to link to: that of its first trial; `target` is absent without one.
    fn run(&self, text: String, first: u32) -> Value {
        let target = if self.has_row(first) { Some(first) } else { None };
        context! { text, target }
    }

    fn has_row(&self, trial: u32) -> bool {
        self.trials_with_row.contains(&trial)
    }
}

/// The table of trials, whose rows links lead to. If two rows have the same trial, links lead to the first one.
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
