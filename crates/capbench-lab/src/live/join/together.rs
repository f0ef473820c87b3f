//! The generators of a trial as one: their halves together.

use capbench_frames::{LatenessSummary, SentFrames};
use capbench_model::arrivals::StreamArrivals;
use capbench_model::trial::Departed;

use crate::live::halves::{GeneratorCpu, TransmitHalf};

/// The halves of several generators as that of one. Sums are unknown where a part is; of durations it is the longest.
///
/// CPU times are those of the halves in `on_its_host`: on the receiver's host generators can share a CPU, and those of other
/// hosts are not examined.
///
/// # Panics
/// Without a half: a trial of which no generator reports is an error before.
pub(super) fn together(halves: &[TransmitHalf], on_its_host: impl Fn(&TransmitHalf) -> bool) -> TransmitHalf {
    let mut cpus: Vec<GeneratorCpu> = Vec::new();
    for cpu in halves.iter().filter(|half| on_its_host(half)).flat_map(|half| half.cpus.clone()) {
        match cpus.iter_mut().find(|known| known.cpu == cpu.cpu) {
            Some(known) => *known = shared(known.clone(), cpu),
            None => cpus.push(cpu),
        }
    }
    let all = halves.iter().cloned().reduce(both).expect("one generator or more reports");
    if cpus.is_empty() { all } else { TransmitHalf { cpus, ..all } }
}

fn both(one: TransmitHalf, other: TransmitHalf) -> TransmitHalf {
    let mut driver_counters = one.driver_counters;
    for (name, count) in other.driver_counters {
        *driver_counters.entry(name).or_default() += count;
    }
    let mut generator = one.generator;
    for facts in other.generator {
        if !generator.contains(&facts) {
            generator.push(facts);
        }
    }
    let mut notes = one.notes;
    notes.extend(other.notes.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
    TransmitHalf {
        stream: one.stream,
        frames: one.frames.plus(other.frames),
        unverified_because: one.unverified_because.or(other.unverified_because),
        elapsed: one.elapsed.max(other.elapsed),
        sending: one.sending.max(other.sending),
        lateness: one.lateness.zip(other.lateness).map(|(one, other)| latest(one, other)),
        departed: departed(one.departed, other.departed),
        generator,
        outruns: one.outruns && other.outruns,
        needs_far_napi: one.needs_far_napi || other.needs_far_napi,
        cpus: one.cpus,
        interface: one.interface.plus(&other.interface),
        counts_each_frame: one.counts_each_frame && other.counts_each_frame,
        driver_counters,
        notes,
        // Of each generator: the trial is judged by them.
        interruption: None,
        // Each has its own.
        disturbers: None,
        clock: None,
    }
}

/// When the frames of two senders had left.
pub(in crate::live) fn departed(one: Option<Departed>, other: Option<Departed>) -> Option<Departed> {
    one.zip(other).map(|(one, other)| Departed {
        after_s: one.after_s.max(other.after_s),
        under_way: one.under_way + other.under_way,
    })
}

fn latest(one: LatenessSummary, other: LatenessSummary) -> LatenessSummary {
    LatenessSummary {
        p50_ns: one.p50_ns.max(other.p50_ns),
        p99_ns: one.p99_ns.max(other.p99_ns),
        max_ns: one.max_ns.max(other.max_ns),
    }
}

/// Two generators on one CPU: both threads' time, in the longer window.
fn shared(one: GeneratorCpu, other: GeneratorCpu) -> GeneratorCpu {
    let own_ns = one.own_ns + other.own_ns;
    let longer = if other.window_ns > one.window_ns { other } else { one };
    GeneratorCpu { own_ns, ..longer }
}

/// The frames together with those of a generator that ended before it reported them: those that it sent at least.
pub(super) fn with_unreported(frames: SentFrames, arrivals: &StreamArrivals) -> SentFrames {
    let sent = arrivals.reached;
    frames.plus(SentFrames { intended: sent, sent, accepted: sent, ..SentFrames::default() })
}
