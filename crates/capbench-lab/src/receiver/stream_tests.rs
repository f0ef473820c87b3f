//! The frames of several senders, as one receiver counts them.

use capbench_capture::{Frame, PacketType};
use capbench_frames::{Classifier, FrameLayout, FramePlan, Mtu, Stamp, StreamId, TrialId};
use capbench_model::arrivals::{StreamArrivals, start_spread_ns};
use capbench_model::counters::LossMark;
use capbench_model::loss_pattern::{Clock, End};

use super::verifier::StreamSet;
use super::{Streams, Verifier};

/// Nanoseconds between two frames of a stream.
const PERIOD_NS: u64 = 1000;

struct Bench {
    plan: FramePlan,
    verifier: Verifier,
    /// Streams whose frames have no planned time.
    untimed: StreamSet,
}

impl Bench {
    fn new(streams: usize) -> Self {
        Self::with_untimed(streams, StreamSet::default())
    }

    fn with_untimed(streams: usize, untimed: StreamSet) -> Self {
        let plan = FramePlan::new(FrameLayout::default(), "64".parse().unwrap(), Mtu(1500)).unwrap();
        let recogniser = Classifier::new(TrialId(1), plan.layout(), None).unwrap();
        let streams = Streams { count: streams, flows: plan.flow_order(), untimed };
        Self { plan, verifier: Verifier::recording(recogniser, streams, true), untimed }
    }

    /// A frame of a stream arrives at its planned time after the stream's start.
    fn take(&mut self, stream: u8, sequence: u64, start_ns: u64) {
        let planned_ns = sequence * PERIOD_NS;
        let stamped_ns = if self.untimed.has(stream.into()) { 0 } else { planned_ns };
        let stamp = Stamp { trial: TrialId(1), stream: StreamId(stream), sequence, planned_ns: stamped_ns };
        let (size, flow) = self.plan.frame(sequence);
        let mut data = vec![0; 128];
        let octets = self.plan.writer().write(&mut data, size, flow, stamp);
        self.verifier.begin(LossMark::Batch(true), None);
        self.verifier.note(&Frame {
            data: &data[..octets],
            wire_length: octets as u32,
            time_ns: start_ns + planned_ns,
            vlan: None,
            packet_type: PacketType::OtherHost,
            hash: None,
            status: 0,
        });
    }
}

#[test]
fn each_stream_has_its_own_counts_losses_and_start() {
    let mut bench = Bench::new(256);
    for sequence in 0..1000 {
        bench.take(0, sequence, 5_000_000_000);
        // The first frames of stream 7 are lost, and every tenth one.
        if sequence >= 20 && sequence % 10 != 0 {
            bench.take(7, sequence, 5_003_000_000);
        }
        bench.take(255, sequence, 4_999_000_000);
    }
    bench.take(255, 999, 4_999_000_000);
    let arrivals = bench.verifier.arrivals();
    assert_eq!((arrivals.delivered, arrivals.duplicates, arrivals.foreign), (2882, 1, 0));
    let streams = bench.verifier.streams();
    let delivered = |of: usize| (streams[of].delivered, streams[of].duplicates, streams[of].reached);
    assert_eq!([0, 7, 255].map(delivered), [(1000, 0, 1000), (882, 0, 1000), (1000, 1, 1000)]);
    assert_eq!(streams[1], StreamArrivals::default(), "a stream without frames");
    let starts = [0, 7, 255].map(|of| streams[of].start_ns.unwrap());
    assert_eq!((starts, start_spread_ns(&streams)), ([1_000_000, 4_000_000, 0], Some(4_000_000)));
    assert!(!bench.verifier.wants_counters(), "whose frames a mark is about is unknown");
    let end = |stream| End {
        sent: if [0, 7, 255].contains(&stream) { 1000 } else { 0 },
        at_ns: 1000 * PERIOD_NS,
        clock: Clock::PlannedSendTime,
        damaged: 0,
        ring_drops: None,
    };
    let patterns = bench.verifier.into_record().unwrap().patterns(end);
    assert_eq!(patterns.len(), 256);
    assert!(patterns.iter().enumerate().all(|(of, pattern)| (pattern.lost > 0) == (of == 7)));
    assert_eq!((patterns[7].lost, patterns[7].before_first, patterns[7].bursts.count), (118, 21, 98));
    assert!(patterns[7].marks.is_none());
}

#[test]
fn losses_of_frames_without_times_are_at_the_times_of_arrival() {
    let mut bench = Bench::with_untimed(200, [StreamId(130)].into_iter().collect());
    for sequence in 0..300_000 {
        let is_lost = (150_000..150_400).contains(&sequence);
        if !is_lost {
            bench.take(130, sequence, 7_000_000_000);
        }
        if sequence < 10 {
            bench.take(0, sequence, 7_000_000_000);
        }
    }
    let end = |stream| End {
        sent: [(130, 300_000), (0, 10)].into_iter().find(|(of, _)| *of == stream).map_or(0, |(_, sent)| sent),
        at_ns: 300_000 * PERIOD_NS,
        clock: Clock::ArrivalTime,
        damaged: 0,
        ring_drops: None,
    };
    let patterns = bench.verifier.into_record().unwrap().patterns(end);
    let pattern = &patterns[130];
    assert_eq!((pattern.lost, pattern.bursts.count, pattern.lost_steadily), (400, 1, 400));
    let burst = pattern.longest[0];
    assert_eq!(
        (burst.first, burst.from_ns, burst.to_ns),
        (150_000, 150_000 * PERIOD_NS, 150_400 * PERIOD_NS)
    );
    assert_eq!((pattern.worst_window.map(|window| window.from_ns), patterns[0].lost), (Some(60_000_000), 0));
}

#[test]
fn a_stream_that_nobody_sends_is_foreign() {
    let mut bench = Bench::new(2);
    bench.take(1, 0, 1);
    bench.take(2, 0, 1);
    let arrivals = bench.verifier.arrivals();
    assert_eq!((arrivals.delivered, arrivals.foreign), (1, 1));
    assert_eq!(start_spread_ns(&bench.verifier.streams()), None, "of one stream");
}
