//! The path that trials run on, and the laboratory on it: in this process, or between agents.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Result;
use capbench_agent::client::Interrupt;
use capbench_agent::laboratory::{AgentLaboratory, Route};
use capbench_frames::Pps;
use capbench_host::bed::{PortLock, Side, prepare_process};
use capbench_lab::live::{self, LiveLaboratory, line_rate};
use capbench_lab::programs::Programs;
use capbench_model::environment::Environment;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::statement::Statement;
use capbench_model::trial::Trial;

use crate::built;
use crate::signals::Stop;

/// The path of trials.
#[derive(Clone, Debug)]
pub enum Path {
    /// Both interfaces are used by this process.
    Here(live::Path),
    /// Each interface is used by an agent.
    Agents(AgentPath),
}

/// A path between agents.
#[derive(Clone, Debug)]
pub struct AgentPath {
    pub route: Route,
    /// Speed of its links in bits per second, once the agents were asked.
    bits_per_second: Arc<OnceLock<Option<f64>>>,
}

impl AgentPath {
    pub fn new(route: Route) -> Self {
        Self { route, bits_per_second: Arc::default() }
    }

    fn open(
        &self,
        programs: &Programs,
        trace: bool,
        interrupt: Interrupt,
        stop: Arc<AtomicBool>,
    ) -> Result<AgentLaboratory> {
        Ok(AgentLaboratory::open(self.route.clone(), programs.clone(), trace, interrupt, stop)?)
    }

    /// Asks the agents for the speed of the links, once.
    fn bits_per_second(&self) -> Result<Option<f64>> {
        if let Some(known) = self.bits_per_second.get() {
            return Ok(*known);
        }
        let agents = self.open(&Programs::default(), false, Interrupt::default(), Arc::default())?;
        let bits = agents.bits_per_second()?;
        Ok(*self.bits_per_second.get_or_init(|| bits))
    }
}

impl Path {
    /// Highest frame rate for a set-up's sizes. Agents are contacted for it.
    pub fn line_rate(&self, setup: &Setup) -> Result<Option<Pps>> {
        match self {
            Self::Here(path) => Ok(path.line_rate(setup)?),
            Self::Agents(agents) => {
                let mean_octets = setup.sizes.sequence(&setup.layout)?.mean_octets();
                Ok(agents.bits_per_second()?.and_then(|bits| line_rate::of_bits(bits, mean_octets)))
            }
        }
    }

    /// Whether this host receives. A host behind a network is another one.
    pub fn receives_here(&self) -> bool {
        match self {
            Self::Here(_) => true,
            Self::Agents(AgentPath { route, .. }) => !route.receive.may_use_a_network(),
        }
    }

    /// Whether this host sends, too, where it receives: then its CPUs are shared.
    pub fn is_on_this_host(&self) -> bool {
        let sends = match self {
            Self::Here(_) => true,
            Self::Agents(AgentPath { route, .. }) => {
                route.transmit.iter().any(|(location, _)| !location.may_use_a_network())
            }
        };
        sends && self.receives_here()
    }

    /// The interface that receives; of a virtual link, its kind.
    pub fn receiver(&self) -> String {
        match self {
            Self::Here(live::Path::Virtual { .. }) => "veth".into(),
            Self::Here(live::Path::Interfaces { receive, .. }) => receive.clone(),
            Self::Agents(AgentPath { route, .. }) => route.receive.to_string(),
        }
    }

    /// The path in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Here(live::Path::Virtual { mtu, .. }) => format!("a veth pair of its own, MTU {}", mtu.0),
            Self::Here(live::Path::Interfaces { transmit, receive, .. }) => {
                format!("{transmit} to {receive}")
            }
            Self::Agents(AgentPath { route, .. }) => format!("{} to {}", route.senders(), route.receive),
        }
    }
}

/// Takes the interfaces of a path for this run.
fn locked(path: &live::Path) -> Result<Vec<PortLock>> {
    let live::Path::Interfaces { transmit, receive, isolated } = path else { return Ok(Vec::new()) };
    let lock = |name: &String| Ok(PortLock::take(&Side::for_trials(name, *isolated)?)?);
    [transmit, receive].into_iter().map(lock).collect()
}

/// An opened path.
#[derive(Debug)]
pub enum Site {
    /// In this process.
    Here {
        laboratory: Box<LiveLaboratory>,
        /// Facts about its host.
        environment: Box<Environment>,
        /// Interfaces of the host that no other run may use meanwhile.
        _locks: Vec<PortLock>,
    },
    /// Between agents.
    Agents(Box<AgentLaboratory>),
}

/// Whether to trace drops and softirq time in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    Never,
    /// Drops only where this does not slow the receiver much.
    WithinLimit,
    Always,
}

impl Site {
    /// Opens the path. Call it before any thread exists: the process of an ordinary user enters a user namespace for a virtual
    /// link.
    pub fn open(path: &Path, programs: &Programs, trace: Trace) -> Result<(Self, Stop)> {
        match path {
            Path::Here(path) => {
                if matches!(path, live::Path::Virtual { .. }) {
                    prepare_process()?;
                }
                let stop = Stop::install()?;
                let environment =
                    Environment { program: Some(built::program()), ..capbench_host::environment::read()? };
                let laboratory = LiveLaboratory::new(path.clone(), environment.irq_accounting, stop.flag())
                    .with_programs(programs.clone());
                let laboratory = match trace {
                    Trace::Never => laboratory,
                    Trace::WithinLimit => laboratory.with_tracer(),
                    Trace::Always => laboratory.with_tracer().tracing_always(),
                };
                let (laboratory, environment) = (Box::new(laboratory), Box::new(environment));
                Ok((Self::Here { laboratory, environment, _locks: locked(path)? }, stop))
            }
            Path::Agents(agents) => {
                let stop = Stop::install()?;
                let mut laboratory =
                    agents.open(programs, trace != Trace::Never, stop.interrupt(), stop.flag())?;
                laboratory.note_other_builds(&built::program());
                Ok((Self::Agents(Box::new(laboratory)), stop))
            }
        }
    }

    /// Facts about the hosts and the interfaces of the set-ups that were prepared.
    pub fn environment(&self) -> Environment {
        match self {
            Self::Here { laboratory, environment, .. } => {
                Environment { interfaces: Some(laboratory.interfaces().to_vec()), ..(**environment).clone() }
            }
            Self::Agents(laboratory) => laboratory.environment(),
        }
    }
}

impl Laboratory for Site {
    fn prepare(&mut self, setup: &Setup) -> capbench_model::Result<Box<dyn Trial + '_>> {
        match self {
            Self::Here { laboratory, .. } => laboratory.prepare(setup),
            Self::Agents(laboratory) => laboratory.prepare(setup),
        }
    }

    fn rest(&mut self, while_idle: Duration) {
        match self {
            Self::Here { laboratory, .. } => laboratory.rest(while_idle),
            Self::Agents(laboratory) => laboratory.rest(while_idle),
        }
    }

    fn take_turns(&mut self, are_in_turns: bool) {
        match self {
            Self::Here { laboratory, .. } => laboratory.take_turns(are_in_turns),
            Self::Agents(laboratory) => laboratory.take_turns(are_in_turns),
        }
    }

    fn number_after(&mut self, last: u32) {
        match self {
            Self::Here { laboratory, .. } => laboratory.number_after(last),
            Self::Agents(laboratory) => laboratory.number_after(last),
        }
    }

    fn statements(&self) -> Vec<Statement> {
        match self {
            Self::Here { laboratory, .. } => laboratory.statements(),
            Self::Agents(laboratory) => laboratory.statements(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn path(transmit: &[&str], receive: &str) -> Path {
        let weighted = |text: &&str| (text.parse().unwrap(), NonZeroU32::MIN);
        Path::Agents(AgentPath::new(Route {
            transmit: transmit.iter().map(weighted).collect(),
            receive: receive.parse().unwrap(),
            isolated: false,
            clock_error: None,
            tolerated: 0,
            http_config: None,
        }))
    }

    #[test]
    fn only_a_host_that_receives_without_a_network_is_this_one() {
        let both = |transmit: &[&str], receive| {
            let path = path(transmit, receive);
            (path.receives_here(), path.is_on_this_host())
        };
        assert_eq!(both(&["netns:gen/eth1"], "netns:dut/eth1"), (true, true));
        assert_eq!(both(&["ssh:gen1/eth1"], "eth1"), (true, false));
        assert_eq!(both(&["ssh:gen1/eth1", "netns:gen/eth1"], "eth1"), (true, true));
        for receive in ["ssh:sensor/eth1", "exec:kubectl exec -i dut -- capbench agent,eth1"] {
            assert_eq!(both(&["eth1"], receive), (false, false));
        }
    }
}
