//! An agent that sends, and its share of the load.

use std::collections::BTreeSet;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

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
    /// Its number among all: with one thread each, its stream.
    pub(super) stream: StreamId,
    /// Its share of the load is that of this weight among all.
    pub(super) weight: NonZeroU32,
    pub(super) agent: Connection,
    /// Why the rest of the run does without it.
    pub(super) failure: Option<String>,
}

/// What is known of a generator's trials besides their set-up.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// The first of its streams.
    pub(super) stream: StreamId,
    /// The CPU of each of its threads.
    pub(super) cpus: Vec<CpuId>,
    /// The CPUs of its host that the trials measure.
    pub(super) measured: BTreeSet<CpuId>,
    /// Whether the interfaces are the ends of one veth pair.
    pub(super) is_virtual: bool,
    /// Whether it runs on the receiver's host.
    pub(super) is_on_its_host: bool,
    /// How long it waits before the first frame.
    pub(super) head_start: Duration,
    pub(super) comparison: Option<Comparison>,
}

impl Generator {
    pub(super) fn new(stream: StreamId, weight: NonZeroU32, agent: Connection) -> Self {
        Self { stream, weight, agent, failure: None }
    }

    /// Its interface, if it may use it.
    pub(super) fn port(&self) -> Result<&PortState> {
        port(&self.agent, Role::Transmit)
    }

    /// Prepares its side of the trials of a set-up. Also returns what the results say of its host.
    pub(super) fn prepare(
        &mut self,
        setup: &Setup,
        mtu: Mtu,
        on: Conditions,
    ) -> Result<(Sender<'_>, Vec<String>)> {
        let Conditions { stream, cpus, measured, is_virtual, is_on_its_host, head_start, comparison } = on;
        let sending = PrepareSending {
            stream,
            transmit: setup.transmit.clone(),
            layout: setup.layout,
            sizes: setup.sizes.clone(),
            mtu,
            cpus,
            is_virtual,
        };
        let streams = NonZeroU16::new(sending.cpus.len() as u16).unwrap_or(NonZeroU16::MIN);
        let location = self.agent.location().to_string();
        let end = RemoteSender::prepare(&mut self.agent, sending, measured)?;
        let notes = end.notes();
        let end = Box::new(end.comparing(comparison).after(head_start));
        Ok((Sender::new(end, stream, streams, self.weight, Some(location), is_on_its_host), notes))
    }
}
