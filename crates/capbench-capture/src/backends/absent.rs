//! Placeholder for a method whose cargo feature is off: listed, but cannot be opened.

use std::convert::Infallible;
use std::time::Duration;

use capbench_sys::packet::Frame;

use crate::{Batch, Capture, CaptureError, Interface, Result};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;

/// A capture that cannot exist.
#[derive(Debug)]
pub struct Absent(Infallible);

impl Absent {
    /// Returns the error that the feature is off.
    ///
    /// # Errors
    /// Always.
    pub fn open(spec: &MethodSpec, interface: &Interface, _: &CaptureOptions) -> Result<Self> {
        let reason = "this capbench was built without it; `capbench methods` names the feature";
        Err(CaptureError::unsupported(spec, &interface.name, reason))
    }
}

/// The empty batch type of captures that cannot exist, and of methods that return no frames.
#[derive(Debug)]
pub struct Nothing(Infallible);

impl Batch for Nothing {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        match self.0 {}
        #[allow(unreachable_code, reason = "names the type")]
        std::iter::empty()
    }
}

impl Capture for Absent {
    type Batch<'a> = Nothing;

    fn next_batch(&mut self, _: Duration) -> Result<Option<Nothing>> {
        match self.0 {}
    }

    fn counters(&mut self) -> Result<Counters> {
        match self.0 {}
    }

    fn waits(&self) -> WaitCounts {
        match self.0 {}
    }

    fn running(&self) -> &Running {
        match self.0 {}
    }
}
