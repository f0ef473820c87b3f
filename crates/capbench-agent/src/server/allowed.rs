//! What the command line of an agent names as allowed.

use std::fmt;
use std::str::FromStr;

use capbench_model::environment::interface::Role;

/// One thing that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// `send:IF`, `receive:IF`: to send or receive on an interface.
    Port(Role, String),
    /// `program:NAME`: to start a program that capbench knows as `cmd:NAME`.
    Program(String),
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((_, "")) | None => None,
            Some(("send", interface)) => Some(Self::Port(Role::Transmit, interface.into())),
            Some(("receive", interface)) => Some(Self::Port(Role::Receive, interface.into())),
            Some(("program", name)) => Some(Self::Program(name.into())),
            Some(_) => None,
        }
        .ok_or_else(|| format!("\"{text}\" allows nothing; write send:IF, receive:IF or program:NAME"))
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(Role::Transmit, interface) => write!(f, "send:{interface}"),
            Self::Port(Role::Receive, interface) => write!(f, "receive:{interface}"),
            Self::Program(name) => write!(f, "program:{name}"),
        }
    }
}
