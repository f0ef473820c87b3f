//! What a strategy asks for, and how it is told.

use std::time::Duration;

use capbench_traffic::rates::Pps;

use super::database::{Database, Observation};

/// A trial that a strategy wants (RFC 9971, Trial Input: load and duration and nothing else).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Intended load.
    pub load: Pps,
    /// Intended duration.
    pub duration: Duration,
}

/// Chooses trials. It runs none, so it can be tried on anything: the path, stored trials, a model for an estimate.
pub(super) trait Strategist {
    /// The next trial, or nothing when it has what it wants or can get no more.
    fn next(&mut self, seen: &Database) -> Option<Request>;

    /// The trial that it asked for last, once it is in the database, too.
    fn learn(&mut self, trial: &Observation);
}
