//! Provokes the race in which a V3 ring loses a frame though it is nearly empty: blocks are closed by their timer as often
//! as possible, on another CPU than the one that receives, and counted is what a ring of so many blocks then loses.
//!
//! As root: `cargo run --release -p capbench-measure --example block_race [SECONDS]`. What a ring loses that was never
//! found full (`tp_freeze_q_cnt` 0) was lost to the race.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use capbench_capture::{ByteCount, CaptureOptions};
use capbench_measure::accounts::irqtime::IrqAccounting;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::live::{LiveLaboratory, Path, ReceiveBy};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::simulated;
use capbench_measure::trial::Load;
use capbench_traffic::{Mtu, Pps};

/// Octets of a block: a millisecond's frames leave it nearly empty.
const BLOCK: u64 = 1 << 18;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let irq =
        IrqAccounting { excluded_from_threads: Some(false), measured_at_context_changes: None, hz: None };
    let path = Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps };
    let mut laboratory = LiveLaboratory::new(path, irq, Arc::new(AtomicBool::new(false)));
    println!("blocks  retire  placement  rate     sent     tp_drops  freezes  unexplained");
    for retire_ms in [1, 10] {
        for placement in [PlacementChoice::Other, PlacementChoice::Same] {
            for rate in [50_000.0, 200_000.0] {
                for blocks in [2, 3, 4, 8, 64] {
                    let capture = CaptureOptions {
                        ring: ByteCount(blocks * BLOCK),
                        block: ByteCount(BLOCK),
                        retire_timeout: Duration::from_millis(retire_ms),
                        ..CaptureOptions::default()
                    };
                    let setup = Setup {
                        method: "packet-v3".parse()?,
                        placement,
                        transmit: "packet-tx".into(),
                        quiet: Duration::from_millis(300),
                        capture,
                        ..simulated::setup(64)
                    };
                    let load = Load::Rate(Pps::new(rate)?);
                    let trial = laboratory.prepare(&setup)?.run(load, Duration::from_secs(seconds))?;
                    println!(
                        "{blocks:>6}  {retire_ms:>3} ms  {placement:>9}  {rate:>7}  {:>7}  {:>8}  {:>7}  {}",
                        trial.sent,
                        trial.counters["method.tp_drops"],
                        trial.counters["method.tp_freeze_q_cnt"],
                        trial.unexplained
                    );
                }
            }
        }
    }
    Ok(())
}
