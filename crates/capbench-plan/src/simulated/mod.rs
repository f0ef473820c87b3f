//! A path without a network: a method's behaviour is computed at once, and is the same for the same seed. Tests of benches,
//! searches and sweeps use it.
//!
//! | file | content |
//! |---|---|
//! | [`laboratory`] | the path, made of generator, backlog and methods; runs trials |
//! | [`method`] | a method with its capacity, its cost regimes and its room: the frames that its buffer holds |
//! | `group` | the members of a method: their parts of the frames, and what each reads |
//! | `passage` | where the frames of one trial go, and when they are lost, by noise and bursts of loss, too |
//! | `interrupts` | a card that interrupts |

mod group;
mod interrupts;
pub mod laboratory;
pub mod method;
mod passage;
#[cfg(test)]
pub(crate) mod tampered;

pub use interrupts::Interrupts;
pub use laboratory::{BesidesSending, SimulatedLaboratory};
pub use method::{Room, SimulatedMethod, TwoRegimes};
pub use passage::{ForeignWork, LossBursts, Noise, UnevenSpeed};

#[cfg(test)]
mod tests;
