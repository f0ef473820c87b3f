//! The rate that loads are shares of.

use std::fmt;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::figures::grouped;
use crate::percent::Percent;
use crate::search::{MaximumLoad, MaximumSource};

/// The highest rate of a test: the line rate, which is the theoretical maximum of the standards (RFC 2544 appendix B), or
/// what takes its place. On a link without a rate, as a virtual one, that is what the generator reaches, and results depend
/// on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MaximumRate {
    /// Frames per second.
    pub pps: Pps,
    /// Where it comes from.
    pub source: MaximumSource,
}

impl From<&MaximumLoad> for MaximumRate {
    fn from(maximum: &MaximumLoad) -> Self {
        Self { pps: maximum.load_pps, source: maximum.source }
    }
}

impl fmt::Display for MaximumRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            MaximumSource::LineRate => "the line rate",
            MaximumSource::Generator => "the generator's maximum",
            MaximumSource::GeneratorAndReceiver => "the maximum of generator and receiver together",
            MaximumSource::Given => "as it was given",
        };
        write!(f, "{} packets/s, {source}", grouped(self.pps.get()))
    }
}

impl MaximumRate {
    /// A part of it.
    ///
    /// # Errors
    /// A rate so small that it is none.
    pub(super) fn part(self, percent: Percent) -> Result<Pps> {
        Ok(Pps::new(self.pps.get() * percent.ratio())?)
    }
}
