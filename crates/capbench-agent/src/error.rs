//! The error of this crate. Every message is one line that begins with the location.

use std::io;
use std::time::Duration;

use capbench_lab::LabError;
use capbench_model::TrialError;
use capbench_sys::host::CpuId;

use crate::message::{PROTOCOL, Refusal};

/// Why an agent did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its command could not be started.
    #[error("{location}: cannot start {program}: {source}")]
    Start {
        /// Where it should run.
        location: String,
        /// The first word of the command.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The connection ended, or no answer came in time.
    #[error("{location}: {reason}")]
    Lost {
        /// Where it ran.
        location: String,
        /// What happened, and the last line that its command printed on standard error.
        reason: String,
        /// The exit code of its command, if that ended by itself.
        exit_code: Option<u8>,
    },
    /// The agent refused the call, or could not do it.
    #[error("{location}: {}", refusal.message)]
    Refused {
        /// Where it runs.
        location: String,
        /// Why.
        refusal: Refusal,
    },
    /// The answer is none of this protocol.
    #[error("{location}: its answer to {call} is none of an agent of this version: {reason}")]
    Protocol {
        /// Where it runs.
        location: String,
        /// The call.
        call: &'static str,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The link between the two interfaces is not usable for a measurement.
    #[error("{transmit} to {receive}: {reason}")]
    Link {
        /// Location of the interface that sends.
        transmit: String,
        /// Location of the interface that receives.
        receive: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// This process could not do its part.
    #[error(transparent)]
    Lab(#[from] LabError),
}

impl AgentError {
    /// Whether the agent cannot be reached.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Lost { .. })
    }

    /// Whether a call failed because the connection to an agent was lost.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Lost { .. } => true,
            Self::Lab(error) => is_loss(error),
            _ => false,
        }
    }
}

fn is_loss(error: &LabError) -> bool {
    match error {
        LabError::Remote(error) => matches!(error.downcast_ref(), Some(AgentError::Lost { .. })),
        _ => false,
    }
}

/// Why a text is no location of an interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{text}\" is no location of an interface: {why}; write IF, ssh:[USER@]HOST/IF, netns:NAME/IF, exec:COMMAND,IF or \
     otg:https://HOST:PORT,PORT"
)]
pub(crate) struct NoLocation<'t> {
    pub(crate) text: &'t str,
    pub(crate) why: &'t str,
}

/// Why a CPU of a placement cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RefusedCpu {
    #[error(
        "its kernel does the receive work on CPU {kernel}, not {asked}; set its interrupt affinity or RPS first"
    )]
    KernelWorkElsewhere { kernel: CpuId, asked: CpuId },
    #[error("is not among those that the agent may use ({usable})")]
    NotUsable { usable: String },
}

/// What an agent refuses of a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RefusedCall<'c> {
    #[error("arm: a trial of over {} hours", longest.as_secs() / 3600)]
    TooLong { longest: Duration },
    #[error("prepare: {streams} streams; there are 1 to {most}")]
    Streams { streams: u16, most: u16 },
    #[error("prepare: waiting {quiet:?} for missing frames; {longest:?} is the longest")]
    Quiet { quiet: Duration, longest: Duration },
    #[error("prepare: waiting {batch:?} for a batch; {longest:?} is the longest")]
    Batch { batch: Duration, longest: Duration },
    #[error("finish: {sent} streams of a trial with {streams}")]
    MoreStreams { sent: usize, streams: u16 },
    #[error("finish: stream {stream} of {streams}")]
    NoStream { stream: u8, streams: u16 },
    #[error("finish: stream {stream} sent {frames} frames, more than its plan")]
    MoreFrames { stream: u8, frames: u64 },
    #[error("finish: stream {stream} ended after {end_ns} ns, later than its plan")]
    Late { stream: u8, end_ns: u64 },
    #[error("{call}: trial {trial} is not armed")]
    NotArmed { call: &'c str, trial: u16 },
    #[error("\"{method}\" is no call of this version")]
    NoCall { method: &'c str },
    #[error(
        "capbench {version} speaks version {PROTOCOL} of the agents' protocol, the controller version {controller}; install the \
         same capbench on both hosts"
    )]
    OtherProtocol { version: &'c str, controller: u32 },
}

impl From<RefusedCall<'_>> for String {
    fn from(refused: RefusedCall<'_>) -> Self {
        refused.to_string()
    }
}

/// Why a link cannot be measured on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkFault {
    #[error("of {sent} frames that were sent none arrived; are the two connected?")]
    NothingArrived { sent: u64 },
    #[error(
        "of {sent} frames that were sent {delivered} arrived intact, {duplicates} of them repeatedly, and {damaged} damaged; look for \
         a bad cable, a loop or a switch that alters frames"
    )]
    Bad { sent: u64, delivered: u64, duplicates: u64, damaged: u64 },
}

/// Why a server of the Open Traffic Generator API did not do what it was asked for.
#[cfg(feature = "otg")]
#[derive(Debug, thiserror::Error)]
#[error("{path} is refused with status {status}: {errors}")]
pub(crate) struct RefusedPath {
    pub(crate) path: &'static str,
    pub(crate) status: u16,
    pub(crate) errors: String,
}

/// Why no answer of an agent came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("no answer to {call} within {patience:?} after the user wanted to stop")]
    AfterStop { call: &'static str, patience: Duration },
    #[error("no answer to {call} within {patience:?}")]
    InTime { call: &'static str, patience: Duration },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, AgentError>;

impl From<AgentError> for LabError {
    /// A set-up that an agent does not support is unsupported by the laboratory, too. Plans continue without it.
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Lab(error) => error,
            AgentError::Refused { location, refusal: Refusal { unsupported: Some(what), reason, .. } } => {
                Self::Unsupported { what, reason: format!("{location}: {reason}") }
            }
            error => Self::Remote(Box::new(error)),
        }
    }
}

impl From<AgentError> for TrialError {
    fn from(error: AgentError) -> Self {
        LabError::from(error).into()
    }
}
