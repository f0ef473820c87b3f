//! What `send` prints at the end, as text and as JSON.

use capbench_frames::units::FCS_OCTETS;
use capbench_frames::{FlowSummary, LatenessSummary};
use capbench_model::figures::grouped;
use capbench_sys::host::{CpuId, LinkLayer, clock};
use capbench_traffic::SendReport;
use schemars::JsonSchema;
use serde::Serialize;

use super::replay::{Loaded, ReplayDocument};
use super::sending::Thread;
use crate::status::{BitRates, fcs_octets};

/// Version of [`Document`].
pub const SCHEMA_VERSION: u32 = 1;

/// Frames per second from the first frame to the last: one interval fewer than frames.
fn rate(report: &SendReport) -> f64 {
    report.frames.sent.saturating_sub(1) as f64 / report.elapsed.as_secs_f64().max(1e-9)
}

/// Bits per second at that rate, with the mean size of the frames sent.
fn bits(report: &SendReport, layer: LinkLayer) -> BitRates {
    let sent = report.frames.sent.max(1);
    let without_fcs = report.octets.saturating_sub(report.frames.sent * u64::from(FCS_OCTETS));
    BitRates::of(layer, rate(report), rate(report) * without_fcs as f64 / sent as f64)
}

/// Octets of the frames sent on their link. A report counts an FCS for each frame.
fn octets(report: &SendReport, layer: LinkLayer) -> u64 {
    report.octets - report.frames.sent * u64::from(FCS_OCTETS - fcs_octets(layer))
}

/// The result in words.
pub fn as_text(
    report: &SendReport,
    layer: LinkLayer,
    threads: &[ThreadDocument],
    flows: &[FlowSummary],
) -> String {
    let mut text = format!(
        "{} packets sent in {:.6} s, {} packets/s, {}; {} intended, {} unsent\n",
        report.frames.sent,
        report.elapsed.as_secs_f64(),
        grouped(rate(report)),
        bits(report, layer),
        report.frames.intended,
        report.frames.unsent
    );
    if report.frames.refused_lost + report.frames.refused_repeated + report.frames.in_flight > 0 {
        text.push_str(&format!(
            "{} refused and lost, {} refused and sent again, {} left in the transmit ring\n",
            report.frames.refused_lost, report.frames.refused_repeated, report.frames.in_flight
        ));
    }
    if let Some(lateness) = report.lateness.summary() {
        text.push_str(&format!(
            "lateness against the plan: p50 {} ns, p99 {} ns, max {} ns\n",
            lateness.p50_ns, lateness.p99_ns, lateness.max_ns
        ));
    }
    for thread in threads.iter().filter(|_| threads.len() > 1) {
        let cpu = thread.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
        let (sent, rate) = (thread.sent, grouped(thread.offered_pps));
        text.push_str(&format!("stream {}{cpu}: {sent} packets, {rate} packets/s\n", thread.stream));
    }
    text.extend(flows.iter().map(|flow| format!("{flow}\n")));
    text
}

/// The result as data: what `send --json` prints. `docs/send.schema.json` is its schema.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// Increases when a reader of older documents would misunderstand newer ones.
    schema_version: u32,
    /// Wall-clock time at the end, in nanoseconds since 1970.
    unix_ns: u64,
    /// The same moment by CLOCK_MONOTONIC, in nanoseconds.
    monotonic_ns: u64,
    /// Frames to send by the schedule until the end.
    intended: u64,
    /// Frames sent.
    sent: u64,
    /// Frames that the kernel accepted.
    accepted: u64,
    /// Frames that the kernel refused after it had accepted them: they count as lost.
    refused_lost: u64,
    /// Refused frames that were sent again.
    refused_repeated: u64,
    /// Intended frames that were not sent.
    unsent: u64,
    /// Frames still in the transmit ring at the end.
    in_flight: u64,
    /// Octets of the frames sent, FCS included; on a link without Ethernet of the IP packets.
    octets: u64,
    /// Seconds from the first frame to the last.
    elapsed_s: f64,
    /// Frames per second.
    offered_pps: f64,
    /// Bits per second of the frames, FCS included; null on a link without Ethernet.
    offered_bits_per_s_layer_2: Option<f64>,
    /// The same with preamble and gap.
    offered_bits_per_s_layer_1: Option<f64>,
    /// How late frames were against the plan; null without a plan.
    lateness: Option<LatenessSummary>,
    /// What ended the sending early; null if nothing did.
    failure: Option<String>,
    /// What each thread sent.
    threads: Vec<ThreadDocument>,
    /// The flows of the packet file; absent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flows: Vec<FlowSummary>,
    /// The capture file whose frames were sent; absent for generated frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayDocument>,
}

/// What one thread sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThreadDocument {
    /// The stream in the stamps of its frames.
    stream: u8,
    /// Its CPU; null: wherever the kernel let it run.
    cpu: Option<u32>,
    /// Frames sent.
    sent: u64,
    /// Its frames of the schedule that were not sent.
    unsent: u64,
    /// Frames per second.
    offered_pps: f64,
    /// How late its frames were against the plan; null without a plan.
    lateness: Option<LatenessSummary>,
}

impl ThreadDocument {
    /// What a thread sent.
    pub fn new(thread: &Thread) -> Self {
        let Thread { stream, cpu, report } = thread;
        Self {
            stream: stream.0,
            cpu: cpu.map(CpuId::number),
            sent: report.frames.sent,
            unsent: report.frames.unsent,
            offered_pps: rate(report),
            lateness: report.lateness.summary(),
        }
    }
}

impl Document {
    /// What all threads sent, and each of them.
    pub fn new(
        report: &SendReport,
        layer: LinkLayer,
        threads: Vec<ThreadDocument>,
        flows: Vec<FlowSummary>,
        recorded: Option<&Loaded>,
    ) -> Self {
        let rates = bits(report, layer);
        Self {
            schema_version: SCHEMA_VERSION,
            unix_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
            intended: report.frames.intended,
            sent: report.frames.sent,
            accepted: report.frames.accepted,
            refused_lost: report.frames.refused_lost,
            refused_repeated: report.frames.refused_repeated,
            unsent: report.frames.unsent,
            in_flight: report.frames.in_flight,
            octets: octets(report, layer),
            elapsed_s: report.elapsed.as_secs_f64(),
            offered_pps: rate(report),
            offered_bits_per_s_layer_2: rates.layer_2(),
            offered_bits_per_s_layer_1: rates.layer_1(),
            lateness: report.lateness.summary(),
            failure: report.failure.as_ref().map(ToString::to_string),
            threads,
            flows,
            replay: recorded.map(Loaded::document),
        }
    }
}
