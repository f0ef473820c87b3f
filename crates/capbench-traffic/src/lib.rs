//! What is sent: a pacer, and one file per way to transmit.
//!
//! [`METHODS`](transmit::METHODS) opens a [`Sender`], which runs a [`SendJob`] and returns a [`SendReport`] in which every
//! intended frame is sent or unsent. The frames and their schedule are those of capbench-frames.
#![forbid(unsafe_code)]

pub mod error;
pub mod pacer;
pub mod report;
pub mod transmission;
pub mod transmit;

pub use error::{Result, TrafficError};
pub use pacer::{Limits, SendJob};
pub use report::SendReport;
pub use transmission::Transmit;
pub use transmit::{Opened, Sender, TransmitConfig, TransmitFacts, TransmitMethod};
