//! Loss marks of rings whose kernel is the test, against the sequence numbers of their frames.

use capbench_capture::{Batch, Frame, PacketType};
use capbench_frames::{Classifier, FrameLayout, FramePlan, Mtu, Stamp, StreamId, TrialId};
use capbench_model::counters::{Counters, Loss, LossMark};
use capbench_model::loss_pattern::{Clock, End, LossPattern};
use capbench_model::places::Place;
use capbench_sys::packet::stand_in::{BlockKernel, FrameKernel};
use capbench_sys::packet::{BlockGeometry, FrameBatch, FrameGeometry, FrameVersion};
use proptest::prelude::*;

use super::{Streams, Verifier};

/// A trial on heap memory: frames written by the plan, verified as in a trial.
struct Bench {
    plan: FramePlan,
    verifier: Verifier,
    sent: u64,
    drops: u64,
}

impl Bench {
    fn new() -> Self {
        let plan = FramePlan::new(FrameLayout::default(), "64".parse().unwrap(), Mtu(1500)).unwrap();
        let recogniser = Classifier::new(TrialId(1), plan.layout(), None).unwrap();
        let verifier = Verifier::recording(recogniser, Streams::one(plan.flow_order()), true);
        Self { plan, verifier, sent: 0, drops: 0 }
    }

    /// The next frames of the trial.
    fn make(&mut self, count: u64) -> Vec<Vec<u8>> {
        let (size, flow) = self.plan.frame(0);
        let numbers = self.sent..self.sent + count;
        self.sent += count;
        numbers
            .map(|sequence| {
                let stamp = Stamp {
                    trial: TrialId(1),
                    stream: StreamId(0),
                    sequence,
                    planned_ns: sequence * 100_000,
                };
                let mut slot = vec![0; 128];
                let octets = self.plan.writer().write(&mut slot, size, flow, stamp);
                slot.truncate(octets);
                slot
            })
            .collect()
    }

    fn take(&mut self, batch: &impl Batch) {
        self.verifier.begin(batch.loss_mark(), batch.queue());
        batch.frames().for_each(|frame| self.verifier.note(&frame));
    }

    /// Reads the ring's counter if the marks ask for it.
    fn read(&mut self, mut take_drops: impl FnMut() -> u64) {
        if self.verifier.wants_counters() {
            self.drops += take_drops();
            self.verifier.note_counters(&counters(self.drops));
        }
    }

    fn shape(self, drops: u64) -> LossPattern {
        let end = End {
            sent: self.sent,
            at_ns: self.sent * 100_000,
            clock: Clock::PlannedSendTime,
            damaged: 0,
            ring_drops: Some(self.drops + drops),
        };
        self.verifier.into_record().unwrap().patterns(|_| end).remove(0)
    }
}

fn counters(drops: u64) -> Counters {
    let loss = Loss { place: Place::Ring, count: Some(drops), source: "the stand-in".into() };
    Counters { losses: vec![loss], ..Default::default() }
}

proptest! {
    /// Blocks full of frames, lost before the ring now and then, to a reader that stops now and then: every burst that
    /// the ring lost ends at a marked block, whenever the counters are read, and the sums are the ring's own.
    #[test]
    fn what_a_block_ring_lost_ends_at_marks(steps in prop::collection::vec((0..4u8, 1..400u64), 1..80), is_clean: bool) {
        let (mut kernel, mut ring) =
            BlockKernel::with_ring(BlockGeometry::new(1 << 16, 3, 10).unwrap()).unwrap();
        let mut bench = Bench::new();
        kernel.fill(&[&bench.make(1)[0]]);
        let mut lost_before = 0;
        for (step, count) in steps {
            match step {
                0 | 1 => {
                    let frames = bench.make(count);
                    let slices: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
                    kernel.fill(&slices);
                }
                2 => {
                    if let Some(block) = ring.take() {
                        bench.take(&block);
                    }
                    bench.read(|| kernel.take_drops());
                }
                _ if count < 40 && !is_clean => {
                    // Lost before it got to the ring.
                    bench.make(count);
                    lost_before += count;
                }
                _ => {}
            }
        }
        while let Some(block) = ring.take() {
            bench.take(&block);
        }
        let shape = bench.shape(kernel.take_drops());
        let marks = shape.marks.unwrap();
        // Frames lost elsewhere stand next to those that the ring lost, or in front of a block whose mark is an old one.
        prop_assert!(marks.frames_beyond_drops.unwrap() <= lost_before, "{:?}", marks);
        prop_assert_eq!(shape.lost, marks.frames + marks.frames_elsewhere + shape.after_last);
        prop_assert_eq!(shape.lost, marks.ring_drops.unwrap() + lost_before);
        if lost_before == 0 {
            prop_assert_eq!(marks.drops_without_mark, Some(0), "{:?}", shape);
            prop_assert_eq!((marks.bursts_elsewhere, marks.frames_beyond_drops), (0, Some(0)), "{:?}", shape);
        }
    }

    /// The same for rings of slots, whose frames are marked one by one.
    #[test]
    fn what_a_frame_ring_lost_ends_at_marks(steps in prop::collection::vec((any::<bool>(), 1..40u64), 1..80), first: bool) {
        let version = if first { FrameVersion::V1 } else { FrameVersion::V2 };
        let (mut kernel, mut ring) =
            FrameKernel::with_ring(FrameGeometry::new(256, 32, 4096).unwrap(), version).unwrap();
        let mut bench = Bench::new();
        for (sends, count) in steps {
            if sends {
                for frame in bench.make(count) {
                    kernel.deliver(&frame, frame.len() as u32, None);
                }
            } else {
                if let Some(batch) = ring.take(count as u32) {
                    bench.take(&Slots(batch));
                }
                bench.read(|| kernel.take_drops());
            }
        }
        while let Some(batch) = ring.take(64) {
            bench.take(&Slots(batch));
        }
        let shape = bench.shape(kernel.take_drops());
        if let Some(marks) = shape.marks {
            prop_assert_eq!(marks.drops_without_mark, Some(0), "{:?}", shape);
            prop_assert_eq!((marks.bursts_elsewhere, marks.frames_beyond_drops), (0, Some(0)), "{:?}", shape);
            prop_assert_eq!(marks.blocks, None);
        }
        prop_assert_eq!(shape.lost, shape.marks.map_or(shape.after_last, |marks| marks.frames + shape.after_last));
    }
}

/// Slots as the methods hand them over.
struct Slots<'r>(FrameBatch<'r>);

impl Batch for Slots<'_> {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.0.frames()
    }

    fn loss_mark(&self) -> LossMark {
        LossMark::Frames
    }
}

/// One frame of a batch that says something.
struct One {
    data: Vec<u8>,
    mark: LossMark,
    queue: Option<u32>,
}

impl Batch for One {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        std::iter::once(Frame {
            data: &self.data,
            wire_length: self.data.len() as u32,
            time_ns: 0,
            vlan: None,
            packet_type: PacketType::OtherHost,
            hash: None,
            status: 0,
        })
    }

    fn loss_mark(&self) -> LossMark {
        self.mark
    }

    fn queue(&self) -> Option<u32> {
        self.queue
    }
}

#[test]
fn a_mark_that_a_reading_took_off_is_inferred_once() {
    let mut bench = Bench::new();
    let one = |bench: &mut Bench, mark| {
        let data = bench.make(1).remove(0);
        bench.take(&One { data, mark: LossMark::Batch(mark), queue: None });
    };
    one(&mut bench, false);
    bench.make(5);
    one(&mut bench, true);
    // The ring has lost three more by now, behind what has been taken; the reading takes the mark off them.
    bench.verifier.note_counters(&counters(8));
    bench.make(3);
    one(&mut bench, false);
    bench.make(3);
    one(&mut bench, false);
    let marks = Bench { drops: 8, ..bench }.shape(0).marks.unwrap();
    assert_eq!((marks.bursts, marks.frames, marks.cleared), (2, 8, 1));
    assert_eq!((marks.bursts_elsewhere, marks.frames_elsewhere), (1, 3));
    assert_eq!((marks.blocks, marks.marked_blocks, marks.readings), (Some(4), Some(1), 1));
    assert_eq!((marks.drops_without_mark, marks.frames_beyond_drops), (Some(0), Some(0)));
}

#[test]
fn a_counter_that_no_mark_bears_out_is_a_contradiction() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        let data = bench.make(1).remove(0);
        bench.take(&One { data, mark: LossMark::Batch(false), queue: Some(2) });
        bench.make(2);
    }
    let shape = bench.shape(6);
    let marks = shape.marks.unwrap();
    assert_eq!((marks.drops_without_mark, marks.bursts_elsewhere), (Some(4), 2), "two may be the last ones");
    let queues = shape.queues.unwrap();
    assert_eq!((queues.queues[0].queue, queues.queues[0].delivered, queues.queues[0].lost), (2, 3, 6));
}
