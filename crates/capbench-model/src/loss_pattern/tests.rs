//! The shape of loss against a reference that remembers everything.

use std::collections::{BTreeMap, BTreeSet};

use capbench_frames::layout::Flows;
use capbench_frames::plan::FlowOrder;
use capbench_frames::{FrameLayout, FramePlan, Mtu};
use proptest::prelude::*;

use super::{Clock, End, LossPattern, Position, Spread, Watch, Window, shape};
use crate::loss_pattern::{Arrival, SequenceTracker};

/// A tracker that forgets after 256 numbers.
fn forgetful(flows: FlowOrder) -> SequenceTracker {
    SequenceTracker::sized_recording(4, flows)
}

fn plan(flows: u32, sizes: &str) -> FramePlan {
    let layout = FrameLayout { flows: Flows::new(flows).unwrap(), ..FrameLayout::default() };
    FramePlan::new(layout, sizes.parse().unwrap(), Mtu(1500)).unwrap()
}

fn end(sent: u64, at_ns: u64) -> End {
    End { sent, at_ns, clock: Clock::PlannedSendTime, damaged: 0, ring_drops: None }
}

/// What happens to frames on their way, in the order in which they were sent.
#[derive(Clone, Debug)]
enum Fate {
    /// So many arrive.
    Arrive(u64),
    /// So many are lost.
    Lose(u64),
    /// One arrives after this many later ones have been sent.
    Delay(u64),
    /// One arrives now, and again after this many later ones have been sent.
    Repeat(u64),
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        4 => (1..150u64).prop_map(Fate::Arrive),
        3 => (1..20u64).prop_map(Fate::Lose),
        1 => (1..900u64).prop_map(Fate::Lose),
        2 => (1..100u64).prop_map(Fate::Delay),
        1 => (1..700u64).prop_map(Fate::Delay),
        1 => (0..500u64).prop_map(Fate::Repeat),
    ];
    prop::collection::vec(fate, 0..60)
}

/// Numbers in the order of their arrival, and how many were sent.
fn arrivals(fates: &[Fate]) -> (Vec<u64>, u64) {
    let mut at: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut sent = 0;
    for fate in fates {
        match *fate {
            Fate::Arrive(frames) => {
                for number in sent..sent + frames {
                    at.entry(number).or_default().push(number);
                }
                sent += frames;
            }
            Fate::Lose(frames) => sent += frames,
            Fate::Delay(frames) => {
                at.entry(sent + frames).or_default().push(sent);
                sent += 1;
            }
            Fate::Repeat(frames) => {
                at.entry(sent).or_default().push(sent);
                at.entry(sent + frames).or_default().push(sent);
                sent += 1;
            }
        }
    }
    (at.into_values().flatten().collect(), sent)
}

/// Remembers everything, and works everything out at the end.
#[derive(Default)]
struct Reference {
    came: BTreeSet<u64>,
    next: u64,
}

impl Reference {
    fn note(&mut self, number: u64) -> Arrival {
        let begun = self.next.div_ceil(64);
        if number / 64 + 4 < begun || self.came.contains(&number) {
            return Arrival::Duplicate;
        }
        self.came.insert(number);
        if number < self.next {
            return Arrival::Reordered;
        }
        let missing = number - self.next;
        self.next = number + 1;
        if missing > 0 { Arrival::AfterGap { missing } } else { Arrival::InOrder }
    }

    /// First number and length of each burst.
    fn bursts(&self, sent: u64) -> Vec<(u64, u64)> {
        let mut bursts: Vec<(u64, u64)> = Vec::new();
        for number in (0..sent).filter(|number| !self.came.contains(number)) {
            match bursts.last_mut() {
                Some((first, frames)) if *first + *frames == number => *frames += 1,
                _ => bursts.push((number, 1)),
            }
        }
        bursts
    }

    /// The 100 ms with most losses, the earliest of those, beginning at any multiple of 10 ms.
    fn worst_window(&self, sent: u64, time_of: impl Fn(u64) -> u64) -> Option<Window> {
        let last_step = time_of(sent.checked_sub(1)?) / 10_000_000;
        let mut worst: Option<Window> = None;
        for first in 0..=last_step.saturating_sub(9) {
            let steps = 10.min(last_step + 1);
            let is_inside = |number: &u64| (first..first + steps).contains(&(time_of(*number) / 10_000_000));
            let inside: Vec<_> = (0..sent).filter(is_inside).collect();
            let lost = inside.iter().filter(|number| !self.came.contains(number)).count() as u64;
            if lost > worst.map_or(0, |worst| worst.lost) {
                worst = Some(Window {
                    from_ns: first * 10_000_000,
                    length_ns: steps * 10_000_000,
                    sent: inside.len() as u64,
                    lost,
                });
            }
        }
        worst
    }
}

fn assert_spread(spread: &Spread, values: &[u64]) {
    assert_eq!(spread.count, values.len() as u64);
    assert_eq!((spread.total, spread.max), (values.iter().sum(), values.iter().max().copied()));
    for bucket in &spread.buckets {
        let is_inside = |value: &&u64| (bucket.from..2 * bucket.from).contains(&(**value).max(1));
        assert_eq!(bucket.count, values.iter().filter(is_inside).count() as u64, "{bucket:?}");
    }
    assert_eq!(spread.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), spread.count);
}

fn assert_agrees(shape: &LossPattern, reference: &Reference, sent: u64, period_ns: u64) {
    let bursts = reference.bursts(sent);
    let lengths: Vec<u64> = bursts.iter().map(|burst| burst.1).collect();
    assert_spread(&shape.bursts, &lengths);
    assert_eq!(shape.lost, sent - reference.came.len() as u64);
    assert_eq!(shape.bursts.total, shape.lost);
    assert_eq!(shape.lost, shape.lost_at_start + shape.lost_steadily + shape.lost_at_end);
    let gaps: Vec<u64> = bursts.windows(2).map(|two| two[1].0 - two[0].0 - two[0].1).collect();
    assert_spread(&shape.gaps, &gaps);
    assert_spread(&shape.gaps_ns, &gaps.iter().map(|gap| gap * period_ns).collect::<Vec<_>>());
    let first = bursts.first().filter(|burst| burst.0 == 0).map_or(0, |burst| burst.1);
    let last = bursts.last().filter(|burst| burst.0 + burst.1 == sent).map_or(0, |burst| burst.1);
    assert_eq!((shape.before_first, shape.after_last), (first, last));
    assert_eq!(shape.last_lost, bursts.last().map(|burst| burst.0 + burst.1 - 1));
    let mut longest = bursts.clone();
    longest.sort_by_key(|burst| (std::cmp::Reverse(burst.1), burst.0));
    longest.truncate(8);
    let found: Vec<_> = shape.longest.iter().map(|burst| (burst.first, burst.frames)).collect();
    assert_eq!(found, longest);
    for burst in &shape.longest {
        assert_eq!(burst.from_ns, burst.first * period_ns);
        assert_eq!(burst.to_ns, (burst.first + burst.frames) * period_ns);
    }
    assert_eq!(shape.worst_window, reference.worst_window(sent, |number| number * period_ns));
    let late = |number: u64| number * period_ns / 10_000_000;
    let end_step = late(sent.saturating_sub(1));
    let lost_when = |is_then: &dyn Fn(u64) -> bool| {
        (0..sent).filter(|number| !reference.came.contains(number) && is_then(late(*number))).count() as u64
    };
    assert_eq!(shape.lost_at_start, lost_when(&|step| step < 10));
    assert_eq!(shape.lost_at_end, lost_when(&|step| step >= 10 && step + 10 > end_step));
}

proptest! {
    /// For any losses, repeats and delays, also beyond the memory of the tracker.
    #[test]
    fn agrees_with_a_reference_that_remembers_everything(
        fates in fates(), period_us in prop_oneof![Just(1u64), 1..2000u64], flows in 1..9u32, mixed: bool,
    ) {
        let (numbers, sent) = arrivals(&fates);
        let period_ns = period_us * 1000;
        let order = plan(flows, if mixed { "imix" } else { "64" }).flow_order();
        let (mut tracker, mut reference) = (forgetful(order), Reference::default());
        for number in numbers {
            prop_assert_eq!(tracker.note(number, || number * period_ns), reference.note(number), "{}", number);
        }
        prop_assert!(tracker.recorder().unwrap().is_within_its_memory());
        let shape = shape(tracker, &Watch::new(order), &end(sent, sent * period_ns)).unwrap();
        assert_agrees(&shape, &reference, sent, period_ns);
        if let Some(by_flow) = &shape.flows {
            let mut lost = vec![0; flows as usize];
            for number in (0..sent).filter(|number| !reference.came.contains(number)) {
                lost[order.flow(number).number() as usize] += 1;
            }
            let lossy: Vec<u64> = lost.iter().copied().filter(|lost| *lost > 0).collect();
            assert_spread(&by_flow.lost, &lossy);
            for flow in &by_flow.worst {
                prop_assert_eq!(flow.lost, lost[flow.flow as usize]);
            }
        }
    }

    /// Numbers that nobody sent do no harm, nor do jumps beyond everything that is remembered.
    #[test]
    fn no_numbers_make_it_panic(
        numbers in prop::collection::vec((0..1u64 << 40, 0..1u64 << 32), 0..50), sent in 0..1u64 << 40, at_ns in 0..1u64 << 32,
    ) {
        let mut tracker = forgetful(FlowOrder::default());
        for (number, planned_ns) in numbers {
            tracker.note(number, || planned_ns);
        }
        let shape = shape(tracker, &Watch::new(FlowOrder::default()), &end(sent, at_ns)).unwrap();
        prop_assert_eq!(shape.lost, shape.bursts.total);
        prop_assert_eq!(shape.lost, shape.lost_at_start + shape.lost_steadily + shape.lost_at_end);
    }
}

#[test]
fn nothing_arrived_is_one_burst_and_nothing_sent_none() {
    let fresh = || forgetful(FlowOrder::default());
    let watch = Watch::new(FlowOrder::default());
    let all = shape(fresh(), &watch, &end(1000, 1_000_000_000)).unwrap();
    assert_eq!((all.lost, all.before_first, all.after_last, all.bursts.count), (1000, 1000, 1000, 1));
    assert_eq!(all.longest[0].position, Position::Start);
    assert_eq!((all.lost_at_start, all.lost_steadily, all.lost_at_end), (100, 800, 100));
    let nothing = shape(fresh(), &watch, &end(0, 0)).unwrap();
    assert_eq!((nothing.lost, nothing.bursts.count, nothing.worst_window), (0, 0, None));
}

#[test]
fn a_day_takes_no_more_memory_than_a_second() {
    // 86,400 seconds at a million frames a second, in strides: what is lost between two is one burst.
    let mut tracker = forgetful(FlowOrder::default());
    let (stride, frames) = (1_000_000, 86_400);
    for second in 0..frames {
        tracker.note(second * stride, || second * 1_000_000_000);
    }
    let shape =
        shape(tracker, &Watch::new(FlowOrder::default()), &end(frames * stride, frames * 1_000_000_000))
            .unwrap();
    assert_eq!((shape.bursts.count, shape.lost), (frames, frames * (stride - 1)));
    assert_eq!((shape.longest.len(), shape.windows, shape.lossy_windows), (8, 864_000, 864_000));
    assert_eq!(shape.worst_window.unwrap().sent, 100_000);
}
