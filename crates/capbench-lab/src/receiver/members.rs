//! Several members that read the frames of one trial, and their outcomes as one.

use std::sync::atomic::{AtomicU64, Ordering};

use capbench_frames::plan::FlowOrder;
use capbench_host::accounts::kernel_work::KernelWorkSnapshot;
use capbench_model::arrivals::{Arrivals, StreamArrivals};
use capbench_model::counters::Counters;
use capbench_model::evidence::QueueAccount;
use capbench_model::loss_pattern::LossRecord;
use capbench_model::members::{Member, MemberLoss};
use capbench_model::trial::Emptying;
use capbench_sys::host::CpuId;

use super::{Outcome, Received};
use crate::latency::Times;
use crate::{LabError, Result};

/// How many frames of a trial each member has accounted for. A member alone cannot know when all have arrived.
#[derive(Debug)]
pub struct Accounted(Box<[OfMember]>);

/// In a cache line of its own: each member writes its count once per batch.
#[derive(Debug, Default)]
#[repr(align(64))]
struct OfMember(AtomicU64);

impl Accounted {
    /// Of this many members, at least one.
    pub fn of(members: usize) -> Self {
        Self((0..members.max(1)).map(|_| OfMember::default()).collect())
    }

    /// Sets the count of a member, and returns the sum of all.
    #[inline]
    pub fn sum_with(&self, member: usize, frames: u64) -> u64 {
        let others = |(nth, other): (usize, &OfMember)| match nth == member {
            true => frames,
            // Relaxed: the sum only decides when a trial ends, and each count only grows.
            false => other.0.load(Ordering::Relaxed),
        };
        if let Some(own) = self.0.get(member).filter(|_| self.0.len() > 1) {
            own.0.store(frames, Ordering::Relaxed);
        }
        self.0.iter().enumerate().map(others).sum()
    }
}

/// What the members of a trial received together: outcomes of members on these CPUs, at least one.
///
/// # Errors
/// A member does not remember all its frames.
pub fn together(outcomes: Vec<Outcome>, cpus: &[CpuId], flows: FlowOrder) -> Result<Outcome> {
    let too_long = || LabError::Unsupported {
        what: "the trial".into(),
        reason: "it has more frames than its members remember: a shorter --duration has fewer".into(),
    };
    let member = |(outcome, cpu): (&Outcome, &CpuId)| member(&outcome.received, *cpu);
    let members: Vec<Member> = outcomes.iter().zip(cpus).map(member).collect();
    let (mut parts, mut kernels, mut records, mut all_times) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Outcome { received, kernel, record, times } in outcomes {
        all_times.extend(times);
        parts.push(received);
        kernels.push(kernel);
        records.extend(record);
    }
    let kernel = kernels.into_iter().max_by_key(KernelWorkSnapshot::monotonic_ns).ok_or_else(too_long)?;
    let (record, twice, flow_sharing) = match records.len() == parts.len() {
        true => {
            let (record, twice, sharing) = LossRecord::joined(records, flows).ok_or_else(too_long)?;
            (Some(record), twice, Some(sharing))
        }
        false => (None, Vec::new(), None),
    };
    let mut received = parts.into_iter().reduce(sum).ok_or_else(too_long)?;
    for (stream, twice) in received.streams.iter_mut().zip(&twice) {
        stream.delivered -= twice;
        stream.duplicates += twice;
    }
    let twice: u64 = twice.iter().sum();
    received.arrivals.delivered -= twice;
    received.arrivals.duplicates += twice;
    received.members = members;
    received.flow_sharing = flow_sharing;
    Ok(Outcome { received, kernel, record, times: all_times.into_iter().reduce(Times::join) })
}

fn member(received: &Received, cpu: CpuId) -> Member {
    let Received { arrivals, counters, .. } = received;
    // What was lost in front of the sockets is nobody's.
    let own = counters.losses.iter().filter(|loss| loss.place.is_accepted());
    let lost = own.map(|loss| MemberLoss { place: loss.place, frames: loss.count });
    Member {
        cpu: cpu.number(),
        accepted: counters.accepted,
        lost: lost.collect(),
        read: arrivals.read,
        delivered: arrivals.delivered,
        reordered: arrivals.reordered,
        cpu_ns: received.cpu_ns,
    }
}

/// What two members received. What describes the capture is that of the first: all are opened alike.
fn sum(first: Received, other: Received) -> Received {
    let queue = first.queue.zip(other.queue).map(|(one, other)| QueueAccount {
        refused: one.refused + other.refused,
        left: one.left + other.left,
        ..one
    });
    let emptying = first.emptying.zip(other.emptying).map(|(one, other)| Emptying {
        after_s: one.after_s.max(other.after_s),
        holds_s: one.holds_s.max(other.holds_s),
    });
    let streams = first.streams.iter().zip(&other.streams).map(|(one, other)| StreamArrivals {
        delivered: one.delivered + other.delivered,
        duplicates: one.duplicates + other.duplicates,
        reordered: one.reordered + other.reordered,
        reached: one.reached.max(other.reached),
        start_ns: one.start_ns.into_iter().chain(other.start_ns).min(),
    });
    let mut notes = first.notes;
    notes.extend(other.notes);
    notes.sort();
    notes.dedup();
    Received {
        arrivals: of_both(&first.arrivals, &other.arrivals),
        streams: streams.collect(),
        queue,
        counters: Counters::sum([&first.counters, &other.counters]),
        batches: first.batches + other.batches,
        waits: first.waits.plus(other.waits),
        cpu_ns: first.cpu_ns + other.cpu_ns,
        switches: first.switches.zip(other.switches).map(|(one, other)| one.plus(&other)),
        drain: first.drain.max(other.drain),
        emptying,
        cut_short: first.cut_short || other.cut_short,
        filtered: first.filtered || other.filtered,
        notes,
        verify_ns: first.verify_ns.max(other.verify_ns),
        call_ns: first.call_ns.into_iter().chain(other.call_ns).reduce(f64::min),
        ..first
    }
}

fn of_both(one: &Arrivals, other: &Arrivals) -> Arrivals {
    Arrivals {
        read: one.read + other.read,
        delivered: one.delivered + other.delivered,
        duplicates: one.duplicates + other.duplicates,
        reordered: one.reordered + other.reordered,
        foreign: one.foreign + other.foreign,
        truncated: one.truncated + other.truncated,
        corrupt: one.corrupt + other.corrupt,
    }
}
