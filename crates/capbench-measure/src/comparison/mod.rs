//! Comparisons by set-up: methods that took turns in one run, and what [`crate::compare`] makes of two runs.
//!
//! A comparison is a pure function of trials. What is named a regression or an improvement is so for two reasons at once: chance
//! does not explain it, by a permutation test corrected after Holm for everything that was tested, and it is larger than a
//! threshold that is stated. Of everything else it is said how large a change is still possible.
//!
//! | file | what |
//! |---|---|
//! | [`measure`] | what is compared, in which unit, and which way is better |
//! | [`setup`], `captures` | what trials must have in common |
//! | `samples`, `pace` | the figures of a trial, and which trials give none |
//! | [`contrast`] | one figure on both sides: change, interval, probability, judgement |
//! | `pairs` | pairs of trials of one run |

pub(crate) mod captures;
pub mod contrast;
pub mod measure;
pub(crate) mod pace;
mod pairs;
pub(crate) mod samples;
pub mod setup;

use serde::{Deserialize, Serialize};

use capbench_model::statistics::FALSE_ALARMS;
pub use capbench_model::statistics::LEVEL;
pub use contrast::{Change, Contrast, Judgement, Side};
pub use measure::{Better, Measure, Scale};
pub use pairs::{Pair, of_pairs};
pub use samples::LeftOut;
pub use setup::{Field, Setup};

/// From which change on a difference is worth saying.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Thresholds {
    /// Of rates and times, as a part of what they were.
    pub relative: f64,
    /// Of loss, in frames lost of those sent. Loss where there was none at all is worth saying whatever its size.
    pub loss: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { relative: 0.05, loss: 0.001 }
    }
}

/// The whole of a comparison in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Something became worse.
    Regression,
    /// Nothing is known to have become worse.
    NoRegressionShown,
    /// Nothing could be told: too few trials, a host that was too busy, or a damaged file.
    Inconclusive,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// What is compared with: the earlier run, or a method.
    pub then: String,
    /// What is compared.
    pub now: String,
    /// Whether trials were compared in pairs that ran side by side.
    pub paired: bool,
    /// What is worth saying.
    pub thresholds: Thresholds,
    /// The probability of a false statement in the whole comparison.
    pub false_alarms: f64,
    /// In what the two differ beside what was measured.
    pub differences: Vec<String>,
    /// What is to be known of the two before any figure is read.
    pub notes: Vec<String>,
    /// Whether the host disturbed more than half of the trials of a run: then what differs may be the host's, which no test
    /// within two runs can tell. Trials that took turns were disturbed alike.
    #[serde(default)]
    pub disturbed: bool,
    /// Whether the file of a run is not as it was written: cut off, damaged, or with ledgers that do not sum up. What is
    /// missing or changed could be what became worse.
    #[serde(default)]
    pub damaged: bool,
    /// Everything that was compared, set-up by set-up, and then several set-ups together.
    pub contrasts: Vec<Contrast>,
    /// Contrasts that were tested; the probabilities of these are corrected for as many.
    pub tested: usize,
    /// How often each set-up would have to be visited on both sides, so that each could be told by itself; absent where that
    /// is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits_needed: Option<u32>,
    /// Set-ups that only the first has.
    pub only_then: Vec<Setup>,
    /// Set-ups that only the second has.
    pub only_now: Vec<Setup>,
    /// Trials that were not compared, with the reason.
    pub left_out: Vec<LeftOut>,
}

impl Comparison {
    /// Judges what was matched, where nothing but what is measured differs.
    pub(crate) fn of(
        [then, now]: [&str; 2],
        paired: bool,
        matched: &[contrast::Matched],
        thresholds: Thresholds,
        left_out: Vec<LeftOut>,
    ) -> Self {
        let (contrasts, tested) = contrast::judged(contrast::all(matched), thresholds);
        Self {
            then: then.into(),
            now: now.into(),
            paired,
            thresholds,
            false_alarms: FALSE_ALARMS,
            differences: Vec::new(),
            notes: Vec::new(),
            disturbed: false,
            damaged: false,
            visits_needed: contrast::visits_needed(&contrasts, paired),
            contrasts,
            tested,
            only_then: Vec::new(),
            only_now: Vec::new(),
            left_out,
        }
    }

    /// Contrasts that were judged so.
    pub fn judged(&self, judgement: Judgement) -> impl Iterator<Item = &Contrast> {
        self.contrasts.iter().filter(move |contrast| contrast.judgement == judgement)
    }

    /// Whether it shows nothing: there is nothing that could have been told, the host was too busy, or a file was damaged.
    pub fn is_inconclusive(&self) -> bool {
        self.disturbed
            || self.damaged
            || self.contrasts.iter().all(|contrast| contrast.judgement == Judgement::TooFewVisits)
    }

    /// The whole of it in a word.
    pub fn conclusion(&self) -> Conclusion {
        match self.judged(Judgement::Regression).next() {
            _ if self.is_inconclusive() => Conclusion::Inconclusive,
            Some(_) => Conclusion::Regression,
            None => Conclusion::NoRegressionShown,
        }
    }
}
