//! A packet that is sent: when it is due, and its octets.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use capbench_frames::{FrameSource, Pps, Schedule, StreamId, Turn};
use capbench_traffic::transmit::stand_in;
use capbench_traffic::{Limits, SendJob};

use crate::counter::Counter;
use crate::inputs::{Input, PACKETS, TRIAL};

/// The schedule has begun this long ago, and every packet is due: the pacer waits for none. How many instructions waiting takes
/// depends on the host.
const BEGAN_AGO: Duration = Duration::from_secs(20);

/// Packets/s: so few that the time between two batches by the plan is much longer than the pacer takes for a batch. Then each packet
/// is less late than the one before, and whether it is the latest so far does not depend on the host.
const RATE: f64 = 1e3;

pub fn run(counter: &mut Counter, input: &Input) -> Result<()> {
    pace(counter, "pace, constant rate", &Schedule::Constant(Pps::new(RATE)?), input)?;
    pace(counter, "pace, maximum rate", &Schedule::Maximum, input)
}

fn pace(counter: &mut Counter, path: &str, schedule: &Schedule, input: &Input) -> Result<()> {
    let stop = AtomicBool::new(false);
    let job = SendJob {
        frames: FrameSource::Generated(&input.plan),
        schedule,
        turn: Turn::EVERY,
        limits: Limits { duration: None, frames: Some(PACKETS as u64), stop: &stop },
        trial: TRIAL,
        stream: StreamId(0),
        progress: None,
        start: Instant::now().checked_sub(BEGAN_AGO).context("this host started less than 20 s ago")?,
    };
    let mut sender = stand_in::accepting();
    let mut report = None;
    counter.count(path, input.sizes, || report = Some(sender.send(&job)))?;
    let sent = report.context("the sender ran")??.frames.sent;
    ensure!(sent == PACKETS as u64, "the pacer sent {sent} packets of {PACKETS}");
    Ok(())
}
