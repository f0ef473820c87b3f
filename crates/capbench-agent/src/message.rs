//! The calls of an agent and their answers: JSON-RPC 2.0 (jsonrpc.org/specification).
//!
//! | call | parameters | answer |
//! |---|---|---|
//! | `hello` | [`Greeting`] | [`Hello`] |
//! | `prepare` | [`Prepare`] | [`Prepared`] |
//! | `arm` | [`Arm`](capbench_lab::live::messages::Arm) | null |
//! | `go` | [`Go`](capbench_lab::live::messages::Go) | a [`Sent`] of each stream, when its last frame was sent |
//! | `finish` | [`Finish`] | [`Half`] of the account: that of its side |
//! | `report` | [`Report`] | [`Reported`], or null: what an agent said last before it was lost |
//! | `clock` | null | [`ClockState`](capbench_model::clocks::ClockState): whether CLOCK_REALTIME is synchronised |
//! | `time` | null | [`HostTimes`]: an exchange of four timestamps; before and after a trial only |
//! | `abandon` | null | null: the armed trial is given up, and what it opened is closed |
//! | `release` | null | null: the interface is free, with its former settings |
//! | `stop` | | none: the user wants to stop, which ends sending and receiving early |

use std::collections::BTreeSet;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::stamp::TrialId;
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::{FinishReceiving, FinishSending, PrepareReceiving, PrepareSending, Sent};
use capbench_model::bounded_json;
use capbench_model::environment::Environment;
use capbench_model::environment::interface::{PathInterface, Role};
use capbench_model::statement::Statement;
use capbench_sys::host::CpuId;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// The major version of this protocol. An agent refuses another one. Members that are only added do not change it.
pub const PROTOCOL: u32 = 2;

/// The version of JSON-RPC.
pub(crate) const JSON_RPC: &str = "2.0";

/// Codes of errors that JSON-RPC defines.
pub(crate) const NO_JSON: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;

/// The code of every other error; JSON-RPC leaves it to the server, and the refusal says the rest.
const REFUSED: i32 = -32000;

/// Memory of what is read of a message, as a multiple of its length: lists of small numbers take most.
const MEMORY: usize = 12;

/// Reads a message, or the parameters or the result in it, without a tree of values in between.
///
/// # Errors
/// It is none, or takes more memory than one of its length.
pub(crate) fn read<'m, M: Deserialize<'m>>(octets: &'m [u8]) -> serde_json::Result<M> {
    bounded_json::from_slice(octets, MEMORY)
}

/// A call. Without an id nobody waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Request {
    /// The version of JSON-RPC.
    pub jsonrpc: String,
    /// The number of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Its name.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub params: Box<RawValue>,
}

impl Request {
    /// A call.
    ///
    /// # Errors
    /// The parameters are nothing that JSON has.
    pub fn new(id: Option<u64>, method: &str, params: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self { jsonrpc: JSON_RPC.into(), id, method: method.into(), params: to_raw_value(params)? })
    }
}

/// An answer: a result or an error.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answer {
    /// The version of JSON-RPC.
    pub jsonrpc: String,
    /// The number of the call; absent if the call could not be read.
    pub id: Option<u64>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Box<RawValue>>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// An error as JSON-RPC has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorObject {
    /// Its code.
    pub code: i32,
    /// One line.
    pub message: String,
    /// The rest of the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Refusal>,
}

impl Answer {
    /// The answer to call `id`.
    pub fn new(id: Option<u64>, result: std::result::Result<Box<RawValue>, ErrorObject>) -> Self {
        let (result, error) = match result {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error)),
        };
        Self { jsonrpc: JSON_RPC.into(), id, result, error }
    }
}

impl ErrorObject {
    /// A refusal with a code of JSON-RPC.
    pub fn new(code: i32, refusal: Refusal) -> Self {
        Self { code, message: refusal.message.clone(), data: Some(refusal) }
    }
}

impl From<Refusal> for ErrorObject {
    fn from(refusal: Refusal) -> Self {
        Self::new(REFUSED, refusal)
    }
}

/// Why an agent did not do what a call asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Refusal {
    /// One line: what failed, why, what to do.
    pub message: String,
    /// The kind of the reason.
    pub kind: Kind,
    /// What the host does not support, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// Why it does not support it; empty for other errors.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The kind of a refusal, as exit codes distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was tried and failed.
    Failed,
    /// The request has a mistake.
    Usage,
    /// This host or version cannot do it.
    Unsupported,
    /// The agent lacks a privilege, or its command line does not allow it.
    Privilege,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { message: message.into(), kind, unsupported: None, reason: String::new() }
    }
}

/// The controller introduces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Greeting {
    /// The protocol that it speaks.
    pub protocol: u32,
    /// Whether the agent traces its kernel, if it can.
    pub trace: bool,
    /// Identifies the controller and this interface of it, for `report` after a reconnect. Nobody else can guess it.
    #[serde(default)]
    pub session: String,
    /// The controller's build. An agent of another build answers all the same.
    #[serde(default)]
    pub build: Build,
}

/// A build of capbench.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Build {
    /// Its version; empty if it is unknown.
    pub version: String,
    /// A hash of its source, which distinguishes builds of one version; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<String>,
}

impl Build {
    /// The build that wrote these facts.
    pub fn of(environment: &Environment) -> Self {
        let program = environment.program.as_ref();
        let source_hash = program.and_then(|program| program.source_hash.clone());
        Self { version: environment.capbench_version.clone(), source_hash }
    }
}

/// The agent introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hello {
    /// The protocol that it speaks.
    pub protocol: u32,
    /// Identifies its host: a hash of /etc/machine-id, which is never sent itself. `None`: the host has none.
    pub host_id: Option<String>,
    /// Identifies the kernel that runs there, for this boot: agents with the same value share CPUs.
    pub boot_id: String,
    /// Identifies its clocks: the kernel, and the time namespace. Agents with the same value read the same clocks.
    #[serde(default)]
    pub clock_id: Option<String>,
    /// Facts about its host.
    pub environment: Environment,
    /// CPUs that it may use.
    pub cpus: Vec<CpuId>,
    /// The interfaces that its command line allows.
    pub ports: Vec<Port>,
    /// The highest rate that its command line allows, in frames per second; `None`: any.
    pub max_rate: Option<Pps>,
    /// The longest trial that its command line allows; `None`: any.
    #[serde(default)]
    pub max_duration: Option<Duration>,
    /// Names of programs that its command line allows.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Interfaces that its command line calls isolated.
    #[serde(default)]
    pub isolated: Vec<String>,
    /// Why it cannot leave a report if the connection is lost; absent if it can.
    #[serde(default)]
    pub no_report_because: Option<String>,
    /// Its build.
    #[serde(default)]
    pub build: Build,
}

/// When a call arrived and its answer left, in nanoseconds of the host's CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostTimes {
    /// The call arrived.
    pub received_ns: u64,
    /// The answer left.
    pub answered_ns: u64,
}

impl HostTimes {
    /// Both moments, as differences of clocks need them. Every agent can state any number.
    pub(crate) fn signed_ns(self) -> [i64; 2] {
        [self.received_ns, self.answered_ns].map(|ns| i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

/// An interface that an agent may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Port {
    /// For what.
    pub role: Role,
    /// Its name.
    pub interface: String,
    /// Its state, or why it cannot be used as it is.
    pub state: PortStatus,
}

/// Whether an agent can use an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortStatus {
    /// It can.
    Usable(Box<PortState>),
    /// It cannot, for this reason.
    Refused(Refusal),
}

/// An interface that can be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PortState {
    /// Its number within its network namespace.
    pub index: u32,
    /// The number of its other end, if it is one end of a veth pair.
    pub peer: Option<u32>,
    /// Identifies its network namespace among those of the kernel.
    #[serde(default)]
    pub namespace: Option<u64>,
    /// Identifies the network namespace of its other end; `None`: there is no other end, or the agent cannot see its namespace.
    #[serde(default)]
    pub peer_namespace: Option<u64>,
    /// Its MTU in octets.
    pub mtu: u32,
    /// Its speed in bits per second; `None` if it has none or does not report it.
    pub bits_per_second: Option<f64>,
    /// Its properties and settings.
    pub facts: PathInterface,
}

impl PortState {
    /// Whether both are the ends of one veth pair, if one kernel has them. An agent that cannot see the other end's namespace does
    /// not know: then they count as separate.
    pub fn is_other_end_of(&self, other: &Self) -> bool {
        let is_peer = |end: &Self, other: &Self| {
            let peer = end.peer.zip(end.peer_namespace);
            peer.is_some() && peer == Some(other.index).zip(other.namespace)
        };
        is_peer(self, other) && is_peer(other, self)
    }
}

/// Takes an interface and prepares one side there, for the trials of a set-up.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Prepare {
    /// The interface.
    pub interface: String,
    /// The side.
    pub side: PrepareSide,
    /// CPUs of its host that the trials measure, also those of other agents there. Its own threads keep off them until `release`.
    #[serde(default)]
    pub measured_cpus: BTreeSet<CpuId>,
}

/// Which side, and its set-up.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrepareSide {
    /// The side that sends.
    Transmit(PrepareSending),
    /// The side that receives.
    Receive(Box<PrepareReceiving>),
}

/// The side is prepared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Prepared {
    /// Why its capture cannot stay open for several trials; absent if it can.
    #[serde(default)]
    pub closes_because: Option<String>,
    /// Facts about the host that the results state: whether there is a tracer, and what else may run on CPUs that are measured.
    #[serde(default)]
    pub notes: Vec<Statement>,
}

/// Ends a trial.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// On the side that sends.
    Transmit(FinishSending),
    /// On the side that receives.
    Receive(FinishReceiving),
}

/// The half of the account of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// Of the side that sends.
    Transmit(Box<TransmitHalf>),
    /// Of the side that receives.
    Receive(Box<ReceiveHalf>),
}

/// Asks an agent for what the agent before it on this interface said last. That one was lost, and may still be finishing: the
/// answer comes when the interface is free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// The trial; `None`: the controller waits for the interface only.
    pub trial: Option<TrialId>,
    /// The interface.
    pub interface: String,
    /// How long the controller waits for the answer.
    pub patience: Duration,
}

/// What an agent said last of a trial whose frames were sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reported {
    /// The trial.
    pub trial: TrialId,
    /// What it sent in each of its streams; absent if it received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Vec<Sent>>,
    /// Its half of the account.
    pub half: Half,
}
