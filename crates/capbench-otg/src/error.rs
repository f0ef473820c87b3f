//! Why a request is refused.

use capbench_frames::FrameError;
use capbench_http::StatusCode;
use thiserror::Error;

/// Why a request of a client fails, or the server does not start. The client gets it as `Error` of the model.
#[derive(Debug, Error)]
pub enum OtgError {
    /// Something in the request that the model or capbench does not have, at its place in the model.
    #[error(transparent)]
    Invalid(#[from] FrameError),
    /// There is no such thing in the configuration.
    #[error("{path}: the configuration has no {kind} \"{name}\"")]
    NoSuch {
        /// Where in the request.
        path: String,
        /// What it is.
        kind: &'static str,
        /// The name in the request.
        name: String,
    },
    /// The request does not fit to what runs now.
    #[error("{0}")]
    Conflict(String),
    /// The interface of a port cannot be used.
    #[error("{}{source}", prefix(path))]
    Host {
        /// The port.
        path: String,
        /// Why.
        source: capbench_host::HostError,
    },
    /// Frames cannot be sent.
    #[error("{}{source}", prefix(path))]
    Traffic {
        /// The port or flow.
        path: String,
        /// Why.
        source: capbench_traffic::TrafficError,
    },
    /// Frames cannot be received.
    #[error("{}{source}", prefix(path))]
    Capture {
        /// The port.
        path: String,
        /// Why.
        source: Box<capbench_capture::CaptureError>,
    },
    /// Frames cannot be recorded.
    #[error("{}{source}", prefix(path))]
    Record {
        /// The port.
        path: String,
        /// Why.
        source: Box<capbench_record::RecordError>,
    },
    /// An engine in another process cannot be started.
    #[error("{}{source}", prefix(path))]
    Start {
        /// The port.
        path: String,
        /// Why.
        source: Box<capbench_agent::AgentError>,
    },
    /// The engine of a port in another process has ended, or does not answer.
    #[error("{}{location}: {reason}", prefix(path))]
    Lost {
        /// The port; empty where the connection does not know it.
        path: String,
        /// Where it ran.
        location: String,
        /// What happened.
        reason: String,
    },
    /// An engine in another process refuses a request.
    #[error("{reason}")]
    Refused {
        /// The code of the answer.
        status: StatusCode,
        /// Why.
        reason: String,
    },
    /// The system refuses something that has nothing to do with the request.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The server does not start.
    #[error(transparent)]
    Http(#[from] capbench_http::HttpError),
    /// A flag of the command.
    #[error("{0}")]
    Flag(String),
}

fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl OtgError {
    /// Something wrong at a place of the request; empty for all of it.
    pub(crate) fn invalid(path: &str, reason: impl Into<String>) -> Self {
        Self::Invalid(FrameError::At { place: path.into(), reason: reason.into() })
    }

    /// The same error of a part of the request that is at a place itself.
    pub(crate) fn inside(self, outer: &str) -> Self {
        match self {
            Self::Invalid(error) => Self::Invalid(error.inside(outer)),
            other => other,
        }
    }

    /// The code of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::NoSuch { .. } => StatusCode::NOT_FOUND,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Host { .. }
            | Self::Traffic { .. }
            | Self::Capture { .. }
            | Self::Start { .. }
            | Self::Lost { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Refused { status, .. } => *status,
            Self::Record { .. } | Self::System { .. } | Self::Http(_) | Self::Flag(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    /// Whether the request is wrong, or what the server does with it.
    pub(crate) fn kind(&self) -> &'static str {
        if self.status().is_server_error() { "internal" } else { "validation" }
    }
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, OtgError>;
