//! A generator, an agent or one of others, and its share of the load.

use std::collections::BTreeSet;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use capbench_frames::stamp::StreamId;
use capbench_frames::units::Mtu;
use capbench_lab::live::Sender;
use capbench_lab::live::ends::TransmitEnd;
use capbench_lab::live::messages::PrepareSending;
use capbench_model::environment::interface::Role;
use capbench_model::laboratory::Setup;
use capbench_model::statement::Statement;
use capbench_sys::host::CpuId;

use super::EndFacts;
use crate::Result;
use crate::client::{Comparison, Connection, RemoteSender};
use crate::message::PortState;
use crate::otg::{OtgGenerator, OtgSender};

/// Who sends.
#[derive(Debug)]
pub(super) enum Host {
    /// An agent.
    Agent(Box<Connection>),
    /// A generator of others.
    Otg(Box<OtgGenerator>),
}

impl Host {
    /// What it said of itself.
    pub(super) fn facts(&self) -> EndFacts<'_> {
        match self {
            Self::Agent(agent) => (&**agent).into(),
            Self::Otg(generator) => EndFacts { location: generator.location(), hello: generator.hello() },
        }
    }

    /// The agent, if it is one.
    pub(super) fn agent(&mut self) -> Option<&mut Connection> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Otg(_) => None,
        }
    }

    /// Whether it writes no planned times into its frames.
    pub(super) fn is_untimed(&self) -> bool {
        matches!(self, Self::Otg(_))
    }

    /// How long the acknowledgement of a message to it may take, before which no frame must be sent.
    pub(super) fn settling(&self) -> Duration {
        match self {
            Self::Agent(agent) => agent.settling(),
            // It answers when it has begun.
            Self::Otg(_) => Duration::ZERO,
        }
    }

    /// Starts it again if it was lost.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(super) fn revive(&mut self) -> Result<()> {
        match self {
            Self::Agent(agent) => agent.revive(),
            Self::Otg(generator) => generator.revive(),
        }
    }

    /// Shows it that its controller is there.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(super) fn show_life(&mut self) -> Result<()> {
        match self {
            Self::Agent(agent) => agent.show_life(),
            Self::Otg(generator) => generator.show_life(),
        }
    }
}

/// One generator of a run.
#[derive(Debug)]
pub(super) struct Generator {
    /// Its number among all: with one thread each, its stream.
    pub(super) stream: StreamId,
    /// Its share of the load is that of this weight among all.
    pub(super) weight: NonZeroU32,
    pub(super) host: Host,
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
    pub(super) fn new(stream: StreamId, weight: NonZeroU32, host: Host) -> Self {
        Self { stream, weight, host, failure: None }
    }

    /// Its interface, if it may use it.
    pub(super) fn port(&self) -> Result<&PortState> {
        self.host.facts().port(Role::Transmit)
    }

    /// Prepares its side of the trials of a set-up. Also returns what the results say of its host.
    pub(super) fn prepare(
        &mut self,
        setup: &Setup,
        mtu: Mtu,
        on: Conditions,
    ) -> Result<(Sender<'_>, Vec<Statement>)> {
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
        let location = self.host.facts().location.to_string();
        let (end, statements): (Box<dyn TransmitEnd>, _) = match &mut self.host {
            Host::Agent(agent) => {
                let end = RemoteSender::prepare(agent, sending, measured)?;
                let statements = end.statements();
                (Box::new(end.comparing(comparison).after(head_start)), statements)
            }
            Host::Otg(generator) => {
                let statement = Statement::SentUnverified { location: location.clone() };
                (Box::new(OtgSender::prepare(generator, sending)?), vec![statement])
            }
        };
        Ok((Sender::new(end, stream, streams, self.weight, Some(location), is_on_its_host), statements))
    }
}
