//! An agent that sends, and its share of the load.

use std::num::NonZeroU32;

use capbench_frames::stamp::StreamId;
use capbench_frames::units::Mtu;
use capbench_lab::live::Sender;
use capbench_lab::live::messages::PrepareSending;
use capbench_model::environment::interface::Role;
use capbench_model::laboratory::Setup;
use capbench_sys::host::CpuId;

use super::port;
use crate::Result;
use crate::client::{Comparison, Connection, RemoteSender};
use crate::message::PortState;

/// One generator of a run.
#[derive(Debug)]
pub(super) struct Generator {
    pub(super) stream: StreamId,
    /// Its share of the load is that of this weight among all.
    pub(super) weight: NonZeroU32,
    pub(super) agent: Connection,
    /// Why the rest of the run does without it.
    pub(super) failure: Option<String>,
}

impl Generator {
    pub(super) fn new(stream: StreamId, weight: NonZeroU32, agent: Connection) -> Self {
        Self { stream, weight, agent, failure: None }
    }

    /// Its interface, if it may use it.
    pub(super) fn port(&self) -> Result<&PortState> {
        port(&self.agent, Role::Transmit)
    }

    /// Prepares its side of the trials of a set-up.
    pub(super) fn prepare(
        &mut self,
        setup: &Setup,
        mtu: Mtu,
        cpu: CpuId,
        is_virtual: bool,
        is_on_its_host: bool,
        comparison: Option<Comparison>,
    ) -> Result<Sender<'_>> {
        let sending = PrepareSending {
            stream: self.stream,
            transmit: setup.transmit.clone(),
            layout: setup.layout,
            sizes: setup.sizes.clone(),
            mtu,
            cpu,
            is_virtual,
        };
        let location = self.agent.location().to_string();
        let end = RemoteSender::prepare(&mut self.agent, sending)?.comparing(comparison);
        Ok(Sender::new(Box::new(end), self.stream, self.weight, Some(location), is_on_its_host))
    }
}
