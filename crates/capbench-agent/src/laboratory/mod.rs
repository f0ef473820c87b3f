//! The laboratory whose ends are agents: on other hosts, in other network namespaces, or next to this process. One or more of
//! them send, and one receives.
//!
//! | file | what |
//! |---|---|
//! | `generator` | an agent that sends, and its share of the load |
//! | `check` | sends a few frames before the first trial: whether the cable is right, and which CPU receives |
//! | `description` | what a plan says of the agents |
//! | `placement` | the CPUs of both hosts |

mod check;
mod description;
mod generator;
mod placement;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use capbench_frames::plan::FramePlan;
use capbench_frames::rates::Pps;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::Mtu;
use capbench_host::bed::Placement;
use capbench_host::drivers::{self, FrameCounts};
use capbench_lab::LabError;
use capbench_lab::live::messages::{HostCpus, PrepareReceiving};
use capbench_lab::live::{self, LiveTrial, Numbering, Senders, SeparateClocks, line_rate};
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, ReceiveBy, Subject};
use capbench_model::clocks::ClockState;
use capbench_model::environment::interface::Role;
use capbench_model::environment::program::Program;
use capbench_model::environment::{Environment, RunHost};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::statement::Statement;
use capbench_model::trial::Trial;
use capbench_sys::host::CpuId;

pub use description::{
    DescribedEnd, DescribedInterface, Description, EndProgram, OneWayTimes, UnknownLosses,
};

use crate::client::{Comparison, Connection, Interrupt, RemoteReceiver, Start};
use crate::location::Location;
use crate::message::{Hello, Kind, Port, PortState, PortStatus, Refusal};
use crate::otg::{OtgGenerator, OtgServers};
use crate::server::Allowed;
use crate::waits::Waits;
use crate::{AgentError, Result};
use check::Checked;
use generator::{Conditions, Generator, Host};

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

    /// What each agent says of itself and its interface, and what the ledger of a trial will leave unknown.
    pub fn describe(&self) -> Description {
        let ends = self.ends().map(|(role, facts)| self.described(role, &facts)).collect();
        Description { ends, absent: self.absent.clone(), unknown: self.unknown() }
    }

    fn described(&self, role: Role, facts: &EndFacts<'_>) -> DescribedEnd {
        let hello = facts.hello;
        let program = match self.other(facts.location) {
            Some(other) => EndProgram::Generator(other.facts()),
            None => EndProgram::Agent {
                version: hello.environment.capbench_version.clone(),
                kernel: hello.environment.kernel_release.clone(),
                interface: match facts.port(role) {
                    Ok(port) => Ok(DescribedInterface {
                        driver: port.facts.facts.driver.clone(),
                        bits_per_second: port.bits_per_second,
                        mtu: port.mtu,
                    }),
                    Err(error) => Err(error.to_string()),
                },
            },
        };
        DescribedEnd {
            location: facts.location.to_string(),
            program,
            missing_capabilities: hello.environment.missing_capabilities.clone(),
            max_pps: hello.max_rate.map(Pps::get),
            max_duration: hello.max_duration,
            programs: hello.programs.clone(),
            isolated: hello.isolated.clone(),
            no_report_because: hello.no_report_because.clone(),
        }
    }

    /// What the ledger of a trial will leave unknown, as far as the agents know beforehand.
    fn unknown(&self) -> Vec<UnknownLosses> {
        let mut unknown = Vec::new();
        for (role, facts) in self.ends() {
            let location = facts.location.to_string();
            let driver = facts.port(role).ok().and_then(|port| port.facts.facts.driver.clone());
            let counts = driver.as_deref().and_then(drivers::known).map(|driver| driver.frame_counts);
            if self.other(facts.location).is_some() {
                unknown.push(UnknownLosses::UncountedSender { location });
            } else if matches!(counts, None | Some(FrameCounts::Unverified))
                && !matches!(self.is_pair(), Ok(true))
            {
                unknown.push(UnknownLosses::UnverifiedDriver { driver, location });
            }
        }
        for (_, EndFacts { location, hello }) in self.ends() {
            let missing = &hello.environment.missing_capabilities;
            if missing.iter().any(|missing| missing.to_ascii_uppercase().contains("BPF")) {
                unknown.push(UnknownLosses::DropReasons { location: location.to_string() });
            }
        }
        unknown
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

    /// What the clocks of both hosts allow to be known of one-way times, as far as they do before a trial: the exchanges around it decide.
    ///
    /// # Errors
    /// An agent is gone.
    pub fn describe_clocks(&mut self) -> Result<OneWayTimes> {
        if self.comparison().is_one_clock {
            return Ok(OneWayTimes::OneClock);
        }
        let (mut of_sender, mut of_receiver) = (0, 0);
        if let Some(generator) = self.generators.iter().find(|generator| generator.host.is_untimed()) {
            let location = generator.host.facts().location.to_string();
            return Ok(OneWayTimes::NoSendTimes { location });
        }
        let senders =
            self.generators.iter_mut().filter_map(|generator| Some((generator.host.agent()?, true)));
        for (agent, sends) in senders.chain([(&mut self.receive, false)]) {
            let largest = if sends { &mut of_sender } else { &mut of_receiver };
            match agent.clock_state()? {
                ClockState::Synchronised { error_ns, .. } => *largest = error_ns.max(*largest),
                ClockState::Unsynchronised { reason } => {
                    let location = agent.location().to_string();
                    return Ok(OneWayTimes::Unsynchronised { location, reason });
                }
            }
        }
        Ok(OneWayTimes::WithinError(Duration::from_nanos(of_sender.saturating_add(of_receiver))))
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

    /// A trial with all sides prepared on these CPUs.
    fn prepared(&mut self, setup: &Setup, subject: &Subject, placement: &Placement) -> Result<LiveTrial<'_>> {
        let is_virtual = self.is_pair()?;
        let mtu = self.mtu()?;
        let plan = FramePlan::new(setup.layout, setup.sizes.clone(), mtu).map_err(LabError::from)?;
        let mean_octets = plan.sizes().mean_octets();
        let line_rate = self.bits_per_second()?.and_then(|bits| line_rate::of_bits(bits, mean_octets));
        let threads = live::generator_threads(setup)?;
        let cpus = self.generators.iter().map(|generator| self.cpus_of(generator, placement, threads));
        let cpus = cpus.collect::<Result<Vec<_>>>()?;
        let measured = |hello: &Hello| self.measured_cpus(hello, placement, &cpus);
        let measured_there = measured(self.receive.hello());
        let measured: Vec<_> =
            self.generators.iter().map(|generator| measured(generator.host.facts().hello)).collect();
        let on_its_host = self.generators.iter().map(|generator| self.is_on_its_kernel(generator));
        let on_its_host: Vec<bool> = on_its_host.collect();
        let mut here: Vec<CpuId> = cpus
            .iter()
            .zip(&on_its_host)
            .filter(|(_, is_here)| **is_here)
            .flat_map(|(cpus, _)| cpus.clone())
            .collect();
        here.sort_unstable();
        here.dedup();
        let comparison = setup.latency.map(|_| self.comparison());
        // All wait for the slowest connection: they start together.
        let settling = self.generators.iter().map(|generator| generator.host.settling());
        let head_start = settling.max().unwrap_or_default();
        let Self { generators, absent, receive, numbering, statements, base, route, .. } = self;
        let streams = (route.transmit.len() as u16).saturating_mul(threads.get());
        if streams > StreamId::COUNT {
            return Err(LabError::Unsupported {
                what: format!("{threads} threads of {} generators", route.transmit.len()),
                reason: format!("each sends a stream, and there are {}", StreamId::COUNT),
            }
            .into());
        }
        let untimed = generators.iter().filter(|generator| generator.host.is_untimed());
        let untimed: Vec<_> = untimed.map(|generator| generator.stream).collect();
        if setup.latency.is_some() && !untimed.is_empty() {
            return Err(LabError::Unsupported {
                what: "latency".into(),
                reason: "the frames of an OTG generator have no send times".into(),
            }
            .into());
        }
        let receiving = PrepareReceiving {
            setup: setup.clone(),
            streams,
            untimed,
            mtu,
            cpus: HostCpus {
                generators: here,
                kernels: placement.kernels.clone(),
                application: placement.application,
            },
            is_virtual,
            polls_by_thread: false,
        };
        let receive = RemoteReceiver::prepare(receive, receiving, measured_there)?.comparing(comparison);
        let mut further = receive.statements();
        let failures = generators.iter().filter_map(|generator| generator.failure.clone());
        let mut absent: Vec<_> = absent.iter().cloned().chain(failures).collect();
        let mut senders = Vec::new();
        let each = generators.iter_mut().zip(cpus).zip(measured).zip(on_its_host);
        for (((generator, cpus), measured), is_on_its_host) in each {
            if generator.failure.is_none() {
                let stream = StreamId((u16::from(generator.stream.0) * threads.get()) as u8);
                let on =
                    Conditions { stream, cpus, measured, is_virtual, is_on_its_host, head_start, comparison };
                match generator.prepare(setup, mtu, on) {
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
            sink: None,
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

/// Starts the agent of one end, and checks that it may use its interface.
fn connect(
    route: &Route,
    role: Role,
    location: &Location,
    trace: bool,
    interrupt: &Interrupt,
) -> Result<Connection> {
    let mut arguments = vec!["--allow".into(), Allowed::Port(role, location.interface().into()).to_string()];
    if route.isolated {
        arguments.extend(["--isolated".into(), location.interface().into()]);
    }
    let agent = Connection::open(Start {
        location: location.clone(),
        arguments,
        trace,
        interrupt: interrupt.clone(),
        waits: Waits::of_this_build(),
    })?;
    EndFacts::from(&agent).port(role)?;
    Ok(agent)
}

/// What an end said of itself.
#[derive(Clone, Copy, Debug)]
struct EndFacts<'e> {
    location: &'e Location,
    hello: &'e Hello,
}

impl<'e> From<&'e Connection> for EndFacts<'e> {
    fn from(agent: &'e Connection) -> Self {
        Self { location: agent.location(), hello: agent.hello() }
    }
}

impl<'e> EndFacts<'e> {
    /// The interface of its location, if it may use it.
    fn port(self, role: Role) -> Result<&'e PortState> {
        let Self { location, hello } = self;
        let is_asked = |port: &&Port| port.role == role && port.interface == location.interface();
        let refused = |refusal| AgentError::Refused { location: location.to_string(), refusal };
        match hello.ports.iter().find(is_asked) {
            Some(Port { state: PortStatus::Usable(state), .. }) => Ok(state),
            Some(Port { state: PortStatus::Refused(refusal), .. }) => Err(refused(refusal.clone())),
            None => {
                let wanted = Allowed::Port(role, location.interface().into());
                Err(refused(Refusal::new(
                    Kind::Privilege,
                    format!("the agent does not allow {wanted}; its command line needs --allow {wanted}"),
                )))
            }
        }
    }
}
