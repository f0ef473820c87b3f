//! Sweeps: one thing is varied, everything else stays, and every method sees every point.
//!
//! A sweep is data ([`SweepPlan`]): an [`Axis`] with its points, methods, placements, loads, repeats. Each pass visits
//! the points in a random order that a seed names, with the methods in turn at each; after the first pass points are
//! added where the curve bends. What comes out is a [`SweepOutcome`], which is saved beside the trials, and
//! [`findings`], a pure function of both.
//!
//! | file | what |
//! |---|---|
//! | [`axis`], [`presets`] | what is varied; sweeps of publications |
//! | [`plan`], `estimate`, `run` | what is asked for, how long it takes, and doing it |
//! | `order`, `refine` | which point comes next |
//! | [`back_to_back`] | the longest burst without loss (RFC 9004) at a point |
//! | [`interval`], `ranks`, [`outcome`] | what repeats say together, and in comparison; what is saved |
//! | [`regimes`], [`findings`] | what a packet costs at each point; what follows, in words |

pub mod axis;
pub mod back_to_back;
mod estimate;
pub mod findings;
pub mod interval;
pub(crate) mod order;
pub mod outcome;
pub mod plan;
pub mod presets;
mod ranks;
mod refine;
pub mod regimes;
mod run;

pub use axis::{Axis, AxisKind, Point, RingSize, Spacing};
pub use back_to_back::BackToBackTest;
pub use findings::find;
pub use outcome::{Reading, Series, SweepOutcome};
pub use plan::{Probe, SweepPlan};
pub use run::{Observer, SweepRun};

#[cfg(test)]
mod tests;
