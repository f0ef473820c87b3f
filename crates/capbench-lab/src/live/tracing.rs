//! The tracer of a laboratory: started once, before the first trial, then attached to each bed in turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::Result;
use capbench_host::bed::{Bed, Side, Sink};
use capbench_host::tracer::{InterfaceTrace, Scope, Stall, Tracer};
use capbench_model::disturbance;
use capbench_sys::host::{CpuId, clock};

/// An end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that sends.
    Transmit,
    /// The end that receives.
    Receive,
}

/// Whether there is a tracer.
#[derive(Clone, Debug)]
pub enum Tracing {
    /// No bed has been prepared yet. The description of the kernel's types is in this file, or is the kernel's own.
    NotYet(Option<PathBuf>),
    /// The tracer runs.
    Running(Attached),
    /// There is no tracer, for this reason.
    None(Arc<str>),
}

/// A tracer on a link.
#[derive(Clone, Debug)]
pub struct Attached {
    tracer: Arc<Tracer>,
    /// The ends that it watches.
    ends: Vec<End>,
    /// What ends frames behind the capture point, or why nothing can; absent where nothing may.
    sink: Option<std::result::Result<Arc<Sink>, String>>,
}

impl Tracing {
    /// No tracer.
    pub(super) fn none(reason: &str) -> Self {
        Self::None(reason.into())
    }

    /// Watches the ends of the link that are on this host.
    pub(super) fn watch(&mut self, sides: &[(End, &Side)]) -> Result<()> {
        let scope =
            |(_, side): &(End, &Side)| Scope { interface: side.index(), namespace: side.namespace().inode() };
        let scopes: Vec<_> = sides.iter().map(scope).collect();
        let of_sides = || sides.iter().map(|(end, _)| *end).collect();
        let attached = |tracer| Attached { tracer, ends: of_sides(), sink: None };
        match self {
            Self::NotYet(types) => {
                let started = match types {
                    Some(types) => Tracer::start_on(types, &scopes, true),
                    None => Tracer::start(&scopes),
                };
                *self = match started {
                    Ok(tracer) => Self::Running(attached(Arc::new(tracer))),
                    Err(unavailable) => Self::none(&unavailable.reason),
                };
                Ok(())
            }
            Self::Running(running) => {
                *running = attached(Arc::clone(&running.tracer));
                Ok(running.tracer.watch(&scopes)?)
            }
            Self::None(_) => Ok(()),
        }
    }

    pub(super) fn tracer(&self) -> Option<&Arc<Tracer>> {
        match self {
            Self::Running(running) => Some(&running.tracer),
            Self::NotYet(_) | Self::None(_) => None,
        }
    }

    /// Adds what can end frames behind the capture point of the watched receiving end. Returns it, for trials of methods whose
    /// capture point is before it; until they activate it, it lets all frames pass.
    pub(super) fn end_frames(&mut self, bed: &Bed) -> Result<Option<Arc<Sink>>> {
        let Self::Running(running) = self else { return Ok(None) };
        let Some(sink) = bed.sink() else { return Ok(None) };
        let sink = running.sink.insert(sink.map_err(String::from));
        if let Ok(sink) = sink {
            sink.set_active(false)?;
        }
        Ok(sink.as_ref().ok().cloned())
    }

    /// The counts of an interface since the tracer started; `None` without a tracer of drops.
    pub(super) fn counts(&self, end: End) -> Result<Option<InterfaceTrace>> {
        let Self::Running(Attached { tracer, ends, sink }) = self else { return Ok(None) };
        let Some(place) = ends.iter().position(|watched| *watched == end) else { return Ok(None) };
        if tracer.no_drops_because().is_some() {
            return Ok(None);
        }
        let mut trace = tracer.snapshot()?.into_iter().nth(place);
        if let (End::Receive, Some(trace), Some(Ok(sink))) = (end, &mut trace, sink) {
            trace.consumed = sink.ended()?;
        }
        Ok(trace)
    }

    /// The stalls of a CPU from `start` until `to_ns` of CLOCK_MONOTONIC; `None` if not monitored.
    pub(super) fn stalls(&self, cpu: CpuId, start: Instant, to_ns: u64) -> Option<Vec<disturbance::Stall>> {
        let from_ns = monotonic_ns_at(start);
        let stalls = self.tracer()?.stalls(cpu, from_ns, to_ns)?;
        let since_start = |stall: Stall| disturbance::Stall {
            until_ns: stall.until_ns - from_ns,
            at_least_ns: stall.at_least_ns,
            at_most_ns: stall.at_most_ns,
        };
        Some(stalls.into_iter().map(since_start).collect())
    }

    /// Why drops are not traced.
    pub(super) fn why_not(&self) -> Option<String> {
        match self {
            Self::None(reason) => Some(reason.to_string()),
            Self::NotYet(_) => None,
            Self::Running(running) => running.tracer.no_drops_because(),
        }
    }

    /// The tracer's statement for results.
    pub(super) fn statement(&self) -> Option<String> {
        match self {
            Self::NotYet(_) => None,
            Self::Running(Attached { tracer, sink, .. }) => {
                let drops = match (tracer.no_drops_because(), tracer.gives_reasons()) {
                    (Some(because), _) => {
                        format!("not drops: {because}; so losses in the network stack are unknown")
                    }
                    (None, true) => "drops with the kernel's reasons (skb:kfree_skb)".into(),
                    (None, false) => {
                        "drops by the kernel's functions, as it gives no reasons before Linux 5.17".into()
                    }
                };
                let ends = match sink {
                    Some(Ok(_)) => {
                        "; tc consumes frames behind the packet sockets of capbench's methods: they are no drops"
                    }
                    Some(Err(_)) | None => "; every frame that the stack does not need is a drop",
                };
                let no_sink = match sink {
                    Some(Err(reason)) => format!(", as tc cannot consume it ({reason})"),
                    Some(Ok(_)) | None => String::new(),
                };
                let softirqs = match tracer.no_softirqs_because() {
                    None => "time in the receive softirq, one run in eight at its beginning and end".into(),
                    Some(because) => {
                        format!("not the receive softirq: {because}; so the kernel's CPU time comes in ticks")
                    }
                };
                Some(format!(
                    "traced: {drops}, XDP exceptions and failed redirects on the trial's two interfaces{ends}{no_sink}; \
                     {softirqs}; {}",
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

/// A moment by CLOCK_MONOTONIC, which is also the kernel's tracing clock.
fn monotonic_ns_at(moment: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), clock::monotonic_ns());
    let (ahead, behind) = (moment.saturating_duration_since(now), now.saturating_duration_since(moment));
    now_ns + ahead.as_nanos() as u64 - behind.as_nanos() as u64
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
