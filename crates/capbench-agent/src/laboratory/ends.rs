//! What an end said of itself when its agent was started.

use capbench_model::environment::interface::Role;

use super::Route;
use crate::client::{Connection, Interrupt, Start};
use crate::location::Location;
use crate::message::{Hello, Kind, Port, PortState, PortStatus, Refusal};
use crate::server::Allowed;
use crate::waits::Waits;
use crate::{AgentError, Result};

/// Starts the agent of one end, and checks that it may use its interface.
pub(super) fn connect(
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
pub(super) struct EndFacts<'e> {
    pub(super) location: &'e Location,
    pub(super) hello: &'e Hello,
}

impl<'e> From<&'e Connection> for EndFacts<'e> {
    fn from(agent: &'e Connection) -> Self {
        Self { location: agent.location(), hello: agent.hello() }
    }
}

impl<'e> EndFacts<'e> {
    /// The interface of its location, if it may use it.
    pub(super) fn port(self, role: Role) -> Result<&'e PortState> {
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
