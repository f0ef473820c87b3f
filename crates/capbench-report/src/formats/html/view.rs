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
        trials => of_trials(&report.trials),
    }
}

/// Style rules with the dark-background colours of the report's charts.
pub fn colours(report: &Report) -> String {
    let palette = Palette::of(report.charts());
    let series = report.charts().flat_map(|chart| &chart.series);
    let rules: BTreeSet<String> =
        series.map(|series| palette.look(series.role, &series.name).colour.rule()).collect();
    rules.into_iter().collect()
}

/// Text whose parts between backticks are commands.
fn with_code(text: &str) -> Value {
    let parts: Vec<String> = text.split('`').map(|part| HtmlEscape(part).to_string()).collect();
    let whole = parts.chunks(2).map(|pair| match pair {
        [words, command] => {
            let words = unbroken(words);
            // Lines break between words, and not after the hyphens of a flag.
            let command: Vec<String> =
                command.split(' ').map(|word| format!("<span>{word}</span>")).collect();
            format!("{words}<code>{}</code>", command.join(" "))
        }
        words => unbroken(&words.concat()),
    });
    // A single backtick is text.
    let is_paired = parts.len() % 2 == 1;
    if is_paired { Value::from_safe_string(whole.collect()) } else { Value::from(text) }
}

/// Words in which a line does not break after a hyphen, as names of methods.
fn unbroken(words: &str) -> String {
    let is_name = |word: &str| word.contains('-') && word.len() <= BRIEF;
    let word = |word: &str| match is_name(word) {
        true => format!("<span class=\"brief\">{word}</span>"),
        false => word.into(),
    };
    words.split_inclusive(' ').map(word).collect()
}

fn all_with_code(texts: &[String]) -> Value {
    texts.iter().map(|text| with_code(text)).collect()
}

impl View {
    fn sentences(&self, sentences: &[Sentence]) -> Value {
        let value = |Sentence { text, trials }: &Sentence| {
            context! { text => with_code(text), evidence => self.evidence(trials) }
        };
        sentences.iter().map(value).collect()
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
        let mut spots = spots.iter();
        let cites = table.rows.iter().any(|row| !row.trials.is_empty());
        shown(table, cites, |row, cells| {
            context! { trial => (), evidence => self.evidence(&row.trials), spot => spots.next(), cells }
        })
    }

    /// The trials behind a statement, with all their numbers for the script that highlights them.
    fn evidence(&self, trials: &[u32]) -> Option<Value> {
        let trials: BTreeSet<u32> = trials.iter().copied().collect();
        let numbers: Vec<String> = trials.iter().map(u32::to_string).collect();
        let runs = self.runs(&trials);
        (!trials.is_empty()).then(|| {
            context! { count => trials.len(), numbers => numbers.join(" "), runs }
        })
    }

    /// Trials with neighbouring numbers; `target` is the row to link to. Three or more neighbours become one run if all or none
    /// of them have a row.
    fn runs(&self, trials: &BTreeSet<u32>) -> Vec<Value> {
        let has_row = |trial: &u32| self.known.contains(trial);
        let all: Vec<u32> = trials.iter().copied().collect();
        let run = |text: String, first: &u32| context! { text, target => has_row(first).then_some(*first) };
        all.chunk_by(|last, next| next - last == 1 && has_row(last) == has_row(next))
            .flat_map(|own| match own {
                [first, _, .., last] => vec![run(format!("{first} to {last}"), first)],
                few => few.iter().map(|trial| run(trial.to_string(), trial)).collect(),
            })
            .collect()
    }
}

/// The rows that links to trials lead to. If two rows describe one trial, the first is used.
fn of_trials(table: &Table) -> Value {
    let mut met = BTreeSet::new();
    shown(table, false, |row, cells| {
        context! { trial => row.trials.first().copied().filter(|trial| met.insert(*trial)), cells }
    })
}

/// A table with rows that `of_row` makes from their cells. `cites` says whether they have a cell for their trials.
fn shown(table: &Table, cites: bool, mut of_row: impl FnMut(&Row, Value) -> Value) -> Value {
    let cells = |nth: usize| table.rows.iter().filter_map(move |row| row.cells.get(nth));
    // The unit of each column, and whether it has numbers among words.
    let kinds: Vec<(Unit, bool)> = (table.columns.iter().enumerate())
        .map(|(nth, Column { unit, .. })| {
            (*unit, *unit == Unit::None && cells(nth).any(|cell| matches!(cell, Cell::Text(_))))
        })
        .collect();
    let head = |(nth, Column { key, heading, unit, .. }): (usize, &Column)| {
        context! {
            key, heading,
            unit => unit.symbol(),
            exact_unit => if *unit == Unit::Ratio { "as a share of 1" } else { unit.symbol() },
            is_number => cells(nth).any(|cell| class(cell, kinds[nth]).starts_with(NUMBER)),
        }
    };
    let mut row = |row: &Row| {
        of_row(row, row.cells.iter().zip(&kinds).map(|(cell, kind)| field(cell, *kind)).collect())
    };
    context! {
        id => &table.id,
        caption => &table.caption,
        heads => table.columns.iter().enumerate().map(head).collect::<Value>(),
        rows => table.rows.iter().map(&mut row).collect::<Value>(),
        notes => all_with_code(&table.notes),
        cites,
    }
}

fn class(cell: &Cell, (unit, is_mixed): (Unit, bool)) -> &'static str {
    match cell {
        Cell::Unknown if unit == Unit::None => "unknown",
        Cell::Unknown => "n unknown",
        Cell::Empty => "",
        Cell::Text(text) if text.chars().count() <= BRIEF => "brief",
        Cell::Text(text) if text.chars().count() <= WORDY => "wordy",
        Cell::Text(_) => "lengthy",
        _ if is_mixed => "brief",
        _ => NUMBER,
    }
}

/// A field of a row. Its `value` is the sort key; none if the cell has no number or its text is exact.
fn field(cell: &Cell, kind: (Unit, bool)) -> Value {
    let value = match cell {
        Cell::Unknown | Cell::Empty | Cell::Text(_) => None,
        Cell::Count(value) => Some(value.to_string()),
        Cell::Signed(value) => Some(value.to_string()),
        // All digits, so that parsing gives the same number.
        Cell::Number(value)
        | Cell::AtLeast(value)
        | Cell::AtMost(value)
        | Cell::Range { low: value, .. }
        | Cell::Interval { middle: value, .. } => value.is_finite().then(|| value.to_string()),
    };
    let class = class(cell, kind);
    let text = figures::cell(cell, kind.0);
    // The script reads such a number from its text: otherwise these values would be most of a large page.
    let value = value.filter(|value| class != NUMBER || text.replace(',', "") != *value);
    context! { text, value, class }
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
    let all = || chart.series.iter().flat_map(|series| &series.points);
    let has_intervals = all().any(|point| point.interval.is_some());
    if has_intervals {
        columns.extend(["from", "to"].map(|end| Column::new(end, end, chart.y.unit)));
    }
    let row = |series: &Series, point: &Point| {
        let place = match scale {
            // Points of one name may be drawn side by side.
            Scale::Names(names) => {
                Cell::words(Some(names.get(point.x.round() as usize).map_or("", |name| name)))
            }
            Scale::Linear | Scale::Logarithmic => point.x.into(),
        };
        let value = match (point.y, point.interval) {
            (Some(y), _) if point.is_at_least => Cell::AtLeast(y),
            (None, Some([low, high])) => Cell::Range { low, high },
            (y, _) => Cell::number(y),
        };
        let mut cells = vec![place, Cell::text(&series.name), value];
        if has_intervals {
            cells.extend(point.interval.map_or([Cell::Empty, Cell::Empty], |ends| ends.map(Cell::from)));
        }
        Row { cells, trials: point.trials.clone() }
    };
    let (mut rows, mut spots) = (Vec::new(), Vec::new());
    for (nth, (series, own)) in chart.series.iter().zip(drawn).enumerate() {
        for (point, spot) in series.points.iter().zip(own) {
            let Some(Spot { place, shape }) = spot else { continue };
            rows.push(row(series, point));
            let shape: String = shape.iter().flatten().map(|at| format!(" {at:.1}")).collect();
            spots.push(format!("{nth} {place:.1}{shape}"));
        }
    }
    (Table { id: chart.id.clone(), columns, rows, ..Table::default() }, spots)
}
