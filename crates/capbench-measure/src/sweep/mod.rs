//! Sweeps: one thing is varied, everything else stays, and every method sees every point.
//!
//! A sweep is data ([`SweepPlan`]): an [`Axis`] with its points, methods, placements, loads, repeats. Each pass visits
//! the points in a random order that a seed names, with the methods in turn at each; after the first pass points are
//! added where the curve bends. What comes out is a [`SweepOutcome`], which is saved next to the trials.
//!
//! | file | what |
//! |---|---|
//! | [`axis`], [`presets`] | what is varied; sweeps of publications |
//! | [`plan`], `estimate`, `run` | what is asked for, how long it takes, and doing it |
//! | `refine` | which points are added; `crate::order` has in which order points come |
//! | [`back_to_back`] | the longest burst without loss (RFC 9004) at a point |
//! | [`outcome`] | what is saved; [`capbench_model::statistics`] has what repeats say together, and in comparison |
//! | [`swept`], [`contrasts`], `limits` | a sweep with its trials; differences that chance does not explain, and those that are excluded |
//! | [`regimes`], [`cost_regimes`], [`effects`] | what a packet costs at each point; whether the effects of Dain (2004) appear |

pub mod axis;
pub mod back_to_back;
pub mod contrasts;
pub mod cost_regimes;
pub mod effects;
mod estimate;
mod limits;
pub mod outcome;
pub mod plan;
pub mod presets;
mod refine;
pub mod regimes;
mod run;
pub mod swept;

pub use axis::{Axis, AxisKind, Point, RingSize, Spacing};
pub use back_to_back::BackToBackTest;
pub use capbench_model::statistics::interval;
pub use outcome::{Reading, Series, SweepOutcome};
pub use plan::{Probe, SweepPlan};
pub use run::{Observer, SweepRun};

#[cfg(test)]
mod tests;
