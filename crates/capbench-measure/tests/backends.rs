//! Every capture method on a veth pair of the test's own: what it sees, what it leaves out, and how it counts.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capbench_capture::{
    Batch, ByteCount, Capture, CaptureError, CaptureOptions, Counters, Direction, Interface, METHODS,
    PacketType, SnapLength, Visitor, open_with,
};
use capbench_measure::bed::{Bed, BedOptions, Side};
use capbench_sys::host::identity;
use capbench_traffic::transmit::{Refusal, method};
use capbench_traffic::{
    FrameLayout, FramePlan, FrameSize, Limits, Mtu, Recogniser, Schedule, Seen, SendJob, Sizes, StreamId,
    TagMetadata, TransmitConfig, TrialId, VlanTag,
};

/// How long a test waits for frames that must come.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long nothing may come before a test believes that nothing will.
const SILENCE: Duration = Duration::from_millis(200);

/// Says why the test is skipped where it cannot run.
fn is_root() -> bool {
    let root = identity::effective().uid == 0;
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

fn bed() -> Bed {
    Bed::virtual_pair(&BedOptions::default()).unwrap()
}

/// Sends `frames` frames of a trial on a side.
fn send(side: &Side, layout: FrameLayout, size: u32, trial: u16, frames: u64, bypass: bool) {
    let sizes = Sizes::Fixed(FrameSize::new(size).unwrap());
    let plan = FramePlan::new(layout, sizes, Mtu(side.mtu())).unwrap();
    let mut config = TransmitConfig::for_plan(side.index(), &plan, Refusal::Repeat);
    config.qdisc_bypass = bypass;
    let report = side
        .run(|| {
            let mut opened = (method("sendmmsg").unwrap().open)(&config).unwrap();
            let job = SendJob {
                plan: &plan,
                schedule: &Schedule::Maximum,
                limits: Limits { duration: None, frames: Some(frames), stop: &AtomicBool::new(false) },
                trial: TrialId(trial),
                stream: StreamId(0),
                start: Instant::now(),
            };
            opened.sender.send(&job).unwrap()
        })
        .unwrap();
    assert_eq!(report.accepted, frames);
}

/// One captured frame, copied.
#[derive(Clone, Debug)]
struct Copied {
    data: Vec<u8>,
    wire_length: u32,
    vlan: Option<u16>,
    packet_type: PacketType,
    time_ns: u64,
}

/// Does something once the capture is open, then takes frames: so many, or until none comes.
struct Collect<F> {
    after_open: F,
    wanted: Option<usize>,
}

impl<F: FnOnce()> Visitor for Collect<F> {
    type Output = Result<(Vec<Copied>, Counters), CaptureError>;

    fn visit<C: Capture>(self, mut capture: C) -> Self::Output {
        (self.after_open)();
        let mut frames = Vec::new();
        let mut last = Instant::now();
        let patience = if self.wanted.is_some() { PATIENCE } else { SILENCE };
        while self.wanted.is_none_or(|wanted| frames.len() < wanted) && last.elapsed() < patience {
            let Some(batch) = capture.next_batch(Duration::from_millis(20))? else { continue };
            for frame in batch.frames() {
                frames.push(Copied {
                    data: frame.data.to_vec(),
                    wire_length: frame.wire_length,
                    vlan: frame.vlan.map(|tag| tag.tci),
                    packet_type: frame.packet_type,
                    time_ns: frame.time_ns,
                });
            }
            last = Instant::now();
        }
        let counters = capture.counters()?;
        let again = capture.counters()?;
        assert!(
            again.accepted >= counters.accepted && again.dropped >= counters.dropped,
            "counters never fall"
        );
        Ok((frames, again))
    }
}

fn collect(
    name: &str,
    side: &Side,
    options: &CaptureOptions,
    wanted: Option<usize>,
    after_open: impl FnOnce() + Send,
) -> Result<(Vec<Copied>, Counters), CaptureError> {
    let interface = Interface { name: side.name().into(), index: side.index(), mtu: side.mtu() };
    side.run(|| open_with(name, &interface, options, Collect { after_open, wanted })).unwrap()?
}

fn options() -> CaptureOptions {
    CaptureOptions { ring: ByteCount(8 << 20), ..CaptureOptions::default() }
}

#[test]
fn root_frames_arrive_whole_and_in_order() {
    if !is_root() {
        return;
    }
    let bed = bed();
    let layout = FrameLayout::default();
    let recogniser = Recogniser::new(TrialId(7), &layout, None).unwrap();
    for method in METHODS {
        let started =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let (frames, counters) = collect(method.name, bed.receive_side(), &options(), Some(2000), || {
            send(bed.transmit_side(), layout, 300, 7, 2000, true);
        })
        .unwrap();
        assert_eq!(frames.len(), 2000, "{}", method.name);
        assert_eq!((counters.accepted, counters.dropped), (Some(2000), Some(0)), "{}", method.name);
        for (sequence, frame) in (0..).zip(&frames) {
            assert_eq!((frame.data.len(), frame.wire_length), (296, 296), "{}", method.name);
            assert_eq!(frame.packet_type, PacketType::OtherHost);
            // V1 rounds down to microseconds.
            assert!(frame.time_ns + 1000 >= started, "{}: {} before {started}", method.name, frame.time_ns);
            match recogniser.look(&frame.data, frame.wire_length, TagMetadata::Absent) {
                Seen::Ours(stamp) => assert_eq!(stamp.sequence, sequence, "{}", method.name),
                other => panic!("{}: {other:?}", method.name),
            }
        }
    }
}

#[test]
fn root_a_vlan_tag_is_metadata() {
    if !is_root() {
        return;
    }
    let bed = bed();
    // Priority 5 and identifier 100; the second case is the legal tag with nothing set.
    for tci in [0xa064, 0] {
        let layout = FrameLayout { vlan: Some(VlanTag { tci }), ..FrameLayout::default() };
        for method in METHODS {
            let (frames, _) = collect(method.name, bed.receive_side(), &options(), Some(10), || {
                send(bed.transmit_side(), layout, 64, 1, 10, true);
            })
            .unwrap();
            let expected = (method.name != "packet-v1").then_some(tci);
            assert!(frames.iter().all(|frame| frame.vlan == expected), "{}: {frames:?}", method.name);
            assert!(frames.iter().all(|frame| frame.data.len() == 56), "the tag's 4 octets are taken out");
        }
    }
}

#[test]
fn root_a_snap_length_cuts_and_the_true_length_stays() {
    if !is_root() {
        return;
    }
    let bed = bed();
    let options = CaptureOptions { snap_length: SnapLength::new(96), ..options() };
    for method in METHODS {
        let (frames, _) = collect(method.name, bed.receive_side(), &options, Some(10), || {
            send(bed.transmit_side(), FrameLayout::default(), 1518, 1, 10, true);
        })
        .unwrap();
        assert_eq!(frames.len(), 10);
        assert!(frames.iter().all(|f| (f.data.len(), f.wire_length) == (96, 1514)), "{}", method.name);
    }
}

#[test]
fn root_directions_tell_sent_from_received() {
    if !is_root() {
        return;
    }
    let bed = bed();
    for method in METHODS {
        for (direction, expected) in [(Direction::In, 0), (Direction::Out, 50), (Direction::Both, 50)] {
            let options = CaptureOptions { direction, ..options() };
            // On the sending side, and past no queueing discipline: what bypasses it no socket sees.
            let (frames, _) = collect(method.name, bed.transmit_side(), &options, None, || {
                send(bed.transmit_side(), FrameLayout::default(), 64, 1, 50, false);
            })
            .unwrap();
            assert_eq!(frames.len(), expected, "{} {direction:?}", method.name);
            assert!(frames.iter().all(|frame| frame.packet_type == PacketType::Outgoing));
            let (frames, _) = collect(method.name, bed.receive_side(), &options, None, || {
                send(bed.transmit_side(), FrameLayout::default(), 64, 1, 50, false);
            })
            .unwrap();
            assert_eq!(frames.len(), if direction == Direction::Out { 0 } else { 50 }, "{}", method.name);
        }
    }
}

#[test]
fn root_nothing_from_before_or_from_elsewhere_leaks_in() {
    if !is_root() {
        return;
    }
    let (bed, other) = (bed(), bed());
    let layout = FrameLayout::default();
    let recogniser = Recogniser::new(TrialId(2), &layout, None).unwrap();
    for method in METHODS {
        send(bed.transmit_side(), layout, 64, 1, 100, true);
        let (frames, _) = collect(method.name, bed.receive_side(), &options(), None, || {
            send(other.transmit_side(), layout, 64, 3, 100, true);
            send(bed.transmit_side(), layout, 64, 2, 100, true);
        })
        .unwrap();
        let ours = |frame: &Copied| recogniser.look(&frame.data, frame.wire_length, TagMetadata::Unknown);
        assert_eq!(frames.len(), 100, "{}", method.name);
        assert!(frames.iter().all(|frame| matches!(ours(frame), Seen::Ours(_))), "{}", method.name);
    }
}

#[test]
fn root_a_small_ring_that_overflows_counts_exactly() {
    if !is_root() {
        return;
    }
    let bed = bed();
    let options = CaptureOptions { ring: ByteCount(64 << 10), block: ByteCount(16 << 10), ..options() };
    for method in METHODS {
        let (frames, counters) = collect(method.name, bed.receive_side(), &options, None, || {
            send(bed.transmit_side(), FrameLayout::default(), 64, 1, 20_000, true);
        })
        .unwrap();
        let dropped = counters.dropped.unwrap();
        assert!(dropped > 0, "{}: nothing was dropped", method.name);
        assert_eq!(counters.accepted, Some(20_000), "{}: all passed the filter", method.name);
        assert_eq!(frames.len() as u64 + dropped, 20_000, "{}", method.name);
    }
}

#[test]
fn root_an_interface_that_vanishes_is_an_error_that_names_it() {
    if !is_root() {
        return;
    }
    for method in METHODS {
        let bed = bed();
        let side = bed.receive_side();
        let error =
            collect(method.name, side, &options(), Some(1), || side.links().delete(side.name()).unwrap())
                .expect_err("the interface is gone");
        let text = error.to_string();
        assert!(text.contains(side.name()) && text.contains(method.name), "{text}");
    }
}

#[test]
fn root_impossible_options_are_refused_before_a_ring_is_made() {
    if !is_root() {
        return;
    }
    let bed = bed();
    let huge = CaptureOptions { ring: "900000GiB".parse().unwrap(), ..options() };
    for method in METHODS {
        let error = collect(method.name, bed.receive_side(), &huge, Some(1), || ()).unwrap_err();
        assert!(error.to_string().starts_with("--ring"), "{error}");
    }
}
