//! One file per command. Commands that run trials share [`scene`] (what is measured) and [`measuring`] (the run). Commands that
//! record packets share [`recording`].

pub mod bench;
pub mod compare;
pub mod convert;
pub mod count;
pub mod extcap;
mod file_format;
pub mod generate;
mod measuring;
pub mod methods;
pub mod record;
mod recording;
pub mod report;
pub mod reproduce;
pub mod rfc2544;
mod scene;
pub mod search;
pub mod send;
pub mod soak;
pub mod sweep;
pub mod verify;
pub mod why;
