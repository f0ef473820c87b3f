//! Searches: the highest sustained load, by goals of the standards or of the user.
//!
//! A search knows only load and duration of trials. Terms are those of RFC 9971 (MLRsearch). What its trials mean is in
//! [`capbench_judge::search`].
//!
//! | file | what |
//! |---|---|
//! | `goals_file` | reads the goals of a user's file |
//! | `plan` | checks a plan, and estimates its cost |
//! | `strategist` | the trials that a strategy requests; plain binary search |
//! | `grid`, `selector`, `mlr` | multiple loss ratio search: all its goals from shared trials |
//! | `self_test` | tries which rate the generator sustains: the highest load of the search |
//! | `runner` | trials that are run, or reused from an earlier run |
//! | `conduct` | a search from its first trial to its outcome |
//!
//! Strategies choose trials and run none. So the same code serves the path, the replay of stored trials and the estimate.

mod conduct;
mod goals_file;
mod grid;
mod mlr;
pub mod plan;
mod runner;
mod selector;
mod self_test;
mod strategist;
#[cfg(test)]
mod tests;

pub use conduct::{Finished, run, run_nth};
pub use goals_file::read as read_goals_file;
pub use plan::{Estimate, estimate, validate};
pub use runner::Stored;
