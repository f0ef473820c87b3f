//! Tables as defined in the file of a publication: published and measured columns next to each other over the same rows.

use capbench_model::saved::SavedMethod;
use serde::Deserialize;

use crate::plan::gigabit;
use crate::published::Data;
use capbench_judge::reproduction::measured::figure::Figure;
use capbench_judge::reproduction::measured::{MeasuredSteps, Select};
use capbench_judge::reproduction::{Cell, Column, Comparison, Quantity, Row, RowHeader, Side, TableNote};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TablePlan {
    id: String,
    caption: String,
    rows_are: RowHeader,
    /// The step whose points are the rows, unless the rows are `systems`.
    rows_of: Option<String>,
    #[serde(default)]
    systems: Vec<System>,
    data: Option<String>,
    columns: Vec<ColumnPlan>,
    #[serde(default)]
    notes: Vec<String>,
    /// Note used if a search ended before it found a lossy load.
    at_least_note: Option<String>,
    /// Note used if not every point has a search.
    coarse_note: Option<String>,
    /// Methods for which a note explains why they cannot run here.
    #[serde(default)]
    explains: Vec<SavedMethod>,
    /// Whether methods that cannot run here keep their columns.
    #[serde(default)]
    keeps_absent: bool,
    curves: Option<Quantity>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    label: String,
    /// Its name in the published table, if the table contains it.
    #[serde(default)]
    published: String,
    /// The replacement; absent if there is none here.
    method: Option<SavedMethod>,
}

/// A column: exactly one of `published`, `given` and `here`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ColumnPlan {
    /// Method and description; the measured method if absent.
    head: Option<(String, String)>,
    /// A column of the published table, and its quantity.
    published: Option<(String, Quantity)>,
    given: Option<Given>,
    here: Option<Figure>,
    of: Select,
}

/// Values that are neither measured nor published.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Given {
    /// The rate that fills a link of 1 Gbit/s with frames of the row's size.
    Wire,
    /// The same in whole packets.
    WholeWire,
    /// The time of this number of loops on the publication's host.
    LoopTime,
    /// One published column as a share of another.
    Share(String, String),
}

impl Given {
    fn quantity(&self) -> Quantity {
        match self {
            Self::Wire | Self::WholeWire => Quantity::PacketsPerSecond,
            Self::LoopTime => Quantity::Nanoseconds,
            Self::Share(..) => Quantity::Captured,
        }
    }
}

/// Rates are whole packets, and clocks of two hosts differ.
const ROUNDING_PPS: f64 = 1.0;

/// A row: its label, its label in the published table, and its trials.
struct RowPlan {
    label: String,
    published: String,
    of: Select,
}

struct TableBuilder<'t, 'm> {
    plan: &'t TablePlan,
    measured: &'t MeasuredSteps<'m>,
    data: Option<Data>,
    rows: Vec<RowPlan>,
    table: Comparison,
}

impl TablePlan {
    pub(crate) fn make(&self, measured: &MeasuredSteps<'_>) -> Comparison {
        let rows = self.rows(measured);
        let table = Comparison {
            id: self.id.clone(),
            caption: self.caption.clone(),
            rows_are: self.rows_are.clone(),
            columns: Vec::new(),
            rows: rows
                .iter()
                .map(|row| Row { label: row.label.clone(), at: row.of.at.map(f64::from), cells: Vec::new() })
                .collect(),
            notes: Vec::new(),
            note_facts: Vec::new(),
            curves: self.curves,
        };
        let data = self.data.as_deref().and_then(Data::named);
        TableBuilder { plan: self, measured, data, rows, table }.finish()
    }

    fn rows(&self, measured: &MeasuredSteps<'_>) -> Vec<RowPlan> {
        let select = Select { step: self.rows_of.clone(), ..Select::default() };
        let points = measured.step_facts(&select).filter(|_| self.rows_of.is_some()).map(|step| &step.points);
        let of_points = points.into_iter().flatten().map(|at| RowPlan {
            label: at.to_string(),
            published: at.to_string(),
            of: Select { at: Some(*at), ..select.clone() },
        });
        let of_systems = self.systems.iter().map(|system| RowPlan {
            label: system.label.clone(),
            published: system.published.clone(),
            // A system without replacement has no trials: no method has the empty name.
            of: Select {
                method: Some(system.method.clone().unwrap_or(SavedMethod::Other(String::new()))),
                ..Select::default()
            },
        });
        of_points.chain(of_systems).collect()
    }
}

impl TableBuilder<'_, '_> {
    fn finish(mut self) -> Comparison {
        for column in &self.plan.columns {
            let is_absent = |method: &SavedMethod| self.measured.why_left_out(method).is_some();
            if self.plan.keeps_absent || !column.of.method.as_ref().is_some_and(is_absent) {
                self.column(column);
            }
        }
        self.notes();
        self.table
    }

    fn column(&mut self, plan: &ColumnPlan) {
        let of_rows = |cell: &dyn Fn(&RowPlan) -> Cell| self.rows.iter().map(cell).collect::<Vec<_>>();
        let (side, quantity, cells) = match (&plan.published, &plan.given, plan.here) {
            (Some((column, quantity)), ..) => {
                (Side::Published, *quantity, of_rows(&|row| self.published(row, column, *quantity)))
            }
            (_, Some(given), _) => {
                (Side::Given, given.quantity(), of_rows(&|row| Cell::published(self.given(row, given))))
            }
            (_, _, Some(figure)) => {
                (Side::Here, figure.quantity(), of_rows(&|row| self.here(&plan.of.or(&row.of), figure)))
            }
            _ => return,
        };
        let of_method = plan.of.method.as_ref().map(ToString::to_string).unwrap_or_default();
        let (method, what) = plan.head.clone().unwrap_or((of_method, String::new()));
        self.table.columns.push(Column { side, method, what, quantity });
        for (row, cell) in self.table.rows.iter_mut().zip(cells) {
            row.cells.push(cell);
        }
    }

    fn published(&self, row: &RowPlan, column: &str, quantity: Quantity) -> Cell {
        let power = match quantity {
            Quantity::BitsPerSecond => 9,
            Quantity::Load => -2,
            _ => 0,
        };
        let value = self.data.and_then(|data| data.scaled(&row.published, column, power));
        let wire = self.wire(row).filter(|_| quantity == Quantity::PacketsPerSecond);
        let is_above = value.zip(wire).is_some_and(|(pps, wire)| pps > wire + ROUNDING_PPS);
        let mark = if is_above { TableNote::AboveLineRate.mark() } else { None };
        Cell { mark, ..Cell::published(value) }
    }

    /// The wire rate if rows are frame sizes.
    fn wire(&self, row: &RowPlan) -> Option<f64> {
        let octets = row.of.at.filter(|_| self.plan.rows_are.quantity == Quantity::FrameBytes)?;
        gigabit(octets.into()).ok().map(|pps| pps.get())
    }

    fn given(&self, row: &RowPlan, given: &Given) -> Option<f64> {
        match given {
            Given::Wire => self.wire(row),
            Given::WholeWire => self.wire(row).map(f64::floor),
            Given::LoopTime => Some(f64::from(row.of.at?) * self.measured.step_facts(&row.of)?.loop_ns),
            Given::Share(part, whole) => {
                let of = |column: &str| self.data?.scaled(&row.published, column, 0);
                Some(of(part)? / of(whole)?)
            }
        }
    }

    /// The measured value; for searches, the found rate.
    fn here(&self, of: &Select, figure: Figure) -> Cell {
        if self.measured.step_facts(of).is_none_or(|step| !step.is_search) {
            return self.measured.visits(of).undisturbed().cell(figure);
        }
        let found = self.measured.found(of).unwrap_or_default();
        let is_bits = figure == Figure::CapturedBps;
        let factor = if is_bits { (f64::from(of.at.unwrap_or_default()) + 20.0) * 8.0 } else { 1.0 };
        Cell { value: found.value.map(|pps| pps * factor), ..found }
    }

    fn notes(&mut self) {
        let mut notes = Vec::new();
        if self.is_marked(&TableNote::AboveLineRate) {
            notes.push(TableNote::AboveLineRate);
        }
        for words in &self.plan.notes {
            notes.push(TableNote::Publication { words: words.clone() });
        }
        let has_at_least = self.cells().any(|cell| cell.at_least);
        if let Some(words) = self.plan.at_least_note.clone().filter(|_| has_at_least) {
            notes.push(TableNote::Publication { words });
        }
        let mut cannot_run = Vec::new();
        for method in &self.plan.explains {
            if let Some(reason) = self.measured.why_left_out(method) {
                cannot_run.push(TableNote::CannotRun { method: method.clone(), because: reason.into() });
            }
        }
        let select = Select { step: self.plan.rows_of.clone(), ..Select::default() };
        let is_coarse = self.measured.step_facts(&select).is_some_and(|step| step.points_here != step.points);
        if let Some(words) = self.plan.coarse_note.clone().filter(|_| is_coarse && cannot_run.is_empty()) {
            notes.push(TableNote::Publication { words });
        }
        notes.extend(cannot_run);
        for note in TableNote::of_measured_numbers() {
            if self.is_marked(&note) {
                notes.push(note);
            }
        }
        self.table.note_facts = notes;
    }

    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.table.rows.iter().flat_map(|row| &row.cells)
    }

    /// Whether the table has a number with the mark that a note explains.
    fn is_marked(&self, note: &TableNote) -> bool {
        self.cells().any(|cell| cell.mark == note.mark())
    }
}
