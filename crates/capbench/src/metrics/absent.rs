//! Stands in for the metrics of a build without them: there are no flags, so nothing is ever exported.

use anyhow::Result;
use capbench_capture::Occupancy;
use capbench_judge::soak::record::SoakRecord;
use capbench_model::places::Place;
use capbench_record::recording::Account;
use capbench_results::Results;
use capbench_sys::host::CpuId;
use capbench_why::Window;
use clap::Args;

use crate::privileges::Files;

/// No flags.
#[derive(Args, Clone, Debug)]
pub struct MetricsFlags {}

/// No flags.
#[derive(Args, Clone, Debug)]
pub struct TextfileFlags {}

/// Nothing is exported.
#[derive(Clone, Debug, Default)]
pub struct MetricsOutput {}

impl From<MetricsFlags> for MetricsOutput {
    fn from(_: MetricsFlags) -> Self {
        Self {}
    }
}

impl From<TextfileFlags> for MetricsOutput {
    fn from(_: TextfileFlags) -> Self {
        Self {}
    }
}

/// No flags.
#[derive(Args, Clone, Debug, Default)]
pub struct SocketFlags {}

impl SocketFlags {
    pub fn check(&self, _: Option<&Exporter>) -> Result<()> {
        Ok(())
    }
}

/// Never made.
#[derive(Debug)]
pub enum Exporter {}

impl Exporter {
    pub fn open(_: &MetricsOutput, _: &str, _: &str) -> Result<Option<Self>> {
        Ok(None)
    }

    pub fn files(&self) -> Files {
        match *self {}
    }

    pub fn serve(&mut self, _: &[CpuId]) -> Result<()> {
        match *self {}
    }

    pub fn note_window(&mut self, _: &Window, _: &SocketFlags) {
        match *self {}
    }

    pub fn note_capture(
        &mut self,
        _: &str,
        _: Option<u64>,
        _: Vec<(Place, Option<u64>)>,
        _: Option<Occupancy>,
    ) {
        match *self {}
    }

    pub fn note_account(&mut self, _: &Account) {
        match *self {}
    }

    pub fn run(&mut self, _: &str) -> Run {
        match *self {}
    }
}

/// Never made.
#[derive(Clone, Debug)]
pub enum Run {}

impl Run {
    pub fn note_soak(&self, _: &SoakRecord) {
        match *self {}
    }

    pub fn end(&self, _: Option<&Results>, _: u8) {
        match *self {}
    }
}
