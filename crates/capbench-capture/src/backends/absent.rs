//! Stands for a method whose cargo feature is off: listed, and never open.

use std::convert::Infallible;
use std::time::Duration;

use capbench_sys::packet::Frame;

use crate::capture::{Batch, Capture};
use crate::counters::Counters;
use crate::counters::WaitCounts;
use crate::error::{CaptureError, Result};
use crate::interface::Interface;
use crate::method_spec::MethodSpec;
use crate::options::CaptureOptions;
use crate::running::Running;

/// A capture that cannot be.
#[derive(Debug)]
pub struct Absent(Infallible);

impl Absent {
    /// Says that it is not there.
    ///
    /// # Errors
    /// Always.
    pub fn open(spec: &MethodSpec, interface: &Interface, _: &CaptureOptions) -> Result<Self> {
        Err(CaptureError::Unsupported {
            method: spec.to_string(),
            interface: interface.name.clone(),
            reason: "this capbench was built without it; `capbench methods` names the feature".into(),
        })
    }
}

/// No frames: the batch of a capture that cannot be, and of methods that hand none over.
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
