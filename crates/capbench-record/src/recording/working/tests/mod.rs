//! Batches through workers, of rings for which the test plays the kernel, into a file that is read again.

mod losses;
mod random;

use std::path::PathBuf;
use std::sync::mpsc::{self, sync_channel};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capbench_capture::capture::OwnedBatch;
use capbench_capture::filter::{Beside, Filter, SoftwareFilter, Tags};
use capbench_capture::interface::Interface;
use capbench_model::counters::LossMark;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{BlockGeometry, BlockRing, FilterInstruction};
use capbench_testing::Scratch;

use super::super::board::{InterfaceBoard, Requests};
use super::super::file_recorder::FileRecorder;
use super::super::giving::LossReport;
use super::super::merging::{self, Encode, Port};
use super::super::plan::{self, Source};
use super::*;
use crate::file::{
    CaptureReader, FileFormat, HashAlgorithm, InterfaceDescription, Record, SectionDescription,
};
use crate::hand_off::{Distribution, WhenFull};
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
    given: Vec<u64>,
}

/// What stands in a file of a packet.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    interface: u32,
    time_ns: Option<u64>,
    octets: Vec<u8>,
    dropped: Option<u64>,
    rest: (u32, Option<u32>, Option<u32>, Option<Vec<u8>>),
}

/// A file, and what was counted.
#[derive(Debug, PartialEq)]
struct Outcome {
    packets: Vec<Kept>,
    /// What the last statistics of each interface say was lost.
    lost: Vec<String>,
    /// By interface: lost frames told in the file, those behind its last packet, and frames that the filter left out.
    told: Vec<[u64; 3]>,
    late: u64,
}

/// Packets with an odd octet at 20 are wanted.
fn odd() -> SoftwareFilter {
    let step = |code, jt, jf, k| FilterInstruction { code, jt, jf, k };
    let program =
        [step(0x30, 0, 0, 20), step(0x45, 0, 1, 1), step(0x06, 0, 0, u32::MAX), step(0x06, 0, 0, 0)];
    let filter = Filter::new(program.to_vec()).unwrap();
    SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &Beside::tags(Tags::InFrames)).unwrap()
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
            given: vec![0; ports],
        }
    }

    /// A block of a port with frames of these times, behind so many lost ones.
    fn batch(&mut self, port: usize, lost: u64, frames: &[(u64, Vec<u8>)]) -> BatchWithLosses {
        let (kernel, ring) = &mut self.rings[port];
        let timed = frames.iter().map(|(time_ns, octets)| (*time_ns, &octets[..]));
        assert_eq!(kernel.fill_timed(timed), Some(frames.len()));
        let batch = OwnedBatch::Block(ring.take().unwrap());
        assert_eq!(batch.loss_mark(), LossMark::Batch(false));
        let told = LossReport { lost, read_ns: frames[0].0, number: self.given[port] };
        self.given[port] += 1;
        BatchWithLosses { batch, told }
    }

    fn port_plan(&self) -> PortPlan {
        // Nothing goes out for having waited long enough.
        PortPlan { hold: Duration::from_secs(3600), batches: 10_000, ..PortPlan::new(Duration::ZERO, 8) }
    }

    fn setup(&self, plan: Plan, recorder: &FileRecorder) -> Setup {
        let lane = |interface| Lane { interface, filter: self.filter.clone() };
        Setup {
            plan,
            encoding: recorder.encoding().clone(),
            lanes: (0..self.boards.len() as u32).map(lane).collect(),
            held: vec![self.port_plan(); self.boards.len()],
            cpus: Vec::new(),
        }
    }

    /// Records what `give` gives into a file, and reads it.
    fn record<B: Encode>(
        &self,
        give: impl FnOnce(&FileRecorder, mpsc::SyncSender<MergeEvent<B>>) -> Option<Workers>,
    ) -> Outcome {
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
        let (merge, news) = sync_channel(4096);
        let workers = give(&recorder, merge.clone());
        for port in 0..self.boards.len() {
            merge.send(MergeEvent::Ended(port, 0)).unwrap();
        }
        let port = |(interface, board): (usize, &Arc<CaptureBoard>)| {
            Port::new(interface as u32, self.port_plan(), self.filter.clone(), Arc::clone(board))
        };
        let ports = self.boards.iter().enumerate().map(port).collect();
        let boards: Vec<_> = lanes.iter().map(|(lane, _)| Arc::clone(lane)).collect();
        let (recorder, tally) = merging::merge(ports, &news, recorder, &boards, &Requests::default());
        recorder.finish();
        drop(workers);
        let load = |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
        let (packets, lost) = read(&plan.write.path, boards.len());
        Outcome {
            packets,
            lost,
            told: boards
                .iter()
                .map(|lane| [&lane.told, &lane.pending_drops, &lane.filtered].map(load))
                .collect(),
            late: tally.ports.iter().map(|port| port.late).sum(),
        }
    }
}

fn read(path: &std::path::Path, interfaces: usize) -> (Vec<Kept>, Vec<String>) {
    let octets = std::fs::read(path).unwrap();
    let mut reader = CaptureReader::new(&octets[..]).unwrap();
    let (mut packets, mut lost) = (Vec::new(), vec![String::new(); interfaces]);
    while let Some(record) = reader.next_record().unwrap() {
        match record {
            Record::Packet(packet) => packets.push(Kept {
                interface: packet.interface,
                time_ns: packet.time_ns,
                octets: packet.data.to_vec(),
                dropped: packet.dropped,
                rest: (
                    packet.original_length,
                    packet.flags,
                    packet.queue,
                    packet.hash.map(|hash| hash.value.to_vec()),
                ),
            }),
            Record::Statistics(block) => lost[block.interface as usize] = block.comments.concat(),
            _ => {}
        }
    }
    (packets, lost)
}

fn hand_off(workers: usize, queue: usize, when_full: WhenFull) -> Plan {
    Plan { workers, queue, distribution: Distribution::NextFree, when_full, ordered: true }
}

/// The octets of a frame: its number among those of its port, and more.
fn octets(number: u64, length: usize) -> Vec<u8> {
    let mut octets = vec![number as u8; length];
    octets[..8].copy_from_slice(&number.to_be_bytes());
    octets
}

fn number_of(kept: &Kept) -> u64 {
    u64::from_be_bytes(kept.octets[..8].try_into().unwrap())
}

/// A worker that waits for a permission for each batch, as long as there is somebody to give it.
struct Gated {
    inner: EncodingWorker,
    gate: Arc<Mutex<Receiver<()>>>,
    /// Who is told when it has begun with a batch.
    started: Option<Sender<()>>,
}

impl Worker<Entrusted> for Gated {
    type Output = (usize, Encoded);
    type Summary = ();

    fn work(&mut self, job: Job<Entrusted>) -> Self::Output {
        if let Some(started) = &self.started {
            started.send(()).unwrap();
        }
        let _ = self.gate.lock().unwrap().recv();
        self.inner.work(job)
    }

    fn finish(self) {}
}
