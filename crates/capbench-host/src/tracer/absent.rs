//! Replaces the tracer in a program that was built without it.

use std::convert::Infallible;
use std::path::Path;

use capbench_sys::host::CpuId;

use super::cost::TracerCost;
use super::{InterfaceTrace, NetRxTime, Scope, Stall, Unavailable};
use crate::Result;

/// A tracer that does not exist.
#[derive(Debug)]
pub struct Tracer(Infallible);

/// Methods of a tracer that are never called.
macro_rules! never {
    ($($name:ident($($argument:ty),*) -> $result:ty;)+) => {
        impl Tracer {
            $(
                /// Never called.
                pub fn $name(&self, $(_: $argument),*) -> $result {
                    match self.0 {}
                }
            )+
        }
    };
}

never! {
    watch(&[Scope]) -> Result<()>;
    snapshot() -> Result<Vec<InterfaceTrace>>;
    net_rx(CpuId) -> Option<NetRxTime>;
    stalls(CpuId, u64, u64) -> Option<Vec<Stall>>;
    cost() -> Option<TracerCost>;
    no_cost_because() -> Option<&str>;
    no_drops_because() -> Option<String>;
    no_softirqs_because() -> Option<String>;
    time_softirqs(bool) -> Result<()>;
    times_softirqs() -> bool;
    limit_cost(bool) -> Result<()>;
    trace_drops() -> Result<()>;
    gives_reasons() -> bool;
}

impl Tracer {
    /// The reason why there is none.
    pub fn start(_: &[Scope]) -> std::result::Result<Self, Unavailable> {
        Err(Unavailable { reason: "this capbench was built without the feature bpf".into() })
    }

    /// Like [`Self::start`].
    pub fn start_on(_: &Path, scopes: &[Scope], _: bool) -> std::result::Result<Self, Unavailable> {
        Self::start(scopes)
    }

    /// Never called.
    pub fn measure_cost<E>(
        &self,
        _: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self.0 {}
    }
}
