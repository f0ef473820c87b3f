//! The laboratory whose ends are agents: on other hosts, in other network namespaces, or next to this process. One or more of
//! them send, and one receives.
//!
//! | file | what |
//! |---|---|
//! | `generator` | an agent that sends, and its share of the load |
//! | `check` | sends a few frames before the first trial: whether the cable is right, and which CPU receives |
//! | `description` | what a plan says of the agents |
//! | `ends` | what an end said of itself |
//! | `placement` | the CPUs of both hosts |
//! | `preparing` | prepares all ends for the trials of a set-up |

mod check;
mod description;
mod ends;
mod generator;
mod placement;
mod preparing;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use capbench_frames::stamp::StreamId;
use capbench_lab::LabError;
use capbench_lab::live::{LiveTrial, Numbering};
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, ReceiveBy};
use capbench_model::environment::interface::Role;
use capbench_model::environment::program::Program;
use capbench_model::environment::{Environment, RunHost};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::statement::Statement;
use capbench_model::trial::Trial;

pub use description::{
    DescribedEnd, DescribedInterface, Description, EndProgram, OneWayTimes, UnknownLosses,
};

use crate::client::{Comparison, Connection, Interrupt};
use crate::location::Location;
use crate::message::{Hello, PortState};
use crate::otg::{OtgGenerator, OtgServers};
use crate::waits::Waits;
use crate::{AgentError, Result};
use check::Checked;
use ends::{EndFacts, connect};
use generator::{Generator, Host};

/// Interval at which a pause checks whether the user wants to stop.
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

/// The interfaces of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The interfaces that send, 1 to 256, each with the weight of its share of the load.
    pub transmit: Vec<(Location, NonZeroU32)>,
    /// The interface that receives.
    pub receive: Location,
    /// The user's assertion that the link carries no other traffic (RFC 6815). It reaches agents whose command line the location
    /// leaves open; the others have their owner's.
    pub isolated: bool,
    /// Largest error of one-way times that the user accepts; `None`: a tenth of the median.
    pub clock_error: Option<Duration>,
    /// How many generators may end, or not be reached again, while the run goes on without them.
    pub tolerated: usize,
    /// TLS and password for generators of others: an HTTP configuration file of Prometheus.
    pub http_config: Option<PathBuf>,
}

impl Route {
    /// The interfaces that send, in a list.
    pub fn senders(&self) -> String {
        self.transmit.iter().map(|(location, _)| location.to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// Runs trials between two agents.
#[derive(Debug)]
pub struct AgentLaboratory {
    route: Route,
    programs: Programs,
    stop: Arc<AtomicBool>,
    /// In the order of their streams.
    generators: Vec<Generator>,
    /// Why other generators could not be reached at the start.
    absent: Vec<String>,
    receive: Connection,
    /// First trial id of this run; differs between runs.
    base: u16,
    numbering: Numbering,
    /// Whether methods take turns in short trials.
    in_turns: bool,
    checked: Option<Checked>,
    statements: Vec<Statement>,
    /// When the laboratory was opened: the agents' clocks are compared with the time since then.
    opened: Instant,
}

impl AgentLaboratory {
    /// Starts all agents.
    ///
    /// # Errors
    /// An agent cannot be started, or its interface cannot be used.
    pub fn open(
        route: Route,
        programs: Programs,
        trace: bool,
        interrupt: Interrupt,
        stop: Arc<AtomicBool>,
    ) -> Result<Self> {
        let connect = |role, location: &Location| connect(&route, role, location, trace, &interrupt);
        let http_config = route.http_config.clone();
        let mut servers = OtgServers::new(http_config, Waits::of_this_build(), Arc::clone(&stop));
        let mut generator = |location: &Location| match location {
            Location::Otg { .. } => servers.open(location).map(|other| Host::Otg(other.into())),
            _ => connect(Role::Transmit, location).map(|agent| Host::Agent(agent.into())),
        };
        let (mut generators, mut absent, mut statements) = (Vec::new(), Vec::new(), Vec::new());
        for (stream, (location, weight)) in (0..=u8::MAX).zip(&route.transmit) {
            match generator(location) {
                Err(error) if error.is_out_of_reach() && absent.len() < route.tolerated => {
                    statements.push(without_a_generator(&error));
                    absent.push(error.to_string());
                }
                host => generators.push(Generator::new(StreamId(stream), *weight, host?)),
            }
        }
        let receive = connect(Role::Receive, &route.receive)?;
        let base = (std::process::id() as u16).wrapping_mul(0x9e37);
        Ok(Self {
            route,
            programs,
            stop,
            generators,
            absent,
            receive,
            base,
            numbering: Numbering::default(),
            in_turns: false,
            checked: None,
            statements,
            opened: Instant::now(),
        })
    }

    /// The facts about the host that receives, and about all as `hosts`.
    pub fn environment(&self) -> Environment {
        let host = |(role, facts): (Role, EndFacts<'_>)| RunHost {
            role,
            location: facts.location.to_string(),
            host_id: facts.hello.host_id.clone(),
            environment: Environment {
                interfaces: facts.port(role).ok().map(|port| vec![port.facts.clone()]),
                ..facts.hello.environment.clone()
            },
        };
        // Of the host of a generator of others nothing is known.
        let of_agents = self.ends().filter(|(_, facts)| self.other(facts.location).is_none());
        let hosts: Vec<_> = of_agents.map(host).collect();
        let interfaces = hosts.iter().filter_map(|host| host.environment.interfaces.clone()).flatten();
        Environment {
            interfaces: Some(interfaces.collect()),
            hosts,
            ..self.receive.hello().environment.clone()
        }
    }

    /// Speed of the links in bits per second: up to it no share exceeds the speed of its generator, nor the whole that of the
    /// receiver. `None` if an interface has no speed.
    ///
    /// # Errors
    /// An interface that cannot be used.
    pub fn bits_per_second(&self) -> Result<Option<f64>> {
        if self.is_pair()? {
            return Ok(None);
        }
        let mut lowest = self.receive_port()?.bits_per_second;
        for generator in &self.generators {
            let own = generator.port()?.bits_per_second;
            lowest = lowest.zip(own).map(|(lowest, own)| lowest.min(own * self.parts_of(generator)));
        }
        Ok(lowest)
    }

    /// How many times a generator's share the whole load is.
    fn parts_of(&self, generator: &Generator) -> f64 {
        let all: f64 = self.generators.iter().map(|generator| f64::from(generator.weight.get())).sum();
        all / f64::from(generator.weight.get())
    }

    /// Notes the agents that are of another build than the controller.
    pub fn note_other_builds(&mut self, own: &Program) {
        let is_other = |hello: &Hello| {
            let other = &hello.build.source_hash;
            other.is_some() && own.source_hash.is_some() && *other != own.source_hash
        };
        let others = self.ends().filter(|(_, facts)| is_other(facts.hello));
        let mut statements = Vec::new();
        for (_, facts) in others {
            statements.push(Statement::OtherBuild { location: facts.location.to_string() });
        }
        self.statements.extend(statements);
    }

    /// All ends, senders first.
    fn ends(&self) -> impl Iterator<Item = (Role, EndFacts<'_>)> {
        let senders = self.generators.iter().map(|generator| (Role::Transmit, generator.host.facts()));
        senders.chain([(Role::Receive, EndFacts::from(&self.receive))])
    }

    /// The generator of others at a location.
    fn other(&self, location: &Location) -> Option<&OtgGenerator> {
        let mut others = self.generators.iter().filter_map(|generator| match &generator.host {
            Host::Otg(other) => Some(&**other),
            Host::Agent(_) => None,
        });
        others.find(|other| other.location() == location)
    }

    fn receive_port(&self) -> Result<&PortState> {
        EndFacts::from(&self.receive).port(Role::Receive)
    }

    /// Whether a generator runs on the receiver's kernel, and so shares its CPUs.
    fn is_on_its_kernel(&self, generator: &Generator) -> bool {
        generator.host.facts().hello.boot_id == self.receive.hello().boot_id
    }

    /// How the agents' clocks are compared. Agents on one kernel and in one time namespace read the same clock.
    fn comparison(&self) -> Comparison {
        let clock = self.receive.hello().clock_id.as_ref();
        let is_it = |generator: &Generator| generator.host.facts().hello.clock_id.as_ref() == clock;
        Comparison { epoch: self.opened, is_one_clock: clock.is_some() && self.generators.iter().all(is_it) }
    }

    /// Whether the interfaces are the ends of one veth pair, on one kernel. Without one, frames can be lost between them.
    fn is_pair(&self) -> Result<bool> {
        let [generator] = &self.generators[..] else { return Ok(false) };
        Ok(self.is_on_its_kernel(generator) && generator.port()?.is_other_end_of(self.receive_port()?))
    }

    /// Starts agents again that were lost. A generator that cannot be reached again is given up for the rest of the run, as far
    /// as that is tolerated.
    fn reconnect(&mut self) -> Result<()> {
        let Self { route, generators, absent, receive, statements, .. } = self;
        let failed = generators.iter().filter(|generator| generator.failure.is_some());
        let mut given_up = absent.len() + failed.count();
        for generator in generators.iter_mut().filter(|generator| generator.failure.is_none()) {
            match generator.host.revive() {
                Err(error) if given_up < route.tolerated => {
                    given_up += 1;
                    statements.push(without_a_generator(&error));
                    generator.failure = Some(error.to_string());
                }
                reached => reached?,
            }
        }
        receive.revive()
    }

    fn trial(&mut self, setup: &Setup) -> Result<LiveTrial<'_>> {
        self.reconnect()?;
        let named = subject::find(&setup.method, &self.programs)?;
        if let Some(ReceiveBy::NapiThread | ReceiveBy::NapiDeferred) = named.receive_by {
            return Err(AgentError::Lab(LabError::Unsupported {
                what: setup.method.to_string(),
                reason: "capbench changes no setting of a host's interface; it can on its own link".into(),
            }));
        }
        let checked = match self.check(setup) {
            // As a trial is repeated.
            Err(error) if error.is_lost() && !self.stop.load(Ordering::Relaxed) => {
                self.reconnect()?;
                self.check(setup)?
            }
            checked => checked?,
        };
        let placement = self.placement(setup.placement, checked)?;
        let statement = Statement::Placement {
            placement: setup.placement.to_string().into(),
            is_decided_elsewhere: false,
            cpus: placement.tasks(),
            set_by: None,
        };
        if !self.statements.contains(&statement) {
            self.statements.push(statement);
        }
        self.prepared(setup, &named.subject, &placement)
    }
}

impl Laboratory for AgentLaboratory {
    fn prepare(&mut self, setup: &Setup) -> capbench_model::Result<Box<dyn Trial + '_>> {
        Ok(Box::new(self.trial(setup)?))
    }

    fn rest(&mut self, while_idle: Duration) {
        let until = Instant::now() + while_idle;
        let mut shown = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            if shown.elapsed() >= self.receive.waits().between_signs_of_life() {
                // The next trial starts a lost agent again, or says why it cannot.
                for generator in self.generators.iter_mut().filter(|generator| generator.failure.is_none()) {
                    let _ = generator.host.show_life();
                }
                let _ = self.receive.show_life();
                shown = Instant::now();
            }
            std::thread::sleep(left.min(LOOK_FOR_STOP));
        }
    }

    fn take_turns(&mut self, are_in_turns: bool) {
        self.in_turns = are_in_turns;
    }

    fn number_after(&mut self, last: u32) {
        self.numbering.last = last;
    }

    fn statements(&self) -> Vec<Statement> {
        let mut statements = self.statements.clone();
        statements.push(Statement::CountedByAgents {
            senders: self.route.senders().to_string(),
            receiver: self.route.receive.to_string(),
        });
        if matches!(self.is_pair(), Ok(true)) {
            statements.push(Statement::VirtualLink);
        }
        statements
    }
}

fn without_a_generator(error: &AgentError) -> Statement {
    Statement::GeneratorAbsent { error: error.to_string() }
}
