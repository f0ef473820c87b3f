//! The threads that send, and a line per second about them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_frames::{StreamId, Turn};
use capbench_sys::host::{CpuId, LinkLayer, affinity};
use capbench_traffic::transmit::Refusal;
use capbench_traffic::{Limits, SendJob, SendReport, TransmitConfig};

use super::plan::SendPlan;
use crate::output::print;
use crate::signals::Stop;
use crate::status::{BitRates, fcs_octets};

/// Time for several threads to reach their loops before the first frame.
const HEAD_START: Duration = Duration::from_millis(2);

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);

/// What a thread sent.
pub struct Thread {
    pub stream: StreamId,
    pub cpu: Option<CpuId>,
    pub report: SendReport,
}

/// Sends, and prints a line per second where the result is no document.
pub fn send(plan: &SendPlan, stop: &Stop) -> Result<Vec<Thread>> {
    let frames = plan.frames.source();
    let config = TransmitConfig {
        layer: plan.layer,
        ..TransmitConfig::for_frames(plan.side.index(), frames, Refusal::Repeat)
    };
    let threads = plan.transmit.threads;
    let open = plan.transmit.open(&config)?;
    let opened = (0..threads.get()).map(&*open).collect::<capbench_traffic::Result<Vec<_>>>()?;
    let progress: Vec<AtomicU64> = opened.iter().map(|_| AtomicU64::default()).collect();
    let (ended, end) = mpsc::channel::<()>();
    let start = Instant::now() + if opened.len() > 1 { HEAD_START } else { Duration::ZERO };
    let stop = &stop.flag();
    let turns = Turn::of_each(threads.into());
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for ((mut opened, turn), stream) in opened.into_iter().zip(turns).zip(0..=u8::MAX) {
            let number = usize::from(stream);
            let job = SendJob {
                frames,
                schedule: &plan.schedule,
                turn,
                limits: Limits { duration: plan.duration, frames: plan.count, stop },
                trial: plan.trial,
                stream: StreamId(stream),
                progress: Some(&progress[number]),
                start,
            };
            let cpu = plan.cpus[number];
            // Its drop says that the thread has ended.
            let ended = ended.clone();
            running.push(scope.spawn(move || -> Result<Thread> {
                let _ended = ended;
                cpu.map_or(Ok(()), affinity::pin_current_thread)?;
                Ok(Thread { stream: job.stream, cpu, report: opened.sender.send(&job)? })
            }));
        }
        drop(ended);
        if !plan.json {
            print_progress(&progress, plan.layer, frames.mean_octets(), end);
        }
        running.into_iter().map(joined).collect()
    })
}

fn joined(thread: ScopedJoinHandle<'_, Result<Thread>>) -> Result<Thread> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Prints a line per second until no other end of `end` is left. `mean_octets` is that of a frame, with its FCS.
fn print_progress(progress: &[AtomicU64], layer: LinkLayer, mean_octets: f64, end: Receiver<()>) {
    let (start, mut before) = (Instant::now(), (0, 0.0));
    let mut next = SECOND;
    while end.recv_timeout(next.saturating_sub(start.elapsed())) == Err(RecvTimeoutError::Timeout) {
        let sent = progress.iter().map(|sent| sent.load(Ordering::Relaxed)).sum();
        let seconds = start.elapsed().as_secs_f64();
        let per_s = (sent - before.0) as f64 / (seconds - before.1);
        let rates = BitRates::of(layer, per_s, per_s * (mean_octets - f64::from(fcs_octets(layer))));
        let line = format!("{seconds:8.3} s  {sent:>12} packets  {per_s:>12.0} packets/s  {rates}\n");
        // The result shows that nobody reads any more.
        if print(&line).is_err() {
            return;
        }
        (before, next) = ((sent, seconds), next + SECOND);
    }
}
