//! What the trials of a sweep mean: one parameter varies, everything else is constant.
//!
//! | file | what |
//! |---|---|
//! | [`axis`] | the kinds of varied parameters |
//! | [`outcome`], [`back_to_back`] | the saved data, with its trials; [`capbench_statistics`] summarises and compares repeats |
//! | [`keeps_up`] | at which points a method keeps up, and where loss begins |
//! | [`contrasts`], `limits` | differences beyond chance, and excluded differences |
//! | [`scaling`], [`members_growth`] | how the rate grows with the number of members, and what stops it: as saved; from the trials |
//! | [`regimes`], [`effects`] | the cost of a packet at each point; whether the effects of Dain (2004) appear |

pub mod axis;
pub mod back_to_back;
pub mod contrasts;
pub mod effects;
#[cfg(test)]
pub(crate) mod for_tests;
pub mod keeps_up;
mod limits;
pub mod members_growth;
pub mod outcome;
pub mod regimes;
pub mod scaling;

pub use axis::{Analysis, AxisKind, Named, PointUnit};
pub use outcome::{Reading, Series, SweepOutcome};
