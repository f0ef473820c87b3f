//! `capbench tune`: which settings of an interface and its host stand against capture, and how they are changed and restored.
//!
//! | file | content |
//! |---|---|
//! | `setting` | what can be saved and set again, and the command for it |
//! | `live` | reads and writes settings of this host |
//! | `facts` | what is judged |
//! | `items` | the judgement: pure functions of the facts, a file for each kind of setting |
//! | `figures` | what settings cost where capbench measured it |
//! | `check` | the items together: a document and its text |
//! | `state` | what is saved, and the folder that has it |
//! | `changes` | apply and restore |
//!
//! # To add
//!
//! - an item of `tune`: its judge in a file of `capbench-tune/src/items/`, a variant of `ItemName` and its row in `ITEMS` of
//!   `mod.rs` there, its row in docs/tune.md; what it costs, where it was measured, in `figures.rs`.
//! - a setting that can be changed: a variant of `Setting` in `setting.rs`, read and written in `live.rs`.

#![forbid(unsafe_code)]

mod changes;
mod check;
mod error;
mod facts;
mod figures;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod items;
mod live;
mod setting;
mod state;

pub use changes::{HostRestored, Outcome, Settings, apply, restore, restore_host};
pub use check::{Check, SCHEMA_VERSION};
pub use error::{Result, TuneError};
pub use facts::Facts;
pub use items::{Finding, Is, ItemName, QueueWords, Stands, Wishes, judge};
pub use live::{Host, Live};
pub use setting::{OffloadName, Proposal, Setting};
pub use state::{Folder, Identity, Journal, Phase, Placed, Saved, State};
