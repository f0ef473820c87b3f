//! Replaces the sink in a program that was built without BPF.

use std::convert::Infallible;

use super::Side;
use crate::{HostError, Result};

/// A sink that does not exist.
#[derive(Debug)]
pub struct Sink(Infallible);

impl Sink {
    pub(super) fn place(_: &Side) -> Result<Self> {
        Err(HostError::unsupported("ending frames behind the capture", "built without the feature bpf"))
    }

    /// Never called.
    pub fn set_active(&self, _: bool) -> Result<()> {
        match self.0 {}
    }

    /// Never called.
    pub fn ended(&self) -> Result<u64> {
        match self.0 {}
    }
}
