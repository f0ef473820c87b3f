//! Searches: the highest load that is held, by goals of the standards or of one's own.
//!
//! A search knows trials by load and duration only. Terms are those of RFC 9971 (MLRsearch).
//!
//! | file | what |
//! |---|---|
//! | `goal`, `presets`, `notation` | goals as data, those that have a name, and how users write them |
//! | `plan`, `estimate` | goals with their limits; what they will cost |
//! | `criteria`, `database` | when a load is held; every trial by load, and the bounds that follow |
//! | `strategist` | what a strategy asks for; plain binary search |
//! | `grid`, `selector`, `mlr` | multiple loss ratio search: all its goals from shared trials |
//! | `maximum` | what the generator can do |
//! | `runner` | trials that are run, or taken from an earlier run |
//! | `conduct` | a search from its first trial to its outcome |
//! | `outcome`, `bound` | what is saved: a result for each goal, its bounds with what was lost there, and whether they differ by more than chance |
//! | `numbers` | the numbers that belong together |
//! | `repeats`, `ranking` | several searches of the same set-up, and of several methods |
//!
//! Strategies choose trials and run none, so the same code serves the path, the replay of stored trials and the estimate.

mod bound;
mod conduct;
pub mod criteria;
pub mod database;
mod estimate;
pub mod goal;
mod grid;
mod maximum;
mod mlr;
pub(crate) mod notation;
mod numbers;
mod observer;
mod outcome;
pub mod plan;
pub mod presets;
pub mod ranking;
pub mod repeats;
mod runner;
mod selector;
mod strategist;
#[cfg(test)]
mod tests;

pub use bound::{Apart, Backlogged, Bound, Buffered, HighLoss, Losses, Moments};
pub use conduct::Finished;
pub use estimate::Estimate;
pub use goal::{Goal, Ratio, Strategy, Width};
pub use maximum::{MaximumLoad, MaximumSource, SelfTest, Try};
pub use notation::{parse, read};
pub use numbers::{Held, Longest, LossEvents, LossNumbers};
pub use observer::Observer;
pub use outcome::{GoalResult, Reason, SearchOutcome, SoFar, Status};
pub use plan::SearchPlan;
pub use runner::{End, Stored};
