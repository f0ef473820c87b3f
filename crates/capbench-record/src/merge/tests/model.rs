//! Drawn ports, batches, delays and disorder.

use std::time::Duration;

use proptest::prelude::*;

use super::super::PortPlan;
use super::{MS, Rig, START};

/// The grain of times, so that many are equal, ns.
const GRAIN: u64 = MS / 2;
/// Grains in a tick, at whose end ports are looked at.
const TICK: u64 = 10;
/// Ticks after which a batch comes at the latest: the hold of 10 ms.
const HOLD: usize = 2;

/// What a port sees in a tick: frames, each with grains since the tick began and grains by which its time is too early.
/// Also whether it delivers its batch, and whether it looks once more.
#[derive(Clone, Debug)]
struct Seen {
    frames: Vec<(u64, u64)>,
    gives: bool,
    looks: bool,
}

fn ticks() -> impl Strategy<Value = Vec<Vec<Seen>>> {
    let frames = prop_oneof![
        3 => Just(vec![]),
        5 => prop::collection::vec((1..=TICK, 0u64..=4), 0..6),
        1 => prop::collection::vec((1..=TICK, 0u64..=4), 20..60),
    ];
    let seen = (frames, any::<bool>(), any::<bool>()).prop_map(|(frames, gives, looks)| Seen {
        frames,
        gives,
        looks,
    });
    (1usize..5).prop_flat_map(move |ports| {
        prop::collection::vec(prop::collection::vec(seen.clone(), ports..=ports), 1..60)
    })
}

/// Something that befalls a merge.
#[derive(Clone, Debug)]
enum Event {
    Push(usize, Vec<u64>),
    Idle(usize, u64),
    Pass(u64),
    SetClock(i64),
}

fn events(time: impl Strategy<Value = u64> + Clone, step: i64) -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        5 => (0usize..3, prop::collection::vec(time.clone(), 0..12)).prop_map(|(port, times)| Event::Push(port, times)),
        2 => (0usize..3, prop::collection::vec(time.clone(), 0..12)).prop_map(|(port, mut times)| {
            times.sort_unstable();
            Event::Push(port, times)
        }),
        2 => (0usize..3, time).prop_map(|(port, time)| Event::Idle(port, time)),
        3 => (0u64..40 * MS).prop_map(Event::Pass),
        1 => (-step..=step).prop_map(Event::SetClock),
    ];
    prop::collection::vec(event, 1..80)
}

fn run(events: Vec<Event>, batches: u32) -> Rig {
    let plan = PortPlan { hold: Duration::from_millis(10), disorder: Duration::from_millis(2), batches };
    let mut rig = Rig::new(vec![plan; 3], Duration::from_millis(60));
    for event in events {
        match event {
            Event::Push(port, times) => rig.push(port, &times),
            Event::Idle(port, time) => rig.merge.idle(port, time),
            Event::SetClock(by) => rig.set_clock(by),
            Event::Pass(ns) => {
                rig.pass(ns);
                assert!(rig.merge.held_batches() <= 3 * u64::from(batches));
            }
        }
    }
    rig
}

proptest! {
    /// What ports keep of their plan is enough for an order that nothing disturbs, ties by port and arrival included.
    #[test]
    fn within_the_plan_the_stream_is_in_order(ticks in ticks()) {
        let ports = ticks[0].len();
        let mut rig = Rig::of_ports(ports);
        let mut open: Vec<(usize, Vec<u64>)> = vec![(0, vec![]); ports];
        let mut expected = vec![];
        let mut counts = vec![0u64; ports];
        for (tick, seen) in ticks.iter().enumerate() {
            let began = START + tick as u64 * TICK * GRAIN;
            let mut reports = vec![];
            for (port, mut seen) in seen.iter().cloned().enumerate() {
                seen.frames.sort_by_key(|&(at, _)| at);
                let (since, times) = &mut open[port];
                if times.is_empty() {
                    *since = tick;
                }
                for (at, early) in seen.frames {
                    let time = began + at * GRAIN - early * GRAIN;
                    times.push(time);
                    expected.push((port, counts[port], time));
                    counts[port] += 1;
                }
                let delivered = (!times.is_empty() && (seen.gives || tick + 1 - *since >= HOLD))
                    .then(|| std::mem::take(times));
                reports.push((port, delivered, seen.looks));
            }
            reports.rotate_left(tick % ports);
            rig.set_clock((TICK * GRAIN) as i64);
            rig.now.monotonic_ns += TICK * GRAIN;
            for (port, delivered, looks) in reports {
                if let Some(times) = &delivered {
                    rig.push(port, times);
                }
                if looks || delivered.is_none() {
                    rig.idle(port);
                }
                if tick % 3 == 0 {
                    rig.drain();
                }
            }
            rig.drain();
        }
        for (port, (_, times)) in open.iter().enumerate() {
            rig.push(port, times);
        }
        let (out, tally) = rig.finish();
        expected.sort_by_key(|&(port, number, time)| (time, port, number));
        prop_assert_eq!(out, expected);
        prop_assert_eq!(tally.forced, 0);
        prop_assert!(tally.ports.iter().all(|port| port.late == 0 && port.latest_ns.is_none()));
        prop_assert_eq!((tally.clock_set_back, tally.clock_set_forward), (0, 0));
    }

    /// For any input: no frame is lost or repeated, the merge stays within its limits, and late frames are counted exactly.
    #[test]
    fn late_frames_are_counted_exactly(
        events in events((0u64..500).prop_map(|grains| START + grains * GRAIN), 100 * MS as i64),
        batches in 1u32..5,
    ) {
        let (out, tally) = run(events, batches).finish();
        let (mut passed, mut late, mut latest) = (0, [0u64; 3], [None; 3]);
        for (port, _, time) in out {
            if time < passed {
                late[port] += 1;
                latest[port] = latest[port].max(Some(passed - time));
            }
            passed = passed.max(time);
        }
        prop_assert_eq!(tally.ports.iter().map(|port| port.late).collect::<Vec<_>>(), late);
        prop_assert_eq!(tally.ports.iter().map(|port| port.latest_ns).collect::<Vec<_>>(), latest);
        prop_assert_eq!(tally.clock_set_back, 0);
    }

    /// For any steps of the clock and any timestamps, no frame is lost, and the merge stays within its limits.
    #[test]
    fn no_clock_loses_a_frame(
        events in events(
            prop_oneof![
                4 => START..START + 20_000 * MS,
                1 => Just(0),
                1 => any::<u64>(),
            ],
            i64::MAX / 4,
        ),
        batches in 1u32..5,
    ) {
        run(events, batches).finish();
    }
}
