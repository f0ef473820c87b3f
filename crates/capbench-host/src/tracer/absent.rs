//! Replaces the tracer in a program that was built without it.

use std::convert::Infallible;
use std::path::Path;

use capbench_sys::host::CpuId;

use super::{InterfaceTrace, Scope, Unavailable};
use crate::Result;

/// A tracer that does not exist.
#[derive(Debug)]
pub struct Tracer(Infallible);

impl Tracer {
    /// Returns the reason.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &[Scope]) -> std::result::Result<Self, Unavailable> {
        Err(Unavailable { reason: "this capbench was built without the feature bpf".into() })
    }

    /// Like [`Self::start`].
    ///
    /// # Errors
    /// Always.
    pub fn start_on(_: &Path, scopes: &[Scope]) -> std::result::Result<Self, Unavailable> {
        Self::start(scopes)
    }

    /// Like [`Self::start`].
    ///
    /// # Errors
    /// Always.
    pub fn start_drops(_: &Path, scopes: &[Scope]) -> std::result::Result<Self, Unavailable> {
        Self::start(scopes)
    }

    /// Never called.
    pub fn watch(&self, _: &[Scope]) -> Result<()> {
        match self.0 {}
    }

    /// Never called.
    pub fn snapshot(&self) -> Result<Vec<InterfaceTrace>> {
        match self.0 {}
    }

    /// Never called.
    pub fn net_rx(&self, _: CpuId) -> Option<super::NetRxTime> {
        match self.0 {}
    }

    /// Never called.
    pub fn stalls(&self, _: CpuId, _: u64, _: u64) -> Option<Vec<super::Stall>> {
        match self.0 {}
    }

    /// Never called.
    pub fn measure_cost<E>(
        &self,
        _: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self.0 {}
    }

    /// Never called.
    pub fn cost(&self) -> Option<super::cost::TracerCost> {
        match self.0 {}
    }

    /// Never called.
    pub fn no_cost_because(&self) -> Option<&str> {
        match self.0 {}
    }

    /// Never called.
    pub fn gives_reasons(&self) -> bool {
        match self.0 {}
    }
}
