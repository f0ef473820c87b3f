//! In the place of `otg` in a build without the feature `otg`: no such generator can be opened.

use capbench_model::generator::GeneratorFacts;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use capbench_lab::live::ends::TransmitEnd;
use capbench_lab::live::halves::TransmitHalf;
use capbench_lab::live::messages::{Arm, FinishSending, Go, PrepareSending, Sent};
use capbench_lab::receiver::SharedStart;

use crate::location::Location;
use crate::message::{Hello, Kind, Refusal};
use crate::waits::Waits;
use crate::{AgentError, Result};

/// Servers that this build does not ask.
#[derive(Debug)]
pub struct OtgServers;

/// A generator that this build cannot drive.
#[derive(Debug)]
pub enum OtgGenerator {}

/// A side of it.
#[derive(Debug)]
pub enum OtgSender {}

impl OtgServers {
    /// Asks nobody.
    pub fn new(_: Option<PathBuf>, _: Waits, _: Arc<AtomicBool>) -> Self {
        Self
    }

    /// Refuses a generator.
    ///
    /// # Errors
    /// Always.
    pub fn open(&mut self, location: &Location) -> Result<OtgGenerator> {
        Err(AgentError::Refused {
            location: location.to_string(),
            refusal: Refusal::new(
                Kind::Unsupported,
                "this build of capbench drives no OTG generator; build it with the feature otg",
            ),
        })
    }
}

impl OtgGenerator {
    pub(crate) fn location(&self) -> &Location {
        match *self {}
    }

    pub(crate) fn hello(&self) -> &Hello {
        match *self {}
    }

    pub(crate) fn facts(&self) -> GeneratorFacts {
        match *self {}
    }

    pub(crate) fn revive(&mut self) -> Result<()> {
        match *self {}
    }

    pub(crate) fn show_life(&mut self) -> Result<()> {
        match *self {}
    }
}

impl OtgSender {
    pub(crate) fn prepare(generator: &mut OtgGenerator, _: PrepareSending) -> Result<Self> {
        match *generator {}
    }
}

impl TransmitEnd for OtgSender {
    fn arm(&mut self, _: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        match *self {}
    }

    fn go(&mut self, _: Go) -> capbench_lab::Result<()> {
        match *self {}
    }

    fn sent(&mut self) -> capbench_lab::Result<Vec<Sent>> {
        match *self {}
    }

    fn finish(&mut self, _: FinishSending) -> capbench_lab::Result<TransmitHalf> {
        match *self {}
    }

    fn release(&mut self) {
        match *self {}
    }
}
