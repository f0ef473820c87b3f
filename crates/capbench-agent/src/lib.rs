//! One side of a trial in another process, also on another host, and the laboratory that drives both sides there.
//!
//! An agent is this program with its standard input and output as the connection. Somebody else starts it (OpenSSH, ip-netns(8),
//! any command), who also authenticates, encrypts and audits. While frames are sent, no message passes and no thread of an agent
//! or of the controller runs but the generator's and the application's.
//!
//! | module | what |
//! |---|---|
//! | [`location`] | says where an interface is |
//! | [`framing`] | one message on a byte stream: a length and that many octets |
//! | [`process`] | the command of a location, whose standard input and output are a connection |
//! | [`message`] | the calls and their answers: JSON-RPC 2.0 |
//! | [`waits`] | says how long the two ends of a connection wait for each other |
//! | [`server`] | the agent: prepares one side, runs it, answers |
//! | [`client`] | a running agent, and the end of a trial that it is |
//! | [`otg`] | a generator of others as the end that sends: the client of the Open Traffic Generator API (feature `otg`) |
//! | [`laboratory`] | the laboratory whose ends are agents, or such generators |
//!
//! # To add
//!
//! - a generator of others: a folder as `capbench-agent/src/otg/` with a type that implements `TransmitEnd`; a variant of
//!   `Host` in `laboratory/generator.rs` there.
//! - a kind of location: a variant of `Location` in `capbench-agent/src/location.rs`.
//! - a call of agents: its row and type in `message.rs`, an arm in `server/mod.rs`, its caller in `client/`; then
//!   `CAPBENCH_WRITE_SCHEMA=1 cargo test -p capbench-agent --lib schemas_are`.

#![forbid(unsafe_code)]

pub mod client;
mod error;
#[cfg(any(test, fuzzing))]
mod for_tests;
pub mod framing;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod laboratory;
pub mod location;
pub mod message;
#[cfg_attr(not(feature = "otg"), path = "otg/absent.rs")]
pub mod otg;
pub mod process;
#[cfg(test)]
mod schema_tests;
pub mod server;
pub mod waits;

pub use error::{AgentError, Result};
