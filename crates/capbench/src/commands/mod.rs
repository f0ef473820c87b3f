//! Commands that run no trials and record no packets: one file per command, with its flags.

pub mod agent;
pub mod campaign;
pub mod compare;
pub mod config;
pub mod convert;
pub mod count;
pub mod export;
pub mod generate;
pub mod methods;
#[cfg(feature = "otg")]
pub mod otg;
pub mod report;
pub mod send;
pub mod tune;
pub mod verify;
pub mod why;
