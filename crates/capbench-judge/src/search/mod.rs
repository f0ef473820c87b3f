//! What the trials of a search mean: the result of each goal. Terms are those of RFC 9971 (MLRsearch).
//!
//! | file | what |
//! |---|---|
//! | `goal`, [`preset`], `notation` | goals as data; those that have a name; how users write them |
//! | `plan` | goals with their limits |
//! | [`database`] | every trial by load, and the bounds that follow |
//! | [`maximum`] | the highest load and where it is from; the doubts of the self-test |
//! | `end`, `outcome`, `goal_result`, [`bound`] | the saved data: how a search ended; its outcome; a result per goal; its bounds, their losses, and whether chance explains them |
//! | `numbers` | strict lossless rate, NDR, PDR and loss events together |
//! | [`warning`] | doubts about a search |
//! | [`ranking`] | several searches of the same set-up, and of several methods |

pub mod bound;
pub mod database;
mod end;
pub mod goal;
mod goal_result;
pub mod maximum;
pub mod notation;
mod numbers;
mod outcome;
mod plan;
pub mod preset;
pub mod ranking;
pub mod warning;

pub use bound::{Backlogged, Bound, BoundsDistinction, Buffered, HighLoss, Losses};
pub use end::End;
pub use goal::{Goal, Strategy, Width};
pub use goal_result::{GoalResult, Reason, SoFar, Status};
pub use maximum::{MaximumLoad, MaximumSource, SelfTest, Try};
pub use notation::{KEYS, parse};
pub use numbers::{Held, Longest, LossEvents, LossNumbers};
pub use outcome::SearchOutcome;
pub use plan::{Overload, SearchPlan};
pub use preset::{PresetGoal, presets};
pub use warning::SearchWarning;

pub use crate::ratio::Ratio;
pub use crate::sustained::moments::Moments;
