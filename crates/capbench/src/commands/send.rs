//! `capbench send`: generates traffic and accounts for every frame.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_frames::{FramePlan, Mtu, Schedule, StreamId, TrialId};
use capbench_frames::{Pps, Sizes};
use capbench_host::bed::Bed;
use capbench_model::figures::grouped;
use capbench_sys::host::{CpuId, affinity};
use capbench_traffic::transmit::Refusal;
use capbench_traffic::{Limits, SendJob, SendReport, TransmitConfig, transmit};
use clap::Args;
use serde_json::json;

use crate::exit::{self, Exit, Usage};
use crate::flags::{LayoutFlags, transmit};
use crate::output::{print, print_json};
use crate::signals::Stop;
use crate::values::positive_duration;

#[derive(Args, Clone, Debug)]
pub struct SendFlags {
    /// Interface to send on; the link must be isolated (RFC 6815)
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    /// Constant rate in frames per second, such as 100000, 250k or 1.5Mpps [default: as fast as it goes]
    #[arg(long, value_name = "RATE", conflicts_with = "wait_loop")]
    rate: Option<Pps>,
    /// Send bursts of so many frames back to back; --rate is then the mean
    #[arg(long, value_name = "FRAMES", requires = "rate", conflicts_with = "poisson")]
    burst: Option<NonZeroU32>,
    /// Exponentially distributed gaps from this seed; --rate is then the mean
    #[arg(long, value_name = "SEED", requires = "rate")]
    poisson: Option<u64>,
    /// Dain's schedule: a loop of N iterations between frames
    #[arg(long, value_name = "N")]
    wait_loop: Option<u32>,
    /// Stop after so many frames
    #[arg(short = 'c', long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = positive_duration, required_unless_present = "count")]
    duration: Option<Duration>,
    /// Frame sizes with FCS: octets, a list 64,570,1518, random:64-1518, 64-1518/100, or a mix such as imix
    #[arg(long, value_name = "SIZES", default_value = "64", conflicts_with = "dain_2004")]
    size: Sizes,
    /// The packets of Dain's measurement of 2004: TCP with 4 octets of payload, 58 octets without FCS
    #[arg(long, conflicts_with_all = ["flows", "vlan", "ipv6", "tcp", "dst_mac"])]
    dain_2004: bool,
    /// CPU to send from
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// Number that the stamps of the frames carry
    #[arg(long, value_name = "ID", default_value_t = 1)]
    trial: u16,
    /// Nothing but this test is on the interface's link, though it has addresses or a default route
    #[arg(long)]
    isolated: bool,
    /// Print the plan and stop
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx or xdp-live; with +qdisc behind it, one of the first three goes
    /// through the queueing discipline
    #[arg(long, value_name = "METHOD", default_value = "packet-tx", value_parser = transmit)]
    transmit: String,
    #[command(flatten)]
    layout: LayoutFlags,
}

/// Unsent frames worth up to this much time come from rounding of the clock.
const TOLERATED: Duration = Duration::from_micros(10);

pub fn run(flags: &SendFlags) -> Result<Exit> {
    let schedule = schedule(flags);
    let bed = Bed::real(&flags.interface, &flags.interface, flags.isolated)?;
    let side = bed.transmit_side();
    let plan = plan(flags, Mtu(side.mtu()))?;
    if flags.dry_run {
        print(&format!("{}, {}, {}\n", plan.layout(), plan.asked(), describe(flags, &schedule)))?;
        return Ok(Exit::Done);
    }
    if let Some(cpu) = flags.cpu {
        pin(cpu)?;
    }
    let stop = Stop::install()?;
    let flag = stop.flag();
    let config = TransmitConfig::for_plan(side.index(), &plan, Refusal::Repeat);
    let mut opened = transmit::method(&flags.transmit)?.open(&config)?;
    let job = SendJob {
        plan: &plan,
        schedule: &schedule,
        limits: Limits { duration: flags.duration, frames: flags.count, stop: &flag },
        trial: TrialId(flags.trial),
        stream: StreamId(0),
        start: Instant::now(),
    };
    let report = opened.sender.send(&job)?;
    if flags.json { print_json(&as_json(&report)) } else { print(&as_text(&report)) }?;
    if let Some(failure) = report.failure {
        // Print the account of the sent frames first.
        return Err(failure.into());
    }
    let tolerated = schedule.rate().map_or(0, |rate| (rate.get() * TOLERATED.as_secs_f64()).ceil() as u64);
    Ok(exit::of_sending(stop.signal(), report.unsent, tolerated))
}

fn schedule(flags: &SendFlags) -> Schedule {
    match (flags.rate, flags.burst, flags.poisson, flags.wait_loop) {
        (Some(rate), Some(frames), _, _) => Schedule::Bursts { frames, rate },
        (Some(rate), _, Some(seed), _) => Schedule::Poisson { rate, seed },
        (Some(rate), _, _, _) => Schedule::Constant(rate),
        (None, _, _, Some(iterations)) => Schedule::WaitLoop { iterations },
        _ => Schedule::Maximum,
    }
}

fn plan(flags: &SendFlags, mtu: Mtu) -> Result<FramePlan> {
    if flags.dain_2004 {
        return Ok(FramePlan::dain_2004(mtu)?);
    }
    Ok(FramePlan::new(flags.layout.layout()?, flags.size.clone(), mtu)?)
}

pub(super) fn pin(cpu: u32) -> Result<()> {
    let online = affinity::online_cpus()?;
    if !online.contains(&CpuId::new(cpu)) {
        let list: Vec<_> = online.iter().map(ToString::to_string).collect();
        return Err(Usage(format!(
            "CPU {cpu}: does not exist or is offline; this host has {}",
            list.join(",")
        ))
        .into());
    }
    Ok(affinity::pin_current_thread(CpuId::new(cpu))?)
}

fn describe(flags: &SendFlags, schedule: &Schedule) -> String {
    let limit = match (flags.count, flags.duration) {
        (Some(count), None) => format!("{count} frames"),
        (None, Some(duration)) => format!("{duration:?}"),
        (Some(count), Some(duration)) => format!("{count} frames or {duration:?}"),
        (None, None) => "without limit".into(),
    };
    match schedule.rate() {
        Some(rate) => format!("{} packets/s for {limit}", grouped(rate.get())),
        None => format!("unpaced for {limit}"),
    }
}

/// Frames per second from the first frame to the last: one interval fewer than frames.
fn rate(report: &SendReport) -> f64 {
    report.sent.saturating_sub(1) as f64 / report.elapsed.as_secs_f64().max(1e-9)
}

fn as_text(report: &SendReport) -> String {
    let mut text = format!(
        "{} packets sent in {:.6} s, {} packets/s; {} intended, {} unsent\n",
        report.sent,
        report.elapsed.as_secs_f64(),
        grouped(rate(report)),
        report.intended,
        report.unsent
    );
    if report.refused_lost + report.refused_repeated + report.in_flight > 0 {
        text.push_str(&format!(
            "{} refused and lost, {} refused and sent again, {} left in the transmit ring\n",
            report.refused_lost, report.refused_repeated, report.in_flight
        ));
    }
    if let Some(lateness) = report.lateness.summary() {
        text.push_str(&format!(
            "lateness against the plan: p50 {} ns, p99 {} ns, max {} ns\n",
            lateness.p50_ns, lateness.p99_ns, lateness.max_ns
        ));
    }
    text
}

fn as_json(report: &SendReport) -> serde_json::Value {
    json!({
        "schema_version": 1,
        "intended": report.intended,
        "sent": report.sent,
        "accepted": report.accepted,
        "refused_lost": report.refused_lost,
        "refused_repeated": report.refused_repeated,
        "unsent": report.unsent,
        "in_flight": report.in_flight,
        "octets": report.octets,
        "elapsed_s": report.elapsed.as_secs_f64(),
        "offered_pps": rate(report),
        "lateness": report.lateness.summary(),
        "failure": report.failure.as_ref().map(ToString::to_string),
    })
}
