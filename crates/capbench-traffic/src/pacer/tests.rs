use std::sync::Arc;

use capbench_frames::classify::{Classifier, FrameClass, TagMetadata};
use capbench_frames::layout::FrameLayout;
use capbench_frames::rates::Pps;
use capbench_frames::units::Mtu;
use capbench_frames::{
    FlowCommand, FlowSet, FramePlan, HeaderStack, Payload, RecordedFrames, RecordedTimes, StackFlow,
    StackPlan, TrailerReader,
};
use capbench_sys::host::clock;

use super::*;
use crate::transmission::Finish;

const TRIAL: TrialId = TrialId(5);
static RUNNING: AtomicBool = AtomicBool::new(false);

/// A transmit method on the heap that accepts what the test wants.
struct Null<'a> {
    slots: Vec<Vec<u8>>,
    frames: Vec<Vec<u8>>,
    batches: Vec<usize>,
    /// How long each submission takes.
    delay: Duration,
    /// Every n-th frame is refused and lost.
    lose: Option<u64>,
    /// Frames that a ring-like method keeps pending from each submission on.
    keep: usize,
    pending: Vec<Vec<u8>>,
    /// Fails once this many frames have passed.
    fail_at: usize,
    /// Sets this flag with the submission that reaches this many frames.
    stop_at: Option<(usize, &'a AtomicBool)>,
}

impl Null<'_> {
    fn new(batch: usize) -> Self {
        let slots = vec![vec![0; 1600]; batch];
        let (delay, lose, keep, fail_at, stop_at) = (Duration::ZERO, None, 0, usize::MAX, None);
        Self {
            slots,
            frames: Vec::new(),
            batches: Vec::new(),
            delay,
            lose,
            keep,
            pending: Vec::new(),
            fail_at,
            stop_at,
        }
    }
}

impl Transmit for Null<'_> {
    fn room(&mut self) -> usize {
        if self.pending.len() > self.keep { 0 } else { self.slots.len() }
    }

    fn slot(&mut self, index: usize) -> &mut [u8] {
        &mut self.slots[index]
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        if self.frames.len() >= self.fail_at {
            return Err(TrafficError::Transmit { what: "a frame", asked: 0, allowed: "none" });
        }
        let begun = Instant::now();
        while begun.elapsed() < self.delay {
            spin_loop();
        }
        self.batches.push(lengths.len());
        for (slot, &length) in self.slots.iter().zip(lengths) {
            self.pending.push(slot[..usize::from(length)].to_vec());
        }
        let mut counts = SubmitCounts::default();
        let sent = self.pending.len().saturating_sub(self.keep);
        for frame in self.pending.drain(..sent) {
            self.frames.push(frame);
            match self.lose {
                Some(every) if (self.frames.len() as u64).is_multiple_of(every) => counts.refused_lost += 1,
                _ => counts.accepted += 1,
            }
        }
        if let Some((frames, stop)) = self.stop_at {
            stop.store(self.frames.len() >= frames, Ordering::Relaxed);
        }
        Ok(counts)
    }

    fn finish(&mut self) -> Result<Finish> {
        Ok(Finish::default())
    }
}

fn plan(sizes: &str) -> FramePlan {
    FramePlan::new(FrameLayout::default(), sizes.parse().unwrap(), Mtu(1500)).unwrap()
}

fn constant(rate: f64) -> Schedule {
    Schedule::Constant(Pps::new(rate).unwrap())
}

fn job<'a>(plan: &'a FramePlan, schedule: &'a Schedule, limits: Limits<'a>, start: Instant) -> SendJob<'a> {
    SendJob {
        frames: plan.into(),
        schedule,
        limits,
        trial: TRIAL,
        stream: StreamId(2),
        progress: None,
        start,
        turn: Turn::EVERY,
    }
}

fn send(null: &mut Null<'_>, plan: &FramePlan, schedule: Schedule, limits: Limits<'_>) -> SendReport {
    let report = run(&job(plan, &schedule, limits, Instant::now()), null).unwrap();
    assert_eq!(report.frames.intended, report.frames.unsent + report.frames.sent);
    assert_eq!(report.frames.sent, report.frames.accepted + report.frames.refused_lost);
    report
}

fn for_ms(milliseconds: u64, stop: &AtomicBool) -> Limits<'_> {
    Limits { duration: Some(Duration::from_millis(milliseconds)), frames: None, stop }
}

fn count(frames: u64, stop: &AtomicBool) -> Limits<'_> {
    Limits { duration: None, frames: Some(frames), stop }
}

#[test]
fn every_intended_frame_is_sent_once_in_order_and_stamped() {
    let (plan, mut null) = (plan("imix"), Null::new(64));
    let report = send(&mut null, &plan, constant(20_000.0), count(1_000, &RUNNING));
    assert_eq!((report.frames.intended, report.frames.sent, report.frames.unsent), (1_000, 1_000, 0));
    let recogniser = Classifier::new(TRIAL, plan.layout(), None).unwrap();
    let mut octets = 0;
    for (number, frame) in null.frames.iter().enumerate() {
        let seen = recogniser.look(frame, frame.len() as u32, TagMetadata::Absent);
        let planned_ns = number as u64 * 50_000;
        let (trial, stream, sequence) = (TRIAL, StreamId(2), number as u64);
        assert_eq!(seen, FrameClass::Own(Stamp { trial, stream, sequence, planned_ns }));
        assert_eq!(frame.len(), plan.frame(number as u64).0.captured());
        octets += frame.len() as u64 + 4;
    }
    assert_eq!(report.octets, octets);
    assert!(report.elapsed >= Duration::from_nanos(999 * 50_000));
}

#[test]
fn nothing_is_sent_before_its_time() {
    let mut null = Null::new(64);
    let start = Instant::now() + Duration::from_millis(5);
    let (plan, schedule) = (plan("64"), constant(1_000.0));
    let report = run(&job(&plan, &schedule, count(10, &RUNNING), start), &mut null).unwrap();
    assert_eq!(report.frames.sent, 10);
    assert!(report.elapsed >= Duration::from_millis(9));
    assert!(start.elapsed() >= Duration::from_millis(9));
    assert!(report.lateness.summary().is_some());
}

#[test]
fn a_duration_gives_an_exact_number_of_frames() {
    let mut null = Null::new(64);
    let report = send(&mut null, &plan("64"), constant(10_000.0), for_ms(50, &RUNNING));
    assert_eq!(report.frames.intended, 500);
    // A busy machine may keep the test from running near the end; then the rest is unsent, and said so.
    assert_eq!(null.frames.len() as u64, report.frames.sent);
    let both = Limits { frames: Some(100), ..for_ms(50, &RUNNING) };
    assert_eq!(send(&mut Null::new(64), &plan("64"), constant(10_000.0), both).frames.sent, 100);
}

#[test]
fn a_sender_that_is_too_slow_stops_in_time_and_says_what_is_unsent() {
    let mut null = Null::new(4);
    null.delay = Duration::from_millis(2);
    let begun = Instant::now();
    let report = send(&mut null, &plan("64"), constant(100_000.0), for_ms(40, &RUNNING));
    assert_eq!(report.frames.intended, 4_000);
    assert!(report.frames.sent <= 84, "{} frames of at most 4 per 2 ms", report.frames.sent);
    assert!(report.frames.unsent >= 3_916);
    // One batch may be under way at the end.
    assert!(begun.elapsed() >= Duration::from_millis(40));
    let late = report.lateness.summary().unwrap();
    // Each batch takes 2 ms, in which 200 frames come due.
    let batches = report.frames.sent.div_ceil(4);
    assert!(late.max_ns >= batches * 1_900_000 && late.p99_ns <= late.max_ns, "{batches} batches: {late:?}");
}

#[test]
fn due_frames_leave_in_one_batch() {
    let mut null = Null::new(64);
    null.delay = Duration::from_millis(1);
    let report = send(&mut null, &plan("64"), constant(20_000.0), count(400, &RUNNING));
    assert_eq!(report.frames.sent, 400);
    let largest = null.batches.iter().max().unwrap();
    assert!(*largest >= 15 && *largest <= 64, "{largest}");
    let bursts = Schedule::Bursts { frames: 16.try_into().unwrap(), rate: Pps::new(20_000.0).unwrap() };
    let mut null = Null::new(64);
    assert_eq!(send(&mut null, &plan("64"), bursts, count(160, &RUNNING)).frames.sent, 160);
    assert!(null.batches.iter().all(|batch| batch.is_multiple_of(16)), "{:?}", null.batches);
}

#[test]
fn a_stop_flag_ends_the_phase() {
    for schedule in [constant(100_000.0), Schedule::Maximum, Schedule::WaitLoop { iterations: 1 }] {
        // One slot: the flag is set with the third frame, and no other is submitted behind it, at whatever speed.
        let (stop, hour) = (AtomicBool::new(false), Duration::from_secs(3_600));
        let mut null = Null { stop_at: Some((3, &stop)), ..Null::new(1) };
        let limits = Limits { duration: Some(hour), frames: None, stop: &stop };
        let report = send(&mut null, &plan("64"), schedule.clone(), limits);
        assert_eq!((report.frames.sent, null.frames.len()), (3, 3), "{schedule:?}");
        let unsent = schedule.intended(hour).map_or(0, |intended| intended - 3);
        assert_eq!(report.frames.unsent, unsent, "{schedule:?}");
        assert!(report.elapsed < hour, "{schedule:?}");
    }
    let stopped = AtomicBool::new(true);
    assert_eq!(send(&mut Null::new(64), &plan("64"), Schedule::Maximum, for_ms(9, &stopped)).frames.sent, 0);
}

#[test]
fn another_thread_can_read_how_many_frames_were_sent() {
    let (plan, progress) = (plan("64"), AtomicU64::new(0));
    let limits = count(100, &RUNNING);
    let job = SendJob { progress: Some(&progress), ..job(&plan, &Schedule::Maximum, limits, Instant::now()) };
    let report = run(&job, &mut Null::new(64)).unwrap();
    assert_eq!((report.frames.sent, progress.load(Ordering::Relaxed)), (100, 100));
}

#[test]
fn without_a_plan_what_is_sent_was_intended() {
    let report = send(&mut Null::new(64), &plan("64"), Schedule::Maximum, for_ms(5, &RUNNING));
    assert!(report.frames.sent > 64);
    assert_eq!((report.frames.intended, report.frames.unsent), (report.frames.sent, 0));
    assert_eq!(report.lateness.summary(), None);
    let mut null = Null::new(64);
    let report = send(&mut null, &plan("64"), Schedule::Maximum, count(1_000, &RUNNING));
    assert_eq!((report.frames.intended, report.frames.sent), (1_000, 1_000));
    assert_eq!(null.batches[0], 64);
}

#[test]
fn a_wait_loop_sends_single_frames() {
    let mut null = Null::new(64);
    let report = send(&mut null, &plan("64"), Schedule::WaitLoop { iterations: 100 }, count(50, &RUNNING));
    assert_eq!((report.frames.intended, report.frames.sent), (50, 50));
    assert!(null.batches.iter().all(|&batch| batch == 1));
    let time = |iterations| {
        let schedule = Schedule::WaitLoop { iterations };
        send(&mut Null::new(1), &plan("64"), schedule, count(50, &RUNNING)).elapsed
    };
    assert!(time(1_000_000) > time(0));
}

#[test]
fn random_arrivals_are_counted_exactly() {
    let schedule = Schedule::Poisson { rate: Pps::new(20_000.0).unwrap(), seed: 3 };
    let mut times = schedule.times(Turn::EVERY).unwrap();
    let mut expected = 0;
    while times.next_ns() < 20_000_000 {
        times.advance();
        expected += 1;
    }
    let mut null = Null::new(64);
    assert_eq!(
        send(&mut null, &plan("64"), schedule.clone(), for_ms(20, &RUNNING)).frames.intended,
        expected
    );
    let stopped = AtomicBool::new(true);
    let report = send(&mut null, &plan("64"), schedule.clone(), for_ms(20, &stopped));
    assert_eq!((report.frames.intended, report.frames.unsent), (expected, expected));
    assert_eq!(
        send(&mut Null::new(64), &plan("64"), schedule.clone(), count(77, &RUNNING)).frames.intended,
        77
    );
}

#[test]
fn refused_frames_were_sent_and_frames_left_in_a_ring_were_not() {
    let mut null = Null::new(8);
    null.lose = Some(10);
    let report = send(&mut null, &plan("64"), Schedule::Maximum, count(100, &RUNNING));
    assert_eq!((report.frames.sent, report.frames.accepted, report.frames.refused_lost), (100, 90, 10));

    let mut null = Null::new(8);
    null.keep = 3;
    let report = send(&mut null, &plan("imix"), Schedule::Maximum, count(100, &RUNNING));
    assert_eq!((report.frames.intended, report.frames.sent, report.frames.unsent), (100, 97, 3));
    let octets: u64 = null.frames.iter().map(|frame| frame.len() as u64 + 4).sum();
    assert_eq!(report.octets, octets);
}

#[test]
fn a_phase_that_the_stamp_cannot_encode_is_refused() {
    let (plan, schedule) = (plan("64"), Schedule::Maximum);
    let limits = Limits { duration: Some(Duration::from_secs(79 * 3600)), frames: None, stop: &RUNNING };
    let error = run(&job(&plan, &schedule, limits, Instant::now()), &mut Null::new(1)).unwrap_err();
    assert!(error.to_string().contains("78 hours"));
}

#[test]
fn a_pause_of_the_plan_takes_no_cpu_time_and_ends_in_time() {
    const PAUSE: Duration = Duration::from_secs(1);
    let times = RecordedTimes::new(vec![0, PAUSE.as_nanos() as u64], "1".parse().unwrap()).unwrap();
    let (schedule, plan) = (Schedule::Recorded(Arc::new(times)), plan("64"));
    let before = clock::thread_cpu_ns();
    let report = run(&job(&plan, &schedule, count(2, &RUNNING), Instant::now()), &mut Null::new(64)).unwrap();
    let spent = Duration::from_nanos(clock::thread_cpu_ns() - before);
    assert!(report.frames.sent == 2 && report.elapsed >= PAUSE, "{report:?}");
    // A sleep that a busy host makes long lets it spin for as long before the frame.
    assert!(spent < PAUSE * 3 / 4, "{spent:?}");
}

#[test]
fn recorded_frames_are_sent_as_they_are_at_their_times_and_in_turns() {
    let octets: Vec<Vec<u8>> = (0..7_u8).map(|number| vec![number; 14 + 200 * usize::from(number)]).collect();
    let mut frames = RecordedFrames::new(&octets[0]).unwrap();
    octets[1..].iter().for_each(|frame| frames.push(frame).unwrap());
    let times = (0..7).map(|number| number * 100_000).collect();
    let times = RecordedTimes::new(times, "2".parse().unwrap()).unwrap();
    let (schedule, plan) = (Schedule::Recorded(Arc::new(times)), plan("64"));
    for turns in [1, 3_u32] {
        let mut of_each: Vec<_> = Turn::of_each(turns.try_into().unwrap())
            .map(|turn| {
                let mut null = Null { lose: Some(5), ..Null::new(64) };
                let job = SendJob {
                    frames: FrameSource::Recorded(&frames),
                    turn,
                    ..job(&plan, &schedule, count(20, &RUNNING), Instant::now())
                };
                let report = run(&job, &mut null).unwrap();
                assert_eq!((report.frames.intended, report.frames.sent), (turn.share(20), turn.share(20)));
                assert_eq!(
                    report.octets,
                    null.frames.iter().map(|frame| frame.len() as u64 + 4).sum::<u64>()
                );
                // Nobody sends before the planned time of the last frame: 50 µs for each of the frames before.
                let last = turn.number(report.frames.sent - 1);
                assert!(report.elapsed >= Duration::from_micros(50 * last), "{report:?}");
                assert!(report.lateness.summary().is_some());
                null.frames.into_iter()
            })
            .collect();
        for number in 0..20 {
            let sender = number % turns as usize;
            assert_eq!(of_each[sender].next().unwrap(), octets[number % octets.len()], "frame {number}");
        }
    }
    // What a ring keeps at the end is unsent, and its octets do not count.
    let mut null = Null { keep: 3, ..Null::new(64) };
    let job = SendJob {
        frames: FrameSource::Recorded(&frames),
        ..job(&plan, &Schedule::Maximum, count(14, &RUNNING), Instant::now())
    };
    let report = run(&job, &mut null).unwrap();
    assert_eq!((report.frames.intended, report.frames.sent, report.frames.unsent), (14, 11, 3));
    assert_eq!(report.octets, null.frames.iter().map(|frame| frame.len() as u64 + 4).sum::<u64>());
}

/// Flows of 200 frames with different sizes, on streams 1 to `count`.
fn flows(count: u8, schedule: &Schedule) -> FlowSet {
    let headers = r#"[{}, {"ipv4": {"src": {"increment": {"count": 7}}}}, {"udp": {}}]"#;
    let stack: HeaderStack = serde_json::from_str(headers).unwrap();
    let flow = |stream: u8| {
        let sizes = format!("{},128,256", 63 + u32::from(stream)).parse().unwrap();
        let (payload, stream) = (Payload::default(), StreamId(stream));
        let plan = StackPlan::new(stack.clone(), sizes, &payload, Some(stream), Mtu(1500)).unwrap();
        let (schedule, frames, name) = (schedule.clone(), Some(200), stream.0.to_string());
        StackFlow { name, plan: plan.into(), schedule, frames, duration: None, delay: Duration::ZERO }
    };
    FlowSet::new((1..=count).map(flow).collect()).unwrap()
}

fn flow_job<'a>(set: &'a FlowSet, limits: Limits<'a>) -> SendJob<'a> {
    SendJob {
        frames: FrameSource::Flows(set),
        // Flows have their own.
        schedule: &Schedule::Maximum,
        limits,
        trial: TRIAL,
        stream: StreamId(0),
        progress: None,
        start: Instant::now(),
        turn: Turn::EVERY,
    }
}

/// Frames and octets of each stream that passed, read from their trailers; each stream's numbers are complete.
fn passed(frames: &[Vec<u8>], flows: usize) -> Vec<(u64, u64)> {
    let (reader, mut counts) = (TrailerReader::new(TRIAL), vec![(0, 0); flows]);
    for frame in frames {
        let stamp = reader.read(frame).unwrap();
        let (count, octets) = &mut counts[usize::from(stamp.stream.0) - 1];
        assert_eq!(stamp.sequence, *count);
        *count += 1;
        *octets += frame.len() as u64 + 4;
    }
    counts
}

#[test]
fn counts_of_flows_are_those_of_the_frames_that_passed() {
    for schedule in [constant(50_000.0), Schedule::Maximum] {
        for (keep, stop_after) in [(0, None), (5, None), (0, Some(301)), (5, Some(301))] {
            let (stop, set) = (AtomicBool::new(false), flows(3, &schedule));
            let stop_at = stop_after.map(|frames| (frames, &stop));
            let mut null = Null { keep, lose: Some(10), stop_at, ..Null::new(16) };
            let report =
                run(&flow_job(&set, Limits { duration: None, frames: None, stop: &stop }), &mut null)
                    .unwrap();
            let (counts, passed): (Vec<_>, _) =
                ((0..3).map(|flow| set.counts(flow)).collect(), passed(&null.frames, 3));
            assert_eq!(counts.iter().map(|flow| (flow.sent, flow.octets)).collect::<Vec<_>>(), passed);
            assert_eq!(report.frames.sent, counts.iter().map(|flow| flow.sent).sum::<u64>());
            assert_eq!(report.octets, counts.iter().map(|flow| flow.octets).sum::<u64>());
            assert_eq!((report.frames.intended, report.frames.unsent), (600, 600 - report.frames.sent));
            assert_eq!(counts.iter().all(|flow| flow.is_over), keep == 0 && stop_after.is_none());
            assert!(counts.iter().all(|flow| flow.intended == Some(200)));
            if stop_after.is_none() {
                assert_eq!(report.frames.sent, 600 - keep as u64);
            }
        }
    }
}

/// The frames of a batch that failed were written, and count as unsent.
#[test]
fn a_failure_leaves_counts_of_what_passed() {
    for schedule in [constant(1e6), Schedule::Maximum] {
        let set = flows(3, &schedule);
        let mut null = Null { keep: 3, fail_at: 100, ..Null::new(16) };
        let limits = Limits { duration: None, frames: None, stop: &RUNNING };
        let report = run(&flow_job(&set, limits), &mut null).unwrap();
        assert!(report.failure.is_some() && null.frames.len() >= 100);
        let counts: Vec<_> = (0..3).map(|flow| set.counts(flow)).collect();
        let sent: Vec<_> = counts.iter().map(|flow| (flow.sent, flow.octets)).collect();
        assert_eq!(sent, passed(&null.frames, 3));
        assert_eq!(report.octets, counts.iter().map(|flow| flow.octets).sum::<u64>());
        assert_eq!((report.frames.intended, report.frames.sent), (600, null.frames.len() as u64));
        assert!(counts.iter().all(|flow| flow.intended == Some(200)));
    }
}

#[test]
fn several_senders_share_flows_and_a_stopped_flow_ends_at_once() {
    let set = flows(5, &constant(1e6));
    set.command(1, FlowCommand::Stop);
    let mut sent = 0;
    for turn in Turn::of_each(2.try_into().unwrap()) {
        let limits = Limits { duration: None, frames: None, stop: &RUNNING };
        let report = run(&SendJob { turn, ..flow_job(&set, limits) }, &mut Null::new(64)).unwrap();
        sent += report.frames.sent;
    }
    let counts: Vec<_> = (0..5).map(|flow| set.counts(flow).sent).collect();
    assert_eq!((sent, counts), (800, vec![200, 0, 200, 200, 200]));
}

#[test]
fn a_number_of_frames_belongs_to_a_flow() {
    let set = flows(1, &constant(1e6));
    let error = run(&flow_job(&set, count(5, &RUNNING)), &mut Null::new(1)).unwrap_err().to_string();
    assert!(error.contains("each flow has its own number of frames"), "{error}");
}

/// A flow that pauses from the start keeps the phase open, until another thread stops it.
#[test]
fn a_paused_flow_keeps_the_phase_open() {
    let set = flows(2, &constant(1e6));
    set.command(0, FlowCommand::Pause);
    let limits = Limits { duration: None, frames: None, stop: &RUNNING };
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| run(&flow_job(&set, limits), &mut Null::new(64)).unwrap());
        while !set.counts(1).is_over {
            std::thread::yield_now();
        }
        assert!(!sender.is_finished() && set.counts(0).sent == 0);
        set.command(0, FlowCommand::Run);
        assert_eq!(sender.join().unwrap().frames.sent, 400);
    });
    assert!(set.counts(0).is_over);
}
