//! The receiving loops and the writer of flows allocate nothing per frame. An allocator counts the requests of the thread, on heap
//! rings and, as root, with every method on a veth pair. It is unsafe code, so the test is in this crate.

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../../capbench-capture/tests/stand_ins/mod.rs"]
mod stand_ins;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capbench_capture::{Capture, Interface, METHODS, Visitor, methods, open_with};
use capbench_frames::write::{PlanFrames, WriteFrames};
use capbench_frames::{
    Classifier, FlowCommand, FlowDefaults, FlowOrder, FrameLayout, FramePlan, FrameSize, MergedFlows, Mtu,
    PacketFile, Schedule, Sizes, Stamp, StreamId, TransmitSpec, TrialId, Turn,
};
use capbench_host::bed::{Bed, BedOptions};
use capbench_lab::receiver::{StreamSet, Streams, Verifier};
use capbench_lab::work::{LoopSpeed, Work};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_sys::packet::stand_in::{BlockKernel, FrameKernel};
use capbench_sys::packet::{BlockGeometry, Frame, FrameGeometry, FrameVersion, PacketType};
use capbench_sys::xdp::stand_in::{QueueSizes, ReceiveKernel};
use capbench_testing::missing;
use capbench_testing::network::privileges;
use capbench_traffic::transmit::{Refusal, method};
use capbench_traffic::{Limits, SendJob, TransmitConfig};
use stand_ins::StandIn;

thread_local! {
    /// Allocations of this thread. A constant initial value, so that touching it allocates nothing itself.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread-local integer only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above, and so from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

const FRAMES: u64 = 50_000;

fn verifier() -> Verifier {
    let recogniser = Classifier::new(TrialId(1), &FrameLayout::default(), None).unwrap();
    Verifier::recording(
        recogniser,
        Streams { count: 8, flows: FlowOrder::default(), untimed: StreamSet::default() },
        true,
    )
}

fn work() -> Work {
    Work::new(WorkModel::Copy, LoopSpeed { iterations_per_ns: 1.0 })
}

/// What an application does with a frame.
fn consume(verifier: &mut Verifier, work: &mut Work, frame: &Frame<'_>) {
    verifier.note(frame);
    work.apply(frame.data);
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(allocations() - before, 1);
}

#[test]
fn heap_rings_are_read_without_allocating() {
    let (mut verifier, mut work) = (verifier(), work());
    let mut seen = 0;
    for version in [FrameVersion::V1, FrameVersion::V2] {
        let geometry = FrameGeometry::new(256, 64, 4096).unwrap();
        let (mut kernel, mut ring) = FrameKernel::with_ring(geometry, version).unwrap();
        let before = allocations();
        while seen < FRAMES {
            while kernel.deliver(&[7; 60], 60, None) {}
            while let Some(batch) = ring.take(64) {
                for frame in batch.frames() {
                    consume(&mut verifier, &mut work, &frame);
                    seen += 1;
                }
            }
        }
        assert_eq!(allocations() - before, 0);
        seen = 0;
    }
    let (mut kernel, mut ring) = BlockKernel::with_ring(BlockGeometry::new(1 << 16, 4, 10).unwrap()).unwrap();
    let frames = [&[7u8; 60][..]; 400];
    let before = allocations();
    while seen < FRAMES {
        kernel.fill(&frames).unwrap();
        let block = ring.take().unwrap();
        for frame in block.frames() {
            consume(&mut verifier, &mut work, &frame);
            seen += 1;
        }
    }
    assert_eq!(allocations() - before, 0);
}

#[test]
fn vendors_libraries_are_read_without_allocating() {
    for (library, method) in
        [("pf_ring", "pf-ring:"), ("pf_ring", "pf-ring:zc:"), ("nfb", "nfb:"), ("szedata2", "szedata2:")]
    {
        let device = StandIn::build(library, &[]).device("frames 100");
        let zero_copy = if method.ends_with("zc:") { "+zero-copy" } else { "" };
        let spec = device.library.spec(&format!("{method}{}{zero_copy}", device.path));
        let (read, allocated) = open_with(
            &spec,
            &stand_ins::interface(),
            &CaptureOptions::default(),
            Loop { after_open: || {}, frames: 100 },
        )
        .unwrap();
        assert_eq!((read, allocated), (100, 0), "{spec}");
    }
}

#[test]
fn heap_queues_of_af_xdp_are_read_without_allocating() {
    let (mut verifier, mut work) = (verifier(), work());
    let sizes = QueueSizes { received: 256, fill: 512, chunks: 320, batch: 64 };
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(sizes).unwrap();
    let (mut seen, before) = (0, allocations());
    while seen < FRAMES {
        while kernel.deliver(&[7; 60]) {}
        while let Some(batch) = queue.take() {
            // A frame that is kept and that another thread drops, as a decoder does.
            let kept = batch.keep(0);
            for data in batch.frames() {
                let frame = Frame {
                    data,
                    wire_length: data.len() as u32,
                    time_ns: 1,
                    vlan: None,
                    packet_type: PacketType::Host,
                    hash: None,
                    status: 0,
                };
                consume(&mut verifier, &mut work, &frame);
                seen += 1;
            }
            drop(batch);
            drop(kept);
        }
    }
    assert_eq!(allocations() - before, 0);
}

/// Takes frames and says how many allocations that took.
struct Loop<F> {
    after_open: F,
    frames: u64,
}

impl<F: FnOnce()> Visitor for Loop<F> {
    type Output = (u64, u64);

    fn visit<C: Capture>(self, mut capture: C) -> (u64, u64) {
        let (mut verifier, mut work) = (verifier(), work());
        (self.after_open)();
        let started = Instant::now();
        let before = allocations();
        while verifier.arrivals().read < self.frames && started.elapsed() < Duration::from_secs(20) {
            capture
                .for_each(Duration::from_millis(20), |frame| consume(&mut verifier, &mut work, frame))
                .unwrap();
        }
        (verifier.arrivals().read, allocations() - before)
    }
}

#[test]
fn no_flow_allocates_while_its_frames_are_written() {
    let flow = r#"
        [[flow]]
        header = [{}, { ipv4 = { src = { increment = { count = 300 } }, dst = [1, 2, 3] } }, { udp = {} }]
    "#;
    let (sizes, rate) = ("random:64-1518".parse().unwrap(), Some("1M".parse().unwrap()));
    let defaults = FlowDefaults { sizes, rate, burst: None, poisson: None, frames: Some(FRAMES / 64) };
    let set = PacketFile::from_toml(&flow.repeat(64)).unwrap().flow_set(&defaults, Mtu(1500), None).unwrap();
    let mut flows = MergedFlows::new(&set, Turn::EVERY);
    let (mut slot, mut written) = (vec![0; 2048], 0);
    let before = allocations();
    while !flows.is_over() {
        set.command(
            written as usize % 64,
            if written % 2 == 0 { FlowCommand::Pause } else { FlowCommand::Run },
        );
        flows.begin_batch(written);
        if !flows.has_next() {
            (0..64).for_each(|flow| set.command(flow, FlowCommand::Run));
            flows.begin_batch(written);
        }
        let planned_ns = flows.next_ns();
        let stamp = Stamp { trial: TrialId(1), stream: StreamId(0), sequence: 0, planned_ns };
        flows.write_next(&mut slot, stamp);
        written += 1;
        flows.note_sent(written);
    }
    assert_eq!((written, allocations() - before), (FRAMES / 64 * 64, 0));
}

#[test]
fn root_alone_no_method_allocates_while_it_receives() {
    let Some(()) = privileges() else { return };
    let bed = Bed::virtual_pair(&BedOptions::default()).unwrap();
    let (transmit, receive) = (bed.transmit_side().clone(), bed.receive_side());
    let interface = Interface::new(receive.name(), receive.index(), receive.mtu());
    let options = CaptureOptions { ring: ByteCount(128 << 20), ..CaptureOptions::default() };
    let rows = METHODS.iter().filter(|method| method.in_default).map(|method| method.name);
    // libpcap has more than one way to return frames.
    for name in rows.chain(["libpcap+loop", "libpcap+next-ex", "libpcap+next"]) {
        let spec: MethodSpec = name.parse().unwrap();
        // Methods of cargo features are there when the workspace is tested as a whole.
        let supported = methods::find(&spec).unwrap().supported;
        if let Err(reason) = receive.run(|| supported(&spec)).unwrap() {
            missing(format_args!("{name}: {reason}"));
            continue;
        }
        let transmit = transmit.clone();
        let after_open = || {
            transmit.spawn("sender", {
                let index = transmit.index();
                move || send(index)
            });
        };
        let outcome = receive
            .run(|| open_with(&spec, &interface, &options, Loop { after_open, frames: FRAMES }))
            .unwrap();
        assert_eq!(outcome.unwrap(), (FRAMES, 0), "{name}");
    }
}

fn send(interface: capbench_sys::host::InterfaceIndex) {
    let sizes = Sizes::Fixed(FrameSize::LEAST);
    let plan = FramePlan::new(FrameLayout::default(), sizes, Mtu(1500)).unwrap();
    let config = TransmitConfig::for_frames(interface, &plan, Refusal::Repeat);
    let mut opened = method(&TransmitSpec::plain("packet-tx")).unwrap().open(&config).unwrap()(0).unwrap();
    let job = SendJob {
        frames: (&plan).into(),
        schedule: &Schedule::Maximum,
        limits: Limits { duration: None, frames: Some(FRAMES), stop: &AtomicBool::new(false) },
        trial: TrialId(1),
        stream: StreamId(0),
        progress: None,
        start: Instant::now(),
        turn: Turn::EVERY,
    };
    opened.sender.send(&job).unwrap();
}
