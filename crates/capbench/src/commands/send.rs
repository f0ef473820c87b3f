//! `capbench send`: generates traffic and accounts for every frame.

use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_frames::{FrameLayout, FramePlan, Mtu, Schedule, StreamId, TrialId};
use capbench_host::bed::Bed;
use capbench_model::figures::grouped;
use capbench_sys::host::{CpuId, affinity};
use capbench_traffic::transmit::Refusal;
use capbench_traffic::{Limits, SendJob, SendReport, TransmitConfig, transmit};
use serde_json::json;

use crate::cli::send::SendFlags;
use crate::exit::{Exit, Usage, print};
use crate::stop::Stop;

/// Unsent frames worth up to this much time come from rounding of the clock.
const TOLERATED: Duration = Duration::from_micros(10);

/// Runs the command.
pub fn run(flags: &SendFlags) -> Result<Exit> {
    let schedule = schedule(flags)?;
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
    print(&if flags.json {
        serde_json::to_string_pretty(&as_json(&report))? + "\n"
    } else {
        as_text(&report)
    })?;
    if let Some(failure) = report.failure {
        // Print the account of the sent frames first.
        return Err(failure.into());
    }
    if stop.is_wanted() {
        return Ok(Exit::Stopped(stop.signal()));
    }
    let tolerated = schedule.rate().map_or(0, |rate| (rate.get() * TOLERATED.as_secs_f64()).ceil() as u64);
    Ok(if report.unsent > tolerated { Exit::Inconclusive } else { Exit::Done })
}

fn schedule(flags: &SendFlags) -> Result<Schedule> {
    Ok(match (flags.rate, flags.burst, flags.poisson, flags.wait_loop) {
        (Some(rate), Some(frames), _, _) => Schedule::Bursts { frames, rate },
        (Some(rate), _, Some(seed), _) => Schedule::Poisson { rate, seed },
        (Some(rate), _, _, _) => Schedule::Constant(rate),
        (None, _, _, Some(iterations)) => Schedule::WaitLoop { iterations },
        _ => Schedule::Maximum,
    })
}

fn plan(flags: &SendFlags, mtu: Mtu) -> Result<FramePlan> {
    if flags.dain_2004 {
        return Ok(FramePlan::dain_2004(mtu)?);
    }
    let layout: FrameLayout = flags.layout.layout()?;
    Ok(FramePlan::new(layout, flags.size.clone(), mtu)?)
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
