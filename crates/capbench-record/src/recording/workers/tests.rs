//! Batches through workers, of rings for which the test plays the kernel, into a file that is read again.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capbench_capture::capture::OwnedBatch;
use capbench_capture::filter::{Filter, FrameMetadata, SoftwareFilter, Tags};
use capbench_capture::interface::Interface;
use capbench_model::counters::LossMark;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{BlockGeometry, BlockRing, FilterInstruction, Frame};
use capbench_testing::Scratch;
use proptest::prelude::*;

use super::super::board::{InterfaceBoard, Requests};
use super::super::file_recorder::FileRecorder;
use super::super::losses::Boundary;
use super::super::merging::{self, Port};
use super::super::plan::{self, Source};
use super::*;
use crate::file::fuzzing::{Kept, KeptPacket, Whole};
use crate::file::{FileFormat, HashAlgorithm, InterfaceDescription, SectionDescription};
use crate::merge::PortPlan;
use crate::worker_pool::{WhenFull, WorkerCounts};
use crate::writing::WriteOptions;

/// CLOCK_REALTIME at the beginning of a test, ns.
const START: u64 = 1_700_000_000_000_000_000;
const US: u64 = 1000;

/// A recording of captures that the test plays, one interface each.
struct Rig {
    plan: plan::Plan,
    boards: Vec<Arc<CaptureBoard>>,
    filter: Option<SoftwareFilter>,
    rings: Vec<(BlockKernel, BlockRing)>,
    batches: Vec<u64>,
}

/// A file, and what was counted.
#[derive(Debug, PartialEq)]
struct Outcome {
    packets: Vec<KeptPacket>,
    /// What the last statistics of each interface say was lost.
    lost: Vec<String>,
    /// By interface: lost frames reported in the file, those behind its last packet, and frames that the filter left out.
    reported: Vec<[u64; 3]>,
    late: u64,
}

/// Packets with an odd octet at 20 are wanted.
fn odd() -> SoftwareFilter {
    let step = |code, jt, jf, k| FilterInstruction { code, jt, jf, k };
    let program =
        [step(0x30, 0, 0, 20), step(0x45, 0, 1, 1), step(0x06, 0, 0, u32::MAX), step(0x06, 0, 0, 0)];
    let filter = Filter::new(program.to_vec()).unwrap();
    SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &FrameMetadata::tags(Tags::InFrames)).unwrap()
}

impl Rig {
    fn new(ports: usize, filter: Option<SoftwareFilter>) -> Self {
        let source = || Source {
            interface: Interface::of_name("lo", 1500).unwrap(),
            method: MethodSpec::plain("packet-v3"),
            options: CaptureOptions::default(),
            members: 1,
            description: InterfaceDescription::default(),
        };
        let plan = plan::Plan {
            sources: (0..ports).map(|_| source()).collect(),
            format: FileFormat::Pcapng,
            section: SectionDescription::default(),
            snap_length: SnapLength::EVERYTHING,
            hash: HashAlgorithm::default(),
            write: WriteOptions::new(PathBuf::new()),
            packets: None,
            packet_buffered: false,
            workers: None,
            cpus: Vec::new(),
        };
        let ring = |_| BlockKernel::with_ring(BlockGeometry::new(8192, 128, 10).unwrap()).unwrap();
        Self {
            plan,
            boards: (0..ports).map(|_| Arc::default()).collect(),
            filter,
            rings: (0..ports).map(ring).collect(),
            batches: vec![0; ports],
        }
    }

    /// A block of a port with frames of these times, after `lost` lost ones.
    fn batch(&mut self, port: usize, lost: u64, frames: &[(u64, Vec<u8>)]) -> (OwnedBatch, LossReport) {
        let (kernel, ring) = &mut self.rings[port];
        let timed = frames.iter().map(|(time_ns, octets)| (*time_ns, &octets[..]));
        assert_eq!(kernel.fill_timed(timed), Some(frames.len()));
        let batch = OwnedBatch::Block(ring.take().unwrap());
        assert_eq!(batch.loss_mark(), LossMark::Batch(false));
        let mark = batch.loss_mark();
        let losses =
            LossReport { lost, reading: Boundary::at(frames[0].0), number: self.batches[port], mark };
        self.batches[port] += 1;
        (batch, losses)
    }

    fn port_plan(&self) -> PortPlan {
        // Nothing goes out for having waited long enough.
        PortPlan { hold: Duration::from_secs(3600), batches: 10_000, ..PortPlan::new(Duration::ZERO, 8) }
    }

    fn setup(&self, plan: Plan, recorder: &FileRecorder) -> Setup {
        let lane = |interface| (interface, self.filter.clone());
        Setup {
            plan,
            encoder: recorder.encoder().clone(),
            lanes: (0..self.boards.len() as u32).map(lane).collect(),
            merge_holds: 10_000 * self.boards.len(),
            cpus: Vec::new(),
        }
    }

    /// Gives a batch to a worker.
    fn give(&self, workers: &Workers, port: usize, (batch, losses): (OwnedBatch, LossReport)) {
        let frames = batch.frame_count() as u64;
        workers.give(port, frames, Unencoded::new(batch, losses, &self.boards[port])).unwrap();
    }

    /// Records what `give` gives into a file, and reads it.
    fn record(&self, give: impl FnOnce(&FileRecorder, SyncSender<MergeEvent>) -> Option<Workers>) -> Outcome {
        let folder = Scratch::new();
        let mut plan = self.plan.clone();
        plan.write = WriteOptions { pool: ByteCount(4 << 20), ..WriteOptions::new(folder.file("file")) };
        plan.workers = Some(plan::Workers { count: 1, queue: None, when_full: WhenFull::Drop });
        let lanes: Vec<_> = self
            .boards
            .iter()
            .map(|board| (Arc::new(InterfaceBoard::default()), vec![Arc::clone(board)]))
            .collect();
        let descriptions = vec![InterfaceDescription::default(); self.boards.len()];
        let recorder = FileRecorder::open(&plan, &descriptions, &lanes).unwrap();
        let (merge, events) = sync_channel(4096);
        let workers = give(&recorder, merge.clone());
        for port in 0..self.boards.len() {
            merge.send(MergeEvent::Ended(port, 0)).unwrap();
        }
        let port = |(interface, board): (usize, &Arc<CaptureBoard>)| {
            Port::new(interface as u32, self.port_plan(), self.filter.clone(), Arc::clone(board))
        };
        let ports = self.boards.iter().enumerate().map(port).collect();
        let boards: Vec<_> = lanes.iter().map(|(lane, _)| Arc::clone(lane)).collect();
        let (recorder, tally) = merging::merge(ports, &events, recorder, &boards, &Requests::default());
        recorder.finish();
        drop(workers);
        let load = |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
        let (packets, lost) = read(&plan.write.path, boards.len());
        Outcome {
            packets,
            lost,
            reported: boards
                .iter()
                .map(|lane| [&lane.reported, &lane.pending_drops, &lane.filtered].map(load))
                .collect(),
            late: tally.ports.iter().map(|port| port.late).sum(),
        }
    }
}

/// The packets of a file, and by interface the last comment of its statistics.
fn read(path: &Path, interfaces: usize) -> (Vec<KeptPacket>, Vec<String>) {
    let (mut packets, mut lost) = (Vec::new(), vec![String::new(); interfaces]);
    for record in Whole::of(&std::fs::read(path).unwrap()) {
        match record {
            Kept::Packet(packet) => packets.push(packet),
            Kept::Statistics(block) => lost[block.interface as usize] = block.comments.concat(),
            _ => {}
        }
    }
    (packets, lost)
}

/// The octets of a frame: its number among those of its port, and more.
fn octets(number: u64, length: usize) -> Vec<u8> {
    let mut octets = vec![number as u8; length];
    octets[..8].copy_from_slice(&number.to_be_bytes());
    octets
}

fn number_of(kept: &KeptPacket) -> u64 {
    u64::from_be_bytes(kept.data[..8].try_into().unwrap())
}

/// The action of a worker with this number before each batch: it reports its start, and waits for a permission as long as
/// a sender exists.
fn gated(gates: Vec<Receiver<()>>, started: Sender<usize>) -> impl Fn(usize, &Job<Unencoded>) + Send + Sync {
    let gates: Vec<_> = gates.into_iter().map(Mutex::new).collect();
    move |worker, _| {
        let _ = started.send(worker);
        let _ = gates[worker.min(gates.len() - 1)].lock().unwrap().recv();
    }
}

/// Batches that each worker has processed.
fn worked(workers: &Workers) -> Vec<u64> {
    workers.counts_of(&[0, 1, 2]).iter().map(|counts| counts.worked.batches).collect()
}

/// Blocks of two frames each.
fn pair(rig: &mut Rig, port: usize, number: u64) -> (OwnedBatch, LossReport) {
    let frame = |at| (START + at * US, octets(at, 60));
    rig.batch(port, 0, &[frame(2 * number), frame(2 * number + 1)])
}

#[test]
fn batches_of_a_panicked_worker_are_lost_and_the_others_go_on() {
    let mut rig = Rig::new(1, None);
    let captured: Vec<_> = (0..40).map(|number| pair(&mut rig, 0, number)).collect();
    let outcome = rig.record(|recorder, merge| {
        let setup = rig.setup(Plan { workers: 2, queue: 1, when_full: WhenFull::Wait }, recorder);
        let is_nine = |frame: Frame<'_>| frame.data[..8] == 9_u64.to_be_bytes();
        let delicate = move |_, job: &Job<Unencoded>| {
            assert!(!job.batch.batch.frames().any(is_nine), "frame 9 is not to my taste");
        };
        let workers = setup.start_as(merge, delicate).unwrap();
        for batch in captured {
            rig.give(&workers, 0, batch);
            // One at a time: it has nothing else in its queue.
            workers.wait_through(0);
        }
        let failures = workers.take_failures();
        assert!(failures.len() == 1 && failures[0].to_string().contains("frame 9"), "{failures:?}");
        Some(workers)
    });
    let reported: Vec<_> = outcome.packets.iter().map(|kept| (number_of(kept), kept.dropped)).collect();
    let expected: Vec<_> = (0..8).chain(10..80).map(|number| (number, (number == 10).then_some(2))).collect();
    assert_eq!(reported, expected);
}

/// A batch of the property tests: the port, the frames lost before it, and the frames. Each frame has the time since the one
/// before, the disorder to subtract, and its octets.
type Made = (usize, u64, Vec<(u64, u64, usize)>);

fn made(ports: usize) -> impl Strategy<Value = Vec<Made>> {
    let frame = (0u64..3000, 0u64..4000, 21usize..150);
    let lost = prop_oneof![3 => Just(0), 1 => 1u64..100];
    let batch = (0..ports, lost, prop::collection::vec(frame, 1..25));
    prop::collection::vec(batch, 1..80)
}

/// The batches, in the order of their delivery.
fn batches(rig: &mut Rig, made: &[Made]) -> Vec<(usize, (OwnedBatch, LossReport))> {
    let (mut now, mut number) = (START, vec![0; rig.boards.len()]);
    let mut batch = |(port, lost, frames): &Made| {
        let frame = |&(later, back, length): &(u64, u64, usize)| {
            now += later * US;
            number[*port] += 1;
            (now - back * US, octets(number[*port] - 1, length))
        };
        let frames: Vec<_> = frames.iter().map(frame).collect();
        (*port, rig.batch(*port, *lost, &frames))
    };
    made.iter().map(&mut batch).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// For any input and any number of workers: the file is the one that there is without them.
    #[test]
    fn a_file_is_the_same_with_workers_and_without(
        made in made(3),
        workers in 1usize..4,
        queue in 1usize..4,
        filters in any::<bool>(),
    ) {
        let mut rig = Rig::new(3, filters.then(odd));
        let captured = batches(&mut rig, &made);
        let without = rig.record(|_, merge| {
            for (port, (batch, losses)) in captured {
                let batch = BatchWithLosses { frames: Frames::Captured(batch), losses };
                merge.send(MergeEvent::Batch(port, batch)).unwrap();
            }
            None
        });
        prop_assert_eq!(without.late, 0);
        let mut rig = Rig::new(3, filters.then(odd));
        let captured = batches(&mut rig, &made);
        let with = rig.record(|recorder, merge| {
            let setup = rig.setup(Plan { workers, queue, when_full: WhenFull::Wait }, recorder);
            let workers = setup.start(merge).unwrap();
            for (port, batch) in captured {
                rig.give(&workers, port, batch);
            }
            (0..3).for_each(|port| workers.wait_through(port));
            Some(workers)
        });
        prop_assert_eq!(with, without);
    }

    /// Workers that wait for a permission, and queues that overflow meanwhile. The file and the account report the missing
    /// frames at the right packet.
    #[test]
    fn losses_at_queues_are_reported_at_the_right_packet(
        made in made(2),
        workers in 1usize..4,
        queue in 1usize..3,
        lets in prop::collection::vec(0u64..3, 80),
    ) {
        let made: Vec<_> = made.into_iter().map(|(port, _, frames)| {
            // In order, so that a number that is missing is one that was lost.
            (port, 0, frames.into_iter().map(|(later, _, length)| (later + 1, 0, length)).collect())
        }).collect();
        let mut rig = Rig::new(2, None);
        let frames_of = |port| -> u64 {
            made.iter().filter(|(of, _, _): &&Made| *of == port).map(|(_, _, frames)| frames.len() as u64).sum()
        };
        let captured = batches(&mut rig, &made);
        let mut lost = Vec::new();
        let outcome = rig.record(|recorder, merge| {
            let (open, gate) = mpsc::channel::<()>();
            let setup = rig.setup(Plan { workers, queue, when_full: WhenFull::Drop }, recorder);
            let workers = setup.start_as(merge, gated(vec![gate], mpsc::channel().0)).unwrap();
            let mut allowed = 0;
            for ((port, batch), lets) in captured.into_iter().zip(lets) {
                rig.give(&workers, port, batch);
                let queued = |counts: &WorkerCounts| counts.assigned.batches - counts.lost().batches;
                let queued: u64 = workers.counts_of(&[0, 1]).iter().map(queued).sum();
                for _ in 0..lets.min(queued - allowed) {
                    open.send(()).unwrap();
                    allowed += 1;
                }
                while worked(&workers).iter().sum::<u64>() < allowed {
                    std::thread::yield_now();
                }
            }
            drop(open);
            (0..2).for_each(|port| workers.wait_through(port));
            for port in 0..2 {
                let counts = workers.losses_of(&[port]);
                lost.push(counts.iter().filter_map(|loss| loss.count).sum::<u64>());
            }
            Some(workers)
        });
        for (port, lost) in lost.into_iter().enumerate() {
            let mut next = 0;
            for kept in outcome.packets.iter().filter(|kept| kept.interface == port as u32) {
                prop_assert_eq!(next + kept.dropped.unwrap_or(0), number_of(kept));
                next = number_of(kept) + 1;
            }
            let [reported, behind, _] = outcome.reported[port];
            prop_assert_eq!((reported + behind, behind), (lost, frames_of(port) - next));
            prop_assert_eq!(rig.boards[port].gaps.frames(), lost);
            let comment = format!("application_queue (ours) {}, writer (ours) 0", lost);
            prop_assert!(outcome.lost[port].contains(&comment), "{}", outcome.lost[port]);
        }
    }
}
