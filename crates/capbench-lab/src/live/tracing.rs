//! The tracer of a laboratory: started once, before the first trial, then attached to each bed in turn.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Result;
use capbench_host::bed::{Bed, Side};
use capbench_host::tracer::{Scope, Tracer};

/// Whether there is a tracer.
#[derive(Clone, Debug)]
pub(super) enum Tracing {
    /// No bed has been prepared yet. The description of the kernel's types is in this file, or is the kernel's own.
    NotYet(Option<PathBuf>),
    /// The tracer runs.
    Running(Arc<Tracer>),
    /// There is no tracer, for this reason.
    None(Arc<str>),
}

impl Tracing {
    pub(super) fn none(reason: &str) -> Self {
        Self::None(reason.into())
    }

    /// Watches the transmitting and the receiving side of a bed.
    pub(super) fn watch(&mut self, bed: &Bed) -> Result<()> {
        let scope = |side: &Side| Scope { interface: side.index(), namespace: side.namespace().inode() };
        let scopes = [bed.transmit_side(), bed.receive_side()].map(scope);
        match self {
            Self::NotYet(types) => {
                let started = match types {
                    Some(types) => Tracer::start_on(types, &scopes, true),
                    None => Tracer::start(&scopes),
                };
                *self = match started {
                    Ok(tracer) => Self::Running(Arc::new(tracer)),
                    Err(unavailable) => Self::none(&unavailable.reason),
                };
                Ok(())
            }
            Self::Running(tracer) => Ok(tracer.watch(&scopes)?),
            Self::None(_) => Ok(()),
        }
    }

    pub(super) fn tracer(&self) -> Option<&Arc<Tracer>> {
        match self {
            Self::Running(tracer) => Some(tracer),
            Self::NotYet(_) | Self::None(_) => None,
        }
    }

    /// Why there is no tracer.
    pub(super) fn why_not(&self) -> Option<&str> {
        match self {
            Self::None(reason) => Some(reason),
            Self::NotYet(_) | Self::Running(_) => None,
        }
    }

    /// The tracer's statement for results.
    pub(super) fn statement(&self) -> Option<String> {
        match self {
            Self::NotYet(_) => None,
            Self::Running(tracer) => {
                let drops = match tracer.gives_reasons() {
                    true => "drops with the kernel's reasons (skb:kfree_skb)",
                    false => "drops by the kernel's functions, as it gives no reasons before Linux 5.17",
                };
                Some(format!(
                    "traced: {drops}, XDP exceptions and failed redirects on the trial's two interfaces; time in the \
                     receive softirq at its beginning and end; {}",
                    cost(tracer)
                ))
            }
            Self::None(reason) => Some(format!(
                "not traced: {reason}; so losses in the network stack are unknown, and the kernel's CPU time comes in \
                 ticks"
            )),
        }
    }
}

/// The tracer's cost as text.
fn cost(tracer: &Tracer) -> String {
    match (tracer.cost(), tracer.no_cost_because()) {
        (Some(cost), _) => format!(
            "the tracer itself takes {cost}, by the kernel's run-time statistics of BPF programs before the first \
             trial"
        ),
        (None, Some(reason)) => format!("what the tracer itself costs is unknown: {reason}"),
        (None, None) => "what the tracer itself costs has not been measured".into(),
    }
}
