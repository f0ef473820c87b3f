//! Searches: the highest load that is held, by goals of the standards or of one's own.
//!
//! A search knows trials by load and duration only. Terms are those of RFC 9971 (MLRsearch).
//!
//! | file | what |
//! |---|---|
//! | `goal`, `presets`, `notation`, `ratio` | goals as data, those that have a name, and how users write them |
//! | `plan`, `estimate` | goals with their limits; what they will cost |
//! | `criteria`, `database` | when a load is held; every trial by load, and the bounds that follow |
//! | `grid`, `selector`, `mlr` | multiple loss ratio search: all its goals from shared trials |
//! | `binary` | plain binary search |
//! | `maximum` | what the generator can do |
//! | `runner`, `stored` | trials that are run, or taken from an earlier run |
//! | `conduct` | a search from its first trial to its outcome |
//! | `outcome`, `numbers`, `findings` | what is saved: a result for each goal, the numbers that belong together, sentences |
//!
//! Strategies choose trials and run none, so the same code serves the path, the replay of stored trials and the estimate.

mod binary;
mod conduct;
pub mod criteria;
pub mod database;
mod estimate;
mod findings;
pub mod goal;
mod grid;
mod maximum;
mod mlr;
mod notation;
mod numbers;
mod outcome;
pub mod plan;
pub mod presets;
pub mod ratio;
mod request;
mod runner;
mod seconds;
mod selector;
mod stored;
#[cfg(test)]
mod tests;

pub use conduct::Finished;
pub use estimate::{Cost, Estimate};
pub use goal::{Goal, Strategy, Width};
pub use maximum::{MaximumLoad, MaximumSource, SelfTest};
pub use notation::{parse, read};
pub use numbers::{Held, LossEvents, LossNumbers};
pub use outcome::{Bound, GoalResult, Reason, SearchOutcome, Status};
pub use plan::SearchPlan;
pub use ratio::Ratio;
pub use runner::{End, Observer};
pub use stored::Stored;
