//! A share in percent.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{PlanError, Result};

/// A share in percent: finite, above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Percent(f64);

impl Percent {
    /// 100 %.
    pub const WHOLE: Self = Self(100.0);

    /// Creates a share from percent.
    ///
    /// # Errors
    /// When `percent` is zero, negative, infinite or not a number.
    pub fn new(percent: f64) -> Result<Self> {
        if percent.is_finite() && percent > 0.0 {
            Ok(Self(percent))
        } else {
            Err(PlanError::unsupported(format!("a test with {percent} %"), "a share is above 0 % and finite"))
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

    /// A share that is constant in the source code.
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
    type Error = PlanError;

    fn try_from(percent: f64) -> Result<Self> {
        Self::new(percent)
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}
