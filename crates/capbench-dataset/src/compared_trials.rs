//! Which trials comparisons of a dataset use: the column `is_compared` of `trials` says so of a trial, and `compare --dataset` uses the
//! same ones.

use capbench_judge::comparison::sampled::{CommonLoads, SampledTrial};
use capbench_results::tidy::RESULT;

/// Whether comparisons use a trial that is saved for this reason: a result that is not left out, with the common loads of its run.
pub(crate) fn is_compared(kept: Option<&str>, trial: &SampledTrial, common: &CommonLoads) -> bool {
    kept == Some(RESULT) && trial.left_out(common).is_none()
}
