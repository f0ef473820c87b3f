//! Interprets a network card's own counters of lost frames.
//!
//! `struct rtnl_link_stats64` has one field per kind of loss, but drivers fill these fields differently or not at all. A card
//! that drops half of all frames can leave every field at 0. The card's own counters (`ethtool -S`) have driver-specific names.
//! For common drivers [`table`] lists what each name and field means, with the source. [`nic_losses`] combines them without
//! counting a loss twice. Unknown names are shown but never added to anything.

mod losses;
mod snapshot;
pub mod table;

pub use losses::{NicLoss, by_place, in_receive_drops, nic_losses, taken_by_xdp};
pub use snapshot::{CounterDelta, NicSnapshot, raw};
pub use table::{Driver, FrameCounts, LossBound, Meaning, Row, Scope, known};
