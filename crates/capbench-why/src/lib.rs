//! `capbench why`: where an interface loses packets now, and every socket that captures on it. It makes no traffic and
//! changes nothing, not even counters that reading would reset.
//!
//! | file | what |
//! |---|---|
//! | [`places`] | what the kernel counts along the receive path |
//! | [`sockets`] | the sockets that capture, here and elsewhere on the host |
//! | `traced` | why the kernel dropped frames, by its tracepoints |
//! | `look` | what was seen in an interval |
//! | `advice` | the likely cause, and what to change |
//! | `fidelity` | when what is captured is not what was on the wire |
//! | `watch` | reads all of it, again and again |

#![forbid(unsafe_code)]

mod advice;
mod fidelity;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod look;
pub mod places;
pub mod sockets;
#[cfg(test)]
mod tests;
mod traced;
mod watch;

pub use look::{Advice, Look, NicRing};
pub use places::{Lost, Place};
pub use sockets::{ClosedSockets, Fanout, Method, Process, Ring, Scope, Socket, Sockets};
pub use traced::{Dropped, Traced, Tracing};
pub use watch::Watch;
