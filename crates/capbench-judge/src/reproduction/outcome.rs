//! The saved outcome of a reproduction: its tables, with published cells next to measured ones, and the answers to its claims.

use capbench_model::saved::SavedMethod;
use serde::{Deserialize, Serialize};

use super::claim_text::ClaimText;
use super::quantity::Quantity;
use super::table_note::TableNote;
use crate::sweep::effects::Effect;

/// A repeated experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reproduction {
    /// The publication.
    pub key: String,
    /// Its authors and its subject.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// How the publication measured.
    pub then: String,
    /// How this run measured: the words of the publication's file, then those of `conditions`, which the report makes when the
    /// reproduction is saved.
    pub here: Vec<String>,
    /// The conditions of its trials. Absent in files of versions that did not write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<TrialConditions>,
    /// Whether it completed.
    pub complete: bool,
    /// Tables.
    pub tables: Vec<Comparison>,
    /// Claims that hold, have changed, are inconclusive, or cannot be tested.
    pub findings: Vec<Judgement>,
    /// Its trials.
    pub trials: Vec<u32>,
}

impl Reproduction {
    /// Whether its trials show of a claim that it holds here, or that it does not.
    pub fn decides_a_claim(&self) -> bool {
        self.findings.iter().any(|claim| matches!(claim.answer, Answer::Holds | Answer::Changed))
    }
}

/// The conditions of the trials of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialConditions {
    /// Length of trials, as a share of the published length.
    pub scale: f64,
    /// The shortest and the longest trial, seconds; absent without a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_range_s: Option<[f64; 2]>,
    /// Visits of each point.
    pub visits: u32,
    /// The distance of the bounds of searches, as a share of the upper one.
    pub search_width: f64,
    /// How long a trial waited for missing frames, seconds.
    pub quiet_s: f64,
}

/// A published table next to the measured values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Identifier, unique in its run, of letters, digits and `-`.
    pub id: String,
    /// What the table shows.
    pub caption: String,
    /// The subject of the rows.
    pub rows_are: RowHeader,
    /// Columns, published and measured ones.
    pub columns: Vec<Column>,
    /// Rows, with one cell per column.
    pub rows: Vec<Row>,
    /// Notes below the table in words, for readers of the file. The report makes them when the reproduction is saved.
    pub notes: Vec<String>,
    /// The same as facts: known flaws, explanations of marks. Absent in files of versions that did not write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub note_facts: Vec<TableNote>,
    /// The quantity of its curves, if it has curves: columns of this quantity over the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curves: Option<Quantity>,
}

/// The subject of the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RowHeader {
    /// The heading.
    pub heading: String,
    /// The quantity of the row labels.
    pub quantity: Quantity,
}

/// The origin of a column's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The publication's.
    Published,
    /// This run.
    Here,
    /// The plan: neither measured nor published.
    Given,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Column {
    /// Its origin.
    pub side: Side,
    /// The method, by its name in the publication, or here.
    pub method: String,
    /// What the column shows.
    pub what: String,
    /// Its quantity.
    pub quantity: Quantity,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Row {
    /// Its label.
    pub label: String,
    /// Its coordinate on an axis; absent for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// One cell per column, in their order.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cell {
    /// The published number, or the median of the measured values; absent if there is none.
    pub value: Option<f64>,
    /// Lower limit of the interval of several visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Whether the value is a minimum: the load, or the generator, was the limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// A letter that a note of the table explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<char>,
    /// Trials that support it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<u32>,
}

/// The answer to a claim.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is true here, too.
    Holds,
    /// It is not true here.
    Changed,
    /// The measurements cannot decide it.
    #[serde(rename = "cannot_be_told", alias = "inconclusive")]
    Inconclusive,
    /// This host, or this test bed, cannot show it.
    NotTestable,
}

impl Answer {
    /// All answers, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Holds, Self::Changed, Self::Inconclusive, Self::NotTestable];
}

/// A claim of the publication, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judgement {
    /// The claim.
    pub claim: String,
    /// The answer.
    pub answer: Answer,
    /// The evidence in words, for readers of the file. The report makes them when the reproduction is saved.
    pub text: String,
    /// The evidence. Absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<ClaimEvidence>,
    /// Trials that support it.
    pub trials: Vec<u32>,
    /// Visits that support it: the minimum over its points; absent if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<u32>,
    /// The probability that chance alone puts all these visits on one side, or, where some visits contradict the others, the level of the
    /// test that decides all the same. Absent if the answer does not follow from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
}

/// A part of the evidence for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ClaimEvidence {
    /// The publication's words, with the measured figures.
    Figures(ClaimText),
    /// The claim needs a method that cannot run here.
    CannotRun {
        /// The method.
        method: SavedMethod,
        /// Why it cannot.
        because: String,
    },
    /// Whether one of Dain's effects appears.
    Effect(Box<EffectOfMethod>),
    /// The generator did not reach the load of the publication.
    LoadNotReached {
        /// Trials in which it did not.
        trials: usize,
        /// All trials.
        all_trials: usize,
        /// Whether this withdraws the answer.
        withdraws: bool,
    },
    /// A CPU ran slower than its best.
    SlowCpus {
        /// Trials in which one did.
        trials: usize,
        /// All trials.
        all_trials: usize,
    },
    /// The host disturbed trials.
    Disturbed {
        /// Disturbed trials.
        trials: usize,
        /// All trials.
        all_trials: usize,
        /// Whether this withdraws the answer.
        withdraws: bool,
    },
    /// Visits of each point.
    Visits {
        /// How many.
        visits: u32,
        /// The probability that chance alone does this; absent if it is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chance: Option<f64>,
    },
}

/// Whether an effect appears with a method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EffectOfMethod {
    /// The method.
    pub method: SavedMethod,
    /// The effect.
    pub effect: Effect,
}

impl Judgement {
    /// Its evidence: the facts, or in files of earlier versions the text.
    pub fn parts(&self) -> Vec<ClaimEvidence> {
        if self.evidence.is_empty() && !self.text.is_empty() {
            return vec![ClaimEvidence::Figures(ClaimText::plain(&self.text))];
        }
        self.evidence.clone()
    }
}

impl Cell {
    /// The cell of a published number.
    pub fn published(value: Option<f64>) -> Self {
        Self { value, ..Self::default() }
    }

    /// Its printed form; `-` if there is no number.
    pub fn text(&self, quantity: Quantity) -> String {
        let Some(value) = self.value else { return "-".into() };
        let mark = self.mark.map(String::from).unwrap_or_default();
        let at_least = if self.at_least { ">=" } else { "" };
        format!("{at_least}{}{mark}", quantity.text(value))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Quantity};

    #[test]
    fn cells_are_printed_as_published() {
        let minimum = Cell { value: Some(0.5), at_least: true, mark: Some('g'), ..Cell::default() };
        assert_eq!(minimum.text(Quantity::Captured), ">=50g");
        assert_eq!(Cell::default().text(Quantity::Count), "-");
    }
}
