//! What is sent: frame plans, sizes, flows, stamps and schedules, a pacer, and one file per way to transmit.
#![forbid(unsafe_code)]

mod checksum;
pub mod error;
pub mod frame;
mod head;
pub mod imix;
pub mod layout;
pub mod pacer;
pub mod plan;
pub mod rates;
pub mod recognise;
pub mod report;
pub mod schedule;
pub mod sizes;
pub mod stamp;
pub mod transmit;
pub mod units;

pub use error::{Result, TrafficError};
