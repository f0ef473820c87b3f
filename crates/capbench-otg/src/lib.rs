//! A server of the Open Traffic Generator API (OTG): scripts configure ports and flows, start them, read exact counts, and
//! capture. The model is that of version 1.61.0.
//!
//! | file | content |
//! |---|---|
//! | `server` | the HTTP interface |
//! | `session` | the configuration, and the flows and captures that run |
//! | `metrics` | the metrics of ports and flows |
//! | `rates` | rates of ports and flows |
//! | `flows` | a flow of the model as frames and their schedule |
//! | `sending`, `receiving` | a thread for each sending and for each receiving port |
//! | `capturing` | captures of ports |
//! | `ports` | the interfaces that clients may use |
//! | `model` | the part of the model that capbench has, as types |
//!
//! A frame of a flow ends with a trailer: the run and number of the flow, a sequence number, and the planned send time. Receivers
//! count by it, so that counts of flows need no filter, and no frame of another run counts.

#![forbid(unsafe_code)]

mod capturing;
mod error;
mod flows;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod metrics;
mod model;
mod ports;
mod rates;
mod receiving;
mod sending;
mod server;
mod session;

pub use error::{OtgError, Result};
pub use ports::Allowed;
pub use server::Server;
pub use session::Options;
