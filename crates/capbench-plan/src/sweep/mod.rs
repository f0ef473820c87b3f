//! Sweeps: one parameter varies, everything else is constant, and every method is measured at every point.
//!
//! A sweep is data ([`SweepPlan`]): an [`Axis`] with its points, methods, placements, loads, repeats. Each pass visits the
//! points in a seeded random order, with the methods in turn at each point. After the first pass, points are added where the
//! curve bends. The result is a [`SweepOutcome`], which is saved next to the trials.
//!
//! | file | what |
//! |---|---|
//! | [`axis`], [`presets`] | the varied parameter; sweeps of publications |
//! | [`plan`], `run` | the request and its cost; its execution, and which points are added |
//! | [`back_to_back`] | the longest burst without loss (RFC 9004) at a point |
//! | [`outcome`] | the saved data, with its trials; [`capbench_model::statistics`] summarises and compares repeats |
//! | [`contrasts`], `limits` | differences beyond chance, and excluded differences |
//! | [`scaling`] | how the rate grows with the number of members, and what stops it |
//! | [`regimes`], [`effects`] | the cost of a packet at each point; whether the effects of Dain (2004) appear |

pub mod axis;
pub mod back_to_back;
pub mod contrasts;
pub mod effects;
mod limits;
pub mod outcome;
pub mod plan;
pub mod presets;
pub mod regimes;
mod run;
pub mod scaling;

pub use axis::{Analysis, Axis, AxisKind, MemberCount, Named, Point, Request, RingSize, Spacing};
pub use back_to_back::BackToBackTest;
pub use capbench_model::statistics::interval;
pub use outcome::{Reading, Series, SweepOutcome};
pub use plan::{Probe, SweepPlan};
pub use run::{Observer, SweepRun};

#[cfg(test)]
mod tests;
