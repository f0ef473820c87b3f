//! From which share on the host disturbed so many of some trials that they are no evidence together. What follows is decided where it is
//! asked: a ranking is not certain (`recommendation/rank.rs`), a comparison is in doubt (`comparison/runs.rs`), a claim of a publication
//! remains open (`reproduction/judging.rs`), costs of a sweep are not compared (`finding/sweep/cost.rs`).

use capbench_model::trial::TrialResult;

use crate::thresholds::{DISTURBED_TRIALS, EXPLAINED_LOSSES};

/// Whether so many of these trials are disturbed that none of them counts.
pub(crate) fn are_disturbed(disturbed: usize, trials: usize) -> bool {
    disturbed as f64 > DISTURBED_TRIALS * trials as f64
}

/// Whether the host explains so many of some losses that they are its own, and not those of the method.
pub(crate) fn are_explained(explained: usize, lossy: usize) -> bool {
    explained as f64 > EXPLAINED_LOSSES * lossy as f64
}

/// Whether other work on the host or its hardware disturbed a trial. A slow CPU does not count: where a hypervisor slows its guests, every
/// second trial is slow, and comparisons are of trials whose CPUs were equally slow.
pub(crate) fn is_disturbed_besides_speed(trial: &TrialResult) -> bool {
    !trial.disturbance.without_core_speed().reasons().is_empty()
}
