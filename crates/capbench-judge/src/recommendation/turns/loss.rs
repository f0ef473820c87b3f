//! How much more of the frames one method captures than another one. A generator has to wake an idle CPU, so that it can send less to the
//! method that needs less time, and less is easier to capture. So where two methods were not sent as much, one captures more only if it
//! captures more both of what it was sent and of the load.

use super::Multiple;
use super::table::{Contrast, Measure, Table};
use crate::thresholds::TURNS_LEVEL;

/// A candidate's captured frames by those of another method.
pub(super) struct Loss {
    /// Of the frames that were sent, or of the load where it depends on the receiver.
    captured: Contrast,
    /// Of the load. `None` if both were sent as much.
    read: Option<Contrast>,
    /// Whether the candidate captured all that it was sent: then nobody knows what it would read of more.
    is_candidate_complete: bool,
    is_other_complete: bool,
}

impl Loss {
    /// `None` if no round has both.
    pub(super) fn between(table: &Table, candidate: usize, column: usize) -> Option<Self> {
        let contrast = |measure| Contrast::between(table, measure, candidate, column);
        Some(Self {
            captured: contrast(Measure::Captured)?,
            read: if table.are_sent_alike(candidate, column) { None } else { contrast(Measure::Read) },
            is_candidate_complete: table.captures_all(candidate),
            is_other_complete: table.captures_all(column),
        })
    }

    /// The contrast in which the candidate looks worse.
    fn least(&self) -> &Contrast {
        match &self.read {
            Some(read) if read.middle < self.captured.middle => read,
            _ => &self.captured,
        }
    }

    /// How much more the candidate captures at least, on the logarithmic scale: the median of the rounds.
    pub(super) fn middle(&self) -> f64 {
        self.least().middle
    }

    /// The probability that chance alone explains it.
    pub(super) fn by_chance(&self) -> f64 {
        self.read.iter().map(|read| read.by_chance).fold(self.captured.by_chance, f64::max)
    }

    /// How much more the candidate captures at least, as a multiple.
    pub(super) fn multiple(&self) -> Multiple {
        self.least().multiple()
    }

    /// Whether all rounds have equal values, so that no test is made.
    pub(super) fn is_constant(&self) -> bool {
        self.captured.is_constant()
    }

    /// Whether the candidate is shown to capture more, by this much: no less than by a negative margin.
    pub(super) fn is_more_by(&self, by: f64, level: f64) -> bool {
        self.captured.is_above(-by, level) && self.read.iter().all(|read| read.is_above(-by, level))
    }

    /// Whether the candidate is shown to capture no less than by `margin`.
    pub(super) fn is_above(&self, margin: f64, level: f64) -> bool {
        let mut unequal = self.read.iter().filter(|_| !self.is_candidate_complete);
        self.captured.is_above(margin, level) && unequal.all(|read| read.is_above(margin, level))
    }

    /// Whether both are shown to capture as much, within `margin`.
    pub(super) fn is_within(&self, margin: f64) -> bool {
        let mut unequal = self.read.iter().filter(|_| !self.is_other_complete);
        self.is_above(margin, TURNS_LEVEL)
            && self.captured.is_below(margin)
            && unequal.all(|read| read.is_below(margin))
    }
}
