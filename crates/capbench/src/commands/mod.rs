//! One file per command.

pub mod bench;
pub mod count;
pub mod methods;
pub mod send;
pub mod why;
