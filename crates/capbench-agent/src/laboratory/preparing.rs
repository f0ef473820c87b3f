//! Prepares all ends for the trials of a set-up.

use std::num::NonZeroU16;

use capbench_frames::plan::FramePlan;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::Mtu;
use capbench_host::bed::Placement;
use capbench_lab::LabError;
use capbench_lab::live::messages::{HostCpus, PrepareReceiving};
use capbench_lab::live::{self, LiveTrial, Senders, SeparateClocks, line_rate};
use capbench_lab::subject::Subject;
use capbench_model::laboratory::Setup;
use capbench_sys::host::CpuId;

use super::AgentLaboratory;
use super::generator::Conditions;
use crate::Result;
use crate::client::RemoteReceiver;

impl AgentLaboratory {
    /// A trial with all sides prepared on these CPUs.
    pub(super) fn prepared(
        &mut self,
        setup: &Setup,
        subject: &Subject,
        placement: &Placement,
    ) -> Result<LiveTrial<'_>> {
        let plan = FramePlan::new(setup.layout, setup.sizes.clone(), self.mtu()?).map_err(LabError::from)?;
        let mean_octets = plan.sizes().mean_octets();
        let line_rate = self.bits_per_second()?.and_then(|bits| line_rate::of_bits(bits, mean_octets));
        let threads = live::generator_threads(setup)?;
        let mut cpus = Vec::new();
        for generator in &self.generators {
            cpus.push(self.cpus_of(generator, placement, threads)?);
        }
        let receiving = self.receiving(setup, placement, &cpus, threads)?;
        let PrepareReceiving { streams, mtu, is_virtual, .. } = receiving;
        let measured_there = self.measured_cpus(self.receive.hello(), placement, &cpus);
        let conditions = self.conditions(setup, placement, cpus, threads, is_virtual);
        let comparison = setup.latency.map(|_| self.comparison());
        let Self { generators, absent, receive, numbering, statements, base, route, in_turns, .. } = self;
        let receive = RemoteReceiver::prepare(receive, receiving, measured_there)?.comparing(comparison);
        let mut further = receive.statements();
        let mut absent = absent.clone();
        absent.extend(generators.iter().filter_map(|generator| generator.failure.clone()));
        let mut senders = Vec::new();
        for (generator, conditions) in generators.iter_mut().zip(conditions) {
            if generator.failure.is_some() {
                continue;
            }
            match generator.prepare(setup, mtu, conditions) {
                // For the next set-up it is started again, or given up.
                Err(error) if error.is_out_of_reach() && absent.len() < route.tolerated => {
                    absent.push(error.to_string());
                }
                prepared => {
                    let (sender, of_sender) = prepared?;
                    senders.push(sender);
                    further.extend(of_sender);
                }
            }
        }
        for statement in further {
            if !statements.contains(&statement) {
                statements.push(statement);
            }
        }
        let tolerated = route.tolerated - absent.len();
        Ok(LiveTrial {
            numbering,
            base: TrialId(*base),
            profile: live::profile(setup, subject, &plan, placement),
            is_virtual,
            line_rate,
            burst: setup.burst,
            senders: Senders::new(senders, streams, absent, tolerated),
            receive: Box::new(receive),
            clocks: Some(SeparateClocks { accepted_error: route.clock_error }),
            tracer: None,
            traces_always: false,
            in_turns: *in_turns,
            sink: None,
        })
    }

    /// What the receiver prepares.
    fn receiving(
        &self,
        setup: &Setup,
        placement: &Placement,
        cpus: &[Vec<CpuId>],
        threads: NonZeroU16,
    ) -> Result<PrepareReceiving> {
        Ok(PrepareReceiving {
            setup: setup.clone(),
            streams: self.streams(threads)?,
            untimed: self.untimed_streams(setup)?,
            mtu: self.mtu()?,
            cpus: HostCpus {
                generators: self.cpus_on_its_kernel(cpus),
                kernels: placement.kernels.clone(),
                application: placement.application,
            },
            is_virtual: self.is_pair()?,
            polls_by_thread: false,
        })
    }

    /// The smallest MTU of all interfaces.
    fn mtu(&self) -> Result<Mtu> {
        let mut least = self.receive_port()?.mtu;
        for generator in &self.generators {
            least = least.min(generator.port()?.mtu);
        }
        Ok(Mtu(least))
    }

    /// How many streams all generators send: each of their threads sends one.
    fn streams(&self, threads: NonZeroU16) -> Result<u16> {
        let generators = self.route.transmit.len();
        let streams = (generators as u16).saturating_mul(threads.get());
        if streams <= StreamId::COUNT {
            return Ok(streams);
        }
        Err(LabError::Unsupported {
            what: format!("{threads} threads of {generators} generators"),
            reason: format!("each sends a stream, and there are {}", StreamId::COUNT),
        }
        .into())
    }

    /// The streams whose frames have no send times.
    fn untimed_streams(&self, setup: &Setup) -> Result<Vec<StreamId>> {
        let mut untimed = Vec::new();
        for generator in self.generators.iter().filter(|generator| generator.host.is_untimed()) {
            untimed.push(generator.stream);
        }
        if setup.latency.is_none() || untimed.is_empty() {
            return Ok(untimed);
        }
        Err(LabError::Unsupported {
            what: "latency".into(),
            reason: "the frames of an OTG generator have no send times".into(),
        }
        .into())
    }

    /// Those of these CPUs of each generator that the receiver's kernel has.
    fn cpus_on_its_kernel(&self, cpus: &[Vec<CpuId>]) -> Vec<CpuId> {
        let mut here = Vec::new();
        for (generator, cpus) in self.generators.iter().zip(cpus) {
            if self.is_on_its_kernel(generator) {
                here.extend_from_slice(cpus);
            }
        }
        here.sort_unstable();
        here.dedup();
        here
    }

    /// Under which conditions each generator sends, on these CPUs.
    fn conditions(
        &self,
        setup: &Setup,
        placement: &Placement,
        cpus: Vec<Vec<CpuId>>,
        threads: NonZeroU16,
        is_virtual: bool,
    ) -> Vec<Conditions> {
        // All wait for the slowest connection: they start together.
        let settling = self.generators.iter().map(|generator| generator.host.settling());
        let head_start = settling.max().unwrap_or_default();
        let comparison = setup.latency.map(|_| self.comparison());
        let mut conditions = Vec::new();
        for (generator, own_cpus) in self.generators.iter().zip(&cpus) {
            let first_stream = u16::from(generator.stream.0) * threads.get();
            conditions.push(Conditions {
                stream: StreamId(first_stream as u8),
                cpus: own_cpus.clone(),
                measured: self.measured_cpus(generator.host.facts().hello, placement, &cpus),
                is_virtual,
                is_on_its_host: self.is_on_its_kernel(generator),
                head_start,
                comparison,
            });
        }
        conditions
    }
}
