//! What `count --json` prints: a document per second, and one with the totals. `docs/count.schema.json` is their schema.

use capbench_host::xdp::XdpTakes;
use capbench_lab::counting::{Part, Sum};
use capbench_model::arrivals::Arrivals;
use capbench_model::mark::Tally;
use schemars::JsonSchema;
use serde::Serialize;

use crate::status::{BitRates, Losses, OtherTrial};

/// Version of [`Document`].
pub const SCHEMA_VERSION: u32 = 1;

/// A line of `count --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Document {
    /// What came since the line before.
    Interval(Interval),
    /// The totals, as the last line.
    Totals(Totals),
}

/// What came since the line before.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Interval {
    /// Increases when a reader of older documents would misunderstand newer ones.
    pub schema_version: u32,
    /// Seconds since the start of the count.
    pub time_s: f64,
    /// Wall-clock time in nanoseconds since 1970.
    pub unix_ns: u64,
    /// The same moment by CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// Packets.
    pub packets: u64,
    /// Their octets without FCS.
    pub octets: u64,
    /// Packets per second.
    pub packets_per_s: f64,
    /// Bits per second of the frames, FCS included; null on a link without Ethernet.
    pub bits_per_s_layer_2: Option<f64>,
    /// The same with preamble and gap.
    pub bits_per_s_layer_1: Option<f64>,
    /// The packets of each --each filter, and last of none of them; empty without --each.
    pub each: Vec<OfFilter>,
    /// The packets of each of several captures that share them (--members); empty if there is one.
    pub members: Vec<OfMember>,
    /// Packets that the method lost; null if it does not report them.
    pub dropped: Option<u64>,
    /// The same by place.
    pub losses: Vec<LostAt>,
    /// Highest fill level of the ring, as a part of 1; null if the method does not report it.
    pub ring_fill: Option<f64>,
}

/// The totals.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Totals {
    /// Increases when a reader of older documents would misunderstand newer ones.
    pub schema_version: u32,
    /// Always true; a line of an interval does not have this member.
    pub total: bool,
    /// Seconds since the start of the count.
    pub time_s: f64,
    /// Wall-clock time in nanoseconds since 1970.
    pub unix_ns: u64,
    /// The same moment by CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// Packets.
    pub packets: u64,
    /// Their octets without FCS.
    pub octets: u64,
    /// The packets of each --each filter, and last of none of them; empty without --each.
    pub each: Vec<OfFilter>,
    /// The packets of each of several captures that share them (--members); empty if there is one.
    pub members: Vec<OfMember>,
    /// Packets that the method accepted, lost ones included; null if it does not report them.
    pub accepted: Option<u64>,
    /// Packets that the method lost; null if it does not report them.
    pub dropped: Option<u64>,
    /// The same by place.
    pub losses: Vec<LostAt>,
    /// Packets that a filter run by capbench left out; null if the kernel filters, or nothing does.
    pub left_out_by_filter: Option<u64>,
    /// Highest fill level of the ring, as a part of 1; null if the method does not report it.
    pub ring_fullest: Option<f64>,
    /// CPU time of the counting threads in seconds.
    pub cpu_s: f64,
    /// The XDP program in front of the capture, and what it took; null without one.
    pub xdp: Option<TakenByXdp>,
    /// The frames of the trial of --verify; null without --verify, and if the method returns no frames.
    pub verified: Option<Verified>,
    /// The frames of the trial of --verify that the kernel counted; null where capbench itself saw them.
    pub counted_in_kernel: Option<CountedInKernel>,
}

/// Packets that pass a filter.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfFilter {
    /// The filter; null for packets that pass none.
    filter: Option<String>,
    /// Packets.
    packets: u64,
    /// Their octets without FCS.
    octets: u64,
    /// Packets per second.
    packets_per_s: f64,
    /// Bits per second of the frames, FCS included; null on a link without Ethernet.
    bits_per_s_layer_2: Option<f64>,
    /// The same with preamble and gap.
    bits_per_s_layer_1: Option<f64>,
}

/// Packets of one of several captures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfMember {
    /// Packets that it counted.
    packets: u64,
    /// Their octets without FCS.
    octets: u64,
    /// Packets that reached it, lost ones included; null if the method does not report them.
    accepted: Option<u64>,
    /// Packets that it lost; null if the method does not report them.
    dropped: Option<u64>,
    /// The same by place.
    losses: Vec<LostAt>,
    /// CPU time of its thread in seconds.
    cpu_s: f64,
}

/// Packets lost at a place.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LostAt {
    /// The place.
    place: &'static str,
    /// Packets; null is unknown.
    count: Option<u64>,
}

/// Packets that an XDP program took in front of the capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TakenByXdp {
    /// The program, where it runs, and the processes that hold it.
    pub program: String,
    /// Packets; null if no counter shows how many.
    pub packets: Option<u64>,
}

impl TakenByXdp {
    /// What was counted; `None` if there was no program.
    pub fn of(takes: &XdpTakes) -> Option<Self> {
        Some(Self { program: takes.program()?.to_string(), packets: takes.taken() })
    }
}

/// The frames of a trial, each verified.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Verified {
    /// Frames that came once and intact.
    delivered: u64,
    /// Further copies.
    duplicates: u64,
    /// Frames behind one with a higher number.
    reordered: u64,
    /// Packets that are not of the trial.
    foreign: u64,
    /// Frames cut short, though the snap length allows them whole.
    truncated: u64,
    /// Damaged frames.
    corrupt: u64,
    /// Frames of the trial that did not come; null if the number of sent ones is unknown.
    lost: Option<u64>,
    /// Frames sent: --frames, else up to the last one that came; null if unknown.
    of: Option<u64>,
    /// Foreign packets by the trial they are of.
    of_other_trials: Vec<OtherTrial>,
}

/// The frames of a trial that the kernel counted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountedInKernel {
    /// Frames that came once.
    delivered: u64,
    /// Further copies; null if not counted.
    duplicates: Option<u64>,
    /// Packets that are not of the trial.
    foreign: u64,
}

impl OfFilter {
    /// The packets that pass this filter in a time.
    pub fn new(filter: Option<String>, sum: Sum, rates: BitRates, seconds: f64) -> Self {
        Self {
            filter,
            packets: sum.packets,
            octets: sum.octets,
            packets_per_s: sum.packets as f64 / seconds,
            bits_per_s_layer_2: rates.layer_2(),
            bits_per_s_layer_1: rates.layer_1(),
        }
    }
}

impl OfMember {
    /// Each of several.
    pub fn list(members: &[Part]) -> Vec<Self> {
        let of = |Part { all, counters, cpu_ns, .. }: &Part| Self {
            packets: all.packets,
            octets: all.octets,
            accepted: counters.accepted,
            dropped: counters.dropped(),
            losses: LostAt::list(&Losses::of(counters)),
            cpu_s: *cpu_ns as f64 / 1e9,
        };
        if members.len() > 1 { members.iter().map(of).collect() } else { Vec::new() }
    }
}

impl LostAt {
    /// Each place with what it lost.
    pub fn list(losses: &Losses) -> Vec<Self> {
        losses.iter().map(|(place, count)| Self { place, count }).collect()
    }
}

impl Verified {
    /// What arrived, how many are lost of how many if that is known, and foreign frames by trial.
    pub fn new(arrivals: &Arrivals, lost: Option<(u64, u64)>, of_other_trials: Vec<OtherTrial>) -> Self {
        Self {
            delivered: arrivals.delivered,
            duplicates: arrivals.duplicates,
            reordered: arrivals.reordered,
            foreign: arrivals.foreign,
            truncated: arrivals.truncated,
            corrupt: arrivals.corrupt,
            lost: lost.map(|(lost, _)| lost),
            of: lost.map(|(_, of)| of),
            of_other_trials,
        }
    }
}

impl From<&Tally> for CountedInKernel {
    fn from(tally: &Tally) -> Self {
        Self { delivered: tally.marked, duplicates: tally.duplicates, foreign: tally.other }
    }
}
