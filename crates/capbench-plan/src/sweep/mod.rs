//! Sweeps: one parameter varies, everything else is constant, and every method is measured at every point.
//!
//! A sweep is data ([`SweepPlan`]): an [`Axis`] with its points, methods, placements, loads, repeats. Each pass visits the
//! points in a seeded random order, with the methods in turn at each point. After the first pass, points are added where the
//! curve bends. The result is a [`SweepOutcome`](capbench_judge::sweep::SweepOutcome), which is saved next to the trials.
//!
//! | file | what |
//! |---|---|
//! | [`axis`], [`presets`] | the varied parameter; sweeps of publications |
//! | [`plan`], `run` | the request and its cost; its execution, and which points are added |
//! | [`back_to_back`] | the longest burst without loss (RFC 9004) at a point |
//!
//! What its trials mean is in [`capbench_judge::sweep`].

pub mod axis;
pub mod back_to_back;
pub mod plan;
pub mod presets;
mod run;

pub use axis::{Axis, MemberCount, Point, Request, RingSize, Spacing};
pub use back_to_back::BackToBackTest;
pub use plan::{Probe, SweepPlan};
pub use run::SweepRun;

#[cfg(test)]
mod tests;
