//! What a network card's own counters say about lost frames.
//!
//! `struct rtnl_link_stats64` has one field for each kind of loss, but drivers differ in what they feed it from, and some
//! feed it nothing: a card that drops half of everything can leave every field at 0. What it knows stands in its own
//! counters (`ethtool -S`), under names of its own. [`table`] says for the common drivers which name and which field mean
//! what, each with the source that says so; [`nic_losses`] draws the conclusion without counting one loss twice. A name
//! that the table does not know is shown as it is and never added to anything.

mod losses;
mod pattern;
mod snapshot;
pub mod table;

pub use losses::nic_losses_of;
pub use losses::{NicLoss, by_place, in_receive_drops, nic_losses};
pub use snapshot::{CounterDelta, NicSnapshot, raw};
pub use table::{Driver, Meaning, Row, Scope, Tells, known};
