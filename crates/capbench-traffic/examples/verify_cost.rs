//! The cost of writing and verifying a frame, in nanoseconds, for the frame sizes of RFC 2544.
//!
//! `cargo run --release -p capbench-traffic --example verify_cost`

use std::hint::black_box;
use std::time::Instant;

use capbench_frames::{
    Classifier, FrameClass, FrameLayout, FramePlan, FrameSize, Mtu, Sizes, Stamp, StreamId, TagMetadata,
    TrialId,
};
use capbench_traffic::Result;

const FRAMES: u64 = 2_000_000;
const TRIAL: TrialId = TrialId(1);

fn main() -> Result<()> {
    println!("octets  write ns  verify ns");
    for octets in [64, 512, 1518] {
        let plan = FramePlan::new(FrameLayout::default(), Sizes::Fixed(FrameSize::new(octets)?), Mtu(1500))?;
        let recogniser = Classifier::new(TRIAL, plan.layout(), None)?;
        let mut slot = vec![0; 2048];
        let mut frames = plan.frames();
        let mut length = 0;
        let begun = Instant::now();
        for sequence in 0..FRAMES {
            let (size, flow) = frames.next_frame();
            let stamp = Stamp { trial: TRIAL, stream: StreamId(0), sequence, planned_ns: sequence * 1000 };
            length = plan.writer().write(black_box(&mut slot), size, flow, stamp);
        }
        let write = begun.elapsed();
        let mut ours = 0;
        let begun = Instant::now();
        for _ in 0..FRAMES {
            let seen = recogniser.look(black_box(&slot[..length]), length as u32, TagMetadata::Absent);
            ours += u64::from(matches!(seen, FrameClass::Own(_)));
        }
        let verify = begun.elapsed();
        assert_eq!(ours, FRAMES);
        let per_frame = |time: std::time::Duration| time.as_nanos() as f64 / FRAMES as f64;
        println!("{octets:>6}  {:>8.1}  {:>9.1}", per_frame(write), per_frame(verify));
    }
    Ok(())
}
