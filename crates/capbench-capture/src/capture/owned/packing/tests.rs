//! Owned batches of a method that the test plays.

use std::collections::VecDeque;
use std::time::Instant;

use capbench_sys::SysError;
use capbench_sys::packet::{PacketType, VlanTag};
use proptest::prelude::*;

use super::*;
use crate::TimeSpan;
use crate::capture::SeekableBatch;
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::{ByteCount, SnapLength};

/// A frame that owns what it is.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    data: Vec<u8>,
    wire_length: u32,
    time_ns: u64,
    vlan: Option<VlanTag>,
    packet_type: PacketType,
    hash: Option<u32>,
    status: u32,
}

impl Sent {
    fn plain(octets: usize, time_ns: u64) -> Self {
        Self {
            data: vec![7; octets],
            wire_length: octets as u32,
            time_ns,
            vlan: None,
            packet_type: PacketType::Host,
            hash: None,
            status: 0,
        }
    }

    fn of(frame: &Frame<'_>) -> Self {
        let Frame { data, wire_length, time_ns, vlan, packet_type, hash, status } = *frame;
        Self { data: data.to_vec(), wire_length, time_ns, vlan, packet_type, hash, status }
    }

    fn frame(&self) -> Frame<'_> {
        let Self { wire_length, time_ns, vlan, packet_type, hash, status, .. } = *self;
        Frame { data: &self.data, wire_length, time_ns, vlan, packet_type, hash, status }
    }
}

/// Some frames that a method gives at once.
#[derive(Clone, Debug)]
struct Scripted {
    frames: Vec<Sent>,
    mark: LossMark,
    queue: Option<u32>,
}

impl Scripted {
    fn plain(frames: impl IntoIterator<Item = Sent>) -> Self {
        Self { frames: frames.into_iter().collect(), mark: LossMark::Frames, queue: None }
    }
}

impl Batch for &Scripted {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().map(Sent::frame)
    }

    fn loss_mark(&self) -> LossMark {
        self.mark
    }

    fn queue(&self) -> Option<u32> {
        self.queue
    }
}

/// A method that returns the scripted batches, and then nothing, or fails.
struct Played {
    script: VecDeque<Scripted>,
    current: Option<Scripted>,
    fails: bool,
    packing: Option<Packing>,
    running: Running,
}

impl Played {
    fn new(options: &CaptureOptions, at_once: usize, largest: usize) -> Self {
        Self {
            script: VecDeque::new(),
            current: None,
            fails: false,
            packing: Some(Packing::new(options, at_once, largest)),
            running: Running {
                vlan_metadata: true,
                ..Running::described("played", Engine::default(), String::new(), TimeSource::None)
            },
        }
    }

    fn next(&mut self) -> Option<OwnedBatch> {
        self.next_owned(Duration::ZERO).unwrap()
    }
}

impl Capture for Played {
    type Batch<'a> = &'a Scripted;

    fn next_batch(&mut self, _: Duration) -> Result<Option<&Scripted>> {
        self.current = self.script.pop_front();
        if self.current.is_none() && self.fails {
            let source = SysError::argument("the interface", "it is down");
            return Err(CaptureError::Call { method: "played", interface: "test".into(), source });
        }
        Ok(self.current.as_ref())
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        self.packing.as_mut()
    }

    fn counters(&mut self) -> Result<Counters> {
        Ok(Counters::default())
    }

    fn waits(&self) -> WaitCounts {
        WaitCounts::default()
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// A pool of four buffers, and batches that end with what the method gives at once.
fn at_once() -> CaptureOptions {
    CaptureOptions { ring: ByteCount(4 << 20), retire_timeout: Duration::ZERO, ..CaptureOptions::default() }
}

fn frames_of(batch: &OwnedBatch) -> Vec<Sent> {
    let mut place = batch.start();
    let read_on = std::iter::from_fn(|| batch.frame_at(&mut place));
    assert!(
        read_on
            .map(|frame| (frame.data, frame.time_ns))
            .eq(batch.frames().map(|frame| (frame.data, frame.time_ns)))
    );
    let frames: Vec<_> = batch.frames().map(|frame| Sent::of(&frame)).collect();
    assert_eq!(batch.frame_count(), frames.len());
    frames
}

#[test]
fn without_memory_nothing_is_read_until_a_batch_is_dropped() {
    let mut capture = Played::new(&at_once(), 4, 2048);
    capture.script.extend((0..20).map(|time| Scripted::plain([Sent::plain(60, time)])));
    let mut held: VecDeque<_> = std::iter::from_fn(|| capture.next()).collect();
    assert_eq!((held.len(), capture.script.len()), (3, 17), "one buffer is kept for what comes at once");
    let start = Instant::now();
    assert!(capture.next_owned(Duration::from_millis(20)).unwrap().is_none());
    assert!(start.elapsed() >= Duration::from_millis(20), "it waits for one to be dropped");
    for time in 0..17 {
        assert_eq!(frames_of(&held.pop_front().unwrap())[0].time_ns, time);
        held.push_back(capture.next().unwrap());
        assert!(capture.next().is_none());
    }
    held.clear();
    assert!(capture.next().is_none(), "there is nothing more");
}

#[test]
fn a_batch_that_is_dropped_elsewhere_wakes_the_capture() {
    let mut capture = Played::new(&at_once(), 4, 2048);
    capture.script.extend((0..4).map(|time| Scripted::plain([Sent::plain(60, time)])));
    let held: Vec<_> = std::iter::from_fn(|| capture.next()).collect();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(held));
        assert!(capture.next_owned(Duration::from_secs(60)).unwrap().is_some());
    });
}

#[test]
fn batches_are_gathered_up_to_their_memory_and_never_above() {
    let options = CaptureOptions { retire_timeout: Duration::from_secs(60), ..at_once() };
    let mut capture = Played::new(&options, 64, 1500);
    let total = 3 * BUFFER_FRAMES / 64 * 64;
    capture.script.extend(
        (0..total as u64 / 64)
            .map(|step| Scripted::plain((0..64).map(|n| Sent::plain(60, 1 + step * 64 + n)))),
    );
    let mut times = Vec::new();
    let mut sizes = Vec::new();
    while let Some(batch) = capture.next() {
        let frames = frames_of(&batch);
        let span = TimeSpan { least_ns: frames[0].time_ns, greatest_ns: frames.last().unwrap().time_ns };
        assert_eq!(batch.time_span(), Some(span));
        times.extend(frames.iter().map(|frame| frame.time_ns));
        sizes.push(frames.len());
    }
    assert_eq!(times, (1..=total as u64).collect::<Vec<_>>());
    assert_eq!(sizes[..2], [BUFFER_FRAMES; 2]);
}

#[test]
fn single_frames_are_gathered_for_as_long_as_their_times_say() {
    let options = CaptureOptions { retire_timeout: Duration::from_millis(10), ..at_once() };
    let mut capture = Played::new(&options, 1, 1500);
    let milliseconds = |time: u64| Sent::plain(60, 1_000_000_000 + time * 1_000_000);
    // The last one is of a clock that was set back.
    capture.script.extend([0, 4, 9, 10, 11, 12, 0].map(|time| Scripted::plain([milliseconds(time)])));
    let sizes: Vec<_> = std::iter::from_fn(|| capture.next()).map(|batch| batch.frame_count()).collect();
    assert_eq!(sizes, [4, 3]);
}

#[test]
fn receive_queues_are_separate_and_a_mark_precedes_its_batch() {
    let options = CaptureOptions { retire_timeout: Duration::from_secs(60), ..at_once() };
    let mut capture = Played::new(&options, 4, 1500);
    let batch = |queue, time, mark| Scripted {
        frames: vec![Sent::plain(60, time)],
        mark: LossMark::Batch(mark),
        queue: Some(queue),
    };
    let script = [(0, 1, false), (1, 2, false), (0, 3, false), (0, 4, true), (1, 5, false), (0, 6, false)];
    capture.script.extend(script.map(|(queue, time, mark)| batch(queue, time, mark)));
    let mut seen: Vec<_> = std::iter::from_fn(|| capture.next())
        .map(|batch| {
            let times: Vec<_> = batch.frames().map(|frame| frame.time_ns).collect();
            (batch.queue(), batch.loss_mark(), times)
        })
        .collect();
    seen.sort_by_key(|(_, _, times)| times[0]);
    let (whole, after) = (LossMark::Batch(false), LossMark::Batch(true));
    assert_eq!(
        seen,
        [(Some(0), whole, vec![1, 3]), (Some(1), whole, vec![2, 5]), (Some(0), after, vec![4, 6])]
    );
}

#[test]
fn captured_frames_come_before_the_final_error() {
    let options = CaptureOptions { retire_timeout: Duration::from_secs(60), ..at_once() };
    let mut capture = Played { fails: true, ..Played::new(&options, 4, 1500) };
    capture.script.extend([1, 2].map(|time| Scripted::plain([Sent::plain(60, time)])));
    assert_eq!(capture.next().unwrap().frame_count(), 2);
    assert!(capture.next_owned(Duration::ZERO).unwrap_err().to_string().contains("it is down"));
}

#[test]
fn a_frame_larger_than_any_can_be_is_an_error_behind_what_there_was() {
    let mut capture = Played::new(&at_once(), 4, 1500);
    capture.script.push_back(Scripted::plain([Sent::plain(60, 1), Sent::plain(BUFFER_OCTETS + 1, 2)]));
    assert_eq!(capture.next().unwrap().frame_count(), 1);
    let refused = capture.next_owned(Duration::ZERO).unwrap_err().to_string();
    assert!(refused.starts_with("played: it returned a frame of 1048577 octets"), "{refused}");
}

#[test]
fn a_method_without_frames_to_keep_says_so() {
    let mut capture = Played { packing: None, ..Played::new(&at_once(), 1, 60) };
    let refused = capture.next_owned(Duration::ZERO).unwrap_err().to_string();
    assert!(refused.starts_with("played: ") && refused.contains("returns no frames"), "{refused}");
}

#[test]
fn times_are_those_of_the_frames() {
    let batch = Scripted::plain([5, 3, 9, 4].map(|time| Sent::plain(60, time)));
    assert_eq!((&batch).time_span(), Some(TimeSpan { least_ns: 3, greatest_ns: 9 }));
    assert_eq!((&Scripted::plain([])).time_span(), None);
}

fn any_frame() -> impl Strategy<Value = Sent> {
    let packet_type = prop_oneof![Just(PacketType::Outgoing), Just(PacketType::Other(9))];
    let vlan = prop::option::of((any::<u16>(), any::<u16>()).prop_map(|(tci, tpid)| VlanTag { tci, tpid }));
    let octets = prop::collection::vec(any::<u8>(), 0..300);
    (octets, any::<u32>(), any::<u64>(), vlan, packet_type, any::<Option<u32>>(), any::<u32>()).prop_map(
        |(data, wire_length, time_ns, vlan, packet_type, hash, status)| Sent {
            data,
            wire_length,
            time_ns,
            vlan,
            packet_type,
            hash,
            status,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any batches held for any time, frames come out unchanged, each once, in the order of their queue, with their
    /// queue. The pool is whole again in the end.
    #[test]
    fn frames_stay_what_they_were(
        script in prop::collection::vec((prop::collection::vec(any_frame(), 0..20), 0u32..3), 0..30),
        holds in prop::collection::vec(0usize..5, 1..10),
        hold_ms in 0u64..2,
        cut in prop::option::of(300u32..400),
    ) {
        let options = CaptureOptions {
            retire_timeout: Duration::from_millis(hold_ms),
            snap_length: cut.map_or(SnapLength::EVERYTHING, SnapLength::new),
            ..at_once()
        };
        let mut capture = Played::new(&options, 20, 300);
        for (frames, queue) in &script {
            capture.script.push_back(Scripted {
                frames: frames.clone(),
                mark: LossMark::Frames,
                queue: Some(*queue),
            });
        }
        let mut seen: Vec<Vec<Sent>> = vec![Vec::new(); 3];
        let mut held = VecDeque::new();
        let mut let_go = |held: &mut VecDeque<OwnedBatch>| {
            let batch = held.pop_front().unwrap();
            assert_eq!(batch.loss_mark(), LossMark::Frames);
            seen[batch.queue().unwrap() as usize].extend(frames_of(&batch));
        };
        let mut holds = holds.iter().cycle();
        loop {
            match capture.next() {
                Some(batch) => held.push_back(batch),
                None if capture.script.is_empty() && held.is_empty() => break,
                None if held.is_empty() => continue,
                None => let_go(&mut held),
            }
            while held.len() > *holds.next().unwrap() {
                let_go(&mut held);
            }
        }
        for queue in 0..3 {
            let sent = script.iter().filter(|(_, of)| *of == queue).flat_map(|(frames, _)| frames);
            prop_assert!(seen[queue as usize].iter().eq(sent));
        }
    }
}
