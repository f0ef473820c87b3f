//! `capbench why`: where an interface loses packets now, and every socket that captures on it. It sends no traffic and changes
//! nothing. It does not even read counters that reading would reset.
//!
//! | file | content |
//! |---|---|
//! | [`places`] | the kernel's counters along the receive path |
//! | [`sockets`] | the sockets that capture, on the interface and elsewhere on the host |
//! | `traced` | why the kernel dropped frames, by its tracepoints |
//! | `look` | the results of an interval |
//! | `facts` | what only the advice uses |
//! | `scheduling` | which threads had which CPU, and which waited for one |
//! | `advice` | the likely cause, and what to change |
//! | `judgement` | a cause with its change |
//! | `reader` | the cause where a program did not read in time |
//! | `remedy` | a change as a command |
//! | `fidelity` | differences between captured frames and the frames on the wire |
//! | `captured` | the interfaces on which somebody captures |
//! | `watch` | reads all sources repeatedly |
//! | `window` | the counts of 100 ms, for monitoring |

#![forbid(unsafe_code)]

mod advice;
mod captured;
mod facts;
mod fidelity;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod judgement;
mod look;
pub mod places;
mod reader;
pub mod remedy;
mod scheduling;
pub mod sockets;
#[cfg(test)]
mod tests;
mod traced;
mod watch;
mod window;

pub use capbench_model::places::Place;
pub use captured::interfaces as captured_interfaces;
pub use facts::Facts;
pub use look::{Advice, InterfaceWindow, Look, NicRing, SCHEMA_VERSION};
pub use places::Lost;
pub use remedy::{Remedy, RemedyKind};
pub use sockets::{ClosedSockets, Fanout, Method, Process, Ring, Scope, Socket, Sockets};
pub use traced::{Dropped, Traced, Tracing};
pub use watch::Watch;
pub use window::{Sampler, SocketWindow, Window};
