//! What the trials of a search mean: the result of each goal. Terms are those of RFC 9971 (MLRsearch).
//!
//! | file | what |
//! |---|---|
//! | `goal`, `notation` | goals as data; how users write them; presets |
//! | `plan` | goals with their limits |
//! | [`database`] | every trial by load, and the bounds that follow |
//! | [`maximum`] | the highest load and where it is from; the doubts of the self-test |
//! | `end`, `outcome`, [`bound`] | the saved data: how a search ended; a result per goal; its bounds, their losses, and whether chance explains them |
//! | `numbers` | strict lossless rate, NDR, PDR and loss events together |
//! | [`warning`] | doubts about a search |
//! | [`ranking`] | several searches of the same set-up, and of several methods |

pub mod bound;
pub mod database;
mod end;
pub mod goal;
pub mod maximum;
pub mod notation;
mod numbers;
mod outcome;
mod plan;
pub mod ranking;
pub mod warning;

pub use bound::{Apart, Backlogged, Bound, Buffered, HighLoss, Losses};
pub use end::End;
pub use goal::{Goal, Strategy, Width};
pub use maximum::{MaximumLoad, MaximumSource, SelfTest, Try};
pub use notation::{KEYS, Listed, parse, presets};
pub use numbers::{Held, Longest, LossEvents, LossNumbers};
pub use outcome::{GoalResult, Reason, SearchOutcome, SoFar, Status};
pub use plan::{Overload, SearchPlan};
pub use warning::SearchWarning;

pub use crate::ratio::Ratio;
pub use crate::sustained::moments::Moments;
