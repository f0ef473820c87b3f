//! The laboratory whose two ends are agents: on other hosts, in other network namespaces, or next to this process.
//!
//! | file | what |
//! |---|---|
//! | `check` | sends a few frames before the first trial: whether the cable is right, and which CPU receives |
//! | `placement` | the CPUs of both hosts |

mod check;
mod placement;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use capbench_frames::plan::FramePlan;
use capbench_frames::rates::Pps;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::Mtu;
use capbench_host::bed::Placement;
use capbench_lab::LabError;
use capbench_lab::live::messages::{HostCpus, PrepareReceiving, PrepareSending};
use capbench_lab::live::{self, LiveTrial, Numbering, SeparateClocks, line_rate};
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, ReceiveBy, Subject};
use capbench_model::clocks::ClockState;
use capbench_model::environment::interface::Role;
use capbench_model::environment::{Environment, RunHost};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::Trial;

use crate::client::{Comparison, Connection, Interrupt, RemoteReceiver, RemoteSender};
use crate::location::Location;
use crate::message::{Hello, Kind, Port, PortState, PortStatus, Refusal};
use crate::server::Allowed;
use crate::{AgentError, Result};
use check::Checked;

/// Pauses before an agent that was lost is started again.
const RECONNECT: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// How often a resting controller shows agents that it is there, well within their lease.
const SHOW_LIFE: Duration = Duration::from_secs(60);

/// Interval at which a pause checks whether the user wants to stop.
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

/// The interfaces of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The interface that sends.
    pub transmit: Location,
    /// The interface that receives.
    pub receive: Location,
    /// The user's assertion that the link carries no other traffic (RFC 6815). It reaches agents whose command line the location
    /// leaves open; the others have their owner's.
    pub isolated: bool,
    /// Largest error of one-way times that the user accepts; `None`: a tenth of the median.
    pub clock_error: Option<Duration>,
}

/// Runs trials between two agents.
#[derive(Debug)]
pub struct AgentLaboratory {
    route: Route,
    trace: bool,
    programs: Programs,
    interrupt: Interrupt,
    stop: Arc<AtomicBool>,
    transmit: Connection,
    receive: Connection,
    /// First trial id of this run; differs between runs.
    base: u16,
    numbering: Numbering,
    checked: Option<Checked>,
    statements: Vec<String>,
    /// When the laboratory was opened: the agents' clocks are compared with the time since then.
    opened: Instant,
}

impl AgentLaboratory {
    /// Starts both agents.
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
        let transmit = connect(&route, Role::Transmit, trace, &interrupt)?;
        let receive = connect(&route, Role::Receive, trace, &interrupt)?;
        let base = (std::process::id() as u16).wrapping_mul(0x9e37);
        Ok(Self {
            route,
            trace,
            programs,
            interrupt,
            stop,
            transmit,
            receive,
            base,
            numbering: Numbering::default(),
            checked: None,
            statements: Vec::new(),
            opened: Instant::now(),
        })
    }

    /// The facts about the host that receives, and about both as `hosts`.
    pub fn environment(&self) -> Environment {
        let host = |role, agent: &Connection| RunHost {
            role,
            location: agent.location().to_string(),
            host_id: agent.hello().host_id.clone(),
            environment: Environment {
                interfaces: port(agent, role).ok().map(|port| vec![port.facts.clone()]),
                ..agent.hello().environment.clone()
            },
        };
        let hosts = vec![host(Role::Transmit, &self.transmit), host(Role::Receive, &self.receive)];
        let interfaces = hosts.iter().filter_map(|host| host.environment.interfaces.clone()).flatten();
        Environment {
            interfaces: Some(interfaces.collect()),
            hosts,
            ..self.receive.hello().environment.clone()
        }
    }

    /// Highest frame rate of the link for frames of this mean size; `None` if an interface has no speed.
    ///
    /// # Errors
    /// An interface that cannot be used.
    pub fn line_rate(&self, mean_octets: f64) -> Result<Option<Pps>> {
        let (transmit, receive) = self.ports()?;
        if self.is_pair(transmit, receive) {
            return Ok(None);
        }
        let speeds = transmit.bits_per_second.zip(receive.bits_per_second);
        let rate = |bits: f64| line_rate::frames_per_second((bits / 1e6) as u32, mean_octets);
        Ok(speeds.and_then(|(one, other)| Pps::new(rate(one.min(other))).ok()))
    }

    /// What each agent says of itself and its interface, a line each with the location first.
    pub fn describe(&self) -> Vec<(String, String)> {
        let line = |role, agent: &Connection| {
            let Hello { environment, max_rate, .. } = agent.hello();
            let interface = match port(agent, role) {
                Ok(port) => {
                    let driver = port.facts.facts.driver.as_deref().unwrap_or("unknown driver");
                    let speed = port
                        .bits_per_second
                        .map_or("no speed".into(), |bits| format!("{} Mbit/s", bits / 1e6));
                    format!("{driver}, {speed}, MTU {}", port.mtu)
                }
                Err(error) => error.to_string(),
            };
            let kernel = environment.kernel_release.as_deref().unwrap_or("unknown kernel");
            let mut text = format!("capbench {}, {kernel}, {interface}", environment.capbench_version);
            if !environment.missing_capabilities.is_empty() {
                text += &format!(", without {}", environment.missing_capabilities.join(", "));
            }
            if let Some(limit) = max_rate {
                text += &format!(", allows up to {} frames/s", limit.get());
            }
            (agent.location().to_string(), text)
        };
        vec![line(Role::Transmit, &self.transmit), line(Role::Receive, &self.receive)]
    }

    /// What the clocks of both hosts allow to be known of one-way times, in words. The exchanges around a trial decide in the end.
    ///
    /// # Errors
    /// An agent is gone.
    pub fn describe_clocks(&mut self) -> Result<String> {
        if self.comparison().is_one_clock {
            return Ok("absolute: both ends read one kernel's clock".into());
        }
        let mut sum_ns = 0;
        for agent in [&mut self.transmit, &mut self.receive] {
            match agent.clock_state()? {
                ClockState::Synchronised { error_ns, .. } => sum_ns += error_ns,
                ClockState::Unsynchronised { reason } => {
                    let location = agent.location();
                    return Ok(format!(
                        "relative only: the clock of {location} is not synchronised: {reason}"
                    ));
                }
            }
        }
        Ok(format!("absolute ±{:?}, if exchanges around a trial agree", Duration::from_nanos(sum_ns)))
    }

    fn ports(&self) -> Result<(&PortState, &PortState)> {
        Ok((port(&self.transmit, Role::Transmit)?, port(&self.receive, Role::Receive)?))
    }

    /// Whether both agents run on one kernel, and so share CPUs.
    fn is_one_kernel(&self) -> bool {
        self.transmit.hello().boot_id == self.receive.hello().boot_id
    }

    /// How the clocks of both agents are compared. Agents on one kernel and in one time namespace read the same clock.
    fn comparison(&self) -> Comparison {
        let [transmit, receive] =
            [&self.transmit, &self.receive].map(|agent| agent.hello().clock_id.as_ref());
        let is_one_clock = transmit.is_some() && transmit == receive;
        Comparison { epoch: self.opened, is_one_clock }
    }

    /// Whether the interfaces are the ends of one veth pair: each names the other's number, on one kernel. The check before the
    /// first trial shows that they are connected.
    fn is_pair(&self, transmit: &PortState, receive: &PortState) -> bool {
        let are_tied = transmit.peer == Some(receive.index) && receive.peer == Some(transmit.index);
        self.is_one_kernel() && are_tied
    }

    /// Starts agents again that were lost.
    fn reconnect(&mut self) -> Result<()> {
        for (role, agent) in [(Role::Transmit, &mut self.transmit), (Role::Receive, &mut self.receive)] {
            let mut pauses = RECONNECT.iter();
            while agent.is_lost() {
                match connect(&self.route, role, self.trace, &self.interrupt) {
                    Ok(new) => *agent = new,
                    Err(error) => match pauses.next() {
                        Some(pause) => std::thread::sleep(*pause),
                        None => return Err(error),
                    },
                }
            }
        }
        Ok(())
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
        let checked = self.check(setup)?;
        let placement = self.placement(setup.placement, checked)?;
        let statement = format!("placement {}: {}", setup.placement, placement.statement);
        if !self.statements.contains(&statement) {
            self.statements.push(statement);
        }
        self.prepared(setup, &named.subject, &placement)
    }

    /// A trial with both sides prepared on these CPUs.
    fn prepared(&mut self, setup: &Setup, subject: &Subject, placement: &Placement) -> Result<LiveTrial<'_>> {
        let (transmit, receive) = self.ports()?;
        let (mtu, is_virtual) = (Mtu(transmit.mtu.min(receive.mtu)), self.is_pair(transmit, receive));
        let plan = FramePlan::new(setup.layout, setup.sizes.clone(), mtu).map_err(LabError::from)?;
        let line_rate = self.line_rate(plan.sizes().mean_octets())?;
        let comparison = setup.latency.map(|_| self.comparison());
        let generator = self.is_one_kernel().then_some(placement.generator);
        let Self { transmit, receive, numbering, statements, base, route, .. } = self;
        let sending = PrepareSending {
            stream: StreamId(0),
            transmit: setup.transmit.clone(),
            layout: setup.layout,
            sizes: setup.sizes.clone(),
            mtu,
            cpu: placement.generator,
            is_virtual,
        };
        let receiving = PrepareReceiving {
            setup: setup.clone(),
            mtu,
            cpus: HostCpus { generator, kernel: placement.kernel, application: placement.application },
            is_virtual,
            polls_by_thread: false,
        };
        let receive = RemoteReceiver::prepare(receive, receiving)?.comparing(comparison);
        let transmit = RemoteSender::prepare(transmit, sending)?.comparing(comparison);
        let tracing = receive.prepared().tracing.as_ref();
        let statement = tracing.map(|tracing| format!("{}: {tracing}", route.receive));
        statements.extend(statement.filter(|statement| !statements.contains(statement)));
        Ok(LiveTrial {
            numbering,
            base: TrialId(*base),
            profile: live::profile(setup, subject, &plan, placement),
            is_virtual,
            line_rate,
            burst: setup.burst,
            transmit: Box::new(transmit),
            receive: Box::new(receive),
            clocks: Some(SeparateClocks { accepted_error: route.clock_error }),
            generator: Some(route.transmit.to_string()),
            tracer: None,
        })
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
            if shown.elapsed() >= SHOW_LIFE {
                // The next trial starts a lost agent again, or says why it cannot.
                let _ = self.transmit.show_life();
                let _ = self.receive.show_life();
                shown = Instant::now();
            }
            std::thread::sleep(left.min(LOOK_FOR_STOP));
        }
    }

    fn number_after(&mut self, last: u32) {
        self.numbering.last = last;
    }

    fn statements(&self) -> Vec<String> {
        let Route { transmit, receive, .. } = &self.route;
        let mut statements = self.statements.clone();
        statements.push(format!("{transmit} sent and {receive} received, each counted by an agent there"));
        if self.ports().is_ok_and(|(transmit, receive)| self.is_pair(transmit, receive)) {
            statements.push("the link is virtual (veth): its rates are not those of a network card".into());
        }
        statements
    }
}

/// Starts the agent of one end, and checks that it may use its interface.
fn connect(route: &Route, role: Role, trace: bool, interrupt: &Interrupt) -> Result<Connection> {
    let location = match role {
        Role::Transmit => &route.transmit,
        Role::Receive => &route.receive,
    };
    let mut arguments = vec!["--allow".into(), Allowed::Port(role, location.interface().into()).to_string()];
    if route.isolated {
        arguments.extend(["--isolated".into(), location.interface().into()]);
    }
    let agent = Connection::open(location, &arguments, trace, interrupt)?;
    port(&agent, role)?;
    Ok(agent)
}

/// The interface of an agent's location, if the agent may use it.
fn port(agent: &Connection, role: Role) -> Result<&PortState> {
    let location = agent.location();
    let is_asked = |port: &&Port| port.role == role && port.interface == location.interface();
    let refused = |refusal| AgentError::Refused { location: location.to_string(), refusal };
    match agent.hello().ports.iter().find(is_asked) {
        Some(Port { state: PortStatus::Usable(state), .. }) => Ok(state),
        Some(Port { state: PortStatus::Refused(refusal), .. }) => Err(refused(refusal.clone())),
        None => {
            let wanted = Allowed::Port(role, location.interface().into());
            let message =
                format!("the agent does not allow {wanted}; its command line needs --allow {wanted}");
            Err(refused(Refusal::new(Kind::Privilege, message)))
        }
    }
}
