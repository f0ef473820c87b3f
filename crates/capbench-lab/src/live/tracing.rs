//! The tracer of a laboratory: started once, before the first trial, then attached to each bed in turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::Result;
use capbench_host::bed::{Bed, Side, Sink};
use capbench_host::tracer::{InterfaceTrace, Scope, Stall, Tracer};
use capbench_model::disturbance;
use capbench_model::statement::{FrameEnds, Statement, Traced, TracedCost, TracedDrops};
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

    /// Times every receive softirq from now on, or none.
    pub(super) fn time_softirqs(&self, is_wanted: bool) -> Result<()> {
        if let Some(tracer) = self.tracer() {
            tracer.time_softirqs(is_wanted)?;
        }
        Ok(())
    }

    /// Whether receive softirqs are timed now; `None` without a tracer.
    pub(super) fn times_softirqs(&self) -> Option<bool> {
        Some(self.tracer()?.times_softirqs())
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
    pub(super) fn statement(&self) -> Option<Statement> {
        let Attached { tracer, sink, .. } = match self {
            Self::NotYet(_) => return None,
            Self::None(reason) => return Some(Statement::NotTraced { because: reason.to_string() }),
            Self::Running(running) => running,
        };
        let drops = match tracer.no_drops_because() {
            Some(because) => TracedDrops::None { because },
            None if tracer.gives_reasons() => TracedDrops::ByReason,
            None => TracedDrops::ByFunction,
        };
        let frame_ends = match sink {
            Some(Ok(_)) => FrameEnds::Consumed,
            Some(Err(reason)) => FrameEnds::NotConsumed { because: reason.clone() },
            None => FrameEnds::Dropped,
        };
        let no_softirqs_because = tracer.no_softirqs_because();
        Some(Statement::Traced(Traced { drops, frame_ends, no_softirqs_because, cost: cost(tracer) }))
    }
}

/// A moment by CLOCK_MONOTONIC, which is also the kernel's tracing clock.
fn monotonic_ns_at(moment: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), clock::monotonic_ns());
    let (ahead, behind) = (moment.saturating_duration_since(now), now.saturating_duration_since(moment));
    now_ns + ahead.as_nanos() as u64 - behind.as_nanos() as u64
}

/// What the tracer itself costs.
fn cost(tracer: &Tracer) -> TracedCost {
    match (tracer.cost(), tracer.no_cost_because()) {
        (Some(cost), _) => TracedCost::Measured { times: cost.to_string() },
        (None, Some(because)) => TracedCost::Unknown { because: because.to_string() },
        (None, None) => TracedCost::NotMeasured,
    }
}
