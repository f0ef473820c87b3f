//! The rate that loads are shares of.

use std::fmt;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use crate::error::{MeasureError, Result};
use crate::figures::grouped;
use crate::search::{MaximumLoad, MaximumSource};

/// The highest rate of a test: the line rate, which is the theoretical maximum of the standards (RFC 2544 appendix B), or
/// what takes its place. On a link without a rate, as a virtual one, that is what the generator reaches, and results depend
/// on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// A share in percent: finite, above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Percent(f64);

impl Percent {
    /// All of it.
    pub const WHOLE: Self = Self(100.0);

    /// A share.
    ///
    /// # Errors
    /// Zero, negative, infinite or not a number.
    pub fn new(percent: f64) -> Result<Self> {
        if percent.is_finite() && percent > 0.0 {
            Ok(Self(percent))
        } else {
            Err(MeasureError::Unsupported {
                what: format!("a test with {percent} %"),
                reason: "a share is above 0 % and finite".into(),
            })
        }
    }

    /// The share in percent.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The share as a factor.
    pub fn ratio(self) -> f64 {
        self.0 / 100.0
    }

    /// A share that the source text holds.
    pub(crate) const fn fixed(percent: f64) -> Self {
        assert!(percent > 0.0 && percent.is_finite());
        Self(percent)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

impl TryFrom<f64> for Percent {
    type Error = MeasureError;

    fn try_from(percent: f64) -> Result<Self> {
        Self::new(percent)
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}
