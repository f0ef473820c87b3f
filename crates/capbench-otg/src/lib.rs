//! A server of the Open Traffic Generator API (OTG): scripts configure ports and flows, start them, read exact counts, and
//! capture. The model is that of version 1.61.0.
//!
//! | file | content |
//! |---|---|
//! | `server` | the HTTP interface |
//! | `session` | the configuration, and what runs for a client |
//! | `metrics` | the metrics of ports and flows |
//! | `rates` | rates of ports and flows |
//! | `connection` | the engine of a port in another process, also on another host |
//! | `agent` | the other end: serves an engine on standard input and output |
//! | `engine` | what a port does on its host |
//! | `messages` | what a session asks an engine, and the answers |
//! | `flows` | a flow of the model as frames and their schedule |
//! | `sending`, `receiving` | a thread for each start of flows, and for each receiving port |
//! | `tally` | what arrived of a flow at a port |
//! | `halt` | ends what is sent, without the session |
//! | `download` | the octets of a capture on their way to a client |
//! | `threads` | starts threads |
//! | `capturing` | captures of ports |
//! | `capture_folder` | the folder of a capture |
//! | `ports` | the interfaces that clients may use |
//! | `model` | the part of the model that capbench has, as types |
//!
//! A session has one engine a port. It asks the engine of an interface of this namespace by a call, and any other one by the same
//! requests over a connection.
//!
//! A frame of a flow ends with a trailer: the run and number of the flow, a sequence number, and the planned send time. Receivers
//! count by it, so that counts of flows need no filter, and no frame of another run counts.
//!
//! # To add
//!
//! - a member of the OTG model: its field in the type of `capbench-otg/src/model/`, its row in docs/otg.md; what it does:
//!   `flows.rs` (a flow's frames and times), `session/control.rs` with a request of `messages.rs` that `engine.rs` answers,
//!   `metrics.rs` with the row in `model/answers.rs`.

#![forbid(unsafe_code)]

mod agent;
mod capture_folder;
mod capturing;
mod connection;
mod download;
mod engine;
mod error;
mod flows;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod halt;
mod messages;
mod metrics;
mod model;
mod places;
mod ports;
mod rates;
mod receiving;
mod sending;
mod server;
mod session;
mod tally;
mod threads;

pub use agent::Agent;
pub use engine::Options;
pub use error::{OtgError, Result};
pub use ports::Allowed;
pub use server::Server;
