//! Loads that lose nothing only because there is room: what comes faster than it is taken waits, and a trial that ends
//! before the room is full delivers all of it. A search is about what is held for as long as one likes, so such frames count
//! as those that a longer trial loses.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figures::grouped;
use crate::trial::{Phase, TrialResult};

/// Trials that lost nothing, at loads above what is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Buffered {
    /// The least load of such a trial, frames per second.
    pub from_pps: f64,
    /// The highest.
    pub to_pps: f64,
    /// The highest rate at which frames were taken in any of them.
    pub taken_pps: f64,
    /// Seconds for which the application went on when sending had ended, in that trial of them that it was longest in.
    pub behind_s: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
}

impl Buffered {
    /// What trials of a search show of that; `None` where none does.
    pub(super) fn of(trials: &[TrialResult], burst_frames: u32) -> Option<Self> {
        let of_search = trials.iter().filter(|trial| trial.phase == Phase::Search);
        let mut such: Vec<_> =
            of_search.filter(|trial| trial.lost() == 0 && trial.buffered_frames(burst_frames) > 0).collect();
        such.sort_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        let (first, last) = (such.first()?, such.last()?);
        let behind = such.iter().filter_map(|trial| trial.behind_s(burst_frames));
        let mut numbers: Vec<_> = such.iter().map(|trial| trial.number).collect();
        numbers.sort_unstable();
        Some(Self {
            from_pps: first.offered_pps,
            to_pps: last.offered_pps,
            taken_pps: such.iter().map(|trial| trial.taken_pps()).fold(0.0, f64::max),
            behind_s: behind.fold(0.0, f64::max),
            trials: numbers,
        })
    }
}

impl fmt::Display for Buffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loads = if self.trials.len() == 1 {
            format!("at {} packets/s a trial", grouped(self.from_pps.floor()))
        } else {
            format!(
                "from {} to {} packets/s trials",
                grouped(self.from_pps.floor()),
                grouped(self.to_pps.floor())
            )
        };
        write!(
            f,
            "{loads} lost nothing only because there was room for what was not taken: at most {} packets/s were, and what \
             lay in buffers when sending had ended took up to {:.3} s more. It counts as lost, as a longer trial loses it",
            grouped(self.taken_pps.floor()),
            self.behind_s
        )
    }
}
