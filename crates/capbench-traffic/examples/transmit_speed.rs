//! How fast each transmit method is on an interface, at its maximum and by a schedule.
//!
//! `cargo run --release -p capbench-traffic --example transmit_speed -- INTERFACE [SIZE [PPS [METHOD,...]]]`; needs
//! CAP_NET_RAW. Methods run in the order of the arguments, so that one named several times is compared in turn.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capbench_frames::{FrameLayout, FramePlan, Mtu, Pps, Schedule, Sizes, StreamId, TrialId};
use capbench_sys::host::clock::thread_cpu_ns;
use capbench_sys::host::interface::index_of;
use capbench_traffic::transmit::{METHODS, Refusal, method};
use capbench_traffic::{Limits, SendJob, TransmitConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let interface = index_of(&arguments.next().ok_or("which interface?")?)?;
    let sizes: Sizes = arguments.next().as_deref().unwrap_or("64").parse()?;
    let rate: Pps = arguments.next().as_deref().unwrap_or("100k").parse()?;
    let all: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let names = arguments.next().unwrap_or_else(|| all.join(","));
    let plan = FramePlan::new(FrameLayout::default(), sizes, Mtu(1500))?;
    let stop = AtomicBool::new(false);
    for name in names.split(',') {
        let method = method(name)?;
        let mut opened = method.open(&TransmitConfig::for_plan(interface, &plan, Refusal::Lose))?;
        println!("{}: {:?}", method, opened.facts);
        for schedule in [Schedule::Maximum, Schedule::Constant(rate)] {
            let limits = Limits { duration: Some(Duration::from_secs(2)), frames: None, stop: &stop };
            let (trial, stream, start) = (TrialId(1), StreamId(0), Instant::now());
            let job =
                SendJob { plan: &plan, schedule: &schedule, limits, trial, stream, progress: None, start };
            let before = thread_cpu_ns();
            let report = opened.sender.send(&job)?;
            let cpu = (thread_cpu_ns() - before) as f64 / report.sent.max(1) as f64;
            let pps = report.sent as f64 / report.elapsed.as_secs_f64();
            let lateness = report.lateness.summary();
            println!("  {schedule:?}: {pps:.0} frames/s, {cpu:.0} ns of CPU per frame; {lateness:?}");
            println!(
                "    intended {} sent {} accepted {} refused_lost {} refused_repeated {} unsent {} in_flight {}",
                report.intended,
                report.sent,
                report.accepted,
                report.refused_lost,
                report.refused_repeated,
                report.unsent,
                report.in_flight
            );
        }
    }
    Ok(())
}
