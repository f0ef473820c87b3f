//! What laying frames into memory as capture files have them costs, in nanoseconds a frame: out of a V3 block, into buffers
//! that are written over again and again. `copy` is the copy alone, for comparison.
//!
//! `cargo run --release -p capbench-record --example encode_cost`

use std::hint::black_box;
use std::time::Instant;

use capbench_capture::{Batch, Frame, PacketType, VlanTag};
use capbench_model::units::SnapLength;
use capbench_record::file::{
    CaptureReader, Encoder, FileError, HashAlgorithm, InterfaceDescription, PacketFacts, PcapEncoder,
    PcapngEncoder, Record, SectionDescription,
};
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{Block, BlockGeometry};

const BLOCK: u32 = 1 << 20;
const BUFFER: usize = 1 << 20;
const FRAMES: u64 = 5_000_000;

/// What stands beside a frame.
#[derive(Clone, Copy)]
struct Beside {
    name: &'static str,
    vlan: Option<VlanTag>,
    packet_type: PacketType,
    hash: Option<u32>,
    queue: Option<u32>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plain =
        Beside { name: "plain", vlan: None, packet_type: PacketType::Unknown, hash: None, queue: None };
    let flags = Beside { name: "flags", packet_type: PacketType::Host, ..plain };
    let vlan = Some(VlanTag { tci: 5, tpid: 0x8100 });
    let all = Beside { name: "flags, VLAN, hash, queue", vlan, hash: Some(7), queue: Some(1), ..flags };
    let snap = SnapLength::EVERYTHING;
    let interface = InterfaceDescription { name: Some("eth0".into()), ..InterfaceDescription::default() };
    let pcapng =
        PcapngEncoder::new(&SectionDescription::default(), &[interface], snap, HashAlgorithm::default())?;
    println!("octets  beside                       copy   pcap  pcapng  pcapng read");
    for octets in [60, 1514] {
        let data = vec![7; octets];
        let frames = vec![&data[..]; BLOCK as usize / octets];
        let (mut kernel, mut ring) = BlockKernel::with_ring(BlockGeometry::new(BLOCK, 1, 10)?)?;
        kernel.fill(&frames);
        let block = ring.take().ok_or("a block was filled")?;
        for beside in [plain, flags, all] {
            let copy = cost(&block, beside, |frame, _, room| {
                let to = room.get_mut(..frame.data.len())?;
                to.copy_from_slice(frame.data);
                Some(frame.data.len())
            });
            let pcap = PcapEncoder::new(snap);
            let pcap = cost(&block, beside, |frame, facts, room| pcap.encode(frame, facts, room));
            let ng = cost(&block, beside, |frame, facts, room| pcapng.encode(frame, facts, room));
            let read = reading(&pcapng, &block, beside)?;
            println!("{octets:>6}  {:<26}  {copy:>5.1}  {pcap:>5.1}  {ng:>6.1}  {read:>11.1}", beside.name);
        }
    }
    Ok(())
}

/// Nanoseconds a frame: of three passes the quickest.
fn cost(
    block: &Block,
    beside: Beside,
    encode: impl Fn(&Frame<'_>, &PacketFacts, &mut [u8]) -> Option<usize>,
) -> f64 {
    let mut memory = vec![1; BUFFER];
    let facts = PacketFacts { queue: beside.queue, ..PacketFacts::default() };
    let pass = |_| {
        let (mut frames, mut filled, begun) = (0, 0, Instant::now());
        while frames < FRAMES {
            for frame in Batch::frames(block) {
                let frame = told(frame, beside);
                match encode(&frame, black_box(&facts), &mut memory[filled..]) {
                    Some(octets) => filled += octets,
                    None => {
                        black_box(&mut memory);
                        filled = encode(&frame, &facts, &mut memory).unwrap_or(0);
                    }
                }
                frames += 1;
            }
        }
        begun.elapsed().as_nanos() as f64 / frames as f64
    };
    (0..3).map(pass).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds a frame of reading a file out of memory.
fn reading(encoder: &PcapngEncoder, block: &Block, beside: Beside) -> Result<f64, FileError> {
    let facts = PacketFacts { queue: beside.queue, ..PacketFacts::default() };
    let mut file = encoder.header();
    let mut room = vec![0; encoder.largest_record()];
    let mut expected = 0;
    for _ in 0..20 {
        for frame in Batch::frames(block) {
            let octets = encoder.encode(&told(frame, beside), &facts, &mut room).unwrap_or(0);
            file.extend(&room[..octets]);
            expected += 1;
        }
    }
    let (mut reader, mut frames, begun) = (CaptureReader::new(&file[..])?, 0_u64, Instant::now());
    while let Some(record) = reader.next_record()? {
        frames += u64::from(matches!(black_box(record), Record::Packet(_)));
    }
    assert_eq!(frames, expected);
    Ok(begun.elapsed().as_nanos() as f64 / frames as f64)
}

fn told(frame: Frame<'_>, beside: Beside) -> Frame<'_> {
    let Beside { vlan, packet_type, hash, .. } = beside;
    Frame { vlan, packet_type, hash, ..frame }
}
