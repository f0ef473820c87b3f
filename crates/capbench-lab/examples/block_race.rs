//! Provokes the race in which a V3 ring loses frames though it was never found full: blocks are closed by their timer as
//! often as possible, and rings have so few blocks that the kernel looks at no other than the one being closed.
//!
//! As root: `cargo run --release -p capbench-lab --example block_race [TRIALS]`. Frames lost in trials whose ring was
//! never found full (`tp_freeze_q_cnt` 0) were lost to the race; those of the others to a reader that was late, or to both.

use std::time::Duration;

use capbench_frames::Pps;
use capbench_frames::TransmitSpec;
use capbench_lab::for_tests::{live, virtual_link};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Load;
use capbench_model::units::ByteCount;

/// Octets of a block, which the frames of a millisecond leave nearly empty.
const BLOCK: u64 = 1 << 18;
/// How long a trial sends.
const DURATION: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trials = std::env::args().nth(1).map_or(Ok(40), |text| text.parse::<u32>())?;
    let mut laboratory = live(virtual_link());
    let load = Load::Rate(Pps::new(100_000.0)?);
    println!("placement  blocks  trials  never full: lossy  frames lost  found full: lossy  frames lost");
    for placement in [PlacementChoice::Other, PlacementChoice::Same] {
        for blocks in [2, 3, 4, 8, 64] {
            let capture = CaptureOptions {
                ring: ByteCount(blocks * BLOCK),
                block: ByteCount(BLOCK),
                retire_timeout: Duration::from_millis(1),
                spin: Duration::from_millis(1),
                ..CaptureOptions::default()
            };
            let setup = Setup {
                method: "packet-v3".parse()?,
                placement,
                transmit: TransmitSpec::plain("packet-tx"),
                quiet: Duration::from_millis(60),
                capture,
                ..setup(64)
            };
            let (mut raced, mut full) = (Vec::new(), Vec::new());
            for _ in 0..trials {
                let trial = laboratory.prepare(&setup)?.run(load, DURATION)?;
                let (drops, freezes) =
                    (trial.counters["method.tp_drops"], trial.counters["method.tp_freeze_q_cnt"]);
                match (drops, freezes) {
                    (0, _) => {}
                    (drops, 0) => raced.push(drops),
                    (drops, _) => full.push(drops),
                }
                if trial.unexplained != 0 {
                    println!("{} frames unexplained", trial.unexplained);
                }
            }
            let lost = |trials: &[u64]| (trials.len(), trials.iter().sum::<u64>());
            let ((raced, raced_frames), (full, full_frames)) = (lost(&raced), lost(&full));
            println!(
                "{placement:>9}  {blocks:>6}  {trials:>6}  {raced:>17}  {raced_frames:>11}  {full:>17}  {full_frames:>11}"
            );
        }
    }
    Ok(())
}
