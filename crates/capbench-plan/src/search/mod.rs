//! Searches: the highest sustained load, by goals of the standards or of the user.
//!
//! A search knows only load and duration of trials. Terms are those of RFC 9971 (MLRsearch).
//!
//! | file | what |
//! |---|---|
//! | `goal`, `notation` | goals as data; how users write them; presets |
//! | `plan` | goals with their limits, and their cost |
//! | `criteria`, `database` | when a load is sustained; every trial by load, and the bounds that follow |
//! | `strategist` | the trials that a strategy requests; plain binary search |
//! | `grid`, `selector`, `mlr` | multiple loss ratio search: all its goals from shared trials |
//! | `maximum` | the capability of the generator |
//! | `runner` | trials that are run, or reused from an earlier run |
//! | `conduct` | a search from its first trial to its outcome |
//! | `outcome`, `bound` | the saved data: a result per goal; its bounds, their losses, and whether chance explains them |
//! | `numbers` | strict lossless rate, NDR, PDR and loss events together |
//! | `ranking` | several searches of the same set-up, and of several methods |
//!
//! Strategies choose trials and run none. So the same code serves the path, the replay of stored trials and the estimate.

mod bound;
mod conduct;
pub mod criteria;
pub mod database;
pub mod goal;
mod grid;
mod maximum;
mod mlr;
pub(crate) mod notation;
mod numbers;
mod outcome;
pub mod plan;
pub mod ranking;
mod runner;
mod selector;
mod strategist;
#[cfg(test)]
mod tests;

pub use bound::{Apart, Backlogged, Bound, Buffered, HighLoss, Losses, Moments};
pub use conduct::Finished;
pub use goal::{Goal, Ratio, Strategy, Width};
pub use maximum::{MaximumLoad, MaximumSource, SelfTest, Try};
pub use notation::{KEYS, Listed, parse, presets, read};
pub use numbers::{Held, Longest, LossEvents, LossNumbers};
pub use outcome::{GoalResult, Reason, SearchOutcome, SoFar, Status};
pub use plan::{Estimate, Overload, SearchPlan};
pub use runner::{End, Observer, Stored};
