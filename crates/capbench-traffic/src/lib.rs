//! Sends traffic: a pacer, and one file per transmit method.
//!
//! [`METHODS`](transmit::METHODS) opens a [`Sender`], which runs a [`SendJob`] and returns a [`SendReport`]. The report
//! counts every intended frame as sent or unsent. The frames and their schedule come from capbench-frames.
//!
//! # To add
//!
//! - a transmit method: a file in `capbench-traffic/src/transmit/` that implements `Transmit`, and its row in `METHODS`
//!   there. What its threads share is opened first, then each thread's part (`Opener`).
#![forbid(unsafe_code)]

pub mod error;
pub mod pacer;
pub mod transmission;
pub mod transmit;

pub use error::{Result, TrafficError};
pub use pacer::{Limits, SendJob, SendReport};
pub use transmission::Transmit;
pub use transmit::{Opened, Sender, TransmitConfig, TransmitFacts, TransmitMethod};
