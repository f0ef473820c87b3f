//! Comparisons by set-up: methods that took turns in one run, and two runs.
//!
//! A comparison is a pure function of trials. A regression or an improvement meets two conditions. Chance does not explain it,
//! by a permutation test corrected after Holm for all tests. And it exceeds a stated threshold. For everything else, the
//! comparison reports how large a change is not excluded.
//!
//! | file | what |
//! |---|---|
//! | [`measure`] | the compared figures, their units, and the better direction |
//! | [`setup`] | what trials must have in common |
//! | [`note`] | what to know before the figures, and in what the runs differ |
//! | `generator_rate` | which rates are the generator's |
//! | `left_out` | trials that are not compared, and why |
//! | [`sampled`] | which trials are compared, and by which figures |
//! | `samples` | these figures with the pace of the CPUs |
//! | [`contrast`] | one figure on both sides: change, interval, probability, judgement |
//! | `power` | how many visits decide what has too few trials |
//! | `pairs` | pairs of trials of one run |
//! | [`runs`] | two saved runs |
//! | [`hosts`] | two values of a column of a dataset, with hosts and set-ups as strata |
//! | [`days`] | the days of a dataset |

pub mod contrast;
pub mod days;
mod generator_rate;
pub mod hosts;
mod left_out;
pub mod measure;
pub mod note;
mod pairs;
mod power;
pub mod runs;
pub mod sampled;
pub mod samples;
pub mod setup;

use crate::thresholds::{
    COMPARISON_FALSE_ALARMS, REPORTED_CHANGE, REPORTED_CHANGE_OF_HOSTS, REPORTED_LOSS_CHANGE,
};

use serde::{Deserialize, Serialize};

use self::note::{ComparisonNote, RunsDifference};
pub use contrast::{Change, Contrast, Judgement, Side};
pub use left_out::{LeftOut, NotCompared};
pub use measure::{Better, Measure, Scale};
pub use pairs::{Pair, of_pairs};
pub use setup::{Field, Setup};

/// Minimum changes to report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Thresholds {
    /// Minimum change of rates and times, relative to the earlier value.
    pub relative: f64,
    /// Minimum change of loss, in lost frames per sent frame. Loss where there was none before is always reported.
    pub loss: f64,
}

/// The thresholds for two runs, or for methods that took turns.
impl Default for Thresholds {
    fn default() -> Self {
        Self { relative: REPORTED_CHANGE, loss: REPORTED_LOSS_CHANGE }
    }
}

impl Thresholds {
    /// The thresholds for the runs of many hosts.
    pub fn for_hosts() -> Self {
        Self { relative: REPORTED_CHANGE_OF_HOSTS, ..Self::default() }
    }
}

/// The conclusion of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// A figure became worse.
    Regression,
    /// No figure is known to have become worse.
    NoRegressionShown,
    /// Undecidable: too few trials, a host that was too busy, or a damaged file.
    Inconclusive,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// The reference: the earlier run, or a method.
    pub then: String,
    /// The compared run or method.
    pub now: String,
    /// Whether trials were compared in pairs that ran one after the other.
    pub paired: bool,
    /// The number of hosts, if runs of a dataset were compared: a host with one set-up is a stratum, and the median of a run is a
    /// figure. The numbers of trials are then places of runs in the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    /// The minimum changes to report.
    pub thresholds: Thresholds,
    /// The probability of a false statement in the whole comparison.
    pub false_alarms: f64,
    /// Differences of the two other than the measured figures, in words, which the report makes.
    pub differences: Vec<String>,
    /// The same as facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub difference_facts: Vec<RunsDifference>,
    /// Notes to read before the figures, in words, which the report makes.
    pub notes: Vec<String>,
    /// The same as facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub note_facts: Vec<ComparisonNote>,
    /// Whether the host disturbed most trials of a run, unless they took turns. It may then cause differences that no test
    /// detects.
    #[serde(default)]
    pub disturbed: bool,
    /// Whether a run's file is not as written: cut off, damaged, or with ledgers that do not sum up. It may hide a regression.
    #[serde(default)]
    pub damaged: bool,
    /// All contrasts: set-up by set-up, then several set-ups together.
    pub contrasts: Vec<Contrast>,
    /// Number of tested contrasts, for which the probabilities are corrected.
    pub tested: usize,
    /// Visits per set-up and side that decide most of the contrasts of single set-ups with too few trials, if further trials are like those
    /// that ran; absent if none has too few, or if no reasonable number of visits does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits_needed: Option<u32>,
    /// Set-ups that only the earlier run has.
    pub only_then: Vec<Setup>,
    /// Set-ups that only the later run has.
    pub only_now: Vec<Setup>,
    /// Trials that were not compared, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// What is compared, and how.
struct Inputs<'m> {
    /// Whether the trials are in pairs that ran one after the other.
    paired: bool,
    /// The figures of both sides.
    matched: &'m [contrast::Matched],
    /// The minimum changes to report.
    thresholds: Thresholds,
    /// Trials that are not compared.
    left_out: Vec<LeftOut>,
}

impl Comparison {
    /// Judges the figures of two sides with these names, the earlier one first, as if nothing else differed.
    fn new([then, now]: [String; 2], inputs: Inputs<'_>) -> Self {
        let Inputs { paired, matched, thresholds, left_out } = inputs;
        let (contrasts, tested) = contrast::judged(contrast::tested(matched), thresholds);
        Self {
            then,
            now,
            paired,
            hosts: None,
            thresholds,
            false_alarms: COMPARISON_FALSE_ALARMS,
            differences: Vec::new(),
            difference_facts: Vec::new(),
            notes: Vec::new(),
            note_facts: Vec::new(),
            disturbed: false,
            damaged: false,
            visits_needed: None,
            contrasts,
            tested,
            only_then: Vec::new(),
            only_now: Vec::new(),
            left_out,
        }
    }

    /// Contrasts with this judgement.
    pub fn judged(&self, judgement: Judgement) -> impl Iterator<Item = &Contrast> {
        self.contrasts.iter().filter(move |contrast| contrast.judgement == judgement)
    }

    /// Whether nothing can be concluded: no contrast could become significant, the host was too busy, or a file was damaged.
    pub fn is_inconclusive(&self) -> bool {
        self.disturbed
            || self.damaged
            || self.contrasts.iter().all(|contrast| contrast.judgement == Judgement::TooFewVisits)
    }

    /// The conclusion.
    pub fn conclusion(&self) -> Conclusion {
        if self.is_inconclusive() {
            return Conclusion::Inconclusive;
        }
        match self.judged(Judgement::Regression).next() {
            Some(_) => Conclusion::Regression,
            None => Conclusion::NoRegressionShown,
        }
    }
}
