//! Sweeps: one parameter varies, everything else is constant, and every method is measured at every point.
//!
//! A sweep is data ([`SweepPlan`]): an [`Axis`] with its points, methods, placements, loads, repeats. Each pass visits the
//! points in a seeded random order, with the methods in turn at each point. After the first pass, points are added where the
//! curve bends. The result is a [`SweepOutcome`], which is saved next to the trials.
//!
//! | file | what |
//! |---|---|
//! | [`axis`], [`presets`] | the varied parameter; sweeps of publications |
//! | [`plan`], `estimate`, `run` | the request, its cost, and its execution |
//! | `refine` | which points are added; `crate::order` has the order of the points |
//! | [`back_to_back`] | the longest burst without loss (RFC 9004) at a point |
//! | [`outcome`] | the saved data; [`capbench_model::statistics`] summarises and compares repeats |
//! | [`swept`], [`contrasts`], `limits` | a sweep with its trials; differences beyond chance, and excluded differences |
//! | [`regimes`], [`cost_regimes`], [`effects`] | the cost of a packet at each point; whether the effects of Dain (2004) appear |

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
